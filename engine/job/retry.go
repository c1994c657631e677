package job

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sql"
)

// passing are errors of the system that another attempt may not meet: of disks, network file
// systems and connections.
var passing = []error{
	syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EAGAIN, syscall.EBUSY, syscall.EINTR,
	syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED, syscall.ENETUNREACH,
	syscall.ENETDOWN, syscall.ENETRESET,
	syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENOTCONN, syscall.EPIPE, syscall.ENFILE, syscall.EMFILE,
}

// mayPass reports whether another attempt may not meet an error again. J5. Besides errors of the
// system, these are errors that say so themselves, by a method Transient, Timeout or Temporary that
// returns true.
func mayPass(err error) bool {
	var text *sql.Error
	switch {
	case err == nil, errors.Is(err, engine.ErrQuery), errors.Is(err, engine.ErrValue), errors.Is(err, engine.ErrOverflow),
		errors.Is(err, engine.ErrCorrupt), errors.Is(err, engine.ErrClosed), errors.Is(err, ErrLocked), errors.As(err, &text):
		return false
	}
	var transient interface{ Transient() bool }
	if errors.As(err, &transient) { // also of a request that took too long
		return transient.Transient()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, one := range passing {
		if errors.Is(err, one) {
			return true
		}
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return true
	}
	var temporary interface{ Temporary() bool }
	if errors.As(err, &temporary) && temporary.Temporary() {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF) // of a connection: of a file it is ErrCorrupt
}

// pauses returns how long to wait between attempts: it doubles, and a random part of up to half
// keeps jobs that failed together from trying again together.
func (r Retry) pauses() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{ // between two thirds and four thirds of three quarters
		InitialInterval: time.Duration(r.Wait) * 3 / 4, MaxInterval: time.Duration(r.WaitMax) * 3 / 4,
		Multiplier: 2, RandomizationFactor: 1. / 3,
	}
}

// sleep waits unless the context ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
