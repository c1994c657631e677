package cpujoin

import (
	"context"
	"fmt"
	"slices"
	"sync"

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

	mu      sync.Mutex
	workers []*Worker

	set   *table.Set // nil before Finish
	first []uint32   // by number: where its rows begin in rows, and one more; nil where each number has one row
	words []uint64   // first's
	rows  []uint64
}

// NewBuild returns a build side that a number of workers make.
func NewBuild(m rowdata.Memory, layout *rowdata.KeyLayout, workers int) *Build {
	b := &Build{layout: layout, memory: m}
	if workers > 1 && layout.Words > 0 {
		b.bits = partBits
	}
	return b
}

// Worker adds rows to a build side.
type Worker struct {
	of     *Build
	parts  []part
	hashes []uint64
}

// part is rows of one worker whose hashes begin with the same bits.
type part struct {
	keys []uint64 // packed; with room to grow
	rows []uint64 // one for each key
	len  int
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
// Strings of keys stay where they are until the Build is released.
// Requires: at most rowdata.TileRows rows.
func (w *Worker) Add(keys []uint64, rows int, first uint64, skip []uint8) {
	l := w.of.layout
	hashes := w.hashes[:rows]
	table.Hash(l, keys, seed, hashes)
	shift := uint(64 - w.of.bits)
	for i, h := range hashes {
		if skip != nil && skip[i] != 0 {
			continue
		}
		p := &w.parts[h>>shift]
		if p.len == len(p.rows) {
			p.grow(w.of.memory, l.Words)
		}
		copy(p.keys[p.len*l.Words:(p.len+1)*l.Words], keys[i*l.Words:])
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
			bytes += int64(2*max(len(p.rows), min(rows, partRowsFirst))) * int64(8*(w.of.layout.Words+1))
		}
	}
	return bytes
}

// seed is the seed of all hashes.
const seed = 0

// partRowsFirst is how many rows a part has room for at first.
const partRowsFirst = 512

// grow makes room for more rows.
func (p *part) grow(m rowdata.Memory, width int) {
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
	p.rows = grown(p.rows, rows, p.len)
}

// release gives the part's memory back.
func (p *part) release(m rowdata.Memory) {
	m.Free(p.keys)
	m.Free(p.rows)
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
	return int64(b.added()) * (RowBytes(b.layout) - int64(8*(b.layout.Words+1)))
}

// RowBytes returns how many bytes a row takes at most, beside its columns: its key and number until Finish, and then
// its place in the tables.
func RowBytes(l *rowdata.KeyLayout) int64 {
	const slots, numbers, lists, rows = 4 * 8, 4, 4, 2 * 8
	return int64(8*(l.Words+1) + 8*l.Words + slots + numbers + lists + rows)
}

// Finish makes the tables, by calls of each with a function for each of n parts.
func (b *Build) Finish(ctx context.Context, each func(ctx context.Context, n int, f func(i int) error) error) error {
	total := b.added()
	if total >= table.Missing {
		return fmt.Errorf("the build side of a join has %d rows, more than %d", total, uint32(table.Missing)-1)
	}
	parts := make([]numbered, 1<<b.bits)
	tables := make([]*table.Table, len(parts))
	for i := range parts {
		tables[i] = table.New(b.memory, b.layout, seed, false)
		tables[i].Lent = true
		parts[i].table = tables[i]
	}
	err := each(ctx, len(parts), func(i int) error {
		b.number(&parts[i], i)
		return nil
	})
	b.set = table.NewSet(tables, b.bits, seed)
	defer func() {
		for i := range parts {
			b.memory.Free(parts[i].rows)
			b.memory.Free(parts[i].words)
		}
	}()
	if err != nil || total == 0 {
		return err
	}
	b.rows = b.memory.Alloc(total)
	keys := b.set.First(len(parts)-1) + tables[len(parts)-1].Len
	if keys < total {
		b.words = b.memory.Alloc(keys/2 + 1)
		clear(b.words)
		b.first = rowdata.View[uint32](b.words)[:keys+1]
		b.first[keys] = uint32(total)
	}
	at := 0
	for i := range parts {
		parts[i].at = at
		at += parts[i].len
	}
	return each(ctx, len(parts), func(i int) error {
		b.list(&parts[i], b.set.First(i))
		return nil
	})
}

// numbered is a part of the rows with the number of each row's key.
type numbered struct {
	table   *table.Table
	numbers []uint32
	words   []uint64 // of numbers
	rows    []uint64
	len     int
	at      int // in Build.rows
}

// number enters the keys of part i of all workers into its table.
func (b *Build) number(n *numbered, i int) {
	for _, w := range b.workers {
		n.len += w.parts[i].len
	}
	if n.len == 0 {
		return
	}
	n.words, n.rows = b.memory.Alloc(n.len/2+1), b.memory.Alloc(n.len)
	n.numbers = rowdata.View[uint32](n.words)[:n.len]
	hashes := make([]uint64, rowdata.TileRows)
	n.table.Reserve(n.len)
	at, width := 0, b.layout.Words
	for _, w := range b.workers {
		p := &w.parts[i]
		copy(n.rows[at:], p.rows[:p.len])
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
	rows := b.rows[n.at : n.at+n.len]
	if b.first == nil { // numbers count up
		copy(rows, n.rows[:n.len])
		return
	}
	starts := b.first[first : first+n.table.Len]
	for _, k := range n.numbers {
		starts[k]++
	}
	next := uint32(0)
	for k, count := range starts {
		starts[k] = next
		next += count
	}
	ends := slices.Clone(starts)
	for i, k := range n.numbers {
		rows[ends[k]] = n.rows[i]
		ends[k]++
	}
	for k := range starts {
		starts[k] += uint32(n.at)
	}
}

// Rows returns how many rows can be found.
func (b *Build) Rows() int { return len(b.rows) }

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
	b.rows, b.words, b.first = nil, nil, nil
}
