package server

import (
	"errors"
	"fmt"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/internal/knob"
)

// What clients are told, beside errors of their statements.
var (
	ErrUnknown   = temporary.ErrUnknown    // a statement, a session or a table that is not there, or not the client's
	ErrBusy      = temporary.ErrBusy       // a limit of the server has been reached; later it may be met
	ErrDraining  = errors.New("draining")  // the server is about to end
	ErrForbidden = errors.New("forbidden") // the client may not have it
	ErrStalled   = errors.New("stalled")   // the client has taken no rows for too long
	ErrTime      = errors.New("time")      // the statement has run for too long
	ErrExists    = temporary.ErrExists     // a table of that name is there
	ErrCancelled = errors.New("cancelled") // by the client
	ErrTooLarge  = errors.New("too large") // a file that a client sends
)

// Limits by the names that errors have for them.
const (
	StallTimeKnob = knob.Name("server.StallTime")

	queryTimeKnob     = knob.Name("server.QueryTime")
	sessionsKnob      = knob.Name("server.Sessions")
	clientWaitingKnob = knob.Name("server.ClientWaiting")
	uploadBytesKnob   = knob.Name("server.UploadBytes")
)

// Reword returns an error with the words of Options.Word.
func (s *Server) Reword(err error) error { return knob.Reword(err, s.opt.Word) }

// errDraining is the error of calls of a server that is about to end.
var errDraining = fmt.Errorf("%w: the server is ending", ErrDraining)

// errEnded is the error of calls of a session that has ended.
var errEnded = fmt.Errorf("%w: the session has ended", ErrUnknown)
