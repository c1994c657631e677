package main

import (
	"fmt"
	"io"
	"os"
)

// standardInput returns the standard input of the process. Of one that was closed, every read is an
// error.
func standardInput() io.Reader {
	if startedClosed(0) {
		return closedFile("the standard input")
	}
	return os.Stdin
}

// standardOutput returns the standard output of the process. Of one that was closed, every write is
// an error.
func standardOutput() io.Writer {
	if startedClosed(1) {
		return closedFile("the standard output")
	}
	return os.Stdout
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
