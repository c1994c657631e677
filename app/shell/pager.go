package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// pager is where a result goes that may be longer than the screen: the text is held while it fits,
// and then led through a program.
type pager struct {
	command        string    // of a shell; "" for none
	columns, lines int       // of the screen; 0 of no terminal
	to             io.Writer // a file, where it is a terminal: the program asks for its size

	held    []byte
	through io.WriteCloser // the program's input; nil before the text is too long
	process *exec.Cmd
}

// Write implements io.Writer.
func (p *pager) Write(text []byte) (int, error) {
	switch {
	case p.command == "" || p.lines == 0:
		return p.to.Write(text)
	case p.through != nil:
		return p.through.Write(text)
	}
	p.held = append(p.held, text...)
	if bytes.Count(p.held, []byte("\n")) >= p.lines || len(p.held) > 4*p.lines*max(p.columns, 1) {
		if err := p.start(); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// start starts the program with what is held.
func (p *pager) start() error {
	p.process = exec.Command("/bin/sh", "-c", p.command)
	p.process.Stdout, p.process.Stderr = p.to, os.Stderr
	in, err := p.process.StdinPipe()
	if err == nil {
		err = p.process.Start()
	}
	if err != nil {
		return fmt.Errorf("the pager %s: %w (.pager off shows results without it)", p.command, err)
	}
	p.through = in
	_, err = in.Write(p.held)
	p.held = nil
	return err
}

// close shows what is held, or waits for the program to end.
func (p *pager) close() error {
	if p.through == nil {
		_, err := p.to.Write(p.held)
		p.held = nil
		return err
	}
	_ = p.through.Close() // its reader may have gone
	err := p.process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != notFound {
		return nil // how a person leaves a pager is no error
	}
	if err != nil {
		return fmt.Errorf("the pager %s: %w (.pager off shows results without it)", p.command, err)
	}
	return nil
}

// notFound is the exit code of a shell that does not find a program.
const notFound = 127
