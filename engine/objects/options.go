package objects

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// Options say how stores are asked. The zero value is usable.
type Options struct {
	// Attempts is how many requests in a row may bring nothing, or next to nothing: less than 512
	// B. The default is 5.
	Attempts int

	// Silences is how many of these attempts may end since Timeout has passed. The default is 2.
	Silences int

	// Refusals is how many of these attempts may end since the server refuses the connection, or its
	// name has no address, where the server has not answered before: a wrong setting is likelier
	// than a server that is about to come back. The default is 2.
	Refusals int

	// Pause is the mean pause before the second attempt; it doubles with each further attempt, up
	// to 64 times Pause. A pause is between 0.5 and 1.5 times its mean. The default is 200 ms.
	Pause time.Duration

	// Timeout is how long a server may send nothing, or next to nothing, before an attempt ends.
	// The default is 30 s.
	Timeout time.Duration

	// Logger takes warnings of servers that are waited for, and, for debugging, attempts that
	// failed. The default discards.
	Logger *slog.Logger

	// Requests is how many requests for pieces of files run at a time. The default is 32.
	Requests int

	// Bytes bounds the memory of pieces that are read ahead. The default is 256 MiB; see SetBytes.
	Bytes int64

	// TempDir takes the files of servers that send only whole files. The default is os.TempDir().
	TempDir string

	// Client makes the requests of https. The default is a client with the system's proxy.
	Client *http.Client
}

// EnsureDefaults fills in fields that are zero.
func (o *Options) EnsureDefaults() {
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.Silences = cmp.Or(o.Silences, 2)
	o.Refusals = cmp.Or(o.Refusals, 2)
	o.Pause = cmp.Or(o.Pause, 200*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Requests = cmp.Or(o.Requests, 32)
	o.Bytes = cmp.Or(o.Bytes, 256<<20)
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	o.Client = cmp.Or(o.Client, &http.Client{})
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	check := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Attempts >= 1 && o.Silences >= 1, "Attempts (%d) and Silences (%d) must be at least 1", o.Attempts, o.Silences)
	check(o.Refusals >= 1, "Refusals (%d) must be at least 1", o.Refusals)
	check(o.Pause >= 0 && o.Timeout >= 0, "Pause (%s) and Timeout (%s) must not be negative", o.Pause, o.Timeout)
	check(o.Bytes >= 0, "Bytes (%d) must not be negative", o.Bytes)
	check(o.Requests >= 1, "Requests (%d) must be at least 1", o.Requests)
	return errors.Join(errs...)
}
