package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
)

// Statistics that are old, missing, shortened or wrong say less, and never more than is sure.
func TestGroupBounds(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "u", Type: arrow.PrimitiveTypes.Uint32, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{
		scantest.TextArray(t, arrow.PrimitiveTypes.Int32, "-5", "7"), scantest.TextArray(t, arrow.PrimitiveTypes.Uint32, "5", "4000000000"), scantest.TextArray(t, arrow.BinaryTypes.String, "a", "z"),
	}, 2)
	data := scantest.EncodeParquet(t, 2, []arrow.RecordBatch{batch})
	const i, u, s = 0, 1, 2
	type known struct{ bounded, noNulls, exact bool }
	undefined := func(p *File) {
		orders := make([]parquet.ColumnOrder, 3)
		for c := range orders {
			orders[c] = parquet.ColumnOrders.Undefined
		}
		if err := p.meta.Schema.UpdateColumnOrders(orders); err != nil {
			t.Fatal(err)
		}
	}
	each := func(p *File, change func(*chunkStats)) {
		for c := range p.groups[0].chunks {
			change(&p.groups[0].chunks[c].stats)
		}
	}
	old := func(p *File) {
		undefined(p)
		each(p, func(of *chunkStats) { of.oldMin, of.oldMax, of.min, of.max = of.min, of.max, nil, nil })
	}
	for _, tt := range []struct {
		name   string
		change func(p *File)
		want   [3]known // by column
	}{
		{"as written", func(*File) {}, [3]known{i: {true, true, true}, u: {true, true, true}, s: {true, true, false}}},
		{"old, before there were orders", old, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"old, where the format has orders", func(p *File) {
			each(p, func(of *chunkStats) { of.oldMin, of.oldMax, of.min, of.max = of.min, of.max, nil, nil })
		}, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"orders unknown, and both kinds of statistics", undefined, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"NULLs not counted", func(p *File) {
			each(p, func(of *chunkStats) { of.nulls = -1 })
		}, [3]known{i: {true, false, true}, u: {true, false, true}, s: {true, false, false}}},
		{"the largest alone", func(p *File) {
			each(p, func(of *chunkStats) { of.min, of.oldMin = nil, nil })
		}, [3]known{i: {noNulls: true}, u: {noNulls: true}, s: {noNulls: true}}},
		{"shortened", func(p *File) {
			each(p, func(of *chunkStats) { of.maxExact, of.minExact = compactFalse, compactFalse })
		}, [3]known{i: {true, true, false}, u: {true, true, false}, s: {true, true, false}}},
		{"the wrong way round", func(p *File) {
			each(p, func(of *chunkStats) { of.min, of.max = of.max, of.min })
		}, [3]known{i: {noNulls: true, exact: true}, u: {noNulls: true, exact: true}, s: {noNulls: true}}},
		{"of another width", func(p *File) {
			for c := range 2 {
				p.chunk(0, c).stats.min = []byte{1}
			}
		}, [3]known{i: {noNulls: true}, u: {noNulls: true}, s: {true, true, false}}},
	} {
		p, err := Open(vfs.OS, scantest.WriteFile(t, t.TempDir(), "f.parquet", data), reserve.New(reserve.GoHeap, nil))
		if err != nil {
			t.Fatal(err)
		}
		tt.change(p)
		for c, want := range tt.want {
			b := p.BoundsOf(0, c)
			if b.Exact && !want.exact && (b.Low == nil || b.High == nil) {
				b.Exact = false // of nothing
			}
			if got := (known{b.Low != nil && b.High != nil, b.NoNulls, b.Exact}); got.bounded != want.bounded || got.noNulls != want.noNulls || got.exact && !want.exact {
				t.Errorf("%s, column %d: got %+v, want %+v", tt.name, c, got, want)
			}
		}
	}
}
