package scan

import (
	"errors"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// PagedSplit is a Split of a file whose columns can be had as pages, in place of batches, for a device
// that decodes them.
type PagedSplit interface {
	Split

	// PagedColumns tells of each column what its pages hold, or why the split has no such pages.
	PagedColumns() ([]PagedColumn, error)

	// OpenPages opens the split. Requires: PagedColumns has told of its columns.
	OpenPages() (PageReader, error)
}

// What a PagedSplit tells of its pages.
type (
	PagedColumn = decode.PagedColumn
	Pages       = decode.Pages
	Page        = decode.Page
	PageBytes   = decode.PageBytes
	PageLevels  = decode.PageLevels
	PageReader  = decode.PageReader
)

// The places of the definition levels of a page.
const (
	LevelsNone     = decode.LevelsNone
	LevelsPrefixed = decode.LevelsPrefixed
	LevelsSized    = decode.LevelsSized
)

var _ PagedSplit = (*split)(nil)

// PagedColumns implements PagedSplit.
func (s *split) PagedColumns() ([]PagedColumn, error) {
	part, ok := s.part.(decode.PagedPart)
	if !ok {
		return nil, errors.New("the file has no pages")
	}
	columns, err := part.PagedColumns()
	if err != nil {
		return nil, err
	}
	if len(columns) != len(s.plan.Columns) {
		return nil, errors.New("a column is in two others")
	}
	for i, c := range s.plan.Columns {
		if c.Constant || c.From != i {
			return nil, errors.New("a column is not in the file as it is read")
		}
	}
	return columns, nil
}

// OpenPages implements PagedSplit.
func (s *split) OpenPages() (PageReader, error) {
	r, err := s.part.(decode.PagedPart).OpenPages()
	if err != nil {
		return nil, decode.Locate(s.part.Name(), err)
	}
	return &splitPages{r, s}, nil
}

// splitPages is the PageReader of a split. Its Close returns the error of a file that is another by
// now. S7.
type splitPages struct {
	PageReader
	split *split
}

func (p *splitPages) Close() error {
	err := p.PageReader.Close()
	if err == nil && p.split.changed != nil {
		err = p.split.changed()
	}
	return decode.Locate(p.split.part.Name(), err)
}
