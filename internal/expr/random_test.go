package expr

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
)

// randomTypes are those of the columns of random expressions.
var randomTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 5},
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time64us,
	&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}, arrow.FixedWidthTypes.Duration_us,
}

// randomEdges are the extreme values of a type, but for times within a year of the ends of 64 bits:
// rounded down they have no bits to be in.
func randomEdges(dt arrow.DataType) []any {
	return slices.DeleteFunc(grouptest.Edges(dt), func(cell any) bool {
		v, ok := cell.(int64)
		return ok && dt.ID() == arrow.TIMESTAMP && (v > 1<<62 || v < -1<<62)
	})
}

// randomRows is a batch of a column of each type, plain or as dictionaries, with NULLs and extreme
// values.
func randomRows(rng *rand.Rand, rows int) (schema *arrow.Schema, plain, encoded arrow.RecordBatch) {
	var fields []arrow.Field
	var columns, dictionaries []arrow.Array
	for i, dt := range randomTypes {
		edges := randomEdges(dt)
		nulls := []float64{0, 0.2}[rng.IntN(2)]
		cells, codes := make([]any, rows), make([]any, rows)
		for row := range cells {
			if rng.Float64() >= nulls {
				code := rng.IntN(len(edges))
				cells[row], codes[row] = edges[code], int64(code)
			}
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dt, Nullable: true})
		columns = append(columns, grouptest.Array(dt, cells))
		if dt.ID() == arrow.BOOL {
			dictionaries = append(dictionaries, columns[i])
			continue
		}
		encoded := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: dt}
		dictionaries = append(dictionaries, grouptest.DictionaryArray(encoded, codes, edges))
	}
	schema = arrow.NewSchema(fields, nil)
	return schema, array.NewRecordBatch(schema, columns, int64(rows)), grouptest.Batch(encodedSchema(schema, dictionaries), dictionaries...)
}

// encodedSchema is a schema with the types of the arrays.
func encodedSchema(schema *arrow.Schema, arrays []arrow.Array) *arrow.Schema {
	fields := slices.Clone(schema.Fields())
	for i := range fields {
		fields[i].Type = arrays[i].DataType()
	}
	return arrow.NewSchema(fields, nil)
}

// randomExpr is an expression of the columns, which need not suit each other.
func randomExpr(rng *rand.Rand, depth int) *Expr {
	constants := []any{nil, true, int64(0), int64(1), int64(-3), int64(7), int64(math.MaxInt64), int64(math.MinInt64), 0.5, -1e300, math.NaN(), "", "a", "abcdefghijklmnop",
		"12", "-7.25", "2020-02-29", "2020-02-29 12:30:00", "04:05:06", "day", "month", "year", "%a_", "i", "%Y-%m-%d", IntervalValue{1, 2, 3_000_000}, IntervalValue{0, 0, 1}}
	switch {
	case depth == 0 && rng.IntN(3) > 0, depth > 0 && rng.IntN(6) == 0:
		return Column(fmt.Sprintf("c%d", rng.IntN(len(randomTypes))))
	case depth == 0:
		return Constant(constants[rng.IntN(len(constants))])
	case rng.IntN(6) == 0:
		op := []Op{OpCast, OpTryCast}[rng.IntN(2)]
		typ := typeOf(TypeID(1 + rng.IntN(int(Period)-1)))
		if typ.ID == Decimal {
			typ = decimalOf(1+rng.IntN(digitsMax), 0)
		}
		return &Expr{Op: op, Type: typ, Args: []*Expr{randomExpr(rng, depth-1)}, At: -1}
	}
	f := functions[rng.IntN(len(functions))]
	most := f.argsMax
	if most < 0 {
		most = f.argsMin + 2
	}
	e := Call(f.Name)
	if e.draws() { // which has another value each time
		return Constant(0.5)
	}
	for range f.argsMin + rng.IntN(most-f.argsMin+1) {
		e.Args = append(e.Args, randomExpr(rng, depth-1))
	}
	return e
}

// evaluated returns the texts of an expression's values.
func evaluated(p *Program, batch arrow.RecordBatch) ([]string, error) {
	columns := make([]arrow.Array, len(p.columns))
	fields := make([]arrow.Field, len(p.columns))
	for i, c := range p.Columns() {
		columns[i], fields[i] = batch.Column(c), batch.Schema().Field(c)
	}
	e := p.NewEvaluator(memory.DefaultAllocator)
	defer e.Release()
	arrays, _, err := e.Eval(context.Background(), array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), 0)
	if err != nil {
		return nil, err
	}
	defer arrays[0].Release()
	return texts(arrays[0]), nil
}

// Random expressions over extreme values. Would catch a panic, an answer that depends on how rows
// are cut into batches or on dictionaries, an error where no row has one, and a promise that values
// break.
func TestRandom(t *testing.T) {
	const rows = 150
	bound, failed := 0, 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		schema, plain, encoded := randomRows(rng, rows)
		e := randomExpr(rng, 1+rng.IntN(3))
		p, err := Bind(t.Context(), schema, e)
		if err != nil {
			continue
		}
		bound++
		want, wantErr := evaluated(p, plain)
		if got, err := evaluated(p, encoded); !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("seed %d, %s: %v, %v of dictionaries, want %v, %v", seed, e, got, err, want, wantErr)
		}
		var parts []string
		var partsErr error
		for from := 0; from < rows; from += 50 {
			part, err := evaluated(p, plain.NewSlice(int64(from), int64(from+50)))
			parts = append(parts, part...)
			if err != nil {
				partsErr = err
			}
		}
		if (partsErr == nil) != (wantErr == nil) || wantErr == nil && !slices.Equal(parts, want) {
			t.Errorf("seed %d, %s: %v, %v in parts, want %v, %v", seed, e, parts, partsErr, want, wantErr)
		}
		if wantErr != nil {
			if failed++; !p.Fallible(make([]rowdata.ColumnStats, plain.NumCols())) {
				t.Errorf("seed %d, %s: %v, where no error was promised", seed, e, wantErr)
			}
			continue
		}
		checkPromises(t, p, plain, want, e)
	}
	t.Logf("%d expressions, %d of them with errors", bound, failed)
	if bound < 200 || failed > bound/2 {
		t.Errorf("%d expressions, %d of them with errors: too few answers", bound, failed)
	}
}

// checkPromises holds values against what Stats has promised of them.
func checkPromises(t *testing.T, p *Program, batch arrow.RecordBatch, values []string, e *Expr) {
	t.Helper()
	known := make([]rowdata.ColumnStats, batch.NumCols())
	for i, column := range batch.Columns() {
		known[i].NoNulls = column.NullN() == 0
	}
	stats := p.Stats(0, known)
	if stats.NoNulls && p.Type(0).ID != Text && slices.Contains(values, "NULL") { // a string may be NULL's word
		t.Errorf("%s: a NULL, where none was promised", e)
	}
}

// randomCondition is one that terms may follow from.
func randomCondition(rng *rand.Rand, depth int) *Expr {
	if depth > 0 && rng.IntN(2) == 0 {
		return Call([]string{"and", "or"}[rng.IntN(2)], randomCondition(rng, depth-1), randomCondition(rng, depth-1))
	}
	c := rng.IntN(len(randomTypes))
	column, edges := Column(fmt.Sprintf("c%d", c)), randomEdges(randomTypes[c])
	constant := func() *Expr { // a value of the column, of any type that it is cast from
		text := grouptest.Array(randomTypes[c], []any{edges[rng.IntN(len(edges))]}).ValueStr(0)
		if n, err := Number(text); err == nil && rng.IntN(4) > 0 {
			return n
		}
		return Constant(text)
	}
	operand := column
	switch rng.IntN(8) {
	case 0:
		operand = Call("year", column)
	case 1:
		operand = Call("date_trunc", Constant([]string{"hour", "day", "week", "month", "quarter", "year"}[rng.IntN(6)]), column)
	case 2:
		typ := []TypeID{Int64, Float64, Huge, Date, Timestamp, TimestampNS, Text}[rng.IntN(7)]
		operand = &Expr{Op: OpCast, Type: typeOf(typ), Args: []*Expr{column}, At: -1}
	}
	ops := []string{"=", "<>", "<", "<=", ">", ">="}
	switch rng.IntN(9) {
	case 0:
		return Call("between", operand, constant(), constant())
	case 1:
		return Call("in", operand, constant(), constant(), Constant(nil))
	case 2:
		return Call([]string{"is null", "is not null"}[rng.IntN(2)], operand)
	case 3:
		if rng.IntN(3) == 0 {
			return Call("like", operand, Constant("a!b%"), Constant("!"))
		}
		return Call("like", operand, Constant([]string{"a%", "abc%", "%", "prefix_%", "ab\\%"}[rng.IntN(5)]))
	case 4:
		return Call(ops[rng.IntN(6)], constant(), operand)
	}
	return Call(ops[rng.IntN(6)], operand, constant())
}

// condition is a term as an expression of the schema.
func (term Term) condition(schema *arrow.Schema) *Expr {
	e := Call(term.Op, Column(schema.Field(term.Column).Name))
	for _, v := range term.Values {
		typ, err := fromArrow(v.DataType())
		if err != nil {
			panic(err)
		}
		c := &Expr{Op: OpConstant, Type: typ, At: -1}
		switch v := v.(type) {
		case *scalar.Boolean:
			c.Value = v.Value
		case *scalar.Int64:
			c.Value = v.Value
		case *scalar.Float64:
			c.Value = v.Value
		case *scalar.Decimal128:
			c.Value = narrowed(v.Value, typ)
		case *scalar.String:
			c.Value = v.String()
		case *scalar.Date32:
			c.Value = int64(v.Value)
		case *scalar.Time64:
			c.Value = int64(v.Value)
		case *scalar.Timestamp:
			c.Value = int64(v.Value)
		case *scalar.Duration:
			c.Value = int64(v.Value)
		default:
			panic(v)
		}
		e.Args = append(e.Args, c)
	}
	if term.Op == "in" && len(term.Values) == 0 {
		return Constant(false)
	}
	return e
}

// selected returns the rows for which a condition is TRUE; false where it cannot be evaluated.
func selected(ctx context.Context, schema *arrow.Schema, batch arrow.RecordBatch, e *Expr) ([]string, bool, error) {
	p, err := BindCondition(ctx, Columns{Schema: schema}, e)
	if err != nil {
		return nil, false, err
	}
	values, err := evaluated(p, batch)
	return values, err == nil, err
}

// Would catch a term, or a list of alternatives, that does not hold for a row which a condition
// selects: readers leave rows out by them.
func TestRandomTerms(t *testing.T) {
	const rows = 150
	terms, alternatives := 0, 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		schema, plain, _ := randomRows(rng, rows)
		e := randomCondition(rng, rng.IntN(3))
		is, ok, _ := selected(t.Context(), schema, plain, e)
		if !ok {
			continue
		}
		p, err := BindCondition(t.Context(), Columns{Schema: schema}, e)
		if err != nil {
			t.Fatal(err)
		}
		check := func(follows *Expr) {
			held, ok, err := selected(t.Context(), schema, plain, follows)
			if !ok {
				t.Errorf("seed %d: %s of %s: %v", seed, follows, e, err)
				return
			}
			for row := range is {
				if is[row] == "true" && held[row] != "true" {
					t.Fatalf("seed %d: row %d is selected by %s, and %s is %s", seed, row, e, follows, held[row])
				}
			}
		}
		for _, term := range p.Terms(0) {
			terms++
			check(term.condition(schema))
		}
		for _, list := range p.Alternatives(0) {
			alternatives++
			any := Call("or", Constant(false), Constant(false))
			for _, all := range list {
				both := Call("and", Constant(true), Constant(true))
				for _, term := range all {
					both.Args = append(both.Args, term.condition(schema))
				}
				any.Args = append(any.Args, both)
			}
			check(any)
		}
	}
	t.Logf("%d terms, %d alternatives", terms, alternatives)
	if terms < 250 || alternatives < 20 {
		t.Errorf("%d terms and %d alternatives: too few", terms, alternatives)
	}
}
