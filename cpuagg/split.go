package cpuagg

import (
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
)

// splitter scatters a task again: the groups that are in its table, as states, and the pages that are
// left.
type splitter struct {
	worker       *Worker
	pass         *scatter.Pass
	states, rows *scatter.Writer
	runs         carriedRuns // of the task's groups
	left         int64       // rows and states of the task that have not been merged or scattered
}

// newSplitter begins to split a task. It scatters the groups so far, and releases them.
func (w *Worker) newSplitter(task Task, g *Groups) (*splitter, error) {
	invariants.Sometimes("cpuagg: a task is split")
	w.run.counters.Splits.Add(1)
	p := task.Split(g.rows)
	s := &splitter{
		worker: w,
		pass:   p,
		states: scatter.NewWriter(p, States, &w.run.stateLayout),
		rows:   scatter.NewWriter(p, Rows, &w.run.rowLayout),
		left:   task.Rows - g.rows,
	}
	err := scatterStates(s.states, g.table, g.states)
	if err == nil {
		s.runs = g.carry(p)
	}
	g.Release()
	return s, err
}

// add scatters the rows of a page from a row on.
func (s *splitter) add(content scatter.Content, page *rowdata.Page, from int) error {
	w := s.worker
	b := w.run.bound
	for ; from < page.Rows; from += rowdata.TileRows {
		n := min(rowdata.TileRows, page.Rows-from)
		s.left -= int64(n)
		var err error
		if content == States {
			scatter.Unpack(&w.pageStates, s.states.Layout, page, from, n)
			err = scatterGroups(s.states, b, w.pageStates.Keys, n, w.pageStates.Args)
		} else {
			scatter.Unpack(&w.pageRows, s.rows.Layout, page, from, n)
			s.pass.Hash(&b.Keys, w.pageRows.Keys, w.hashes[:n])
			err = s.rows.Tile(&w.pageRows, w.hashes[:n])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish returns the tasks that the partitions of the split make.
func (s *splitter) finish() ([]Task, error) {
	for _, writer := range []*scatter.Writer{s.states, s.rows} {
		if err := writer.Close(); err != nil {
			s.release()
			return nil, err
		}
	}
	if invariants.Enabled {
		invariants.Checkf(s.left == 0, "A1: %d rows and states of a split task were not scattered", s.left)
	}
	return s.worker.run.tasks(s.pass, s.runs), nil
}

// release drops the pages that have not been handed over.
func (s *splitter) release() {
	s.states.Release()
	s.rows.Release()
}
