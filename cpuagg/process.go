package cpuagg

import (
	"fmt"

	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/partition"
)

// Task is what one worker processes at a time: partitions, or the tables of all workers.
type Task struct {
	partitions []int
	tables     []*Worker
}

// Groups are finished groups, with their packed keys and states. What they refer to lives as long
// as they do.
type Groups struct {
	Len    int
	Keys   []uint64   // Len * KeyLayout.Words
	States [][]uint64 // by fold: Len * Fold.Words

	table  *table
	states *states
	pages  []*spec.Page
}

// A task merges what is at most taskRowsMax rows and states, so that results stream and no worker
// waits long for the last; partitions above it are tasks of their own.
const taskRowsMax = 1 << 17

// mergeGroupsMax and mergeHeapMax bound what one worker merges alone when nothing was scattered.
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

// Tasks ends the partition-generating phase and returns what there is to process, and the number
// of partitions that it was merged from. Tasks are independent of each other.
func (r *Run) Tasks(workers []*Worker) (tasks []Task, partitions int) {
	if _, _, scattered := r.Scatter(); !scattered {
		return []Task{{tables: workers}}, 1
	}
	sizes := r.scatter.store.Sizes()
	for _, list := range partition.Merge(sizes, taskRowsMax) {
		tasks = append(tasks, Task{partitions: list})
	}
	return tasks, len(sizes)
}

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

// Process aggregates a task. Workers process tasks of one run at the same time.
func (w *Worker) Process(task Task) (*Groups, error) {
	if task.tables != nil {
		return mergeTables(task.tables), nil
	}
	g := &Groups{
		table:  newTable(&w.run.bound.Keys, partition.Seed(1), false),
		states: newStates(w.run.bound),
	}
	for _, content := range []Content{States, Rows} {
		for _, p := range task.partitions {
			pages, err := w.run.scatter.store.Take(p, content)
			if err != nil {
				return nil, err
			}
			g.pages = append(g.pages, pages...)
			for i, page := range pages {
				if i == 0 {
					g.table.reserve(g.table.groups + expectedGroups(pages))
				}
				if g.table.groups > groupsMax {
					return nil, fmt.Errorf("partition %d of %d has more than %d groups", p, w.run.scatter.radix.FanOut(), groupsMax)
				}
				if content == States {
					w.processStates(g, page)
				} else {
					w.processRows(g, page)
				}
				page.Words = nil
			}
		}
	}
	g.finish()
	return g, nil
}

// expectedGroups guesses how many groups pages hold: enough to save most growing of the table, not
// so many that a few heavy groups spread over a large one.
func expectedGroups(pages []*spec.Page) int {
	rows := 0
	for _, p := range pages {
		rows += p.Rows
	}
	return min(rows/2, spec.TileRows*4)
}

// finish publishes the table's groups.
func (g *Groups) finish() {
	g.Len = g.table.groups
	g.Keys = g.table.keys[:g.Len*g.table.layout.Words]
	g.States = make([][]uint64, len(g.states.words))
	for i := range g.States {
		g.States[i] = g.states.words[i][:g.Len*g.states.bound.Folds[i].Words]
	}
}

// mergeTables merges the tables of all workers into the first.
func mergeTables(workers []*Worker) *Groups {
	first := workers[0]
	g := &Groups{table: first.table, states: first.states}
	if first.table.layout.Words == 0 {
		first.table.groups = 1 // one group, also of no rows
	}
	first.states.grow(first.table.groups)
	var hashes [spec.TileRows]uint64
	var gids [spec.TileRows]uint32
	for _, w := range workers[1:] {
		if g.table.dense {
			g.mergeDense(w)
			continue
		}
		for from := 0; from < w.table.groups; from += spec.TileRows {
			to := min(from+spec.TileRows, w.table.groups)
			width := w.table.layout.Words
			keys := w.table.keys[from*width : to*width]
			long := hashKeys(w.table.layout, keys, g.table.seed, hashes[:to-from])
			g.table.find(keys, hashes[:to-from], gids[:to-from], long)
			g.states.grow(g.table.groups)
			g.states.merge(gids[:to-from], w.states.slice(from, to))
		}
	}
	if g.table.dense {
		g.packDense()
	}
	g.finish()
	return g
}

// mergeDense merges the states of another dense table. Its states may be missing, when it has seen
// no row.
func (g *Groups) mergeDense(w *Worker) {
	var gids []uint32
	for code, seen := range w.table.seen {
		if seen != 0 {
			g.table.seen[code] = 1
			gids = append(gids[:0], uint32(code))
			g.states.merge(gids, w.states.slice(code, code+1))
		}
	}
}

// packDense turns a dense table into a list of the groups that exist.
func (g *Groups) packDense() {
	t := g.table
	packed := 0
	for code, seen := range t.seen {
		if seen == 0 {
			continue
		}
		t.keys = append(t.keys, uint64(code))
		for i := range g.states.bound.Folds {
			w := g.states.bound.Folds[i].Words
			copy(g.states.words[i][packed*w:(packed+1)*w], g.states.words[i][code*w:(code+1)*w])
		}
		packed++
	}
	t.groups = packed
}

// slice returns the states of groups from to to, by fold.
func (s *states) slice(from, to int) [][]uint64 {
	parts := make([][]uint64, len(s.words))
	for i := range parts {
		w := s.bound.Folds[i].Words
		parts[i] = s.words[i][from*w : to*w]
	}
	return parts
}

// processStates merges a page of states.
func (w *Worker) processStates(g *Groups, page *spec.Page) {
	l := &w.run.stateLayout
	parts := w.pageParts
	for from := 0; from < page.Rows; from += spec.TileRows {
		n := min(spec.TileRows, page.Rows-from)
		rows := page.Words[from*l.Stride : (from+n)*l.Stride]
		w.page.Keys = unpack(w.page.Keys, rows, l.Stride, 0, w.run.bound.Keys.Words)
		w.findGroups(g, w.page.Keys, n)
		for i := range parts {
			parts[i] = unpack(parts[i], rows, l.Stride, l.Parts[i], w.run.bound.Folds[i].Words)
		}
		g.states.merge(w.gids[:n], parts)
	}
}

// processRows accumulates a page of rows.
func (w *Worker) processRows(g *Groups, page *spec.Page) {
	b := w.run.bound
	l, t := &w.run.rowLayout, &w.page
	for from := 0; from < page.Rows; from += spec.TileRows {
		t.Rows = min(spec.TileRows, page.Rows-from)
		rows := page.Words[from*l.Stride : (from+t.Rows)*l.Stride]
		t.Keys = unpack(t.Keys, rows, l.Stride, 0, b.Keys.Words)
		w.findGroups(g, t.Keys, t.Rows)
		for a := range t.Args {
			t.Args[a] = unpack(t.Args[a], rows, l.Stride, l.Parts[a], b.Args[a].Words)
		}
		for i, c := range l.ValidCols {
			t.Valid[c] = unpackBits(t.Valid[c], rows, l.Stride, l.Valid+i/64, i%64)
		}
		w.view.set(t, w.gids[:t.Rows])
		g.states.accumulate(w.view)
	}
}

// findGroups finds the groups of n packed keys, and lets the states keep up.
func (w *Worker) findGroups(g *Groups, keys []uint64, n int) {
	long := hashKeys(g.table.layout, keys, g.table.seed, w.hashes[:n])
	g.table.find(keys, w.hashes[:n], w.gids[:n], long)
	g.states.grow(g.table.groups)
}

// unpack copies one part of each row: words values at an offset.
func unpack(buf, rows []uint64, stride, offset, words int) []uint64 {
	n := len(rows) / stride
	if cap(buf) < n*words {
		buf = make([]uint64, spec.TileRows*words)
	}
	buf = buf[:n*words]
	if words == 1 {
		for i, at := 0, offset; i < n; i, at = i+1, at+stride {
			buf[i] = rows[at]
		}
		return buf
	}
	for i, at := 0, offset; i < n; i, at = i+1, at+stride {
		copy(buf[i*words:(i+1)*words], rows[at:])
	}
	return buf
}

// unpackBits copies one bit of a word of each row.
func unpackBits(buf []uint8, rows []uint64, stride, offset, bit int) []uint8 {
	buf = buf[:0]
	for at := offset; at < len(rows); at += stride {
		buf = append(buf, uint8(rows[at]>>bit&1))
	}
	return buf
}
