package spawn

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mpga/mpga/internal/redact"
)

// ErrInternal marks an error that is a bug of this program: a panic that was recovered.
var ErrInternal = errors.New("internal error")

// PanicError is a recovered panic. It is ErrInternal.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the goroutine that panicked, as debug.Stack writes it
	Query string // that the goroutine worked for; "" where it is not known
	cause error  // the error that InQuery has found the panic in; nil of the panic itself
}

// Error returns what the panic says, and the query, with URLs without secrets.
func (e *PanicError) Error() string {
	if e.Query == "" {
		return redact.Text(fmt.Sprintf("internal error: %v", e.Value))
	}
	return redact.Text(fmt.Sprintf("internal error in query %s: %v", e.Query, e.Value))
}

// Is makes the error an ErrInternal.
func (e *PanicError) Is(target error) bool { return target == ErrInternal }

// Unwrap returns the error that the panic was found in.
func (e *PanicError) Unwrap() error { return e.cause }

// InQuery adds the text of a query, if there is one, to an error that is ErrInternal. It returns
// all other errors as they are.
func InQuery(err error, query string) error {
	var p *PanicError
	if query == "" || !errors.As(err, &p) {
		return err
	}
	return &PanicError{Value: p.Value, Stack: p.Stack, Query: query, cause: err}
}

// failure is what Fail panics with. It is an error, since libraries that recover panics themselves
// wrap errors.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// Fail ends the work of the goroutine with an error that is no bug. S4.
func Fail(err error) { panic(failure{err}) }

// Call calls a function. A panic of the function is returned as an error. S1.
func Call(f func() error) error {
	panicked, err := Catch(f)
	if panicked != nil {
		return panicked
	}
	return err
}

// Catch calls a function. A panic of the function comes back apart from the errors that it returns,
// for a caller that knows what the function may trip over. S3.
func Catch(f func() error) (panicked *PanicError, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panicked = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return nil, f()
}
