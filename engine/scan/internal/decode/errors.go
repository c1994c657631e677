package decode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"

	"github.com/mpga/mpga/internal/spawn"
)

// ErrCorrupt marks input whose parts contradict each other, or that ends too early.
var ErrCorrupt = errors.New("corrupt data")

// ErrFooter is the ErrCorrupt of a footer.
var ErrFooter error = markedError{"corrupt footer", ErrCorrupt}

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

// NotRead marks an error of a read, unless it says that the input has ended.
func NotRead(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return readError{err}
}

// Corrupt marks an error as an error of the data, unless the file could not be read.
func Corrupt(err error) error {
	if read := (readError{}); err == nil || errors.As(err, &read) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// locatedError is an error that names the file and the row that it is about.
type locatedError struct{ error }

func (e locatedError) Unwrap() error { return e.error }

// Located marks an error that names its place.
func Located(err error) error { return locatedError{err} }

// Locate puts a file's or a part's name before an error, once.
func Locate(name string, err error) error {
	if already := (locatedError{}); err == nil || errors.As(err, &already) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return locatedError{fmt.Errorf("%s: %w", name, err)}
}

// Guard turns a panic of a library that reads corrupt data into an error. S3.
func Guard(f func() error) error {
	panicked, err := spawn.Catch(f)
	if panicked != nil {
		return OfPanic(panicked)
	}
	if of := runtime.Error(nil); errors.As(err, &of) { // a library has caught a panic of its own
		return contradiction(of)
	}
	return err
}

// contradiction returns the error of data over which a program went beyond their end, or over a rule of its own.
func contradiction(of runtime.Error) error {
	slog.Debug("damaged data ended a function", "panic", of)
	if strings.Contains(of.Error(), "out of range") {
		return fmt.Errorf("%w: a length or a place in them lies beyond their end", ErrCorrupt)
	}
	return fmt.Errorf("%w: they contradict themselves", ErrCorrupt)
}

// OfPanic returns the error of a panic over corrupt data.
func OfPanic(panicked *spawn.PanicError) error {
	switch p := panicked.Value.(type) {
	case runtime.Error:
		return contradiction(p)
	case error:
		return fmt.Errorf("%w: %w", ErrCorrupt, p)
	default:
		return fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}

// BatchRow returns the row of the batch that an error is about, if the error tells.
func BatchRow(err error) (row int, ok bool) {
	var of interface{ BatchRow() int }
	if !errors.As(err, &of) {
		return 0, false
	}
	return of.BatchRow(), true
}

// RowOf names a row of a file for an error. row counts from 0, and the name from 1.
func RowOf(path string, row int64) string { return fmt.Sprintf("%s, row %d", path, row+1) }
