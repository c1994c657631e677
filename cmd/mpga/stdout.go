package main

import (
	"fmt"
	"io"
)

// standardInput returns the standard input of a command. Of one that was closed when the command was started, every
// read is an error.
func standardInput(in io.Reader, closed bool) io.Reader {
	if closed {
		return closedFile("the standard input")
	}
	return in
}

// standardOutput returns the standard output of a command. Of one that was closed when the command was started, every
// write is an error.
func standardOutput(out io.Writer, closed bool) io.Writer {
	if closed {
		return closedFile("the standard output")
	}
	return out
}

// closedFile is a standard file that was closed when the process started.
type closedFile string

func (f closedFile) Read([]byte) (int, error) { return 0, fmt.Errorf("%s is closed", string(f)) }

func (f closedFile) Write([]byte) (int, error) { return 0, fmt.Errorf("%s is closed", string(f)) }

// checkedWriter keeps the first error of writing: help and other texts are printed by a library
// that does not look.
type checkedWriter struct {
	to  io.Writer
	err error
}

func (w *checkedWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}
