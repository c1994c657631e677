package hostdevice

import (
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// packedTable is a kernels.Table of packed slots: a header, then carries, then buckets of four
// slots,
//
//	| groups, carries | unused ... |   | key, sum | ...   | step, carried, quotient, sum | ...
//
// as packed.cuh of package kernels says.
type packedTable struct {
	kernels.PackedLayout
	shape   kernels.Shape
	asked   int // slots
	sealed  bool
	header  []uint64
	carries []uint64
	slots   []uint64
}

const (
	bucketSlots  = 4
	packedSteps  = 31
	quotientFrom = 6
	carried      = 1 << 5
)

func (o *operation) packedTable(t kernels.Table) *packedTable {
	out := &packedTable{PackedLayout: kernels.NewPackedLayout(t.Slots), shape: o.shape,
		asked: int(t.Slots), sealed: t.Sealed}
	words := o.words(t.Memory, out.Bytes()/8, true)
	if words == nil {
		return out
	}
	out.header, words = words[:headerWords], words[headerWords:]
	out.carries, out.slots = words[:2*out.Carries], words[2*out.Carries:]
	return out
}

func (t *packedTable) reset() {
	clear(t.header)
	clear(t.carries)
	clear(t.slots)
}

func (t *packedTable) sum(word uint64) int64 { return int64(word) >> t.Shift }

func (t *packedTable) find(key []byte, _ uint64) int {
	x := uint64(partition.Mix32(view[uint32](key)[0]))
	tag, tags := x/uint64(t.Buckets)<<quotientFrom, (uint64(1)<<t.Shift-1)&^carried
	bucket := x % uint64(t.Buckets)
	for step := uint64(1); step <= packedSteps; step++ {
		for i := bucket * bucketSlots; i < (bucket+1)*bucketSlots; i++ {
			switch {
			case t.slots[i]&tags == tag|step:
				return int(i)
			case t.slots[i] == 0 && t.sealed:
				return noGroup
			case t.slots[i] == 0:
				t.slots[i] = tag | step
				t.header[0]++
				return int(i)
			}
		}
		bucket = (bucket + step) % uint64(t.Buckets)
	}
	return noGroup
}

func (t *packedTable) groups() uint64 { return t.header[0] }

// add adds to the sum of a slot, or moves it to the carries.
func (t *packedTable) add(i int, value int64) {
	word := t.slots[i]
	tag, sum, limit := word&(1<<t.Shift-1), t.sum(word)+value, int64(1)<<(62-t.Shift)
	if -limit < sum && sum < limit {
		t.slots[i] = tag | uint64(sum)<<t.Shift
		return
	}
	t.slots[i] = tag | carried
	if n := t.header[1]; n < uint64(t.Carries) {
		t.carries[2*n], t.carries[2*n+1] = uint64(t.key(i)), uint64(sum)
	}
	t.header[1]++
}

// value returns what a row adds to its group.
func (t *packedTable) value(in *rows, row int) int64 {
	f := t.shape.Folds[0]
	switch {
	case f.Column < 0:
		return 1
	case !in.isValid(f.Column, row):
		return 0
	case f.Op == kernels.Count:
		return 1
	case t.shape.Columns[f.Column] == kernels.Int32:
		return int64(view[int32](in.columns[f.Column])[row])
	}
	return int64(view[uint32](in.columns[f.Column])[row])
}

func (t *packedTable) addRow(slot int, in *rows, row int) { t.add(slot, t.value(in, row)) }

func (t *packedTable) addGroup(slot int, from []states, group int) {
	t.add(slot, int64(from[0].at(group, 1)[0]))
}

func (t *packedTable) compact(first, end int, out *groups) {
	if end == t.asked {
		end = len(t.slots)
	}
	beyond := map[uint32]int64{}
	for n := range min(t.header[1], uint64(t.Carries)) {
		beyond[uint32(t.carries[2*n])] += int64(t.carries[2*n+1])
	}
	n := 0
	for i := first; i < end; i++ {
		word := t.slots[i]
		if word == 0 {
			continue
		}
		if n < out.capacity {
			key := t.key(i)
			view[uint32](out.keys)[n] = key
			out.states[0].at(n, 1)[0] = uint64(t.sum(word) + beyond[key])
		}
		n++
	}
	*out.status = compactStatus(n, out.capacity)
	out.status.Overflow += t.header[1] - min(t.header[1], uint64(t.Carries))
}

// key returns the key of a slot that is taken.
func (t *packedTable) key(i int) uint32 {
	word := t.slots[i]
	step := int64(word & packedSteps)
	home := (int64(i/bucketSlots) - step*(step-1)/2 + t.Buckets) % t.Buckets
	quotient := word & (1<<t.Shift - 1) >> quotientFrom
	return partition.Unmix32(uint32(int64(quotient)*t.Buckets + home))
}
