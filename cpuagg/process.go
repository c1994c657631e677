package cpuagg

import (
	"context"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/table"
)

// Task is what one worker processes at a time: partitions of a pass, or the tables of all workers.
type Task struct {
	scatter.Task             // Rows includes states; of tables, it is their groups
	runs         carriedRuns // of groups that come from a task that was split
	distinct     bool        // most rows are groups of their own, as far as the estimate tells
	heavy        bool        // a range of keys with too many of all rows for one worker: split by hashes
	tables       []*Worker   // whose tables are to be merged; nil for a task of partitions
}

// Groups are finished groups, with their packed keys and states. Their memory, and the strings and
// blocks that keys and states refer to, stay until Release.
type Groups struct {
	Len    int
	Keys   []uint64   // Len * KeyLayout.Words
	States [][]uint64 // by fold: Len * Fold.Words; nil of a fold that only Quantiles has

	// Quantiles are, by output of the query, rowdata.QuantileWords a group, where a device has found the quantile
	// of its fold; nil of other outputs, and of groups of the CPU.
	Quantiles [][]uint64

	run      *Run // nil for GroupsOf
	table    *table.Table
	states   *states
	ranged   bool                    // the partition is a range of keys
	rows     int64                   // and states, merged so far
	bytesMax int64                   // of table and states; beyond, relieve makes room
	runs     map[stateID]*SortedRuns // of states that have outgrown the memory; nil once a split carries them on

	closed invariants.CloseChecker
}

// GroupsOf returns groups that a device has finished. They own no memory: Release does nothing.
func GroupsOf(n int, keys []uint64, states [][]uint64) *Groups {
	return &Groups{Len: n, Keys: keys, States: states}
}

// Release gives back the memory of the groups.
func (g *Groups) Release() {
	if g.run == nil {
		return
	}
	g.closed.Close()
	g.table.Release()
	g.states.release()
	for _, runs := range g.runs {
		runs.discard()
	}
	g.runs = nil
	g.run.borrower.CompareAndSwap(g, nil)
}

// Bytes returns how much memory the groups hold; 0 for GroupsOf.
func (g *Groups) Bytes() int64 {
	if g.run == nil {
		return 0
	}
	return g.bytes()
}

func (g *Groups) bytes() int64 { return g.table.Bytes() + g.states.bytes() }

// taskRowsMax bounds the rows and states of a task of several partitions, so that results stream
// and no worker waits long for the last task. Larger partitions are tasks of their own.
const taskRowsMax = 1 << 17

// mergeGroupsMax and mergeHeapBytes bound the groups that one worker merges alone when nothing was
// scattered.
const (
	mergeGroupsMax = 1 << 16
	mergeHeapBytes = 1 << 20
)

// MustScatter reports, once all workers are closed, whether each must call ScatterRest before
// Tasks: when groups are in the partitions already, or are too many to merge alone.
func (r *Run) MustScatter(workers []*Worker) bool {
	_, _, scattered := r.Scatter()
	return scattered || r.mergeInParallel(workers)
}

// Tasks ends the partition-generating phase and returns the tasks to process, and the number of
// partitions that they were merged from. Tasks are independent of each other.
func (r *Run) Tasks(workers []*Worker) (tasks []Task, partitions int) {
	if _, _, scattered := r.Scatter(); !scattered {
		t := Task{tables: workers}
		for _, w := range workers {
			t.Rows += int64(w.table.Len)
		}
		return []Task{t}, 1
	}
	return r.tasks(r.scatter, nil), r.scatter.Radix.FanOut()
}

// tasks merges the partitions of a pass greedily. runs go on to the tasks, after a split.
func (r *Run) tasks(p *scatter.Pass, runs carriedRuns) (tasks []Task) {
	sizes := p.Partitions.Sizes()
	groups := int64(0) // told of the first pass alone
	if p.Depth == 0 {
		groups = r.estimated
	}
	var rows int64
	for _, size := range sizes {
		rows += size
	}
	for _, t := range p.Tasks(sizes, r.taskRows(rows, groups)) {
		heavy := p.Ranged() && t.Rows > max(heavyRangeRowsMin, rows/heavyRangeShare)
		tasks = append(tasks, Task{Task: t, runs: runs, distinct: groups > rows/2, heavy: heavy})
	}
	return tasks
}

// A range of keys with more than this part of all rows, and this many rows, is split by hashes: one
// worker would go on with it long after the others.
const (
	heavyRangeShare   = 64
	heavyRangeRowsMin = 1 << 20
)

// taskRows returns how many rows and states a task of several partitions may have, where all
// partitions have this many rows and groups: as many as have a table that fits the cache.
func (r *Run) taskRows(rows, groups int64) int64 {
	room := r.opt.WorkerBytes() / splitShare / (2*(r.stateBytes+r.firstBytes) + slotBytes)
	cached := float64(tableGroups(r.bound)) * max(float64(rows)/float64(max(groups, 1)), 1)
	limit := int64(min(taskRowsMax, float64(room), cached))
	if r.grows() {
		limit = min(limit, rows/growingTasks)
	}
	return max(limit, 1)
}

// growingTasks is how many tasks there are at least where states grow with the rows, as lists of
// values for a median do: few states may then hold all values, and two workers would merge them
// while the others wait.
const growingTasks = 64

// mergeInParallel reports whether the workers' tables together are too much to merge alone.
func (r *Run) mergeInParallel(workers []*Worker) bool {
	var groups, heap int64
	for _, w := range workers {
		if !w.canScatter() {
			return false
		}
		groups += int64(w.table.Len)
		heap += w.states.heap.Bytes()
	}
	return len(workers) > 1 && (groups > mergeGroupsMax || heap > mergeHeapBytes && groups > 1)
}

// Process aggregates a task. Workers process tasks of one run at the same time. Where the groups do
// not fit the worker's share of the memory, the task is split: Process then returns the tasks that
// take its place, and no groups. It ends with the context's cause when the context is done.
func (w *Worker) Process(ctx context.Context, task Task) (*Groups, []Task, error) {
	w.closed.CheckOpen()
	if task.tables != nil {
		return w.run.mergeTables(task.tables), nil, nil
	}
	g := w.newGroups(task)
	var split *splitter // which has released g
	done := false
	defer func() { // also after a panic about states that make no sense
		switch {
		case done:
		case split != nil:
			split.release()
		default:
			g.Release()
		}
	}()
	// States come first: they are fewer than the rows that they stand for.
	err := task.EachPage(func(content scatter.Content, page *rowdata.Page) (err error) {
		kept := false
		defer func() {
			if !kept {
				page.Release()
			}
		}()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if split != nil {
			return split.add(content, page, 0)
		}
		g.table.Lent = w.lends(g, content)
		for from := 0; from < page.Rows; from += rowdata.TileRows {
			if err := w.makeRoom(g); err != nil {
				return err
			}
			mustSplit, err := w.mustSplit(task, g)
			if err != nil {
				return err
			}
			if mustSplit {
				if split, err = w.newSplitter(task, g); err != nil {
					return err
				}
				return split.add(content, page, from)
			}
			w.merge(g, content, page, from)
		}
		kept = g.table.Keep(page)
		return nil
	}, States, Rows)
	if err == nil && split == nil {
		err = g.mergeRuns(ctx, w)
	}
	if err != nil {
		return nil, nil, err
	}
	done = true
	if split != nil {
		tasks, err := split.finish()
		return nil, tasks, err
	}
	g.finish()
	if invariants.Enabled {
		w.check(task, g)
	}
	return g, nil, nil
}

// newGroups returns the groups of a task before its first row, with a table for as many as are
// expected, and with the sorted runs that the task brings.
func (w *Worker) newGroups(task Task) *Groups {
	m := w.run.opt.Memory
	g := &Groups{
		run:      w.run,
		table:    table.New(m, &w.run.bound.Keys, task.Pass.TableSeed(), false),
		states:   newStates(m, w.run.bound),
		ranged:   task.Pass.Ranged(),
		bytesMax: w.share(),
		runs:     make(map[stateID]*SortedRuns),
	}
	g.closed.Open("groups of a task")
	expected := min(task.Rows/2, groupsExpected)
	switch {
	case g.ranged:
		expected = 0 // slots are not needed where the keys lie close together
		if first, keys := task.Pass.RangeOf(task.Partitions[0]); !task.heavy && keys < uint64(w.share()/windowShare) {
			g.table.OpenWindow(first, keys)
		}
	case task.distinct:
		expected = task.Rows
	}
	g.table.Reserve(int(min(expected, w.share()/(4*slotBytes))))
	w.takeRuns(task, g)
	return g
}

// lends reports whether the strings of new keys stay in the next page, which the groups then keep:
// where its rows have no other strings, and so far every other row was a new group.
func (w *Worker) lends(g *Groups, content scatter.Content) bool {
	keys := g.table.Layout
	return content == Rows && len(keys.Longs) > 0 && len(w.run.rowLayout.Longs) == len(keys.Longs) &&
		2*int64(g.table.Len) >= g.rows
}

// check panics unless the groups of a task have all its rows (A1), no key twice (W1), and no key of
// another task (A2).
func (w *Worker) check(task Task, g *Groups) {
	invariants.Checkf(g.rows == task.Rows, "A1: a task of %d rows and states has %d merged", task.Rows, g.rows)
	layout := g.table.Layout
	seen := make(map[uint64][]int, g.Len) // groups, by the hash of their key
	for group := range g.Len {
		key := g.table.Key(group)
		var hash [1]uint64
		task.Pass.Hash(layout, key, hash[:])
		p := task.Pass.Radix.Of(hash[0])
		invariants.Checkf(slices.Contains(task.Partitions, p),
			"A2: a key of partition %d in a task of %v", p, task.Partitions)
		twice := slices.ContainsFunc(seen[hash[0]], func(other int) bool { return layout.Equal(key, g.table.Key(other)) })
		invariants.Checkf(!twice, "W1: two of %d groups have the key %x", g.Len, key)
		seen[hash[0]] = append(seen[hash[0]], group)
	}
}

// windowShare is how many bytes of a worker's share of the memory there must be for each key of a
// range, so that the range is a window of the table.
const windowShare = 32

// groupsExpected is how many groups a table has room for at first, in a task that may have as many
// and is not estimated to have more: enough to save most growing, but too few for a few heavy groups
// to spread over a large table.
const groupsExpected = rowdata.TileRows * 4

// slotBytes is how many bytes of slots a group takes at most, at a load factor of a quarter.
const slotBytes = 32

// makeRoom lets pages that wait leave the memory that the table needs to grow.
func (w *Worker) makeRoom(g *Groups) error {
	want := min(2*g.bytes(), w.run.opt.WorkerBytes())
	if left := w.run.opt.Memory.Left(); left < want {
		return w.run.pages.Store.Reclaim(want - left)
	}
	return nil
}

// splitShare is the part of a worker's memory that a table may take before its task is split: a
// table doubles when it grows, and the old table stays until the new table is filled.
const splitShare = 6

// mustSplit reports whether the groups are to be scattered, since they have outgrown the worker's
// share of the memory. It makes room where scattering does not help.
func (w *Worker) mustSplit(task Task, g *Groups) (bool, error) {
	if g.table.Len > table.LenMax || task.heavy || w.run.opt.ForceSplits > task.Pass.Depth && g.table.Len > 1 {
		return true, nil
	}
	return w.relieve(task, g)
}

// merge folds a tile of a page into the groups.
func (w *Worker) merge(g *Groups, content scatter.Content, page *rowdata.Page, from int) {
	n := min(rowdata.TileRows, page.Rows-from)
	if content == States {
		scatter.Unpack(&w.pageStates, &w.run.stateLayout, page, from, n)
		w.findGroups(g, w.pageStates.Keys, n)
		g.states.merge(w.gids[:n], w.pageStates.Args)
	} else {
		scatter.Unpack(&w.pageRows, &w.run.rowLayout, page, from, n)
		w.findGroups(g, w.pageRows.Keys, n)
		w.view.set(&w.pageRows, w.gids[:n])
		g.states.accumulate(w.view)
	}
	g.rows += int64(n)
}

// finish publishes the table's groups.
func (g *Groups) finish() {
	g.states.settle()
	g.Len = g.table.Len
	g.Keys = g.table.Keys(0, g.Len)
	g.States = make([][]uint64, len(g.states.words))
	for i := range g.States {
		g.States[i] = g.states.words[i][:g.Len*g.states.bound.Folds[i].Words]
	}
}

// mergeTables merges the tables of all workers into the first.
func (r *Run) mergeTables(workers []*Worker) *Groups {
	first := workers[0]
	g := &Groups{run: r, table: first.table, states: first.states}
	g.closed.Open("groups of merged tables")
	if first.table.Layout.Words == 0 {
		first.table.Len = 1 // one group, also of no rows
	}
	first.states.grow(first.table.Len)
	var hashes [rowdata.TileRows]uint64
	var gids [rowdata.TileRows]uint32
	for _, w := range workers[1:] {
		if g.table.Dense {
			g.mergeDense(w)
			continue
		}
		for from := 0; from < w.table.Len; from += rowdata.TileRows {
			to := min(from+rowdata.TileRows, w.table.Len)
			g.table.Find(w.table.Keys(from, to), hashes[:to-from], gids[:to-from])
			g.states.grow(g.table.Len)
			g.states.merge(gids[:to-from], w.states.slice(from, to))
		}
	}
	if g.table.Dense {
		first.pack()
	}
	g.finish()
	return g
}

// mergeDense merges the states of a worker with a dense table, which has no states when the worker
// has seen no row.
func (g *Groups) mergeDense(w *Worker) {
	for code := range w.table.Len {
		if w.table.Seen(code) {
			g.table.See([]uint32{uint32(code)})
			g.states.merge([]uint32{uint32(code)}, w.states.slice(code, code+1))
		}
	}
}

// findGroups finds the groups of n packed keys, and lets the states keep up.
func (w *Worker) findGroups(g *Groups, keys []uint64, n int) {
	if g.ranged {
		g.table.FindUnhashed(keys, w.hashes[:n], w.gids[:n])
	} else {
		g.table.Find(keys, w.hashes[:n], w.gids[:n])
	}
	g.states.grow(g.table.Len)
}
