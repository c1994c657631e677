package temporary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"

	"github.com/mpga/mpga/internal/rowdata"
)

// Intake makes a table of batches: in memory as long as all tables together do not take too much of it, else in a
// file. One goroutine at a time uses it.
type Intake struct {
	Table *Table // the caller's, once Finish has returned
	Rows  int64  // added

	store *Store
	disk  int64 // bytes of rows in the file that is being written, before compression

	path string      // of the file; "" before there is one
	file sink.Writer // nil before there is one
}

// NewIntake begins a table with the rows of base, if it is not nil.
func (s *Store) NewIntake(base *Table) *Intake {
	in := &Intake{store: s, Table: &Table{of: s}}
	in.Table.Hold()
	if base == nil {
		return in
	}
	t := in.Table
	t.Schema, t.bytes, t.rows, t.ranges = base.Schema, base.bytes, base.rows, slices.Clone(base.ranges)
	s.memory.Add(base.bytes) // twice, until base is released: rather too much than too little
	for _, b := range base.batches {
		b.Retain()
		t.batches = append(t.batches, b)
	}
	for _, f := range base.files {
		f.Hold()
		t.files = append(t.files, f)
	}
	return in
}

// Keep makes a table of the rows of a reader, which stays the caller's.
func (s *Store) Keep(ctx context.Context, from array.RecordReader) (*Table, int64, error) {
	in := s.NewIntake(nil)
	in.Table.Schema = from.Schema()
	err := spawn.Call(func() error {
		err := recordreader.Each(ctx, from, func(batch arrow.RecordBatch) error {
			if batch.NumRows() == 0 {
				return nil
			}
			return in.Add(batch)
		})
		if err != nil {
			return err
		}
		return in.Finish()
	})
	if err != nil {
		return nil, 0, errors.Join(err, in.Abort())
	}
	return in.Table, in.Rows, nil
}

// SetSchema takes the columns of the rows. A table that they continue must have the same.
func (in *Intake) SetSchema(schema *arrow.Schema) error {
	if in.Table.Schema == nil {
		in.Table.Schema = schema
		return nil
	}
	old := in.Table.Schema
	same := old.NumFields() == schema.NumFields()
	for i := 0; same && i < old.NumFields(); i++ {
		same = old.Field(i).Name == schema.Field(i).Name && arrow.TypeEqual(old.Field(i).Type, schema.Field(i).Type)
	}
	if !same {
		return fmt.Errorf("%w with other columns: %s; the rows have %s", ErrExists, ColumnsText(old), ColumnsText(schema))
	}
	fields := slices.Clone(old.Fields())
	for i := range fields {
		fields[i].Nullable = fields[i].Nullable || schema.Field(i).Nullable
	}
	in.Table.Schema = arrow.NewSchema(fields, nil)
	return nil
}

// ColumnsText lists columns for people.
func ColumnsText(schema *arrow.Schema) string {
	var texts []string
	for _, f := range schema.Fields() {
		texts = append(texts, f.Name+" "+query.TypeName(f.Type))
	}
	return strings.Join(texts, ", ")
}

// Add adds a batch.
func (in *Intake) Add(batch arrow.RecordBatch) error {
	t := in.Table
	if t.ranges == nil {
		t.ranges = make([]scan.ColumnStats, batch.NumCols())
	}
	for i, column := range batch.Columns() {
		widen(&t.ranges[i], column, t.rows == 0)
	}
	in.Rows += batch.NumRows()
	t.rows += batch.NumRows()
	if in.file != nil || len(t.files) > 0 {
		return in.write(batch)
	}
	batch.Retain()
	t.batches = append(t.batches, batch)
	size := rowdata.BatchBytes(batch)
	t.bytes += size
	if t.of.memory.Add(size) <= in.store.opt.MemoryBytes && in.store.opt.Engine.Budget().Room(size) == nil {
		return nil
	}
	for len(t.batches) > 0 { // one by one: Abort releases the batches that are left
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
func (in *Intake) write(batch arrow.RecordBatch) (err error) {
	opt := &in.store.opt
	if in.file == nil {
		if in.path, err = in.store.next(); err != nil {
			return err
		}
		in.file, err = sink.Create(context.Background(), in.path, in.Table.Schema, sink.Options{
			Format: sink.Arrow, FS: in.store.fs, Codec: "lz4", Allocator: opt.Engine.Allocator(), Budget: opt.Engine.Budget(),
		})
		if err != nil {
			return err
		}
	}
	size := rowdata.BatchBytes(batch)
	in.disk += size
	if used := in.store.disk.Add(size); opt.DiskBytes > 0 && used > opt.DiskBytes {
		return errorOf(ErrBusy, "temporary tables and results take %s on disk, before compression, of %s (%s)",
			humanize.IBytes(uint64(used)), humanize.IBytes(uint64(opt.DiskBytes)), opt.DiskKnob)
	}
	return in.file.Write(batch)
}

// Finish makes the table whole.
func (in *Intake) Finish() error {
	if in.file == nil {
		return nil
	}
	if err := in.file.Commit(); err != nil {
		return err
	}
	in.file = nil
	f := &file{path: in.path, of: in.store, bytes: in.disk}
	f.Hold()
	in.Table.files, in.disk = append(in.Table.files, f), 0
	return nil
}

// Abort gives back what has been added.
func (in *Intake) Abort() error {
	var err error
	if in.file != nil {
		err = in.file.Abort()
	}
	in.store.disk.Add(-in.disk)
	return errors.Join(err, in.Table.Release())
}
