package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// input is rows on the host, with the groups that a Go map finds in them.
type input struct {
	shape   Shape
	count   int
	keys    []byte
	columns [][]byte
	valid   [][]bool // nil: no value is NULL
}

// allFolds is a shape with every fold over columns of every type.
func allFolds(keyBytes int) Shape {
	s := Shape{KeyBytes: keyBytes, Columns: []ColumnType{Int32, Uint32, Int64, Uint64, Float64, Int128}}
	add := func(op FoldOp, column, other int) {
		s.Folds = append(s.Folds, Fold{Op: op, Column: column, Other: other})
	}
	add(Count, -1, -1)
	add(Count, 2, -1)
	for column := range 4 {
		add(Sum128, column, -1)
		add(Min, column, -1)
		add(Max, column, -1)
	}
	add(Sum64, 0, -1)
	add(Sum64, 1, -1)
	add(Sum128, 5, -1)
	add(SumFloat, 4, -1)
	add(Min, 4, -1)
	add(Max, 4, -1)
	add(BitAnd, 2, -1)
	add(BitOr, 2, -1)
	add(BitXor, 3, -1)
	add(Moments2, 4, -1)
	add(Moments4, 0, -1)
	add(Comoments, 4, 2)
	return s
}

func sumShape(keyBytes int) Shape {
	return Shape{KeyBytes: keyBytes, Columns: []ColumnType{Uint32}, Folds: []Fold{{Op: Sum128, Column: 0, Other: -1}, {Op: Count, Column: -1, Other: -1}}}
}

// extremeKeys are words that some table might have taken for an empty slot.
var extremeKeys = []uint64{0, 1, math.MaxUint32, 1 << 31, 1 << 32, 1 << 63 /* -0 */, math.MaxInt64, math.MaxUint64, 0x9ae16a3b2f90404f,
	math.Float64bits(math.NaN())}

// makeInput draws rows; key says which of the keys a row has.
func makeInput(shape Shape, count int, seed uint64, nulls bool, key func(r *rand.Rand, row int) uint64) *input {
	r := rand.New(rand.NewPCG(seed, 1))
	in := &input{shape: shape, count: count}
	for row := range count {
		k := key(r, row)
		if k < uint64(len(extremeKeys)) {
			k = extremeKeys[k]
		}
		if shape.KeyBytes == 4 {
			in.keys = binary.LittleEndian.AppendUint32(in.keys, uint32(k))
			continue
		}
		for w := range shape.KeyBytes / 8 {
			word := k
			if w%2 == 1 {
				word = k % 3 // words that many keys share
			}
			in.keys = binary.LittleEndian.AppendUint64(in.keys, word)
		}
	}
	for _, c := range shape.Columns {
		column := make([]byte, 0, count*c.Bytes())
		valid := make([]bool, count)
		for row := range count {
			valid[row] = r.IntN(4) > 0
			switch v := r.Uint64(); c {
			case Int32, Uint32:
				column = binary.LittleEndian.AppendUint32(column, uint32(v))
			case Float64:
				column = binary.LittleEndian.AppendUint64(column, math.Float64bits(r.NormFloat64()*10+100))
			case Int128:
				column = binary.LittleEndian.AppendUint64(column, v)
				column = binary.LittleEndian.AppendUint64(column, uint64(int64(r.Uint64())>>r.IntN(64)))
			default:
				column = binary.LittleEndian.AppendUint64(column, v>>r.IntN(64))
			}
		}
		in.columns = append(in.columns, column)
		if !nulls {
			valid = nil
		}
		in.valid = append(in.valid, valid)
	}
	return in
}

func (in *input) key(row int) string {
	n := in.shape.KeyBytes
	return string(in.keys[row*n : (row+1)*n])
}

// integer returns a value of a column as any integer, or false for NULL.
func (in *input) integer(column, row int) (*big.Int, bool) {
	if in.valid[column] != nil && !in.valid[column][row] {
		return nil, false
	}
	b := in.columns[column]
	switch in.shape.Columns[column] {
	case Int32:
		return big.NewInt(int64(int32(binary.LittleEndian.Uint32(b[4*row:])))), true
	case Uint32:
		return big.NewInt(int64(binary.LittleEndian.Uint32(b[4*row:]))), true
	case Int64:
		return big.NewInt(int64(binary.LittleEndian.Uint64(b[8*row:]))), true
	case Int128:
		return bigOfWords(binary.LittleEndian.Uint64(b[16*row:]), binary.LittleEndian.Uint64(b[16*row+8:])), true
	}
	return new(big.Int).SetUint64(binary.LittleEndian.Uint64(b[8*row:])), true
}

func bigOfWords(low, high uint64) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(int64(high)), 64)
	return v.Add(v, new(big.Int).SetUint64(low))
}

// number returns a value of a column as a double.
func (in *input) number(column, row int) (float64, bool) {
	v, ok := in.integer(column, row)
	if !ok {
		return 0, false
	}
	if in.shape.Columns[column] == Float64 {
		return math.Float64frombits(v.Uint64()), true
	}
	f, _ := new(big.Float).SetInt(v).Float64()
	return f, true
}

// words returns an integer's low 128 bits.
func wordsOfBig(v *big.Int) (low, high uint64) {
	mod := new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	low = new(big.Int).And(mod, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return low, new(big.Int).Rsh(mod, 64).Uint64()
}

// checkFold compares a state with what the rows of its group give.
func (in *input) checkFold(f Fold, rows []int, got []uint64) error {
	switch f.Op {
	case Moments2, Moments4, Comoments:
		return in.checkMoments(f, rows, got)
	case SumFloat:
		sum := 0.0
		for _, row := range rows {
			if v, ok := in.number(f.Column, row); ok {
				sum += v
			}
		}
		return near("sum", math.Float64frombits(got[0]), sum, math.Abs(sum)+1)
	}
	want, high := in.wordFold(f, rows)
	if got[0] != want || len(got) == 2 && got[1] != high {
		return fmt.Errorf("%x, want %x %x", got, want, high)
	}
	return nil
}

func (in *input) wordFold(f Fold, rows []int) (uint64, uint64) {
	count, and, or, xor := uint64(0), uint64(math.MaxUint64), uint64(0), uint64(0)
	sum := new(big.Int)
	var least, greatest *big.Int
	leastFloat, greatestFloat := math.NaN(), math.Inf(-1)
	for _, row := range rows {
		if f.Column < 0 {
			count++
			continue
		}
		v, ok := in.integer(f.Column, row)
		if !ok {
			continue
		}
		count++
		sum.Add(sum, v)
		word, _ := wordsOfBig(v)
		and, or, xor = and&word, or|word, xor^word
		if least == nil || v.Cmp(least) < 0 {
			least = v
		}
		if greatest == nil || v.Cmp(greatest) > 0 {
			greatest = v
		}
		if d, _ := in.number(f.Column, row); in.shape.Columns[f.Column] == Float64 {
			if !(leastFloat <= d) {
				leastFloat = d
			}
			greatestFloat = max(greatestFloat, d)
		}
	}
	switch f.Op {
	case Count:
		return count, 0
	case BitAnd:
		return and, 0
	case BitOr:
		return or, 0
	case BitXor:
		return xor, 0
	case Min, Max:
		return in.extreme(f, least, greatest, leastFloat, greatestFloat), 0
	}
	return wordsOfBig(sum)
}

func (in *input) extreme(f Fold, least, greatest *big.Int, leastFloat, greatestFloat float64) uint64 {
	type limits struct{ least, greatest uint64 }
	of := map[ColumnType]limits{
		Int32:  {0xffffffff80000000, math.MaxInt32},
		Uint32: {0, math.MaxUint32},
		Int64:  {1 << 63, math.MaxInt64},
		Uint64: {0, math.MaxUint64},
	}
	t := in.shape.Columns[f.Column]
	switch {
	case t == Float64 && f.Op == Min && least == nil:
		return 0x7ff8000000000000
	case t == Float64 && f.Op == Min:
		return math.Float64bits(leastFloat)
	case t == Float64:
		return math.Float64bits(greatestFloat)
	case f.Op == Min && least == nil:
		return of[t].greatest
	case greatest == nil:
		return of[t].least
	case f.Op == Min:
		w, _ := wordsOfBig(least)
		return w
	}
	w, _ := wordsOfBig(greatest)
	return w
}

// checkMoments compares sums of powers, taken about the state's own shift.
func (in *input) checkMoments(f Fold, rows []int, got []uint64) error {
	g := make([]float64, len(got))
	for i := range got {
		g[i] = math.Float64frombits(got[i])
	}
	n := uint64(0)
	want, scale := make([]float64, len(got)), make([]float64, len(got))
	add := func(i int, v float64) { want[i] += v; scale[i] += math.Abs(v) }
	for _, row := range rows {
		x, ok := in.number(f.Column, row)
		if !ok {
			continue
		}
		if f.Op == Comoments {
			y, ok := in.number(f.Other, row)
			if !ok {
				continue
			}
			dx, dy := x-g[1], y-g[2]
			for i, v := range []float64{dx, dy, dx * dx, dy * dy, dx * dy} {
				add(3+i, v)
			}
		} else {
			d := x - g[1]
			for i := 2; i < len(got); i++ {
				add(i, math.Pow(d, float64(i-1)))
			}
		}
		n++
	}
	if got[0] != n {
		return fmt.Errorf("count %d, want %d", got[0], n)
	}
	first := 2
	if f.Op == Comoments {
		first = 3
		// States that are merged are relative to other shifts, with products that cancel.
		scale[7] = max(scale[7], math.Sqrt(want[5]*want[6]))
	}
	for i := first; i < len(got); i++ {
		if err := near(fmt.Sprintf("word %d", i), g[i], want[i], scale[i]+1e-300); err != nil {
			return err
		}
	}
	return nil
}

func near(what string, got, want, scale float64) error {
	if !(math.Abs(got-want) <= 1e-9*scale) {
		return fmt.Errorf("%s %g, want %g", what, got, want)
	}
	return nil
}

// upload copies the rows to a device.
func (in *input) upload(t testing.TB, e *executor) *Rows {
	t.Helper()
	rows := &Rows{Count: int64(in.count), Keys: e.upload(t, in.keys)}
	for i, c := range in.columns {
		rows.Columns = append(rows.Columns, e.upload(t, c))
		var valid Span
		if in.valid[i] != nil {
			bitmap := make([]byte, (in.count+31)/32*4)
			for row, v := range in.valid[i] {
				if v {
					bitmap[row/8] |= 1 << (row % 8)
				}
			}
			valid = e.upload(t, bitmap)
		}
		rows.Valid = append(rows.Valid, valid)
	}
	return rows
}

// allocGroups returns room for groups.
func allocGroups(t testing.TB, e *executor, shape *Shape, capacity int64) *Groups {
	t.Helper()
	g := &Groups{Capacity: capacity, Status: e.alloc(t, groupsStatusBytes), Keys: e.alloc(t, capacity*int64(shape.KeyBytes))}
	for _, f := range shape.Folds {
		g.States = append(g.States, e.alloc(t, capacity*int64(f.Words())*8))
	}
	return g
}

func readStatus(t testing.TB, e *executor, g *Groups) GroupsStatus {
	t.Helper()
	return StatusOf(e.download(t, g.Status, groupsStatusBytes))
}

// check compares groups on a device with the rows; it returns the keys as they lie there.
func (in *input) check(t testing.TB, e *executor, g *Groups) []string {
	t.Helper()
	want := map[string][]int{}
	for row := range in.count {
		want[in.key(row)] = append(want[in.key(row)], row)
	}
	status := readStatus(t, e, g)
	if status.Groups != uint64(len(want)) || status.Overflow != 0 {
		t.Fatalf("status %+v, want %d groups", status, len(want))
	}
	n := int64(len(want))
	keyBytes := int64(in.shape.KeyBytes)
	keyText := e.download(t, g.Keys, n*keyBytes)
	keys := make([]string, n)
	states := make([][]byte, len(in.shape.Folds))
	for f, fold := range in.shape.Folds {
		states[f] = e.download(t, g.States[f], n*int64(fold.Words())*8)
	}
	seen := map[string]bool{}
	for i := range keys {
		keys[i] = string(keyText[int64(i)*keyBytes : int64(i+1)*keyBytes])
		rows := want[keys[i]]
		if rows == nil || seen[keys[i]] {
			t.Fatalf("group %d, key %x: not a key, or one that was there", i, keys[i])
		}
		seen[keys[i]] = true
		for f, fold := range in.shape.Folds {
			words := fold.Words()
			got := make([]uint64, words)
			for w := range got {
				got[w] = binary.LittleEndian.Uint64(states[f][(i*words+w)*8:])
			}
			if err := in.checkFold(fold, rows, got); err != nil {
				t.Fatalf("key %x of %d rows, fold %d %+v: %v", keys[i], len(rows), f, fold, err)
			}
		}
	}
	return keys
}

// inKeyOrder reports whether keys are in order of their words, each unsigned.
func inKeyOrder(keys []string) bool {
	bigEndian := func(key string) []byte {
		width := min(len(key), 8)
		b := []byte(key)
		for i := 0; i < len(b); i += width {
			slices.Reverse(b[i : i+width])
		}
		return b
	}
	return slices.IsSortedFunc(keys, func(a, b string) int { return bytes.Compare(bigEndian(a), bigEndian(b)) })
}
