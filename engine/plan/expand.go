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
	stepNode
	step *expanded
}

// expanded is the step that has each row once for every grouping set, except sets whose groups
// other aggregations make. Behind the columns of the row it has the keys, which are NULL in rows of
// a set without them, and the number of the set.
type expanded struct {
	schema *arrow.Schema // of all columns
	own    int           // columns of the row
	keys   []int         // columns of the row
	names  []string      // of the further columns
	sets   [][]bool      // by set and key: whether the set has the key
	made   []int         // numbers of the sets that rows are made for
}

// over returns the rows of a source behind the step, which gets its schema.
func (x *expanded) over(src scan.Source) *stepped {
	s := &stepped{Source: src, step: x, times: int64(len(x.made))}
	fields, known := slices.Clone(src.Schema().Fields()), columnStats(src)
	x.own = len(fields)
	for i, k := range x.keys {
		fields = append(fields, arrow.Field{Name: x.names[i], Type: rowdata.ValueType(fields[k].Type), Nullable: true})
		c := known[k]
		c.NoNulls = false
		s.stats = append(s.stats, c)
	}
	fields = append(fields, arrow.Field{Name: x.names[len(x.keys)], Type: arrow.PrimitiveTypes.Int32})
	first, last := int64(slices.Min(x.made)), int64(slices.Max(x.made))
	s.stats = append(s.stats, scan.ColumnStats{HasRange: true, Min: first, Max: last, NoNulls: true})
	x.schema = arrow.NewSchema(fields, nil)
	s.schema = x.schema
	return s
}

// plan implements step.
func (x *expanded) plan(_ context.Context, columns []int) (read []int, made *stepPlan, err error) {
	e := &expansion{of: x, schema: recordreader.Columns(x.schema, columns)}
	for _, c := range columns {
		from := expandedColumn{key: -1}
		switch at := c - x.own; {
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
	return read, &stepPlan{e.schema, func(memory.Allocator) stepMap { return &expander{expansion: e} }, nil}, nil
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

// expander makes the rows of each set of a batch.
type expander struct {
	*expansion
	in   arrow.RecordBatch
	left []int // sets that in is to be returned for
}

// Begin implements engine.RowMap.
func (x *expander) Begin(_ context.Context, in arrow.RecordBatch) error {
	x.in, x.left = in, x.of.made
	return nil
}

// Next implements engine.RowMap: it returns the batch once for each set.
func (x *expander) Next(context.Context) (arrow.RecordBatch, error) {
	if len(x.left) == 0 {
		return nil, nil
	}
	set := x.left[0]
	x.left = x.left[1:]
	return x.expand(set, x.in), nil
}

func (x *expander) row() int { return 0 }
func (x *expander) Release() {}

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
	defer recordreader.ReleaseAll(made)
	return recordreader.Batch(e.schema, columns, in.NumRows())
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
