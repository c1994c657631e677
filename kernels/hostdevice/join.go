package hostdevice

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// joinSide is a kernels.JoinSide as memory.
type joinSide struct {
	count    int
	keyBytes int
	keys     []byte
	valid    []uint32 // nil: no key is NULL
	numbers  []uint32 // nil: rows are called by their places
}

func (o *operation) joinSide(s *kernels.JoinSide, keyBytes int) joinSide {
	side := joinSide{count: int(s.Count), keyBytes: keyBytes, keys: o.view(s.Keys, s.Count*int64(keyBytes), false)}
	if s.Valid.Buffer != nil {
		side.valid = view[uint32](o.view(s.Valid, kernels.MatchedBytes(s.Count), false))
	}
	if s.Numbers.Buffer != nil {
		side.numbers = view[uint32](o.view(s.Numbers, 4*s.Count, false))
	}
	return side
}

func hasBit(bitmap []uint32, row int) bool { return bitmap[row/32]>>(row%32)&1 != 0 }

// key returns the bytes of a row's key; false where it is NULL.
func (s *joinSide) key(row int) (string, bool) {
	if s.valid != nil && !hasBit(s.valid, row) {
		return "", false
	}
	return string(s.keys[row*s.keyBytes:][:s.keyBytes]), true
}

// hash returns the hash of a row's key.
func (s *joinSide) hash(row int) uint64 {
	return hashes(s.keys[row*s.keyBytes:][:s.keyBytes], s.keyBytes, 1, 0)[0]
}

func (s *joinSide) called(row int) uint32 {
	if s.numbers != nil {
		return s.numbers[row]
	}
	return uint32(row)
}

// join is a kernels.Join as memory.
type join struct {
	kernels.Join
	build, probe       joinSide
	status             []uint64
	outBuild, outProbe []uint32
	matched            []uint32
}

func (o *operation) join(j *kernels.Join) *join {
	out := &join{Join: *j, build: o.joinSide(&j.Build, j.KeyBytes), probe: o.joinSide(&j.Probe, j.KeyBytes)}
	out.status = o.words(j.Into.Status, kernels.JoinStatusBytes/8, true)
	if j.Into.Build.Buffer != nil {
		out.outBuild = view[uint32](o.view(j.Into.Build, 4*j.Into.Capacity, true))
	}
	if j.Into.Probe.Buffer != nil {
		out.outProbe = view[uint32](o.view(j.Into.Probe, 4*j.Into.Capacity, true))
	}
	if j.Matched.Buffer != nil {
		out.matched = view[uint32](o.view(j.Matched, kernels.MatchedBytes(j.Build.Count), true))
	}
	return out
}

// add appends a pair of rows, as they are called.
func (j *join) add(build, probe uint32) {
	at := j.status[0]
	j.status[0]++
	if at >= uint64(j.Into.Capacity) {
		return
	}
	if j.outBuild != nil {
		j.outBuild[at] = build
	}
	if j.outProbe != nil {
		j.outProbe[at] = probe
	}
}

// give appends what a probe row gives that equals some build rows, which it marks.
func (j *join) give(row int, matches []uint32) {
	probe := j.probe.called(row)
	for _, m := range matches {
		if j.matched != nil {
			j.matched[m/32] |= 1 << (m % 32)
		}
	}
	switch {
	case j.Kind == kernels.JoinSemi && len(matches) > 0, j.Kind == kernels.JoinAnti && len(matches) == 0,
		j.Kind == kernels.JoinLeft && len(matches) == 0:
		j.add(kernels.NoRow, probe)
	case j.Kind == kernels.JoinInner || j.Kind == kernels.JoinLeft:
		for _, m := range matches {
			j.add(m, probe)
		}
	}
}

// giveAll joins rows [begin, end) of the probe side with rows [buildBegin, buildEnd) of the build side.
func (j *join) giveAll(buildBegin, buildEnd, begin, end int) {
	rows := map[string][]uint32{}
	for row := buildBegin; row < buildEnd; row++ {
		if key, ok := j.build.key(row); ok && (len(rows[key]) == 0 || !j.Unique) {
			rows[key] = append(rows[key], j.build.called(row))
		}
	}
	for row := begin; row < end; row++ {
		key, ok := j.probe.key(row)
		if !ok {
			j.give(row, nil)
			continue
		}
		j.give(row, rows[key])
	}
}

// joinTable is a kernels.JoinTable as memory: slots with a row + 1, and the rows of a key as a list.
type joinTable struct {
	slots []uint64
	next  []uint32
}

func (o *operation) joinTable(j *kernels.Join, t kernels.JoinTable, write bool) joinTable {
	memory := o.view(t.Memory, j.JoinTableBytes(t.Slots), write)
	if memory == nil {
		return joinTable{}
	}
	return joinTable{view[uint64](memory[:8*t.Slots]), view[uint32](memory[8*t.Slots:])}
}

// slot returns the slot of a key, or the empty one where it would be.
func (t *joinTable) slot(j *join, key string, hash uint64) int {
	first, _ := bits.Mul64(hash<<32|hash>>32, uint64(len(t.slots)))
	at := int(first)
	for t.slots[at] != 0 {
		if row := int(t.slots[at]>>32) - 1; string(j.build.keys[row*j.KeyBytes:][:j.KeyBytes]) == key {
			break
		}
		if at++; at == len(t.slots) {
			at = 0
		}
	}
	return at
}

// rows returns what the rows of a list are called. Numbers in lists are rows + 1, or 0.
func (t *joinTable) rows(j *join, first uint32) (list []uint32) {
	for at := first; at != 0; at = t.next[at-1] {
		list = append(list, j.build.called(int(at-1)))
		if j.Unique {
			break
		}
	}
	return list
}

func (s *stream) BuildTable(in *kernels.Join, t kernels.JoinTable) error {
	o := s.operation("BuildTable", &kernels.Shape{})
	j, to := o.join(in), o.joinTable(in, t, true)
	return o.enqueue(func() {
		clear(to.slots)
		for row := range j.build.count {
			key, ok := j.build.key(row)
			if !ok {
				continue
			}
			at := to.slot(j, key, j.build.hash(row))
			if j.Unique && to.slots[at] != 0 {
				j.status[1]++
				continue
			}
			if !j.Unique {
				to.next[row] = uint32(to.slots[at] >> 32)
			}
			to.slots[at] = uint64(row+1) << 32
		}
	})
}

func (s *stream) ProbeTable(in *kernels.Join, t kernels.JoinTable) error {
	o := s.operation("ProbeTable", &kernels.Shape{})
	j, from := o.join(in), o.joinTable(in, t, false)
	return o.enqueue(func() {
		for row := range j.probe.count {
			var matches []uint32
			if key, ok := j.probe.key(row); ok {
				matches = from.rows(j, uint32(from.slots[from.slot(j, key, j.probe.hash(row))]>>32))
			}
			j.give(row, matches)
		}
	})
}

func (s *stream) JoinPartitions(in *kernels.Join, p kernels.JoinPartitions, scratch kernels.Span) error {
	o := s.operation("JoinPartitions", &kernels.Shape{})
	o.scratch(scratch, kernels.JoinPartitionsScratch(p.RadixBits, in.Probe.Count))
	j := o.join(in)
	build, probe := o.words(p.BuildOffsets, 1<<p.RadixBits+1, false), o.words(p.ProbeOffsets, 1<<p.RadixBits+1, false)
	return o.enqueue(func() {
		for i := range 1 << p.RadixBits {
			j.giveAll(int(build[i]), int(build[i+1]), int(probe[i]), int(probe[i+1]))
		}
	})
}

func (s *stream) JoinSorted(in *kernels.Join, scratch kernels.Span) error {
	o := s.operation("JoinSorted", &kernels.Shape{})
	o.scratch(scratch, in.JoinSortedScratch())
	j := o.join(in)
	return o.enqueue(func() { j.giveAll(0, j.build.count, 0, j.probe.count) })
}

func (s *stream) ListBuildRows(in *kernels.Join, matched bool) error {
	o := s.operation("ListBuildRows", &kernels.Shape{})
	j := o.join(in)
	return o.enqueue(func() {
		for row := range j.build.count {
			if called := j.build.called(row); hasBit(j.matched, int(called)) == matched {
				j.add(called, kernels.NoRow)
			}
		}
	})
}

// filterBits returns where the bits of a hash are in a filter of words.
func filterBits(hash uint64, words int) (word int, set uint32) {
	at, _ := bits.Mul64(hash, uint64(words))
	for range 4 {
		set |= 1 << (hash & 31)
		hash >>= 5
	}
	return int(at), set
}

func (s *stream) FillFilter(in *kernels.Join, f kernels.JoinFilter) error {
	o := s.operation("FillFilter", &kernels.Shape{})
	j, words := o.join(in), view[uint32](o.view(f.Memory, f.Bytes, true))
	return o.enqueue(func() {
		clear(words)
		for row := range j.build.count {
			if _, ok := j.build.key(row); ok {
				word, set := filterBits(j.build.hash(row), len(words))
				words[word] |= set
			}
		}
	})
}

func (s *stream) TestFilter(in *kernels.Join, f kernels.JoinFilter, passed kernels.Span) error {
	o := s.operation("TestFilter", &kernels.Shape{})
	j, words := o.join(in), view[uint32](o.view(f.Memory, f.Bytes, false))
	out := view[uint32](o.view(passed, kernels.MatchedBytes(in.Probe.Count), true))
	return o.enqueue(func() {
		clear(out)
		for row := range j.probe.count {
			if _, ok := j.probe.key(row); !ok {
				continue
			}
			if word, set := filterBits(j.probe.hash(row), len(words)); words[word]&set == set {
				out[row/32] |= 1 << (row % 32)
				j.status[0]++
			}
		}
	})
}

func (s *stream) Partition(shape *kernels.Shape, r *kernels.Rows, radixBits int,
	into *kernels.Rows, offsets, scratch kernels.Span) error {
	o := s.operation("Partition", shape)
	o.scratch(scratch, kernels.PartitionScratch(shape, r.Count, radixBits, s.device.Properties()))
	in, out := o.rows(r, false), o.rows(into, true)
	ends := o.words(offsets, 1<<radixBits+1, true)
	return o.enqueue(func() { scatter(&o.shape, &in, 0, radixBits, &out, ends) })
}

func (s *stream) Gather(g *kernels.Gathering) error {
	o := s.operation("Gather", &kernels.Shape{})
	numbers := view[uint32](o.view(g.Numbers, 4*g.Count, false))
	var counted []byte
	if g.Counted.Buffer != nil {
		counted = o.view(g.Counted, 8, false)
	}
	columns := make([]gathered, len(g.Columns))
	for i, c := range g.Columns {
		columns[i] = gathered{bytes: c.Bytes, from: o.view(c.From, c.FromRows*int64(c.Bytes), false),
			to: o.view(c.To, g.Count*int64(c.Bytes), true)}
		if c.FromValid.Buffer != nil {
			columns[i].fromValid = view[uint32](o.view(c.FromValid, kernels.MatchedBytes(c.FromRows), false))
		}
		if c.ToValid.Buffer != nil {
			columns[i].toValid = view[uint32](o.view(c.ToValid, kernels.MatchedBytes(g.Count), true))
		}
	}
	return o.enqueue(func() {
		count := len(numbers)
		if counted != nil {
			count = int(min(uint64(count), binary.LittleEndian.Uint64(counted)))
		}
		for i := range columns {
			columns[i].gather(numbers[:count])
		}
	})
}

// gathered is a kernels.GatherColumn as memory.
type gathered struct {
	bytes              int
	from, to           []byte
	fromValid, toValid []uint32 // nil: no value is NULL, nobody asks
}

func (c *gathered) gather(numbers []uint32) {
	if c.toValid != nil {
		clear(c.toValid[:(len(numbers)+31)/32])
	}
	for i, row := range numbers {
		to := c.to[i*c.bytes:][:c.bytes]
		if row == kernels.NoRow {
			clear(to)
			continue
		}
		copy(to, c.from[int(row)*c.bytes:])
		if c.toValid != nil && (c.fromValid == nil || hasBit(c.fromValid, int(row))) {
			c.toValid[i/32] |= 1 << (i % 32)
		}
	}
}

func (s *stream) NumberRows(into kernels.Span, count int64) error {
	o := s.operation("NumberRows", &kernels.Shape{})
	numbers := view[uint32](o.view(into, 4*count, true))
	return o.enqueue(func() {
		for i := range numbers {
			numbers[i] = uint32(i)
		}
	})
}

func (s *stream) Sort(in *kernels.Sorting, scratch kernels.Span) error {
	o := s.operation("Sort", &kernels.Shape{})
	o.scratch(scratch, in.SortScratch())
	width, moved := in.KeyBytes, 4
	keys, toKeys := o.view(in.Keys, in.Count*int64(width), false), o.view(in.ToKeys, in.Count*int64(width), true)
	var values []byte
	if in.Values.Buffer != nil {
		moved = in.ValueBytes
		values = o.view(in.Values, in.Count*int64(moved), false)
	}
	toValues := o.view(in.ToValues, in.Count*int64(moved), true)
	count := int(in.Count)
	return o.enqueue(func() {
		order := make([]int, count)
		for i := range order {
			order[i] = i
		}
		key := func(row int) uint64 {
			if width == 4 {
				return uint64(binary.LittleEndian.Uint32(keys[4*row:]))
			}
			return binary.LittleEndian.Uint64(keys[8*row:])
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
		for i, row := range order {
			copy(toKeys[i*width:][:width], keys[row*width:])
			if values == nil {
				binary.LittleEndian.PutUint32(toValues[4*i:], uint32(row))
				continue
			}
			copy(toValues[i*moved:][:moved], values[row*moved:])
		}
	})
}
