package cpuagg

import (
	"context"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
)

// A task whose groups outgrow the worker's share of the memory is split. That does not help where
// few groups hold most of the memory, in states that keep their elements: such elements are sorted
// and written as a run, and the states begin anew.
//
//	state --share full--> sorted run          run, run, ... --end of the task--> few runs --> result

// stateID names a state of a task.
type stateID struct{ fold, group int }

// heavyShare is the part of the share that a state must hold for a run to be worth writing, or less
// where a group has many states.
const heavyShare = 16

// mergeRunsMax bounds the runs that are merged at once, below what the memory allows: comparisons
// grow with them, and reads scatter.
const mergeRunsMax = 512

// relieve makes room when the groups take more than bytesMax; or says that the task is to be split.
func (w *Worker) relieve(task Task, g *Groups) (split bool, err error) {
	bytes := g.bytes()
	if bytes <= g.bytesMax {
		return false, nil
	}
	canSplit := g.table.Len > 1 && task.Pass.Depth < scatter.SplitsMax
	heavy, rest := g.heavy(w.share() / int64(max(heavyShare, 2*len(w.run.bound.Folds))))
	switch {
	case rest > bytes/2 && canSplit:
		return true, nil
	case rest > bytes/2 || w.run.borrow(g, bytes):
		invariants.Sometimes("cpuagg: a task takes more than its share of the memory")
		g.bytesMax = 2 * bytes
		return false, nil
	}
	for _, id := range heavy {
		if err := g.spill(w, id); err != nil {
			return false, err
		}
	}
	g.states.compact()
	g.bytesMax = max(w.share(), 2*g.bytes())
	return false, nil
}

// share returns how much memory the groups of a task may take.
func (w *Worker) share() int64 { return w.run.opt.WorkerBytes() / splitShare }

// borrow reports whether groups may take twice their bytes, beyond the worker's share. One task of
// the run at a time may, while there is memory for the new blocks beside the blocks that they
// replace.
func (r *Run) borrow(g *Groups, bytes int64) bool {
	const growing = 3
	if r.opt.Memory.Left() <= growing*bytes {
		return false
	}
	return r.borrower.CompareAndSwap(nil, g) || r.borrower.Load() == g
}

// heavy returns the states that have at least this many bytes of elements, and how many bytes the
// groups would take without these states.
func (g *Groups) heavy(least int64) (ids []stateID, rest int64) {
	rest = g.bytes() - g.states.heap.Bytes()
	for i := range g.states.bound.Folds {
		f := &g.states.bound.Folds[i]
		if !f.KeepsElements() {
			continue
		}
		for group := range g.table.Len {
			if b := elementBytes(f, g.states.of(i, group)); b >= least {
				ids = append(ids, stateID{i, group})
			} else {
				rest += b
			}
		}
	}
	return ids, rest
}

// elementBytes returns how much memory the elements of a state take.
func elementBytes(f *rowdata.Fold, state []uint64) int64 {
	words := vectorBlock(state[0], f.ElementWords)
	if f.Words == rowdata.SetWords {
		words += indexSlots(state[0])
	}
	if f.Long {
		for e := f.Elements(state); len(e) > 0; e = e[f.ElementWords:] {
			words += longWords(e)
		}
	}
	return int64(8 * words)
}

// longWords returns how many words of a heap the string in the first two words takes.
func longWords(words []uint64) int {
	if v := rowdata.AsBytes2(words[:2]); v.Long() {
		return (v.Len() + 7) / 8
	}
	return 0
}

// spill writes the elements of a state as a run, and empties it.
func (g *Groups) spill(w *Worker, id stateID) error {
	f := &g.states.bound.Folds[id.fold]
	state := g.states.of(id.fold, id.group)
	if state[0] == 0 {
		return nil
	}
	invariants.Sometimes("cpuagg: the elements of a state become a sorted run")
	runs := g.runs[id]
	if runs == nil {
		runs = &SortedRuns{order: orderOf(f)}
		g.runs[id] = runs
	}
	if err := runs.add(w, f.Elements(state)); err != nil {
		return err
	}
	g.states.empty(f, state)
	return nil
}

// of returns the state of a fold and a group.
func (s *states) of(fold, group int) []uint64 {
	w := s.bound.Folds[fold].Words
	return s.words[fold][group*w : (group+1)*w]
}

// empty lets a state that keeps its elements begin anew.
func (s *states) empty(f *rowdata.Fold, state []uint64) {
	s.heap.FreeBlock(rowdata.WordsAt(&state[1], vectorBlock(state[0], f.ElementWords)))
	if slots := indexSlots(state[0]); f.Words == rowdata.SetWords && slots > 0 {
		s.heap.FreeBlock(rowdata.WordsAt(&state[2], slots))
	}
	clear(state)
}

// compact moves the strings and blocks of the states into a new heap, so that the strings of
// elements which have left are given back.
func (s *states) compact() {
	fresh := newStates(s.memory, s.bound)
	fresh.grow(s.groups)
	gids := make([]uint32, 0, rowdata.TileRows)
	for from := 0; from < s.groups; from += rowdata.TileRows {
		to := min(from+rowdata.TileRows, s.groups)
		gids = gids[:0]
		for g := from; g < to; g++ {
			gids = append(gids, uint32(g))
		}
		fresh.merge(gids, s.slice(from, to))
	}
	s.release()
	*s = *fresh
}

// mergeRuns writes the elements that are left in states with runs as a last run, and merges runs
// until each state has few enough to be read at once.
func (g *Groups) mergeRuns(ctx context.Context, w *Worker) error {
	if err := g.spillLists(w); err != nil || len(g.runs) == 0 {
		return err
	}
	for id := range g.runs {
		if err := g.spill(w, id); err != nil {
			return err
		}
	}
	g.states.compact()
	fanIn := int(max(min(w.share()/runReadBytes, mergeRunsMax), 2))
	for _, runs := range g.runs {
		if err := runs.reduce(ctx, w, fanIn); err != nil {
			return err
		}
	}
	return nil
}

// spillLists writes the large states whose results are as large, if the groups are in borrowed
// memory: a result that is made of runs is in memory without its state.
func (g *Groups) spillLists(w *Worker) error {
	if w.run.borrower.Load() != g {
		return nil
	}
	heavy, _ := g.heavy(w.share() / heavyShare)
	for _, id := range heavy {
		f := &g.states.bound.Folds[id.fold]
		if o := orderOf(f); !o.positions && f.Kind != rowdata.FoldTop {
			continue
		}
		if err := g.spill(w, id); err != nil {
			return err
		}
	}
	return nil
}

// Runs returns the elements of a group's state when they are not in the state itself, else nil.
func (g *Groups) Runs(fold, group int) *SortedRuns { return g.runs[stateID{fold, group}] }

// HasRuns reports whether a state of groups from to to has its elements in Runs.
func (g *Groups) HasRuns(from, to int) bool {
	for id := range g.runs {
		if from <= id.group && id.group < to {
			return true
		}
	}
	return false
}

// carriedRuns are, by partition, the runs of groups on their way to the task that will have the groups'
// rows.
type carriedRuns map[int][]carriedRun

// carriedRun is the runs of a state.
type carriedRun struct {
	key  []uint64
	heap rowdata.Heap // of the key
	fold int
	runs *SortedRuns
}

// carry hands the runs over to the partitions that their groups are scattered to.
func (g *Groups) carry(p *scatter.Pass) carriedRuns {
	carried := make(carriedRuns)
	layout := g.table.Layout
	for id, runs := range g.runs {
		invariants.Sometimes("cpuagg: the sorted runs of a group go to the tasks of a split")
		c := carriedRun{key: slices.Clone(g.table.Key(id.group)), fold: id.fold, runs: runs}
		layout.Keep(c.key, &c.heap)
		var hash [1]uint64
		p.Hash(layout, c.key, hash[:])
		partition := p.Radix.Of(hash[0])
		carried[partition] = append(carried[partition], c)
	}
	g.runs = nil
	return carried
}

// takeRuns takes over the runs of groups that a split has carried to the task.
func (w *Worker) takeRuns(task Task, g *Groups) {
	for _, partition := range task.Partitions {
		for _, c := range task.runs[partition] {
			w.findGroups(g, c.key, 1)
			g.runs[stateID{c.fold, int(w.gids[0])}] = c.runs
		}
	}
}
