package rowdata

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// Would catch positions that are left where they were, words that are no positions and are moved,
// and states without rows, whose words mean nothing, that are touched.
func TestPositionShift(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "v", Type: arrow.PrimitiveTypes.Int64},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 38}},
	}, nil)
	for _, c := range []struct {
		call      query.Aggregate
		word      int // of the position in the state, or in an element
		inElement bool
	}{
		{query.Aggregate{Func: query.First, Args: []string{"v"}}, 1, false},
		{query.Aggregate{Func: query.Last, Args: []string{"s"}}, 1, false},
		{query.Aggregate{Func: query.ArgMin, Args: []string{"v", "v"}}, 2, false},
		{query.Aggregate{Func: query.ArgMax, Args: []string{"v", "d"}}, 3, false},
		{query.Aggregate{Func: query.ArgMin, Args: []string{"d", "s"}}, 3, false},
		{query.Aggregate{Func: query.Mode, Args: []string{"v"}}, 2, true},
		{query.Aggregate{Func: query.Mode, Args: []string{"s"}}, 3, true},
		{query.Aggregate{Func: query.List, Args: []string{"v"}}, 1, true},
		{query.Aggregate{Func: query.StringAgg, Args: []string{"s"}}, 2, true},
	} {
		b, err := BindCanonical(query.Query{Keys: []query.Key{{Column: "v"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}, c.call}}, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		layout := b.StateLayout()
		out := b.Outputs[1].Fold
		fold, at := &b.Folds[out], layout.Parts[out]
		page := NewPage(GoMemory, 2*layout.Stride)
		page.Rows = 2
		clear(page.Words) // row 0 has seen no row
		state := page.Words[layout.Stride+at:][:fold.Words]
		want := slices.Clone(page.Words)
		var elements []uint64
		if c.inElement {
			elements = page.Heap.Alloc(3 * fold.ElementWords)
			clear(elements)
			for e := range 3 {
				elements[e*fold.ElementWords+c.word] = uint64(10 * e)
			}
			state[0], state[1] = 3, Address(elements)
			copy(want, page.Words)
		} else {
			state[0], state[c.word] = 1, 7
			copy(want, page.Words)
			want[layout.Stride+at+c.word] = 107
		}
		NewPositionShift(b).Apply(page, 100)
		if !slices.Equal(page.Words, want) {
			t.Errorf("%s: states %d, want %d", c.call, page.Words, want)
		}
		for e := 0; e < len(elements); e++ {
			word := uint64(0)
			if e%fold.ElementWords == c.word {
				word = uint64(10*(e/fold.ElementWords)) + 100
			}
			if elements[e] != word {
				t.Errorf("%s: word %d of the elements is %d, want %d", c.call, e, elements[e], word)
			}
		}
	}
	b, err := BindCanonical(query.Query{Keys: []query.Key{{Column: "v"}}, Aggregates: []query.Aggregate{{Func: query.Min, Args: []string{"s"}}, {Func: query.MinN, Args: []string{"v"}, Length: 2}}}, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := NewPositionShift(b); len(s.words)+len(s.lists) > 0 {
		t.Error("states without positions are shifted")
	}
}
