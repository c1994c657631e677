package timed

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Would catch answers that pass for the same though a value is another row's.
func TestDigest(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	type row struct {
		k, n int64
		s    string
		f    float64
		null bool // n and f
	}
	of := func(rows ...row) *Answer {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, r := range rows {
			b.Field(0).(*array.Int64Builder).Append(r.k)
			b.Field(2).(*array.StringBuilder).Append(r.s)
			if r.null {
				b.Field(1).AppendNull()
				b.Field(3).AppendNull()
				continue
			}
			b.Field(1).(*array.Int64Builder).Append(r.n)
			b.Field(3).(*array.Float64Builder).Append(r.f)
		}
		q := &Answer{Groups: int64(len(rows))}
		q.digest.add(b.NewRecordBatch())
		return q
	}
	rows := []row{{1, 10, "a", 0.1, false}, {2, 20, "b", 0.2, false}, {3, 0, "c", 0, true}}
	want := of(rows...)
	other := slices.Clone(rows)
	slices.Reverse(other)
	other[1].f += 1e-13
	if err := of(other...).Differs("b", want, "a"); err != nil {
		t.Errorf("in another order: %v", err)
	}
	for name, change := range map[string]func([]row){
		"a value":                 func(r []row) { r[0].n++ },
		"values of two rows":      func(r []row) { r[0].n, r[1].n = r[1].n, r[0].n },
		"doubles of two rows":     func(r []row) { r[0].f, r[1].f = r[1].f, r[0].f },
		"a double":                func(r []row) { r[1].f += 1e-6 },
		"a string":                func(r []row) { r[2].s = "d" },
		"a NULL":                  func(r []row) { r[2].null = false },
		"strings of two rows":     func(r []row) { r[0].s, r[2].s = r[2].s, r[0].s },
		"a NULL of another's row": func(r []row) { r[2].null, r[1].null, r[2].n, r[2].f = false, true, r[1].n, r[1].f },
	} {
		other := slices.Clone(rows)
		if change(other); of(other...).Differs("b", want, "a") == nil {
			t.Errorf("%s differ, and the answers do not", name)
		}
	}
	for _, same := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		endless := func(f float64, other float64) *Answer {
			return of(row{1, 1, "a", f, false}, row{2, 1, "b", f, false}, row{3, 1, "c", other, false})
		}
		if err := endless(same, 1).Differs("b", endless(same, 1), "a"); err != nil {
			t.Errorf("twice %g: %v", same, err)
		}
		if endless(same, 1).Differs("b", endless(same, 2), "a") == nil && same != math.MaxFloat64 || endless(1, same).Differs("b", endless(same, 1), "a") == nil {
			t.Errorf("beside %g, other values pass for the same", same)
		}
	}
	if err := of(rows[:2]...).Differs("b", want, "a"); err == nil || !strings.Contains(err.Error(), "a has 3 groups, b has 2") {
		t.Errorf("fewer groups: %v", err)
	}
}
