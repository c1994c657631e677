package objects

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/mpga/mpga/internal/redact"
)

// tries counts the requests of an upload, which the stores' libraries repeat, and ends them by the same rules as
// FS.retry: the libraries have others, of which one is to go on for ever. It is safe for concurrent use.
type tries struct {
	mu sync.Mutex
	p  *patience
}

type triesKey struct{}

// withTries returns the context of an upload.
func (f *FS) withTries(ctx context.Context) context.Context {
	return context.WithValue(ctx, triesKey{}, &tries{p: newPatience(&f.opt)})
}

// note takes the outcome of a request of an upload, if it is one: an error, or the status of an answer. It returns an
// error when it was the last one.
func note(ctx context.Context, status string, code int, err error) error {
	t, ok := ctx.Value(triesKey{}).(*tries)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && (isFinal(code) || code < http.StatusMultipleChoices) {
		t.p.note(moveBytes, nil)
		return nil
	}
	if err == nil {
		err = statusError{status}
	}
	t.p.note(0, err)
	if !t.p.exhausted() {
		return nil
	}
	return givenUpError(fmt.Sprintf("tried %d times: %v", t.p.failed, redact.Error(err)))
}

// givenUpError is that of a request after which there is no other.
type givenUpError string

func (e givenUpError) Error() string { return string(e) }

// Transient tells callers that repeat whole queries that another attempt is worthwhile.
func (givenUpError) Transient() bool { return true }

// NonRetriable tells Azure's library so.
func (givenUpError) NonRetriable() {}
