package stream

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// Lookups are the build sides of joins whose pairs Decoding.Code makes, row by row. Each device has them for a whole
// run:
//
//	rows of the host -> words, by chunks in pinned memory of tiles -> keys, columns -> BuildTable
//
// so that a row of the probe side meets all of them on its way from page to group.
type lookups struct {
	code   *rowcode.Code
	memory kernels.Buffer

	tables  []kernels.LookupTable
	fetched []kernels.Column
	status  kernels.Span
	valid   []kernels.Span // by table: of its keys
	bytes   int64
}

// layOutLookups says where the lookups of code are in a block of memory. code may be nil.
func layOutLookups(code *rowcode.Code) *lookups {
	l := &lookups{code: code}
	if code == nil || len(code.Lookups) == 0 {
		return l
	}
	take := func(n int64) kernels.Span {
		at := kernels.Span{Offset: l.bytes}
		l.bytes += align(n)
		return at
	}
	for i, of := range code.Lookups {
		rows := of.Rows()
		t := kernels.LookupTable{Rows: rows, Keys: take(8 * rows)}
		l.valid = append(l.valid, take(kernels.BitmapBytes(rows)))
		t.Table.Slots = kernels.JoinTableSlots(rows)
		t.Table.Memory = take(l.joinOf(i, &t).JoinTableBytes(t.Table.Slots))
		l.tables = append(l.tables, t)
	}
	for _, of := range code.Fetched {
		rows := l.tables[of.Lookup].Rows
		column := kernels.Column{Type: kernels.Int64, Values: take(8 * rows), Valid: take(kernels.BitmapBytes(rows))}
		l.fetched = append(l.fetched, column)
	}
	l.status = take(kernels.JoinStatusBytes)
	return l
}

// joinOf is the join whose build side table i has.
func (l *lookups) joinOf(i int, t *kernels.LookupTable) *kernels.Join {
	side := kernels.JoinSide{Count: t.Rows, Keys: t.Keys, Valid: l.valid[i]}
	return &kernels.Join{KeyBytes: 8, Unique: l.code.Lookups[i] != l.code.Each, Build: side}
}

// spans are all places in the memory.
func (l *lookups) spans() (list []*kernels.Span) {
	list = append(list, &l.status)
	for i := range l.tables {
		list = append(list, &l.tables[i].Keys, &l.valid[i], &l.tables[i].Table.Memory)
	}
	for i := range l.fetched {
		list = append(list, &l.fetched[i].Values, &l.fetched[i].Valid)
	}
	return list
}

// lookupsShare: lookups take no more than this part of the memory.
const lookupsShare = 2

// openLookups brings the lookups to the device, by all of its tiles, which are empty.
func (d *device) openLookups() (err error) {
	l := d.lookups
	if l == nil || l.bytes == 0 {
		return nil
	}
	if l.memory, err = d.guard.alloc(l.bytes); err != nil {
		return err
	}
	for _, at := range l.spans() {
		at.Buffer = l.memory
	}
	if err := d.fillLookups(); err != nil {
		return err
	}
	s := d.tiles[0].stream
	for i := range l.tables {
		t := &l.tables[i]
		j := l.joinOf(i, t)
		j.Into.Status = l.status
		err = errors.Join(err, s.Fill(l.status, kernels.JoinStatusBytes, 0), s.BuildTable(j, t.Table))
	}
	return errors.Join(err, d.finish(s)) // before other streams read them
}

// lookupChunk is rows of a column.
type lookupChunk struct {
	column      *kernels.Column
	read        func(first int64, words []int64, valid []byte) error
	first, rows int64
}

// lookupChunkRows is the most rows of a chunk: few enough that all tiles have some.
const lookupChunkRows = 64 << 10

// fillLookups writes keys and columns, chunk by chunk.
func (d *device) fillLookups() error {
	var chunks []lookupChunk
	l, room := d.lookups, int64(len(d.tiles[0].host.Bytes()))/9&^63 // a word and a bit a row, and less than a byte
	most := min(room, lookupChunkRows)
	add := func(c *kernels.Column, rows int64, read func(first int64, words []int64, valid []byte) error) {
		for first := int64(0); first < rows; first += most {
			chunks = append(chunks, lookupChunk{c, read, first, min(most, rows-first)})
		}
	}
	for i, of := range l.code.Lookups {
		keys := &kernels.Column{Values: l.tables[i].Keys, Valid: l.valid[i]}
		add(keys, of.Rows(), func(first int64, words []int64, valid []byte) error {
			return of.Words(rowcode.Keys, first, words, valid)
		})
	}
	for i := range l.code.Fetched {
		add(&l.fetched[i], l.tables[l.code.Fetched[i].Lookup].Rows, d.fetchedReader(i))
	}
	var next atomic.Int64
	group, ctx := spawn.WithContext(d.run.ctx)
	for _, t := range d.tiles {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(chunks)); i = next.Add(1) - 1 {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				if err := t.fillLookup(&chunks[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// fetchedReader returns what reads the words of a column that is fetched.
func (d *device) fetchedReader(i int) func(first int64, words []int64, valid []byte) error {
	l, of := d.lookups, d.lookups.code.Fetched[i]
	from := l.code.Lookups[of.Lookup]
	if !from.IsText(of.Column) {
		return func(first int64, words []int64, valid []byte) error {
			return from.Words(of.Column, first, words, valid)
		}
	}
	return func(first int64, words []int64, valid []byte) error {
		clear(words)
		clear(valid)
		var texts distinct
		places := make([]int, len(words)) // of texts
		err := from.Strings(of.Column, first, len(words), func(i int, s []byte) { places[i], valid[i] = texts.add(s), 1 })
		if err != nil || len(texts.list) == 0 {
			return err
		}
		numbers := make([]uint32, len(texts.list))
		if of.Words {
			for i, s := range texts.list {
				numbers[i] = rowcode.Word(l.code.Patterns, string(s))
			}
		} else if err := d.run.opt.Decode.NumberFetched(i, texts.list, numbers); err != nil {
			return err
		}
		for i, is := range valid {
			if is != 0 {
				words[i] = int64(numbers[places[i]])
			}
		}
		return nil
	}
}

// distinct lists strings. One that was added lately is likely to be listed once.
type distinct struct {
	list   [][]byte
	recent [256]int // by some bytes of a string: its place in list + 1
}

// add returns the place of a string in the list.
func (d *distinct) add(s []byte) int {
	hash := uint(len(s))
	if n := len(s); n > 0 {
		hash += 7*uint(s[0]) + 31*uint(s[n/2]) + 127*uint(s[n-1])
	}
	at := &d.recent[hash%uint(len(d.recent))]
	if *at == 0 || !bytes.Equal(d.list[*at-1], s) {
		d.list = append(d.list, s)
		*at = len(d.list)
	}
	return *at - 1
}

// fillLookup writes a chunk, by the pinned memory of a tile.
func (t *Tile) fillLookup(c *lookupChunk) error {
	host, bitmap := t.host.Bytes(), kernels.BitmapBytes(c.rows)
	valid := make([]byte, c.rows)
	if err := c.read(c.first, wordsOf[int64](host[:8*c.rows]), valid); err != nil {
		return taken(err)
	}
	bits := host[8*c.rows:][:bitmap]
	clear(bits)
	for i, v := range valid {
		bits[i/8] |= v << (i % 8)
	}
	copies := []kernels.Copy{
		{Device: c.column.Values.At(8 * c.first), Host: host[:8*c.rows]},
		{Device: c.column.Valid.At(c.first / 8), Host: bits},
	}
	t.device.bytesIn.Add(copiedBytes(copies))
	return errors.Join(t.stream.CopyBatch(copies), t.device.finish(t.stream))
}

// dropLookups gives the memory of the lookups back.
func (d *device) dropLookups() (err error) {
	if d.lookups != nil && d.lookups.memory != nil {
		err = d.guard.free(d.lookups.memory.Free)
		d.lookups.memory = nil
	}
	return err
}
