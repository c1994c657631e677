package expr

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/rowdata"
)

// Strings that functions make take memory until the rows that are evaluated together have been
// added to their arrays. So fewer rows are taken together where their strings are long, and arrays
// end early. What the strings of one row take beyond that is reserved before they are made.
const (
	// textFrameBytes is what the strings of rows that are evaluated together may take, unless it is one row.
	textFrameBytes = 16 << 20

	// textArrayBytes ends an array, or less where the memory limit is small.
	textArrayBytes = 32 << 20

	// textRowBytes is what the strings of one row may take at most.
	textRowBytes = 1 << 30

	// textShare is the part of an evaluator's share of the memory limit that the strings of rows that are evaluated
	// together may take: they are there twice while an array is made of them, and the array while the next one is.
	textShare = 32

	// textShareMin is enough for a string of some length in every row.
	textShareMin = 128 << 10

	// textCopies is how many times the strings of a row are in memory until they are in a file: as they are made, in
	// an array, encoded, compressed, and two that grow. Of these ownCopies are the evaluator's: rows that follow one
	// of their size find the others taken.
	textCopies = 6
	ownCopies  = 3

	// foldedBytes is what a constant may take that is computed before there is a memory limit.
	foldedBytes = 2 << 20
)

// errManyTexts asks for fewer rows to be evaluated together.
var errManyTexts = errors.New("the strings of the rows take too much memory")

// textLimit bounds the strings that an evaluator makes.
type textLimit struct {
	frame int // bytes of the strings of rows that are evaluated together
	row   int // bytes of the strings of one row
	array int // bytes of strings above which arrays end
	full  int // bytes that the strings of the rows at hand may take
	most  int // bytes of the strings of a row, of those so far

	reserved rowdata.Reservation // for the row at hand
}

// textLimitOf returns the limits that suit a share of a memory limit.
func textLimitOf(share int64, budget rowdata.Budget) textLimit {
	frame := int(min(textFrameBytes, max(share/textShare, textShareMin)))
	return textLimit{frame: frame, row: textRowBytes, array: min(textArrayBytes, 2*frame), full: frame, reserved: rowdata.NewReservation(budget)}
}

// Limit bounds the memory of strings by a worker's share of the memory limit, in bytes. What the strings of one row
// take beyond a part of that is reserved of the budget.
func (e *Evaluator) Limit(share int64, budget rowdata.Budget) { e.text = textLimitOf(share, budget) }

// claim makes sure that there may be strings of so many further bytes, and returns an error where that is more than
// there is for the rows at hand.
func (e *Evaluator) claim(n *node, size int) error {
	need := e.made + size
	switch {
	case need <= e.text.full:
		return nil
	case e.together > 1:
		if size > e.text.frame {
			e.step = 1 // this row does not go with any other
		}
		return errManyTexts
	case need > e.text.row:
		return fmt.Errorf("%s: the strings of one row take more than %s", n.text, humanize.IBytes(uint64(e.text.row)))
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

// inSteps calls a function with some of the rows from one on, and with fewer where their strings take too much
// memory. It returns how many were done.
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
