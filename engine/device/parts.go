package device

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/table"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
	"github.com/mpga/mpga/stream"
)

// newPartLayout returns the layout of a query that a device does not aggregate, for the reason why.
// The device partitions the rows as the CPU would. It has to know no more of a value than its width.
func newPartLayout(b *rowdata.Bound, why error) (*Layout, error) {
	l := &Layout{bound: b, keys: &b.Keys, args: make([]int, len(b.Args)), parts: why}
	l.shape.KeyBytes = b.Keys.Bytes()
	l.refers = len(b.Keys.Longs) > 0
	if l.hashed = !table.HashesWords(&b.Keys) || l.shape.KeyBytes > kernels.KeyBytesMax; l.hashed {
		l.shape.KeyBytes = 8
		for at := 0; at < b.Keys.Words; at += 2 {
			l.columns = append(l.columns, layoutColumn{column: -1, arg: -1, words: min(b.Keys.Words-at, 2), key: at})
		}
	}
	for a := range b.Args {
		arg := &b.Args[a]
		if arg.Words == 1 && arg.Column >= 0 && arg.Encoding != rowdata.Hashed {
			l.args[a] = l.columnOf(a)
			continue
		}
		l.refers = l.refers || arg.Words == 2 && b.Columns[arg.Column].Kind == rowdata.Bytes
		l.args[a] = len(l.columns)
		l.columns = append(l.columns, layoutColumn{column: arg.Column, arg: a, words: arg.Words})
	}
	for _, selection := range b.Selections {
		for _, c := range selection {
			l.anyColumnOf(c)
		}
	}
	return l, l.finish()
}

// stageHashes writes keys of one word whose hash on a device is the hash of the packed keys.
func (l *Layout) stageHashes(out, keys []uint64) {
	table.Hash(&l.bound.Keys, keys, partition.Seed(0), out)
	for i, h := range out {
		out[i] = partition.Unmix64(h) ^ partition.Seed(0)
	}
}

// stageKeys writes a column's words of keys, which have width words each.
func stageKeys(out, keys []uint64, c *layoutColumn, width int) {
	for i, at := 0, c.key; i < len(out); i, at = i+c.words, at+width {
		copy(out[i:i+c.words], keys[at:])
	}
}

// unstageKeys puts n packed keys together again, from row at on.
func (l *Layout) unstageKeys(buf []uint64, from *stream.Tile, at, n int) []uint64 {
	width := l.bound.Keys.Words
	buf = rowdata.Grow(buf, n*width)
	for i := range l.columns {
		c := &l.columns[i]
		if c.words == 0 || c.arg >= 0 {
			continue
		}
		words := rowdata.View[uint64](from.Columns[i][8*c.words*at : 8*c.words*(at+n)])
		for row := range n {
			copy(buf[row*width+c.key:], words[row*c.words:(row+1)*c.words])
		}
	}
	return buf
}

// batchKeeper keeps batches for as long as a tile refers to them.
type batchKeeper struct {
	mu     sync.Mutex
	byTile map[*stream.Tile][]arrow.RecordBatch
}

// keep keeps a batch until its tile is dropped.
func (k *batchKeeper) keep(t *stream.Tile, batch arrow.RecordBatch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.byTile[t]
	if n := len(kept); n > 0 && kept[n-1] == batch {
		return
	}
	if k.byTile == nil {
		k.byTile = make(map[*stream.Tile][]arrow.RecordBatch)
	}
	batch.Retain()
	k.byTile[t] = append(kept, batch)
}

// drop lets the batches of a tile go.
func (k *batchKeeper) drop(t *stream.Tile) {
	k.mu.Lock()
	kept := k.byTile[t]
	delete(k.byTile, t)
	k.mu.Unlock()
	recordreader.ReleaseAll(kept)
}

// parts says how a device partitions for the CPU; nil where it aggregates. Parts.Take is not set.
func (q *Query) parts(l *Layout) *stream.Parts {
	if l.parts == nil {
		return nil
	}
	return &stream.Parts{Radix: func(groups int64) int { return int(q.CPU.Run().PlanScatter(groups)) }}
}

// takeParts takes the rows of a tile to the partitions of the CPU's store. The tiles under way
// share the CPU's workers.
func (c *coprocessor) takeParts(ctx context.Context, t *stream.Tile, offsets []uint64) error {
	defer c.batches.drop(t)
	group, ctx := spawn.WithContext(ctx)
	workers := max(cap(c.pool)/c.run.Tiles(), 1)
	step := (t.Rows/workers/rowdata.TileRows + 1) * rowdata.TileRows
	for from := 0; from < t.Rows; from += step {
		group.Go(func() error { return c.takePart(ctx, t, offsets, from, min(from+step, t.Rows)) })
	}
	return group.Wait()
}

// takePart takes rows from to to of a tile to their partitions.
func (c *coprocessor) takePart(ctx context.Context, t *stream.Tile, offsets []uint64, from, to int) error {
	th := threads.New(c.query.Threads)
	if err := th.Take(ctx); err != nil {
		return err
	}
	defer th.Give()
	row := c.back.Begin("store rows")
	defer c.back.End(row)
	radix := partition.Radix(c.run.RadixBits())
	return c.with(ctx, func(w *cpuWorker) error {
		for ; from < to; from += rowdata.TileRows {
			w.tile = c.layout.unstage(w.tile, t, from)
			w.hashes = rowdata.Grow(w.hashes, w.tile.Rows)
			hashesOf(w.hashes, offsets, radix, uint64(from))
			if err := w.AddScattered(w.tile, w.hashes); err != nil {
				return err
			}
		}
		return nil
	})
}

// hashesOf writes a hash of the partition of each row from row at on.
func hashesOf(hashes, offsets []uint64, radix partition.Radix, at uint64) {
	p, _ := slices.BinarySearch(offsets, at+1) // the first that begins behind the row
	for done := 0; done < len(hashes); p++ {
		end := min(int(offsets[p]-at), len(hashes))
		for i := done; i < end; i++ {
			hashes[i] = uint64(p-1) << (64 - radix)
		}
		done = end
	}
}
