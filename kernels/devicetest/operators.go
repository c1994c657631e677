package devicetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// Operators holds the operators of a device to a case list, with plans of the named kernels.
func Operators(t *testing.T, device kernels.Device, cases []Case, plans ...kernels.Plan) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r := newRig(t, device)
			defer r.close()
			data := c.Data()
			answer := data.Answer(&c.Shape)
			rows := r.putRows(data)
			for _, plan := range plansFor(&c.Shape, plans) {
				r.aggregate(&c, plan, rows, answer)
			}
			r.scatter(&c, rows, data)
			r.table(&c, rows, data, answer)
			r.sample(&c, rows, data)
		})
	}
}

// plansFor returns the plans whose kernels take a shape.
func plansFor(shape *kernels.Shape, plans []kernels.Plan) []kernels.Plan {
	return slices.DeleteFunc(slices.Clone(plans), func(p kernels.Plan) bool { return p.Kernel.Takes(shape) != nil })
}

// scratch returns the scratch of Aggregate.
func (r *Rig) scratch(plan kernels.Plan, shape *kernels.Shape, rows int64) kernels.Span {
	return r.alloc(plan.AggregateScratch(shape, rows, r.device.Properties()))
}

// aggregate groups the rows, and merges the groups of their halves.
func (r *Rig) aggregate(c *Case, plan kernels.Plan, rows *kernels.Rows, want *Answer) {
	r.t.Helper()
	into := r.groups(&c.Shape, int64(len(want.rows)))
	r.must(r.stream.Aggregate(&c.Shape, plan, rows, into, r.scratch(plan, &c.Shape, rows.Count)))
	if err := r.checkGroups(want, into); err != nil {
		r.t.Errorf("%s: %v", planName(plan), err)
		return
	}
	if s := r.status(into.Status); s.Rows != uint64(rows.Count) {
		r.t.Errorf("%s: %d rows aggregated, want %d", planName(plan), s.Rows, rows.Count)
	}
	r.merge(c, plan, rows, want)
	// A wrong estimate gives the answer too, or none.
	for _, groups := range []int64{1, int64(len(want.rows))/2 + 1, 3*rows.Count + 1} {
		plan.Groups = groups
		r.poison(&c.Shape, into)
		r.must(r.stream.Aggregate(&c.Shape, plan, rows, into, r.scratch(plan, &c.Shape, rows.Count)))
		if r.status(into.Status).Overflow > 0 {
			continue
		}
		if err := r.checkGroups(want, into); err != nil {
			r.t.Errorf("%s, planned for %d groups: %v", planName(plan), groups, err)
		}
	}
}

// halves returns the halves of rows, cut where bitmaps and columns are aligned.
func halves(shape *kernels.Shape, rows *kernels.Rows) []*kernels.Rows {
	half := rows.Count / 2 / 128 * 128
	return []*kernels.Rows{slice(shape, rows, 0, half), slice(shape, rows, half, rows.Count)}
}

// merge inserts the groups of each half of the rows into a table: groups of a key that both halves
// have are merged.
func (r *Rig) merge(c *Case, plan kernels.Plan, rows *kernels.Rows, want *Answer) {
	r.t.Helper()
	groups := int64(len(want.rows))
	table := kernels.Table{Slots: 2*groups + 64}
	table.Memory = r.alloc(table.Bytes(&c.Shape))
	r.must(r.stream.ResetTable(&c.Shape, table))
	part, over, status := r.groups(&c.Shape, groups), r.groups(&c.Shape, groups), r.alloc(64)
	for _, p := range halves(&c.Shape, rows) {
		r.poison(&c.Shape, part)
		r.must(r.stream.Aggregate(&c.Shape, plan, p, part, r.scratch(plan, &c.Shape, p.Count)))
		s := r.status(part.Status)
		if s.Overflow != 0 || s.Groups > uint64(part.Capacity) {
			r.t.Errorf("%s: %d rows of a half found no slot; %d groups, capacity %d", planName(plan),
				s.Overflow, s.Groups, part.Capacity)
			return
		}
		r.must(r.stream.InsertGroups(&c.Shape, part, int64(s.Groups), table, over, status))
		if m := r.status(status); m.Rows != s.Groups || m.Overflow != 0 {
			r.t.Errorf("%s: %d groups merged and %d refused, want %d", planName(plan), m.Rows, m.Overflow, s.Groups)
			return
		}
	}
	if got := r.compacted(c, table); got != nil {
		if err := want.Check(got); err != nil {
			r.t.Errorf("%s, merged: %v", planName(plan), err)
		}
	}
}

// slice returns rows from begin to end. Requires: begin is a multiple of 128.
func slice(shape *kernels.Shape, rows *kernels.Rows, begin, end int64) *kernels.Rows {
	out := &kernels.Rows{Count: end - begin, Keys: rows.Keys.At(begin * int64(shape.KeyBytes))}
	for i, t := range shape.Columns {
		out.Columns = append(out.Columns, rows.Columns[i].At(begin*int64(t.Bytes())))
		// also of no bitmap: without a buffer, the offset says nothing
		out.Valid = append(out.Valid, rows.Valid[i].At(begin/8))
	}
	return out
}

func planName(p kernels.Plan) string {
	if p.Slots > 0 {
		return fmt.Sprintf("%s, %d slots", p.Kernel, p.Slots)
	}
	return p.Kernel.String()
}

// scatter splits the rows, and looks for each in its partition.
func (r *Rig) scatter(c *Case, rows *kernels.Rows, data *Data) {
	r.t.Helper()
	for _, radixBits := range []int{0, 3, 8, partition.RadixBitsMax} {
		seed := partition.Seed(radixBits)
		into, offsets := r.room(&c.Shape, rows), r.alloc(8<<radixBits+8)
		r.must(r.stream.Scatter(&c.Shape, rows, seed, radixBits, into, offsets, r.alloc(kernels.ScatterScratch(radixBits))))
		got := r.getRows(&c.Shape, into, rows.Count)
		if err := checkScatter(&c.Shape, data, got, r.words(offsets, 1<<radixBits+1), seed, radixBits); err != nil {
			r.t.Errorf("scatter, %d bits: %v", radixBits, err)
		}
	}
}

func checkScatter(shape *kernels.Shape, data, got *Data, offsets []uint64, seed uint64, radixBits int) error {
	if offsets[0] != 0 || offsets[len(offsets)-1] != uint64(data.Rows) {
		return fmt.Errorf("partitions from row %d to %d, want 0 to %d", offsets[0], offsets[len(offsets)-1], data.Rows)
	}
	hashes := data.hashes(shape, seed)
	want := make([]uint64, len(offsets))
	for _, h := range hashes {
		want[partition.Radix(radixBits).Of(h)+1]++
	}
	for p := 1; p < len(want); p++ {
		if want[p] += want[p-1]; want[p] != offsets[p] {
			return fmt.Errorf("partition %d ends at row %d, want %d", p-1, offsets[p], want[p])
		}
	}
	p := 0
	for i, h := range got.hashes(shape, seed) {
		for uint64(i) >= offsets[p+1] {
			p++
		}
		if of := partition.Radix(radixBits).Of(h); of != p {
			return fmt.Errorf("row %d of partition %d is in partition %d", i, of, p)
		}
	}
	return sameRows(shape, data, got)
}

// hashes returns the hashes by which rows are scattered.
func (d *Data) hashes(shape *kernels.Shape, seed uint64) []uint64 {
	words := make([]uint64, 0, d.Rows*max(1, shape.KeyBytes/8))
	for at := 0; at < len(d.Keys); {
		if shape.KeyBytes == 4 {
			words = append(words, uint64(binary.LittleEndian.Uint32(d.Keys[at:])))
			at += 4
			continue
		}
		words = append(words, binary.LittleEndian.Uint64(d.Keys[at:]))
		at += 8
	}
	out := make([]uint64, d.Rows)
	if shape.KeyBytes <= 8 {
		partition.HashKeys1(words, seed, out)
	} else if d.Rows > 0 {
		partition.HashKeysN(words, shape.KeyBytes/8, seed, out)
	}
	return out
}

// sameRows compares rows as multisets.
func sameRows(shape *kernels.Shape, a, b *Data) error {
	x, y := a.eachRow(shape), b.eachRow(shape)
	slices.Sort(x)
	slices.Sort(y)
	if len(x) != len(y) {
		return fmt.Errorf("%d rows, want %d", len(y), len(x))
	}
	for i := range x {
		if x[i] != y[i] {
			return fmt.Errorf("the rows are not the same: %x came, %x went", y[i], x[i])
		}
	}
	return nil
}

// eachRow returns each row's key, values and NULLs as a string.
func (d *Data) eachRow(shape *kernels.Shape) []string {
	out := make([]string, d.Rows)
	for i := range out {
		row := slices.Clone(d.Keys[i*shape.KeyBytes : (i+1)*shape.KeyBytes])
		for c, t := range shape.Columns {
			row = append(row, d.Columns[c][i*t.Bytes():(i+1)*t.Bytes()]...)
			if isSet(d.Valid[c], i) {
				row = append(row, 1)
			} else {
				row = append(row, 0)
			}
		}
		out[i] = string(row)
	}
	return out
}

// table fills a table that has room, in two insertions, a table that is sealed between the two, and
// a table without room.
func (r *Rig) table(c *Case, rows *kernels.Rows, data *Data, want *Answer) {
	r.t.Helper()
	groups := int64(len(want.rows))
	for _, packed := range []bool{false, true} {
		if packed && !c.Shape.Packs() {
			return
		}
		enough, few := 2*groups+64, groups/2+1
		if packed {
			enough = max(enough, kernels.PackedSlotsMin(rows.Count))
			if c.Shape.Folds[0].Op != kernels.Count { // whose carries would be too many
				few = max(few, kernels.PackedSlotsMin(rows.Count))
			}
		}
		r.tableOf(c, rows, data, want, kernels.Table{Slots: enough, Packed: packed}, false)
		r.tableOf(c, rows, data, want, kernels.Table{Slots: enough, Packed: packed}, true)
		r.tableOf(c, rows, data, want, kernels.Table{Slots: few, Packed: packed}, false)
	}
}

func (r *Rig) tableOf(c *Case, rows *kernels.Rows, data *Data, want *Answer, table kernels.Table, seal bool) {
	r.t.Helper()
	slots := table.Slots
	table.Memory = r.alloc(table.Bytes(&c.Shape))
	r.must(r.stream.ResetTable(&c.Shape, table))
	var left []*Data
	var groups []uint64
	for _, part := range halves(&c.Shape, rows) {
		over, status := r.room(&c.Shape, part), r.alloc(64)
		r.must(r.stream.Insert(&c.Shape, part, table, over, status))
		s := r.status(status)
		if s.Rows+s.Overflow != uint64(part.Count) {
			r.t.Errorf("table of %d slots: %d rows and an overflow of %d make not %d", slots, s.Rows, s.Overflow, part.Count)
			return
		}
		left = append(left, r.getRows(&c.Shape, over, int64(s.Overflow)))
		groups = append(groups, s.Groups)
		table.Sealed = seal
	}
	got := r.compacted(c, table)
	if got == nil {
		return
	}
	distinct := int64(len(want.rows))
	if slots > distinct && !seal && len(left[0].Keys)+len(left[1].Keys) > 0 {
		r.t.Errorf("table of %d slots for %d groups: %d and %d rows overflow", slots, distinct, left[0].Rows, left[1].Rows)
	}
	if err := checkTable(want, data, got, left); err != nil {
		r.t.Errorf("table of %d slots, packed %v: %v", slots, table.Packed, err)
	}
	if !seal && len(left[0].Keys)+len(left[1].Keys) == 0 {
		r.insertGroups(c, rows, table, got, want)
	}
	if !seal {
		return
	}
	if groups[1] != groups[0] {
		r.t.Errorf("a sealed table of %d groups has %d", groups[0], groups[1])
	}
	k := c.Shape.KeyBytes
	refused := map[string]bool{}
	for i := range left[1].Rows {
		refused[string(left[1].Keys[i*k:(i+1)*k])] = true
	}
	for i := range len(got.Keys) / k {
		if refused[string(got.Keys[i*k:(i+1)*k])] {
			r.t.Errorf("a sealed table refused rows of a key that it has: %x", got.Keys[i*k:(i+1)*k])
			return
		}
	}
}

// insertGroups empties a table and inserts groups; and again, with too few slots for all of them.
func (r *Rig) insertGroups(c *Case, rows *kernels.Rows, table kernels.Table, all *Groups, want *Answer) {
	r.t.Helper()
	count := int64(len(all.Keys) / c.Shape.KeyBytes)
	in, over, status := r.groups(&c.Shape, max(count, 1)), r.groups(&c.Shape, max(count, 1)), r.alloc(64)
	r.must(r.stream.Copy(kernels.Copy{Device: in.Keys, Host: all.Keys}))
	for i, words := range all.States {
		host, err := binary.Append(nil, binary.LittleEndian, words)
		r.must(err)
		r.must(r.stream.Copy(kernels.Copy{Device: in.States[i], Host: host}))
	}
	r.must(r.stream.ResetTable(&c.Shape, table))
	r.must(r.stream.InsertGroups(&c.Shape, in, count, table, over, status))
	if s := r.status(status); s.Groups != uint64(count) || s.Rows != uint64(count) || s.Overflow != 0 {
		r.t.Errorf("table of %d slots, packed %v: %d groups inserted, %d there, %d refused, want %d",
			table.Slots, table.Packed, s.Rows, s.Groups, s.Overflow, count)
		return
	}
	if got := r.compacted(c, table); got != nil {
		if err := want.Check(got); err != nil {
			r.t.Errorf("groups in a table of %d slots, packed %v: %v", table.Slots, table.Packed, err)
		}
	}
	few := kernels.Table{Slots: count / 2, Memory: table.Memory, Packed: table.Packed}
	if count < 2 || table.Packed && few.Slots < kernels.PackedSlotsMin(rows.Count) {
		return
	}
	r.must(r.stream.ResetTable(&c.Shape, few))
	r.must(r.stream.InsertGroups(&c.Shape, in, count, few, over, status))
	s := r.status(status)
	got := r.compacted(c, few)
	if got == nil {
		return
	}
	got.append(r.getGroups(&c.Shape, over, int64(s.Overflow)))
	if err := want.Check(got); err != nil {
		r.t.Errorf("groups in a table of %d slots, packed %v, and %d that it refused: %v", few.Slots,
			few.Packed, s.Overflow, err)
	}
}

// compacted returns the groups of a table, whose slots it reads in two parts; nil, if they found no
// room.
func (r *Rig) compacted(c *Case, table kernels.Table) *Groups {
	r.t.Helper()
	all := &Groups{States: make([][]uint64, len(c.Shape.Folds))}
	for _, part := range [][2]int64{{0, table.Slots / 3}, {table.Slots / 3, table.Slots}} {
		// A packed table has 2^11 slots at least, and up to four behind them.
		into := r.groups(&c.Shape, max(part[1]-part[0], 1<<11)+4)
		r.must(r.stream.Compact(&c.Shape, table, part[0], part[1], into))
		s := r.status(into.Status)
		if s.Groups > uint64(into.Capacity) || s.Overflow != 0 {
			r.t.Errorf("table of %d slots, packed %v: %d groups, %d of them without room", table.Slots,
				table.Packed, s.Groups, s.Overflow)
			return nil
		}
		all.append(r.getGroups(&c.Shape, into, int64(s.Groups)))
	}
	return all
}

// checkTable compares the groups of a table with an answer to the rows that did not overflow.
func checkTable(want *Answer, data *Data, got *Groups, left []*Data) error {
	shape := want.shape
	gone := map[string]int{}
	for _, d := range left {
		for _, row := range d.eachRow(shape) {
			gone[row]++
		}
	}
	if len(gone) == 0 {
		return want.Check(got)
	}
	rest := &Answer{shape: shape, data: data, rows: map[string][]int32{}}
	k := shape.KeyBytes
	for i, row := range data.eachRow(shape) {
		if gone[row] > 0 {
			gone[row]--
			continue
		}
		key := string(data.Keys[i*k : (i+1)*k])
		rest.rows[key] = append(rest.rows[key], int32(i))
	}
	for row, n := range gone {
		if n > 0 {
			return fmt.Errorf("%d rows of the overflow were not among the rows: %x", n, row)
		}
	}
	return rest.Check(got)
}

// sample compares the registers with the host's.
func (r *Rig) sample(c *Case, rows *kernels.Rows, data *Data) {
	r.t.Helper()
	want := make([]byte, partition.SketchRegisters)
	want[7] = 50 // a register of other rows, which stays
	registers := r.put(want)
	r.must(r.stream.Sample(&c.Shape, rows, registers))
	for _, h := range data.hashes(&c.Shape, 0) {
		partition.AddHash(want, h)
	}
	if got := r.get(registers, partition.SketchRegisters); !slices.Equal(got, want) {
		r.t.Error("sample: the registers are not the host's")
	}
}

// Overflow aggregates more groups than there is room for: the status must say so.
func Overflow(t *testing.T, device kernels.Device, plans ...kernels.Plan) {
	c := Case{Shape: mixedShape(8), Rows: 20000, Groups: 5000, Seed: 1}
	data := c.Data()
	answer := data.Answer(&c.Shape)
	for _, plan := range plans {
		t.Run(planName(plan), func(t *testing.T) {
			r := newRig(t, device)
			defer r.close()
			rows := r.putRows(data)
			for _, capacity := range []int64{0, 1, 100, int64(len(answer.rows)) - 1} {
				into := r.groups(&c.Shape, capacity)
				r.must(r.stream.Aggregate(&c.Shape, plan, rows, into, r.scratch(plan, &c.Shape, rows.Count)))
				if s := r.status(into.Status); s.Overflow == 0 {
					t.Errorf("room for %d groups: %d groups, %d rows, and no overflow", capacity, s.Groups, s.Rows)
				}
				r.free()
				rows = r.putRows(data)
			}
		})
	}
}

// Repeat runs the same work again and again: its integers must not differ by a bit.
func Repeat(t *testing.T, device kernels.Device, rows, times int, plans ...kernels.Plan) {
	shape := mixedShape(8)
	shape.Folds = slices.DeleteFunc(shape.Folds, func(f kernels.Fold) bool { return f.Op == kernels.SumFloat })
	c := Case{Shape: shape, Rows: rows, Groups: rows / 50, Nulls: 0.2, Distribution: Distribution{Zipf, 1}, Seed: 2}
	data := c.Data()
	answer := data.Answer(&c.Shape)
	for _, plan := range plans {
		t.Run(planName(plan), func(t *testing.T) {
			r := newRig(t, device)
			defer r.close()
			rows := r.putRows(data)
			into, scratch := r.groups(&c.Shape, int64(len(answer.rows))+10), r.scratch(plan, &c.Shape, rows.Count)
			for i := range times {
				r.poison(&c.Shape, into)
				r.must(r.stream.Aggregate(&c.Shape, plan, rows, into, scratch))
				if err := r.checkGroups(answer, into); err != nil {
					t.Fatalf("run %d: %v", i+1, err)
				}
			}
		})
	}
}
