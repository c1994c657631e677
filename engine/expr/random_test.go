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

	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/engine/spectest"
)

// randomTypes are those of the columns of random expressions.
var randomTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 5},
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time64us,
	&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}, arrow.FixedWidthTypes.Duration_us,
}

// randomRows is a batch of a column of each type, plain or as dictionaries, with NULLs and extreme values.
func randomRows(rng *rand.Rand, rows int) (schema *arrow.Schema, plain, encoded arrow.RecordBatch) {
	var fields []arrow.Field
	var columns, dictionaries []arrow.Array
	for i, dt := range randomTypes {
		edges := spectest.Edges(dt)
		nulls := []float64{0, 0.2}[rng.IntN(2)]
		cells, codes := make([]any, rows), make([]any, rows)
		for row := range cells {
			if rng.Float64() >= nulls {
				code := rng.IntN(len(edges))
				cells[row], codes[row] = edges[code], int64(code)
			}
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dt, Nullable: true})
		columns = append(columns, spectest.Array(dt, cells))
		if dt.ID() == arrow.BOOL {
			dictionaries = append(dictionaries, columns[i])
			continue
		}
		encoded := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: dt}
		dictionaries = append(dictionaries, spectest.DictionaryArray(encoded, codes, edges))
	}
	schema = arrow.NewSchema(fields, nil)
	return schema, array.NewRecordBatch(schema, columns, int64(rows)), spectest.Batch(encodedSchema(schema, dictionaries), dictionaries...)
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
		typ := typeOf(TypeID(1 + rng.IntN(int(typeIDEnd)-2)))
		if typ.ID == Decimal {
			typ = DecimalOf(1+rng.IntN(digitsMax), 0)
		}
		return &Expr{Op: op, Type: typ, Args: []*Expr{randomExpr(rng, depth-1)}, At: -1}
	}
	f := functions[rng.IntN(len(functions))]
	most := f.argsMax
	if most < 0 {
		most = f.argsMin + 2
	}
	e := Call(f.Name)
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
	arrays, err := e.Eval(context.Background(), array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()))
	if err != nil {
		return nil, err
	}
	defer arrays[0].Release()
	return texts(arrays[0]), nil
}

// Random expressions over extreme values. Would catch a panic, an answer that depends on how rows are cut into
// batches or on dictionaries, an error where no row has one, and a promise that values break.
func TestRandom(t *testing.T) {
	const rows = 150
	bound, failed := 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		schema, plain, encoded := randomRows(rng, rows)
		e := randomExpr(rng, 1+rng.IntN(3))
		p, err := Bind(schema, e)
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
			failed++
			continue
		}
		checkPromises(t, p, plain, want, e)
	}
	t.Logf("%d expressions, %d of them with errors", bound, failed)
	if bound < 500 || failed > bound/2 {
		t.Errorf("%d expressions, %d of them with errors: too few answers", bound, failed)
	}
}

// checkPromises holds values against what Stats has promised of them.
func checkPromises(t *testing.T, p *Program, batch arrow.RecordBatch, values []string, e *Expr) {
	t.Helper()
	known := make([]spec.ColumnStats, batch.NumCols())
	for i, column := range batch.Columns() {
		known[i].NoNulls = column.NullN() == 0
	}
	stats := p.Stats(0, known)
	if stats.NoNulls && p.Type(0).ID != Text && slices.Contains(values, "NULL") { // a string may be NULL's word
		t.Errorf("%s: a NULL, where none was promised", e)
	}
}
