//go:build cgo

package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/internal/expr"
)

// shown writes a statement such that a test can tell what was read.
func shown(s *Select) string {
	var b strings.Builder
	b.WriteString("select")
	if s.Distinct {
		b.WriteString(" distinct")
	}
	for i, it := range s.Items {
		if i > 0 {
			b.WriteByte(',')
		}
		if it.Expr == nil {
			b.WriteString(" " + strings.Join(append(slices.Clone(it.Of), "*"), "."))
			continue
		}
		b.WriteString(" " + it.Expr.String())
		if it.Name != "" {
			b.WriteString(" as " + it.Name)
		}
	}
	alias := ""
	switch f := s.From.(type) {
	case *Derived:
		b.WriteString(" from (" + shown(f.Query) + ")")
		alias = f.Alias.Name
	case *Files:
		if f.Function != "" {
			b.WriteString(" from " + f.Function + "(" + f.Patterns[0] + ")")
		} else {
			b.WriteString(" from file " + f.Patterns[0])
		}
		for _, o := range f.Options {
			b.WriteString(" " + o.Name + "=" + o.Value.String())
		}
		alias = f.Alias.Name
	case *Table:
		b.WriteString(" from " + f.Name)
		alias = f.Alias.Name
	}
	if alias != "" {
		b.WriteString(" as " + alias)
	}
	clause := func(name string, e *expr.Expr) {
		if e != nil {
			b.WriteString(" " + name + " " + e.String())
		}
	}
	clause("where", s.Where)
	for _, g := range s.GroupBy {
		if g.Expr != nil {
			clause("group", g.Expr)
			continue
		}
		b.WriteString(" sets")
		for _, set := range g.Sets {
			texts := make([]string, len(set))
			for i, x := range set {
				texts[i] = x.String()
			}
			b.WriteString(" (" + strings.Join(texts, " ") + ")")
		}
	}
	if s.GroupAll {
		b.WriteString(" group all")
	}
	clause("having", s.Having)
	for _, o := range s.OrderBy {
		clause("order", o.Expr)
		if o.Descending {
			b.WriteString(" desc")
		}
		if o.NullsFirst {
			b.WriteString(" nulls first")
		}
	}
	if s.OrderAll != nil {
		b.WriteString(" order all")
	}
	clause("limit", s.Limit)
	clause("offset", s.Offset)
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"select a, B as Total from 't.parquet'", "select a, B as Total from file t.parquet"},
		{`SELECT "two words" FROM 'it''s "here".csv' WHERE x > 1;`, `select two words from file it's "here".csv where (x > 1)`},
		{"select * from t", "select * from t"},
		{"select x.a, x.* from t as x", "select x.a, x.* from t as x"},
		{"select count(*), count(distinct a), sum(b) filter (where c) from t", "select count(*), count(distinct a), sum(b) FILTER (WHERE c) from t"},
		{"select a from t group by all order by all", "select a from t group all order all"},
		{"select a from t group by all having count(*) > 1 order by 1 desc nulls first limit 3 offset 2",
			"select a from t group all having (count(*) > 1) order 1 desc nulls first limit 3 offset 2"},
		{"select 1 from t group by rollup (a, b), c", "select 1 from t sets (a b) (a) () group c"},
		{"select 1 from t group by cube (a, (b, c))", "select 1 from t sets (a b c) (a) (b c) ()"},
		{"select 1 from t group by grouping sets ((a, b), a, (), rollup (c))", "select 1 from t sets (a b) (a) () (c) ()"},
		{"select a // b + c // d, a ** 2, a == b", "select ((a // b) + (c // d)), (a ^ 2), (a = b)"},
		{"select try_cast(a as int), cast(b as float), c::double, d::decimal(4, 2)",
			"select TRY_CAST(a AS INTEGER), CAST(b AS FLOAT), CAST(c AS DOUBLE), CAST(d AS DECIMAL(4,2))"},
		{"select d + interval 3 days, d - interval '1' month, interval '2 weeks 03:00:00'",
			"select (d + CAST('3 days' AS INTERVAL)), (d - CAST('1 month' AS INTERVAL)), CAST('2 weeks 03:00:00' AS INTERVAL)"},
		{"select extract(year from a), trim(both 'x' from b), substring(c from 2 for 3), position('a' in d)",
			"select date_part('year', a), trim(b, 'x'), substring(c, 2, 3), strpos(d, 'a')"},
		{"select a like 'x' escape '!', a not ilike b, a ~ 'x', a not in (1, 2), a not between 1 and 2",
			"select (a LIKE 'x' ESCAPE '!'), (NOT (a ILIKE b)), ~(a, 'x'), (NOT (a IN (1, 2))), (NOT (a BETWEEN 1 AND 2))"},
		{"select case a when 1 then 'x' else 'y' end, case when b then c end", "select CASE WHEN (a = 1) THEN 'x' ELSE 'y' END, CASE WHEN b THEN c END"},
		{"select a is true, b is not null, c is distinct from 'd'", "select is true(a), (b IS NOT NULL), (c IS DISTINCT FROM 'd')"},
		{"select 1.50, 1e3, 99999999999, -5, 'it''s', true, null", "select 1.50, 1000.0, 99999999999, -5, 'it''s', true, NULL"},
		{"select percentile_cont(0.5) within group (order by a), mode() within group (order by b)", "select quantile_cont(a, 0.5 order by a), mode(b order by b)"},
		{"select percentile_disc(0.5) within group (order by a desc nulls first)", "select quantile_disc(a, 0.5 order by a desc nulls first)"},
		{"select a from read_csv('x.csv', delim = ';', header := true)", "select a from read_csv(x.csv) delim=';' header=true"},
		{"with q as (select a from t), r as (select a from q) select a from r", "select a from (select a from (select a from t) as q) as r"},
		{"select a from (select b as a from t where c) s where s.a > 1", "select a from (select b as a from t where c) as s where (s.a > 1)"},
		{"select Größe as \"Länge\", sum(x) as Größe from 'größe.csv' group by Größe", "select Größe as Länge, sum(x) as Größe from file größe.csv group Größe"},
		{"select -- first\n a /* second */ from t", "select a from t"},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if shown(got) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.text, shown(got), c.want)
		}
	}
}

// A statement that is not SQL, or not supported, is an error at its place in the text as it was
// given.
func TestParseStatementError(t *testing.T) {
	for _, c := range []struct{ text, message, place string }{
		{"", "empty", ""},
		{"selct a from t", "syntax error", "selct a from t"},
		{"select a from t where", "syntax error at end of input", ""},
		{"select a from (select b from t where c in (1, 2)", "syntax error at end of input: this parenthesis is open", "(select b from t where c in (1, 2)"},
		{"select sum(a from t where b = (c + 1)", "this parenthesis is open", "(a from t where b = (c + 1)"},
		{"select a from t where (b = 1 and c in (2, 3) group by a", "this parenthesis is open", "(b = 1 and c in (2, 3) group by a"},
		{"select (select 1 select 2", "this parenthesis is open", "(select 1 select 2"},
		{"select [1, 2 from t", "this bracket is open", "[1, 2 from t"},
		{"select case when a then b from t", "CASE wants END", "case when a then b from t"},
		{"select sum(a)) from t", "this parenthesis closes nothing", ") from t"},
		{"select a from t order by a de", "de is not expected behind a key of ORDER BY; did you mean DESC?", "de"},
		{"select a from t order by a asc desc, b", "desc is not expected behind a key of ORDER BY", "desc, b"},
		{"select a from t order by a zz", "zz is not expected behind a key of ORDER BY; want ASC, DESC,", "zz"},
		{"select a from t group a", "BY stands behind GROUP", "a"},
		{"select a from t limit 3 order by 1", "ORDER BY stands before LIMIT", "order by 1"},
		{"select a from t where a where b", "WHERE stands twice", "where b"},
		{"select a from t union select 2 order by 3 where a", "WHERE stands before ORDER BY", "where a"},
		{"select a from t order by a union select 2", "union stands before ORDER BY and LIMIT", "union select 2"},
		{"select a frm t", "did you mean FROM by frm?", "t"},
		{"selec 1", "syntax error; did you mean SELECT?", "selec 1"},
		{"foo", "a statement begins with SELECT", "foo"},
		{"select a from t where größe = = 1", "syntax error", "= 1"},
		{"select a b c from t", "syntax error", "c from t"},
		{"select a from 'x.parquet' wher b", "syntax error", "b"},
		{"select a from data/x.parquet", "a file is written in single quotes: FROM 'data/x.parquet'", "/x.parquet"},
		{"select a from flights-2001.parquet f", "a file is written in single quotes: FROM 'flights-2001.parquet'", "2001.parquet f"},
		{"select a from *.parquet where b", "a file is written in single quotes: FROM '*.parquet'", "*.parquet where b"},
		{"select a from my-flights", "single quotes: FROM 'my-flights', a table of that name in double quotes: FROM \"my-flights\"", "-flights"},
		{"select top 5 a from t", "syntax error: the first rows are asked for by LIMIT 5 at the end", "5 a from t"},
		{"select a from t group by all limt 3", "syntax error: 3 is not expected here; did you mean LIMIT by limt?", "3"},
		{"select a from in.csv", "a file is written in single quotes: FROM 'in.csv'", "in.csv"},
		{"select order from t", "a column of that name is written \"order\"", "order from t"},
		{"select a, group, b from t", "a column of that name is written \"group\"", "group, b from t"},
		{"select a from ./x.parquet where b", "a file is written in single quotes: FROM './x.parquet'", "./x.parquet where b"},
		{"select a from t where b = ./2", "syntax error", "./2"},
		{"select a, order from t", "order is a word of SQL", "order from t"},
		{"insert into t values (1)", "not supported: INSERT; a table's rows are made once: CREATE OR REPLACE TABLE t AS SELECT ... UNION ALL BY NAME SELECT ... has more rows", "insert into t values (1)"},
		{"select 1; drop table t", "more than one statement", " drop table t"},
		{"select a from t join u using (a) as j", "join using alias of JoinExpr", "t join u using (a) as j"},
		{"select a from t" + strings.Repeat(", t", 100), "more than 100 tables", "t"},
		{"select a from t" + strings.Repeat(" join u on a", 101), "more than 100 joins", "join u on a"},
		{"select a from range()", "range takes 1 to 3 arguments, not 0", "range()"},
		{"select a from t, unnest(a, b) x", "no table function is named unnest", "unnest(a, b) x"},
		{"select a from t union select b from u limit 1 union select 3", "syntax error: union", "union select 3"},
		{"select sum(a order by b) over (order by c) from t", "not supported: ORDER BY in sum", "sum(a order by b) over (order by c) from t"},
		{"select upper(a) over () from t", "no window function", "upper(a) over () from t"},
		{"select rank() from t", "OVER (...) stands behind it", "rank() from t"},
		{"select sum(a ignore nulls) from t", "IGNORE NULLS stands in window functions alone", "sum(a ignore nulls) from t"},
		{"select sum(a ignore nulls) over () from t", "IGNORE NULLS in sum", "sum(a ignore nulls) over () from t"},
		{"select sum(a) over w from t window v as ()", "no window is named w", "w from t window v as ()"},
		{"select lag(a, 1, 2, 3) over () from t", "takes 1 to 3 arguments, not 4", "lag(a, 1, 2, 3) over () from t"},
		{"select sum(a) over (w partition by b) from t window w as ()", "PARTITION BY stands in window w", "(w partition by b) from t window w as ()"},
		{"select * exclude () from t", "syntax error behind *", ""},
		{"select * replace (1) from t", "REPLACE wants expressions with names", "1) from t"},
		{"from t select a union all by name from u where", "syntax error", ""},
		{"select a from t for update", "not supported: FOR", "for update"},
		{"select a from t where b @@ any (select c from u)", "operator @@ before ANY", "@@ any (select c from u)"},
		{"select cast(a as interger) from t", "no type is named interger; did you mean integer", "interger) from t"},
		{"select a::int[3][] from t", "lists of a fixed size", "int[3][] from t"},
		{"select sum(*) from t", "only count has it", "sum(*) from t"},
		{"select a @@ b from t", "operator @@", "@@ b from t"},
		{"select lower(distinct a) from t", "lower is no aggregate function", "lower(distinct a) from t"},
		{"select sum(u.*) from t", "* here; name the columns", "u.*) from t"},
		{"with a as (select 1), A as (select 2) select * from a", "WITH has two statements of the name a", "A as (select 2) select * from a"},
		{"select (a + 1).* from t", "* here; name the columns", "+ 1).* from t"},
		{"select a from read_avro('x')", "no table function is named read_avro", "read_avro('x')"},
		{"select a from read_csv(x)", "the first argument", "read_csv(x)"},
		{"select 'open from t", "unterminated", "'open from t"},
		{"with recursive r as (select 1 union select * from r limit 3) select * from r", "LIMIT behind the UNION", "union select * from r limit 3) select * from r"},
		{"with recursive r as (select 1 union all select * from r order by 1) select 1", "ORDER BY behind the UNION", "union all select * from r order by 1) select 1"},
		{"with recursive r as (select 1 union all select * from r offset 1) select 1", "OFFSET behind the UNION", "union all select * from r offset 1) select 1"},
		{"select a from t limit 3 with ties", "syntax error", "with ties"},
		{"values (1), (2, 3)", "VALUES: row 2 has 2 values", "2, 3)"},
		{"select a\x00 from t", "zero byte", "\x00 from t"},
	} {
		_, err := Parse(c.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v, want an *Error", c.text, err)
			continue
		}
		if !strings.Contains(e.Message, c.message) || e.Text[e.Offset:] != c.place {
			t.Errorf("%q: got %q at %q, want %q at %q", c.text, e.Message, e.Text[e.Offset:], c.message, c.place)
		}
	}
}

// Text without bounds ends in an error, or an answer, and soon.
func TestParseHugeStatement(t *testing.T) {
	const n = 10_000
	for name, text := range map[string]string{
		"parentheses": "select " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n), "open": "select " + strings.Repeat("(", n),
		"not": "select " + strings.Repeat("not ", n) + "a", "signs": "select " + strings.Repeat("- ", n) + "a",
		"sums": "select a" + strings.Repeat(" + a", n), "casts": "select a" + strings.Repeat("::int", n),
		"case": "select " + strings.Repeat("case when a then ", n) + "b" + strings.Repeat(" end", n), "calls": "select " + strings.Repeat("f(", n) + "a" + strings.Repeat(")", n),
		"queries": strings.Repeat("select * from (", n) + "select 1" + strings.Repeat(")", n), "unions": "select 1" + strings.Repeat(" union select 1", n),
		"joins": "select 1 from a" + strings.Repeat(" join a on b", n), "brackets": "select a" + strings.Repeat("[1", n),
		"in of in": "select " + strings.Repeat("a in (", n) + "1" + strings.Repeat(")", n), "1 MB": "select '" + strings.Repeat("x", 1<<20) + "'",
		"1 MB of items": "select " + strings.Repeat("a,", 1<<19) + "a", "1 MB of names": "select " + strings.Repeat("x", 1<<20),
		"semicolons": strings.Repeat(";", n), "quotes": strings.Repeat("'", n+1), "withs": strings.Repeat("with a as (", n),
	} {
		start := time.Now()
		_, err := Parse(text)
		if err == nil {
			t.Errorf("%s: got no error", name)
		} else if len(err.Error()) > 500 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
	for name, text := range map[string]string{
		"a thousand conditions": "select a from t where a = 1" + strings.Repeat(" or a = 1", 1000),
		"a list":                "select a from t where a in (1" + strings.Repeat(", 1", n) + ")",
		"items":                 "select a" + strings.Repeat(", sum(b) + 1", 2000) + " from t group by all",
		"nested":                "select " + strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300),
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No statement crashes the parser, and an error's place is in the text.
func FuzzParseStatement(f *testing.F) {
	for _, text := range []string{
		"select a, sum(b) filter (where c > 1) as d from 'x.parquet' where e like 'f%' group by all having d > 1 order by 1 limit 2",
		"with x as (select 1) select try_cast(a as decimal(4,2)) // 2, interval 3 days from x group by rollup(a, b)",
		"select 'ä' from read_csv('x', delim=';') where a in (1, 2) and b between 1 and 2", "select interval '1' from", "group by all", "from 'x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse(text)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) || e.Error() == "") {
			t.Errorf("%q: %#v", text, err)
		}
	})
}

// A list of expressions has nothing beside it.
func TestParseItems(t *testing.T) {
	long := strings.Repeat("Xy", 100) // PostgreSQL cuts names at 63 bytes
	for _, c := range []struct{ text, want string }{
		{"origin, destination as dest", "select origin, destination as dest"},
		{" Origin  ToPort,\n\tB", "select Origin as ToPort, B"},
		{`"a.b", "two words" as "say ""hi"""`, `select a.b, two words as say "hi"`},
		{"date, year as Month, name, type, first", "select date, year as Month, name, type, first"},
		{long + " as " + long + "2", "select " + long + " as " + long + "2"},
		{`U&"\00e9t\00e9"`, "select été"},
		{"(a), ((B)) as c -- the end", "select a, B as c"},
		{"COUNT(*) n, Count(DISTINCT Delay) as D", "select count(*) as n, count(distinct Delay) as D"},
	} {
		got, err := ParseItems(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if shown(got) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.text, shown(got), c.want)
		}
	}
	for _, text := range []string{"", "a from t", "a where b", "a group by b", "a order by b", "a limit 3", "distinct a", "a union select b", "a; drop table b", "a b c"} {
		var e *Error
		if _, err := ParseItems(text); !errors.As(err, &e) {
			t.Errorf("%q: got %v, want an *Error", text, err)
		}
	}
}

// The clauses of a statement as texts of their own: places are those of the whole.
func TestCompose(t *testing.T) {
	limit := int64(3)
	s, err := Compose("t", Clauses{By: []string{"a, b as c"}, Agg: []string{"sum(d)", "count(*) as n"}, Where: "e > 1", Having: "n > 2", OrderBy: "c desc", Limit: &limit})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown(s), "select a, b as c, sum(d), count(*) as n from t where (e > 1) group a group b having (n > 2) order c desc limit 3"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if at := s.Where.Args[0].At; s.Text[at:at+5] != "e > 1" {
		t.Errorf("WHERE is at %q", s.Text[at:])
	}
	for clause, c := range map[string]Clauses{"by": {By: []string{"a", "b c d"}}, "agg": {Agg: []string{"sum(("}}, "where": {Where: "a) or (b"}, "having": {Having: "a limit 1"}, "order-by": {OrderBy: "a limit 1"}} {
		_, err := Compose("t", c)
		var e *ClauseError
		if !errors.As(err, &e) || e.Clause != clause {
			t.Errorf("%s: got %v", clause, err)
		}
	}
}

// Would catch state that the C parser shares between threads.
func TestParseConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 100 {
				column := fmt.Sprintf("Col%d_%d", i, j)
				if got, err := ParseItems(column); err != nil || got.Items[0].Expr.Name != column {
					t.Errorf("got %+v, %v, want %s", got, err, column)
				}
				if _, err := Parse("select a b c"); err == nil {
					t.Error("got no error for a b c")
				}
			}
		})
	}
	group.Wait()
}
