package cpuagg

import (
	"context"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Exporter scatters finished groups to partitions that leave the process, by the hash bits of pass
// 0 of their keys. It belongs to one worker.
type Exporter struct {
	bound     *rowdata.Bound    // canonical, with the keys that Add takes
	layout    rowdata.RowLayout // of canonical states
	scatterer *scatterer
	heapBytes int64 // most bytes of all heaps of open pages together
}

// NewExporter returns an exporter for one worker. put takes pages over, and is called by all
// workers at once.
func (r *Run) NewExporter(b *rowdata.Bound, radix partition.Radix,
	put func(partition int, page *rowdata.Page) error) *Exporter {
	e := &Exporter{bound: b, layout: b.StateLayout(), heapBytes: r.opt.WorkerBytes / openPagesShare}
	p := &pass{radix: radix, pageBytes: r.pageBytes(radix), parts: exported(put)}
	e.scatterer = newScatterer(r.opt.Memory, States, &e.layout, p)
	return e
}

// Add scatters n groups, at most rowdata.TileRows: their keys, and their states by fold. It keeps
// none of these words; large states lose the elements that it has scattered.
func (e *Exporter) Add(keys []uint64, n int, states [][]uint64) error {
	if err := e.scatterer.scatterParts(e.bound, keys, n, states); err != nil {
		return err
	}
	if err := e.scatterer.scatterGroups(e.bound, keys, n, states); err != nil {
		return err
	}
	return e.keepSmall()
}

// AddRuns scatters the elements that a state of a group has in sorted runs, as several states of
// the group.
func (e *Exporter) AddRuns(ctx context.Context, key []uint64, fold int, runs *SortedRuns) error {
	parts := emptyStates(e.bound)
	for _, run := range runs.runs {
		err := eachOf(run.Pages(), States, func(_ Content, page *rowdata.Page) error {
			defer page.Release()
			if err := context.Cause(ctx); err != nil {
				return err
			}
			parts[fold][0], parts[fold][1] = uint64(page.Rows), rowdata.Address(page.Words)
			return e.Add(key, 1, parts)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keepSmall hands over the open pages when their heaps are too large.
func (e *Exporter) keepSmall() error {
	var bytes int64
	for _, page := range e.scatterer.open {
		if page != nil {
			bytes += page.Heap.Bytes()
		}
	}
	if bytes > e.heapBytes {
		return e.scatterer.close()
	}
	return nil
}

// Close hands over the open pages.
func (e *Exporter) Close() error { return e.scatterer.close() }

// Release drops the pages that have not been handed over.
func (e *Exporter) Release() { e.scatterer.release() }

// exported is the partitions of an Exporter, which this run does not read.
type exported func(partition int, page *rowdata.Page) error

func (put exported) Put(_ Content, pages []PartitionPage) error {
	for i, f := range pages {
		if err := put(f.Partition, f.Page); err != nil {
			for _, rest := range pages[i+1:] {
				rest.Page.Release()
			}
			return err
		}
	}
	return nil
}

func (exported) Sizes() []int64 { panic("cpuagg: the sizes of exported partitions") }

func (exported) Take(int, Content) Pages { panic("cpuagg: an exported partition is read") }

// Adopt gives the run partitions that exporters of other runs have made, in place of a scatter of
// its own: its workers take no rows. bytes is how much the states take where they are kept.
func (r *Run) Adopt(radix partition.Radix, parts Pass, bytes int64) {
	var states int64
	for _, n := range parts.Sizes() {
		states += n
	}
	// States may be compressed to a half, and the blocks of states that grow double.
	const growth = 4
	each := max(bytes/max(states, 1), 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scatter = &pass{radix: radix, parts: parts, rowsMax: max(r.opt.WorkerBytes/splitShare/(growth*each), 1)}
}
