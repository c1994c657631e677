package devicetest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Joins holds the operators of joins to random sides: empty ones, keys that are all equal, that match nothing, that
// many rows of both sides have, that follow a Zipf distribution; NULLs; pairs that have no room.
func Joins(t *testing.T, device kernels.Device, cases, rowsMax int) {
	for i := range cases {
		rng := rand.New(rand.NewPCG(23, uint64(i)))
		c := newJoinCase(rng, rowsMax)
		for _, way := range joinWays {
			t.Run(fmt.Sprintf("%v/%d", way, i), func(t *testing.T) { c.run(t, device, way, rng) })
		}
		t.Run(fmt.Sprintf("filter/%d", i), func(t *testing.T) { c.filter(t, device) })
	}
}

// joinWay is an algorithm.
type joinWay string

var joinWays = []joinWay{"table", "partitions", "sorted"}

// joinCase is two sides with what they are called.
type joinCase struct {
	keyBytes      int
	kind          kernels.JoinKind
	unique        bool
	build, probe  sideData
	wantsMatched  bool
	isCountedOnly bool // no room at first
}

// sideData is a side in host memory.
type sideData struct {
	keys    []uint64
	isNull  []bool // nil: no key is NULL
	numbers []uint32
}

func newJoinCase(rng *rand.Rand, rowsMax int) *joinCase {
	c := &joinCase{keyBytes: []int{4, 8, 8, 24}[rng.IntN(4)], kind: kernels.JoinKind(rng.IntN(4)),
		wantsMatched: rng.IntN(2) == 0, isCountedOnly: rng.IntN(4) == 0}
	build, probe := rng.IntN(rowsMax+1), rng.IntN(rowsMax+1)
	if rng.IntN(8) == 0 {
		build = 0
	}
	if rng.IntN(8) == 0 {
		probe = 0
	}
	values := 1 + rng.IntN(2*rowsMax)
	switch rng.IntN(6) {
	case 0: // unique keys
		c.unique, values = true, max(build, 1)
	case 1: // all equal
		values, build, probe = 1, min(build, 60), min(probe, 60)
	case 2: // some rows of each key
		values = max(build, probe)/8 + 1
	}
	stray := rng.IntN(5) == 0 // no match
	zipf := rand.NewZipf(rng, 1.5, 1, uint64(values-1))
	skewed := rng.IntN(3) == 0
	for i := range build {
		v := uint64(rng.IntN(values))
		if c.unique {
			v = uint64(i)
		}
		c.build.keys = append(c.build.keys, v)
	}
	rng.Shuffle(len(c.build.keys), func(a, b int) { k := c.build.keys; k[a], k[b] = k[b], k[a] })
	for range probe {
		v := uint64(rng.IntN(values))
		if skewed {
			v = zipf.Uint64()
		}
		if stray {
			v += uint64(values)
		}
		c.probe.keys = append(c.probe.keys, v)
	}
	for _, s := range []*sideData{&c.build, &c.probe} {
		if rng.IntN(3) == 0 {
			for range s.keys {
				s.isNull = append(s.isNull, rng.IntN(4) == 0)
			}
		}
		if rng.IntN(2) == 0 {
			s.numbers = make([]uint32, len(s.keys))
			for i, n := range rng.Perm(len(s.keys)) {
				s.numbers[i] = uint32(n)
			}
		}
	}
	return c
}

func (s *sideData) called(row int) uint32 {
	if s.numbers != nil {
		return s.numbers[row]
	}
	return uint32(row)
}

func (s *sideData) null(row int) bool { return s.isNull != nil && s.isNull[row] }

// pair is rows as they are called.
type pair struct{ build, probe uint32 }

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.probe, b.probe), cmp.Compare(a.build, b.build))
}

// answer returns the pairs in order, and which build rows have a match.
func (c *joinCase) answer() (pairs []pair, matched []bool) {
	matched = make([]bool, len(c.build.keys))
	rows := map[uint64][]uint32{}
	for row, key := range c.build.keys {
		if !c.build.null(row) {
			rows[key] = append(rows[key], c.build.called(row))
		}
	}
	for row, key := range c.probe.keys {
		var found []uint32
		if !c.probe.null(row) {
			found = rows[key]
		}
		for _, b := range found {
			matched[b] = true
		}
		probe := c.probe.called(row)
		switch {
		case c.kind == kernels.JoinSemi && len(found) > 0, c.kind == kernels.JoinAnti && len(found) == 0,
			c.kind == kernels.JoinLeft && len(found) == 0:
			pairs = append(pairs, pair{kernels.NoRow, probe})
		case c.kind == kernels.JoinInner || c.kind == kernels.JoinLeft:
			for _, b := range found {
				pairs = append(pairs, pair{b, probe})
			}
		}
	}
	slices.SortFunc(pairs, comparePairs)
	return pairs, matched
}

// keyOf returns the bytes of a key.
func (c *joinCase) keyOf(key uint64) []byte {
	var b []byte
	for word := range (c.keyBytes + 7) / 8 {
		b = binary.LittleEndian.AppendUint64(b, key*uint64(1+word*word))
	}
	return b[:c.keyBytes]
}

// putSide returns a side in device memory, as it is or with its keys in an order.
func (c *joinCase) putSide(r *Rig, s *sideData) kernels.JoinSide {
	var keys, numbers []byte
	for row, key := range s.keys {
		keys = append(keys, c.keyOf(key)...)
		numbers = binary.LittleEndian.AppendUint32(numbers, s.called(row))
	}
	side := kernels.JoinSide{Count: int64(len(s.keys)), Keys: r.put(keys)}
	if s.isNull != nil {
		side.Valid = r.put(s.bitmap())
	}
	if s.numbers != nil {
		side.Numbers = r.put(numbers)
	}
	return side
}

// bitmap has a bit for each key that is not NULL.
func (s *sideData) bitmap() []byte {
	bits := make([]byte, (len(s.keys)+31)/32*4)
	for row := range s.keys {
		if !s.null(row) {
			bits[row/8] |= 1 << (row % 8)
		}
	}
	return bits
}

// run holds one algorithm to the answer.
func (c *joinCase) run(t *testing.T, device kernels.Device, way joinWay, rng *rand.Rand) {
	switch {
	case way != "table" && c.keyBytes > 8, way == "sorted" && (c.build.isNull != nil || c.probe.isNull != nil):
		return
	}
	r := newRig(t, device)
	defer r.close()
	want, matched := c.answer()
	j := &kernels.Join{Kind: c.kind, KeyBytes: c.keyBytes, Unique: c.unique,
		Build: c.putSide(r, &c.build), Probe: c.putSide(r, &c.probe)}
	if c.wantsMatched {
		j.Matched = r.alloc(kernels.MatchedBytes(j.Build.Count))
		r.must(r.stream.Fill(j.Matched, kernels.MatchedBytes(j.Build.Count), 0))
	}
	capacity := int64(len(want))
	if c.isCountedOnly {
		capacity = rng.Int64N(capacity + 1)
	}
	j.Into = r.pairs(capacity)
	c.enqueue(r, device, j, way)
	got := r.getPairs(&j.Into)
	status := kernels.JoinStatusOf(r.get(j.Into.Status, kernels.JoinStatusBytes))
	if status.Pairs != uint64(len(want)) || status.Repeated != 0 {
		t.Fatalf("%+v: %d pairs and %d repeated keys, want %d", c.describe(), status.Pairs, status.Repeated, len(want))
	}
	if capacity == int64(len(want)) && !slices.Equal(got, want) {
		t.Fatalf("%s: pairs differ", c.describe())
	}
	for _, p := range got {
		if _, ok := slices.BinarySearchFunc(want, p, comparePairs); !ok {
			t.Fatalf("%s: the pair %v is not in the answer", c.describe(), p)
		}
	}
	if c.wantsMatched {
		c.checkMatched(t, r, j, matched)
	}
}

func (c *joinCase) describe() string {
	return fmt.Sprintf("kind %d, %d build rows and %d probe rows, keys of %d B, unique %v", c.kind, len(c.build.keys),
		len(c.probe.keys), c.keyBytes, c.unique)
}

// enqueue has an algorithm append pairs.
func (c *joinCase) enqueue(r *Rig, device kernels.Device, j *kernels.Join, way joinWay) {
	switch way {
	case "table":
		table := kernels.JoinTable{Slots: kernels.JoinTableSlots(j.Build.Count)}
		table.Memory = r.alloc(j.JoinTableBytes(table.Slots))
		r.must(r.stream.BuildTable(j, table))
		r.must(r.stream.ProbeTable(j, table))
	case "partitions":
		p := kernels.JoinPartitions{RadixBits: len(c.probe.keys) % 5, TableRows: 64, HeadBits: 5, Threads: 64}
		if len(c.probe.keys)%3 == 0 {
			p.TableRows, p.HeadBits, p.Threads = 0, 0, 0
		}
		p.BuildOffsets = c.partition(r, device, &j.Build, p.RadixBits)
		p.ProbeOffsets = c.partition(r, device, &j.Probe, p.RadixBits)
		scratch := r.alloc(kernels.JoinPartitionsScratch(p.RadixBits, j.Probe.Count))
		r.must(r.stream.JoinPartitions(j, p, scratch))
	case "sorted":
		c.sort(r, &j.Build)
		c.sort(r, &j.Probe)
		r.must(r.stream.JoinSorted(j, r.alloc(j.JoinSortedScratch())))
	}
}

// partition brings a side into partitions, with its numbers, and returns where they begin.
func (c *joinCase) partition(r *Rig, device kernels.Device, s *kernels.JoinSide, radixBits int) kernels.Span {
	shape := &kernels.Shape{KeyBytes: c.keyBytes, Columns: []kernels.ColumnType{kernels.Uint32}}
	in := &kernels.Rows{Count: s.Count, Keys: s.Keys}
	in.Columns, in.Valid = []kernels.Span{r.numbers(s)}, []kernels.Span{s.Valid}
	out := r.room(shape, in)
	offsets := r.alloc(8<<radixBits + 8)
	scratch := r.alloc(kernels.PartitionScratch(shape, s.Count, radixBits, device.Properties()))
	r.must(r.stream.Partition(shape, in, radixBits, out, offsets, scratch))
	s.Keys, s.Numbers, s.Valid = out.Keys, out.Columns[0], out.Valid[0]
	return offsets
}

// numbers returns what the rows of a side are called.
func (r *Rig) numbers(s *kernels.JoinSide) kernels.Span {
	if s.Numbers.Buffer != nil {
		return s.Numbers
	}
	var numbers []byte
	for i := range s.Count {
		numbers = binary.LittleEndian.AppendUint32(numbers, uint32(i))
	}
	return r.put(numbers)
}

func (c *joinCase) sort(r *Rig, s *kernels.JoinSide) {
	sorting := &kernels.Sorting{Count: s.Count, KeyBytes: c.keyBytes, Keys: s.Keys, Values: s.Numbers, ValueBytes: 4,
		ToKeys: r.alloc(s.Count * int64(c.keyBytes)), ToValues: r.alloc(4 * s.Count)}
	r.must(r.stream.Sort(sorting, r.alloc(sorting.SortScratch())))
	s.Keys, s.Numbers = sorting.ToKeys, sorting.ToValues
}

// pairs returns room for pairs.
func (r *Rig) pairs(capacity int64) kernels.Pairs {
	p := kernels.Pairs{Capacity: capacity, Status: r.alloc(kernels.JoinStatusBytes),
		Build: r.alloc(4 * capacity), Probe: r.alloc(4 * capacity)}
	r.must(r.stream.Fill(p.Status, kernels.JoinStatusBytes, 0))
	return p
}

// getPairs returns the pairs that were written, in order.
func (r *Rig) getPairs(p *kernels.Pairs) (list []pair) {
	n := min(int64(kernels.JoinStatusOf(r.get(p.Status, kernels.JoinStatusBytes)).Pairs), p.Capacity)
	build, probe := r.get(p.Build, 4*n), r.get(p.Probe, 4*n)
	for i := range int(n) {
		list = append(list, pair{binary.LittleEndian.Uint32(build[4*i:]), binary.LittleEndian.Uint32(probe[4*i:])})
	}
	slices.SortFunc(list, comparePairs)
	return list
}

// checkMatched compares the build rows that have a match, and the others, as lists.
func (c *joinCase) checkMatched(t *testing.T, r *Rig, j *kernels.Join, matched []bool) {
	for _, listed := range []bool{true, false} {
		var want []pair
		for row, m := range matched {
			if m == listed {
				want = append(want, pair{uint32(row), kernels.NoRow})
			}
		}
		j.Into = r.pairs(j.Build.Count)
		r.must(r.stream.ListBuildRows(j, listed))
		if got := r.getPairs(&j.Into); !slices.Equal(got, want) {
			t.Errorf("%s: %d build rows with matched %v, want %d", c.describe(), len(got), listed, len(want))
		}
	}
}

// filter holds a filter to its promise: every row with a match passes, no NULL does, and few others.
func (c *joinCase) filter(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	j := &kernels.Join{KeyBytes: c.keyBytes, Into: r.pairs(0)}
	j.Build, j.Probe = c.putSide(r, &c.build), c.putSide(r, &c.probe)
	f := kernels.JoinFilter{Bytes: kernels.FilterBytes(j.Build.Count)}
	f.Memory = r.alloc(f.Bytes)
	passed := r.alloc(kernels.MatchedBytes(j.Probe.Count))
	r.must(r.stream.FillFilter(j, f))
	r.must(r.stream.TestFilter(j, f, passed))
	got := r.get(passed, kernels.MatchedBytes(j.Probe.Count))
	keys := map[uint64]bool{}
	for row, key := range c.build.keys {
		keys[key] = keys[key] || !c.build.null(row)
	}
	count, strays := uint64(0), 0
	for row, key := range c.probe.keys {
		passes, matches := got[row/8]>>(row%8)&1 != 0, keys[key] && !c.probe.null(row)
		if matches && !passes || passes && c.probe.null(row) {
			t.Fatalf("%s: row %d passes: %v", c.describe(), row, passes)
		}
		if passes {
			count++
			if !matches {
				strays++
			}
		}
	}
	if n := kernels.JoinStatusOf(r.get(j.Into.Status, kernels.JoinStatusBytes)).Pairs; n != count {
		t.Errorf("%s: %d rows passed, counted as %d", c.describe(), count, n)
	}
	if len(c.probe.keys) > 1000 && strays > len(c.probe.keys)/10 {
		t.Errorf("%s: %d of %d rows pass without a match", c.describe(), strays, len(c.probe.keys))
	}
}

// RepeatedKeys holds a table of unique keys to counting the rows whose key another row has.
func RepeatedKeys(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	var keys []byte
	for i := range 3000 {
		keys = binary.LittleEndian.AppendUint32(keys, uint32(i%1000))
	}
	j := &kernels.Join{KeyBytes: 4, Unique: true, Into: r.pairs(0)}
	j.Build = kernels.JoinSide{Count: 3000, Keys: r.put(keys)}
	table := kernels.JoinTable{Slots: kernels.JoinTableSlots(3000)}
	table.Memory = r.alloc(j.JoinTableBytes(table.Slots))
	r.must(r.stream.BuildTable(j, table))
	if s := kernels.JoinStatusOf(r.get(j.Into.Status, kernels.JoinStatusBytes)); s.Repeated != 2000 {
		t.Errorf("%d repeated keys, want 2000", s.Repeated)
	}
}

// Gathers holds Gather to random columns and numbers, some of which are of no row.
func Gathers(t *testing.T, device kernels.Device, cases, rowsMax int) {
	rng := rand.New(rand.NewPCG(29, uint64(cases)))
	for range cases {
		testGather(t, device, rng, 1+rng.IntN(rowsMax), rng.IntN(rowsMax))
	}
}

func testGather(t *testing.T, device kernels.Device, rng *rand.Rand, rows, count int) {
	r := newRig(t, device)
	defer r.close()
	g := &kernels.Gathering{Count: int64(count)}
	if rng.IntN(2) == 0 {
		g.Count += int64(rng.IntN(rows))
		g.Counted = r.put(binary.LittleEndian.AppendUint64(nil, uint64(count)))
	}
	numbers := make([]uint32, g.Count)
	var list []byte
	for i := range numbers {
		numbers[i] = rng.Uint32N(uint32(rows))
		if rng.IntN(5) == 0 {
			numbers[i] = math.MaxUint32
		}
		list = binary.LittleEndian.AppendUint32(list, numbers[i])
	}
	g.Numbers = r.put(list)
	var want, wantValid [][]byte
	for range rng.IntN(5) {
		c := kernels.GatherColumn{Bytes: 4 << rng.IntN(3), FromRows: int64(rows)}
		from, valid := random(rows*c.Bytes, rng.Uint64()), random((rows+31)/32*4, rng.Uint64())
		c.From, c.To = r.put(from), r.alloc(g.Count*int64(c.Bytes))
		if rng.IntN(2) == 0 {
			c.FromValid = r.put(valid)
		}
		if rng.IntN(2) == 0 {
			c.ToValid = r.alloc(kernels.MatchedBytes(g.Count))
		}
		var to []byte
		toValid := make([]byte, (count+31)/32*4)
		for i, row := range numbers[:count] {
			if row == kernels.NoRow {
				to = append(to, make([]byte, c.Bytes)...)
				continue
			}
			to = append(to, from[int(row)*c.Bytes:][:c.Bytes]...)
			if c.FromValid.Buffer == nil || valid[row/8]>>(row%8)&1 != 0 {
				toValid[i/8] |= 1 << (i % 8)
			}
		}
		g.Columns, want, wantValid = append(g.Columns, c), append(want, to), append(wantValid, toValid)
	}
	r.must(r.stream.Gather(g))
	for i, c := range g.Columns {
		if got := r.get(c.To, int64(len(want[i]))); !bytes.Equal(got, want[i]) {
			t.Errorf("column %d of %d B: byte %d differs", i, c.Bytes, firstDifference(got, want[i]))
		}
		if c.ToValid.Buffer != nil && !bytes.Equal(r.get(c.ToValid, int64(len(wantValid[i]))), wantValid[i]) {
			t.Errorf("column %d of %d B: its bitmap differs", i, c.Bytes)
		}
	}
}
