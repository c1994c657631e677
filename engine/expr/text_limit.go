package expr

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/dustin/go-humanize"
)

// Strings that functions make take memory until the rows that are evaluated together have been added to their arrays. So
// fewer rows are taken together where their strings are long, and arrays end early.
const (
	// textFrameBytes is what the strings of rows that are evaluated together may take, unless it is one row.
	textFrameBytes = 16 << 20

	// textArrayBytes ends an array, or less where the memory limit is small.
	textArrayBytes = 32 << 20

	// textRowBytes is what the strings of one row may take where nothing else is said.
	textRowBytes = 1 << 30
)

// errManyTexts asks for fewer rows to be evaluated together.
var errManyTexts = errors.New("the strings of the rows take too much memory")

// LimitText bounds the memory that the strings of one row may take to an eighth of a memory limit, in bytes.
func (e *Evaluator) LimitText(memoryLimit int64) {
	e.textMax = int(min(textRowBytes, max(memoryLimit/8, 1)))
	e.textFull = min(textFrameBytes, e.textMax)
	e.textArray = min(textArrayBytes, e.textMax/2)
}

// manyTexts returns the error of strings that take more than textFull.
func (e *Evaluator) manyTexts(n *node) error {
	switch {
	case e.together > 1:
		return errManyTexts
	case e.made <= e.textMax:
		e.textFull = e.textMax // of this row, see inSteps
		return nil
	}
	return fmt.Errorf("%s: the strings of one row take more than %s, an eighth of the memory limit; raise --memory-limit (MemoryLimit)",
		n.text, humanize.IBytes(uint64(e.textMax)))
}

// inSteps calls a function with some of the rows from one on, and with fewer where their strings take too much
// memory. It returns how many were done.
func (e *Evaluator) inSteps(from, rows int, f func(from, n int) error) (int, error) {
	for {
		n := min(rows, e.step)
		e.reset()
		e.together, e.textFull = n, min(textFrameBytes, e.textMax)
		err := f(from, n)
		if err == errManyTexts {
			e.step = 1 << (bits.Len(uint(n-1)) - 1) // half of it: arrays go on at a multiple of 8 rows
			continue
		}
		if e.step < vectorRows && e.made < textFrameBytes/4 {
			e.step *= 2
		}
		return n, err
	}
}
