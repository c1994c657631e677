package cpuagg

import (
	"math/bits"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// splitter scatters a task again, with hash bits that no pass before has read (P2): the groups that
// are in its table, as states, and the pages that are left.
type splitter struct {
	worker       *Worker
	pass         *pass
	states, rows *scatterer
	left         int64 // rows and states of the task that have not been merged or scattered
}

// newSplitter begins to split a task. It scatters the groups so far, and releases them.
func (w *Worker) newSplitter(task Task, g *Groups) (*splitter, error) {
	invariants.Sometimes("cpuagg: a task is split")
	w.run.counters.Splits.Add(1)
	// If all rows have as many groups each as the rows so far, this many tables hold them.
	tables := 2 * task.rows / max(g.rows, 1)
	radix := max(min(partition.Radix(bits.Len64(uint64(tables))), splitBitsMax), splitBitsMin)
	m, p := w.run.opt.Memory, w.run.newPass(task.pass.depth+1, radix)
	p.rowsMax = max(min(g.rows, task.rows)/2, 1) // not all of them again
	if invariants.Enabled {
		invariants.Checkf(p.seed() != task.pass.seed(), "P2: pass %d has the seed of the pass before", p.depth)
		invariants.Checkf(p.depth <= splitsMax, "P3: pass %d", p.depth)
	}
	s := &splitter{
		worker: w,
		pass:   p,
		states: newScatterer(m, States, &w.run.stateLayout, p),
		rows:   newScatterer(m, Rows, &w.run.rowLayout, p),
		left:   task.rows - g.rows,
	}
	err := s.states.scatterStates(g.table, g.states)
	if err == nil {
		g.carry(p)
	}
	g.Release()
	return s, err
}

// A partition is split at least 4-fold, so that splits end soon, and at most 256-fold, so that
// pages stay large.
const (
	splitBitsMin partition.Radix = 2
	splitBitsMax partition.Radix = 8
)

// add scatters the rows of a page from a row on.
func (s *splitter) add(content Content, page *rowdata.Page, from int) error {
	w := s.worker
	b := w.run.bound
	for ; from < page.Rows; from += rowdata.TileRows {
		n := min(rowdata.TileRows, page.Rows-from)
		s.left -= int64(n)
		var err error
		if content == States {
			w.unpackStates(page, from, n)
			err = s.states.scatterGroups(b, w.page.Keys, n, w.pageParts)
		} else {
			w.unpackRows(page, from, n)
			s.pass.hash(&b.Keys, w.page.Keys, w.hashes[:n])
			err = s.rows.scatterTile(b, &w.page, w.hashes[:n])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish returns the tasks that the partitions of the split make.
func (s *splitter) finish() ([]Task, error) {
	for _, sc := range []*scatterer{s.states, s.rows} {
		if err := sc.close(); err != nil {
			s.release()
			return nil, err
		}
	}
	if invariants.Enabled {
		invariants.Checkf(s.left == 0, "A1: %d rows and states of a split task were not scattered", s.left)
	}
	return s.worker.run.tasks(s.pass), nil
}

// release drops the pages that have not been handed over.
func (s *splitter) release() {
	s.states.release()
	s.rows.release()
}
