package scan

import "github.com/mpga/mpga/engine/scan/internal/decode"

// PagedSplit is a Split of a file whose columns can be had as pages, in place of batches, for a device
// that decodes them.
type PagedSplit interface {
	Split

	// PagedColumns tells of each column what its pages hold; false where the split has no such pages.
	PagedColumns() (columns []PagedColumn, ok bool)

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
func (s *split) PagedColumns() ([]PagedColumn, bool) {
	part, ok := s.part.(decode.PagedPart)
	if !ok {
		return nil, false
	}
	of, ok := part.PagedColumns()
	if !ok {
		return nil, false
	}
	columns := make([]PagedColumn, len(s.plan.Columns))
	for i, c := range s.plan.Columns {
		if c.Constant || c.From != i {
			return nil, false
		}
		columns[i] = of[i]
	}
	return columns, len(columns) == len(of)
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
