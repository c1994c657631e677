package cpuagg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// poisonHeap overwrites a heap that nothing may refer to any more.
func poisonHeap(h *rowdata.Heap) {
	field := reflect.ValueOf(h).Elem().FieldByName("chunks")
	for _, chunk := range *(*[][]uint64)(unsafe.Pointer(field.UnsafeAddr())) {
		for i := range chunk {
			chunk[i] = 0xDBDBDBDBDBDBDBDB
		}
	}
	h.Reset()
}

// foldCase is a fold with a way to make rows for it.
type foldCase struct {
	name string
	fold rowdata.Fold
	row  func(rng *rand.Rand, position uint64, a *rowtest.Arena) [3][]uint64
}

// A value generator returns the words of one value.
type generator func(rng *rand.Rand, a *rowtest.Arena) []uint64

func anyWord(rng *rand.Rand, _ *rowtest.Arena) []uint64 { return []uint64{rng.Uint64()} }
func fewWords(rng *rand.Rand, _ *rowtest.Arena) []uint64 {
	return []uint64{uint64(rng.IntN(40)) * 0x9E3779B97F4A7C15}
}

func fewPairs(rng *rand.Rand, _ *rowtest.Arena) []uint64 {
	return []uint64{uint64(rng.IntN(6)) << 62, uint64(rng.IntN(6))}
}

func edgeInts(rng *rand.Rand, a *rowtest.Arena) []uint64 {
	edges := []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 63, 1<<63 + 1}
	if i := rng.IntN(2 * len(edges)); i < len(edges) {
		return []uint64{edges[i]}
	}
	return anyWord(rng, a)
}

func edgePairs(rng *rand.Rand, a *rowtest.Arena) []uint64 {
	return append(edgeInts(rng, a), edgeInts(rng, a)...)
}

// someStrings mixes strings in the words with strings outside them, which begin alike.
func someStrings(rng *rand.Rand, a *rowtest.Arena) []uint64 {
	v := a.Value(strings.Repeat("abc", rng.IntN(12)) + string(rune('a'+rng.IntN(3))))
	return v[:]
}

func doubles(rng *rand.Rand, _ *rowtest.Arena) []uint64 {
	return []uint64{math.Float64bits(1000 + rng.NormFloat64())}
}

// inputs makes the rows of a fold of generated values; pos stands for the row's position.
func inputs(gens ...generator) func(*rand.Rand, uint64, *rowtest.Arena) [3][]uint64 {
	return func(rng *rand.Rand, position uint64, a *rowtest.Arena) (in [3][]uint64) {
		for i, gen := range gens {
			if gen == nil {
				in[i] = []uint64{position}
			} else {
				in[i] = gen(rng, a)
			}
		}
		return in
	}
}

var pos generator // the row's position

// foldCases lists every kind of fold in every shape that binding gives it.
func foldCases() []foldCase {
	cases := []foldCase{
		{"count", rowdata.Fold{Kind: rowdata.FoldCount, Words: 1}, inputs()},
		{"sum int", rowdata.Fold{Kind: rowdata.FoldSumInt, Words: 2}, inputs(edgeInts)},
		{"sum uint", rowdata.Fold{Kind: rowdata.FoldSumUint, Words: 2}, inputs(edgeInts)},
		{"sum int128", rowdata.Fold{Kind: rowdata.FoldSumInt128, Words: 3}, inputs(edgePairs)},
		{"sum float", rowdata.Fold{Kind: rowdata.FoldSumFloat, Words: 1}, inputs(doubles)},
		{"min", rowdata.Fold{Kind: rowdata.FoldMin, Words: 1}, inputs(anyWord)},
		{"max", rowdata.Fold{Kind: rowdata.FoldMax, Words: 1}, inputs(anyWord)},
		{"bit and", rowdata.Fold{Kind: rowdata.FoldBitAnd, Words: 1}, inputs(anyWord)},
		{"bit or", rowdata.Fold{Kind: rowdata.FoldBitOr, Words: 1}, inputs(fewWords)},
		{"bit xor", rowdata.Fold{Kind: rowdata.FoldBitXor, Words: 1}, inputs(anyWord)},
		{"moments 2", rowdata.Fold{Kind: rowdata.FoldMoments2, Words: 4}, inputs(doubles)},
		{"moments 4", rowdata.Fold{Kind: rowdata.FoldMoments4, Words: 6}, inputs(doubles)},
		{"co-moments", rowdata.Fold{Kind: rowdata.FoldComoments, Words: 8}, inputs(doubles, doubles)},
		{"sketch", rowdata.Fold{Kind: rowdata.FoldSketch, Words: rowdata.SetWords, ElementWords: 1}, inputs(anyWord)},
	}
	orders := []struct {
		name       string
		long, wide bool
		gen        generator
	}{{"word", false, false, fewWords}, {"string", true, false, someStrings}, {"pair", false, true, fewPairs}}
	for _, o := range orders {
		f := rowdata.Fold{Long: o.long, Wide: o.wide}
		w := f.OrderWords()
		add := func(name string, f rowdata.Fold, gens ...generator) {
			cases = append(cases, foldCase{name + " of " + o.name, f, inputs(gens...)})
		}
		set, histogram, collect, list := f, f, f, f
		set.Kind, set.Words, set.ElementWords = rowdata.FoldDistinct, rowdata.SetWords, w
		add("set", set, o.gen)
		histogram.Kind, histogram.Words, histogram.ElementWords = rowdata.FoldHistogram, rowdata.SetWords, w+rowdata.HistogramWords
		add("histogram", histogram, o.gen, pos)
		collect.Kind, collect.Words, collect.ElementWords = rowdata.FoldCollect, rowdata.VectorWords, w
		add("collect", collect, o.gen)
		list.Kind, list.Words, list.ElementWords = rowdata.FoldCollect, rowdata.VectorWords, w+1
		add("list", list, o.gen, pos)
		for _, descending := range []bool{false, true} {
			for _, limit := range []int{1, 5, 100} {
				top := f
				top.Kind, top.Words, top.ElementWords, top.Limit, top.Descending = rowdata.FoldTop, rowdata.VectorWords, w, limit, descending
				add(fmt.Sprintf("top %d, descending %v,", limit, descending), top, o.gen)
			}
			best := f
			best.Kind, best.Descending, best.Words = rowdata.FoldBest, descending, 1+w
			add(fmt.Sprintf("best, descending %v,", descending), best, o.gen)
			best.Tie = true
			best.Words++
			for payload, gen := range []generator{1: edgeInts, 2: edgePairs} {
				if gen != nil {
					best.PayloadWords, best.Words = payload, 2+w+payload
					add(fmt.Sprintf("best, descending %v, payload %d,", descending, payload), best, o.gen, pos, gen)
				}
			}
			best.PayloadLong = true
			add(fmt.Sprintf("best, descending %v, payload string,", descending), best, o.gen, pos, someStrings)
		}
	}
	first := rowdata.Fold{Kind: rowdata.FoldBest, PayloadWords: 2, PayloadLong: true, Words: 4}
	last := first
	last.Descending = true
	return append(cases, foldCase{"first string", first, inputs(pos, someStrings)}, foldCase{"last string", last, inputs(pos, someStrings)})
}

// oneFold returns states of a single fold for n groups.
func oneFold(f rowdata.Fold, n int) *states {
	s := newStates(rowdata.GoMemory, &rowdata.Bound{Folds: []rowdata.Fold{f}})
	s.grow(n)
	return s
}

// group returns the state of a group of the only fold.
func (s *states) group(g int) []uint64 {
	w := s.bound.Folds[0].Words
	return s.words[0][g*w : (g+1)*w]
}

// addRows accumulates rows, a tile at a time, one input after the other.
func addRows(s *states, rows [][3][]uint64, gids []uint32) {
	for len(rows) > 0 {
		n := min(len(rows), rowdata.TileRows)
		var in [3][]uint64
		for _, row := range rows[:n] {
			for i := range in {
				in[i] = append(in[i], row[i]...)
			}
		}
		s.accumulateFold(&s.bound.Folds[0], s.words[0], gids[:n], in)
		rows, gids = rows[n:], gids[n:]
	}
}

// describe writes a state such that two states which mean the same read the same.
func describe(f *rowdata.Fold, state []uint64) string {
	value := func(words []uint64, long bool) string {
		if long {
			return fmt.Sprintf("%q", rowdata.AsBytes2(words).Bytes())
		}
		return fmt.Sprintf("%x", words)
	}
	switch {
	case f.Kind == rowdata.FoldSketch && state[0] == rowdata.SketchDense:
		return fmt.Sprintf("dense %x", rowdata.SketchRegisters(state))
	case f.Kind == rowdata.FoldBest && state[0] != 0:
		parts := bestParts(f, state)
		return fmt.Sprint(value(parts.order, f.Long), parts.tie, value(parts.payload, f.PayloadLong))
	case f.Grows():
		var list []string
		kw := f.OrderWords()
		for e := f.Elements(state); len(e) > 0; e = e[f.ElementWords:] {
			list = append(list, value(e[:kw], f.Long)+fmt.Sprintf("%x", e[kw:f.ElementWords]))
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	return fmt.Sprintf("%x", state)
}

// sameState compares two states, floating-point ones by what results are made of.
func sameState(f *rowdata.Fold, a, b []uint64) error {
	var da, db []float64
	switch f.Kind {
	case rowdata.FoldSumFloat:
		da, db = rowdata.View[float64](a), rowdata.View[float64](b)
	case rowdata.FoldMoments2, rowdata.FoldMoments4, rowdata.FoldComoments:
		if a[0] != b[0] {
			return fmt.Errorf("counts %d and %d", a[0], b[0])
		}
		da, db = centralOf(f.Kind, a), centralOf(f.Kind, b)
	default:
		if x, y := describe(f, a), describe(f, b); x != y {
			return fmt.Errorf("%.300s\nand\n%.300s", x, y)
		}
		return nil
	}
	for i := range da {
		if diff := math.Abs(da[i] - db[i]); diff > 1e-9*max(math.Abs(da[i]), 1) {
			return fmt.Errorf("%v and %v", da, db)
		}
	}
	return nil
}

// centralOf returns what does not depend on the K that a state has chosen: means and variances.
func centralOf(kind rowdata.FoldKind, s []uint64) []float64 {
	n := float64(s[0])
	if n == 0 {
		return nil
	}
	if kind == rowdata.FoldComoments {
		co := rowdata.View[comoments](s)[0]
		mx, my := co.x/n, co.y/n
		return []float64{co.kx + mx, co.ky + my, co.xx/n - mx*mx, co.yy/n - my*my, co.xy/n - mx*my}
	}
	two := rowdata.View[moments2](s)[0]
	mean := two.d1 / n
	out := []float64{two.k + mean, two.d2/n - mean*mean}
	if kind == rowdata.FoldMoments4 {
		four := rowdata.View[moments4](s)[0]
		m2, m3, m4 := four.d2/n, four.d3/n, four.d4/n
		out = append(out, m3-3*mean*m2+2*mean*mean*mean, m4-4*mean*m3+6*mean*mean*m2-3*mean*mean*mean*mean)
	}
	return out
}

// Would catch a merge that is not the accumulation of both parts' rows (a lost carry, a tie broken
// the other way, a set that counts an element twice), states that keep memory of the batch or of
// the heap they were merged from, and a keep that copies too little.
func TestMergeIsAccumulate(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, c := range foldCases() {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 9, 100, rowdata.TileRows + 500} {
				checkMerge(t, rng, &c, n)
			}
		})
	}
}

func checkMerge(t *testing.T, rng *rand.Rand, c *foldCase, n int) {
	const groups = 3
	var batch rowtest.Arena
	rows, gids := make([][3][]uint64, n), make([]uint32, n)
	for i := range rows {
		rows[i] = c.row(rng, uint64(i), &batch)
		gids[i] = uint32(rng.IntN(groups-1) + rng.IntN(2)) // the outer groups get fewer
	}
	whole := oneFold(c.fold, groups)
	addRows(whole, rows, gids)

	var parts []*states
	for from := 0; from < n || len(parts) == 0; {
		to := min(n, from+rng.IntN(n/2+2))
		part := oneFold(c.fold, groups)
		addRows(part, rows[from:to], gids[from:to])
		parts, from = append(parts, part), to
	}
	batch.Poison()
	for len(parts) > 1 {
		a, b := rng.IntN(len(parts)), rng.IntN(len(parts)-1)
		if b >= a {
			b++
		}
		if rng.IntN(2) == 0 {
			rehome(parts[b])
		}
		parts[a].merge([]uint32{0, 1, 2}, parts[b].words)
		poisonHeap(&parts[b].heap)
		parts = slices.Delete(parts, b, b+1)
	}
	for g := range groups {
		if err := sameState(&c.fold, whole.group(g), parts[0].group(g)); err != nil {
			t.Fatalf("%d rows, group %d: accumulated and merged differ: %v", n, g, err)
		}
	}
	runtime.KeepAlive(whole)
	runtime.KeepAlive(parts)
}

// rehome moves states to another heap, as a scatter to a page does, and poisons the old one.
func rehome(s *states) {
	f := &s.bound.Folds[0]
	var heap rowdata.Heap
	for g := range s.groups {
		if err := f.Relocate(s.group(g), &heap); err != nil {
			panic(err)
		}
	}
	poisonHeap(&s.heap)
	s.heap = heap
}

// Would catch folds of which refers says that their states stand alone, though they do not: their
// pages would be written without their heaps.
func TestRefers(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, c := range foldCases() {
		var batch rowtest.Arena
		s := oneFold(c.fold, 1)
		for i := range 50 {
			addRows(s, [][3][]uint64{c.row(rng, uint64(i), &batch)}, []uint32{0})
		}
		if s.heap.Bytes() > 0 && !c.fold.Refers() {
			t.Errorf("%s: %d B in the heap, refers is false", c.name, s.heap.Bytes())
		}
		batch.Poison()
	}
}

// Would catch states of new groups that hold what a group of an emptied table held before.
func TestGrowAfterReset(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, c := range foldCases() {
		fresh := oneFold(c.fold, 5)
		var batch rowtest.Arena
		s := oneFold(c.fold, 5)
		for i := range 50 {
			addRows(s, [][3][]uint64{c.row(rng, uint64(i), &batch)}, []uint32{uint32(rng.IntN(5))})
		}
		s.reset()
		s.grow(2)
		s.grow(5)
		if !slices.Equal(s.words[0][:5*c.fold.Words], fresh.words[0][:5*c.fold.Words]) {
			t.Errorf("%s: an empty state is %x, want %x", c.name, s.words[0], fresh.words[0])
		}
		batch.Poison()
	}
}

// bigWords returns the value of two's complement words, the lowest first.
func bigWords(words []uint64) *big.Int {
	raw := make([]byte, 8*len(words))
	for i, w := range words {
		binary.BigEndian.PutUint64(raw[len(raw)-8*(i+1):], w)
	}
	v := new(big.Int).SetBytes(raw)
	if int64(words[len(words)-1]) < 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(64*len(words))))
	}
	return v
}

// Would catch a lost carry or a sign that is not extended, at the extremes of every width.
func TestSumsAgainstBigInt(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, kind := range []rowdata.FoldKind{rowdata.FoldSumInt, rowdata.FoldSumUint, rowdata.FoldSumInt128} {
		t.Run(kind.String(), func(t *testing.T) {
			words, value := 2, edgeInts
			if kind == rowdata.FoldSumInt128 {
				words, value = 3, edgePairs
			}
			s := oneFold(rowdata.Fold{Kind: kind, Words: words}, 2)
			want := new(big.Int)
			for range 5000 {
				v := value(rng, nil)
				addRows(s, [][3][]uint64{{v}}, []uint32{1})
				if kind == rowdata.FoldSumUint {
					v = append(v, 0)
				}
				want.Add(want, bigWords(v))
				if got := bigWords(s.group(1)); got.Cmp(want) != 0 {
					t.Fatalf("after %x: %s, want %s", v, got, want)
				}
			}
			if !slices.Equal(s.group(0), make([]uint64, words)) {
				t.Error("a group without rows has a sum")
			}
		})
	}
}

// Would catch sums of equal extremes that pass their width: 2^20 rows of the least and of the
// greatest value.
func TestSumOfExtremes(t *testing.T) {
	for _, c := range []struct {
		kind  rowdata.FoldKind
		words int
		value []uint64
	}{
		{rowdata.FoldSumInt, 2, []uint64{1 << 63}},
		{rowdata.FoldSumInt, 2, []uint64{math.MaxInt64}},
		{rowdata.FoldSumUint, 2, []uint64{math.MaxUint64}},
		{rowdata.FoldSumInt128, 3, []uint64{0, 1 << 63}},
		{rowdata.FoldSumInt128, 3, []uint64{math.MaxUint64, math.MaxInt64}},
	} {
		s := oneFold(rowdata.Fold{Kind: c.kind, Words: c.words}, 1)
		addRows(s, [][3][]uint64{{c.value}}, []uint32{0})
		for range 20 { // doubles
			s.merge([]uint32{0}, [][]uint64{slices.Clone(s.group(0))})
		}
		value := c.value
		if c.kind == rowdata.FoldSumUint {
			value = append(slices.Clone(value), 0)
		}
		if want := new(big.Int).Lsh(bigWords(value), 20); bigWords(s.group(0)).Cmp(want) != 0 {
			t.Errorf("%s: 2^20 times %x: got %s, want %s", c.kind, c.value, bigWords(s.group(0)), want)
		}
	}
}

// Would catch a running best that keeps a later row, a row of another order, or the memory of a
// row that is gone.
func TestBestAgainstScan(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, descending := range []bool{false, true} {
		f := rowdata.Fold{
			Kind: rowdata.FoldBest, Long: true, Tie: true, PayloadWords: 2, PayloadLong: true, Descending: descending,
			Words: 6,
		}
		s := oneFold(f, 1)
		var order, payload []byte
		for i := range 2000 {
			var batch rowtest.Arena
			row := inputs(someStrings, pos, someStrings)(rng, uint64(i), &batch)
			o := bytes.Clone(rowdata.AsBytes2(row[0]).Bytes())
			c := bytes.Compare(o, order)
			if i == 0 || c < 0 && !descending || c > 0 && descending {
				order, payload = o, bytes.Clone(rowdata.AsBytes2(row[2]).Bytes())
			}
			addRows(s, [][3][]uint64{row}, []uint32{0})
			batch.Poison()
			parts := bestParts(&f, s.group(0))
			if got := rowdata.AsBytes2(parts.order).Bytes(); !bytes.Equal(got, order) {
				t.Fatalf("row %d: order %q, want %q", i, got, order)
			}
			if got := rowdata.AsBytes2(parts.payload).Bytes(); !bytes.Equal(got, payload) {
				t.Fatalf("row %d: payload %q, want %q", i, got, payload)
			}
		}
		if s.heap.Bytes() > 64<<10 {
			t.Errorf("one running best takes %d B of the heap", s.heap.Bytes())
		}
	}
}
