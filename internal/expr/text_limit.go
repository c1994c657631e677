package expr

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
)

// Strings that functions make take memory until the rows that are evaluated together have been
// added to their arrays. So fewer rows are evaluated together where strings are long, and arrays
// end early. Memory that the strings of a single row take beyond that is reserved beforehand.
const (
	// textFrameBytes bounds the strings of rows that are evaluated together, if these are several.
	textFrameBytes = 16 << 20

	// textArrayBytes ends an array, or less where the memory limit is small.
	textArrayBytes = 32 << 20

	// textRowBytes bounds the strings of a single row.
	textRowBytes = 1 << 30

	// textShare divides an evaluator's share of the memory limit: the strings of rows that are
	// evaluated together may take so small a part. They are in memory twice while an array is made
	// of them, and the array while the next array is made.
	textShare = 32

	// textShareMin is enough for a string of some length in every row.
	textShareMin = 128 << 10

	// textCopies is how many times the strings of a row are in memory until they are in a file: as
	// they are made, in an array, encoded, compressed, and in two buffers that grow. ownCopies of
	// these are the evaluator's: after a row of the same size the memory of the others is taken.
	textCopies = 6
	ownCopies  = 3

	// foldedBytes bounds a constant that is computed before there is a memory limit.
	foldedBytes = 2 << 20
)

// errManyTexts asks for fewer rows to be evaluated together.
var errManyTexts = errors.New("the strings of the rows take too much memory")

// textLimit bounds the strings that an evaluator makes.
type textLimit struct {
	frame int // bytes that the strings of rows may take that are evaluated together
	row   int // bytes that the strings of a single row may take
	array int // bytes of strings above which arrays end
	full  int // bytes that the strings of the rows at hand may take
	most  int // most bytes of strings that any single row has claimed so far

	reserved rowdata.Reservation // for the row at hand
}

// textLimitOf returns the limits that suit a share of a memory limit.
func textLimitOf(share int64, budget rowdata.Budget) textLimit {
	frame := int(min(textFrameBytes, max(share/textShare, textShareMin)))
	return textLimit{
		frame: frame, row: textRowBytes, array: min(textArrayBytes, 2*frame), full: frame,
		reserved: rowdata.NewReservation(budget),
	}
}

// Limit bounds the memory of strings by a worker's share of the memory limit, in bytes. Memory that
// the strings of a single row take beyond a part of the share is reserved of the budget.
func (e *Evaluator) Limit(share int64, budget rowdata.Budget) { e.text = textLimitOf(share, budget) }

// claim makes sure that strings of size further bytes may be made, and returns an error if that is
// more than the rows at hand may take.
func (e *Evaluator) claim(n *node, size int) error {
	need := e.made + size
	switch {
	case need <= e.text.full:
		return nil
	case e.together > 1:
		if size > e.text.frame {
			e.step = 1 // the row is evaluated alone
		}
		return errManyTexts
	case need > e.text.row:
		return query.Valuef("%s: the strings of one row take more than %s", n.text, humanize.IBytes(uint64(e.text.row)))
	}
	copies := int64(ownCopies)
	if need > e.text.most+e.text.most/4 {
		copies = textCopies
	}
	if err := e.text.reserved.Cover(copies * int64(need)); err != nil {
		return fmt.Errorf("%s: the strings of one row take %s, and %d times as much until they are in a file: %w",
			n.text, humanize.IBytes(uint64(need)), textCopies, err)
	}
	e.text.full, e.text.most = need, max(need, e.text.most)
	return nil
}

// inSteps calls a function with some rows from a row on, and again with fewer rows if their strings
// take too much memory. It returns how many rows were done.
func (e *Evaluator) inSteps(from, rows int, f func(from, n int) error) (int, error) {
	for {
		n := min(rows, e.step)
		e.reset()
		e.together, e.text.full = n, e.text.frame
		err := f(from, n)
		if e.text.reserved.Bytes() > 0 {
			e.bytes = nil
			e.text.reserved.Release()
		}
		if err == errManyTexts {
			e.step = min(e.step, 1<<(bits.Len(uint(n-1))-1)) // half of it: arrays go on at a multiple of 8 rows
			continue
		}
		if e.step < vectorRows && e.made < e.text.frame/4 {
			e.step *= 2
		}
		return n, err
	}
}
