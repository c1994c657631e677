package scan

import (
	"errors"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/rowcode"
)

// PagedSplit is a Split whose rows can be made of the pages of a file, in place of batches, by a device
// that decodes them.
type PagedSplit interface {
	Split

	// Paged tells of the pages, or why there are none.
	Paged() (*Paged, error)
}

// Paged is the pages of some columns of a file, and how a split's rows are made of them.
type Paged struct {
	Rows    int64 // of the pages
	Columns []PagedColumn

	// Program makes the columns of the split, and leaves out rows. Its inputs are Columns:
	// an integer has a word as Arrow's, a float the bits of a double, and a string any word. It is nil
	// where Columns are the split's.
	Program *rowcode.Program

	// Made is called once a device has made the rows; nil where nobody asks.
	Made func()

	// Filtered counts rows that Program's condition was asked about, and rows that passed. Any goroutine
	// calls Filtered; nil where all rows pass. Asked is how many of Rows are to be counted: all but the rows
	// that the page index leaves out, which pass no condition.
	Filtered func(asked, kept int64)
	Asked    int64

	// Open opens the pages.
	Open func() (PageReader, error)
}

// What a PagedSplit tells of its pages.
type (
	PagedColumn  = decode.PagedColumn
	Pages        = decode.Pages
	Page         = decode.Page
	PageBytes    = decode.PageBytes
	PageEncoding = decode.PageEncoding
	PageLevels   = decode.PageLevels
	PageReader   = decode.PageReader
)

// How values lie in a page.
const (
	Plain                = decode.Plain
	Coded                = decode.Coded
	DeltaBinaryPacked    = decode.DeltaBinaryPacked
	DeltaLengthByteArray = decode.DeltaLengthByteArray
	ByteStreamSplit      = decode.ByteStreamSplit
)

// The places of the definition levels of a page.
const (
	LevelsNone     = decode.LevelsNone
	LevelsPrefixed = decode.LevelsPrefixed
	LevelsSized    = decode.LevelsSized
)

// CodedFilter is a RowFilter that may have instructions.
type CodedFilter interface {
	RowFilter

	// Code adds the condition to a program; or tells what has no instructions. columns are the program's
	// values of Columns. Where a row gives an error by Select, the condition is an error or NULL.
	Code(b *rowcode.Builder, columns []rowcode.Value) (rowcode.Value, error)
}

var (
	_ PagedSplit = (*split)(nil)
	_ PagedSplit = (*filteredSplit)(nil)
)

// PagedOf returns the pages of a split, or why it has none.
func PagedOf(s Split) (*Paged, error) {
	if p, ok := s.(PagedSplit); ok {
		return p.Paged()
	}
	return nil, errors.New("the input is no file with pages")
}

// ErrUndecided is why a split has no pages before the statement runs: it makes the pairs of a join.
var ErrUndecided = errors.New("is known once the build sides of joins are there")

// ErrLate is why a split has no pages whose rows depend on the rows of all splits before it: it is read behind them.
var ErrLate = errors.New("the split is read behind all others")

// Build begins a program that goes on where Program ends: filter is its condition or None, and columns
// are the split's.
func (p *Paged) Build() (b *rowcode.Builder, filter rowcode.Value, columns []rowcode.Value) {
	b = &rowcode.Builder{}
	if p.Program == nil {
		return b, rowcode.None, b.Loads(len(p.Columns))
	}
	filter, columns = b.Add(p.Program)
	return b, filter, columns
}

// Restricted returns the pages with a further condition behind `before`, Program's, and with other columns. count is
// told how many rows are asked and pass, as Filtered is.
func (p *Paged) Restricted(
	b *rowcode.Builder, before, filter rowcode.Value, columns []rowcode.Value, count func(asked, kept int64),
) *Paged {
	if before >= 0 {
		filter = b.Do(rowcode.Then, before, filter)
	}
	made := *p
	made.Program, made.Filtered = b.Program(filter, columns), count
	if p.Filtered != nil {
		made.Filtered = func(asked, kept int64) {
			p.Filtered(asked, kept)
			count(asked, kept)
		}
	}
	return &made
}

// filteredBy returns the pages with a condition, for a split of some of their columns.
func (p *Paged) filteredBy(test *decode.RowTest, wanted, tested []int) (*Paged, error) {
	b, before, columns := p.Build()
	filter, err := codeOf(test.Filter, b, pick(columns, tested))
	if err != nil {
		return nil, err
	}
	return p.Restricted(b, before, filter, pick(columns, wanted), test.Add), nil
}

// codeOf adds the condition of a filter to a program.
func codeOf(f any, b *rowcode.Builder, columns []rowcode.Value) (rowcode.Value, error) {
	switch f := f.(type) {
	case *placedFilter:
		return codeOf(f.RowFilter, b, columns)
	case CodedFilter:
		return f.Code(b, columns)
	}
	return rowcode.None, errors.New("the filter has no instructions")
}

// Code implements CodedFilter.
func (f *allFilters) Code(b *rowcode.Builder, columns []rowcode.Value) (rowcode.Value, error) {
	all := rowcode.None
	for i, of := range f.filters {
		one, err := codeOf(of, b, pick(columns, f.of[i]))
		switch {
		case err != nil:
			return rowcode.None, err
		case i == 0:
			all = one
		default:
			all = b.Do(rowcode.Then, all, one)
		}
	}
	return all, nil
}

// pick returns some elements of a list.
func pick[T any](list []T, places []int) []T {
	picked := make([]T, len(places))
	for i, at := range places {
		picked[i] = list[at]
	}
	return picked
}

// rowsOfGroup is the filter of a split of a row group.
type rowsOfGroup struct {
	test   *decode.RowTest
	plan   *delivery.Plan // of all columns that are read
	wanted []int          // of plan
	tested []int
	ranges []decode.RowRange
}

// pagesMin: where fewer rows than this part of a row group may be needed, its pages are not read as a
// whole.
const pagesMin = 0.5

// Paged implements PagedSplit.
func (s *split) Paged() (*Paged, error) {
	part, ok := s.part.(decode.PagedPart)
	if !ok {
		return nil, errors.New("the file has no pages")
	}
	plan := s.plan
	if s.filter != nil {
		plan = s.filter.plan
	}
	columns, err := part.PagedColumns()
	if err != nil {
		return nil, err
	}
	if len(columns) != len(plan.Columns) {
		return nil, errors.New("a column is in two others")
	}
	for i, c := range plan.Columns {
		if c.Constant || c.Row || c.From != i {
			return nil, errors.New("a column is not in the file as it is read")
		}
		if c.Convert {
			return nil, errors.New("a column has another type in other files")
		}
	}
	paged := &Paged{Rows: part.Rows(), Columns: columns, Open: s.openPages}
	f := s.filter
	if f == nil {
		return paged, nil
	}
	paged.Rows = part.(decode.GroupPart).RowsInFile()
	paged.Asked = paged.Rows
	if f.ranges != nil {
		paged.Asked = decode.CountRows(f.ranges)
	}
	if f.test.All() || float64(paged.Asked) < pagesMin*float64(paged.Rows) {
		return nil, errors.New("the page index leaves out rows")
	}
	return paged.filteredBy(f.test, f.wanted, f.tested)
}

// Paged implements PagedSplit.
func (s *filteredSplit) Paged() (*Paged, error) {
	p, err := PagedOf(s.Split)
	if err != nil {
		return nil, err
	}
	p.Asked = p.Rows
	return p.filteredBy(s.test, s.wanted, s.tested)
}

func (s *split) openPages() (PageReader, error) {
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
