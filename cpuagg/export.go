package cpuagg

import (
	"context"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/partition"
)

// Exporter scatters finished groups to partitions that leave the process, by the hash bits of pass
// 0 of their keys. It belongs to one worker.
type Exporter struct {
	bound     *rowdata.Bound // canonical, with the keys that Add takes
	writer    *scatter.Writer
	heapBytes int64 // most bytes of all heaps of open pages together
}

// NewExporter returns an exporter for one worker. put takes pages over, and is called by all
// workers at once.
func (r *Run) NewExporter(b *rowdata.Bound, radix partition.Radix,
	put func(partition int, page *rowdata.Page) error) *Exporter {
	layout := b.StateLayout()
	w := scatter.NewWriter(r.pages.PassOf(radix, exported(put)), States, &layout)
	return &Exporter{bound: b, writer: w, heapBytes: r.pages.OpenBytes()}
}

// Add scatters n groups, at most rowdata.TileRows: their keys, and their states by fold. It keeps
// none of these words; large states lose the elements that it has scattered.
func (e *Exporter) Add(keys []uint64, n int, states [][]uint64) error {
	if err := scatterParts(e.writer, e.bound, keys, n, states); err != nil {
		return err
	}
	if err := scatterGroups(e.writer, e.bound, keys, n, states); err != nil {
		return err
	}
	return e.keepSmall()
}

// AddRuns scatters the elements that a state of a group has in sorted runs, as several states of
// the group.
func (e *Exporter) AddRuns(ctx context.Context, key []uint64, fold int, runs *SortedRuns) error {
	parts := emptyStates(e.bound)
	for _, run := range runs.runs {
		err := scatter.EachPage(run.Pages(), func(page *rowdata.Page) error {
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
	if e.writer.HeapBytes() > e.heapBytes {
		return e.writer.Close()
	}
	return nil
}

// Close hands over the open pages.
func (e *Exporter) Close() error { return e.writer.Close() }

// Release drops the pages that have not been handed over.
func (e *Exporter) Release() { e.writer.Release() }

// exported is the partitions of an Exporter, which this run does not read.
type exported func(partition int, page *rowdata.Page) error

func (put exported) Put(_ scatter.Content, pages []scatter.PartitionPage) error {
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

func (exported) Take(int, scatter.Content) scatter.Pages {
	panic("cpuagg: an exported partition is read")
}

// Adopt gives the run partitions that exporters of other runs have made, in place of a scatter of
// its own: its workers take no rows. bytes is how much the states take where they are kept.
func (r *Run) Adopt(radix partition.Radix, parts scatter.Partitions, bytes int64) {
	var states int64
	for _, n := range parts.Sizes() {
		states += n
	}
	// States may be compressed to a half, and the blocks of states that grow double.
	const growth = 4
	each := max(bytes/max(states, 1), 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scatter = r.pages.PassOf(radix, parts)
	r.scatter.RowsMax = max(r.opt.WorkerBytes()/splitShare/(growth*each), 1)
}
