package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/mpga/mpga/internal/spawn"
)

// ErrCorrupt marks input whose parts contradict each other, or that ends too early.
var ErrCorrupt = errors.New("corrupt data")

// errFooter is ErrCorrupt where it stands in a footer.
var errFooter error = markedError{"corrupt footer", ErrCorrupt}

// markedError is an error with words of its own that counts as another.
type markedError struct {
	text string
	as   error
}

func (e markedError) Error() string { return e.text }
func (e markedError) Unwrap() error { return e.as }

// readError is an error of the file system, which says nothing of the data.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// notRead marks an error of a read, unless it says that the input has ended.
func notRead(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return readError{err}
}

// corrupt marks an error as one of the data, unless the file could not be read.
func corrupt(err error) error {
	if read := (readError{}); err == nil || errors.As(err, &read) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// locatedError is an error that says itself which file and row it is about.
type locatedError struct{ error }

func (e locatedError) Unwrap() error { return e.error }

// located marks an error that says itself where it is.
func located(err error) error { return locatedError{err} }

// locate puts a file's or a part's name before an error, once.
func locate(name string, err error) error {
	if already := (locatedError{}); err == nil || errors.As(err, &already) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return locatedError{fmt.Errorf("%s: %w", name, err)}
}

// guard turns a panic of a library that reads corrupt data into an error. S3.
func guard(f func() error) error {
	panicked, err := spawn.Catch(f)
	if panicked == nil {
		return err
	}
	return corrupted(panicked)
}

// corrupted returns the error of a panic over corrupt data.
func corrupted(panicked *spawn.PanicError) error {
	switch p := panicked.Value.(type) {
	case runtime.Error:
		return fmt.Errorf("%w: reading it ended in %q", ErrCorrupt, p.Error())
	case error:
		return fmt.Errorf("%w: %w", ErrCorrupt, p)
	default:
		return fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}

// batchRow returns the row of a batch that an error is of.
func batchRow(err error) (row int, ok bool) {
	var of interface{ BatchRow() int }
	if !errors.As(err, &of) {
		return 0, false
	}
	return of.BatchRow(), true
}

func rowOf(path string, row int64) string { return fmt.Sprintf("%s, row %d", path, row+1) }
