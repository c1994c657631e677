package cpujoin

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/mpga/mpga/internal/rowdata"
)

// Ranges says what the rows of a key are found by, beside the key. Values are words that compare as they do.
type Ranges struct {
	Words int  // values of a row: none, the one that a key's rows are sorted by, or that and its reach
	Best  bool // of a row's partners, the one of the greatest value comes first, then the next

	// Compare orders rows of the build side that have equal values. nil: these are equal.
	Compare func(a, b uint64) int
}

// Bounds are what values of partners are held to, by row of a tile of the probe side.
type Bounds struct {
	Low, High []uint64 // the first and the last value; a row whose Low is above its High has no partner
	Reach     []uint64 // the least reach; nil of Ranges without

	// Compare compares a row of the tile with a row of the build side whose value is High. nil: these are equal.
	Compare func(row int, found uint64) int
}

// bounded is a row while rows of a key are sorted.
type bounded struct{ value, row, reach uint64 }

// boundedWords is how many words a row takes while it is sorted.
const boundedWords = 3

// sortKeys sorts the rows that a part has listed, each key's by their values: keys [first, first+keys), whose rows
// begin in place at. Other parts may be at work.
func (b *Build) sortKeys(at, first, keys int) {
	if b.ranges.Words == 0 {
		return
	}
	ends := b.first[first+1 : first+1+keys] // the word before is written by the part before
	most := 0
	for from, k := uint32(at), 0; k < keys; from, k = ends[k], k+1 {
		if n := int(ends[k] - from); n > most && !b.isSorted(from, ends[k]) {
			most = n
		}
	}
	if most == 0 {
		return
	}
	words := b.memory.Alloc(most * boundedWords)
	defer b.memory.Free(words)
	room := rowdata.View[bounded](words)
	for from, k := uint32(at), 0; k < keys; from, k = ends[k], k+1 {
		if !b.isSorted(from, ends[k]) {
			b.sortRows(from, ends[k], room)
		}
	}
}

// isSorted says whether rows in places [from, to) have rising values, and equal ones an order.
func (b *Build) isSorted(from, to uint32) bool {
	for i := from + 1; i < to; i++ {
		if b.compare(bounded{value: b.values[i-1], row: b.rows[i-1]}, bounded{value: b.values[i], row: b.rows[i]}) > 0 {
			return false
		}
	}
	return true
}

// compare orders rows of a key: equal ones by their numbers.
func (b *Build) compare(x, y bounded) int {
	if c := cmp.Compare(x.value, y.value); c != 0 {
		return c
	}
	if b.ranges.Compare != nil {
		if c := b.ranges.Compare(x.row, y.row); c != 0 {
			return c
		}
	}
	return cmp.Compare(x.row, y.row)
}

// sortRows sorts the rows in places [from, to), in room for them.
func (b *Build) sortRows(from, to uint32, room []bounded) {
	room = room[:to-from]
	for i := range room {
		at := from + uint32(i)
		room[i] = bounded{value: b.values[at], row: b.rows[at]}
		if b.reach != nil {
			room[i].reach = b.reach[0][at]
		}
	}
	slices.SortFunc(room, b.compare)
	for i, r := range room {
		at := from + uint32(i)
		b.values[at], b.rows[at] = r.value, r.row
		if b.reach != nil {
			b.reach[0][at] = r.reach
		}
	}
}

// reachFan is how many places one word of a level of reaches stands for, of the level below.
const reachFan = 16

// makeReach makes the levels of Build.reach above the first: the greatest reach of reachFan places, of as many of
// these, and so on. It is the tree of an interval tree that is augmented by the ends of its intervals.
func (b *Build) makeReach() {
	if b.reach == nil {
		return
	}
	for below := b.reach[0]; len(below) > reachFan; {
		level := b.memory.Alloc((len(below) + reachFan - 1) / reachFan)
		for i := range level {
			level[i] = slices.Max(below[i*reachFan : min((i+1)*reachFan, len(below))])
		}
		b.reach, below = append(b.reach, level), level
	}
}

// nextReaching returns the first place of [from, to) whose reach is a number at least; to where there is none.
func (b *Build) nextReaching(from, to uint32, least uint64) uint32 {
	at, level := int(from), 0
	for at<<(4*level) < int(to) {
		switch {
		case b.reach[level][at] < least:
			// Up, where the places behind are all below one word.
			for at++; at%reachFan == 0 && level+1 < len(b.reach); level++ {
				at /= reachFan
			}
			if at >= len(b.reach[level]) {
				return to
			}
		case level == 0:
			return uint32(at)
		default:
			at, level = at*reachFan, level-1
		}
	}
	return to
}

// narrow leaves the partners of the tile's rows whose values are within bounds.
func (p *Prober) narrow(bounds *Bounds) {
	b := p.of
	for i := range p.rows {
		from, to := p.from[i], p.to[i]
		if from == to {
			continue
		}
		low, high := bounds.Low[i], bounds.High[i]
		if low > high {
			p.to[i] = from
			continue
		}
		values := b.values[from:to]
		start, end := 0, len(values)
		if low > 0 {
			start = firstAtLeast(values, low)
		}
		if high < math.MaxUint64 {
			end = start + firstAtLeast(values[start:], high+1)
		}
		if bounds.Compare != nil {
			level := start + firstAtLeast(values[start:end], high)
			rows := b.rows[from:to]
			end = level + sort.Search(end-level, func(j int) bool { return bounds.Compare(i, rows[level+j]) < 0 })
		}
		p.from[i], p.to[i] = from+uint32(start), from+uint32(end)
	}
}

// firstAtLeast returns the place of the first of rising values that is not below a number.
func firstAtLeast(values []uint64, least uint64) int {
	at, n := 0, len(values)
	for n > 0 {
		half := n / 2
		if values[at+half] < least {
			at, n = at+half+1, n-half-1
		} else {
			n = half
		}
	}
	return at
}

// nextReach is Next where partners have a least reach.
func (p *Prober) nextReach(pairs *Pairs, base uint32, most int) (more bool) {
	b := p.of
	for ; p.row < p.rows; p.row++ {
		from, to := p.from[p.row], p.to[p.row]
		for from < to {
			if len(pairs.Probe) >= most {
				p.from[p.row] = from
				return true
			}
			if from = b.nextReaching(from, to, p.least[p.row]); from == to {
				break
			}
			pairs.Probe, pairs.Build = append(pairs.Probe, base+uint32(p.row)), append(pairs.Build, b.rows[from])
			if from++; p.isFirst {
				break
			}
		}
	}
	return false
}

// nextBest is Next where the best partners come first: of each row some, and then, of the rows that are not done, twice
// as many.
func (p *Prober) nextBest(pairs *Pairs, base uint32, most int, done func(row uint32) bool) (more bool) {
	for {
		for ; p.row < p.rows; p.row++ {
			from, to := p.from[p.row], p.to[p.row]
			if from == to || done(base+uint32(p.row)) {
				p.to[p.row] = from
				continue
			}
			n := min(to-from, uint32(p.step), uint32(most-len(pairs.Probe)))
			if n == 0 {
				return true
			}
			for at := to; at > to-n; at-- {
				pairs.Probe, pairs.Build = append(pairs.Probe, base+uint32(p.row)), append(pairs.Build, p.of.rows[at-1])
			}
			p.to[p.row] -= n
			p.left = p.left || p.to[p.row] > from
		}
		if !p.left {
			return false
		}
		p.row, p.left, p.step = 0, false, min(2*p.step, stepMost)
		if len(pairs.Probe) > 0 { // whose rows may be done now
			return true
		}
	}
}

// stepMost bounds the partners of a row that are returned before it is asked whether the row is done.
const stepMost = 1 << 12
