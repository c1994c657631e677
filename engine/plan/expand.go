package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// expandNode makes a row for each grouping set of each row.
type expandNode struct {
	in        sourceNode
	described *expanded // of no run
}

func (n *expandNode) input() node { return n.in }

// rows implements sourceNode.
func (n *expandNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	of := *n.described
	of.Source = n.in.rows(r)
	return &of
}

// expanded is a source that has each row once for every grouping set, except sets whose groups
// other aggregations make. Behind the columns of the row it has the keys, which are NULL in rows of
// a set without them, and the number of the set.
type expanded struct {
	wider
	keys  []int    // columns of the source
	names []string // of the further columns
	sets  [][]bool // by set and key: whether the set has the key
	made  []int    // numbers of the sets that rows are made for
}

// describe makes the schema and the statistics.
func (x *expanded) describe() {
	fields, known := slices.Clone(x.Source.Schema().Fields()), columnStats(x.Source)
	for i, k := range x.keys {
		fields = append(fields, arrow.Field{Name: x.names[i], Type: rowdata.ValueType(fields[k].Type), Nullable: true})
		c := known[k]
		c.NoNulls = false
		x.stats = append(x.stats, c)
	}
	fields = append(fields, arrow.Field{Name: x.names[len(x.keys)], Type: arrow.PrimitiveTypes.Int32})
	x.stats = append(x.stats, scan.ColumnStats{HasRange: true, Min: 0, Max: int64(len(x.sets) - 1), NoNulls: true})
	x.schema = arrow.NewSchema(fields, nil)
}

// Stats implements scan.Source.
func (x *expanded) Stats() scan.Stats {
	s := x.wider.Stats()
	s.Rows = x.times(s.Rows)
	return s
}

// times returns how many rows are made of `rows` rows of the source; -1 means that nobody has counted
// the source's rows.
func (x *expanded) times(rows int64) int64 {
	if rows > 0 {
		rows *= int64(len(x.made))
	}
	return rows
}

// Splits implements scan.Source.
func (x *expanded) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	own := x.Source.Schema().NumFields()
	e := &expansion{of: x, schema: columnsOf(x.schema, columns)}
	var read []int
	for _, c := range columns {
		from := expandedColumn{key: -1}
		switch at := c - own; {
		case at == len(x.keys):
			from.isSet = true
			e.columns = append(e.columns, from)
			continue
		case at >= 0:
			from.key, c = at, x.keys[at]
		}
		from.at = placeIn(&read, c)
		e.columns = append(e.columns, from)
	}
	return x.splits(ctx, read, func(s scan.Split) scan.Split { return &expandedSplit{s, e} })
}

// expansion says how batches are made of the batches of the source.
type expansion struct {
	of      *expanded
	columns []expandedColumn
	schema  *arrow.Schema
}

type expandedColumn struct {
	isSet bool // the number of the set
	key   int  // NULL in sets without this key; -1 of a column that is as the source has it
	at    int  // in the source's batch
}

type expandedSplit struct {
	scan.Split
	plan *expansion
}

func (s *expandedSplit) Position() uint64 { return s.Split.Position() * uint64(len(s.plan.of.made)) }
func (s *expandedSplit) Rows() int64      { return s.plan.of.times(s.Split.Rows()) }

// Open implements scan.Split. The reader returns every batch once for each set.
func (s *expandedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	var in arrow.RecordBatch // of from
	var left []int           // sets that in is to be returned for
	return recordreader.New(s.plan.schema, func() (out arrow.RecordBatch, err error) {
		if len(left) == 0 {
			if in, err = recordreader.Next(from); in == nil {
				return nil, err
			}
			left = s.plan.of.made
		}
		set := left[0]
		left = left[1:]
		err = scan.UseBatch(in, func() error {
			out = s.plan.expand(set, in)
			return nil
		})
		return out, err
	}, from.Release), nil
}

// expand returns the rows of a set.
func (e *expansion) expand(set int, in arrow.RecordBatch) arrow.RecordBatch {
	rows := int(in.NumRows())
	columns := make([]arrow.Array, len(e.columns))
	var made []arrow.Array
	for i, c := range e.columns {
		switch {
		case c.isSet:
			columns[i] = int32s(slices.Repeat([]int32{int32(set)}, rows))
			made = append(made, columns[i])
		case c.key >= 0 && !e.of.sets[set][c.key]:
			columns[i] = nullsLike(in.Column(c.at))
			made = append(made, columns[i])
		default:
			columns[i] = in.Column(c.at)
		}
	}
	defer releaseAll(made)
	return newBatch(e.schema, columns, in.NumRows())
}

// nullsLike returns as many NULLs as an array has rows. In place of a dictionary's codes they are
// codes of the same dictionary: what an encoder has made of the last dictionary serves the next
// batch only where the dictionary stays.
func nullsLike(arr arrow.Array) arrow.Array {
	d, ok := arr.(*array.Dictionary)
	if !ok {
		return nulls(arr.DataType(), arr.Len())
	}
	codes := nulls(d.DataType().(*arrow.DictionaryType).IndexType, arr.Len())
	defer codes.Release()
	return array.NewDictionaryArray(d.DataType(), codes, d.Dictionary())
}

// nulls returns an array of NULLs. Its buffers have to be 0, which an engine's allocator does not
// promise.
func nulls(dt arrow.DataType, rows int) arrow.Array {
	return array.MakeArrayOfNull(memory.DefaultAllocator, dt, rows)
}

// int32s returns an array of values.
func int32s(values []int32) arrow.Array {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

func releaseAll(arrays []arrow.Array) {
	for _, a := range arrays {
		a.Release()
	}
}
