//go:build cgo

package sql

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/engine/spec"
)

func TestParseKeys(t *testing.T) {
	long := strings.Repeat("Xy", 100) // PostgreSQL cuts names at 63 bytes
	for _, c := range []struct {
		text string
		want []spec.Key
	}{
		{"origin", []spec.Key{{Column: "origin"}}},
		{"origin, destination as dest", []spec.Key{{Column: "origin"}, {Column: "destination", Name: "dest"}}},
		{" Origin  ToPort,\n\tB", []spec.Key{{Column: "Origin", Name: "ToPort"}, {Column: "B"}}},
		{`"a.b", "two words" as "say ""hi"""`, []spec.Key{{Column: "a.b"}, {Column: "two words", Name: `say "hi"`}}},
		{`"a, b" as "c, d", e`, []spec.Key{{Column: "a, b", Name: "c, d"}, {Column: "e"}}},
		{"date, year as Month, name, type, first", []spec.Key{{Column: "date"}, {Column: "year", Name: "Month"}, {Column: "name"},
			{Column: "type"}, {Column: "first"}}},
		{`"user", "order"`, []spec.Key{{Column: "user"}, {Column: "order"}}},
		{"Größe as Länge, 数", []spec.Key{{Column: "Größe", Name: "Länge"}, {Column: "数"}}},
		{long + " as " + long + "2", []spec.Key{{Column: long, Name: long + "2"}}},
		{`U&"\00e9t\00e9"`, []spec.Key{{Column: "été"}}},
		{"a /* one, two */, b -- the end", []spec.Key{{Column: "a"}, {Column: "b"}}},
		{"(a), ((B)) as c", []spec.Key{{Column: "a"}, {Column: "B", Name: "c"}}},
	} {
		got, err := ParseKeys(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseKeys(%q): got %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
}

func TestParseAggregates(t *testing.T) {
	one := func(f spec.Func, args ...string) spec.Aggregate { return spec.Aggregate{Func: f, Args: args} }
	named := func(name string, a spec.Aggregate) spec.Aggregate { a.Name = name; return a }
	quantile := func(f spec.Func, q float64) spec.Aggregate {
		return spec.Aggregate{Func: f, Args: []string{"v"}, Fraction: q}
	}
	for _, c := range []struct {
		text string
		want []spec.Aggregate
	}{
		{"sum(delay) as total, count(*)", []spec.Aggregate{named("total", one(spec.Sum, "delay")), one(spec.CountStar)}},
		{"COUNT(*) n, Count(Delay), count(DISTINCT Delay) as D", []spec.Aggregate{named("n", one(spec.CountStar)),
			one(spec.Count, "Delay"), named("D", one(spec.CountDistinct, "Delay"))}},
		{"quantile_cont(v, 0.9) as p90", []spec.Aggregate{named("p90", quantile(spec.QuantileCont, 0.9))}},
		{"quantile_disc(v, 1), quantile(v, 0), quantile_cont(v, -1), quantile_cont(v, 9e99)", []spec.Aggregate{
			quantile(spec.QuantileDisc, 1), quantile(spec.QuantileDisc, 0), quantile(spec.QuantileCont, -1), quantile(spec.QuantileCont, 9e99)}},
		{"percentile_cont(0.25) within group (order by v) as q1", []spec.Aggregate{named("q1", quantile(spec.QuantileCont, 0.25))}},
		{"percentile_disc(.5) within group (order by v asc), mode() within group (order by v)", []spec.Aggregate{
			quantile(spec.QuantileDisc, 0.5), one(spec.Mode, "v")}},
		{"max(x), max(x, 3), min(x, 1)", []spec.Aggregate{one(spec.Max, "x"), {Func: spec.MaxN, Args: []string{"x"}, Length: 3},
			{Func: spec.MinN, Args: []string{"x"}, Length: 1}}},
		{"string_agg(name, ';'), string_agg(name), group_concat(name, ' ''and'' ')", []spec.Aggregate{
			{Func: spec.StringAgg, Args: []string{"name"}, Separator: ";"},
			{Func: spec.StringAgg, Args: []string{"name"}, Separator: ","},
			{Func: spec.StringAgg, Args: []string{"name"}, Separator: " 'and' "}}},
		{`string_agg("a, b", 'c, d') as "e, f"`, []spec.Aggregate{
			named("e, f", spec.Aggregate{Func: spec.StringAgg, Args: []string{"a, b"}, Separator: "c, d"})}},
		{"corr(y, x), max_by(name, age), first(a), last(b)", []spec.Aggregate{one(spec.Corr, "y", "x"), one(spec.ArgMax, "name", "age"),
			one(spec.First, "a"), one(spec.Last, "b")}},
	} {
		got, err := ParseAggregates(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseAggregates(%q):\n got %+v, %v\nwant %+v", c.text, got, err, c.want)
		}
	}
}

// Would catch a function that has no SQL form: each reads back from its own text.
func TestParseEveryFunction(t *testing.T) {
	for _, f := range spec.Funcs() {
		want := spec.Aggregate{Func: f}
		for i := range f.Args() {
			want.Args = append(want.Args, fmt.Sprintf("Col%d", i))
		}
		switch f.Param() {
		case spec.FractionParam:
			want.Fraction = 0.125
		case spec.LengthParam:
			want.Length = 7
		case spec.SeparatorParam:
			want.Separator = "it's"
		}
		got, err := ParseAggregates(want.String())
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("ParseAggregates(%q): got %+v, %v, want %+v", want.String(), got, err, want)
		}
	}
}

// place is the text that an error points at.
func place(e *Error) string {
	rest := e.Text[e.Offset:]
	if rest == "" {
		return rest
	}
	word, _, _ := strings.Cut(strings.NewReplacer(",", " ", "(", " ", ")", " ").Replace(rest[1:]), " ")
	return rest[:1+len(word)]
}

func TestParseErrors(t *testing.T) {
	keys := func(text string) error { _, err := ParseKeys(text); return err }
	aggregates := func(text string) error { _, err := ParseAggregates(text); return err }
	for _, c := range []struct {
		parse   func(string) error
		text    string
		message string // part of it
		place   string
	}{
		{keys, "", "the text is empty", ""},
		{keys, " \n", "the text is empty", " \n"},
		{keys, "-- nothing", "the text is empty", "--"},
		{keys, "a,", "syntax error at end of input", ""},
		{keys, "a,,b", "syntax error", ",b"},
		{keys, "größe groß x", "syntax error", "x"},
		{keys, "a, order", "syntax error: order is a word of SQL", "order"},
		{keys, `a, "b`, "unterminated quoted identifier", `"b`},
		{keys, "a /* b", "unterminated /* comment", "/*"},
		{keys, "user", "double quotes", "user"},
		{keys, "a.b", `written "a.b"`, "a.b"},
		{keys, "x, *", "name the columns", "*"},
		{keys, "a + 1", "operator +", "+"},
		{keys, "a::int", "a cast", "::int"},
		{keys, "sum(a)", "a function here; want a column", "sum"},
		{keys, "1", "a constant; want a column", "1"},
		{keys, "(select a)", "a subquery", "(select"},
		{keys, "case when a then b end", "CASE", "case"},
		{keys, "(a).b", "an expression", "(a"},
		{keys, "a from t", "not supported: from", "from"},
		{keys, "a group by b", "not supported: group", "group"},
		{keys, "a order by b", "not supported: order", "order"},
		{keys, "a limit 3", "not supported: limit", "limit"},
		{keys, "distinct a", "not supported: distinct", "distinct"},
		{keys, "a union select b", "not supported: union", "union"},
		{keys, "a; drop table b", "semicolon", ";"},
		{keys, "a\x00b", "zero byte", "\x00b"},
		{keys, "a, \xff", "not UTF-8", "\xff"},
		{aggregates, "delay", "a column here; want an aggregate", "delay"},
		{aggregates, "sum(a) + 1", "operator +", "+"},
		{aggregates, "sum(a + 1)", "operator +", "+"},
		{aggregates, "max(sum(x))", "a function here; want a column", "sum"},
		{aggregates, "sum(case when a then 1 end)", "CASE", "case"},
		{aggregates, "sum(a) filter (where b)", "FILTER", "filter"},
		{aggregates, "count(*), sum(a) over (partition by b)", "OVER", "over"},
		{aggregates, "list(a order by b)", "ORDER BY in list", "order"},
		{aggregates, "sum(distinct a)", "distinct in sum", "sum"},
		{aggregates, "sum(*)", "only count has it", "sum"},
		{aggregates, "count(distinct a, b)", "count takes 1 column, not 2", "count"},
		{aggregates, "sum(a, 2)", "sum takes 1 column, not 2", "sum"},
		{aggregates, "corr(a)", "corr takes 2 columns, not 1", "corr"},
		{aggregates, "count()", "count takes 1 column, not 0", "count"},
		{aggregates, "quantile_cont(a)", "takes 1 column and a fraction", "quantile_cont"},
		{aggregates, "quantile_cont(a, b)", "comes a number from 0 to 1", "b"},
		{aggregates, "quantile_cont(a, null)", "comes a number from 0 to 1", "null"},
		{aggregates, "max(a, 2.5)", "comes a whole number", "2.5"},
		{aggregates, "max(a, 99999999999)", "comes a whole number", "99999999999"},
		{aggregates, "string_agg(a, 1)", "comes text in single quotes", "1"},
		{aggregates, "percentile_cont(0.5) within group (order by v desc)", "ascending", "order"},
		{aggregates, "percentile_cont(0.5)", "no aggregate function is named percentile_cont", "percentile_cont"},
		{aggregates, "sum(a) within group (order by v)", "sum with WITHIN GROUP", "sum"},
		{aggregates, "count(*), smu(a)", "no aggregate function is named smu; did you mean sum", "smu"},
		{aggregates, "extract(year from a)", "no aggregate function is named extract", "extract"},
		{aggregates, "pg_catalog.sum(a)", "no aggregate function is named sum", "pg_catalog.sum"},
		{aggregates, "sum(a), sum(b", "syntax error at end of input", ""},
	} {
		err := c.parse(c.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v, want an *Error", c.text, err)
			continue
		}
		if !strings.Contains(e.Message, c.message) || place(e) != c.place {
			t.Errorf("%q: got %q at %q, want %q at %q", c.text, e.Message, place(e), c.message, c.place)
		}
	}
}

// Would catch text that overruns the C parser's stack or its buffers.
func TestParseHugeText(t *testing.T) {
	const n = 10_000
	for name, text := range map[string]string{
		"parentheses":       strings.Repeat("(", n) + "a" + strings.Repeat(")", n),
		"open parentheses":  strings.Repeat("(", n),
		"brackets":          strings.Repeat("a[", n),
		"nested calls":      strings.Repeat("sum(", n) + "a" + strings.Repeat(")", n),
		"not":               strings.Repeat("not ", n) + "a",
		"signs":             strings.Repeat("- ", n) + "a",
		"operators":         "a" + strings.Repeat("+a", n),
		"casts":             "a" + strings.Repeat("::int", n),
		"subqueries":        strings.Repeat("(select ", n) + "a" + strings.Repeat(")", n),
		"commas inside":     "f(" + strings.Repeat("a,", n) + "a)",
		"commas":            strings.Repeat(",", n),
		"1 MB name":         strings.Repeat("a", 1<<20),
		"1 MB quoted name":  `"` + strings.Repeat("a", 1<<20) + `"`,
		"1 MB of spaces":    strings.Repeat(" ", 1<<20),
		"comments":          strings.Repeat("/*", n),
		"long open literal": "string_agg(a, '" + strings.Repeat("x", 1<<17),
	} {
		if _, err := ParseKeys(text); err == nil {
			t.Errorf("%s: ParseKeys: got no error", name)
		}
		_, err := ParseAggregates(text)
		if err == nil {
			t.Errorf("%s: ParseAggregates: got no error", name)
		} else if len(err.Error()) > 500 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
}

// The deepest trees that L2 lets through are parsed, whether or not they are supported.
func TestParseDeepest(t *testing.T) {
	n := itemTokensMax
	deep := strings.Repeat("(", n/2-1) + "a" + strings.Repeat(")", n/2-1)
	if got, err := ParseKeys(deep); err != nil || got[0].Column != "a" {
		t.Errorf("parentheses: got %v, %v", got, err)
	}
	for _, text := range []string{
		strings.Repeat("not ", n-1) + "a",
		strings.Repeat("- ", n-1) + "a",
		"a" + strings.Repeat("+a", n/2-1),
		"a" + strings.Repeat("::int", n/2-1),
		strings.Repeat("f(", n/3-1) + "a" + strings.Repeat(")", n/3-1),
		strings.Repeat("(select ", n/3-1) + "a" + strings.Repeat(")", n/3-1),
		strings.Repeat("case when a then ", n/5-1) + "a" + strings.Repeat(" end", n/5-1),
	} {
		if _, err := ParseKeys(text); err == nil || !strings.HasPrefix(err.Error(), "not supported: ") || strings.Contains(err.Error(), "words and signs") {
			t.Errorf("%.20s: got %v", text, err)
		}
	}
}

// The bounds of L2 leave room for what people write.
func TestParseManyItems(t *testing.T) {
	text := "sum(a)" + strings.Repeat(", sum(a)", 9_999)
	got, err := ParseAggregates(text)
	if err != nil || len(got) != 10_000 {
		t.Fatalf("10,000 calls: got %d, %v", len(got), err)
	}
}

// Would catch state that the C parser shares between threads.
func TestParseConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 200 {
				column := fmt.Sprintf("Col%d_%d", i, j)
				if got, err := ParseKeys(column); err != nil || got[0].Column != column {
					t.Errorf("got %+v, %v, want %s", got, err, column)
				}
				if _, err := ParseKeys("a b c"); err == nil {
					t.Error("got no error for a b c")
				}
			}
		})
	}
	group.Wait()
}

// No text crashes the parser, and an error's place is in the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"origin, destination as dest", "sum(delay) as total, count(*), count(distinct x)", `"a""b" as "c"`,
		"percentile_cont(0.5) within group (order by x)", "string_agg(name, ';')", "a + (b * -1)::int", "'", `"`, "/*", "$$", "U&'\\",
		"E'\\x", "größe", "case when a then b end", "xmlelement(name a)", "json_object(a: b)", "a.b.c[1:2]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check := func(err error) {
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) || e.Error() == "") {
				t.Errorf("%q: %#v", text, err)
			}
		}
		_, err := ParseKeys(text)
		check(err)
		_, err = ParseAggregates(text)
		check(err)
	})
}
