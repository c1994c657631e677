package devicetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/joins"
)

// Algorithms holds the joins of package joins to random sides with columns of 4, 8 and 16 bytes, some with NULLs: every
// algorithm has the rows of every kind, or says what it lacks.
func Algorithms(t *testing.T, device kernels.Device, cases, rowsMax int) {
	answered := map[joins.Algorithm]int{}
	for i := range cases {
		rng := rand.New(rand.NewPCG(31, uint64(i)))
		c := newAlgorithmCase(rng, rowsMax)
		for _, algorithm := range joins.Algorithms() {
			c.query.Algorithm = algorithm
			if c.query.Kind = c.kind; c.run(t, device) {
				answered[algorithm]++
			}
		}
	}
	for _, algorithm := range joins.Algorithms() {
		if answered[algorithm] < cases/20+1 {
			t.Errorf("%v answered %d of %d cases", algorithm, answered[algorithm], cases)
		}
	}
}

// algorithmCase is a join of two sides with columns.
type algorithmCase struct {
	*joinCase
	kind    joins.Kind
	query   joins.Query
	columns [2][]columnData // of the build side and of the probe side
	short   bool            // less room than pairs
}

// columnData is a column in host memory; valid is nil where no value is NULL.
type columnData struct {
	bytes         int
	values, valid []byte
}

func newAlgorithmCase(rng *rand.Rand, rowsMax int) *algorithmCase {
	c := &algorithmCase{joinCase: newJoinCase(rng, rowsMax), kind: joins.Kind(rng.IntN(6)), short: rng.IntN(6) == 0}
	if c.keyBytes > 8 && rng.IntN(3) > 0 {
		c.keyBytes = 8
	}
	plain := rng.IntN(2) == 0 // what all algorithms take
	for side, data := range []*sideData{&c.build, &c.probe} {
		data.numbers = nil
		if plain {
			data.isNull = nil
		}
		for range rng.IntN(4) {
			rows := len(data.keys)
			col := columnData{bytes: 4 << rng.IntN(3)}
			if plain {
				col.bytes = min(col.bytes, 8)
			} else if rng.IntN(2) == 0 {
				col.valid = random((rows+31)/32*4, rng.Uint64())
			}
			col.values = random(rows*col.bytes, rng.Uint64())
			c.columns[side] = append(c.columns[side], col)
		}
	}
	c.query = joins.Query{KeyBytes: c.keyBytes, Unique: c.unique}
	return c
}

// row writes the values of a side's row, or of none, as an answer has them.
func (c *algorithmCase) row(side int, row uint32, data *sideData) string {
	var b strings.Builder
	for _, col := range c.columns[side] {
		switch {
		case row == kernels.NoRow, col.valid != nil && col.valid[row/8]>>(row%8)&1 == 0:
			b.WriteString(" NULL")
		default:
			fmt.Fprintf(&b, " %x", col.values[int(row)*col.bytes:][:col.bytes])
		}
	}
	if c.keyBytes <= 8 {
		key := make([]byte, c.keyBytes)
		if row != kernels.NoRow {
			key = c.keyOf(data.keys[row])
		}
		fmt.Fprintf(&b, " key %x", key)
	}
	return b.String()
}

// answerRows returns the rows of the answer, in order.
func (c *algorithmCase) answerRows() (rows []string) {
	c.joinCase.kind = map[joins.Kind]kernels.JoinKind{joins.Left: kernels.JoinLeft, joins.Full: kernels.JoinLeft,
		joins.Semi: kernels.JoinSemi, joins.Anti: kernels.JoinAnti}[c.kind]
	pairs, matched := c.answer()
	if c.kind == joins.Right || c.kind == joins.Full {
		for row, m := range matched {
			if !m {
				pairs = append(pairs, pair{uint32(row), kernels.NoRow})
			}
		}
	}
	for _, p := range pairs {
		build := ""
		if c.kind < joins.Semi {
			build = c.row(0, p.build, &c.build)
		}
		rows = append(rows, build+" |"+c.row(1, p.probe, &c.probe))
	}
	slices.Sort(rows)
	return rows
}

// put returns a side with its columns in device memory, and room for an answer's columns.
func (c *algorithmCase) put(r *Rig, side int, data *sideData, capacity int64) (
	joins.Side, []joins.Column, kernels.Span,
) {
	keys := c.putSide(r, data)
	s := joins.Side{Count: keys.Count, Keys: keys.Keys, Valid: keys.Valid}
	var room []joins.Column
	for _, col := range c.columns[side] {
		in := joins.Column{Bytes: col.bytes, Values: r.put(col.values)}
		if col.valid != nil {
			in.Valid = r.put(col.valid)
		}
		s.Columns = append(s.Columns, in)
		room = append(room, joins.Column{Bytes: col.bytes, Values: r.alloc(capacity * int64(col.bytes)),
			Valid: r.alloc(kernels.MatchedBytes(capacity))})
	}
	if c.keyBytes > 8 {
		return s, room, kernels.Span{}
	}
	return s, room, r.alloc(capacity * int64(c.keyBytes))
}

// run returns false where the algorithm lacks something.
func (c *algorithmCase) run(t *testing.T, device kernels.Device) bool {
	r := newRig(t, device)
	defer r.close()
	want := c.answerRows()
	capacity := int64(len(want))
	if c.short {
		capacity /= 2
	}
	q := &c.query
	out := &joins.Output{Capacity: capacity, Status: r.alloc(kernels.JoinStatusBytes)}
	q.Build, out.Build, out.BuildKeys = c.put(r, 0, &c.build, capacity)
	q.Probe, out.Probe, out.ProbeKeys = c.put(r, 1, &c.probe, capacity)
	if c.kind >= joins.Semi {
		out.Build, out.BuildKeys = nil, kernels.Span{}
	}
	if q.Lacks() != nil {
		return false
	}
	scratch := r.alloc(q.Scratch(device.Properties(), capacity))
	r.must(q.Enqueue(r.stream, device.Properties(), out, scratch))
	name := fmt.Sprintf("%v, %v, %s", q.Algorithm, c.kind, c.describe())
	if n := kernels.JoinStatusOf(r.get(out.Status, kernels.JoinStatusBytes)).Pairs; n != uint64(len(want)) {
		t.Fatalf("%s: %d rows, want %d", name, n, len(want))
	}
	got := c.outputRows(r, out)
	slices.Sort(got)
	if !c.short && !slices.Equal(got, want) {
		at := 0
		for got[at] == want[at] {
			at++
		}
		t.Fatalf("%s: row %d is %s, want %s", name, at, got[at], want[at])
	}
	for _, row := range got {
		if _, ok := slices.BinarySearch(want, row); !ok {
			t.Fatalf("%s: %s is not in the answer", name, row)
		}
	}
	return true
}

// outputRows writes the rows of an output.
func (c *algorithmCase) outputRows(r *Rig, out *joins.Output) []string {
	rows := make([]string, out.Capacity)
	side := func(columns []joins.Column, keys kernels.Span) {
		for _, col := range columns {
			values := r.get(col.Values, out.Capacity*int64(col.Bytes))
			valid := r.get(col.Valid, kernels.MatchedBytes(out.Capacity))
			for i := range rows {
				if valid[i/8]>>(i%8)&1 == 0 {
					rows[i] += " NULL"
					continue
				}
				rows[i] += fmt.Sprintf(" %x", values[i*col.Bytes:][:col.Bytes])
			}
		}
		if keys.Buffer != nil {
			b := r.get(keys, out.Capacity*int64(c.keyBytes))
			for i := range rows {
				rows[i] += fmt.Sprintf(" key %x", b[i*c.keyBytes:][:c.keyBytes])
			}
		}
	}
	side(out.Build, out.BuildKeys)
	for i := range rows {
		rows[i] += " |"
	}
	side(out.Probe, out.ProbeKeys)
	return rows
}
