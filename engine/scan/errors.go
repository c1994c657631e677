package scan

import (
	"errors"
	"fmt"
	"io"
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
