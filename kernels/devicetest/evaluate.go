package devicetest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/kernels"
)

// Evaluate holds Evaluate to rowcode.Machine, by random programs of all operators over random rows with
// NULLs and extreme values.
func Evaluate(t *testing.T, device kernels.Device, cases, rowsMax int) {
	rng := rand.New(rand.NewPCG(19, uint64(cases)))
	reached := map[rowcode.Op]bool{}
	wrongs := 0
	for range cases {
		e := &evaluateCase{rig: newRig(t, device), rng: rng, rows: 1 + rng.IntN(rowsMax)}
		if e.run() {
			wrongs++
		}
		for _, in := range e.code.Instructions {
			reached[in.Op] = true
		}
		e.rig.close()
	}
	const noInstructions = 1 // of Words
	if cases >= 50 && (len(reached) != int(rowcode.Store)+1-noInstructions || wrongs == 0 || wrongs == cases) {
		t.Errorf("%d programs of %d operators, %d with errors: want all operators, and some errors",
			cases, len(reached), wrongs)
	}
}

// evaluateCase is a program and its rows.
type evaluateCase struct {
	rig  *Rig
	rng  *rand.Rand
	rows int
	code *rowcode.Code
	rowcode.Builder
	ints, doubles []rowcode.Value
	inputs        []evaluateInput
	lookups       []*lookup
	hasEach       bool // among the nodes: no further one is to come
	evaluation    kernels.Evaluation
}

// evaluateInput is a column of the host.
type evaluateInput struct {
	typ   kernels.ColumnType
	cells []rowcode.Cell
}

var (
	intEdges    = []int64{0, 1, -1, 2, 7, -100, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1e18}
	doubleEdges = []float64{0, math.Copysign(0, -1), 1, -2.5, 1e300, -1e-300, math.Inf(1), math.Inf(-1), math.NaN()}
)

func (e *evaluateCase) run() (wrong bool) {
	r := e.rig
	e.addInputs()
	e.addLookups()
	filter := e.addNodes()
	outputs, types := e.chooseOutputs()
	for {
		code, err := rowcode.Assemble(e.Program(filter, outputs))
		if err == nil {
			e.code = code
			break
		}
		outputs, types = outputs[1:], types[1:] // which takes fewer registers
	}
	ev := &e.evaluation
	ev.Code, ev.Rows, ev.Head = e.code, int64(e.rows), r.alloc(kernels.EvaluationHeadBytes)
	if ev.Room = ev.Rows; e.code.Filters {
		ev.Room += int64(e.rng.IntN(2) * e.rng.IntN(2000))
	}
	for _, typ := range types {
		c := kernels.Column{Type: typ, Values: r.alloc(ev.Room * int64(typ.Bytes()))}
		if e.rng.IntN(4) > 0 {
			c.Valid = r.alloc((ev.Room + 31) / 32 * 4)
		}
		ev.Outputs = append(ev.Outputs, c)
	}
	e.putLookups()
	r.must(r.stream.Evaluate(ev))
	head := kernels.EvaluationHeadOf(r.get(ev.Head, kernels.EvaluationHeadBytes))
	want, wrong := e.want()
	wrong = wrong || int64(len(want)) > ev.Room
	if head.Wrong != wrong || !wrong && int(head.Rows) != len(want) {
		r.t.Fatalf("%d rows: %d pass, wrong %v; want %d, %v", e.rows, head.Rows, head.Wrong, len(want), wrong)
	}
	if !wrong {
		e.checkMarks()
		got := e.got(len(want))
		if e.code.Filters {
			slices.SortFunc(got, bytes.Compare)
			slices.SortFunc(want, bytes.Compare)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				r.t.Fatalf("row %d of %d: %x, want %x, by %v", i, len(want), got[i], want[i], e.code.Instructions)
			}
		}
	}
	return wrong
}

func (e *evaluateCase) addInputs() {
	for i := range 1 + e.rng.IntN(5) {
		in := evaluateInput{typ: kernels.ColumnType(e.rng.IntN(5))}
		nullable := e.rng.IntN(2) == 0
		var values []byte
		valid := make([]byte, (e.rows+31)/32*4)
		for row := range e.rows {
			c := rowcode.Cell{Null: nullable && e.rng.IntN(4) == 0,
				Word: intEdges[e.rng.IntN(len(intEdges))] >> (e.rng.IntN(2) * 40)}
			switch in.typ {
			case kernels.Int32:
				c.Word = int64(int32(c.Word))
			case kernels.Uint32:
				c.Word = int64(uint32(c.Word))
			case kernels.Float64:
				c.Word = int64(math.Float64bits(doubleEdges[e.rng.IntN(len(doubleEdges))]))
			}
			if !c.Null {
				valid[row/8] |= 1 << (row % 8)
			}
			in.cells = append(in.cells, c)
			values = append(values, binary.LittleEndian.AppendUint64(nil, uint64(c.Word))[:in.typ.Bytes()]...)
		}
		column := kernels.Column{Type: in.typ, Values: e.rig.put(values)}
		if nullable {
			column.Valid = e.rig.put(valid)
		}
		e.inputs = append(e.inputs, in)
		e.evaluation.Inputs = append(e.evaluation.Inputs, column)
		if v := e.Load(i); in.typ == kernels.Float64 {
			e.doubles = append(e.doubles, v)
		} else {
			e.ints = append(e.ints, v)
		}
		if in.typ == kernels.Uint32 { // as words of strings are
			e.ints = append(e.ints,
				e.Node(rowcode.Node{Op: rowcode.Match, A: rowcode.Value(i),
					Low: int64(e.rng.IntN(rowcode.PatternsMax + 1))}))
		}
	}
}

// addNodes adds nodes of random operators, and returns the condition or None.
func (e *evaluateCase) addNodes() (filter rowcode.Value) {
	e.ints = append(e.ints, e.Int(intEdges[e.rng.IntN(len(intEdges))]), e.Null())
	e.doubles = append(e.doubles, e.Float(doubleEdges[e.rng.IntN(len(doubleEdges))]))
	pick := func(of []rowcode.Value) rowcode.Value { return of[e.rng.IntN(len(of))] }
	for range 1 + e.rng.IntN(20) {
		a, b, c := pick(e.ints), pick(e.ints), pick(e.ints)
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		if e.rng.IntN(8) == 0 {
			low, high = math.MinInt32, math.MaxInt32
		}
		switch op := rowcode.Add + rowcode.Op(e.rng.IntN(int(rowcode.Filter-rowcode.Add))); op {
		case rowcode.AddDouble, rowcode.SubDouble, rowcode.MulDouble, rowcode.DivDouble:
			e.doubles = append(e.doubles, e.Do(op, pick(e.doubles), pick(e.doubles)))
		case rowcode.Single:
			e.doubles = append(e.doubles, e.Do(op, pick(e.doubles)))
		case rowcode.Double:
			e.doubles = append(e.doubles, e.Do(op, a))
		case rowcode.Rank:
			e.ints = append(e.ints, e.Do(op, pick(e.doubles)))
		case rowcode.Limit, rowcode.Among:
			e.ints = append(e.ints, e.Within(low, high, op, a))
		case rowcode.Bit:
			e.ints = append(e.ints, e.Node(rowcode.Node{Op: op, A: a, Low: int64(e.rng.IntN(64))}))
		case rowcode.Find, rowcode.Fetch, rowcode.Words, rowcode.Each, rowcode.Mark:
			e.addFetched(a)
		case rowcode.Not, rowcode.IsNull:
			e.ints = append(e.ints, e.Do(op, a))
		case rowcode.Select:
			e.ints = append(e.ints, e.Do(op, a, b, c))
		case rowcode.Add, rowcode.Sub, rowcode.Mul, rowcode.Quotient, rowcode.Rest:
			e.ints = append(e.ints, e.Within(low, high, op, a, b))
		default:
			e.ints = append(e.ints, e.Do(op, a, b))
		}
	}
	if e.rng.IntN(3) == 0 && !e.hasEach {
		return rowcode.None
	}
	return pick(e.ints)
}

func (e *evaluateCase) chooseOutputs() (outputs []rowcode.Value, types []kernels.ColumnType) {
	for range e.rng.IntN(6) {
		outputs = append(outputs, e.ints[e.rng.IntN(len(e.ints))])
		types = append(types, []kernels.ColumnType{kernels.Int32, kernels.Uint32, kernels.Int64,
			kernels.Uint64}[e.rng.IntN(4)])
	}
	for range 1 + e.rng.IntN(3) {
		outputs = append(outputs, e.doubles[e.rng.IntN(len(e.doubles))])
		types = append(types, kernels.Float64)
	}
	return outputs, types
}

// want returns the rows that pass, by the machine.
func (e *evaluateCase) want() (rows [][]byte, wrong bool) {
	m := rowcode.NewMachine(e.code)
	m.Tables = lookupsOf{e.code}
	cells := make([]rowcode.Cell, e.code.Outputs)
	for row := range e.rows {
		ok := m.Run(func(i int) rowcode.Cell { return e.inputs[i].cells[row] }, cells, func() {
			var b []byte
			for i, c := range cells {
				out := &e.evaluation.Outputs[i]
				if c.Null {
					wrong = wrong || out.Valid.Buffer == nil
					c.Word = 0
				}
				b = appendCell(b, c, out.Type)
			}
			rows = append(rows, b)
		})
		wrong = wrong || !ok
	}
	return rows, wrong
}

// appendCell appends a value of a type, which for every NaN is the same.
func appendCell(b []byte, c rowcode.Cell, typ kernels.ColumnType) []byte {
	if f := math.Float64frombits(uint64(c.Word)); typ == kernels.Float64 && f != f {
		c.Word = int64(math.Float64bits(math.NaN()))
	}
	if c.Null {
		return append(b, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	b = append(b, 0)
	if typ.Bytes() == 4 {
		c.Word = int64(uint32(c.Word))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(c.Word))
}

// got returns rows that the device has written.
func (e *evaluateCase) got(count int) [][]byte {
	rows := make([][]byte, count)
	for i := range e.evaluation.Outputs {
		out := &e.evaluation.Outputs[i]
		width := out.Type.Bytes()
		values := e.rig.get(out.Values, e.evaluation.Room*int64(width))
		var valid []byte
		if out.Valid.Buffer != nil {
			valid = e.rig.get(out.Valid, (e.evaluation.Room+31)/32*4)
			for row := count; row < 8*len(valid); row++ {
				if valid[row/8]>>(row%8)&1 != 0 {
					e.rig.t.Fatalf("the bit of row %d is set, of %d", row, count)
				}
			}
		}
		for row := range count {
			var word [8]byte
			copy(word[:], values[row*width:][:width])
			c := rowcode.Cell{Word: int64(binary.LittleEndian.Uint64(word[:]))}
			c.Null = valid != nil && valid[row/8]>>(row%8)&1 == 0
			rows[row] = appendCell(rows[row], c, out.Type)
		}
	}
	return rows
}
