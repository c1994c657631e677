package objects

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// watch is over one attempt at a request: it says in the log that a server is waited for, and ends
// an attempt that takes too long. It is safe for concurrent use.
//
//	begin --> move, move, ... (a connection, an answer, bytes) --> end
//	            |  no move for Options.Timeout: the attempt ends with a silenceError
//	            +- no move for a few seconds: a warning
type watch struct {
	fs     *FS
	what   string // is done, to which object: without secrets
	cancel context.CancelCauseFunc
	limit  time.Duration // Options.Timeout; shorter for what cleans up

	mu     sync.Mutex
	timer  *time.Timer
	host   string        // that was asked last, "" before
	status int           // of the last answer, 0 before
	moved  time.Time     // when something came last
	bytes  int           // that came since
	warned time.Duration // without a move after which there was a warning, 0 for none
	paused bool          // while another attempt does the work
	ended  bool
}

// moveBytes are the fewest bytes that count as a move: a server that sends a byte now and then
// counts as silent.
const moveBytes = 512

// warnAfter is the silence of a server after which there is a warning. A time-out of less than
// twice as long halves it.
const warnAfter = 5 * time.Second

// silenceError is the error of an attempt in which nothing came for too long.
type silenceError struct {
	host  string
	limit time.Duration
}

func (e silenceError) Error() string { return e.Word(knob.Name.String) }

// Word implements knob.Worder.
func (e silenceError) Word(word func(knob.Name) string) string {
	from := "the server"
	if e.host != "" {
		from = e.host
	}
	return fmt.Sprintf("%s sent nothing for %s, or less than %d B (%s)", from, e.limit, moveBytes,
		word(knob.Name("objects.Timeout")))
}

// Timeout says what kind of error it is, as net.Error does.
func (silenceError) Timeout() bool { return true }

func (silenceError) Temporary() bool { return true }

var _ net.Error = silenceError{}

type watchKey struct{}

// watchOf returns the watch over a request, nil for none.
func watchOf(ctx context.Context) *watch {
	w, _ := ctx.Value(watchKey{}).(*watch)
	return w
}

// watch begins to watch what is done with the context that it returns. The caller ends the watch.
func (f *FS) watch(ctx context.Context, what string) (context.Context, *watch) {
	w := &watch{fs: f, what: what, limit: f.opt.Timeout, moved: time.Now()}
	if f.ctx.Err() != nil {
		w.limit = min(w.limit, cleanupTime)
	}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.mu.Lock() // look may come before there is a timer
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.next(0), func() {
		if err := spawn.Call(w.look); err != nil {
			w.cancel(err)
		}
	})
	return context.WithValue(ctx, watchKey{}, w), w
}

// end ends the watch, and requests of the attempt that still run.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
	w.cancel(nil)
}

// move notes that bytes came or went.
func (w *watch) move(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes += bytes; w.bytes >= moveBytes {
		w.bytes, w.moved, w.warned = 0, time.Now(), 0
	}
}

// asked notes that a server is asked.
func (w *watch) asked(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.host = host
}

// answered notes the status of an answer, whose body may follow.
func (w *watch) answered(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.moved, w.warned = status, time.Now(), 0
}

// pause has the watch look away until resume is called.
func (w *watch) pause() (resume func()) {
	set := func(paused bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.paused, w.moved, w.warned = paused, time.Now(), 0
	}
	set(true)
	return func() { set(false) }
}

// refused says whether another attempt would only bring the last answer again.
func (w *watch) refused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return isFinal(w.status)
}

// next returns the silence after which look has something to do.
func (w *watch) next(warned time.Duration) time.Duration {
	if warned == 0 {
		return min(warnAfter, w.limit/2)
	}
	return min(2*warned, w.limit)
}

// look is called when there may be something to do.
func (w *watch) look() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	silent := time.Since(w.moved)
	switch {
	case w.ended:
		return nil
	case w.paused:
		silent = 0
	case silent >= w.limit:
		w.cancel(silenceError{host: w.host, limit: w.limit})
		return nil
	case silent >= w.next(w.warned):
		w.warned = silent
		w.fs.warn(w.host, w.what, silent)
	}
	w.timer.Reset(w.next(w.warned) - silent)
	return nil
}

// warn says that a server is waited for, once in a while for each.
func (f *FS) warn(host, what string, silent time.Duration) {
	if !f.mayWarn(host) {
		return
	}
	f.opt.Logger.Warn("waiting for a server that sends nothing", slog.String("server", host), slog.String("for", what),
		slog.Float64("silent_seconds", silent.Round(100*time.Millisecond).Seconds()),
		slog.String("limit", fmt.Sprintf("%s, set by --http-timeout", f.opt.Timeout)))
}

// mayWarn says whether the last warning of a server was long enough ago for another, and notes that
// there is another.
func (f *FS) mayWarn(host string) bool {
	f.warnings.Lock()
	defer f.warnings.Unlock()
	if time.Since(f.warned[host]) < min(warnAfter, f.opt.Timeout/2) {
		return false
	}
	f.warned[host] = time.Now()
	return true
}

// serverOf returns the server or the bucket that a name is of.
func serverOf(name string) string {
	scheme, host, _ := split(redact.URL(name))
	if schemes[scheme] {
		return scheme + "://" + host
	}
	return host
}
