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
	of       *Build
	isFirst  bool // one partner of each row is returned
	hashes   []uint64
	numbers  []uint32
	known    []uint64 // keys of the tile that Build.has
	places   []uint32 // rows of the tile with these keys
	from, to []uint32 // of each row of the tile: its partners' places in Build.rows
	rows     int      // of the tile
	row      int      // of the tile: the first whose pairs are not returned
	least    []uint64 // by row of the tile: the least reach of partners; nil of none
	step     int      // partners of a row that nextBest returns at a time
	left     bool     // nextBest has left partners of a row before row
}

// NewProber returns a prober of a build side that is finished. isFirst is for callers who want one partner of each
// row.
func (b *Build) NewProber(isFirst bool) *Prober {
	return &Prober{
		of: b, isFirst: isFirst, hashes: make([]uint64, rowdata.TileRows),
		numbers: make([]uint32, rowdata.TileRows),
		from:    make([]uint32, rowdata.TileRows), to: make([]uint32, rowdata.TileRows),
	}
}

// rowsOf returns the places of the rows of a key.
func (b *Build) rowsOf(number uint32) (from, to uint32) {
	switch {
	case number == table.Missing:
		return 0, 0
	case b.first == nil:
		return number, number + 1
	}
	return b.first[number], b.first[number+1]
}

// Begin looks up packed keys. bounds are of a Build with Ranges.
// Requires: at most rowdata.TileRows rows.
func (p *Prober) Begin(keys []uint64, rows int, bounds *Bounds) {
	p.find(keys, rows)
	p.least = nil
	if p.of.values != nil {
		p.narrow(bounds)
		p.least = bounds.Reach
	}
	p.step, p.left = 1, false
	from, to := p.from[:rows], p.to[:rows]
	switch {
	case !p.isFirst || p.least != nil:
	case p.of.ranges.Best:
		for i := range from {
			from[i] = max(from[i], max(to[i], 1)-1)
		}
	default:
		for i := range from {
			to[i] = min(to[i], from[i]+1)
		}
	}
}

// find looks up packed keys.
func (p *Prober) find(keys []uint64, rows int) {
	b := p.of
	p.rows, p.row = rows, 0
	from, to := p.from[:rows], p.to[:rows]
	switch {
	case len(b.rows) == 0:
		clear(from)
		clear(to)
	case b.set == nil: // keys are numbers
		for i, k := range keys[:rows] {
			from[i], to[i] = b.first[k], b.first[k+1]
		}
	case b.has != nil:
		clear(from)
		clear(to)
		known, places := p.known[:0], p.places[:0]
		for i, k := range keys[:rows] {
			if b.has[k>>6]>>(k&63)&1 != 0 {
				known, places = append(known, k), append(places, uint32(i))
			}
		}
		n := len(known)
		b.set.LookUp(known, p.hashes[:n], p.numbers[:n])
		for i, number := range p.numbers[:n] {
			from[places[i]], to[places[i]] = b.rowsOf(number)
		}
		p.known, p.places = known, places
	default:
		b.set.LookUp(keys, p.hashes[:rows], p.numbers[:rows])
		for i, number := range p.numbers[:rows] {
			from[i], to[i] = b.rowsOf(number)
		}
	}
}

// Next adds the next pairs to a list, until that has `most` pairs, or fewer of Ranges.Best. The first row of the tile
// is row `base` of the probe side. It returns false once all pairs were added. done says, of Ranges.Best, which rows of
// the probe side need no further partner; it may be nil.
func (p *Prober) Next(pairs *Pairs, base uint32, most int, done func(row uint32) bool) (more bool) {
	switch {
	case p.of.ranges.Best && done != nil:
		return p.nextBest(pairs, base, most, done)
	case p.least != nil:
		return p.nextReach(pairs, base, most)
	}
	rows := p.of.rows
	for ; p.row < p.rows; p.row++ {
		left := most - len(pairs.Probe)
		if left <= 0 {
			return true
		}
		from, to := p.from[p.row], p.to[p.row]
		if from == to {
			continue
		}
		if to-from == 1 {
			pairs.Probe = append(pairs.Probe, base+uint32(p.row))
			pairs.Build = append(pairs.Build, rows[from])
			continue
		}
		n := min(to-from, uint32(left))
		for range n {
			pairs.Probe = append(pairs.Probe, base+uint32(p.row))
		}
		pairs.Build = append(pairs.Build, rows[from:from+n]...)
		if n < to-from {
			p.from[p.row] += n
			return true
		}
	}
	return false
}

// Test sets the bit of each row of a tile whose key is the build side's, from bit base on. It looks up no rows: Begin
// and Next may be in the middle of another tile.
// Requires: at most rowdata.TileRows rows; the bits are 0.
func (p *Prober) Test(keys []uint64, rows int, bits []byte, base int) {
	b := p.of
	set := func(i int, bit uint64) { bits[(base+i)>>3] |= byte(bit << ((base + i) & 7)) }
	switch {
	case len(b.rows) == 0:
	case b.set == nil: // keys are numbers
		for i, k := range keys[:rows] {
			if k < uint64(len(b.first)-1) && b.first[k] != b.first[k+1] {
				set(i, 1)
			}
		}
	case b.has != nil:
		keys := keys[:rows]
		if base&7 == 0 {
			for ; len(keys) >= 8; keys, base = keys[8:], base+8 {
				bits[base>>3] = b.hasEight((*[8]uint64)(keys))
			}
		}
		for i, k := range keys {
			set(i, b.hasKey(k))
		}
	default:
		b.set.LookUp(keys, p.hashes[:rows], p.numbers[:rows])
		for i, number := range p.numbers[:rows] {
			if number != table.Missing {
				set(i, 1)
			}
		}
	}
}

// hasKey returns 1 where Build.has has a key, else 0.
func (b *Build) hasKey(k uint64) uint64 {
	if at := k >> 6; at < uint64(len(b.has)) {
		return b.has[at] >> (k & 63) & 1
	}
	return 0
}

// hasEight returns a bit for each of eight keys.
func (b *Build) hasEight(keys *[8]uint64) (bits byte) {
	for i, k := range keys {
		bits |= byte(b.hasKey(k) << i)
	}
	return bits
}

// testedMost is the most keys of a table that is looked up fast: within the caches of a core.
const testedMost = 1 << 16

// IsTestFast reports whether Test takes little time beside the reading of a row.
// Requires: Finish was called.
func (b *Build) IsTestFast() bool { return b.set == nil || b.has != nil || len(b.rows) <= testedMost }
