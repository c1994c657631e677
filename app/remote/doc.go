// Package remote has a command line answered by a process of the same user that stays between commands, with what
// it keeps open:
//
//		command: Do -> socket -> process that stays: Serve -> Run(Call)
//		         arguments, environment, umask, folder and open files ->
//		         <- taken or refused, exit code; one byte asks the call to end ->
//
//	  - R1 (one at a time): a call has the process alone. So the process's folder, environment, umask and standard
//	    files are the caller's own while the call runs. Who finds the process busy is refused at once.
//	  - R2 (alike): a socket is named for everything that a process cannot change later: the program's file, user,
//	    groups and capabilities, limits, control groups, namespaces, processors, and variables that are read once
//	    (see state). A caller who differs in one of them finds another socket.
//	  - R3 (private): the socket lies in a folder of mode 0700 of the user; both ends ask the kernel who the other is.
//	  - R4 (whole or not at all): Do returns a Refusal only where nothing of the call has been done, so that the caller
//	    may run it. A process that ends during a call is an error.
//	  - R5 (nothing is left): a process removes its socket when it ends; the next one replaces the socket of a process
//	    that was killed. The lock of the folder orders the two.
//	  - R6 (gone with the caller): the context of a call ends with the caller. A process whose call then does not end,
//	    or still reads the caller's standard input, ends itself.
//
// All of it needs Linux. The package knows no command and no engine.
package remote

import (
	"context"
	"io"
	"time"
)

// Refusal is why a call was not taken. Nothing of it has been done.
type Refusal struct {
	Reason string
	Unsafe bool // the folder of the sockets is not the user's alone
}

// Error implements error.
func (r *Refusal) Error() string { return r.Reason }

// Options say which process answers calls.
type Options struct {
	Version string   // of the program
	Command []string // arguments that start a process: Serve is called by it. The socket's name comes behind them
}

// Call is a command line, as Serve hands it to the program.
type Call struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Closed []int // standard files, by number, that were closed when the caller was started: they lead nowhere
}

// ServeOptions say how a process answers calls.
type ServeOptions struct {
	Version string
	Name    string // of the socket, as the starter of the process has it

	// Run answers a call, and returns the exit code. The context ends when the caller asks for it, or has gone.
	Run func(context.Context, Call) int

	// Idle returns how long the process stays without a call; it is asked after each one.
	Idle func() time.Duration
}

// Status is what a process tells about itself.
type Status struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Calls   int64     `json:"calls"` // taken
	Busy    bool      `json:"busy"`

	Socket string `json:"-"`
	Stuck  bool   `json:"-"` // it does not answer: nothing but PID and Socket is known
}
