package cpuagg

import (
	"context"
	"errors"
	"io"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Task is what one worker processes at a time: partitions of a pass, or the tables of all workers.
type Task struct {
	pass       *pass
	partitions []int
	rows       int64     // and states; of tables, groups
	distinct   bool      // most rows are groups of their own, as far as the estimate tells
	heavy      bool      // a range of keys that has too many of all rows for one worker: it is split by hashes
	tables     []*Worker // whose tables are to be merged; nil for a task of partitions
}

// Rows returns how many rows and states the task has; of a task that merges tables, their groups.
func (t *Task) Rows() int64 { return t.rows }

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
	table    *table
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
	g.table.release()
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

func (g *Groups) bytes() int64 { return g.table.bytes() + g.states.bytes() }

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
			t.rows += int64(w.table.groups)
		}
		return []Task{t}, 1
	}
	return r.tasks(r.scatter), r.scatter.radix.FanOut()
}

// tasks merges the partitions of a pass greedily.
func (r *Run) tasks(p *pass) (tasks []Task) {
	sizes := p.parts.Sizes()
	groups := int64(0) // told of the first pass alone
	if p.depth == 0 {
		groups = r.estimated
	}
	var rows int64
	for _, size := range sizes {
		rows += size
	}
	rowsMax, distinct := r.taskRows(rows, groups), groups > rows/2
	switch {
	case p.ranged():
		rowsMax = 1 // merged ranges would lie far from each other
	case p.rowsMax > 0:
		rowsMax = min(rowsMax, p.rowsMax)
	}
	for _, list := range partition.Merge(sizes, rowsMax) {
		t := Task{pass: p, partitions: list, distinct: distinct}
		for _, i := range list {
			t.rows += sizes[i]
		}
		t.heavy = p.ranged() && t.rows > max(heavyRangeRowsMin, rows/heavyRangeShare)
		tasks = append(tasks, t)
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
	room := r.opt.WorkerBytes / splitShare / (2*(r.stateBytes+r.firstBytes) + slotBytes)
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
		groups += int64(w.table.groups)
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
	err := w.eachPage(task, func(content Content, page *rowdata.Page) (err error) {
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
		g.table.lent = w.lends(g, content)
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
		kept = g.table.keep(page)
		return nil
	})
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
		table:    newTable(m, &w.run.bound.Keys, task.pass.tableSeed(), false),
		states:   newStates(m, w.run.bound),
		ranged:   task.pass.ranged(),
		bytesMax: w.share(),
		runs:     make(map[stateID]*SortedRuns),
	}
	g.closed.Open("groups of a task")
	expected := min(task.rows/2, groupsExpected)
	switch {
	case g.ranged:
		expected = 0 // slots are not needed where the keys lie close together
		if first, keys := task.pass.rangeOf(task.partitions[0]); !task.heavy && keys < uint64(w.share()/windowShare) {
			g.table.openWindow(first, keys)
		}
	case task.distinct:
		expected = task.rows
	}
	g.table.reserve(int(min(expected, w.share()/(4*slotBytes))))
	w.takeRuns(task, g)
	return g
}

// keep keeps a page where keys of the table have lent strings of it, and reports whether it does.
func (t *table) keep(page *rowdata.Page) bool {
	if t.lent {
		invariants.Sometimes("cpuagg: groups keep a page for its strings")
		t.pages = append(t.pages, page)
	}
	return t.lent
}

// lends reports whether the strings of new keys stay in the next page, which the groups then keep:
// where its rows have no other strings, and so far every other row was a new group.
func (w *Worker) lends(g *Groups, content Content) bool {
	keys := g.table.layout
	return content == Rows && len(keys.Longs) > 0 && w.run.rowLayout.Strings() == len(keys.Longs) &&
		2*int64(g.table.groups) >= g.rows
}

// check panics unless the groups of a task have all its rows (A1), no key twice (W1), and no key of
// another task (A2).
func (w *Worker) check(task Task, g *Groups) {
	invariants.Checkf(g.rows == task.rows, "A1: a task of %d rows and states has %d merged", task.rows, g.rows)
	layout := g.table.layout
	seen := make(map[uint64][]int, g.Len) // groups, by the hash of their key
	for group := range g.Len {
		key := g.table.key(group)
		var hash [1]uint64
		task.pass.hash(layout, key, hash[:])
		p := task.pass.radix.Of(hash[0])
		invariants.Checkf(slices.Contains(task.partitions, p),
			"A2: a key of partition %d in a task of %v", p, task.partitions)
		twice := slices.ContainsFunc(seen[hash[0]], func(other int) bool { return layout.Equal(key, g.table.key(other)) })
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

// eachPage calls a function with the pages of a task, pages of states first: states are fewer than
// the rows that they stand for. The function takes the pages over.
func (w *Worker) eachPage(task Task, f func(Content, *rowdata.Page) error) error {
	for _, content := range []Content{States, Rows} {
		for _, p := range task.partitions {
			if err := eachOf(task.pass.parts.Take(p, content), content, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOf calls a function with all pages of a sequence, and closes it.
func eachOf(pages Pages, content Content, f func(Content, *rowdata.Page) error) error {
	defer pages.Close()
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(content, page)
		}
		if err != nil {
			return err
		}
	}
}

// makeRoom lets pages that wait leave the memory that the table needs to grow.
func (w *Worker) makeRoom(g *Groups) error {
	want := min(2*g.bytes(), w.run.opt.WorkerBytes)
	if left := w.run.opt.Memory.Left(); left < want {
		return w.run.store.Reclaim(want - left)
	}
	return nil
}

// splitShare is the part of a worker's memory that a table may take before its task is split: a
// table doubles when it grows, and the old table stays until the new table is filled.
const splitShare = 6

// splitsMax bounds how often a partition is split: at least 4-fold each time, so that the rows that
// are left together have one hash, or one key.
const splitsMax = 12

// mustSplit reports whether the groups are to be scattered, since they have outgrown the worker's
// share of the memory. It makes room where scattering does not help.
func (w *Worker) mustSplit(task Task, g *Groups) (bool, error) {
	if g.table.groups > groupsMax || task.heavy || w.run.opt.ForceSplits > task.pass.depth && g.table.groups > 1 {
		return true, nil
	}
	return w.relieve(task, g)
}

// merge folds a tile of a page into the groups.
func (w *Worker) merge(g *Groups, content Content, page *rowdata.Page, from int) {
	n := min(rowdata.TileRows, page.Rows-from)
	if content == States {
		w.processStates(g, page, from, n)
	} else {
		w.processRows(g, page, from, n)
	}
	g.rows += int64(n)
}

// finish publishes the table's groups.
func (g *Groups) finish() {
	g.states.settle()
	g.Len = g.table.groups
	g.Keys = g.table.keys[:g.Len*g.table.layout.Words]
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
	if first.table.layout.Words == 0 {
		first.table.groups = 1 // one group, also of no rows
	}
	first.states.grow(first.table.groups)
	var hashes [rowdata.TileRows]uint64
	var gids [rowdata.TileRows]uint32
	for _, w := range workers[1:] {
		if g.table.dense {
			g.mergeDense(w)
			continue
		}
		for from := 0; from < w.table.groups; from += rowdata.TileRows {
			to := min(from+rowdata.TileRows, w.table.groups)
			width := w.table.layout.Words
			keys := w.table.keys[from*width : to*width]
			long := hashKeys(w.table.layout, keys, g.table.seed, hashes[:to-from])
			g.table.find(keys, hashes[:to-from], gids[:to-from], long)
			g.states.grow(g.table.groups)
			g.states.merge(gids[:to-from], w.states.slice(from, to))
		}
	}
	if g.table.dense {
		g.table.pack(g.states)
	}
	g.finish()
	return g
}

// mergeDense merges the states of a worker with a dense table, which has no states when the worker
// has seen no row.
func (g *Groups) mergeDense(w *Worker) {
	for code, seen := range w.table.seen {
		if seen != 0 {
			g.table.seen[code] = 1
			g.states.merge([]uint32{uint32(code)}, w.states.slice(code, code+1))
		}
	}
}

// slice returns the states of groups from to to, by fold.
func (s *states) slice(from, to int) [][]uint64 {
	s.settle()
	parts := make([][]uint64, len(s.words))
	for i := range parts {
		w := s.bound.Folds[i].Words
		parts[i] = s.words[i][from*w : to*w]
	}
	return parts
}

// processStates merges n states of a page.
func (w *Worker) processStates(g *Groups, page *rowdata.Page, from, n int) {
	w.unpackStates(page, from, n)
	w.findGroups(g, w.page.Keys, n)
	g.states.merge(w.gids[:n], w.pageParts)
}

// unpackStates turns n states of a page into keys and parts.
func (w *Worker) unpackStates(page *rowdata.Page, from, n int) {
	l, parts := &w.run.stateLayout, w.pageParts
	rows := page.Words[from*l.Stride : (from+n)*l.Stride]
	w.page.Keys = unpack(w.page.Keys, rows, l.Stride, 0, w.run.bound.Keys.Words)
	for i := range parts {
		parts[i] = unpack(parts[i], rows, l.Stride, l.Parts[i], w.run.bound.Folds[i].Words)
	}
}

// processRows accumulates n rows of a page.
func (w *Worker) processRows(g *Groups, page *rowdata.Page, from, n int) {
	w.unpackRows(page, from, n)
	w.findGroups(g, w.page.Keys, n)
	w.view.set(&w.page, w.gids[:n])
	g.states.accumulate(w.view)
}

// unpackRows turns n rows of a page into a tile.
func (w *Worker) unpackRows(page *rowdata.Page, from, n int) {
	b, l, t := w.run.bound, &w.run.rowLayout, &w.page
	t.Rows = n
	rows := page.Words[from*l.Stride : (from+n)*l.Stride]
	if scattersPairs(b, l) {
		t.Keys, t.Args[0] = unpackPairs(t.Keys, t.Args[0], rows)
		return
	}
	t.Keys = unpack(t.Keys, rows, l.Stride, 0, b.Keys.Words)
	for a := range t.Args {
		if l.Natural[a] < 0 {
			t.Args[a] = unpack(t.Args[a], rows, l.Stride, l.Parts[a], b.Args[a].Words)
		}
	}
	for a, natural := range l.Natural {
		if natural >= 0 {
			t.Args[a] = flipSigns(t.Args[a], t.Args[natural])
		}
	}
	for i, c := range l.ValidCols {
		t.Valid[c] = unpackBits(t.Valid[c], rows, l.Stride, l.Valid+i/64, i%64)
	}
}

// findGroups finds the groups of n packed keys, and lets the states keep up.
func (w *Worker) findGroups(g *Groups, keys []uint64, n int) {
	g.find(keys, w.hashes[:n], w.gids[:n])
	g.states.grow(g.table.groups)
}

// find writes the groups of packed keys to gids. hashes is scratch.
func (g *Groups) find(keys, hashes []uint64, gids []uint32) {
	if g.ranged {
		g.table.findUnhashed(keys, hashes, gids)
		return
	}
	g.table.find(keys, hashes, gids, hashKeys(g.table.layout, keys, g.table.seed, hashes))
}

// unpack copies one part of each row: words values at an offset.
func unpack(buf, rows []uint64, stride, offset, words int) []uint64 {
	n := len(rows) / stride
	buf = tileRoom(buf, n, words)
	if 0 < words && words <= len(unpackFixed) {
		unpackFixed[words-1](buf, rows, stride, offset)
		return buf
	}
	for i, at := 0, offset; i < n; i, at = i+1, at+stride {
		copy(buf[i*words:(i+1)*words], rows[at:])
	}
	return buf
}

// unpackFixed is unpackWords, by width.
var unpackFixed = [...]func(buf, rows []uint64, stride, offset int){
	unpackWords[[1]uint64], unpackWords[[2]uint64], unpackWords[[3]uint64],
	unpackWords[[4]uint64], unpackWords[[5]uint64], unpackWords[[6]uint64],
}

// unpackWords is unpack for a width that the compiler knows, which spares a call for each row.
func unpackWords[V wordArray](buf, rows []uint64, stride, offset int) {
	var v V
	out := rowdata.View[V](buf)
	rows = rows[offset:]
	for i, at := 0, 0; i < len(out) && at+len(v) <= len(rows); i, at = i+1, at+stride {
		out[i] = *(*V)(unsafe.Pointer(&rows[at]))
	}
}

// flipSigns returns words with their first bit flipped.
func flipSigns(buf, words []uint64) []uint64 {
	buf = tileWords(buf, len(words))
	for i, w := range words {
		buf[i] = w ^ 1<<63
	}
	return buf
}

// tileWords returns room for a word of each of n rows, in buf where that is large enough.
func tileWords(buf []uint64, n int) []uint64 { return tileRoom(buf, n, 1) }

// tileRoom returns room for words of each of n rows, in buf where that is large enough. Few rows take little room: a
// query of a thousand aggregates has as many buffers.
func tileRoom(buf []uint64, n, words int) []uint64 {
	if cap(buf) < n*words {
		rows := min(1<<bits.Len(uint(n-1)), rowdata.TileRows)
		buf = make([]uint64, rows*words)
	}
	return buf[:n*words]
}

// unpackBits copies one bit of a word of each row.
func unpackBits(buf []uint8, rows []uint64, stride, offset, bit int) []uint8 {
	buf = buf[:0]
	for at := offset; at < len(rows); at += stride {
		buf = append(buf, uint8(rows[at]>>bit&1))
	}
	return buf
}
