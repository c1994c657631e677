package temporary

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
)

// Table is rows in memory, or in files. It does not change; a session replaces it. Whoever uses it retains and
// releases it.
type Table struct {
	Schema *arrow.Schema

	batches []arrow.RecordBatch // held; none where there are files
	files   []*file             // held
	bytes   int64               // of batches
	rows    int64
	ranges  []scan.ColumnStats // by column
	of      *Store
	Holders
}

// Release ends a hold. With the last, the table's memory and files are given back. T1.
func (t *Table) Release() error {
	if !t.Drop() {
		return nil
	}
	recordreader.ReleaseAll(t.batches)
	t.of.memory.Add(-t.bytes)
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.release())
	}
	return errors.Join(errs...)
}

// PlanTable returns what the table's name stands for.
// Requires: the caller holds the table, also while statements read it.
func (t *Table) PlanTable(in []string) plan.Table {
	table := plan.Table{In: in, Stats: t.ranges}
	if len(t.files) == 0 {
		table.Source = scan.Batches(t.Schema, t.batches)
		return table
	}
	table.Scan = &dataset.Options{FS: t.of.fs, Format: dataset.FormatArrow, NoHive: true}
	for _, f := range t.files {
		table.Files = append(table.Files, f.path)
	}
	return table
}

// Open calls use with a function that returns a batch by its number; the batch is valid until the next call. One batch
// at a time is read of rows in a file.
// Requires: the caller holds the table, which no rows were added to.
func (t *Table) Open(use func(batch func(i int) (arrow.RecordBatch, error)) error) (err error) {
	if len(t.files) == 0 {
		return use(func(i int) (arrow.RecordBatch, error) { return t.batches[i], nil })
	}
	f, err := t.of.fs.Open(t.files[0].path)
	if err != nil {
		return fmt.Errorf("kept rows: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return spawn.Call(func() error {
		r, err := ipc.NewFileReader(f, ipc.WithAllocator(t.of.opt.Engine.Allocator()))
		if err != nil {
			return fmt.Errorf("kept rows: %w", err)
		}
		defer r.Close()
		return use(r.RecordBatch)
	})
}

// file is a file of rows, which goes with its last holder.
type file struct {
	path  string
	of    *Store
	bytes int64 // of its rows, before compression
	Holders
}

// release ends a hold.
func (f *file) release() error {
	if !f.Drop() {
		return nil
	}
	f.of.disk.Add(-f.bytes)
	return f.of.fs.Remove(f.path)
}
