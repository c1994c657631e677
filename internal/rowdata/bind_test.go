package rowdata

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// flights is a schema for queries; the columns carrier and delay have no NULL.
var (
	flights = arrow.NewSchema([]arrow.Field{
		{Name: "carrier", Type: arrow.BinaryTypes.String},
		{Name: "delay", Type: arrow.PrimitiveTypes.Int32},
		{Name: "distance", Type: arrow.PrimitiveTypes.Float64},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "Delay2", Type: arrow.PrimitiveTypes.Int64},
		{Name: "delaY2", Type: arrow.PrimitiveTypes.Int64},
		{Name: "twice", Type: arrow.PrimitiveTypes.Int64},
		{Name: "twice", Type: arrow.PrimitiveTypes.Int64},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
		{Name: "code", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 30, Scale: 2}},
	}, nil)
	flightsStats = []ColumnStats{
		{NoNulls: true, Repeats: true}, {NoNulls: true, HasRange: true, Min: -60, Max: 1000}, {}, {}, {}, {}, {}, {}, {}, {}, {},
	}
)

func call(f query.Func, args ...string) query.Aggregate { return query.Aggregate{Func: f, Args: args} }

func mustBind(t *testing.T, q query.Query) *Bound {
	t.Helper()
	b, err := Bind(q, flights, flightsStats)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Would catch functions that stop sharing folds, arguments or columns: each row would then be
// folded more often than need be.
func TestBindShares(t *testing.T) {
	b := mustBind(t, query.Query{Keys: []query.Key{{Column: "carrier"}}, Aggregates: []query.Aggregate{
		call(query.CountStar), call(query.Count, "delay"), call(query.Sum, "delay"), call(query.Avg, "delay"), call(query.Min, "delay"), call(query.Max, "delay"),
		call(query.Count, "distance"), call(query.Sum, "distance"), call(query.Avg, "distance"), call(query.VarSamp, "distance"), call(query.StddevPop, "distance"),
	}})
	if len(b.Columns) != 3 {
		t.Errorf("%d columns are read, want 3", len(b.Columns))
	}
	// count, sum, min and max of delay; count, sum and moments of distance.
	if len(b.Folds) != 7 {
		t.Errorf("%d folds, want 7: %+v", len(b.Folds), b.Folds)
	}
	// delay natural and ordered; distance, whose double is its natural word.
	if len(b.Args) != 3 {
		t.Errorf("%d arguments, want 3: %+v", len(b.Args), b.Args)
	}
	if len(b.Selections) != 2 {
		t.Errorf("%d selections, want all rows and those with a distance: %v", len(b.Selections), b.Selections)
	}
	if same := b.Outputs[0].Fold == b.Outputs[1].Fold; !same {
		t.Error("count(delay), which has no NULL, is not count(*)")
	}
	for i := range b.Folds {
		for _, in := range b.Folds[i].Inputs {
			if b.Inputs[in].Selection != b.Folds[i].Selection {
				t.Errorf("fold %d has an input of another selection", i)
			}
		}
	}
}

// Would catch folds that compare the wrong thing: order and payload of arg_min, the pair of a
// correlation (whose first argument is y), the words of states.
func TestBindFolds(t *testing.T) {
	for _, c := range []struct {
		a    query.Aggregate
		want Fold
	}{
		{call(query.CountStar), Fold{Kind: FoldCount, Words: 1}},
		{call(query.Sum, "delay"), Fold{Kind: FoldSumInt, Words: 2}},
		{call(query.Sum, "price"), Fold{Kind: FoldSumInt128, Words: 3}},
		{call(query.Min, "carrier"), Fold{Kind: FoldBest, Words: 3, Long: true}},
		{call(query.Max, "price"), Fold{Kind: FoldBest, Words: 3, Wide: true, Descending: true}},
		{call(query.First, "carrier"), Fold{Kind: FoldBest, Words: 4, PayloadWords: 2, PayloadLong: true}},
		{call(query.Last, "delay"), Fold{Kind: FoldBest, Words: 3, PayloadWords: 1, Descending: true}},
		{call(query.ArgMin, "price", "carrier"), Fold{Kind: FoldBest, Words: 6, Long: true, Tie: true, PayloadWords: 2}},
		{call(query.ArgMax, "carrier", "delay"), Fold{Kind: FoldBest, Words: 5, Tie: true, PayloadWords: 2, PayloadLong: true, Descending: true}},
		{call(query.CountDistinct, "carrier"), Fold{Kind: FoldDistinct, Words: 3, Long: true, ElementWords: 2}},
		{call(query.Mode, "price"), Fold{Kind: FoldHistogram, Words: 3, Wide: true, ElementWords: 4}},
		{call(query.Median, "delay"), Fold{Kind: FoldCollect, Words: 2, ElementWords: 1}},
		{call(query.List, "price"), Fold{Kind: FoldCollect, Words: 2, Wide: true, ElementWords: 3}},
		{query.Aggregate{Func: query.MaxN, Args: []string{"carrier"}, Length: 7}, Fold{Kind: FoldTop, Words: 2, Long: true, ElementWords: 2, Limit: 7, Descending: true}},
		{call(query.ApproxCountDistinct, "carrier"), Fold{Kind: FoldSketch, Words: 3, ElementWords: 1}},
	} {
		b := mustBind(t, query.Query{Keys: []query.Key{{Column: "day"}}, Aggregates: []query.Aggregate{c.a}})
		got := b.Folds[b.Outputs[0].Fold]
		inputWords := 0
		for _, in := range got.Inputs {
			inputWords += b.Args[b.Inputs[in].Arg].Words
		}
		if got.Kind == FoldBest && inputWords != got.Words-1 {
			t.Errorf("%s: inputs of %d words in a state of %d", c.a, inputWords, got.Words)
		}
		got.Selection, got.Inputs = 0, nil
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.a, got, c.want)
		}
	}
	b := mustBind(t, query.Query{Aggregates: []query.Aggregate{call(query.Corr, "delay", "distance")}})
	if x := b.Inputs[b.Folds[0].Inputs[0]]; b.Columns[b.Args[x.Arg].Column].Name != "distance" {
		t.Error("corr(y, x) takes its first argument for x")
	}
}

// Would catch results that say they have no NULL and then have one: of columns with NULLs, of no
// rows at all, and of too few rows.
func TestBindNullable(t *testing.T) {
	key := []query.Key{{Column: "carrier"}}
	for _, c := range []struct {
		keys []query.Key
		a    query.Aggregate
		want bool
	}{
		{key, call(query.Sum, "delay"), false}, {nil, call(query.Sum, "delay"), true}, {key, call(query.Sum, "distance"), true},
		{key, call(query.Count, "distance"), false}, {nil, call(query.CountStar), false}, {key, call(query.VarSamp, "delay"), true},
		{key, call(query.VarPop, "delay"), false}, {nil, call(query.List, "delay"), true}, {key, call(query.CountDistinct, "distance"), false},
	} {
		b := mustBind(t, query.Query{Keys: c.keys, Aggregates: []query.Aggregate{c.a}})
		if got := b.Schema.Field(len(c.keys)).Nullable; got != c.want {
			t.Errorf("%s over %v: nullable %v", c.a, c.keys, got)
		}
	}
}

// Would catch errors that do not name the column and what to do, or that are not ErrQuery.
func TestBindErrors(t *testing.T) {
	for _, c := range []struct {
		q    query.Query
		want []string
	}{
		{query.Query{}, []string{"neither keys nor aggregates"}},
		{query.Query{Keys: []query.Key{{Column: "dely"}}}, []string{`"dely" does not exist`, "delay"}},
		{query.Query{Keys: []query.Key{{Column: "zzzzzzzz"}}}, []string{`"zzzzzzzz" does not exist`, "carrier, delay, distance"}},
		{query.Query{Keys: []query.Key{{Column: "twice"}}}, []string{`"twice"`, "2 columns"}},
		{query.Query{Keys: []query.Key{{Column: "DELAY2"}}}, []string{`"DELAY2"`, "2 columns"}},
		{query.Query{Keys: []query.Key{{Column: "tags"}}}, []string{`"tags"`, "list, VARCHAR[]", "unnest(tags)"}},
		{query.Query{Aggregates: []query.Aggregate{call(query.Sum, "carrier")}}, []string{"sum(carrier)", "VARCHAR", "numbers"}},
		{query.Query{Aggregates: []query.Aggregate{call(query.BitAnd, "distance")}}, []string{"bit_and(distance)", "DOUBLE", "integers"}},
		{query.Query{Keys: []query.Key{{Column: "nokey"}}, Aggregates: []query.Aggregate{call(query.Sum, "noarg")}}, []string{"nokey", "noarg"}},
		{query.Query{Keys: []query.Key{{Column: "day"}, {Column: "day"}}}, []string{`"day"`, "another name"}},
		{query.Query{Aggregates: []query.Aggregate{call(query.Sum)}}, []string{"takes 1 columns, got 0"}},
		{query.Query{Aggregates: []query.Aggregate{{Func: query.QuantileCont, Args: []string{"delay"}, Fraction: 1.5}}}, []string{"1.5", "[0, 1]"}},
		{query.Query{Aggregates: []query.Aggregate{{Func: query.MinN, Args: []string{"delay"}, Length: 0}}}, []string{"length (0)"}},
		{query.Query{Aggregates: []query.Aggregate{{Func: query.MinN, Args: []string{"delay"}, Length: query.MaxLength + 1}}}, []string{"1000000"}},
		{query.Query{Aggregates: []query.Aggregate{{Func: query.FirstPlace + 1}}}, []string{"unknown aggregate function"}},
		{query.Query{Aggregates: []query.Aggregate{call(query.CountStar)}, Overflow: 9}, []string{"Overflow (9)"}},
	} {
		_, err := Bind(c.q, flights, flightsStats)
		if !errors.Is(err, query.ErrQuery) {
			t.Errorf("%+v: error %v is not ErrQuery", c.q, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: error %q does not say %q", c.q, err, part)
			}
		}
	}
}

// Would catch names that are found in the wrong case first, and strings that are numbered though
// nothing says that they repeat.
func TestBindColumns(t *testing.T) {
	b := mustBind(t, query.Query{Keys: []query.Key{{Column: "CARRIER"}, {Column: "delaY2"}, {Column: "code"}, {Column: "day", Name: "when"}}})
	for i, want := range []string{"carrier", "delaY2", "code", "day"} {
		if got := b.Columns[b.KeyColumns[i]].Name; got != want {
			t.Errorf("key %d is column %q, want %q", i, got, want)
		}
	}
	if names := b.Schema.String(); b.Schema.Field(0).Name != "CARRIER" || b.Schema.Field(3).Name != "when" {
		t.Errorf("results are named %s", names)
	}
	if b.Schema.Field(2).Type.ID() != arrow.STRING {
		t.Errorf("a dictionary-encoded key has the result type %s", b.Schema.Field(2).Type)
	}
	f := b.Keys.Fields
	if !f[0].Interned || f[1].Interned || !f[2].Interned {
		t.Errorf("strings are numbered: %v, %v, %v", f[0].Interned, f[1].Interned, f[2].Interned)
	}
	b, err := Bind(query.Query{Keys: []query.Key{{Column: "delay"}}}, flights, nil)
	if err != nil || !b.Columns[0].Nullable || b.Columns[0].HasRange {
		t.Errorf("without statistics: %+v, %v", b.Columns[0], err)
	}
}

// Would catch parts of rows and states that overlap or leave gaps, integers that are stored twice,
// and validity bits of columns that no selection asks for.
func TestRowLayouts(t *testing.T) {
	var q query.Query
	for _, f := range query.Funcs() {
		a := query.Aggregate{Func: f, Args: []string{"delay", "distance"}[:f.Args()], Length: 3, Fraction: 0.3}
		if f.Args() == 1 {
			a.Args = []string{map[bool]string{true: "carrier", false: "delay"}[f == query.StringAgg]}
		}
		if argClass(f)&(classInteger|classString) != 0 {
			q.Aggregates = append(q.Aggregates, a)
		}
	}
	q.Keys = []query.Key{{Column: "distance"}, {Column: "price"}}
	b := mustBind(t, q)
	check := func(name string, l RowLayout, words func(i int) int) {
		at := b.Keys.Words
		for i, offset := range l.Parts {
			if offset != at {
				t.Errorf("%s: part %d begins at %d, want %d", name, i, offset, at)
			}
			at += words(i)
		}
		if l.Valid != at || l.Stride != at+(len(l.ValidCols)+63)/64 {
			t.Errorf("%s: bits at %d, stride %d, want %d", name, l.Valid, l.Stride, at)
		}
	}
	rows, states := b.RowLayout(), b.StateLayout()
	shared := 0
	check("rows", rows, func(i int) int {
		natural := rows.Natural[i]
		if natural < 0 {
			return b.Args[i].Words
		}
		shared++
		if b.Args[natural] != (Arg{Column: b.Args[i].Column, Encoding: Natural, Words: 1}) || b.Args[i].Encoding != Ordered {
			t.Errorf("%+v is made of %+v", b.Args[i], b.Args[natural])
		}
		return 0
	})
	if shared != 1 {
		t.Errorf("%d arguments follow from others, want 1", shared)
	}
	check("states", states, func(i int) int { return b.Folds[i].Words })
	if len(rows.ValidCols) != 1 || b.Columns[rows.ValidCols[0]].Name != "distance" || len(states.ValidCols) != 0 {
		t.Errorf("columns with a bit: %v of rows, %v of states", rows.ValidCols, states.ValidCols)
	}
}
