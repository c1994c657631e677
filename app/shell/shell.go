package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mpga/mpga/app/complete"
	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
)

// Options say what a shell works with. Engine, Store, In, Out and Report are set.
type Options struct {
	Engine *engine.Engine
	In     Lines
	Out    io.Writer // results, and answers of commands

	// Store has the tables that statements make. The caller closes it after the shell has run.
	Store *temporary.Store

	// Plan says what statements mean. The shell begins with its tables.
	Plan plan.Options

	// Files are further tables that the shell begins with, named as the files are.
	Files []string

	// Sink says how results are written, Format and RowsShown among the rest.
	Sink sink.Options

	// Suit makes the files that COPY writes suit the engine. It may be nil.
	Suit func(*sink.Options)

	// Interactive goes on after an error, and shows prompts. Else an error ends the shell.
	Interactive bool

	// Report prints an error of an interactive shell.
	Report func(error)

	// Screen returns the columns and lines of the terminal that Out is; 0 of no terminal, whose
	// results are not cut and go through no pager.
	Screen func() (columns, lines int)

	// Pager is the command that shows results longer than the screen, as .pager on has it; "" for none.
	Pager string

	// Interrupts cancel the statement that runs. It is nil where they end the process.
	Interrupts <-chan os.Signal

	// Progress begins to show how far a statement is, unless the terminal gets the rows of its result
	// at the same time (shared). The function that it returns ends that, and may be called twice.
	Progress func(shared bool) (end func())

	// Ended is told what a statement did.
	Ended func(ctx context.Context, stats engine.Stats)
}

// Shell is a session: its tables, its settings, and a statement that is not complete yet. One
// goroutine at a time uses a shell.
type Shell struct {
	opt     Options
	catalog *catalog
	pending buffer // lines of a statement without its end
	line    int    // number of the line that was read last, from 1
	begin   int    // number of the line that pending begins in

	timer   bool
	maxRows int         // rows that a table shows; 0 all, -1 what the screen has room for
	output  string      // file that results are written to; "" for Out
	shownAs sink.Format // of results before output was set
	pager   string      // command; "" for none
}

// New returns a shell.
func New(opt Options) *Shell {
	s := &Shell{opt: opt, maxRows: -1, catalog: newCatalog(&opt), pager: opt.Pager}
	if opt.Sink.RowsShown != 0 {
		s.maxRows = max(opt.Sink.RowsShown, 0)
	}
	return s
}

// statementBytesMax bounds a statement; the parser takes less, and says so.
const statementBytesMax = 512 << 10

// errQuit ends the shell.
var errQuit = errors.New("quit")

// Run reads and runs statements until the input ends, .quit, or an error that ends the shell. Then it drops the tables
// and views that statements have made.
func (s *Shell) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.catalog.own.Close()) }()
	if len(s.opt.Files) > 0 {
		if err := s.open(ctx, s.opt.Files); err != nil {
			return err
		}
	}
	for {
		line, err := s.opt.In.Line(ctx, s.prompt())
		switch {
		case errors.Is(err, ErrAborted):
			s.pending.clear()
			continue
		case errors.Is(err, io.EOF):
			return s.end(ctx)
		case err != nil:
			return err
		}
		s.line++
		if err := s.take(ctx, line); err != nil {
			if errors.Is(err, errQuit) {
				return nil
			}
			return err
		}
	}
}

func (s *Shell) prompt() string {
	if !s.pending.empty() {
		return " ...> "
	}
	return "mpga> "
}

// end runs the statement that a script ends in without a semicolon.
func (s *Shell) end(ctx context.Context) error {
	switch {
	case s.opt.Interactive:
		_, err := io.WriteString(s.opt.Out, "\n") // behind the prompt
		return err
	case s.pending.empty():
		return nil
	}
	return s.told(s.statement(ctx, string(s.pending.text)))
}

// take runs what a line completes: a command, or statements.
func (s *Shell) take(ctx context.Context, line string) error {
	s.catalog.forget()
	if s.pending.empty() {
		s.begin = s.line
		if command := commandOf(line); command != "" {
			s.opt.In.Remember(strings.TrimSpace(line))
			return s.told(s.command(ctx, command))
		}
	}
	for _, text := range s.pending.add(line) {
		s.opt.In.Remember(strings.TrimSpace(text))
		err := s.statement(ctx, text)
		if err := s.told(err); err != nil {
			return err
		}
		if err != nil {
			return nil // the rest of the line was meant to come after
		}
		s.begin = s.line
	}
	if len(s.pending.text) > statementBytesMax {
		return s.told(fmt.Errorf("a statement is longer than %d KiB", statementBytesMax>>10))
	}
	return nil
}

// told reports an error and returns nil where the shell goes on.
func (s *Shell) told(err error) error {
	switch {
	case err == nil, errors.Is(err, errQuit):
		return err
	case !s.opt.Interactive:
		return fmt.Errorf("line %d: %w", s.begin, err)
	}
	s.pending.clear()
	s.opt.Report(err)
	return nil
}

// Complete returns what may stand at a byte of the line that is being typed, in place of its bytes
// from start on.
func (s *Shell) Complete(ctx context.Context, line string, cursor int) (start int, list []string) {
	if s.pending.empty() && strings.HasPrefix(strings.TrimSpace(line), ".") {
		return s.completeCommand(ctx, line[:cursor])
	}
	before := string(s.pending.text)
	c := complete.At(ctx, before+line, len(before)+cursor, s.catalog)
	if c.Start < len(before) {
		return cursor, nil
	}
	for _, candidate := range c.List {
		list = append(list, candidate.Text)
	}
	return c.Start - len(before), list
}
