package stream

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// splitBitsMax bounds the parts of a partition: their pieces are not to become too small.
const splitBitsMax = 8

// areaHeadBytes has room for the offsets of a split, and for a status.
const areaHeadBytes = (8<<splitBitsMax + 8 + columnAlignment - 1) / columnAlignment * columnAlignment

// split scatters the rows of a set again, by fresh bits of another hash, and aggregates the parts:
// the set has more rows than the area takes, and more groups than a table in it, or folds that sort.
// A part that is still too large is fed to a table; when that is full, or folds sort, all of the set
// is the CPU's.
func (a *area) split(ctx context.Context, set []int, in *pieces, rows int64,
	emit func(context.Context, *Groups) error) (err error) {
	d := a.device
	r := d.run
	radix := min(bits.Len64(uint64(rows/a.layout.rows.capacity))+1, splitBitsMax)
	half := a.half()
	var blocks []*block
	var parts []*Groups
	defer func() {
		for _, b := range blocks {
			if err != nil {
				b.abandon()
			}
			err = errors.Join(err, b.release())
		}
		for _, g := range parts {
			err = errors.Join(err, g.Release())
		}
	}()
	invariants.Sometimes("stream: a set of partitions is split")
	r.count(func(c *Counters) { c.Split++ })
	for left := rows; left > 0; {
		n := min(left, half.capacity)
		var b *block
		if n > 0 {
			b, err = a.scatterAgain(in, n, &half, radix)
		}
		if n == 0 || errors.Is(err, kernels.ErrPinnedLimit) {
			invariants.Sometimes("stream: pinned memory has no room for a split")
			return a.giveAll(blocks, in, left)
		}
		if b != nil {
			blocks = append(blocks, b)
		}
		if err != nil {
			return err
		}
		left -= n
	}
	sizes := sizesOf(blocks, 1<<radix)
	onCPU := false
	if r.waiting.Sorts() && slices.Max(sizes) > a.layout.rows.capacity {
		invariants.Sometimes("stream: a group is too large to be sorted")
		return a.giveAll(blocks, in, 0)
	}
	for _, sub := range r.merge(sizes, a.layout.rows.capacity) {
		rows := sumOf(sizes, sub)
		g, err := a.groupsOf(&pieces{blocks: blocks, ranges: rangesOf(sub)}, rows)
		if err != nil {
			return err
		}
		if g == nil {
			onCPU = true
			continue
		}
		g.Partitions, g.Rows = set, rows
		parts = append(parts, g)
	}
	if onCPU {
		r.countOnCPU()
	}
	return r.passParts(ctx, &parts, onCPU, emit)
}

// passParts emits the groups of the parts of a set, or gives them to the CPU where it has a part of
// the set. It removes groups from parts as it passes them on, also the ones that give an error.
func (r *Run) passParts(ctx context.Context, parts *[]*Groups, onCPU bool,
	emit func(context.Context, *Groups) error) (err error) {
	all := len(*parts)
	for len(*parts) > 0 {
		g := (*parts)[0]
		*parts = (*parts)[1:]
		if onCPU {
			err = r.giveStates(g)
		} else {
			g.Parts = &all
			err = taken(emit(ctx, g))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scatterAgain scatters n rows of a set to a block in pinned memory. Where the block was made, it
// is returned with an error, too.
func (a *area) scatterAgain(in *pieces, n int64, half *layout, radix int) (*block, error) {
	d := a.device
	o := &d.run.opt
	d.mu.Lock()
	b, err := d.makeBlock(n, radix, false)
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.closeMarks() }()
	loaded, into := half.rows(a.memory, 0, n), half.rows(a.memory, half.bytes, n)
	offsets := a.scratchAt()
	host := a.host[:8<<radix+8]
	copies := append(b.copiesOut(kernels.Span{Buffer: a.memory, Offset: half.bytes}, half, 0),
		kernels.Copy{Device: offsets, Host: host, Out: true})
	err = firstError(
		func() error { return a.load(in, n, half) },
		func() error {
			return a.stream.Scatter(d.run.waiting.Shape, &loaded, partition.Seed(1)^o.Seed, radix, &into,
				offsets, offsets.At(offsetsBytes(radix)))
		},
		func() error { return a.mark(2) },
		func() error { return a.stream.CopyBatch(copies) },
		func() error { return a.mark(3) },
	)
	if err = errors.Join(err, d.finish(a.stream)); err != nil {
		return b, err
	}
	d.bytesOut.Add(copiedBytes(copies))
	_ = a.note("split")
	b.setOffsets(host)
	return b, nil
}

// giveAll gives the rows of a set to the CPU: the rows of blocks, and the rows that are left of in.
func (a *area) giveAll(blocks []*block, in *pieces, left int64) error {
	a.device.run.countOnCPU()
	for _, b := range blocks {
		for at := int64(0); at < b.rows; at += piecesRows {
			if err := b.giveRows(at, min(at+piecesRows, b.rows)); err != nil {
				return err
			}
		}
	}
	return a.device.run.takePieces(in, left)
}
