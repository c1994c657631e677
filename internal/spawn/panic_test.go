package spawn

import (
	"errors"
	"fmt"
	"testing"
)

// Would catch an error of Fail that its cause cannot be told of, where a library between Fail and
// Call recovers panics and wraps those that are errors, as Arrow's does.
func TestFailThroughLibrary(t *testing.T) {
	cause := errors.New("no room")
	library := func(f func()) (err error) {
		defer func() {
			if p, ok := recover().(error); ok {
				err = fmt.Errorf("library: %w", p)
			}
		}()
		f()
		return nil
	}
	err := Call(func() error { return library(func() { Fail(cause) }) })
	if !errors.Is(err, cause) || errors.Is(err, ErrInternal) || err.Error() != "library: no room" {
		t.Errorf("%v", err)
	}
}
