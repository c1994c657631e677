package shell

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// ErrAborted is the error of a line that was given up, by Ctrl-C.
var ErrAborted = errors.New("the line was given up")

// Lines are where statements come from. One goroutine at a time uses them.
type Lines interface {
	// Line returns the next line without its end; io.EOF behind the last, ErrAborted for a line that
	// was given up.
	Line(ctx context.Context, prompt string) (string, error)

	// Remember keeps a statement or a command for the history.
	Remember(text string)
}

// plainLines are the lines of a script.
type plainLines struct{ from *bufio.Reader }

// PlainLines returns the lines of a reader, without prompts and without a history.
func PlainLines(from io.Reader) Lines { return plainLines{bufio.NewReader(from)} }

// Line implements Lines. A line that is too long for a statement is cut: the statement is refused.
func (l plainLines) Line(ctx context.Context, _ string) (string, error) {
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		line = append(line, part[:min(len(part), statementBytesMax+1-min(len(line), statementBytesMax+1))]...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return strings.TrimRight(string(line), "\r\n"), ctx.Err()
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return "", err
		}
	}
}

func (plainLines) Remember(string) {}
