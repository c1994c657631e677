package stream

import (
	"errors"

	"github.com/mpga/mpga/kernels"
)

// pieces goes through the rows of a set of partitions, block by block.
type pieces struct {
	blocks []*block
	ranges [][2]int // of neighbouring partitions, half open
	block  int      // index of the block that is read
	at     int      // index of the range that is read
	row    int64    // rows of the range that were taken from the block
}

// piece is rows from to to of a block.
type piece struct {
	block    *block
	from, to int64
}

// take returns the next pieces, of n rows in all.
//
// Requires: n rows are left.
func (p *pieces) take(n int64) (list []piece) {
	for n > 0 {
		b := p.blocks[p.block]
		from, to := b.offsets[p.ranges[p.at][0]]+p.row, b.offsets[p.ranges[p.at][1]]
		if take := min(to-from, n); take > 0 {
			list = append(list, piece{b, from, from + take})
			p.row += take
			n -= take
		}
		if from == to || p.row == to-b.offsets[p.ranges[p.at][0]] {
			p.next()
		}
	}
	return list
}

// next goes on to the next range, or to the next block.
func (p *pieces) next() {
	p.row = 0
	if p.at++; p.at == len(p.ranges) {
		p.at = 0
		p.block++
	}
}

// load gathers n rows in a layout, with marks before and behind, and waits until they are there.
// Areas load one after the other: areas that shared the link would then aggregate, and copy out, at
// one time, too.
func (a *area) load(in *pieces, n int64, l *layout) error {
	a.device.loads.Lock()
	defer a.device.loads.Unlock()
	err := a.stream.together(func() error { return errors.Join(a.mark(0), a.loadTo(in, n, l), a.mark(1)) })
	if err != nil {
		return err
	}
	return a.marks[1].Wait()
}

// loadTo gathers n rows in a layout: pieces from the host in one batch of copies, pieces on the
// device one by one. The host puts bitmaps together, where no stream reads them any more.
func (a *area) loadTo(in *pieces, n int64, l *layout) error {
	d := a.device
	var copies []kernels.Copy
	var bytes int64
	stripes := l.stripes()
	bits := a.host[areaHeadBytes:]
	base := l.bitmaps
	clear(bits[:min(int64(len(bits)), l.bytes-base)])
	done := int64(0)
	for _, p := range in.take(n) {
		rows := p.to - p.from
		of := p.block.layout.stripes()
		for i, to := range stripes {
			at := kernels.Span{Buffer: a.memory, Offset: to.offset + done*to.width}
			from, size := of[i].offset+p.from*to.width, rows*to.width
			if p.block.buffer != nil {
				if err := a.stream.CopyWithin(at, kernels.Span{Buffer: p.block.buffer, Offset: from}, size); err != nil {
					return err
				}
				continue
			}
			copies = append(copies, kernels.Copy{Device: at, Host: p.block.host[from : from+size]})
			bytes += size
		}
		for c, at := range l.valid {
			if at >= 0 {
				copyBits(wordsOf[uint32](bits[at-base:]), done, p.block.valid(c), p.from, rows)
			}
		}
		done += rows
	}
	for _, at := range l.valid {
		if at >= 0 {
			host := bits[at-base:][:kernels.BitmapBytes(n)]
			copies = append(copies, kernels.Copy{Device: kernels.Span{Buffer: a.memory, Offset: at}, Host: host})
			bytes += int64(len(host))
		}
	}
	d.bytesIn.Add(bytes)
	return a.stream.CopyBatch(copies)
}

// takePieces gives the last n rows of a set to the CPU, piece by piece.
func (r *Run) takePieces(in *pieces, n int64) error {
	for n > 0 {
		p := in.take(min(n, piecesRows))
		for _, p := range p {
			if err := p.block.giveRows(p.from, p.to); err != nil {
				return err
			}
			n -= p.to - p.from
		}
	}
	return nil
}

// piecesRows is how many rows are given to the CPU at a time.
const piecesRows = 1 << 20

// giveRows gives rows of a block to the CPU.
func (b *block) giveRows(from, to int64) error {
	d := b.device
	n := to - from
	l := d.run.waiting.layout(n)
	host := make([]byte, l.bytes)
	of := b.layout.stripes()
	var copies []kernels.Copy
	for i, p := range l.stripes() {
		out, at := host[p.offset:p.offset+n*p.width], of[i].offset+from*p.width
		if b.buffer == nil {
			copy(out, b.host[at:])
			continue
		}
		copies = append(copies, kernels.Copy{Device: kernels.Span{Buffer: b.buffer, Offset: at}, Host: out, Out: true})
	}
	for c, at := range l.valid {
		if at >= 0 {
			copyBits(wordsOf[uint32](host[at:at+kernels.BitmapBytes(n)]), 0, b.valid(c), from, n)
		}
	}
	if len(copies) > 0 {
		s, err := d.guard.newStream()
		if err != nil {
			return err
		}
		if err := errors.Join(d.copyOut(s, copies), s.Close()); err != nil {
			return err
		}
	}
	return taken(d.run.takeWaiting(hostTile(&l, host, n)))
}
