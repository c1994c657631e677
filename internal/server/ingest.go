package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/spawn"
)

// IngestMode says what happens to a table that is there, and to one that is not.
type IngestMode struct {
	Create  bool // a table that is not there is made; else it is an error
	Append  bool // the rows are added to a table that is there
	Replace bool // a table that is there is replaced
}

// Ingest makes a temporary table of an Arrow IPC stream, or adds the rows to one, and returns the
// number of the rows. R5.
func (s *Session) Ingest(ctx context.Context, name string, mode IngestMode, stream io.Reader) (rows int64, err error) {
	release := s.Hold()
	defer release()
	if mode.Append { // what is added to stays as it is meanwhile
		s.appending.Lock()
		defer s.appending.Unlock()
	}
	base, err := s.baseOf(name, mode)
	if err != nil {
		return 0, err
	}
	if base != nil {
		defer func() { err = errors.Join(err, base.release()) }()
	}
	in, err := s.server.newIntake(base)
	if err != nil {
		return 0, err
	}
	err = spawn.Call(func() error { return in.read(ctx, stream) })
	if err != nil {
		return 0, errors.Join(fmt.Errorf("table %s: %w", name, err), in.abort())
	}
	return in.rows, s.replace(name, in.table)
}

// baseOf returns the table that rows are added to, held, or nil for a new table. It refuses what
// the mode does not let happen.
func (s *Session) baseOf(name string, mode IngestMode) (*temporary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := s.tables[name]
	switch {
	case s.closed:
		return nil, errEnded
	case name == "" || strings.ContainsRune(name, 0):
		return nil, fmt.Errorf("%w: a table needs a name", ErrUnknown)
	case s.server.isServers(name):
		return nil, fmt.Errorf("%w: %s is a table of the server, which clients only read: choose another name", ErrExists, name)
	case there != nil && !mode.Append && !mode.Replace:
		return nil, fmt.Errorf("%w: the session has a table %s: append to it or replace it", ErrExists, name)
	case there == nil && !mode.Create:
		return nil, fmt.Errorf("%w: the session has no table %s to append to", ErrUnknown, name)
	}
	if there == nil || !mode.Append {
		return nil, nil
	}
	there.retain()
	return there, nil
}

// replace gives a table its name in place of another. It takes the table over.
func (s *Session) replace(name string, t *temporary) error {
	s.mu.Lock()
	old := s.tables[name]
	closed := s.closed
	if !closed {
		s.tables[name] = t
	}
	s.mu.Unlock()
	switch {
	case closed:
		return errors.Join(errEnded, t.release())
	case old != nil:
		return s.released(old)
	}
	return nil
}

// released gives back a table that has no name any more, and what statements that have not run yet
// have prepared, which may hold the table.
func (s *Session) released(t *temporary) error {
	s.mu.Lock()
	statements := slices.Collect(maps.Values(s.statements))
	s.mu.Unlock()
	errs := []error{t.release()}
	for _, st := range statements {
		errs = append(errs, st.forget())
	}
	return errors.Join(errs...)
}

// Drop drops a temporary table of the session; a table that is not there is an error, unless ifExists.
func (s *Session) Drop(name string, ifExists bool) error {
	s.mu.Lock()
	t, ok := s.tables[name]
	delete(s.tables, name)
	s.mu.Unlock()
	switch {
	case ok:
		return s.released(t)
	case ifExists:
		return nil
	}
	return fmt.Errorf("%w: the session has no table %s", ErrUnknown, name)
}

// intake makes a temporary table of batches: in memory as long as all temporary tables together do
// not take too much of it, else in a file.
type intake struct {
	server *Server
	table  *temporary
	rows   int64 // added

	path string      // of the file; "" before there is one
	file sink.Writer // nil before there is one
}

// newIntake begins a table with the rows of base, if it is not nil.
func (s *Server) newIntake(base *temporary) (*intake, error) {
	in := &intake{server: s, table: &temporary{of: &s.spilled}}
	in.table.retain()
	if base == nil {
		return in, nil
	}
	in.table.schema = base.schema
	for _, b := range base.batches {
		b.Retain()
		in.table.batches = append(in.table.batches, b)
	}
	for _, f := range base.files {
		f.holders.Add(1)
		in.table.files = append(in.table.files, f)
	}
	return in, nil
}

// read adds the rows of a stream, which is checked as a file's bytes are: clients may lie.
func (in *intake) read(ctx context.Context, stream io.Reader) error {
	eng := in.server.opt.Engine
	src, err := dataset.Open(ctx, []string{"-"}, dataset.Options{
		Format: dataset.FormatArrowStream, Stdin: stream, Budget: eng.Budget(),
	})
	if err != nil {
		return err
	}
	if err := in.setSchema(src.Schema()); err != nil {
		return err
	}
	if err := readAll(ctx, eng, src, in.add); err != nil {
		return err
	}
	if len(in.table.files) > 0 && in.file == nil && in.rows == 0 {
		return nil // nothing has been added to files
	}
	return in.finish()
}

// setSchema takes the columns of the stream, which must be those of the table that it continues.
func (in *intake) setSchema(schema *arrow.Schema) error {
	if in.table.schema == nil {
		in.table.schema = schema
		return nil
	}
	old := in.table.schema
	same := old.NumFields() == schema.NumFields()
	for i := 0; same && i < old.NumFields(); i++ {
		same = old.Field(i).Name == schema.Field(i).Name && arrow.TypeEqual(old.Field(i).Type, schema.Field(i).Type)
	}
	if !same {
		return fmt.Errorf("%w with other columns: %s; the rows have %s", ErrExists, columnsText(old), columnsText(schema))
	}
	return nil
}

// columnsText lists columns for people.
func columnsText(schema *arrow.Schema) string {
	var texts []string
	for _, f := range schema.Fields() {
		texts = append(texts, f.Name+" "+f.Type.String())
	}
	return strings.Join(texts, ", ")
}

// add adds a batch.
func (in *intake) add(batch arrow.RecordBatch) error {
	t := in.table
	in.rows += batch.NumRows()
	if in.file != nil || len(t.files) > 0 {
		return in.write(batch)
	}
	batch.Retain()
	t.batches = append(t.batches, batch)
	size := bytesOf(batch)
	t.bytes += size
	if t.of.memory.Add(size) <= in.server.opt.Limits.TemporaryBytes {
		return nil
	}
	for _, b := range t.batches {
		if err := in.write(b); err != nil {
			return err
		}
		b.Release()
	}
	t.batches = nil
	t.of.memory.Add(-t.bytes)
	t.bytes = 0
	return nil
}

// write writes a batch to the file.
func (in *intake) write(batch arrow.RecordBatch) (err error) {
	if in.file == nil {
		if in.path, err = in.table.of.next(); err != nil {
			return err
		}
		eng := in.server.opt.Engine
		in.file, err = sink.Create(in.path, in.table.schema, sink.Options{
			Format: sink.Arrow, FS: in.table.of.fs, Codec: "lz4", Allocator: eng.Allocator(), Budget: eng.Budget(),
		})
		if err != nil {
			return err
		}
	}
	return in.file.Write(batch)
}

// finish makes the table whole.
func (in *intake) finish() error {
	if in.file == nil {
		return nil
	}
	if err := in.file.Commit(); err != nil {
		return err
	}
	in.file = nil
	f := &spilledFile{path: in.path, fs: in.table.of.fs}
	f.holders.Add(1)
	in.table.files = append(in.table.files, f)
	return nil
}

// abort gives back what has been added.
func (in *intake) abort() error {
	var err error
	if in.file != nil {
		err = in.file.Abort()
	}
	return errors.Join(err, in.table.release())
}
