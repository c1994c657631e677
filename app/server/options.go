package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// Options configure a Server.
type Options struct {
	// Engine answers. The caller closes it after the server.
	Engine *engine.Engine

	// Tables are the tables that all clients may read, by name.
	Tables map[string]Table

	// Scan says how the files of Tables are read, and files that clients name.
	Scan dataset.Options

	// Files are the files that clients may name behind FROM. The default, nil, is none.
	Files vfs.FS

	// Suit makes the files that COPY writes suit the engine. It may be nil.
	Suit func(*sink.Options)

	// Overflow, Deterministic and TimeZone are as in plan.Options.
	Overflow      query.Overflow
	Deterministic bool
	TimeZone      string

	// TempDir is where temporary tables go that do not fit Limits.TemporaryBytes.
	TempDir string

	// TempLimit is how many bytes temporary tables and results may take there, before they are compressed.
	// The default, 0, is no limit.
	TempLimit int64

	// Record keeps when the workers and devices of each statement did what, for people to look at.
	Record bool

	// Word names options in errors, as whoever starts the server sets them. The default is the options' own names.
	Word func(knob.Name) string

	// Logger takes what is worth knowing later. The default discards.
	Logger *slog.Logger

	Limits Limits
}

// Table is a table that all clients may read: files, which are looked for at each statement.
type Table struct {
	Files  []string         // patterns; nil of a roll-up
	Rollup string           // the directory of its state, or a URL; "" of files
	Scan   *dataset.Options // how the files are read; nil for Options.Scan
}

// Limits bound what clients may have at a time. The zero value is usable.
type Limits struct {
	// Queries is how many statements run at once. The default is 4.
	Queries int

	// ClientQueries is how many of these may be one client's. The default is Queries.
	ClientQueries int

	// ClientWaiting is how many statements of a client may wait for a place. The default is 256.
	ClientWaiting int

	// QueryTime ends a statement that has run for so long, the time that it waits apart. The
	// default, 0, has no end.
	QueryTime time.Duration

	// StallTime ends a statement whose client has not taken rows for so long. The default is 10
	// minutes.
	StallTime time.Duration

	// SessionIdle ends a session that nobody has used for so long, and whose connection, if it has
	// one, is gone. The default is 10 minutes.
	SessionIdle time.Duration

	// Sessions is how many sessions there may be. The default is 1,024.
	Sessions int

	// Statements is how many statements a session may have prepared; beyond, the one that was not
	// used for the longest time is forgotten. The default is 1,024.
	Statements int

	// Results is how many results a session keeps; beyond, the oldest is dropped. The default is 8.
	Results int

	// ResultBytes is how many bytes of a result a session keeps at most: the first rows. The default
	// is 4 GiB.
	ResultBytes int64

	// TemporaryBytes is how many bytes of the memory all temporary tables may take; further ones go
	// to files. The default is an eighth of the engine's memory limit.
	TemporaryBytes int64
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Word == nil {
		o.Word = knob.Name.String
	}
	l := &o.Limits
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Queries, 4}, {&l.ClientWaiting, 256}, {&l.Sessions, 1024}, {&l.Statements, 1024}, {&l.Results, 8}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if l.ClientQueries == 0 {
		l.ClientQueries = l.Queries
	}
	if l.StallTime == 0 {
		l.StallTime = 10 * time.Minute
	}
	if l.SessionIdle == 0 {
		l.SessionIdle = 10 * time.Minute
	}
	if l.ResultBytes == 0 {
		l.ResultBytes = 4 << 30
	}
	if l.TemporaryBytes == 0 && o.Engine != nil {
		l.TemporaryBytes = o.Engine.MemoryLimit() / 8
	}
}

// Validate reports every limit that is out of its bounds.
func (l *Limits) Validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Queries", int64(l.Queries)}, {"ClientQueries", int64(l.ClientQueries)}, {"ClientWaiting", int64(l.ClientWaiting)},
		{"StallTime", int64(l.StallTime)}, {"SessionIdle", int64(l.SessionIdle)}, {"Sessions", int64(l.Sessions)},
		{"Statements", int64(l.Statements)}, {"TemporaryBytes", l.TemporaryBytes},
		{"Results", int64(l.Results)}, {"ResultBytes", l.ResultBytes},
	} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("%s (%d) must be positive", f.name, f.value))
		}
	}
	if l.QueryTime < 0 {
		errs = append(errs, fmt.Errorf("QueryTime (%s) must not be negative", l.QueryTime))
	}
	return errors.Join(errs...)
}
