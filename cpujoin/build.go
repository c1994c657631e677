package cpujoin

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/table"
)

// partBits is how many bits of a hash divide the rows in parts, where several workers make tables: parts of their
// number are too large to keep some worker busy alone.
const partBits = 6

// Build is the build side of a join: the rows that are found by their keys.
type Build struct {
	layout *rowdata.KeyLayout
	memory rowdata.Memory
	bits   int
	byKey  bool // parts divide keys of one word by their highest bits, not by the bits of their hashes
	ranges Ranges

	mu      sync.Mutex
	workers []*Worker

	set   *table.Set // nil before Finish, and where keys are numbers
	has   []uint64   // a bit for each key that there can be: whether the set has it; nil where keys have many bits
	first []uint32   // by number: where its rows begin in rows, and one more; nil where each number has one row
	words []uint64   // first's
	rows  []uint64

	repeats atomic.Bool // some rows have the same key

	values []uint64   // by place in rows: rising for the rows of a key; nil of no ranges
	reach  [][]uint64 // by place in rows, and levels above (makeReach); nil of none
}

// NewBuild returns a build side that a number of workers make.
func NewBuild(m rowdata.Memory, layout *rowdata.KeyLayout, ranges Ranges, workers int) *Build {
	b := &Build{layout: layout, memory: m, ranges: ranges, byKey: areFew(layout)}
	if workers > 1 && layout.Words > 0 {
		b.bits = partBits
	}
	if b.byKey {
		b.bits = min(b.bits, layout.Bits)
	}
	return b
}

// directBitsMax is the widest key that may be a place in a list of all keys that there can be: 2^27 keys take 512 MiB,
// and a list is made where it takes no more than tables would (directRows).
const directBitsMax = 27

// areFew says whether there can be few keys of a layout.
func areFew(l *rowdata.KeyLayout) bool { return l.Words == 1 && l.Bits <= directBitsMax }

// Build.has takes up to hasBytes for each row, or hasFew for each of few rows: then it takes up to hasFewMax.
const (
	hasBytes  = 32
	hasFew    = 512
	hasFewMax = 1 << 20
)

// hasBytesMax returns the most bytes that Build.has takes for a number of rows.
func hasBytesMax(rows int) int { return max(hasBytes*rows, min(hasFew*rows, hasFewMax)) }

// A list of all keys has up to directRows places for each row, as a table has slots, or directFew for each of few rows:
// then it has up to directFewMax.
const (
	directRows   = 8
	directFew    = 512
	directFewMax = 1 << 18
)

// directMax returns the most places that a list of all keys has for a number of rows.
func directMax(rows int) int { return max(directRows*rows, min(directFew*rows, directFewMax)) }

// Worker adds rows to a build side.
type Worker struct {
	of     *Build
	parts  []part
	hashes []uint64
}

// part is rows of one worker whose hashes begin with the same bits.
type part struct {
	keys   []uint64 // packed; with room to grow
	rows   []uint64 // one for each key
	values []uint64 // Ranges.Words for each key
	len    int
}

// NewWorker returns a worker.
func (b *Build) NewWorker() *Worker {
	w := &Worker{of: b, parts: make([]part, 1<<b.bits), hashes: make([]uint64, rowdata.TileRows)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workers = append(b.workers, w)
	return w
}

// Add adds rows first, first+1 and so on by their packed keys, but for rows for which skip, which may be nil, is 1.
// values has a list for each of Ranges.Words. Strings of keys stay where they are until the Build is released.
// Requires: at most rowdata.TileRows rows.
func (w *Worker) Add(keys []uint64, rows int, first uint64, skip []uint8, values [][]uint64) {
	l := w.of.layout
	names, shift := w.hashes[:rows], uint(64-w.of.bits) // of parts
	if w.of.byKey {
		names, shift = keys[:rows], uint(l.Bits-w.of.bits)
	} else {
		table.Hash(l, keys, seed, names)
	}
	for i, name := range names {
		if skip != nil && skip[i] != 0 {
			continue
		}
		p := &w.parts[name>>shift]
		if p.len == len(p.rows) {
			p.grow(w.of.memory, l.Words, len(values))
		}
		copy(p.keys[p.len*l.Words:(p.len+1)*l.Words], keys[i*l.Words:])
		for j, v := range values {
			p.values[p.len*len(values)+j] = v[i]
		}
		p.rows[p.len] = first + uint64(i)
		p.len++
	}
}

// Release gives back the keys that were added, which are in no table then.
func (w *Worker) Release() {
	for i := range w.parts {
		w.parts[i].release(w.of.memory)
	}
}

// Growth returns how many bytes the worker takes, at most, to add a number of rows.
func (w *Worker) Growth(rows int) (bytes int64) {
	for i := range w.parts {
		if p := &w.parts[i]; p.len+rows > len(p.rows) {
			bytes += int64(2*max(len(p.rows), min(rows, partRowsFirst))) * int64(w.of.addedBytes())
		}
	}
	return bytes
}

// seed is the seed of all hashes.
const seed = 0

// partRowsFirst is how many rows a part has room for at first.
const partRowsFirst = 512

// grow makes room for more rows.
func (p *part) grow(m rowdata.Memory, width, values int) {
	rows := max(2*len(p.rows), partRowsFirst)
	grown := func(old []uint64, n, used int) []uint64 {
		words := m.Alloc(n)
		copy(words, old[:used])
		m.Free(old)
		return words
	}
	if width > 0 {
		p.keys = grown(p.keys, rows*width, p.len*width)
	}
	if values > 0 {
		p.values = grown(p.values, rows*values, p.len*values)
	}
	p.rows = grown(p.rows, rows, p.len)
}

// release gives the part's memory back.
func (p *part) release(m rowdata.Memory) {
	m.Free(p.keys)
	m.Free(p.rows)
	m.Free(p.values)
	*p = part{}
}

// added returns how many rows were added.
func (b *Build) added() (rows int) {
	for _, w := range b.workers {
		for i := range w.parts {
			rows += w.parts[i].len
		}
	}
	return rows
}

// TableBytes returns how many bytes Finish takes, at most, beside the rows that were added.
func (b *Build) TableBytes() int64 {
	rows := b.added()
	bytes := int64(rows) * (RowBytes(b.layout, &b.ranges) - b.addedBytes())
	if areFew(b.layout) {
		bytes += int64(max(hasBytesMax(rows)-hasBytes*rows, 4*(directMax(rows)-directRows*rows)))
	}
	return bytes
}

// addedBytes is what a row takes until Finish.
func (b *Build) addedBytes() int64 { return int64(8 * (b.layout.Words + 1 + b.ranges.Words)) }

// RowBytes returns how many bytes a row takes at most, beside its columns: its key and number until Finish, and then
// its place in the tables.
func RowBytes(l *rowdata.KeyLayout, ranges *Ranges) int64 {
	const slots, numbers, lists, rows = 4 * 8, 4, 4, 2 * 8
	bytes := int64(8*(l.Words+1) + 8*l.Words + slots + numbers + lists + rows)
	if areFew(l) {
		bytes += hasBytes
	}
	if ranges.Words > 0 { // added, in a part, in its place, and, in place of the part, while rows are sorted
		bytes += int64(8 * (3*ranges.Words + 1))
	}
	return bytes
}

// Finish makes the tables, by calls of each with a function for each of n parts.
func (b *Build) Finish(ctx context.Context, each func(ctx context.Context, n int, f func(i int) error) error) error {
	total := b.added()
	if total >= table.Missing {
		return fmt.Errorf("the build side of a join has %d rows, more than %d", total, uint32(table.Missing)-1)
	}
	parts := make([]numbered, 1<<b.bits)
	at := 0
	for i := range parts {
		parts[i].at = at
		for _, w := range b.workers {
			parts[i].len += w.parts[i].len
		}
		at += parts[i].len
	}
	if total > 0 && b.byKey && 1<<b.layout.Bits <= directMax(total) {
		b.makeRows(total)
		b.makeFirst(1 << b.layout.Bits)
		err := each(ctx, len(parts), func(i int) error {
			b.listDirect(&parts[i], i)
			return nil
		})
		b.makeReach()
		return err
	}
	tables := make([]*table.Table, len(parts))
	for i := range parts {
		tables[i] = table.New(b.memory, b.layout, seed, false)
		tables[i].Lent = true
		parts[i].table = tables[i]
	}
	if b.byKey && b.layout.Bits-b.bits >= 6 && 1<<b.layout.Bits/8 <= hasBytesMax(total) { // a part has whole words
		b.has = b.memory.Alloc(1 << (b.layout.Bits - 6))
		clear(b.has)
	}
	err := each(ctx, len(parts), func(i int) error {
		b.number(&parts[i], i)
		return nil
	})
	b.set = table.NewSet(tables, b.bits, seed, b.byKey)
	defer func() {
		for i := range parts {
			parts[i].release(b.memory)
		}
	}()
	if err != nil || total == 0 {
		return err
	}
	b.makeRows(total)
	if keys := b.set.First(len(parts)-1) + tables[len(parts)-1].Len; keys < total {
		b.makeFirst(keys)
	}
	err = each(ctx, len(parts), func(i int) error {
		b.list(&parts[i], b.set.First(i))
		return nil
	})
	b.makeReach()
	return err
}

// makeRows makes room for a number of rows.
func (b *Build) makeRows(rows int) {
	b.rows = b.memory.Alloc(rows)
	if b.ranges.Words > 0 {
		b.values = b.memory.Alloc(rows)
	}
	if b.ranges.Words > 1 {
		b.reach = [][]uint64{b.memory.Alloc(rows)}
	}
}

// put writes a row, with its values, to a place.
func (b *Build) put(at uint32, row uint64, values []uint64) {
	b.rows[at] = row
	if b.values != nil {
		b.values[at] = values[0]
	}
	if b.reach != nil {
		b.reach[0][at] = values[1]
	}
}

// makeFirst makes room for the places of the rows of a number of keys.
func (b *Build) makeFirst(keys int) {
	b.words = b.memory.Alloc(keys/2 + 1)
	clear(b.words)
	b.first = rowdata.View[uint32](b.words)[:keys+1]
}

// Repeats reports whether some rows have the same key.
// Requires: Finish was called.
func (b *Build) Repeats() bool { return b.repeats.Load() }

// numbered is a part of the rows with the number of each row's key.
type numbered struct {
	table   *table.Table
	numbers []uint32
	words   []uint64 // of numbers
	rows    []uint64
	values  []uint64 // Ranges.Words for each row
	len     int
	at      int // in Build.rows
}

// release gives back the rows and what belongs to them.
func (n *numbered) release(m rowdata.Memory) {
	m.Free(n.rows)
	m.Free(n.words)
	m.Free(n.values)
	n.rows, n.words, n.values, n.numbers = nil, nil, nil, nil
}

// number enters the keys of part i of all workers into its table.
func (b *Build) number(n *numbered, i int) {
	if n.len == 0 {
		return
	}
	n.words, n.rows = b.memory.Alloc(n.len/2+1), b.memory.Alloc(n.len)
	n.numbers = rowdata.View[uint32](n.words)[:n.len]
	hashes := make([]uint64, rowdata.TileRows)
	n.table.Reserve(n.len)
	if b.ranges.Words > 0 {
		n.values = b.memory.Alloc(n.len * b.ranges.Words)
	}
	at, width := 0, b.layout.Words
	for _, w := range b.workers {
		p := &w.parts[i]
		copy(n.rows[at:], p.rows[:p.len])
		copy(n.values[at*b.ranges.Words:], p.values[:p.len*b.ranges.Words])
		if b.has != nil {
			for _, k := range p.keys[:p.len] {
				b.has[k>>6] |= 1 << (k & 63)
			}
		}
		for from := 0; from < p.len; from += rowdata.TileRows {
			rows := min(p.len-from, rowdata.TileRows)
			n.table.Find(p.keys[from*width:(from+rows)*width], hashes[:rows], n.numbers[at:at+rows])
			at += rows
		}
		p.release(b.memory)
	}
}

// list writes the rows of a part, by their numbers.
func (b *Build) list(n *numbered, first int) {
	width := b.ranges.Words
	if b.first == nil { // numbers count up
		for i, row := range n.rows[:n.len] {
			b.put(uint32(n.at+i), row, n.values[i*width:(i+1)*width])
		}
		return
	}
	ends := b.first[first+1 : first+1+n.table.Len]
	for _, k := range n.numbers {
		ends[k]++
	}
	b.countsToStarts(ends, n.at)
	for i, k := range n.numbers {
		b.put(ends[k], n.rows[i], n.values[i*width:(i+1)*width])
		ends[k]++
	}
	n.release(b.memory)
	b.sortKeys(n.at, first, n.table.Len)
}

// listDirect writes the rows of part i of all workers, by their keys, which are their numbers.
func (b *Build) listDirect(n *numbered, i int) {
	keys := 1 << (b.layout.Bits - b.bits)
	low := uint64(i * keys)
	ends := b.first[int(low)+1 : int(low)+1+keys]
	for _, w := range b.workers {
		for _, k := range w.parts[i].keys[:w.parts[i].len] {
			ends[k-low]++
		}
	}
	b.countsToStarts(ends, n.at)
	width := b.ranges.Words
	for _, w := range b.workers {
		p := &w.parts[i]
		for j, k := range p.keys[:p.len] {
			b.put(ends[k-low], p.rows[j], p.values[j*width:(j+1)*width])
			ends[k-low]++
		}
		p.release(b.memory)
	}
	b.sortKeys(n.at, int(low), keys)
}

// countsToStarts makes of the number of rows of each key where the first of them lies. Each row that is written moves
// that on, to where the next key's rows begin.
func (b *Build) countsToStarts(counts []uint32, first int) {
	next, most := uint32(first), uint32(0)
	for k, n := range counts {
		counts[k] = next
		next += n
		most = max(most, n)
	}
	if most > 1 {
		b.repeats.Store(true)
	}
}

// Release gives back what the build side holds.
// Requires: no worker and no Prober uses it any more.
func (b *Build) Release() {
	for _, w := range b.workers {
		w.Release()
	}
	if b.set != nil {
		b.set.Release()
	}
	b.memory.Free(b.rows)
	b.memory.Free(b.words)
	b.memory.Free(b.has)
	b.memory.Free(b.values)
	for _, level := range b.reach {
		b.memory.Free(level)
	}
	b.rows, b.words, b.first, b.has, b.values, b.reach = nil, nil, nil, nil, nil, nil
}
