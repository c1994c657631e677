package cpujoin

import (
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/table"
)

// Pairs are pairs of rows, in the order of the probe side.
type Pairs struct {
	Probe []uint32 // rows of the tile
	Build []uint64
}

// Reset leaves no pair.
func (p *Pairs) Reset() { p.Probe, p.Build = p.Probe[:0], p.Build[:0] }

// Prober looks up rows of the probe side.
type Prober struct {
	of      *Build
	isFirst bool // one partner of each row is returned
	hashes  []uint64
	numbers []uint32
	rows    int // of the tile
	row     int // of the tile: the first whose pairs are not returned
	within  int // pairs of this row that were returned
}

// NewProber returns a prober of a build side that is finished. isFirst is for callers who want one partner of each
// row.
func (b *Build) NewProber(isFirst bool) *Prober {
	return &Prober{
		of: b, isFirst: isFirst, hashes: make([]uint64, rowdata.TileRows), numbers: make([]uint32, rowdata.TileRows),
	}
}

// Begin looks up packed keys.
// Requires: at most rowdata.TileRows rows.
func (p *Prober) Begin(keys []uint64, rows int) {
	p.rows, p.row, p.within = rows, 0, 0
	p.of.set.LookUp(keys, p.hashes[:rows], p.numbers[:rows])
}

// Next adds the next pairs to a list, until that has `most` pairs. The first row of the tile is row `base` of the
// probe side. It returns false once all pairs were added.
func (p *Prober) Next(pairs *Pairs, base uint32, most int) (more bool) {
	b := p.of
	for ; p.row < p.rows; p.row++ {
		if len(pairs.Probe) >= most {
			return true
		}
		number := p.numbers[p.row]
		if number == table.Missing {
			continue
		}
		if b.first == nil {
			pairs.Probe = append(pairs.Probe, base+uint32(p.row))
			pairs.Build = append(pairs.Build, b.rows[number])
			continue
		}
		from, to := int(b.first[number])+p.within, int(b.first[number+1])
		if p.isFirst {
			to = from + 1
		}
		n := min(to-from, most-len(pairs.Probe))
		for range n {
			pairs.Probe = append(pairs.Probe, base+uint32(p.row))
		}
		pairs.Build = append(pairs.Build, b.rows[from:from+n]...)
		if n < to-from {
			p.within += n
			return true
		}
		p.within = 0
	}
	return false
}
