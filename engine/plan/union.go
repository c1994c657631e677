package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// unionNode has the rows of its inputs, one after the other.
type unionNode struct {
	in        []sourceNode
	places    [][]int // by input and column: the column of the input
	schema    *arrow.Schema
	stats     []scan.ColumnStats
	described *united // of no run
}

// input implements node: the first one.
func (n *unionNode) input() node { return n.in[0] }

// rows implements sourceNode.
func (n *unionNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	return n.over(r)
}

// over returns the rows of a run.
func (n *unionNode) over(r *run) *united {
	s := &united{node: n, in: make([]scan.Source, len(n.in))}
	for i, in := range n.in {
		s.in[i] = r.rowsOf(in)
	}
	return s
}

// union makes the node of the rows of several statements.
func (p *planner) union(n *logical.Union) (*input, error) {
	made := &unionNode{}
	var schemas []*arrow.Schema // of the inputs
	for i, in := range n.In {
		of, err := p.source(in, nil)
		if err != nil {
			return nil, err
		}
		places := make([]int, len(n.Of[i]))
		for c, id := range n.Of[i] {
			places[c] = of.places[id]
		}
		made.in, made.places = append(made.in, of.node), append(made.places, places)
		schemas = append(schemas, of.node.rows(nil).Schema())
	}
	taken, fields := logical.Names{}, make([]arrow.Field, len(n.Columns()))
	for i, c := range n.Columns() {
		fields[i] = arrow.Field{Name: taken.Unique(c.Name), Type: made.typeOf(schemas, i, c.Type), Nullable: c.Nullable}
		made.stats = append(made.stats, c.Stats)
	}
	made.schema = arrow.NewSchema(fields, nil)
	made.described = made.over(nil)
	return &input{made, logical.PlacesOf(n.Columns())}, nil
}

// typeOf returns the type of a column in all inputs, which rows that are kept may have in place of a file's, or another
// type where the inputs have several.
func (n *unionNode) typeOf(schemas []*arrow.Schema, column int, other arrow.DataType) arrow.DataType {
	var of arrow.DataType
	for i, schema := range schemas {
		typ := rowdata.ValueType(schema.Field(n.places[i][column]).Type)
		if of != nil && !arrow.TypeEqual(of, typ) {
			return other
		}
		of = typ
	}
	return of
}

// united is the source of a union.
type united struct {
	node *unionNode
	in   []scan.Source
}

// Schema implements scan.Source.
func (s *united) Schema() *arrow.Schema { return s.node.schema }

// Stats implements scan.Source.
func (s *united) Stats() scan.Stats {
	all := scan.Stats{Columns: s.node.stats}
	sum := func(a, b int64) int64 {
		if a < 0 || b < 0 {
			return -1
		}
		return a + b
	}
	for i, in := range s.in {
		of := in.Stats()
		all.Rows, all.Bytes = sum(all.Rows, of.Rows), sum(all.Bytes, of.Bytes)
		all.Once = all.Once || of.Once
		all.Groups = of.Groups && (all.Groups || i == 0)
	}
	return all
}

// Splits implements scan.Source.
func (s *united) Splits(ctx context.Context, columns []int) (list []scan.Split, err error) {
	schema := recordreader.Columns(s.node.schema, columns)
	for i, in := range s.in {
		var read []int
		places := make([]int, len(columns)) // in read
		for c, column := range columns {
			places[c] = placeIn(&read, s.node.places[i][column])
		}
		splits, err := in.Splits(ctx, read)
		if err != nil {
			return nil, err
		}
		for _, split := range splits {
			list = append(list, &unitedSplit{split, schema, places, len(list)})
		}
	}
	return list, nil
}

// unitedSplit is a split of an input of a union.
type unitedSplit struct {
	scan.Split
	schema *arrow.Schema
	places []int // by column of schema: the column that is read
	number int   // of the split, among the splits of all inputs
}

// Position implements scan.Split.
func (s *unitedSplit) Position() uint64 { return uint64(s.number) << positionBits }

// Open implements scan.Split.
func (s *unitedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	r := &unitedReader{split: s, from: from}
	r.Init(s.schema, r.next, from.Release)
	return r, nil
}

// unitedReader reads a split of an input of a union.
type unitedReader struct {
	recordreader.Base
	split *unitedSplit
	from  array.RecordReader // owned
}

func (r *unitedReader) next() (arrow.RecordBatch, error) {
	in, err := recordreader.Next(r.from)
	if in == nil {
		return nil, err
	}
	return recordreader.Pick(r.split.schema, in, r.split.places), nil
}

// Place implements scan.Placer.
func (r *unitedReader) Place(i int) string {
	if p, ok := r.from.(scan.Placer); ok {
		return p.Place(i)
	}
	return ""
}

// repeatNode has each row of its input as often as one of its columns says.
type repeatNode struct {
	in    readerNode
	times int // column of in
}

func (n *repeatNode) input() node           { return n.in }
func (n *repeatNode) schema() *arrow.Schema { return n.in.schema() }

// read implements readerNode.
func (n *repeatNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	from, err := n.in.read(ctx, r)
	if err != nil {
		return nil, err
	}
	of := &repeater{ctx: ctx, node: n, run: r, from: from}
	return recordreader.New(n.schema(), of.next, of.release), nil
}

// repeater repeats rows.
type repeater struct {
	ctx   context.Context
	node  *repeatNode
	run   *run
	from  array.RecordReader // owned
	batch arrow.RecordBatch  // owned; nil of none
	row   int                // of batch
	made  int64              // how often that row has been made
}

func (r *repeater) release() {
	r.drop()
	r.from.Release()
}

func (r *repeater) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *repeater) next() (arrow.RecordBatch, error) {
	for {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		spawn.Step()
		if r.batch == nil {
			var err error
			if r.batch, err = recordreader.Owned(r.from); r.batch == nil {
				return nil, err
			}
			r.row, r.made = 0, 0
		}
		if rows := r.rows(); len(rows) > 0 {
			return gather.Batch(r.run.statement.Allocator(), r.node.schema(), r.batch, rows)
		}
		r.drop()
	}
}

// rows returns the rows of the next batch.
func (r *repeater) rows() (rows []gather.Row) {
	times := r.batch.Column(r.node.times).(*array.Int64)
	for ; r.row < times.Len(); r.row, r.made = r.row+1, 0 {
		wanted := min(times.Value(r.row)-r.made, int64(joinedRowsMost-len(rows)))
		rows = slices.Grow(rows, int(wanted))
		for range wanted {
			rows = append(rows, gather.Row{Row: uint32(r.row)})
		}
		if r.made += wanted; r.made < times.Value(r.row) {
			return rows
		}
	}
	return rows
}
