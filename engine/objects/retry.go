package objects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mpga/mpga/internal/redact"
)

// errChanged marks an object that is no longer the version that was opened.
var errChanged = errors.New("the object changed while it was read")

// finalError is an error that another attempt would only meet again.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// passingError is an error that outlasted all attempts, but may be gone later.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

// Transient tells callers that repeat whole queries that another attempt is worthwhile.
func (passingError) Transient() bool { return true }

// answered returns the error of an answer with a status: final where another attempt would bring it
// again, and fs.ErrNotExist for a missing object.
func answered(status int, err error) error {
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		return finalError{fmt.Errorf("%w (%w)", fs.ErrNotExist, err)}
	case status == http.StatusPreconditionFailed: // of an object that was to be new
		return finalError{fmt.Errorf("%w (%w)", fs.ErrExist, err)}
	case isFinal(status):
		return finalError{err}
	}
	return err
}

// isFinal says whether an answer with a status stays the same if it is asked for again.
func isFinal(status int) bool {
	return status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

// neverPasses says whether an error is of the way to a server, not of the moment.
func neverPasses(err error) bool {
	return errors.Is(err, errRedirects) || errors.Is(err, errEndless) || errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(tls.RecordHeaderError))
}

// patience says how long to wait for the next attempt, until there is none. B2.
type patience struct {
	backoff.ExponentialBackOff
	opt     *Options
	failed  int // attempts in a row that brought too little
	silent  int // attempts in a row, among the failed, where the server sent nothing
	refused int // attempts in a row, among the failed, at a server that has never answered
}

func newPatience(opt *Options) *patience {
	return &patience{opt: opt, ExponentialBackOff: backoff.ExponentialBackOff{
		InitialInterval: opt.Pause, Multiplier: pauseGrowth, MaxInterval: pauseGrowthMax * opt.Pause,
		RandomizationFactor: 0.5,
	}}
}

const (
	pauseGrowth    = 2  // a pause by the pause before
	pauseGrowthMax = 64 // the longest pause by the first
)

// note takes the outcome of an attempt.
func (p *patience) note(bytes int, err error) {
	if bytes >= moveBytes {
		p.failed, p.silent, p.refused = 0, 0, 0
		p.Reset()
	}
	if err == nil {
		return
	}
	p.failed++
	if errors.As(err, new(silenceError)) {
		p.silent++
	}
	if unreachable := (unreachableError{}); errors.As(err, &unreachable) && !unreachable.known {
		p.refused++
	}
}

func (p *patience) NextBackOff() time.Duration {
	if p.failed >= p.opt.Attempts || p.silent >= p.opt.Silences || p.refused >= p.opt.Refusals {
		return backoff.Stop
	}
	return p.ExponentialBackOff.NextBackOff()
}

// retry calls a function until it succeeds, its answer is final, or too many calls in a row have
// brought too little. B2.
func (f *FS) retry(ctx context.Context, op, name string, do func(ctx context.Context) (bytes int, err error)) error {
	p := newPatience(&f.opt)
	what := redact.URL(name) + ": " + op
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		n, err := f.attempt(ctx, what, name, do)
		p.note(n, err)
		if ctx.Err() != nil {
			err = backoff.Permanent(context.Cause(ctx))
		}
		return struct{}{}, err
	}, backoff.WithBackOff(p), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		f.again(ctx, serverOf(name), p.failed, slog.String("for", what),
			slog.String("error", err.Error()), slog.Duration("wait", wait))
	}))
	answer := finalError{}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &answer):
		return answer.error
	}
	return passingError{fmt.Errorf("tried %d times: %w", p.failed, err)}
}

// again logs that a request is made again: as a warning where it has failed several times in a row,
// once in a while for each server.
func (f *FS) again(ctx context.Context, server string, failed int, about ...slog.Attr) {
	level := slog.LevelDebug
	if failed >= warnFailures && f.mayWarn(server) {
		level = slog.LevelWarn
	}
	f.opt.Logger.LogAttrs(ctx, level, "a request failed and is made again", about...)
}

// warnFailures is how many attempts in a row have failed when there is a warning: some requests to
// stores fail once.
const warnFailures = 2

// attempt calls a function once, under a watch. The text of its error has no secrets.
func (f *FS) attempt(ctx context.Context, what, name string,
	do func(ctx context.Context) (bytes int, err error)) (int, error) {
	under, w := f.watch(ctx, what)
	defer w.end()
	w.asked(serverOf(name))
	n, err := do(under)
	if err == nil {
		return n, nil
	}
	answer := finalError{}
	err = silenceOr(under, err)
	switch {
	case errors.As(err, &answer):
		return n, backoff.Permanent(finalError{redact.Error(answer.error)})
	case n == 0 && w.refused(), neverPasses(err):
		return n, backoff.Permanent(finalError{redact.Error(err)})
	}
	return n, redact.Error(err)
}

// retryAfterError is an error of a server that says when to come back.
type retryAfterError struct {
	error
	after *backoff.RetryAfterError
}

func (e retryAfterError) Unwrap() []error { return []error{e.error, e.after} }

// retryAfter adds to an error when the server wants to be asked again, if it says so in seconds. It
// is not waited for longer than for an answer.
func retryAfter(err error, header http.Header, most time.Duration) error {
	seconds, wrong := strconv.Atoi(header.Get("Retry-After"))
	if wrong != nil || seconds < 1 {
		return err
	}
	return retryAfterError{err,
		&backoff.RetryAfterError{Duration: min(time.Duration(min(seconds, 1<<20))*time.Second, most)}}
}
