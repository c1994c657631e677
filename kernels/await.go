package kernels

import (
	"errors"
	"fmt"
	"time"

	"github.com/mpga/mpga/internal/spawn"
)

// TimeoutDefault is how long a driver may take for an answer.
const TimeoutDefault = time.Minute

// ErrTimeout marks an error of a device, or its driver, that does not answer.
var ErrTimeout = errors.New("the device does not answer")

// Await makes a call that may never return, as calls of a driver may, and waits no longer than a
// timeout for it. After the timeout the error is ErrTimeout, and late waits until the call has
// returned after all, and drops the value that the call returns. late is nil otherwise.
func Await[T any](timeout time.Duration, call func() (T, error), drop func(T) error) (v T, late func(), err error) {
	type result struct {
		v    T
		made bool
		err  error
	}
	done := make(chan result, 1)
	var r result
	spawn.Go(func() error {
		r.v, r.err = call()
		r.made = r.err == nil
		return r.err
	}, func(err error) {
		r.err = err
		done <- r
	})
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case r := <-done:
		if r.made && r.err != nil && drop != nil { // a panic came after it
			return v, nil, errors.Join(r.err, drop(r.v))
		}
		return r.v, nil, r.err
	case <-timer.C:
	}
	late = func() {
		if r := <-done; r.err == nil && drop != nil {
			_ = drop(r.v) // nobody is left to be told
		}
	}
	return v, late, fmt.Errorf("no answer for %v: %w", timeout, ErrTimeout)
}
