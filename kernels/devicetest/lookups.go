package devicetest

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/kernels"
)

// lookup is rows of the host that are found by a key.
type lookup struct {
	rowcode.Lookup      // whose methods are not called: a program knows it by its address
	repeats        bool // keys may
	keys           []int64
	columns        [2][]rowcode.Cell
	marked         []bool // by row, as the oracle has them
}

// addLookups makes tables of no, few and many rows, whose keys are among the values of inputs and others.
func (e *evaluateCase) addLookups() {
	for i := range 3 {
		l := &lookup{repeats: i == 2}
		for range e.rng.IntN(4) * e.rng.IntN(200) {
			key := e.rng.Int64() >> e.rng.IntN(64)
			if e.rng.IntN(2) == 0 {
				key = intEdges[e.rng.IntN(len(intEdges))] >> (e.rng.IntN(2) * 40)
			}
			if l.repeats || !slices.Contains(l.keys, key) {
				l.keys = append(l.keys, key)
			}
		}
		for c := range l.columns {
			for range l.keys {
				cell := rowcode.Cell{Word: e.rng.Int64() >> e.rng.IntN(64), Null: c == 0 && e.rng.IntN(4) == 0}
				l.columns[c] = append(l.columns[c], cell)
			}
		}
		e.lookups = append(e.lookups, l)
	}
}

// addFetched adds a row that is found by a key, values of it, and what a pattern says of one.
func (e *evaluateCase) addFetched(key rowcode.Value) {
	l := e.lookups[e.rng.IntN(2)]
	row := e.Find(l, key)
	if !e.hasEach && e.rng.IntN(3) == 0 {
		l, e.hasEach = e.lookups[2], true
		row = e.Each(l, key)
	}
	if e.rng.IntN(3) == 0 {
		row = e.Mark(l, row)
	}
	value := e.Fetch(l, row, e.rng.IntN(len(l.columns)))
	is, _ := e.Match(value, rowcode.Pattern{Text: string(rune('a' + e.rng.IntN(8)))})
	e.ints = append(e.ints, row, value, is)
}

// putLookups brings the lookups of the code to the device.
func (e *evaluateCase) putLookups() {
	r, ev := e.rig, &e.evaluation
	for _, of := range e.code.Lookups {
		l := of.(*lookup)
		j := kernels.Join{KeyBytes: 8, Unique: !l.repeats, Build: kernels.JoinSide{Count: int64(len(l.keys))}}
		j.Into.Status = r.put(make([]byte, kernels.JoinStatusBytes))
		var keys []byte
		for _, key := range l.keys {
			keys = binary.LittleEndian.AppendUint64(keys, uint64(key))
		}
		j.Build.Keys = r.put(keys)
		table := kernels.JoinTable{Slots: kernels.JoinTableSlots(j.Build.Count)}
		table.Memory = r.alloc(j.JoinTableBytes(table.Slots))
		r.must(r.stream.BuildTable(&j, table))
		l.marked = make([]bool, len(l.keys))
		ev.Lookups = append(ev.Lookups, kernels.LookupTable{Rows: j.Build.Count, Keys: j.Build.Keys, Table: table})
	}
	for _, i := range e.code.Marked {
		of := &ev.Lookups[i]
		of.Marks = r.put(bytes.Repeat([]byte{0xFF}, int(kernels.BitmapBytes(of.Rows))))
	}
	for _, f := range e.code.Fetched {
		cells := e.code.Lookups[f.Lookup].(*lookup).columns[f.Column]
		var values []byte
		valid := make([]byte, (len(cells)+31)/32*4)
		for i, c := range cells {
			values = binary.LittleEndian.AppendUint64(values, uint64(c.Word))
			if !c.Null {
				valid[i/8] |= 1 << (i % 8)
			}
		}
		column := kernels.Column{Type: kernels.Int64, Values: r.put(values)}
		if f.Column == 0 {
			column.Valid = r.put(valid)
		}
		ev.Fetched = append(ev.Fetched, column)
	}
}

// lookupsOf are the lookups of code, as the oracle has them.
type lookupsOf struct{ *rowcode.Code }

// Find implements rowcode.Tables.
func (t lookupsOf) Find(number int, key int64) (row int64, ok bool) {
	at := slices.Index(t.Lookups[number].(*lookup).keys, key)
	return int64(at), at >= 0
}

// Next implements rowcode.Tables.
func (t lookupsOf) Next(number int, row int64) (next int64, ok bool) {
	keys := t.Lookups[number].(*lookup).keys
	at := slices.Index(keys[row+1:], keys[row])
	return row + 1 + int64(at), at >= 0
}

// Fetch implements rowcode.Tables.
func (t lookupsOf) Fetch(fetched int, row int64) rowcode.Cell {
	of := t.Fetched[fetched]
	return t.Lookups[of.Lookup].(*lookup).columns[of.Column][row]
}

// Mark implements rowcode.Tables.
func (t lookupsOf) Mark(number int, row int64) { t.Lookups[number].(*lookup).marked[row] = true }

// checkMarks fails where other rows of lookups are marked than the oracle has.
func (e *evaluateCase) checkMarks() {
	for _, i := range e.code.Marked {
		l := e.code.Lookups[i].(*lookup)
		got := e.rig.get(e.evaluation.Lookups[i].Marks, kernels.BitmapBytes(int64(len(l.keys))))
		for row, want := range l.marked {
			if is := got[row/8]>>(row%8)&1 == 1; is != want {
				e.rig.t.Errorf("row %d of lookup %d is marked: %v, want %v", row, i, is, want)
			}
		}
	}
}
