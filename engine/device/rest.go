package device

import (
	"slices"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
	"github.com/mpga/mpga/stream"
)

// rest is what a device that has failed leaves to the CPU, where some partitions have been emitted:
// the rows of the other partitions, and the groups of emitted partitions that a device's table has
// held back.
type rest struct {
	bound   *rowdata.Bound
	layout  *Layout
	radix   partition.Radix
	emitted []bool     // by partition, named by the highest bits of the hash
	keys    []uint64   // of the groups that were held back
	states  [][]uint64 // of these groups, by fold
}

// rest returns what the devices leave to the CPU if their part ends now; nil where they leave all
// of the input.
func (c *coprocessor) rest() *rest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.done, true) {
		return nil
	}
	r := &rest{bound: c.query.Bound, layout: c.layout, radix: partition.Radix(c.run.RadixBits()),
		emitted: c.done, states: make([][]uint64, len(c.query.Bound.Folds))}
	if held := c.run.Held(); held != nil {
		r.hold(held)
	}
	return r
}

// hold keeps the groups of emitted partitions that a table holds.
func (r *rest) hold(g *stream.Groups) {
	f := r.newFilter()
	var buf groupBuffers
	for from := 0; from < g.Count; from += rowdata.TileRows {
		groups := r.layout.groups(&buf, g, from, min(from+rowdata.TileRows, g.Count))
		f.find(groups.Keys, true)
		r.keys = appendPicked(r.keys, groups.Keys, f.rows, r.bound.Keys.Words)
		for i := range r.states {
			r.states[i] = appendPicked(r.states[i], groups.States[i], f.rows, r.bound.Folds[i].Words)
		}
	}
}

// addHeld gives the groups that were held back to a worker of the CPU.
func (r *rest) addHeld(w *cpuagg.Worker) error {
	words := r.bound.Keys.Words
	count := len(r.keys) / words
	states := make([][]uint64, len(r.states))
	for from := 0; from < count; from += rowdata.TileRows {
		to := min(from+rowdata.TileRows, count)
		for i := range states {
			words := r.bound.Folds[i].Words
			states[i] = r.states[i][from*words : to*words]
		}
		if err := w.AddGroups(to-from, r.keys[from*words:to*words], states); err != nil {
			return err
		}
	}
	return nil
}

// rowFilter leaves out the rows of emitted partitions. It is one worker's.
type rowFilter struct {
	rest   *rest
	hashes []uint64
	rows   []int32
	tile   rowdata.Tile
}

// newFilter returns a filter of one worker.
func (r *rest) newFilter() *rowFilter {
	return &rowFilter{
		rest:   r,
		hashes: make([]uint64, rowdata.TileRows),
		tile:   rowdata.Tile{Args: make([][]uint64, len(r.bound.Args)), Valid: make([][]uint8, len(r.bound.Columns))},
	}
}

// find finds the keys, of at most a tile, whose partitions were emitted, or were not emitted.
func (f *rowFilter) find(keys []uint64, emitted bool) {
	words := f.rest.bound.Keys.Words
	hashes := f.hashes[:len(keys)/words]
	var known []bool // nil where all are
	if l := f.rest.layout; l.strings != nil {
		keys, known = l.numberedKeys(keys, len(hashes))
		words = l.keys.Words
	}
	if words == 1 {
		partition.HashKeys1(keys, partition.Seed(0), hashes)
	} else {
		partition.HashKeysN(keys, words, partition.Seed(0), hashes)
	}
	f.rows = f.rows[:0]
	for i, h := range hashes {
		isEmitted := (known == nil || known[i]) && f.rest.emitted[f.rest.radix.Of(h)]
		if isEmitted == emitted {
			f.rows = append(f.rows, int32(i))
		}
	}
}

// keep returns the rows of a tile whose groups were not emitted.
func (f *rowFilter) keep(t *rowdata.Tile) *rowdata.Tile {
	words := f.rest.bound.Keys.Words
	f.find(t.Keys[:t.Rows*words], false)
	if len(f.rows) == t.Rows {
		return t
	}
	f.tile.Rows = len(f.rows)
	f.tile.Keys = pick(f.tile.Keys, t.Keys, f.rows, words)
	for a := range f.tile.Args {
		f.tile.Args[a] = pick(f.tile.Args[a], t.Args[a], f.rows, f.rest.bound.Args[a].Words)
	}
	for c := range f.tile.Valid {
		if t.Valid[c] == nil {
			f.tile.Valid[c] = nil
			continue
		}
		f.tile.Valid[c] = pick(f.tile.Valid[c], t.Valid[c], f.rows, 1)
	}
	return &f.tile
}

// pick copies some rows of a column, of words values each.
func pick[T any](buf, from []T, rows []int32, words int) []T {
	return appendPicked(buf[:0], from, rows, words)
}

func appendPicked[T any](buf, from []T, rows []int32, words int) []T {
	for _, r := range rows {
		buf = append(buf, from[int(r)*words:int(r+1)*words]...)
	}
	return buf
}
