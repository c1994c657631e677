package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/app/copyto"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/sqlscan"
)

// errCancelled is the error of a statement that Ctrl-C has ended.
var errCancelled = errors.New("cancelled")

// statement runs a statement, which an interrupt cancels.
func (s *Shell) statement(ctx context.Context, text string) error {
	if sqlscan.Empty(text) {
		return nil
	}
	within, done := s.cancellable(ctx)
	defer done()
	start := time.Now()
	err := s.answer(within, text)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(context.Cause(within), errCancelled):
		return errCancelled
	case s.opt.Interactive && errors.Is(err, syscall.EPIPE): // the reader of the pager has seen enough
		err = nil
	}
	if s.timer && err == nil {
		_, err = fmt.Fprintf(s.opt.Out, "Time: %.4f s\n", time.Since(start).Seconds())
	}
	return err
}

// cancellable returns the context of a statement. done is called when the statement has ended.
func (s *Shell) cancellable(ctx context.Context) (within context.Context, done func()) {
	select {
	case <-s.opt.Interrupts: // of a time when no statement ran
	default:
	}
	within, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	spawn.Go(func() error {
		select {
		case <-s.opt.Interrupts:
			cancel(errCancelled)
		case <-ended:
		}
		return nil
	}, func(err error) { cancel(err) })
	return within, func() { close(ended) }
}

// answer runs a statement, and writes its result or its plan.
func (s *Shell) answer(ctx context.Context, text string) (err error) {
	switch {
	case sql.IsCreate(text):
		return s.create(ctx, text)
	case sql.IsDrop(text):
		drop, err := sql.ParseDrop(text)
		if err != nil {
			return err
		}
		return s.catalog.own.Drop(drop)
	}
	if sql.IsSet(text) {
		set, err := sql.ParseSet(text)
		if err == nil {
			s.catalog.plan.TimeZone = cmp.Or(set.TimeZone, s.opt.Plan.TimeZone)
		}
		return err
	}
	planOptions, release := s.catalog.own.Names(s.catalog.plan)
	defer func() { err = errors.Join(err, release()) }()
	if sql.IsCopy(text) {
		return s.copy(ctx, text, planOptions)
	}
	statement, err := sql.Parse(text)
	if err != nil {
		return err
	}
	switch about, verb := statement.Explained(); verb {
	case sql.Explain:
		return s.explain(ctx, about, planOptions, (*plan.Query).Explain)
	case sql.ExplainAnalyze:
		return s.explain(ctx, about, planOptions, (*plan.Query).Analyze)
	}
	w := s.newWriter()
	defer w.progress()
	query, err := plan.Prepare(ctx, s.opt.Engine, statement, planOptions)
	if err != nil {
		return err
	}
	defer query.Close()
	result, err := query.Run(ctx)
	if err != nil {
		return err
	}
	return s.show(ctx, w, result)
}

// create makes a table or a view, and tells a person how many rows a table has.
func (s *Shell) create(ctx context.Context, text string) error {
	c, err := sql.ParseCreate(ctx, text)
	if err != nil {
		return err
	}
	w := s.newWriter()
	defer w.progress()
	run := func(q *plan.Query) (*plan.Result, error) { return q.Run(ctx) }
	rows, stats, err := s.catalog.own.Run(ctx, c, s.catalog.plan, run)
	if err != nil || c.View {
		return err
	}
	if s.opt.Ended != nil {
		s.opt.Ended(ctx, stats)
	}
	w.progress()
	if s.opt.Interactive {
		_, err = fmt.Fprintf(s.opt.Out, "%s in %s\n", digits.Counted(rows, "row"), c.Name)
	}
	return err
}

// copy runs a COPY, and writes its answer.
func (s *Shell) copy(ctx context.Context, text string, names plan.Options) error {
	statement, err := sql.ParseCopy(text)
	if err != nil {
		return err
	}
	files, err := copyto.Options(statement, sink.Options{FS: s.opt.Sink.FS, Query: strings.TrimSpace(text)})
	if err != nil {
		return err
	}
	if s.opt.Suit != nil {
		s.opt.Suit(&files)
	}
	w := s.newWriter()
	defer w.progress()
	result, err := copyto.Run(ctx, s.opt.Engine, statement, names, files)
	if err != nil {
		return err
	}
	return s.show(ctx, w, result)
}

// show writes a result, and releases it.
func (s *Shell) show(ctx context.Context, w *writer, result statsReader) error {
	defer result.Release()
	if err := w.write(ctx, result); err != nil {
		return err
	}
	if s.opt.Ended != nil {
		s.opt.Ended(ctx, result.Stats())
	}
	return nil
}

// statsReader is a result with what its statement did.
type statsReader interface {
	array.RecordReader
	Stats() engine.Stats
}

// explain writes what tell says of a statement.
func (s *Shell) explain(
	ctx context.Context, about *sql.Select, opt plan.Options, tell func(*plan.Query, context.Context) (string, error),
) error {
	query, err := plan.Prepare(ctx, s.opt.Engine, about, opt)
	if err != nil {
		return err
	}
	defer query.Close()
	text, err := tell(query, ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.opt.Out, strings.TrimSuffix(text, "\n")+"\n")
	return err
}
