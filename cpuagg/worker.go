package cpuagg

import (
	"math"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/table"
)

// Worker takes tiles, one goroutine's share of a run. In the partition-generating phase it is in
// one of two modes:
//
//	pre-aggregate --table full, and its states are not much smaller than the rows--> scatter rows
//	scatter rows  --after retryRows rows--> pre-aggregate
type Worker struct {
	run    *Run
	table  *table.Table
	states *states // of the groups of table
	view   *view
	hashes []uint64 // scratch: of the keys of a tile
	gids   []uint32 // scratch: groups of the rows of a tile

	tableGroups int             // groups at which table is full
	scatterMode bool            // rows are scattered as they are
	moved       bool            // the table has left its groups behind, for keys that lie elsewhere
	modeRows    int64           // taken since the mode began, or since the table was emptied
	once        []uint8         // by group of the first table: its rows, up to 255; nil once they are no sample any more
	rows        *scatter.Writer // of rows; nil until the worker scatters rows
	flushed     *scatter.Writer // of states; nil until the table is scattered

	// Of the page being processed, up to rowdata.TileRows rows at a time:
	pageRows   rowdata.Tile
	pageStates rowdata.Tile // its arguments are states, by fold

	closed invariants.CloseChecker
}

// retryRows is how many rows are scattered before pre-aggregation is tried again: a filled table
// of 2^14 groups costs under 2% of the time that they take.
const retryRows = 1 << 22

// payOff is how many times smaller the states must be than the rows they come from. Where they are
// less than that smaller, scattering the rows at once costs less than probing first and merging
// later.
const payOff = 2

// NewWorker returns a worker of the run.
func (r *Run) NewWorker() *Worker {
	w := &Worker{
		run:    r,
		table:  table.New(r.opt.Memory, &r.bound.Keys, 0, r.Dense()),
		states: newStates(r.opt.Memory, r.bound),
		view:   newView(r.bound),
		hashes: make([]uint64, rowdata.TileRows),
		gids:   make([]uint32, rowdata.TileRows),

		tableGroups: r.opt.TableGroups,

		pageRows:   rowdata.Tile{Args: make([][]uint64, len(r.bound.Args)), Valid: make([][]uint8, len(r.bound.Columns))},
		pageStates: rowdata.Tile{Args: make([][]uint64, len(r.bound.Folds))},
	}
	w.table.SetWindowMax(r.windowMax)
	w.scatterMode = r.opt.NoPreAgg && w.canScatter()
	if w.canScatter() {
		w.once = make([]uint8, r.opt.TableGroups+rowdata.TileRows)
	}
	w.closed.Open("a worker")
	return w
}

// canScatter reports whether the groups may outgrow the table: a dense table has room for all
// groups, and a query without keys has one group.
func (w *Worker) canScatter() bool { return !w.table.Dense && w.table.Layout.Words > 0 }

// Add takes the rows of a tile, and keeps none of the tile's memory.
func (w *Worker) Add(t *rowdata.Tile) error {
	w.closed.CheckOpen()
	if t.Rows == 0 {
		return nil
	}
	hashes, gids := w.hashes[:t.Rows], w.gids[:t.Rows]
	w.modeRows += int64(t.Rows)
	if w.scatterMode {
		return w.addRows(t, hashes)
	}
	w.run.counters.RowsPreAgg.Add(int64(t.Rows))
	before := w.table.Len
	switch {
	case t.Groups != nil:
		gids = t.Groups
		w.table.See(gids)
	case w.table.Layout.Words == 0:
		gids = oneGroup[:t.Rows]
		w.table.Len = 1
	default:
		w.checkKeys(t.Keys)
		if err := w.find(t, hashes, gids); err != nil {
			return err
		}
	}
	w.states.grow(w.table.Len)
	w.view.set(t, gids)
	w.states.accumulate(w.view)
	if !w.canScatter() {
		if w.run.grows() && w.heapFull() {
			return w.scatterTable()
		}
		return nil
	}
	if w.flushed == nil && w.table.Len > before { // a table that no longer fills needs no sample
		for _, g := range gids {
			if w.once[g] < math.MaxUint8 {
				w.once[g]++
			}
		}
	}
	if !w.heapFull() && (w.table.Len < w.tableGroups || w.growTable()) {
		return nil
	}
	return w.flush()
}

// find writes the groups of a tile's rows to gids. hashes is scratch.
//
// Of clustered data, such as a file in the order of its keys, the next keys may lie together, but
// far from all keys of the table: where another part of the file begins, or past the end of the
// window. The rows of the groups so far are likely to be over then. If the groups are much smaller
// than the rows they come from, they leave, and the table moves to the next keys in place of hashing
// them.
func (w *Worker) find(t *rowdata.Tile, hashes []uint64, gids []uint32) error {
	switch {
	case w.table.Dense:
		w.table.FindUnhashed(t.Keys, hashes, gids)
	case w.table.FindDirect(t.Keys, gids):
	case w.canMove(t):
		invariants.Sometimes("cpuagg: a table moves to keys that lie elsewhere")
		w.moved = true
		w.modeRows -= int64(t.Rows) // the table has none of t's groups
		if err := w.scatterTable(); err != nil {
			return err
		}
		w.modeRows, w.tableGroups = int64(t.Rows), w.run.opt.TableGroups
		w.table.FindUnhashed(t.Keys, hashes, gids)
	default:
		w.table.Find(t.Keys, hashes, gids)
	}
	return nil
}

// canMove reports whether the table should leave its groups for the keys of a tile.
func (w *Worker) canMove(t *rowdata.Tile) bool {
	rows := w.modeRows - int64(t.Rows)
	return w.table.Direct() && w.canScatter() && rows >= moveRowsMin && w.paysOff(rows) && w.table.Together(t.Keys)
}

// moveRowsMin is how many rows a table must have taken before it moves: of two sorted inputs whose
// tiles come in turns, it would move with each tile.
const moveRowsMin = 8 * rowdata.TileRows

// paysOff reports whether the groups of the table are so much smaller than their rows that
// aggregating the rows before they are scattered pays.
func (w *Worker) paysOff(rows int64) bool {
	out := int64(w.table.Len)*w.run.stateBytes + w.states.heap.Bytes() + w.table.HeapBytes()
	return rows*w.run.rowBytes >= payOff*out
}

// checkKeys panics unless the values of packed keys are as statistics promise (W2).
func (w *Worker) checkKeys(keys []uint64) {
	layout := w.table.Layout
	if !invariants.Enabled || layout.Words == 0 {
		return
	}
	for ; len(keys) > 0; keys = keys[layout.Words:] {
		err := layout.CheckKey(keys[:layout.Words])
		invariants.Checkf(err == nil, "W2: %v", err)
	}
}

// AddGroups takes groups that a device has aggregated, at most rowdata.TileRows: their packed keys,
// and their states by fold. It copies strings of states, and keeps none of these slices.
func (w *Worker) AddGroups(n int, keys []uint64, states [][]uint64) error {
	w.modeRows += int64(n)
	gids, keys := w.gids[:n], keys[:n*w.table.Layout.Words]
	w.checkKeys(keys)
	w.table.FindUnhashed(keys, w.hashes[:n], gids)
	w.states.grow(w.table.Len)
	w.states.merge(gids, states)
	if !w.canScatter() || !w.heapFull() && (w.table.Len < w.tableGroups || w.growTable()) {
		return nil
	}
	mode := w.scatterMode
	err := w.flush()
	w.scatterMode = mode // groups say nothing of what aggregating rows saves
	return err
}

// heapFull reports whether the heaps of keys and states have outgrown their share of the worker's
// memory.
func (w *Worker) heapFull() bool {
	return w.states.heap.Bytes()+w.table.HeapBytes() > w.run.opt.WorkerBytes()/heapShare
}

// heapShare is the part of a worker's memory that states may refer to before they are scattered.
const heapShare = 8

// growTable lets the first table grow out of the core's cache where the larger table will hold all
// groups: the shared cache is slower, but most rows then find their group and nothing is scattered.
func (w *Worker) growTable() bool {
	limit, certain := w.run.opt.TableGroups*tableGrowth, false
	if w.table.Direct() {
		limit, certain = w.run.opt.TableGroups*directGrowth, true
		if w.table.Len >= limit {
			limit, certain = w.run.directLimit(), false
		}
	}
	if w.flushed != nil || w.table.Len >= limit || !certain && !w.willHold(limit) {
		return false
	}
	w.tableGroups = limit
	w.once = append(w.once, make([]uint8, w.tableGroups+rowdata.TileRows-len(w.once))...)
	return true
}

// willHold reports whether the rows so far suggest that there are at most this many groups: of d
// groups of equal size, rows are expected to show d (1 - exp(-rows / d)).
func (w *Worker) willHold(groups int) bool {
	return shown(float64(groups), float64(w.modeRows)) >= float64(w.table.Len)
}

// tableGrowth is how much larger than a core's share of the cache a table may be: 4 MiB, a core's
// share of the last-level cache of most servers.
const tableGrowth = 8

// directGrowth is tableGrowth for a table that finds groups by distance, with neither hash nor
// slots: rows that wait for the shared cache then cost less than rows that are scattered. 20 is
// room for directMax groups with one sum (BenchmarkAggregate/hash/groups=2e5). A wider window is
// filled where it will hold all groups.
const directGrowth = 20

// AddScattered takes the rows of a tile to the partitions that their hashes name, and keeps none of
// the tile's memory.
func (w *Worker) AddScattered(t *rowdata.Tile, hashes []uint64) error {
	w.checkKeys(t.Keys)
	w.run.counters.RowsScattered.Add(int64(t.Rows))
	return w.rowWriter().Tile(t, hashes)
}

func (w *Worker) rowWriter() *scatter.Writer {
	if w.rows == nil {
		w.rows = scatter.NewWriter(w.run.plan(sample{}), Rows, &w.run.rowLayout)
	}
	return w.rows
}

// addRows scatters the rows of a tile, and ends the mode after retryRows rows. hashes is scratch.
func (w *Worker) addRows(t *rowdata.Tile, hashes []uint64) error {
	w.rowWriter().Pass.Hash(w.table.Layout, t.Keys, hashes)
	if err := w.AddScattered(t, hashes); err != nil {
		return err
	}
	if w.modeRows >= retryRows && !w.run.opt.NoPreAgg {
		invariants.Sometimes("cpuagg: a worker that scatters rows tries to pre-aggregate again")
		w.scatterMode, w.modeRows = false, 0
	}
	return nil
}

// flush scatters the table's groups and decides how to go on.
func (w *Worker) flush() error {
	invariants.Sometimes("cpuagg: the table of a worker is full")
	pays := w.paysOff(w.modeRows)
	if err := w.scatterTable(); err != nil {
		return err
	}
	w.scatterMode = !pays && !w.run.opt.AlwaysPreAgg
	w.modeRows = 0
	w.tableGroups = w.run.opt.TableGroups
	return nil
}

// scatterTable moves the groups of the table to the partitions.
func (w *Worker) scatterTable() error {
	if w.flushed == nil {
		w.flushed = scatter.NewWriter(w.run.plan(w.sample()), States, &w.run.stateLayout)
		w.once = nil
	}
	w.run.counters.StatesScattered.Add(int64(w.table.Len))
	if err := scatterStates(w.flushed, w.table, w.states); err != nil {
		return err
	}
	w.table.Reset(w.run.opt.TableGroups)
	w.states.reset()
	return nil
}

// sample describes the rows of the first table.
func (w *Worker) sample() sample {
	s := sample{rows: w.modeRows, groups: int64(w.table.Len), clustered: w.moved}
	if w.moved && w.table.Layout.Words == 1 {
		s.span = w.table.Span()
	}
	for _, times := range w.once[:min(len(w.once), w.table.Len)] {
		if times == 1 {
			s.singletons++
		}
	}
	return s
}

// pack makes a list of the groups of a dense table that rows are in.
func (w *Worker) pack() {
	w.table.Pack()
	w.states.pack(w.table.Keys(0, w.table.Len))
}

// ScatterRest moves the groups in the table of a closed worker to the partitions. It does so for
// dense tables, too: workers scatter rows that a device has no room for, whatever the workers'
// tables are.
func (w *Worker) ScatterRest() error {
	if w.table.Dense {
		w.pack()
	}
	if w.table.Len > 0 {
		if err := w.scatterTable(); err != nil {
			return err
		}
	}
	return w.Close()
}

// Release gives back the worker's memory, at the end of the run or after an error.
func (w *Worker) Release() {
	w.closed.Close()
	w.table.Release()
	w.states.release()
	w.rows.Release()
	w.flushed.Release()
}

// Close ends the partition-generating phase for this worker. The groups in its table stay there.
func (w *Worker) Close() error {
	if err := w.rows.Close(); err != nil {
		return err
	}
	return w.flushed.Close()
}
