package stream

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
)

// Strings have numbers in the order in which they came: numbers do not compare as the strings do. Where the least or
// greatest string of a group is wanted, the column's numbers become ranks once all strings are known, when the rows of
// a set of partitions have been loaded.

// ranking is a column of Shape whose values become ranks.
type ranking struct {
	column int
	ranks  []uint32        // by value
	values func() []uint32 // by rank
}

// isLate reports whether rows are aggregated once all have come.
func (o *Options) isLate() bool { return len(o.Ranked) > 0 || o.Shape.Sorts() }

// openRankings gives all devices the ranks. Requires: all rows have come; the tiles' streams do nothing.
func (r *Run) openRankings() error {
	for _, column := range r.opt.Ranked {
		ranks, err := r.opt.Ranks(r.ctx, column)
		if err != nil {
			return taken(err)
		}
		of := &ranking{column: column, ranks: ranks}
		of.values = sync.OnceValue(of.valuesByRank)
		r.rankings = append(r.rankings, of)
		for _, d := range r.devices {
			if err := d.openRanks(ranks); err != nil {
				return err
			}
		}
	}
	return nil
}

// openRanks copies ranks to the device.
func (d *device) openRanks(ranks []uint32) error {
	var to kernels.Buffer
	d.mu.Lock()
	err := d.alloc(&to, 4*int64(len(ranks)))
	d.mu.Unlock()
	if err != nil {
		return err
	}
	d.ranks = append(d.ranks, to)
	s := d.tiles[0].stream
	in := kernels.Copy{Device: kernels.Span{Buffer: to},
		Host: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(ranks))), 4*len(ranks))}
	d.bytesIn.Add(int64(len(in.Host)))
	return errors.Join(s.Copy(in), d.finish(s))
}

// dropRanks gives the memory of the ranks back. Requires: no stream uses it.
func (d *device) dropRanks() error {
	var errs []error
	for i := range d.ranks {
		errs = append(errs, d.freeBuffer(&d.ranks[i]))
	}
	return errors.Join(errs...)
}

// rank enqueues what puts ranks in place of the values of loaded rows.
func (a *area) rank(rows *kernels.Rows) error {
	for i, of := range a.device.run.rankings {
		invariants.Sometimes("stream: values become ranks")
		err := a.stream.Recode(&kernels.Codes{
			Codes: rows.Columns[of.column], Count: rows.Count,
			Table: kernels.Span{Buffer: a.device.ranks[i]}, Entries: int64(len(of.ranks)),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unrank puts values in place of ranks again, in rows that were copied to the host.
func (r *Run) unrank(t *Tile) {
	for _, of := range r.rankings {
		values, column := of.values(), wordsOf[uint32](t.Columns[of.column])
		for i, rank := range column {
			column[i] = values[rank]
		}
	}
}

func (k *ranking) valuesByRank() []uint32 {
	values := make([]uint32, len(k.ranks))
	for v, rank := range k.ranks {
		values[rank] = uint32(v)
	}
	return values
}
