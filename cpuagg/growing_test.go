package cpuagg

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/partition"
)

// Would catch a block that is one element short at a size where vectors or indexes grow, or larger
// than what the count says.
func TestVectorBlock(t *testing.T) {
	for _, w := range []int{1, 2, 3, 4} {
		if got := vectorBlock(0, w); got != 0 {
			t.Errorf("an empty vector has %d words", got)
		}
		for count := uint64(1); count < 5000; count++ {
			got := vectorBlock(count, w)
			if got < int(count)*w || got < vectorElementsMin*w || got > max(2*int(count)*w, 2*vectorElementsMin*w) {
				t.Fatalf("%d elements of %d words: a block of %d", count, w, got)
			}
			if got < vectorBlock(count-1, w) {
				t.Fatalf("%d elements of %d words: the block shrinks to %d", count, w, got)
			}
		}
	}
	for count := uint64(setScanMax + 1); count < 5000; count++ {
		if got := indexSlots(count); uint64(got) < 2*count || uint64(got) > 4*count {
			t.Fatalf("%d elements: an index of %d slots", count, got)
		}
	}
}

// Would catch elements that get lost or doubled while a set passes from scan to index and the
// index grows, for words, pairs and strings.
func TestSetAcrossIndexGrowth(t *testing.T) {
	rng := rowtest.Rand(t)
	var batch rowtest.Arena
	for _, c := range []struct {
		name string
		fold rowdata.Fold
		key  func(i int) []uint64
	}{
		{"word", rowdata.Fold{}, func(i int) []uint64 { return []uint64{uint64(i)} }},
		{"pair", rowdata.Fold{Wide: true}, func(i int) []uint64 { return []uint64{uint64(i % 7), uint64(i / 7)} }},
		{"string", rowdata.Fold{Long: true}, func(i int) []uint64 {
			v := batch.Value(fmt.Sprintf("%d is the number of this key", i)[:1+i%20])
			return v[:]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.fold
			f.Kind, f.Words, f.ElementWords = rowdata.FoldDistinct, rowdata.SetWords, f.OrderWords()
			s := oneFold(f, 2)
			text := func(key []uint64) string {
				if f.Long {
					return string(rowdata.AsBytes2(key).Bytes())
				}
				return fmt.Sprint(key)
			}
			model := map[string]bool{}
			for i := range 3000 {
				for _, k := range []int{i, rng.IntN(i + 1), i} {
					key := c.key(k)
					model[text(key)] = true
					addRows(s, [][3][]uint64{{key}}, []uint32{1})
				}
				if got := s.group(1)[0]; got != uint64(len(model)) {
					t.Fatalf("after key %d: %d elements, want %d", i, got, len(model))
				}
			}
			for e := f.Elements(s.group(1)); len(e) > 0; e = e[f.ElementWords:] {
				if !model[text(e[:f.ElementWords])] {
					t.Fatalf("an element %q was never added", text(e))
				}
			}
			if s.group(0)[0] != 0 {
				t.Error("the other group has elements")
			}
		})
	}
	batch.Poison()
}

// Would catch an index that finds keys by their hash's upper bits alone, or that cannot tell keys
// of one slot apart: hashes that differ in the lowest of the upper bits only.
func TestSetOfCollidingKeys(t *testing.T) {
	f := rowdata.Fold{Kind: rowdata.FoldDistinct, Words: rowdata.SetWords, ElementWords: 1}
	s := oneFold(f, 1)
	const n = 300
	for range 2 {
		for i := range uint64(n) {
			hash := 5 | i%3<<indexBits | i/3<<16 // slots alike up to 2^16, upper bits nearly so
			addRows(s, [][3][]uint64{{{partition.Unmix64(hash)}}}, []uint32{0})
		}
	}
	if s.group(0)[0] != n {
		t.Errorf("%d elements, want %d", s.group(0)[0], n)
	}
}

// Would catch a histogram that counts a value twice in one place and not in another, or that keeps
// a later position: mode breaks ties by the first.
func TestHistogramTies(t *testing.T) {
	rng := rowtest.Rand(t)
	f := rowdata.Fold{Kind: rowdata.FoldHistogram, Words: rowdata.SetWords, ElementWords: 1 + rowdata.HistogramWords}
	type count struct{ rows, first uint64 }
	want := map[uint64]count{}
	a, b := oneFold(f, 1), oneFold(f, 1)
	for _, position := range rng.Perm(4000) {
		v := uint64(position % 100) // all values come equally often
		into := a
		if rng.IntN(2) == 0 {
			into = b
		}
		addRows(into, [][3][]uint64{{{v}, {uint64(position)}}}, []uint32{0})
		want[v] = count{40, v}
	}
	a.merge([]uint32{0}, b.words)
	got := map[uint64]count{}
	for e := f.Elements(a.group(0)); len(e) > 0; e = e[f.ElementWords:] {
		got[e[0]] = count{e[1], e[2]}
	}
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for v, c := range want {
		if got[v] != c {
			t.Errorf("value %d: %+v, want %+v", v, got[v], c)
		}
	}
}

// Would catch a heap that drops a value which belongs to the first n, at every n around the number
// of values and in every order that they may come in.
func TestTopAgainstSort(t *testing.T) {
	rng := rowtest.Rand(t)
	orders := map[string]func(n int) []uint64{
		"random":     func(n int) []uint64 { return rowtest.Words(rng, n, 1<<40) },
		"few values": func(n int) []uint64 { return rowtest.Words(rng, n, 5) },
		"rising": func(n int) []uint64 {
			return sorted(rowtest.Words(rng, n, 1<<40), false)
		},
		"falling": func(n int) []uint64 { return sorted(rowtest.Words(rng, n, 1<<40), true) },
	}
	for name, make := range orders {
		for _, limit := range []int{1, 2, 3, 99, 100, 101, 1000} {
			for _, descending := range []bool{false, true} {
				values := make(100)
				f := rowdata.Fold{Kind: rowdata.FoldTop, Words: rowdata.VectorWords, ElementWords: 1, Limit: limit, Descending: descending}
				s := oneFold(f, 1)
				for _, v := range values {
					addRows(s, [][3][]uint64{{{v}}}, []uint32{0})
				}
				got := sorted(f.Elements(s.group(0)), descending)
				want := sorted(values, descending)[:min(limit, 100)]
				if !slices.Equal(got, want) {
					t.Errorf("%s, first %d, descending %v: %v, want %v", name, limit, descending, got, want)
				}
			}
		}
	}
}

func sorted(words []uint64, descending bool) []uint64 {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b uint64) int {
		if descending {
			a, b = b, a
		}
		return cmp.Compare(a, b)
	})
	return words
}

// Would catch a merge of sketches that loses hashes: lists with lists, lists with registers, either
// way round, at sizes around where a list turns into registers.
func TestSketchMerges(t *testing.T) {
	rng := rowtest.Rand(t)
	f := rowdata.Fold{Kind: rowdata.FoldSketch, Words: rowdata.SetWords, ElementWords: 1}
	sizes := []int{0, 1, 8, 9, 500, sketchHashesMax - 2, sketchHashesMax + 1, 5000}
	for _, n := range sizes {
		for _, m := range sizes {
			hashes := rowtest.Words(rng, n+m, 1<<63)
			for i := n; i < n+m/2 && n > 0; i++ {
				hashes[i] = hashes[rng.IntN(n)] // half of the second are in the first
			}
			a, b := sketchOf(f, hashes[:n]), sketchOf(f, hashes[n:])
			a.merge([]uint32{0}, b.words)
			poisonHeap(&b.heap)
			distinct := slices.Compact(sorted(hashes, false))
			checkSketch(t, fmt.Sprintf("%d + %d", n, m), &f, a.group(0), distinct)
			runtime.KeepAlive(a)
		}
	}
}

func sketchOf(f rowdata.Fold, hashes []uint64) *states {
	s := oneFold(f, 1)
	for _, h := range hashes {
		addRows(s, [][3][]uint64{{{h}}}, []uint32{0})
	}
	return s
}

func checkSketch(t *testing.T, name string, f *rowdata.Fold, state, distinct []uint64) {
	t.Helper()
	if len(distinct) < sketchHashesMax {
		if state[0] == rowdata.SketchDense {
			t.Fatalf("%s: %d distinct hashes are registers", name, len(distinct))
		}
		if got := sorted(f.Elements(state), false); !slices.Equal(got, distinct) {
			t.Fatalf("%s: %d hashes, want %d", name, len(got), len(distinct))
		}
		return
	}
	if state[0] != rowdata.SketchDense {
		t.Fatalf("%s: %d distinct hashes are still a list of %d", name, len(distinct), state[0])
	}
	want := make([]uint8, partition.SketchRegisters)
	for _, h := range distinct {
		partition.AddHash(want, h)
	}
	if !slices.Equal(rowdata.SketchRegisters(state), want) {
		t.Fatalf("%s: registers differ from those of the hashes", name)
	}
}
