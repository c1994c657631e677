package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
)

// expanded is a source that has each row once for every grouping set, except sets whose groups other
// aggregations make. Behind the columns of the row it has the keys, which are NULL in rows of a set
// without them, and the number of the set.
type expanded struct {
	scan.Source
	keys   []int    // columns of the source
	names  []string // of the further columns
	sets   [][]bool // by set and key: whether the set has the key
	made   []int    // sets that rows come for
	schema *arrow.Schema
}

// describe makes the schema.
func (x *expanded) describe() {
	fields := slices.Clone(x.Source.Schema().Fields())
	for i, k := range x.keys {
		fields = append(fields, arrow.Field{Name: x.names[i], Type: valueType(fields[k].Type), Nullable: true})
	}
	fields = append(fields, arrow.Field{Name: x.names[len(x.keys)], Type: arrow.PrimitiveTypes.Int32})
	x.schema = arrow.NewSchema(fields, nil)
}

// Unwrap returns the source of the rows, for what its filter leaves out.
func (x *expanded) Unwrap() scan.Source { return x.Source }

// Schema implements scan.Source.
func (x *expanded) Schema() *arrow.Schema { return x.schema }

// Stats implements scan.Source.
func (x *expanded) Stats() scan.Stats {
	s := x.Source.Stats()
	known := s.Columns
	if known == nil {
		known = make([]rowdata.ColumnStats, x.Source.Schema().NumFields())
	}
	s.Columns = slices.Clone(known)
	for _, k := range x.keys {
		c := known[k]
		c.NoNulls = false
		s.Columns = append(s.Columns, c)
	}
	s.Columns = append(s.Columns, rowdata.ColumnStats{HasRange: true, Min: 0, Max: int64(len(x.sets) - 1), NoNulls: true})
	if s.Rows > 0 {
		s.Rows *= int64(len(x.made))
	}
	return s
}

// Splits implements scan.Source.
func (x *expanded) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	own := x.Source.Schema().NumFields()
	e := &expansion{sets: x.sets, made: x.made}
	fields := make([]arrow.Field, len(columns))
	var read []int
	for i, c := range columns {
		fields[i] = x.schema.Field(c)
		from := expandedColumn{key: -1}
		switch at := c - own; {
		case at == len(x.keys):
			from.isSet = true
			e.columns = append(e.columns, from)
			continue
		case at >= 0:
			from.key, c = at, x.keys[at]
		}
		if from.at = slices.Index(read, c); from.at < 0 {
			from.at = len(read)
			read = append(read, c)
		}
		e.columns = append(e.columns, from)
	}
	e.schema = arrow.NewSchema(fields, nil)
	splits, err := x.Source.Splits(ctx, read)
	if err != nil {
		return nil, err
	}
	for i, s := range splits {
		splits[i] = &expandedSplit{s, e}
	}
	return splits, nil
}

// expansion says how batches are made of the batches of the source.
type expansion struct {
	sets    [][]bool
	made    []int
	columns []expandedColumn
	schema  *arrow.Schema
}

type expandedColumn struct {
	isSet bool // the number of the set
	key   int  // NULL in sets without it; -1 of a column that is as the source has it
	at    int  // in the source's batch
}

type expandedSplit struct {
	scan.Split
	of *expansion
}

func (s *expandedSplit) Position() uint64 { return s.Split.Position() * uint64(len(s.of.made)) }

func (s *expandedSplit) Rows() int64 {
	if rows := s.Split.Rows(); rows > 0 {
		return rows * int64(len(s.of.made))
	}
	return s.Split.Rows()
}

// Open implements scan.Split.
func (s *expandedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	return &expandedReader{batches: batches{schema: s.of.schema, from: from}, of: s.of, next: len(s.of.made)}, nil
}

// expandedReader returns every batch of another reader once for each set.
type expandedReader struct {
	batches
	of   *expansion
	next int // of made
}

func (r *expandedReader) Next() bool {
	r.drop()
	if r.err != nil {
		return false
	}
	if r.next == len(r.of.made) {
		if !r.from.Next() {
			return false
		}
		r.next = 0
	}
	set := r.of.made[r.next]
	r.next++
	r.err = scan.UseBatch(r.from.RecordBatch(), func() error {
		r.expand(set, r.from.RecordBatch())
		return nil
	})
	return r.err == nil
}

// expand makes the rows of a set current.
func (r *expandedReader) expand(set int, in arrow.RecordBatch) {
	rows := int(in.NumRows())
	columns := make([]arrow.Array, len(r.of.columns))
	var made []arrow.Array
	for i, c := range r.of.columns {
		switch {
		case c.isSet:
			columns[i] = repeated(int32(set), rows)
			made = append(made, columns[i])
		case c.key >= 0 && !r.of.sets[set][c.key]:
			columns[i] = nullsLike(in.Column(c.at))
			made = append(made, columns[i])
		default:
			columns[i] = in.Column(c.at)
		}
	}
	r.batch = newBatch(r.of.schema, columns, in.NumRows())
	for _, arr := range made {
		arr.Release()
	}
}

// nullsLike returns as many NULLs as an array has rows: codes of its dictionary where it has one, so that what is kept
// of dictionaries is found again.
func nullsLike(arr arrow.Array) arrow.Array {
	d, ok := arr.(*array.Dictionary)
	if !ok {
		return nulls(arr.DataType(), arr.Len())
	}
	codes := nulls(d.DataType().(*arrow.DictionaryType).IndexType, arr.Len())
	defer codes.Release()
	return array.NewDictionaryArray(d.DataType(), codes, d.Dictionary())
}

// nulls returns so many NULLs. Their buffers have to be 0, which an engine's allocator does not promise.
func nulls(dt arrow.DataType, rows int) arrow.Array {
	return array.MakeArrayOfNull(memory.DefaultAllocator, dt, rows)
}

// repeated returns a value so many times.
func repeated(value int32, rows int) arrow.Array {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(rows)
	for range rows {
		b.UnsafeAppend(value)
	}
	return b.NewArray()
}
