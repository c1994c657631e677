package engine

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/table"
)

// A join that was asked for by name (Options.JoinAlgorithm) makes the pairs of a task on a device:
//
//	build side of the round -> deviceSide -\
//	                                        device.Devices.Join -> pairs, with columns of 4, 8 and 16 bytes
//	rows of the probe side  -> deviceSide -/                        -> Partners, which have the others by row
//
// A key of one word is the device's key, of 4 or 8 bytes. Of other keys the device has a hash of 8, and pairs whose
// keys differ are left out here. Rows with a key that is NULL and equal to nothing stay here.

// sides of a join, in the order of FinderOptions.Columns.
const (
	probeRows = iota
	buildRows
)

// deviceSide is rows of one side of a join as devices take them.
type deviceSide struct {
	device.JoinSide // its last column is the rows' numbers
	memory          rowdata.Memory
	places          []int    // by column of JoinSide but the last: its place in the rows
	numbers         []uint32 // by row of JoinSide: its number among the rows
	packed          []uint64 // by number: the row's key; nil where the device has keys whole
	blocks          [][]uint64
}

// isExact reports whether devices have the keys of a Hashed whole.
func (h *Hashed) isExact() bool { return h.keys.Keys.Words == 1 }

// deviceKeyBytes returns the bytes of a key on a device.
func (h *Hashed) deviceKeyBytes() int {
	if h.isExact() {
		return h.keys.Keys.Bytes()
	}
	return 8
}

func (s *deviceSide) alloc(words int) []uint64 {
	block := s.memory.Alloc(words)
	s.blocks = append(s.blocks, block)
	return block
}

func (s *deviceSide) release() {
	for _, b := range s.blocks {
		s.memory.Free(b)
	}
	s.blocks = nil
}

// deviceSideOf returns the rows of a batch for devices, with the columns of a list that devices bring to pairs. The
// batch stays as it is until the side is released.
func (h *Hashed) deviceSideOf(keys *keyPacker, batch arrow.RecordBatch, columns []int) (*deviceSide, error) {
	rows := int(batch.NumRows())
	s := &deviceSide{memory: h.memory}
	s.numbers = rowdata.View[uint32](s.alloc(rows/2 + 1))[:0:rows]
	wide := s.alloc(rows + 1)
	narrow := rowdata.View[uint32](wide)
	layout, keyBytes := &h.keys.Keys, h.deviceKeyBytes()
	if !h.isExact() {
		s.packed = s.alloc(rows*layout.Words + 1)
	}
	lost := h.newLostRows()
	hashes := make([]uint64, rowdata.TileRows)
	err := keys.tiles(batch, func(t *rowdata.Tile, from int) error {
		of := t.Keys
		if s.packed != nil {
			of = hashes
			table.Hash(layout, t.Keys, 0, hashes[:t.Rows])
			copy(s.packed[from*layout.Words:], t.Keys[:t.Rows*layout.Words])
		}
		skip := lost.of(t)
		for i := range t.Rows {
			if skip != nil && skip[i] != 0 {
				continue
			}
			n := len(s.numbers)
			if s.numbers = append(s.numbers, uint32(from+i)); keyBytes == 4 {
				narrow[n] = uint32(of[i])
			} else {
				wide[n] = of[i]
			}
		}
		return nil
	})
	if err != nil {
		s.release()
		return nil, err
	}
	s.Rows = len(s.numbers)
	s.Keys = bytesOf(wide)[:s.Rows*keyBytes]
	if s.Rows == rows { // else columns have more rows
		for _, place := range columns {
			s.addColumn(h.of.statement.engine.devices, batch.Column(place), place)
		}
	}
	s.Columns = append(s.Columns, device.JoinColumn{Bytes: 4, Values: bytesOf(s.numbers)})
	return s, nil
}

// bytesOf returns the bytes of numbers.
func bytesOf[T uint32 | uint64](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// addColumn adds a column, if devices bring its values.
func (s *deviceSide) addColumn(devices *device.Devices, a arrow.Array, place int) {
	of, isFixed := a.DataType().(arrow.FixedWidthDataType)
	switch a.DataType().ID() {
	case arrow.DICTIONARY, arrow.EXTENSION:
		return
	}
	hasNulls := a.NullN() > 0
	if !isFixed || !devices.MovesColumn(of.BitWidth()/8, hasNulls, len(s.Columns)) {
		return
	}
	data, width, rows := a.Data(), of.BitWidth()/8, a.Len()
	c := device.JoinColumn{Bytes: width, Values: data.Buffers()[1].Bytes()[data.Offset()*width:][:rows*width]}
	if hasNulls {
		c.Valid = bytesOf(s.alloc(rows/64 + 1))
		clear(c.Valid)
		bitutil.CopyBitmap(data.Buffers()[0].Bytes(), data.Offset(), rows, c.Valid, 0)
	}
	s.Columns, s.places = append(s.Columns, c), append(s.places, place)
}

// broughtRows is columns of pairs that a device has made.
type broughtRows struct {
	arrays [2]map[int]arrow.Array // by side, and place in its rows
}

func (b *broughtRows) release() {
	for _, arrays := range b.arrays {
		for _, a := range arrays {
			a.Release()
		}
	}
}

// Brought returns a column of the pairs, of the probe side or of the build side, where a device has made it.
func (p *Partners) Brought(mem memory.Allocator, isBuild bool, place int) (a arrow.Array, ok bool, err error) {
	if p.brought == nil {
		return nil, false, nil
	}
	side := probeRows
	if isBuild {
		side = buildRows
	}
	if a, ok = p.brought.arrays[side][place]; !ok {
		return nil, false, nil
	}
	if gather.AreNeighbours(p.at) { // no condition has left pairs out
		from := int64(p.at[0].Row)
		return array.NewSlice(a, from, from+int64(len(p.at))), true, nil
	}
	a, err = gather.Column(mem, []arrow.Array{a}, p.at)
	return a, true, err
}

// deviceFinder is the Finder of a Hashed whose pairs a device makes.
type deviceFinder struct {
	of   *Hashed
	opt  FinderOptions
	keys *keyPacker

	batch arrow.RecordBatch
	next  int // of batch: the first row that is not joined
	step  int // rows that are joined at once

	first   int              // of batch: the first of the rows that are joined
	brought *broughtRows     // of these rows; nil of none
	numbers [2][]uint32      // by side and pair of brought: its row
	buffers []*memory.Buffer // of numbers
	pairs   []gather.Row     // of brought, whose keys are equal
	at      int              // of pairs: the first that Next has not returned

	table  *tableFinder      // of rows that have more pairs than a device has room for; nil of none
	tabled arrow.RecordBatch // these rows
	found  Partners
}

func newDeviceFinder(h *Hashed, opt FinderOptions) *deviceFinder {
	return &deviceFinder{of: h, opt: opt, keys: newKeyPacker(h.keys)}
}

// Begin implements Finder.
func (f *deviceFinder) Begin(batch arrow.RecordBatch) error {
	f.batch, f.next, f.step = batch, 0, int(batch.NumRows())
	return nil
}

// End implements Finder.
func (f *deviceFinder) End() {
	f.drop()
	f.batch = nil
}

// Release implements Finder.
func (f *deviceFinder) Release() { f.drop() }

// drop ends the use of pairs.
func (f *deviceFinder) drop() {
	if f.brought != nil {
		f.brought.release()
	}
	for _, b := range f.buffers {
		b.Release()
	}
	if f.table != nil {
		f.table.End()
		f.table.Release()
		f.tabled.Release()
	}
	f.brought, f.buffers, f.numbers, f.pairs, f.at, f.table = nil, nil, [2][]uint32{}, f.pairs[:0], 0, nil
}

// Next implements Finder. Pairs come in no order.
func (f *deviceFinder) Next(ctx context.Context, most int, _ func(row uint32) bool) (*Partners, error) {
	for {
		if f.table != nil {
			p, err := f.table.Next(ctx, most, nil)
			if p != nil {
				for i := range p.Rows {
					p.Rows[i].Row += uint32(f.first)
				}
			}
			if p != nil || err != nil {
				return p, err
			}
		}
		if n := min(most, len(f.pairs)-f.at); n > 0 {
			return f.partners(n), nil
		}
		f.drop()
		if f.next == int(f.batch.NumRows()) {
			return nil, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		spawn.Step()
		if err := f.join(ctx); err != nil {
			return nil, err
		}
	}
}

// partners returns the next n pairs.
func (f *deviceFinder) partners(n int) *Partners {
	p := &f.found
	p.brought, p.at, p.Rows, p.Found = f.brought, append(p.at[:0], f.pairs[f.at:f.at+n]...), p.Rows[:0], p.Found[:0]
	for _, pair := range p.at {
		p.Rows = append(p.Rows, gather.Row{Row: uint32(f.first) + f.numbers[probeRows][pair.Row]})
		found := f.of.None()
		if of := f.numbers[buildRows]; of != nil {
			found = gather.Row{Row: of[pair.Row]}
		}
		p.Found = append(p.Found, found)
	}
	f.at += n
	return p
}

// tableRows is the most rows that are the CPU's where a device has no room for their pairs.
const tableRows = 64

// join joins the next rows of the batch.
func (f *deviceFinder) join(ctx context.Context) error {
	h := f.of
	build, err := h.deviceBuild(f.opt.Columns[buildRows])
	if err != nil {
		return err
	}
	for {
		rows := min(f.step, int(f.batch.NumRows())-f.next)
		of := f.batch.NewSlice(int64(f.next), int64(f.next+rows))
		probe, err := h.deviceSideOf(f.keys, of, f.opt.Columns[probeRows])
		of.Release()
		if err != nil {
			return err
		}
		left, err := f.joinSides(ctx, build, probe)
		probe.release()
		switch {
		case err != nil:
			return err
		case left == 0:
			f.first, f.next = f.next, f.next+rows
			return nil
		case rows <= tableRows:
			f.first, f.next = f.next, f.next+rows
			return f.findInTable(ctx, rows)
		}
		f.step = max(1, min(rows-1, left))
	}
}

// joinSides joins two sides, or returns how many rows of the probe side might be joined at once: not 0 where all are
// too many.
func (f *deviceFinder) joinSides(ctx context.Context, build, probe *deviceSide) (left int, err error) {
	if build.Rows == 0 || probe.Rows == 0 {
		return 0, nil
	}
	h := f.of
	b := h.of
	j := &device.Join{
		IsSemi: f.opt.First && h.isExact(), KeyBytes: h.deviceKeyBytes(), Build: build.JoinSide, Probe: probe.JoinSide,
		MostBytes: b.taskBytes(),
	}
	if rows := j.Rows(b.joinBytes); rows < probe.Rows {
		return max(rows, 1), nil
	}
	made, err := b.statement.engine.devices.Join(ctx, f.opt.Wait, f.opt.Memory, j)
	if err != nil {
		return 0, err
	}
	if made.Pairs > made.Room {
		return int(max(1, int64(probe.Rows)*made.Room/made.Pairs*3/4)), nil
	}
	b.joined.Add(1)
	b.pairs.Add(made.Pairs)
	f.take(made, build, probe)
	if !h.isExact() {
		f.verify(build, probe)
	}
	return 0, nil
}

// take takes over the columns of pairs.
func (f *deviceFinder) take(made *device.JoinedRows, build, probe *deviceSide) {
	f.brought = new(broughtRows)
	schemas := [2]*arrow.Schema{f.batch.Schema(), f.of.schema}
	for side, columns := range [2][]device.JoinedColumn{made.Probe, made.Build} {
		if len(columns) == 0 {
			continue
		}
		places := [2][]int{probe.places, build.places}[side]
		f.brought.arrays[side] = map[int]arrow.Array{}
		for i, place := range places {
			c, nulls := columns[i], 0
			if c.Valid != nil {
				nulls = array.UnknownNullCount
			}
			data := array.NewData(schemas[side].Field(place).Type, int(made.Pairs), []*memory.Buffer{c.Valid, c.Values}, nil,
				nulls, 0)
			f.brought.arrays[side][place] = array.MakeFromData(data)
			data.Release()
		}
		numbers := columns[len(places)].Values
		numbers.Retain()
		f.buffers = append(f.buffers, numbers)
		f.numbers[side] = arrow.Uint32Traits.CastFromBytes(numbers.Bytes())
	}
	made.Release()
	f.pairs = f.pairs[:0]
	for i := range uint32(made.Pairs) {
		f.pairs = append(f.pairs, gather.Row{Row: i})
	}
}

// verify leaves the pairs whose keys are equal, of pairs whose hashes are.
func (f *deviceFinder) verify(build, probe *deviceSide) {
	layout := &f.of.keys.Keys
	w := layout.Words
	kept := f.pairs[:0]
	for _, pair := range f.pairs {
		p, b := int(f.numbers[probeRows][pair.Row]), int(f.numbers[buildRows][pair.Row])
		if layout.Equal(probe.packed[p*w:(p+1)*w], build.packed[b*w:(b+1)*w]) {
			kept = append(kept, pair)
		}
	}
	f.pairs = kept
}

// deviceBuild returns the rows of a Hashed for devices, which bring some of its columns to pairs.
func (h *Hashed) deviceBuild(columns []int) (*deviceSide, error) {
	if h.device != nil {
		return h.device, nil
	}
	if len(h.batches) == 0 {
		return new(deviceSide), nil
	}
	side, err := h.deviceSideOf(newKeyPacker(h.keys), h.batches[0], columns)
	if err == nil {
		h.device = side
	}
	return side, err
}

// findInTable has the CPU find the partners of rows.
func (f *deviceFinder) findInTable(ctx context.Context, rows int) error {
	h := f.of
	h.of.leftRows.Add(int64(rows))
	if !h.isTabled {
		if err := h.tabulate(ctx); err != nil {
			return err
		}
	}
	f.table = h.tableFinder(f.opt.First)
	f.tabled = f.batch.NewSlice(int64(f.first), int64(f.first+rows))
	return f.table.Begin(f.tabled)
}

// tabulate makes the tables of rows that devices have.
func (h *Hashed) tabulate(ctx context.Context) error {
	add := h.newAdder()
	for i, batch := range h.batches {
		if err := add.add(uint32(i), batch); err != nil {
			return err
		}
	}
	if err := h.of.statement.memory.Room(h.build.TableBytes()); err != nil {
		return err
	}
	h.isTabled = true
	return h.build.Finish(ctx, inTurn)
}

// whole returns batches of one schema as one, and takes them over.
func whole(mem memory.Allocator, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(batches) == 1 {
		return batches[0], nil
	}
	defer recordreader.ReleaseAll(batches)
	all, err := recordreader.Joined(mem, batches)
	if err != nil {
		return nil, fmt.Errorf("rows of a join: %w", err)
	}
	return all, nil
}
