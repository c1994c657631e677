package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"gocloud.dev/gcerrors"
)

// errChanged marks an object that is not the one that was opened.
var errChanged = errors.New("the object changed while it was read")

// finalError is an error that another attempt would only repeat.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// passingError is an error that outlasted all attempts, but may be gone later.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

// Transient tells callers that repeat whole queries that another attempt is worthwhile.
func (passingError) Transient() bool { return true }

// final marks errors that are a store's answer; that of a missing object becomes fs.ErrNotExist.
func final(err error) error {
	if err == nil {
		return nil
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return finalError{fmt.Errorf("%w (%w)", fs.ErrNotExist, err)}
	case gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.Unimplemented, gcerrors.FailedPrecondition:
		return finalError{err}
	}
	return err
}

// retry calls a function until it succeeds, its answer is final, or Options.Attempts calls in a row have
// brought no byte. B2.
func (f *FS) retry(ctx context.Context, do func(ctx context.Context) (bytes int, err error)) error {
	pause := f.opt.Pause
	for failed := 0; ; {
		attempt, cancel := context.WithTimeout(ctx, f.opt.Stall)
		n, err := do(attempt)
		cancel()
		answer := finalError{}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &answer):
			return answer.error
		}
		if n > 0 {
			failed, pause = 0, f.opt.Pause
		}
		if failed++; failed == f.opt.Attempts {
			return passingError{fmt.Errorf("tried %d times: %w", failed, err)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(rand.N(pause + 1)):
		}
		pause = min(2*pause, 64*f.opt.Pause)
	}
}
