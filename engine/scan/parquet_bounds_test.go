package scan

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/internal/vfs"
)

// Statistics that are old, missing, shortened or wrong say less, and never more than is sure.
func TestGroupBounds(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "u", Type: arrow.PrimitiveTypes.Uint32, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{
		textArray(t, arrow.PrimitiveTypes.Int32, "-5", "7"), textArray(t, arrow.PrimitiveTypes.Uint32, "5", "4000000000"), textArray(t, arrow.BinaryTypes.String, "a", "z"),
	}, 2)
	data := encodeParquet(t, 2, []arrow.RecordBatch{batch})
	const i, u, s = 0, 1, 2
	type known struct{ bounded, noNulls, exact bool }
	undefined := func(p *parquetFile) {
		orders := make([]parquet.ColumnOrder, 3)
		for c := range orders {
			orders[c] = parquet.ColumnOrders.Undefined
		}
		if err := p.meta.Schema.UpdateColumnOrders(orders); err != nil {
			t.Fatal(err)
		}
	}
	each := func(p *parquetFile, change func(*chunkStats)) {
		for c := range p.groups[0].chunks {
			change(&p.groups[0].chunks[c].stats)
		}
	}
	old := func(p *parquetFile) {
		undefined(p)
		each(p, func(of *chunkStats) { of.oldMin, of.oldMax, of.min, of.max = of.min, of.max, nil, nil })
	}
	for _, tt := range []struct {
		name   string
		change func(p *parquetFile)
		want   [3]known // by column
	}{
		{"as written", func(*parquetFile) {}, [3]known{i: {true, true, true}, u: {true, true, true}, s: {true, true, false}}},
		{"old, before there were orders", old, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"old, where the format has orders", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.oldMin, of.oldMax, of.min, of.max = of.min, of.max, nil, nil })
		}, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"orders unknown, and both kinds of statistics", undefined, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"NULLs not counted", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.nulls = -1 })
		}, [3]known{i: {true, false, true}, u: {true, false, true}, s: {true, false, false}}},
		{"the largest alone", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.min, of.oldMin = nil, nil })
		}, [3]known{i: {noNulls: true}, u: {noNulls: true}, s: {noNulls: true}}},
		{"shortened", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.maxExact, of.minExact = compactFalse, compactFalse })
		}, [3]known{i: {true, true, false}, u: {true, true, false}, s: {true, true, false}}},
		{"the wrong way round", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.min, of.max = of.max, of.min })
		}, [3]known{i: {noNulls: true, exact: true}, u: {noNulls: true, exact: true}, s: {noNulls: true}}},
		{"of another width", func(p *parquetFile) {
			for c := range 2 {
				p.chunk(0, c).stats.min = []byte{1}
			}
		}, [3]known{i: {noNulls: true}, u: {noNulls: true}, s: {true, true, false}}},
	} {
		p, err := openParquet(vfs.OS, writeFile(t, t.TempDir(), "f.parquet", data), newReserving(goHeap, nil))
		if err != nil {
			t.Fatal(err)
		}
		tt.change(p)
		for c, want := range tt.want {
			b := p.groupBounds(0, c)
			if b.exact && !want.exact && (b.low == nil || b.high == nil) {
				b.exact = false // of nothing
			}
			if got := (known{b.low != nil && b.high != nil, b.noNulls, b.exact}); got.bounded != want.bounded || got.noNulls != want.noNulls || got.exact && !want.exact {
				t.Errorf("%s, column %d: got %+v, want %+v", tt.name, c, got, want)
			}
		}
	}
}
