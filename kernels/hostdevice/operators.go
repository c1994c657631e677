package hostdevice

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// spanAlignment is where the spans of operators begin.
const spanAlignment = 16

// operation gathers the memory that an operator takes, before its work is enqueued.
type operation struct {
	stream   *stream
	name     string
	shape    kernels.Shape
	accesses []access
	err      error
}

func (s *stream) operation(name string, shape *kernels.Shape) *operation {
	o := &operation{stream: s, name: name, shape: *shape}
	o.shape.Columns, o.shape.Folds = slices.Clone(shape.Columns), slices.Clone(shape.Folds)
	return o
}

// view returns bytes of a span, which the operator reads or writes; nil for a span without a
// buffer.
func (o *operation) view(at kernels.Span, bytes int64, write bool) []byte {
	if at.Buffer == nil {
		if bytes > 0 && write && o.err == nil {
			o.err = fmt.Errorf("%s: %d B without a buffer", o.name, bytes)
		}
		return nil
	}
	m, from := span(at)
	o.accesses = append(o.accesses, access{m, from, from + bytes, write})
	if from < 0 || bytes < 0 || from+bytes > int64(len(m.data)) {
		return nil // enqueue says so
	}
	if from%spanAlignment != 0 && o.err == nil {
		o.err = fmt.Errorf("%s: a span begins at byte %d of its buffer, which is no multiple of %d",
			o.name, from, spanAlignment)
	}
	return m.data[from : from+bytes]
}

// scratch lets the stream own memory that a GPU would write in between.
func (o *operation) scratch(at kernels.Span, bytes int64) { o.view(at, bytes, true) }

func (o *operation) words(at kernels.Span, count int64, write bool) []uint64 {
	return view[uint64](o.view(at, 8*count, write))
}

// view returns bytes as values.
func view[T any](b []byte) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(v)))
}

func (o *operation) enqueue(run func()) error {
	if o.err != nil {
		return o.stream.device.breach("%w", o.err)
	}
	return o.stream.enqueue(o.name, o.accesses, func() error {
		run()
		return nil
	})
}

// rows are kernels.Rows as memory.
type rows struct {
	count   int
	keys    []byte
	columns [][]byte
	valid   [][]uint32 // nil: no value is NULL
}

func (o *operation) rows(r *kernels.Rows, write bool) rows {
	out := rows{count: int(r.Count), keys: o.view(r.Keys, r.Count*int64(o.shape.KeyBytes), write)}
	if len(r.Columns) != len(o.shape.Columns) || len(r.Valid) > len(r.Columns) {
		o.err = fmt.Errorf("%s: rows of %d columns and %d bitmaps, shape of %d columns", o.name,
			len(r.Columns), len(r.Valid), len(o.shape.Columns))
		return out
	}
	out.valid = make([][]uint32, len(r.Columns))
	for i, t := range o.shape.Columns {
		out.columns = append(out.columns, o.view(r.Columns[i], r.Count*int64(t.Bytes()), write))
		if i < len(r.Valid) && r.Valid[i].Buffer != nil {
			out.valid[i] = view[uint32](o.view(r.Valid[i], (r.Count+31)/32*4, write))
		}
	}
	return out
}

// isValid reports whether a value is not NULL.
func (r *rows) isValid(column, row int) bool {
	v := r.valid[column]
	return v == nil || v[row/32]>>(row%32)&1 != 0
}

// put writes row i of from as row at of r.
func (r *rows) put(at int, shape *kernels.Shape, from *rows, i int) {
	k := shape.KeyBytes
	copy(r.keys[at*k:(at+1)*k], from.keys[i*k:])
	for c, t := range shape.Columns {
		n := t.Bytes()
		copy(r.columns[c][at*n:(at+1)*n], from.columns[c][i*n:])
		if r.valid[c] != nil {
			bit := uint32(1) << (at % 32)
			if from.isValid(c, i) {
				r.valid[c][at/32] |= bit
			} else {
				r.valid[c][at/32] &^= bit
			}
		}
	}
}

// groups are kernels.Groups as memory.
type groups struct {
	capacity int
	status   *kernels.GroupsStatus
	keys     []byte
	states   []states
}

// put writes group i of others as group at.
func (out *groups) put(at int, shape *kernels.Shape, keys []byte, from []states, i int) {
	k := shape.KeyBytes
	copy(out.keys[at*k:(at+1)*k], keys[i*k:])
	for f, fold := range shape.Folds {
		words := fold.Words()
		copy(out.states[f].at(at, words), from[f].at(i, words))
	}
}

func (o *operation) status(at kernels.Span) *kernels.GroupsStatus {
	b := o.view(at, int64(unsafe.Sizeof(kernels.GroupsStatus{})), true)
	if b == nil {
		return nil
	}
	return &view[kernels.GroupsStatus](b)[0]
}

func (o *operation) groups(g *kernels.Groups) groups {
	return groups{
		capacity: int(g.Capacity),
		status:   o.status(g.Status),
		keys:     o.view(g.Keys, g.Capacity*int64(o.shape.KeyBytes), true),
		states:   o.states(g, g.Capacity, true),
	}
}

func (o *operation) states(g *kernels.Groups, count int64, write bool) []states {
	if len(g.States) != len(o.shape.Folds) {
		o.err = fmt.Errorf("%s: groups of %d states, shape of %d folds", o.name, len(g.States), len(o.shape.Folds))
		return nil
	}
	var out []states
	for i, f := range o.shape.Folds {
		n := f.Words()
		out = append(out, states{words: o.words(g.States[i], count*int64(n), write), stride: n})
	}
	return out
}

// hashes returns the hashes of keys, as package partition's; a 4-byte key is taken as a word.
func hashes(keys []byte, keyBytes, count int, seed uint64) []uint64 {
	out := make([]uint64, count)
	switch keyBytes {
	case 4:
		for i, k := range view[uint32](keys[:4*count]) {
			out[i] = uint64(k)
		}
		partition.HashKeys1(out, seed, out)
	case 8:
		partition.HashKeys1(view[uint64](keys[:8*count]), seed, out)
	default:
		partition.HashKeysN(view[uint64](keys[:count*keyBytes]), keyBytes/8, seed, out)
	}
	return out
}

func (s *stream) Sample(shape *kernels.Shape, r *kernels.Rows, registers kernels.Span) error {
	o := s.operation("Sample", shape)
	keys := o.view(r.Keys, r.Count*int64(shape.KeyBytes), false)
	sketch := o.view(registers, partition.SketchRegisters, true)
	count := int(r.Count)
	return o.enqueue(func() {
		for _, h := range hashes(keys, o.shape.KeyBytes, count, 0) {
			partition.AddHash(sketch, h)
		}
	})
}

func (s *stream) Exponents(shape *kernels.Shape, r *kernels.Rows, exponents kernels.Span) error {
	o := s.operation("Exponents", shape)
	in := o.rows(r, false)
	sums := slices.DeleteFunc(slices.Clone(o.shape.Folds), func(f kernels.Fold) bool { return f.Op != kernels.SumExact })
	out := view[exponents32](o.view(exponents, kernels.ExponentsBytes*int64(len(sums)), true))
	return o.enqueue(func() {
		for i, f := range sums {
			for row := range in.count {
				if in.isValid(f.Column, row) {
					out[i].add(view[uint64](in.columns[f.Column])[row])
				}
			}
		}
	})
}

// exponents32 is a kernels.Exponents as memory.
type exponents32 struct{ high, low, special, _ uint32 }

func (e *exponents32) add(w uint64) {
	mantissa, place := exact(w)
	if mantissa == 0 {
		return
	}
	e.high = max(e.high, uint32(place+bits.Len64(mantissa)))
	e.low = max(e.low, uint32(kernels.ExactPlaces-place-bits.TrailingZeros64(mantissa)))
	if w>>52&0x7FF == 0x7FF {
		e.special = 1
	}
}

func (s *stream) Aggregate(shape *kernels.Shape, plan kernels.Plan, r *kernels.Rows,
	into *kernels.Groups, scratch kernels.Span) error {
	o := s.operation("Aggregate", shape)
	o.scratch(scratch, plan.AggregateScratch(shape, r.Count, s.device.Properties()))
	in, out := o.rows(r, false), o.groups(into)
	if err := plan.Kernel.Takes(shape); err != nil {
		o.err = fmt.Errorf("Aggregate by the %s kernel: %w", plan.Kernel, err)
	}
	return o.enqueue(func() { aggregate(&o.shape, plan, &in, &out) })
}

func (s *stream) Scatter(shape *kernels.Shape, r *kernels.Rows, seed uint64, radixBits int,
	into *kernels.Rows, offsets, scratch kernels.Span) error {
	o := s.operation("Scatter", shape)
	o.scratch(scratch, kernels.ScatterScratch(radixBits))
	in, out := o.rows(r, false), o.rows(into, true)
	if out.count < in.count {
		o.err = fmt.Errorf("Scatter: %d rows into room for %d", in.count, out.count)
	}
	ends := o.words(offsets, 1<<radixBits+1, true)
	return o.enqueue(func() { scatter(&o.shape, &in, seed, radixBits, &out, ends) })
}

// scatter counts, sums up and writes, so that rows of a partition stay in order.
func scatter(shape *kernels.Shape, in *rows, seed uint64, radixBits int, out *rows, offsets []uint64) {
	of := hashes(in.keys, shape.KeyBytes, in.count, seed)
	clear(offsets)
	for i, h := range of {
		of[i] = h >> 1 >> (63 - radixBits)
		offsets[of[i]+1]++
	}
	for p := 1; p < len(offsets); p++ {
		offsets[p] += offsets[p-1]
	}
	next := slices.Clone(offsets)
	for i, p := range of {
		out.put(int(next[p]), shape, in, i)
		next[p]++
	}
}

func (s *stream) ResetTable(shape *kernels.Shape, t kernels.Table) error {
	o := s.operation("ResetTable", shape)
	table := o.table(t)
	if shape.Sorts() {
		o.err = errors.New("ResetTable: folds that sort")
	}
	return o.enqueue(func() { table.reset() })
}

func (s *stream) Insert(shape *kernels.Shape, r *kernels.Rows, t kernels.Table,
	overflow *kernels.Rows, status kernels.Span) error {
	o := s.operation("Insert", shape)
	in, out, table, at := o.rows(r, false), o.rows(overflow, true), o.table(t), o.status(status)
	if out.count < in.count {
		o.err = fmt.Errorf("Insert: %d rows with room for an overflow of %d", in.count, out.count)
	}
	return o.enqueue(func() {
		insert(table, o.shape.KeyBytes, in.keys, in.count, at,
			func(slot, row int) { table.addRow(slot, &in, row) }, func(to, row int) { out.put(to, &o.shape, &in, row) })
	})
}

func (s *stream) InsertGroups(shape *kernels.Shape, in *kernels.Groups, count int64,
	t kernels.Table, overflow *kernels.Groups, status kernels.Span) error {
	o := s.operation("InsertGroups", shape)
	if count > in.Capacity || overflow.Capacity < count {
		o.err = fmt.Errorf("InsertGroups: %d groups of a capacity of %d, with room for an overflow of %d",
			count, in.Capacity, overflow.Capacity)
		return o.enqueue(nil)
	}
	keys, from := o.view(in.Keys, count*int64(shape.KeyBytes), false), o.states(in, count, false)
	refused := groups{
		capacity: int(overflow.Capacity),
		keys:     o.view(overflow.Keys, overflow.Capacity*int64(shape.KeyBytes), true),
		states:   o.states(overflow, overflow.Capacity, true),
	}
	table, at := o.table(t), o.status(status)
	return o.enqueue(func() {
		insert(table, o.shape.KeyBytes, keys, int(count), at,
			func(slot, group int) { table.addGroup(slot, from, group) },
			func(to, group int) { refused.put(to, &o.shape, keys, from, group) })
	})
}

func (s *stream) Compact(shape *kernels.Shape, t kernels.Table, first, end int64, into *kernels.Groups) error {
	o := s.operation("Compact", shape)
	table, out := o.table(t), o.groups(into)
	if first < 0 || end < first || end > t.Slots {
		o.err = fmt.Errorf("Compact: slots %d to %d of %d", first, end, t.Slots)
	}
	return o.enqueue(func() { table.compact(int(first), int(end), &out) })
}

// slotTable is a kernels.Table as memory.
type slotTable interface {
	reset()
	// find returns the slot of a key, which it takes if need be; noGroup, if others have taken all
	// that it looks at.
	find(key []byte, hash uint64) int
	// groups returns the slots that are taken.
	groups() uint64
	// addRow and addGroup merge a row, or a group of others, with the state of a slot.
	addRow(slot int, in *rows, row int)
	addGroup(slot int, from []states, group int)
	compact(first, end int, out *groups)
}

// insert finds a slot for each of the keys of rows or groups, and adds the row or group to it.
// Where there is no slot, the row or group is refused, to a place in the overflow.
func insert(t slotTable, keyBytes int, keys []byte, count int, status *kernels.GroupsStatus,
	add func(slot, i int), refuse func(to, i int)) {
	var s kernels.GroupsStatus
	for i, hash := range hashes(keys, keyBytes, count, 0) {
		slot := t.find(keys[i*keyBytes:(i+1)*keyBytes], hash)
		if slot == noGroup {
			refuse(int(s.Overflow), i)
			s.Overflow++
			continue
		}
		add(slot, i)
	}
	s.Groups, s.Rows = t.groups(), uint64(count)-s.Overflow
	*status = s
}

func (o *operation) table(t kernels.Table) slotTable {
	if t.Packed {
		return o.packedTable(t)
	}
	return o.wideTable(t)
}
