package stream

import (
	"errors"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
)

// block is the rows of a tile by partition: on the device, or in the host. Bitmaps are always in
// the host, which puts their pieces together bit by bit.
type block struct {
	device  *device
	layout  layout // of exactly the block's rows
	rows    int64
	offsets []int64        // partition p has the rows from offsets[p] to offsets[p+1]
	buffer  kernels.Buffer // nil of a block in the host
	host    []byte         // columns and bitmaps at their offsets; of a block on the device, bitmaps alone
	bitmaps int64          // where host begins in the layout
	pinned  kernels.Pinned // holds host; nil where host is empty
}

// newBlock takes memory for a block that waits for the second phase: on the device while there is
// room. Requires: the device's lock is held.
func (d *device) newBlock(rows int64, radix int) (*block, error) {
	r := d.run
	n := r.waiting.layout(rows).bytes
	keep := len(r.devices) == 1 && d.table == nil && d.kept+n <= d.limit/8*keepShare && d.used+n <= d.limit
	b, err := d.makeBlock(rows, radix, keep)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks = append(r.blocks, b)
	if b.buffer != nil {
		invariants.Sometimes("stream: a block of partitions stays on the device")
		d.kept += b.layout.bytes
		r.counters.KeptBytes += b.layout.bytes
	}
	r.counters.HostBytes += int64(len(b.host))
	return b, nil
}

// makeBlock takes memory for a block, on the device if the block is to stay there and there is
// room. Requires: the device's lock is held.
func (d *device) makeBlock(rows int64, radix int, keep bool) (*block, error) {
	b := &block{device: d, layout: d.run.waiting.layout(rows), rows: rows, offsets: make([]int64, 1<<radix+1)}
	n := b.layout.bytes
	if keep {
		if err := d.alloc(&b.buffer, n); err != nil && !errors.Is(err, kernels.ErrOutOfMemory) {
			return nil, err
		}
	}
	if b.buffer != nil {
		b.bitmaps = b.layout.bitmaps
		n -= b.bitmaps
	}
	var err error
	if n > 0 {
		if b.pinned, err = d.guard.allocPinned(n); err != nil {
			return nil, errors.Join(err, d.freeBuffer(&b.buffer))
		}
		b.host = b.pinned.Bytes()
	}
	return b, nil
}

// copiesOut returns the copies to the block's host memory from rows of a layout in device memory,
// from the first row on, whose bits begin a word.
func (b *block) copiesOut(from kernels.Span, l *layout, first int64) []kernels.Copy {
	var copies []kernels.Copy
	add := func(at, offset, bytes int64) {
		if bytes > 0 {
			copies = append(copies, kernels.Copy{Device: from.At(at), Host: b.host[offset-b.bitmaps:][:bytes], Out: true})
		}
	}
	if b.buffer == nil {
		of := l.stripes()
		for i, p := range b.layout.stripes() {
			add(of[i].offset+first*p.width, p.offset, b.rows*p.width)
		}
	}
	for c, offset := range b.layout.valid {
		if offset >= 0 {
			add(l.valid[c]+first/8, offset, kernels.BitmapBytes(b.rows))
		}
	}
	return copies
}

// setOffsets takes the offsets of a scatter.
func (b *block) setOffsets(words []byte) {
	for p, w := range wordsOf[uint64](words) {
		b.offsets[p] = int64(w)
	}
}

// valid returns the bitmap of a column, or nil.
func (b *block) valid(column int) []uint32 {
	at := b.layout.valid[column]
	if at < 0 {
		return nil
	}
	return wordsOf[uint32](b.host[at-b.bitmaps:][:kernels.BitmapBytes(b.rows)])
}

// abandon lets the streams have the block's host memory until they are closed: after an error a
// stream may still write it.
func (b *block) abandon() {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	b.device.orphan(b.pinned)
	b.pinned, b.host = nil, nil
}

func (b *block) release() error {
	d := b.device
	d.mu.Lock()
	defer d.mu.Unlock()
	return failure(errors.Join(d.freeBuffer(&b.buffer), freePinned(&b.pinned)))
}
