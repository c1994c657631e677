package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowcode"
)

// step makes rows of rows, batch by batch, in the threads that read them. It keeps nothing of a run.
type step interface {
	// plan returns how some of the step's columns are made, and which columns of the rows before it are
	// read for that. The plan is nil where the columns are columns of these rows.
	plan(ctx context.Context, columns []int) (read []int, made *stepPlan, err error)
}

// stepPlan says how batches are made of batches.
type stepPlan struct {
	schema *arrow.Schema // of the batches that are made
	newMap func(mem memory.Allocator) stepMap

	// code makes the columns of a row on a device, of the columns that are read. It is nil of a step that
	// devices do not do.
	code func(b *rowcode.Builder, read []rowcode.Value) ([]rowcode.Value, error)
}

// stepMap makes batches of batches. One goroutine at a time uses it.
type stepMap interface {
	engine.RowMap

	// row returns the row of the batch of Begin with which the last batch of Next begins.
	row() int
}

// stepped is a source with a step behind it, whose columns are the source's and further ones.
type stepped struct {
	scan.Source
	step   step
	schema *arrow.Schema      // of all columns
	stats  []scan.ColumnStats // of the further columns
	times  int64              // rows that are made of each row
}

// over returns the step behind another source of the same columns.
func (s *stepped) over(src scan.Source) *stepped {
	of := *s
	of.Source = src
	return &of
}

// Unwrap returns the source of the first columns, for what its filter leaves out.
func (s *stepped) Unwrap() scan.Source { return s.Source }

// Schema implements scan.Source.
func (s *stepped) Schema() *arrow.Schema { return s.schema }

// Stats implements scan.Source.
func (s *stepped) Stats() scan.Stats {
	known := s.Source.Stats()
	known.Columns = slices.Concat(columnStats(s.Source), s.stats)
	known.Rows = s.made(known.Rows)
	return known
}

// made returns how many rows are made of `rows` rows of the source; -1 means that nobody has counted
// the source's rows.
func (s *stepped) made(rows int64) int64 {
	if rows > 0 {
		rows *= s.times
	}
	return rows
}

// Splits implements scan.Source.
func (s *stepped) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	read, plan, err := s.step.plan(ctx, columns)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		return s.Source.Splits(ctx, columns)
	}
	splits, err := s.Source.Splits(ctx, read)
	for i, of := range splits {
		splits[i] = &steppedSplit{of, s, plan}
	}
	return splits, err
}

type steppedSplit struct {
	scan.Split
	of   *stepped
	plan *stepPlan
}

var _ scan.PagedSplit = (*steppedSplit)(nil)

func (s *steppedSplit) Position() uint64 { return s.Split.Position() * uint64(s.of.times) }
func (s *steppedSplit) Rows() int64      { return s.of.made(s.Split.Rows()) }

// errNoCode is why devices do not make the rows of a split.
var errNoCode = errors.New("a step before the groups is the CPU's alone")

// Paged implements scan.PagedSplit.
func (s *steppedSplit) Paged() (*scan.Paged, error) {
	if s.plan.code == nil {
		return nil, errNoCode
	}
	of, err := scan.PagedOf(s.Split)
	if err != nil {
		return nil, err
	}
	b, filter, read := of.Build()
	made, err := s.plan.code(b, read)
	if err != nil {
		return nil, err
	}
	paged := *of
	paged.Program = b.Program(filter, made)
	return &paged, nil
}

// Open implements scan.Split.
func (s *steppedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	step := s.plan.newMap(opt.Allocator)
	r := &steppedReader{mapReader: mapReader{ctx: ctx, split: s, from: from, of: step}, step: step}
	r.Init(s.plan.schema, r.mapReader.next, r.release)
	return r, nil
}

// steppedReader has the batches that a step makes.
type steppedReader struct {
	recordreader.Base
	mapReader
	step stepMap // of mapReader
}

// Place implements scan.Placer.
func (r *steppedReader) Place(i int) string {
	if p, ok := r.from.(scan.Placer); ok {
		return p.Place(r.step.row() + i)
	}
	return ""
}

// mapReader makes batches of the batches of a split.
type mapReader struct {
	ctx   context.Context
	split scan.Split         // for errors
	from  array.RecordReader // of split; owned
	of    engine.RowMap      // owned
	input arrow.RecordBatch  // last batch of from; nil before the first one
}

// next returns the next batch, which the caller owns; nil at the end.
func (r *mapReader) next() (out arrow.RecordBatch, err error) {
	for {
		if r.input != nil {
			err := r.use(func() (err error) {
				out, err = r.of.Next(r.ctx)
				return err
			})
			if out != nil || err != nil {
				return out, err
			}
		}
		if r.input, err = recordreader.Next(r.from); r.input == nil {
			return nil, err
		}
		if err := r.use(func() error { return r.of.Begin(r.ctx, r.input) }); err != nil {
			return nil, err
		}
	}
}

// use calls a function that works on the input, and says where its error is.
func (r *mapReader) use(f func() error) error {
	return scan.UseBatchOf(r.from, r.split.Name(), r.input, f)
}

func (r *mapReader) release() {
	r.of.Release()
	r.from.Release()
}

// columnStats returns what is known of each column of a source, which may be nothing.
func columnStats(src scan.Source) []scan.ColumnStats {
	if known := src.Stats().Columns; known != nil {
		return known
	}
	return make([]scan.ColumnStats, src.Schema().NumFields())
}

// placeIn returns where a value is in a list, to which it is added if it is not there yet.
func placeIn[T comparable](list *[]T, value T) int {
	at := slices.Index(*list, value)
	if at < 0 {
		at = len(*list)
		*list = append(*list, value)
	}
	return at
}
