package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/spawn"
)

// IngestMode says what happens to a table that is there, and to one that is not.
type IngestMode = temporary.Mode

// Ingest makes a temporary table of an Arrow IPC stream, or adds the rows to one, and returns the
// number of the rows. R5.
func (s *Session) Ingest(ctx context.Context, name string, mode IngestMode, stream io.Reader) (rows int64, err error) {
	release := s.Hold()
	defer release()
	if mode.Append { // one after the other
		select {
		case s.appending <- struct{}{}:
			defer func() { <-s.appending }()
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	base, err := s.tables.Base(name, mode)
	if err != nil {
		return 0, err
	}
	if base != nil {
		defer func() { err = errors.Join(err, base.Release()) }()
	}
	in := s.server.spilled.NewIntake(base)
	err = spawn.Call(func() error { return s.server.read(ctx, stream, in) })
	if err != nil {
		return 0, errors.Join(fmt.Errorf("table %s: %w", name, err), in.Abort())
	}
	return in.Rows, errors.Join(s.tables.Replace(name, base, in.Table), s.renamed())
}

// read adds the rows of a stream, which is checked as a file's bytes are: clients may lie.
func (s *Server) read(ctx context.Context, stream io.Reader, in *temporary.Intake) error {
	eng := s.opt.Engine
	src, err := dataset.Open(ctx, []string{"-"}, dataset.Options{
		Format: dataset.FormatArrowStream, Stdin: stream, Budget: eng.Budget(),
	})
	if err != nil {
		return err
	}
	if err := in.SetSchema(src.Schema()); err != nil {
		return err
	}
	if err := readAll(ctx, eng, src, in.Add); err != nil {
		return err
	}
	return in.Finish()
}

// renamed drops what statements that have not run yet have prepared: it may hold a table that has no name any more.
func (s *Session) renamed() error {
	s.mu.Lock()
	statements := slices.Collect(maps.Values(s.statements))
	s.mu.Unlock()
	var errs []error
	for _, st := range statements {
		errs = append(errs, st.forget())
	}
	return errors.Join(errs...)
}

// Drop drops a temporary table of the session; a table that is not there is an error, unless ifExists.
func (s *Session) Drop(name string, ifExists bool) error {
	return s.dropped(&sql.Drop{Table: name, IfExists: ifExists})
}

// dropped drops a temporary table or a view.
func (s *Session) dropped(d *sql.Drop) error {
	return errors.Join(s.tables.Drop(d), s.renamed())
}
