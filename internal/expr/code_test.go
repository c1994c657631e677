package expr

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowcode"
)

// codedExpr is an expression of functions that have instructions, whose operands need not suit each other.
func codedExpr(rng *rand.Rand, names []string, depth int) *Expr {
	constants := []any{nil, true, false, int64(0), int64(1), int64(-3), int64(7), int64(100), int64(math.MaxInt64), 0.5, -1e300, math.NaN(), 0.0, "2020-02-29",
		"", "a", "a%", "%1%", "%o_d%", "abc", "x%y%", "z"}
	switch {
	case depth == 0 && rng.IntN(3) > 0, depth > 0 && rng.IntN(8) == 0:
		return Column(fmt.Sprintf("c%d", rng.IntN(len(randomTypes))))
	case depth == 0:
		return Constant(constants[rng.IntN(len(constants))])
	case rng.IntN(6) == 0:
		types := []Type{typeOf(Bool), typeOf(Int8), typeOf(Int32), typeOf(Int64), typeOf(Uint32), typeOf(Float32), typeOf(Float64), decimalOf(12, 2), decimalOf(18, 4), decimalOf(24, 4), typeOf(Huge), typeOf(Date), typeOf(Timestamp)}
		op := []Op{OpCast, OpCast, OpTryCast}[rng.IntN(3)]
		return &Expr{Op: op, Type: types[rng.IntN(len(types))], Args: []*Expr{codedExpr(rng, names, depth-1)}, At: -1}
	}
	f := functionsByName[names[rng.IntN(len(names))]]
	most := f.argsMax
	if most < 0 {
		most = f.argsMin + 2
	}
	e := Call(f.Name)
	if f.Name == "date_trunc" || f.Name == "date_part" {
		units := []string{"year", "quarter", "month", "week", "day", "hour", "second", "millisecond", "dow", "isodow", "doy", "decade"}
		times := []string{"c11", "c13", "c14", "c11"} // of randomTypes
		return Call(f.Name, Constant(units[rng.IntN(len(units))]), Column(times[rng.IntN(len(times))]))
	}
	for range f.argsMin + rng.IntN(most-f.argsMin+1) {
		e.Args = append(e.Args, codedExpr(rng, names, depth-1))
	}
	return e
}

// codedAnd is conditions joined by AND, with any brackets: columns and comparisons, most of which may overflow.
func codedAnd(rng *rand.Rand, depth int) *Expr {
	if depth > 0 {
		return Call("and", codedAnd(rng, rng.IntN(depth)), codedAnd(rng, rng.IntN(depth)))
	}
	if rng.IntN(3) == 0 {
		return Column("c0") // of truth values
	}
	integers := []string{"c1", "c2", "c3"}
	of := func() *Expr { return Column(integers[rng.IntN(len(integers))]) }
	sum := func() *Expr { return Call([]string{"+", "-", "*"}[rng.IntN(3)], of(), of()) }
	switch rng.IntN(5) {
	case 0:
		return Call("between", of(), Constant(int64(rng.IntN(10)-5)), sum())
	case 1:
		return Call("between", sum(), Constant([]any{nil, int64(-5)}[rng.IntN(2)]), of())
	case 2:
		return Call("is not null", sum())
	}
	return Call([]string{"=", "<", ">="}[rng.IntN(3)], sum(), Constant(int64(rng.IntN(100))))
}

// wordOf returns the word of a value of an array, as Code has it.
func wordOf(arr arrow.Array, i int) int64 {
	switch v := grouptest.Value(arr, i).(type) {
	case bool:
		if v {
			return 1
		}
	case int64:
		return v
	case uint64:
		return int64(v)
	case float64:
		return int64(math.Float64bits(v))
	case *big.Int:
		return v.Int64()
	}
	return 0
}

// runCode runs the instructions of a program over a batch. Its cells are by row.
func runCode(t *testing.T, code *rowcode.Code, inputs []arrow.Array, rows int) (cells []rowcode.Cell, passed []bool, wrong bool) {
	t.Helper()
	m := rowcode.NewMachine(code)
	outputs := make([]rowcode.Cell, code.Outputs)
	for row := range rows {
		load := func(input int) rowcode.Cell {
			if inputs[input].IsNull(row) {
				return rowcode.Cell{Null: true, Word: math.MinInt64 / 3}
			}
			if text, ok := grouptest.Value(inputs[input], row).(string); ok {
				return rowcode.Cell{Word: int64(rowcode.Word(code.Patterns, text))}
			}
			return rowcode.Cell{Word: wordOf(inputs[input], row)}
		}
		passes := false
		ok := m.Run(load, outputs, func() { passes = true })
		wrong = wrong || !ok
		passed = append(passed, passes)
		if len(outputs) > 0 {
			cells = append(cells, outputs[0])
		}
	}
	return cells, passed, wrong
}

// Random expressions and conditions by instructions, against the evaluator. Would catch an operator that
// differs for NULLs, extreme values or doubles, an overflow that is not noticed, an error of a row that
// does not reach it, and a register that is overwritten.
func TestCode(t *testing.T) {
	names := slices.Sorted(maps.Keys(coded))
	names = slices.DeleteFunc(names, func(name string) bool { return functionsByName[name] == nil }) // what binding calls others
	reached := map[string]bool{}
	coded, failed, conditions := 0, 0, 0
	seeds := uint64(40_000)
	if testing.Short() {
		seeds = 15_000
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 29))
		rows := []int{100, 1 + rng.IntN(5)}[rng.IntN(2)] // of few rows, no other hides which of them gives an error
		schema, plain, _ := randomRows(rng, rows)
		e := codedExpr(rng, names, 1+rng.IntN(3))
		isCondition := rng.IntN(2) == 0
		if isCondition && rng.IntN(4) == 0 {
			e = codedAnd(rng, 1+rng.IntN(4))
		}
		bind := func() (*Program, error) {
			if isCondition {
				return BindCondition(t.Context(), Columns{Schema: schema}, e)
			}
			return Bind(t.Context(), schema, e)
		}
		p, err := bind()
		if err != nil {
			continue
		}
		b := &rowcode.Builder{}
		filter, columns := rowcode.None, []rowcode.Value(nil)
		if isCondition {
			filter, err = p.ConditionCode(b, b.Loads(len(p.columns)))
		} else {
			columns, err = p.Code(b, b.Loads(len(p.columns)))
		}
		if err != nil {
			continue
		}
		code, err := rowcode.Assemble(b.Program(filter, columns))
		if err != nil {
			continue
		}
		coded++
		e.Walk(func(x *Expr) bool {
			reached[x.Name] = true
			return true
		})
		inputs := make([]arrow.Array, len(p.columns))
		fields := make([]arrow.Field, len(p.columns))
		for i, c := range p.Columns() {
			inputs[i], fields[i] = plain.Column(c), schema.Field(c)
		}
		batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), inputs, int64(rows))
		cells, passed, wrong := runCode(t, code, inputs, rows)
		evaluator := p.NewEvaluator(memory.DefaultAllocator)
		if isCondition {
			conditions++
			selected := make([]byte, (rows+7)/8)
			_, err = evaluator.Select(context.Background(), 0, batch, selected)
			for row := range rows {
				if want := selected[row/8]>>(row%8)&1 == 1; err == nil && !wrong && passed[row] != want {
					t.Fatalf("seed %d, %s, row %d: passes %v, want %v", seed, e, row, passed[row], want)
				}
			}
		} else {
			var arrays []arrow.Array
			if arrays, _, err = evaluator.Eval(context.Background(), batch, 0); err == nil && !wrong {
				compareCells(t, fmt.Sprintf("seed %d, %s", seed, e), cells, arrays[0])
			}
		}
		evaluator.Release()
		if err != nil {
			failed++
		}
		// An error that the evaluator has not is no wrong answer, but a row that is computed twice.
		if wrong != (err != nil) && !(wrong && (mayDiffer(e) || p.nodes[0].hasWide())) {
			t.Errorf("seed %d, %s: an error is %v, want %v", seed, e, wrong, err)
		}
	}
	for _, name := range names {
		if !reached[name] {
			t.Errorf("%s is in none of the expressions", name)
		}
	}
	if coded < 2000 || failed < 50 || conditions < 500 {
		t.Errorf("%d expressions have instructions, %d conditions among them, and %d failed; want more", coded, conditions, failed)
	}
}

// mayDiffer says whether an expression has a part that the evaluator does not look at where another is NULL.
func mayDiffer(e *Expr) (found bool) {
	e.Walk(func(x *Expr) bool {
		found = found || x.Name == "between"
		return true
	})
	return found
}

// hasWide says whether a part of a node has 128 bits, of which instructions have 64.
func (n *node) hasWide() bool {
	return n.typ.kind() == wideKind || slices.ContainsFunc(n.args, (*node).hasWide)
}

func compareCells(t *testing.T, name string, cells []rowcode.Cell, want arrow.Array) {
	t.Helper()
	isDouble := want.DataType().ID() == arrow.FLOAT64 || want.DataType().ID() == arrow.FLOAT32
	for row, c := range cells {
		if c.Null != want.IsNull(row) {
			t.Fatalf("%s, row %d: NULL is %v, want %v", name, row, c.Null, want.IsNull(row))
		}
		word := wordOf(want, row)
		x, y := math.Float64frombits(uint64(c.Word)), math.Float64frombits(uint64(word))
		if !c.Null && c.Word != word && !(isDouble && x != x && y != y) && !arrow.IsBaseBinary(want.DataType().ID()) {
			t.Fatalf("%s, row %d: %d, want %d", name, row, c.Word, word)
		}
	}
}

// Times have the words of their types, whatever the unit of their column.
func TestCodeOfTimes(t *testing.T) {
	for _, unit := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond} {
		field := arrow.Field{Name: "t", Type: &arrow.TimestampType{Unit: unit}, Nullable: true}
		p, err := Bind(t.Context(), arrow.NewSchema([]arrow.Field{field}, nil), Column("t"))
		if err != nil {
			t.Fatal(err)
		}
		b := &rowcode.Builder{}
		values, err := p.Code(b, b.Loads(1))
		if err != nil {
			t.Fatal(err)
		}
		code, err := rowcode.Assemble(b.Program(rowcode.None, values))
		if err != nil {
			t.Fatal(err)
		}
		out := make([]rowcode.Cell, 1)
		ok := rowcode.NewMachine(code).Run(func(int) rowcode.Cell { return rowcode.Cell{Word: 12} }, out, func() {})
		want := map[arrow.TimeUnit]int64{arrow.Second: 12_000_000, arrow.Millisecond: 12_000, arrow.Microsecond: 12, arrow.Nanosecond: 12}[unit]
		if !ok || out[0].Word != want {
			t.Errorf("12 of unit %s are %d, want %d", unit, out[0].Word, want)
		}
	}
}

// Parts of dates, and the days on which years and the like begin, by instructions and by the calendar: of each day of
// eight centuries, and of days as far as 32 bits go.
func TestCodeOfCalendar(t *testing.T) {
	type of struct {
		name string
		want func(days int64) int64
	}
	var list []of
	b := &rowcode.Builder{}
	c := &coder{Builder: b}
	days := b.Load(0)
	var outputs []rowcode.Value
	for i := range dateParts {
		if p := &dateParts[i]; p.code != nil && !p.time {
			list = append(list, of{p.names[0], func(days int64) int64 { return p.of(days, 0) }})
			outputs = append(outputs, p.code(c, days, rowcode.None))
		}
	}
	for name, u := range truncations {
		if u.code != nil {
			list = append(list, of{"date_trunc " + name, u.day})
			outputs = append(outputs, u.code(c, days))
		}
	}
	for i := range list {
		code, err := rowcode.Assemble(b.Program(rowcode.None, outputs[i:i+1]))
		if err != nil {
			t.Fatalf("%s: %v", list[i].name, err)
		}
		m, out := rowcode.NewMachine(code), make([]rowcode.Cell, 1)
		check := func(day int64) {
			ok := m.Run(func(int) rowcode.Cell { return rowcode.Cell{Word: day} }, out, func() {})
			if want := list[i].want(day); !ok || out[0].Word != want {
				t.Fatalf("%s of day %d: %d, want %d", list[i].name, day, out[0].Word, want)
			}
		}
		for day := int64(-146_097); day < 146_097; day++ {
			check(day)
		}
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		for range 20_000 {
			check(int64(int32(rng.Uint32())))
		}
		check(math.MinInt32)
		check(math.MaxInt32)
	}
}
