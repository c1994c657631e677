package scan

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// Placer is implemented by the readers of splits that know where the rows of their current batch are.
type Placer interface {
	// Place names the file and the row that row i of the current batch is, as "x.csv, line 17" or "x.parquet, row 3",
	// counted from 1; "" where that is not known.
	Place(i int) string
}

// Placed puts before an error where it is: the file and the row, where the error is of a row of the current batch of a
// split's reader (it has a method BatchRow) and the reader is a Placer, else the split. An error that says so itself
// is returned as it is.
func Placed(r array.RecordReader, split string, err error) error {
	if row, ok := batchRow(err); ok {
		if p, ok := r.(Placer); ok {
			if place := p.Place(row); place != "" {
				return locate(place, err)
			}
		}
	}
	return locate(split, err)
}

// batchRow returns the row of a batch that an error is of.
func batchRow(err error) (row int, ok bool) {
	var of interface{ BatchRow() int }
	if !errors.As(err, &of) {
		return 0, false
	}
	return of.BatchRow(), true
}

// rowNamer is implemented by parts that can tell where their rows are.
type rowNamer interface {
	rowName(row int64) string // row is counted from the part's first
}

// rowPlacer is implemented by row readers that know where the rows of their last batch are, which are not all rows of
// the part one after the other, or have a better name.
type rowPlacer interface {
	placeOf(row int64) string
}

// Place implements Placer.
func (r *reader) Place(i int) string {
	if p, ok := r.source.(rowPlacer); ok {
		return p.placeOf(r.within + int64(i))
	}
	if p, ok := r.split.part.(rowNamer); ok && r.current != nil {
		return p.rowName(r.rows - r.current.NumRows() + int64(i))
	}
	return ""
}

// Place implements Placer.
func (r *filteredReader) Place(i int) string {
	if p, ok := r.from.(Placer); ok {
		return p.Place(r.selection.rows.nth(i))
	}
	return ""
}

func (g *filteredGroup) placeOf(row int64) string {
	if g.filter.test.filter != nil {
		row = int64(g.selection.some.nth(int(row)))
	}
	return g.part.rowName(g.given + row)
}

// placeOf finds the row anew in the text of the batch, which is there until the next is read.
func (r *csvReader) placeOf(row int64) string {
	at, limit := int(r.batchAt-r.base), int(min(r.limit-r.base, math.MaxInt))
	splitter := newRowSplitter(r.file.dialect, len(r.file.names), nil)
	for row > 0 {
		next, n, err := splitter.split(r.buf, at, limit, int(row))
		if n == 0 || err != nil {
			return ""
		}
		at, row = next, row-int64(n)
	}
	for at < len(r.buf) && splitter.width > 1 && blankLine(r.buf, at) > 0 {
		at += blankLine(r.buf, at)
	}
	return r.placeAt(at)
}

func rowOf(path string, row int64) string { return fmt.Sprintf("%s, row %d", path, row+1) }

func (p *parquetPart) rowName(row int64) string { return rowOf(p.file.path, int64(p.first)+row) }
func (p *arrowPart) rowName(row int64) string   { return rowOf(p.file.path, int64(p.first)+row) }
func (p *streamPart) rowName(row int64) string  { return rowOf(p.path, row) }

func (p *batchPart) rowName(row int64) string {
	return rowOf(fmt.Sprintf("record batch %d", p.index), p.from+row)
}

// nth returns the i-th row of the set, counted from 0.
func (s *rowSet) nth(i int) int {
	for w, word := range s.words {
		if n := bits.OnesCount64(word); i >= n {
			i -= n
			continue
		}
		for ; i > 0; i-- {
			word &= word - 1
		}
		return w*64 + bits.TrailingZeros64(word)
	}
	return s.rows
}
