package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/spawn"
)

// input is one file, or what stands for one, opened far enough to know its columns.
type input interface {
	name() string

	// schema has the types that are delivered: see deliveredSchema.
	schema() *arrow.Schema

	stats() Stats

	// span is how many positions the rows take at most.
	span() uint64

	// parts cuts the input; batches hold the given columns of the schema, in that order.
	parts(ctx context.Context, columns []int) ([]part, error)
}

// part is what a format knows of a split.
type part interface {
	open(ctx context.Context, opt OpenOptions) (rowReader, error)
	offset() uint64 // of its first row among the input's positions
	rows() int64    // -1 when it is not known
	bytes() int64   // 0 when it is not known
	name() string
}

// rowReader reads a part. Its batches may have any size and any type that deliver knows.
type rowReader interface {
	// next returns a batch that belongs to the caller, or io.EOF.
	next(ctx context.Context) (arrow.RecordBatch, error)
	io.Closer
}

// thrifty is a rowReader that can read on after it had no room in the memory.
type thrifty interface {
	rowReader

	// spare gives back what the reader holds between steps. The next step reads it anew.
	spare()

	// shrink makes steps smaller. It returns false where they cannot be.
	shrink() bool
}

// positionsUnknown is the span of an input whose rows nobody has counted: 2^44 rows are more than a
// stream brings in a day at 100 M rows/s, and a million such inputs fit 64 bits.
const positionsUnknown = 1 << 44

// locatedError is an error that says itself which file and row it is about.
type locatedError struct{ error }

func (e locatedError) Unwrap() error { return e.error }

// locate puts a file's or a part's name before an error, once.
func locate(name string, err error) error {
	if located := (locatedError{}); err == nil || errors.As(err, &located) ||
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

// UseBatch calls a function that works on a batch. A panic of the function is ErrCorrupt where the batch contradicts
// itself, as one that is read from a corrupt file may; otherwise it is a bug, and spawn.ErrInternal.
func UseBatch(batch arrow.RecordBatch, f func() error) error {
	panicked, err := spawn.Catch(f)
	switch {
	case panicked == nil:
		return err
	case spawn.Call(func() error { return array.ValidateRecordFull(batch) }) != nil:
		return corrupted(panicked)
	}
	return panicked
}
