package gen

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// blockRows is about how many rows a split has: few enough that a split of any table is some tens
// of MB when it is held whole, to be written in order.
const blockRows = 1 << 18

// rowsMax bounds a table, so that no product with a column count or a row width overflows.
const rowsMax = 1 << 48

// Table is a generated table. It may be read by several queries at once.
type Table struct {
	name    string
	schema  *arrow.Schema
	columns []scan.ColumnStats
	starts  []int64 // the first row of each split, and the number of rows

	// open returns the values of the split's rows in the columns, in their order.
	open func(split int, columns []int) filler
}

// filler makes the next rows of a split: one array per column. The caller releases them.
type filler func(mem memory.Allocator, rows int) []arrow.Array

var _ scan.Source = (*Table)(nil)

// Name says which table this is: "G1_1e7_1e2_0_0".
func (t *Table) Name() string { return t.name }

// Schema implements scan.Source.
func (t *Table) Schema() *arrow.Schema { return t.schema }

// Rows returns the number of rows.
func (t *Table) Rows() int64 { return t.starts[len(t.starts)-1] }

// Stats implements scan.Source. The bytes are not known, as there are none.
func (t *Table) Stats() scan.Stats {
	return scan.Stats{Rows: t.Rows(), Bytes: -1, Columns: slices.Clone(t.columns)}
}

// Splits implements scan.Source.
func (t *Table) Splits(_ context.Context, columns []int) ([]scan.Split, error) {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		if c < 0 || c >= t.schema.NumFields() {
			return nil, fmt.Errorf("%s: column %d of %d", t.name, c, t.schema.NumFields())
		}
		fields[i] = t.schema.Field(c)
	}
	columns = slices.Clone(columns)
	schema := arrow.NewSchema(fields, nil)
	splits := make([]scan.Split, len(t.starts)-1)
	for i := range splits {
		splits[i] = &split{table: t, number: i, columns: columns, schema: schema}
	}
	return splits, nil
}

// blockStarts cuts rows into splits of blockRows.
func blockStarts(rows int64) []int64 {
	starts := make([]int64, 0, rows/blockRows+2)
	for start := int64(0); start < rows; start += blockRows {
		starts = append(starts, start)
	}
	return append(starts, rows)
}

// split is one block of a table's rows.
type split struct {
	table   *Table
	number  int
	columns []int
	schema  *arrow.Schema
}

func (s *split) Position() uint64 { return uint64(s.table.starts[s.number]) }
func (s *split) Rows() int64      { return s.table.starts[s.number+1] - s.table.starts[s.number] }
func (s *split) Bytes() int64     { return 0 }
func (s *split) Name() string     { return fmt.Sprintf("%s, block %d", s.table.name, s.number) }

func (s *split) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	fill, left := s.table.open(s.number, s.columns), s.Rows()
	return recordreader.New(s.schema, func() (arrow.RecordBatch, error) {
		if err := ctx.Err(); err != nil || left == 0 {
			return nil, err
		}
		n := min(left, int64(opt.BatchRows))
		left -= n
		arrays := fill(opt.Allocator, int(n))
		defer recordreader.ReleaseAll(arrays)
		return array.NewRecordBatch(s.schema, arrays, n), nil
	}, nil), nil
}

// columnFiller makes the next values of one column.
type columnFiller func(mem memory.Allocator, rows int) arrow.Array

// each fills columns that do not depend on each other.
func each(columns []columnFiller) filler {
	return func(mem memory.Allocator, rows int) []arrow.Array {
		arrays := make([]arrow.Array, len(columns))
		for i, fill := range columns {
			arrays[i] = fill(mem, rows)
		}
		return arrays
	}
}

// newColumn builds rows values with a builder. value says false for NULL.
func newColumn[T any, B interface {
	array.Builder
	Append(T)
}](b B, rows int, value func() (T, bool)) arrow.Array {
	defer b.Release()
	b.Reserve(rows)
	for range rows {
		if v, ok := value(); ok {
			b.Append(v)
		} else {
			b.AppendNull()
		}
	}
	return withoutBitmap(b.NewArray())
}

// withoutBitmap returns an array without the bitmap that builders make where nothing is NULL, and
// takes the array over.
func withoutBitmap(a arrow.Array) arrow.Array {
	if a.NullN() > 0 {
		return a
	}
	defer a.Release()
	of := a.Data()
	data := array.NewData(of.DataType(), of.Len(), append([]*memory.Buffer{nil}, of.Buffers()[1:]...), nil, 0, of.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// newStrings is newColumn for strings; text appends the value to its argument, or returns nil for
// NULL. bytesPerRow is a guess of their length.
func newStrings(mem memory.Allocator, rows, bytesPerRow int, text func([]byte) []byte) arrow.Array {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.Reserve(rows)
	b.ReserveData(rows * bytesPerRow)
	var buf [64]byte
	for range rows {
		if v := text(buf[:0]); v != nil {
			b.BinaryBuilder.Append(v)
		} else {
			b.AppendNull()
		}
	}
	return withoutBitmap(b.NewArray())
}
