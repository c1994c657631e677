package cpuagg

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/table"
)

// Would catch elements that are lost, doubled or out of order when runs are merged in several
// passes; elements of a set that stay apart in two runs; and a merge that reads pages which are
// gone.
func TestRunsAgainstOneState(t *testing.T) {
	rng := rowtest.Rand(t)
	for name, f := range keepingFolds {
		t.Run(name, func(t *testing.T) {
			for _, rows := range []int{1, 2, 100, 20_000} {
				var batch rowtest.Arena
				whole, part := oneFold(f, 1), oneFold(f, 1)
				store := new(memoryStore)
				w := &Worker{run: &Run{bound: whole.bound, pages: scatter.Options{Store: store}, opt: Options{Memory: rowdata.GoMemory}}}
				g := &Groups{run: w.run, states: part, table: &table.Table{Len: 1}, runs: make(map[stateID]*SortedRuns)}
				runs := 1 + rng.IntN(20)
				for i := range rows {
					row := [][3][]uint64{randomRow(rng, &f, i, &batch)}
					addRows(whole, row, []uint32{0})
					addRows(part, row, []uint32{0})
					if rng.IntN(rows) < runs || i == rows-1 {
						if err := g.spill(w, stateID{}); err != nil {
							t.Fatal(err)
						}
					}
				}
				r := g.Runs(0, 0)
				if err := r.reduce(context.Background(), w, 2+rng.IntN(5)); err != nil {
					t.Fatal(err)
				}
				o := orderOf(&f)
				elements := f.Elements(whole.group(0))
				o.sort(elements)
				want := elementTexts(&f, elements)
				runtime.KeepAlive(whole)
				for range 2 { // runs are read more than once
					var got []string
					for e, err := range r.Elements(context.Background()) {
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, elementText(&f, e))
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%d rows: %d elements, want %d", rows, len(got), len(want))
					}
				}
				if f.Kind == rowdata.FoldCollect && r.Len() != int64(len(want)) || r.Len() < int64(len(want)) {
					t.Errorf("%d rows: runs of %d elements hold %d", rows, r.Len(), len(want))
				}
			}
		})
	}
}

// Would catch a merge that hides a fault of the store, or that goes on after the context's end.
func TestRunsFail(t *testing.T) {
	f := keepingFolds["set of strings"]
	cause := errors.New("enough")
	for failAt := 1; ; failAt++ {
		rng := rowtest.Rand(t)
		var batch rowtest.Arena
		part := oneFold(f, 1)
		store := &memoryStore{failAt: failAt}
		w := &Worker{run: &Run{bound: part.bound, pages: scatter.Options{Store: store}, opt: Options{Memory: rowdata.GoMemory}}}
		g := &Groups{run: w.run, states: part, table: &table.Table{Len: 1}, runs: make(map[stateID]*SortedRuns)}
		err := func() error {
			for i := range 400 {
				addRows(part, [][3][]uint64{randomRow(rng, &f, i, &batch)}, []uint32{0})
				if i%50 == 49 {
					if err := g.spill(w, stateID{}); err != nil {
						return err
					}
				}
			}
			if err := g.Runs(0, 0).reduce(context.Background(), w, 3); err != nil {
				return err
			}
			for _, err := range g.Runs(0, 0).Elements(context.Background()) {
				if err != nil {
					return err
				}
			}
			return nil
		}()
		if failed := store.calls >= failAt; failed != errors.Is(err, errInjected) {
			t.Fatalf("call %d: %v", failAt, err)
		}
		if err == nil {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(cause)
			for _, err := range g.Runs(0, 0).Elements(ctx) {
				if !errors.Is(err, cause) {
					t.Errorf("cancelled: %v", err)
				}
			}
			return
		}
	}
}

// Would catch a large state that is not cut, or whose parts do not merge to it; and pages that
// refer to more than a task should hold at once.
func TestScatterCutsLargeStates(t *testing.T) {
	rng := rowtest.Rand(t)
	rows := 60_000
	if testing.Short() {
		rows = 40_000 // three pages of the smallest elements
	}
	for name, f := range keepingFolds {
		t.Run(name, func(t *testing.T) {
			b := &rowdata.Bound{Folds: []rowdata.Fold{{Kind: rowdata.FoldMin, Words: 1}, f}}
			st := newStates(rowdata.GoMemory, b)
			st.grow(1)
			st.of(0, 0)[0] = 7
			for i := range rows {
				var batch rowtest.Arena
				row := randomRow(rng, &f, i, &batch)
				if f.Long || f.ElementWords > 1 { // more values than randomRow has
					row[0] = slices.Clone(row[0])
				}
				if !f.Long {
					row[0][0] ^= uint64(i)
				} else {
					v := batch.Value(string(rowdata.AsBytes2(row[0]).Bytes()) + string(rune('a'+i%26)) + string(rune(i)))
					row[0] = v[:]
				}
				st.accumulateFold(&b.Folds[1], st.words[1], []uint32{0}, row)
			}
			o := orderOf(&b.Folds[1])
			tb := &table.Table{Layout: &b.Keys, Len: 1}
			unbounded := func() int64 { return math.MaxInt64 }
			pages := scatter.Options{Memory: rowdata.GoMemory, Store: new(memoryStore), WorkerBytes: unbounded}
			p := pages.NewPass(2)
			layout := b.StateLayout()
			w := scatter.NewWriter(p, States, &layout)
			want := b.Folds[1]
			merged := newStates(rowdata.GoMemory, b)
			merged.grow(1)
			merged.merge([]uint32{0}, st.slice(0, 1))
			if err := scatterStates(w, tb, st); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			again := newStates(rowdata.GoMemory, b)
			again.grow(1)
			count := 0
			for _, list := range p.Partitions.(*memoryPass).pages[States] {
				for _, page := range list {
					count++
					if bytes := page.Bytes(); bytes > 4*stateBytesMax {
						t.Errorf("a page of %d B", bytes)
					}
					for i := range page.Rows {
						row := page.Words[i*layout.Stride:]
						again.merge([]uint32{0}, [][]uint64{row[layout.Parts[0]:][:1], row[layout.Parts[1]:][:f.Words]})
					}
				}
			}
			if count < 2 {
				t.Errorf("%d pages: the test is too small", count)
			}
			if got := again.of(0, 0)[0]; got != 7 {
				t.Errorf("the other state is %d, want 7", got)
			}
			sorted := func(s *states) []string {
				elements := want.Elements(s.of(1, 0))
				o.sort(elements)
				texts := elementTexts(&want, elements)
				runtime.KeepAlive(s)
				return texts
			}
			if !slices.Equal(sorted(again), sorted(merged)) {
				t.Error("the parts do not merge to the state")
			}
		})
	}
}
