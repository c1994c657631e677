package gather

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// randomLists returns lists of strings, some empty, some NULL, with NULLs among them: a slice of a longer array.
func randomLists(rng *rand.Rand, rows int) arrow.Array {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	defer b.Release()
	values := b.ValueBuilder().(*array.StringBuilder)
	for range rows + 2 {
		if rng.IntN(5) == 0 {
			b.AppendNull()
			continue
		}
		b.Append(true)
		for range rng.IntN(4) {
			if rng.IntN(4) == 0 {
				values.AppendNull()
			} else {
				values.Append(fmt.Sprint(rng.IntN(1000)))
			}
		}
	}
	all := b.NewArray()
	defer all.Release()
	return array.NewSlice(all, 1, int64(rows)+1)
}

// Lists that are gathered by their elements are the lists that slices make. Would catch an offset of an array that
// is left out, and a NULL that becomes an empty list.
func TestGatherLists(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := gathering{mem: mem}
		for range 1 + rng.IntN(3) {
			g.from = append(g.from, randomLists(rng, 1+rng.IntN(20)))
		}
		for range rng.IntN(40) {
			batch := rng.IntN(len(g.from))
			g.at = append(g.at, Row{uint32(batch), uint32(rng.IntN(g.from[batch].Len()))})
		}
		elements, few := g.fewElements()
		if !few {
			t.Fatalf("seed %d: %d elements of %d lists are not few", seed, elements, len(g.at))
		}
		got, err := g.lists(elements)
		if err != nil {
			t.Fatal(err)
		}
		want, err := g.slices()
		if err != nil {
			t.Fatal(err)
		}
		if !array.Equal(got, want) || got.NullN() != want.NullN() {
			t.Errorf("seed %d: got  %v\nwant %v", seed, got, want)
		}
		got.Release()
		want.Release()
	}
}
