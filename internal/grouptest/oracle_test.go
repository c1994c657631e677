package grouptest

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
)

// Every case has a name of its own, and an answer; only sums that are said to pass do overflow.
func TestCases(t *testing.T) {
	names := make(map[string]bool)
	for _, c := range Cases() {
		if names[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		names[c.Name] = true
		want, err := c.Want()
		switch {
		case errors.Is(err, ErrOverflow) && strings.Contains(c.Name, "passes"):
		case err != nil && !(errors.Is(err, ErrOverflow) && strings.HasPrefix(c.Name, "random")):
			t.Errorf("%s: %v", c.Name, err)
		case err == nil:
			if err := Equal(want, settled(want)); err != nil {
				t.Errorf("%s: an answer is not equal to itself: %v", c.Name, err)
			}
		}
	}
	t.Logf("%d cases", len(names))
}

// settled is an answer without tolerances.
func settled(r *Rows) *Rows {
	other := &Rows{Schema: r.Schema, Keys: r.Keys}
	for _, row := range r.Cells {
		cells := make([]any, len(row))
		for i, cell := range row {
			switch cell := cell.(type) {
			case Approx:
				cells[i] = cell.Value
			case Near:
				cells[i] = cell.Value
			case Unspecified:
			default:
				cells[i] = cell
			}
		}
		other.Cells = append(other.Cells, cells)
	}
	return other
}

// The oracle against answers worked out by hand; DuckDB gives the same.
func TestOracle(t *testing.T) {
	f64 := arrow.PrimitiveTypes.Float64
	schema, batches := table([]arrow.Field{field("k", arrow.BinaryTypes.String), field("x", f64), field("y", f64)},
		[]any{"a", "a", nil, "a", "a", "b", nil},
		[]any{3.0, 4.0, math.NaN(), 6.0, 11.0, nil, 1.0},
		[]any{1.0, nil, 2.0, 2.0, 4.0, 5.0, math.Copysign(0, -1)})
	q := query.Query{Keys: keys("k"), Aggregates: []query.Aggregate{
		call(query.CountStar), call(query.Sum, "x"), call(query.VarSamp, "x"), call(query.Skewness, "x"), call(query.Kurtosis, "x"),
		call(query.Median, "x"), call(query.QuantileDisc, "x"), call(query.RegrSlope, "x", "y"), call(query.Corr, "x", "y"),
		call(query.ArgMax, "y", "x"), call(query.MaxN, "x"), call(query.List, "y"),
	}}
	nan := math.NaN()
	want := map[string][]any{
		"a":    {int64(4), 24.0, 38.0 / 3, 1.3309377322476705, 1.5, 5.0, 4.0, 37.0 / 14, 37 / math.Sqrt(1372), 4.0, []any{11.0, 6.0, 4.0}, []any{1.0, 2.0, 4.0}},
		"b":    {int64(1), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, []any{5.0}},
		"\x00": {int64(2), nan, nan, nil, nil, nan, 1.0, nan, nan, 2.0, []any{nan, 1.0}, []any{2.0, 0.0}},
	}
	got, err := Oracle(schema, batches(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Cells) != 3 {
		t.Fatalf("%d groups, want 3", len(got.Cells))
	}
	for _, row := range got.Cells {
		key, ok := row[0].(string)
		if !ok {
			key = "\x00" // stands for NULL
		}
		for i, w := range want[key] {
			have := row[i+1]
			if a, ok := have.(Approx); ok && a.Tolerance > 1e-6 {
				t.Errorf("group %q: %s: tolerance %v", key, q.Aggregates[i], a.Tolerance)
			} else if ok && w != nil {
				have, w = w, have
			}
			if !equalCells(w, have) {
				t.Errorf("group %q: %s is %s, want %s", key, q.Aggregates[i], keyText(row[i+1]), keyText(want[key][i]))
			}
		}
	}
}

// What Equal must not let pass.
func TestEqualFindsDifferences(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{field("k", arrow.PrimitiveTypes.Int64), field("f", arrow.PrimitiveTypes.Float64)}, nil)
	rows := func(cells ...[]any) *Rows { return &Rows{Schema: schema, Keys: 1, Cells: cells} }
	want := rows([]any{int64(1), approx(2, 0.5)}, []any{nil, nil})
	renamed := rows(want.Cells...)
	renamed.Schema = arrow.NewSchema([]arrow.Field{field("k", arrow.PrimitiveTypes.Int64), field("g", arrow.PrimitiveTypes.Float64)}, nil)
	retyped := rows(want.Cells...)
	retyped.Schema = arrow.NewSchema([]arrow.Field{field("k", arrow.PrimitiveTypes.Int32), field("f", arrow.PrimitiveTypes.Float64)}, nil)
	for name, got := range map[string]*Rows{
		"a group is missing":    rows([]any{nil, nil}),
		"a group is too many":   rows([]any{nil, nil}, []any{int64(1), 2.0}, []any{int64(2), 2.0}),
		"a group comes twice":   rows([]any{nil, nil}, []any{nil, nil}, []any{int64(1), 2.0}),
		"outside the tolerance": rows([]any{nil, nil}, []any{int64(1), 2.6}),
		"a value for NULL":      rows([]any{nil, 0.0}, []any{int64(1), 2.0}),
		"NULL for a value":      rows([]any{nil, nil}, []any{int64(1), nil}),
		"NaN for a value":       rows([]any{nil, nil}, []any{int64(1), math.NaN()}),
		"a column is renamed":   renamed,
		"a column is of a type": retyped,
	} {
		if Equal(want, got) == nil {
			t.Errorf("%s: not found", name)
		}
	}
	if err := Equal(want, rows([]any{nil, nil}, []any{int64(1), 2.4})); err != nil {
		t.Error(err)
	}
}

// Arrays hold the cells they are built from, for every type, and slices of them too.
func TestArrayRoundTrip(t *testing.T) {
	for _, dt := range append(Types(), DictionaryTypes()...) {
		cells := append(Edges(dt), nil)
		arr := array.NewSlice(Array(dt, cells), 1, int64(len(cells)))
		for i := range arr.Len() {
			if got := Value(arr, i); !equalCells(cells[i+1], got) {
				t.Errorf("%s: cell %d is %s, want %s", dt, i, keyText(got), keyText(cells[i+1]))
			}
		}
	}
}

// A seed gives the same table and query every time.
func TestRandomIsReproducible(t *testing.T) {
	answer := func() string {
		rng := rand.New(rand.NewPCG(7, 7))
		schema, batches := RandomTable(rng, 500)
		text := schema.String()
		for _, b := range batches {
			for row := range int(b.NumRows()) {
				text += keyTexts(values(b.Columns(), row))
			}
		}
		return text + RandomQuery(rng, schema).Aggregates[0].String()
	}
	if first := answer(); first != answer() {
		t.Error("two tables of one seed differ")
	}
}

// Would catch a sum of doubles that the oracle wants to be an infinity though in another order it is NaN.
func TestSumsPastTheRange(t *testing.T) {
	most := math.MaxFloat64
	for _, c := range []struct {
		values []any
		want   any
	}{
		{[]any{most, most}, math.Inf(1)},
		{[]any{-most, -most, 1.0}, math.Inf(-1)},
		{[]any{most, most, -most}, Unspecified{}},
		{[]any{most, most, most, most, -most, -most}, Unspecified{}},
		{[]any{math.Inf(1), most, most}, Unspecified{}},
		{[]any{math.Inf(1), 1.0}, math.Inf(1)},
	} {
		if got := sumFloats(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}
