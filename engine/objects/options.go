package objects

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Options say how stores are asked. The zero value is usable.
type Options struct {
	// Attempts is how many requests in a row may bring no byte. The default is 5.
	Attempts int

	// Pause bounds the pause before the second attempt, a random part of it; the bound doubles with each
	// further attempt, up to 64 times Pause. The default is 100 ms.
	Pause time.Duration

	// Stall is how long a request may take. The default is 60 s.
	Stall time.Duration

	// Requests is how many requests for pieces of files run at a time. The default is 32.
	Requests int

	// Bytes bounds the memory of pieces that are read ahead. The default is 256 MiB; see SetBytes.
	Bytes int64

	// TempDir takes the files of servers that send only whole files. The default is os.TempDir().
	TempDir string

	// Client makes the requests of https. The default is a client with the system's proxy.
	Client *http.Client
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.Attempts == 0 {
		o.Attempts = 5
	}
	if o.Pause == 0 {
		o.Pause = 100 * time.Millisecond
	}
	if o.Stall == 0 {
		o.Stall = time.Minute
	}
	if o.Requests == 0 {
		o.Requests = 32
	}
	if o.Bytes == 0 {
		o.Bytes = 256 << 20
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	if o.Client == nil {
		o.Client = &http.Client{}
	}
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	if o.Attempts < 1 {
		errs = append(errs, fmt.Errorf("Attempts (%d) must be at least 1", o.Attempts))
	}
	if o.Pause < 0 || o.Stall < 0 {
		errs = append(errs, fmt.Errorf("Pause (%s) and Stall (%s) must not be negative", o.Pause, o.Stall))
	}
	if o.Bytes < 0 {
		errs = append(errs, fmt.Errorf("Bytes (%d) must not be negative", o.Bytes))
	}
	if o.Requests < 1 {
		errs = append(errs, fmt.Errorf("Requests (%d) must be at least 1", o.Requests))
	}
	return errors.Join(errs...)
}
