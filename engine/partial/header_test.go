package partial

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
)

// Would catch a type that partial states lose or confuse with another.
func TestColumnTypes(t *testing.T) {
	types := grouptest.Types()
	for _, unit := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond} {
		types = append(types, &arrow.TimestampType{Unit: unit}, &arrow.TimestampType{Unit: unit, TimeZone: "Europe/Berlin"}, &arrow.DurationType{Unit: unit})
	}
	for _, dt := range types {
		ct, err := newColumnType(dt)
		if err != nil {
			t.Errorf("%s: %v", dt, err)
			continue
		}
		text, err := json.Marshal(ct)
		if err != nil {
			t.Fatal(err)
		}
		var back columnType
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if got, err := back.dataType(); err != nil || !arrow.TypeEqual(got, dt) {
			t.Errorf("%s came back from %s as %v, %v", dt, text, got, err)
		}
	}
	for _, text := range []string{`{}`, `{"name":"decimal128"}`, `{"name":"decimal128","precision":39}`, `{"name":"timestamp","unit":"h"}`, `{"name":"fixed_size_binary","width":-1}`, `{"name":"list"}`} {
		var ct columnType
		if err := json.Unmarshal([]byte(text), &ct); err != nil {
			t.Fatal(err)
		}
		if dt, err := ct.dataType(); err == nil {
			t.Errorf("%s is %s", text, dt)
		}
	}
}

// Would catch a field of a query that its JSON leaves out: states would merge to another answer. A
// field that is added sets this test a value for it.
func TestQueryTravels(t *testing.T) {
	for _, f := range query.Funcs() {
		q := query.Query{
			Keys: []query.Key{{Column: "a key", Name: "named"}},
			Aggregates: []query.Aggregate{{Func: f, Args: []string{"x", "y"}, Name: "n", Fraction: 0.1, Length: 7, Separator: "\x00'",
				Distinct: true, Descending: true, By: "z"}},
			Overflow:      query.OverflowWrap,
			Deterministic: true,
		}
		for _, v := range []any{q, q.Keys[0], q.Aggregates[0]} {
			for i := range reflect.TypeOf(v).NumField() {
				if reflect.ValueOf(v).Field(i).IsZero() {
					t.Fatalf("%T.%s has no value here", v, reflect.TypeOf(v).Field(i).Name)
				}
			}
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var back query.Query
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(q, back) {
			t.Errorf("%s came back as %+v, %v", text, back, err)
		}
	}
}

// Would catch folds that follow from statistics: states of two sources would not fit together.
func TestCanonicalFolds(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "v", Type: arrow.PrimitiveTypes.Int64}, {Name: "f", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	q := query.Query{Keys: []query.Key{{Column: "S"}, {Column: "v"}}, Aggregates: []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Count, Args: []string{"f"}}, {Func: query.Corr, Args: []string{"f", "v"}},
	}}
	var first *rowdata.Bound
	for _, stats := range [][]rowdata.ColumnStats{
		nil,
		{{NoNulls: true, Repeats: true}, {NoNulls: true, HasRange: true, Min: 3, Max: 9}, {}},
		{{}, {HasRange: true, Min: 0, Max: 1}, {NoNulls: true}},
	} {
		b, err := rowdata.BindCanonical(q, schema, stats)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := b.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(b.Folds, canonical.Folds) || !reflect.DeepEqual(b.Inputs, canonical.Inputs) {
			t.Errorf("folds %v, canonical %v", b.Folds, canonical.Folds)
		}
		if first == nil {
			first = canonical
		}
		if !reflect.DeepEqual(first.Keys, canonical.Keys) || !reflect.DeepEqual(first.Folds, canonical.Folds) {
			t.Errorf("keys %v, folds %v; first were %v, %v", canonical.Keys, canonical.Folds, first.Keys, first.Folds)
		}
	}
}

// FuzzPartialHeader reads arbitrary text: an error, or a header that binds or says why not.
func FuzzPartialHeader(f *testing.F) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.BinaryTypes.String}, {Name: "t", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}}}, nil)
	b, err := rowdata.BindCanonical(query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.MaxN, Args: []string{"t"}, Length: 3}}}, schema, nil)
	if err != nil {
		f.Fatal(err)
	}
	canonical, err := b.Canonical()
	if err != nil {
		f.Fatal(err)
	}
	h, err := newHeader(b, canonical, 4)
	if err != nil {
		f.Fatal(err)
	}
	text, err := h.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"hash":1,"partitions":1,"query":{"keys":[{"column":"k"}]},"columns":[{"name":"k","type":{"name":"int32"}}],"key_words":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := decodeHeader(text)
		if err != nil {
			return
		}
		if what := h.differs(h); what != "" {
			t.Errorf("%s differs from itself: %s", text, what)
		}
		if b, err := bindHeaders([]*header{h}); err == nil && b.Schema.NumFields() != len(h.Query.Keys)+len(h.Query.Aggregates) {
			t.Errorf("%s: a result of %s", text, b.Schema)
		}
	})
}
