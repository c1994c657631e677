package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vector"
)

// ScatterOptions say what Engine.Scatter writes.
type ScatterOptions struct {
	RowsOptions       // of the rows
	Keys        []int // columns of RowsOptions.Schema by whose hash the rows go
	partial.Options
}

// Scatter reads a source by all of the engine's threads, and writes its rows to blobs, by the hash of their keys: rows
// of equal keys, of equal types, are in blobs of one partition, whichever process writes them. Exchanged reads them.
//
//	source -> maps -> by hash, in pages -> blobs --Exchanged--> source, there or in another process
//
// After an error the blobs are not complete, and Exchanged refuses them.
func (s *Statement) Scatter(ctx context.Context, src scan.Source, opt ScatterOptions) (stats Stats, err error) {
	err = spawn.Call(func() (err error) {
		stats, err = s.scatter(ctx, src, &opt)
		return err
	})
	return stats, store.NeedTemp(err, 0, 0)
}

func (s *Statement) scatter(ctx context.Context, src scan.Source, opt *ScatterOptions) (_ Stats, err error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return Stats{}, err
	}
	keys, err := opt.bindKeys()
	if err != nil {
		return Stats{}, err
	}
	out, err := partial.NewRowWriter(s.memory, opt.Options)
	defer func() { err = errors.Join(err, out.Abandon()) }()
	if err != nil {
		return Stats{}, err
	}
	of := s.newQuery(s.engine.opt.Threads)
	wish := int64(of.Workers) * scatterShare * scatterBytesMost
	grant := of.Share.Join(int64(of.Workers)*joinBytesMin, wish, nil)
	defer grant.Leave()
	pages := scatter.Options{Memory: s.memory, WorkerBytes: func() int64 { return grant.Bytes() / int64(of.Workers) }}
	pass := pages.PassOf(out.Radix(), out)
	pass.Depth = partial.RowsDepth
	to := cpujoin.PartsOf(pass)
	workers := make(scatterers, of.Workers)
	defer workers.release()
	stats, err := s.readMapped(ctx, of, src, opt.RowsOptions, func(i int, batch arrow.RecordBatch) error {
		if workers[i] == nil {
			room := min(max(pages.WorkerBytes()/scatterShare, 64<<10), scatterBytesMost)
			held := to.NewScatterer(cpujoin.ProbeSide, room, s.memory, s.engine.opt.Allocator)
			workers[i] = &scatterer{held, &keys.Keys, newKeyPacker(keys)}
		}
		columns := hashedColumns(recordreader.Arrays(batch, opt.Keys), keys)
		defer recordreader.ReleaseAll(columns)
		return workers[i].addBy(batch, columns)
	}, func(ctx context.Context) error { return workers.flush(ctx, of) })
	if err == nil {
		err = out.End()
	}
	return stats, err
}

// A worker holds up to scatterBytesMost of rows before it scatters them; it has memory for scatterShare times as many:
// for the rows in order of their partitions, and their pages.
const (
	scatterBytesMost = 8 << 20
	scatterShare     = 4
)

// HashedType returns the type as whose values keys of a type are hashed: all integers that int64 has are hashed alike.
func HashedType(of arrow.DataType) arrow.DataType {
	if arrow.IsInteger(of.ID()) && of.ID() != arrow.UINT64 {
		return arrow.PrimitiveTypes.Int64
	}
	return of
}

// hashedColumns returns key columns as the types that are hashed; the caller releases them.
func hashedColumns(from []arrow.Array, keys *rowdata.Bound) []arrow.Array {
	made := make([]arrow.Array, len(from))
	for i, column := range from {
		to := keys.Columns[keys.KeyColumns[i]].Type
		if made[i] = column; arrow.TypeEqual(column.DataType(), to) || !arrow.IsInteger(to.ID()) {
			column.Retain()
			continue
		}
		made[i] = widenedOf(column)
	}
	return made
}

// widenedOf returns an array of integers as int64.
func widenedOf(column arrow.Array) arrow.Array {
	values, _ := vector.Integers(column)
	var valid []bool // all
	if column.NullN() > 0 {
		valid = make([]bool, len(values))
		for row := range valid {
			valid[row] = column.IsValid(row)
		}
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, valid)
	return b.NewArray()
}

// bindKeys returns how the keys are packed, which depends on their types alone.
func (o *ScatterOptions) bindKeys() (*rowdata.Bound, error) {
	var q query.Query
	fields := make([]arrow.Field, len(o.Keys))
	for i, c := range o.Keys {
		fields[i] = arrow.Field{Name: fmt.Sprintf("key %d", i+1), Type: HashedType(o.Schema.Field(c).Type), Nullable: true}
		q.Keys = append(q.Keys, query.Key{Column: fields[i].Name})
	}
	return rowdata.BindCanonical(q, arrow.NewSchema(fields, nil), nil)
}

// Exchanged returns the rows of blobs that Scatter has written, which have the columns of a schema. Its splits are the
// blobs.
func (s *Statement) Exchanged(schema *arrow.Schema, blobs []partial.RowBlob) scan.Source {
	return &exchanged{s, schema, blobs}
}

// exchanged is rows that other processes have scattered.
type exchanged struct {
	statement *Statement
	schema    *arrow.Schema
	blobs     []partial.RowBlob
}

// Schema implements scan.Source.
func (s *exchanged) Schema() *arrow.Schema { return s.schema }

// Stats implements scan.Source.
func (s *exchanged) Stats() scan.Stats {
	stats := scan.Stats{Rows: -1, Columns: make([]scan.ColumnStats, s.schema.NumFields())}
	for i := range s.blobs {
		stats.Bytes += s.blobs[i].Bytes
	}
	return stats
}

// Splits implements scan.Source.
func (s *exchanged) Splits(_ context.Context, columns []int) ([]scan.Split, error) {
	list := make([]scan.Split, len(s.blobs))
	for i := range s.blobs {
		list[i] = &exchangedSplit{s, i, columns, recordreader.Columns(s.schema, columns)}
	}
	return list, nil
}

// exchangedSplit is the rows of a blob.
type exchangedSplit struct {
	of      *exchanged
	number  int // of the blob
	columns []int
	schema  *arrow.Schema // of columns
}

func (s *exchangedSplit) blob() *partial.RowBlob { return &s.of.blobs[s.number] }

// Position implements scan.Split.
func (s *exchangedSplit) Position() uint64 { return uint64(s.number) << exchangedRowBits }

// exchangedRowBits leaves room for the rows of a blob, in the position of its first row.
const exchangedRowBits = 40

// Rows implements scan.Split.
func (s *exchangedSplit) Rows() int64 { return -1 }

// Bytes implements scan.Split.
func (s *exchangedSplit) Bytes() int64 { return s.blob().Bytes }

// Name implements scan.Split.
func (s *exchangedSplit) Name() string { return s.blob().Name() }

// Open implements scan.Split.
func (s *exchangedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	pages, err := s.blob().Pages(s.of.statement.memory)
	if err != nil {
		return nil, err
	}
	from := store.NewBatchReader(pages, opt.Allocator)
	return recordreader.New(s.schema, func() (arrow.RecordBatch, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		batch, err := from.Next()
		if batch == nil {
			if err == nil && opt.Progress != nil {
				opt.Progress(s.Bytes())
			}
			return nil, err
		}
		defer batch.Release()
		if !batch.Schema().Equal(s.of.schema) {
			return nil, &partial.BlobError{Name: s.Name(), Err: fmt.Errorf("%w: rows of the columns %s, where %s are asked for",
				partial.ErrMismatch, batch.Schema(), s.of.schema)}
		}
		return recordreader.Pick(s.schema, batch, s.columns), nil
	}, from.Close), nil
}
