package shell

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/peterh/liner"

	"github.com/mpga/mpga/internal/spawn"
)

// Editor edits lines on the terminal that the standard input and output of the process are. It has a
// history, and completes.
type Editor struct {
	state   *liner.State
	history history

	// The modes of the terminal: as it was, and as the editor needs it.
	outside, inside liner.ModeApplier
}

// NewEditor takes the terminal over until Close. The history is kept at a path, if that is not "".
// complete returns what may stand at a byte of a line in place of its bytes from start on.
func NewEditor(path string, complete func(line string, cursor int) (start int, list []string)) (*Editor, error) {
	outside, err := liner.TerminalMode()
	if err != nil {
		return nil, err
	}
	e := &Editor{history: history{path: path}, outside: outside, state: liner.NewLiner()}
	if e.inside, err = liner.TerminalMode(); err != nil {
		return nil, errors.Join(err, e.state.Close())
	}
	e.state.SetCtrlCAborts(true)
	e.state.SetMultiLineMode(true)
	e.state.SetTabCompletionStyle(liner.TabPrints)
	e.state.SetBeep(false)
	e.state.SetWordCompleter(func(line string, pos int) (head string, list []string, tail string) {
		cursor := byteOf(line, pos)
		start, list := complete(line, cursor)
		return line[:start], list, line[cursor:]
	})
	lines, err := e.history.load()
	if err != nil {
		e.history.path = "" // it cannot be read: leave it alone
	}
	for _, line := range lines {
		e.state.AppendHistory(line)
	}
	return e, outside.ApplyMode()
}

// byteOf returns the byte at which a rune of a line begins.
func byteOf(line string, rune int) int {
	at := 0
	for ; rune > 0 && at < len(line); rune-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// Line implements Lines. When the context ends, a goroutine is left waiting for a key.
func (e *Editor) Line(ctx context.Context, prompt string) (string, error) {
	if err := e.inside.ApplyMode(); err != nil {
		return "", err
	}
	type typed struct {
		line string
		err  error
	}
	done := make(chan typed, 1)
	var t typed
	spawn.Go(func() (err error) {
		t.line, err = e.state.Prompt(prompt)
		return err
	}, func(err error) {
		t.err = err
		done <- t
	})
	var got typed
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	if errors.Is(got.err, liner.ErrPromptAborted) {
		got.err = ErrAborted
	}
	return got.line, errors.Join(got.err, e.outside.ApplyMode())
}

// Remember implements Lines.
func (e *Editor) Remember(text string) {
	for _, line := range e.history.add(text) {
		e.state.AppendHistory(line)
	}
}

// Close gives the terminal back, and writes the history, unless it cannot be written.
func (e *Editor) Close() error {
	_ = e.history.save()
	return e.state.Close()
}
