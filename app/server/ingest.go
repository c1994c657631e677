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
	"github.com/dustin/go-humanize"

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
	if mode.Append { // one after the other
		select {
		case s.appending <- struct{}{}:
			defer func() { <-s.appending }()
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	base, err := s.baseOf(name, mode)
	if err != nil {
		return 0, err
	}
	if base != nil {
		defer func() { err = errors.Join(err, base.release()) }()
	}
	in := s.server.newIntake(base)
	err = spawn.Call(func() error { return in.read(ctx, stream) })
	if err != nil {
		return 0, errors.Join(fmt.Errorf("table %s: %w", name, err), in.abort())
	}
	return in.rows, s.replace(name, base, in.table)
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
		return nil, fmt.Errorf("%w: %s is a table of the server, which clients only read: "+
			"choose another name", ErrExists, name)
	case there != nil && !mode.Append && !mode.Replace:
		return nil, fmt.Errorf("%w: the session has a table %s: append to it or replace it", ErrExists, name)
	case there == nil && !mode.Create:
		return nil, fmt.Errorf("%w: the session has no table %s to append to", ErrUnknown, name)
	}
	if there == nil || !mode.Append {
		return nil, nil
	}
	there.retain() // the session holds it
	return there, nil
}

// replace gives a table its name in place of another: of base, which it continues, if that is not nil.
// It takes the table over.
func (s *Session) replace(name string, base, t *temporary) error {
	s.mu.Lock()
	old, closed := s.tables[name], s.closed
	gone := base != nil && old != base
	if !closed && !gone {
		s.tables[name] = t
	}
	s.mu.Unlock()
	switch {
	case closed:
		return errors.Join(errEnded, t.release())
	case gone:
		err := fmt.Errorf("%w: the table %s has been dropped or replaced meanwhile", ErrUnknown, name)
		return errors.Join(err, t.release())
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
	disk   int64 // bytes of rows in the file that is being written, before compression

	path string      // of the file; "" before there is one
	file sink.Writer // nil before there is one
}

// newIntake begins a table with the rows of base, if it is not nil.
func (s *Server) newIntake(base *temporary) *intake {
	in := &intake{server: s, table: &temporary{of: &s.spilled}}
	in.table.hold()
	if base == nil {
		return in
	}
	in.table.schema, in.table.bytes = base.schema, base.bytes
	s.spilled.memory.Add(base.bytes) // twice, until base is released: rather too much than too little
	for _, b := range base.batches {
		b.Retain()
		in.table.batches = append(in.table.batches, b)
	}
	for _, f := range base.files {
		f.hold()
		in.table.files = append(in.table.files, f)
	}
	return in
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
	return in.finish()
}

// setSchema takes the columns of the stream. A table that the stream continues must have the same.
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
	fields := slices.Clone(old.Fields())
	for i := range fields {
		fields[i].Nullable = fields[i].Nullable || schema.Field(i).Nullable
	}
	in.table.schema = arrow.NewSchema(fields, nil)
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
	size := BytesOf(batch)
	t.bytes += size
	if t.of.memory.Add(size) <= in.server.opt.Limits.TemporaryBytes {
		return nil
	}
	for len(t.batches) > 0 { // one by one: abort releases the batches that are left
		b := t.batches[0]
		if err := in.write(b); err != nil {
			return err
		}
		t.batches = t.batches[1:]
		b.Release()
	}
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
		in.file, err = sink.Create(context.Background(), in.path, in.table.schema, sink.Options{
			Format: sink.Arrow, FS: in.table.of.fs, Codec: "lz4", Allocator: eng.Allocator(), Budget: eng.Budget(),
		})
		if err != nil {
			return err
		}
	}
	size := BytesOf(batch)
	in.disk += size
	if used := in.table.of.disk.Add(size); in.server.opt.TempLimit > 0 && used > in.server.opt.TempLimit {
		return fmt.Errorf("%w: temporary tables and results take %s on disk, before compression, of %s (TempLimit)",
			ErrBusy, humanize.IBytes(uint64(used)), humanize.IBytes(uint64(in.server.opt.TempLimit)))
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
	f := &spilledFile{path: in.path, of: in.table.of, bytes: in.disk}
	f.hold()
	in.table.files, in.disk = append(in.table.files, f), 0
	return nil
}

// abort gives back what has been added.
func (in *intake) abort() error {
	var err error
	if in.file != nil {
		err = in.file.Abort()
	}
	in.table.of.disk.Add(-in.disk)
	return errors.Join(err, in.table.release())
}
