//go:build cgo

package sql

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mpga/mpga/internal/expr"
)

// grammar has every form of the grammar that is read.
var grammar = []string{
	"SELECT DISTINCT a AS x, t.b, (c).d, e['f'], * FROM t AS u WHERE NOT a = 1 AND (b > 1.5 OR c IS NULL) LIMIT 3 OFFSET 4",
	"SELECT 'x' || s, -a, a // 2, a % 3, a ^ 2, a & 1, TRY_CAST(a AS INTEGER), a::DECIMAL(10, 2), true, NULL FROM 'x.parquet'",
	"SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN b THEN 1 END, coalesce(a, b), greatest(a, b), least(a, b), nullif(a, b) FROM t",
	"SELECT a IN (1, 2), a NOT IN (3), a BETWEEN 1 AND 2, a NOT BETWEEN 1 AND 2, a LIKE 'x%' ESCAPE '$', a NOT LIKE 'y', a ILIKE 'z', a NOT ILIKE 'z' FROM t",
	"SELECT current_date, now(), 'abc'[2], a[b:], upper(c)[:-1], INTERVAL (a + 1) DAYS FROM t ORDER BY (a)[1]",
	"SELECT d GLOB 'x*', d NOT GLOB 'y', ~a, @ b, count(DISTINCT (a, b)) FROM t",
	"SELECT a IS TRUE, a IS NOT TRUE, a IS FALSE, a IS UNKNOWN, a IS NOT NULL, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b, a ~ 'x', a !~* 'y' FROM t",
	"SELECT INTERVAL '3 days', INTERVAL 2 MONTHS, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', extract(year FROM d), trim(both 'x' FROM s) FROM t",
	"SELECT substring(s FROM 2 FOR 3), position('a' IN s), strptime(s, ['%Y', '%d']), $1 + $2 FROM t",
	"SELECT count(*), sum(DISTINCT a) FILTER (WHERE b), string_agg(s, ',' ORDER BY a DESC NULLS FIRST, b), percentile_disc(0.5) WITHIN GROUP (ORDER BY a DESC) FROM t",
	"SELECT a, b, grouping(a, b), grouping_id(a) FROM t GROUP BY ROLLUP (a, (b, c)), CUBE (a, d), GROUPING SETS ((a, b), ()) HAVING sum(a) > 1 ORDER BY a DESC NULLS LAST, 2",
	"SELECT a FROM t GROUP BY ALL ORDER BY ALL DESC",
	"WITH q AS (SELECT a FROM s.t), r AS MATERIALIZED (SELECT a FROM q) SELECT r.a FROM r",
	"SELECT s.a FROM (SELECT a FROM c.m.t) s FETCH FIRST 3 ROWS ONLY",
	"SELECT x, u.e FROM read_csv('x.csv', delim = ';', header := true, columns = {'a': 'INTEGER', b: 'DATE'}, nullstr = ['', 'NA']) AS t, unnest(l) AS u(e)",
	"SELECT a FROM read_parquet(['x', 'y'])",
	"SELECT a FROM range(1, 2 * 5, $1) AS t(a), generate_series(3) QUALIFY row_number() OVER () = 1",
	"SELECT a FROM t NATURAL SEMI JOIN u NATURAL ANTI JOIN v",
	"FROM t QUALIFY row_number() OVER (ORDER BY a) = 1",
	"SELECT a FROM t UNION ALL SELECT b FROM u UNION ALL SELECT c FROM v ORDER BY 1 LIMIT 2",
	"(SELECT a FROM t LIMIT 1) EXCEPT ALL SELECT b FROM u INTERSECT VALUES (1, 'a'), (2, 'b')",
	"FROM t SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d), e QUALIFY row_number() OVER (PARTITION BY a ORDER BY b DESC) = 1",
	"SELECT COLUMNS('^a'), max(COLUMNS(t.* EXCLUDE (b))) AS m, COLUMNS(['a', 'b']) FROM t WHERE COLUMNS(*) > 1 ORDER BY COLUMNS('a')",
	"SELECT * FROM t AS x UNPIVOT INCLUDE NULLS (v FOR n IN (a AS b, c)) AS p, (UNPIVOT 'x' ON * EXCLUDE (a), COLUMNS('b') INTO NAME n VALUE v) u",
	"PIVOT t ON a, b + 1 USING sum(c)",
	"PIVOT (FROM t) ON a IN (1, 'x' AS b), (c + 1) IN (2) USING sum(d) AS e, max(f) + 1 GROUP BY g, h ORDER BY g LIMIT 3",
	"WITH q AS (PIVOT t ON a IN (1)) SELECT s FROM q PIVOT (sum(d) FOR a IN (1, 2) b IN (3) GROUP BY s) AS p QUALIFY rank() OVER () > 1",
	"WITH RECURSIVE q(a) AS (SELECT 1, 2 UNION ALL SELECT a + 1, b FROM q AS r(a, b), t WHERE a < 5), s AS (SELECT 1 UNION SELECT c FROM s) SELECT a FROM q, s",
	"SELECT a FROM t, LATERAL (SELECT b FROM u WHERE c = a LIMIT 2) s LEFT JOIN LATERAL (SELECT a + 1) AS v(d) ON true, LATERAL unnest(l)",
	"SELECT a FROM t LIMIT (10 + 5) % OFFSET 2",
	"SELECT a FROM t AS x TABLESAMPLE bernoulli(10.5%) REPEATABLE (3), (b CROSS JOIN c) TABLESAMPLE 5 ROWS (reservoir, 7)",
	"FROM t SELECT a, b AS c WHERE d QUALIFY rank() OVER () > 1 USING SAMPLE 10 PERCENT (system) ORDER BY a",
	"SELECT DISTINCT ON (a, b) a FROM t ORDER BY c",
	"SELECT a FROM t ASOF LEFT JOIN u USING (k, t) SEMI JOIN v ON v.a = t.a ASOF ANTI JOIN w ON t.b < w.b NATURAL JOIN x",
	"SELECT sum(a) OVER w, lag(b, 2 IGNORE NULLS) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t WINDOW w AS (PARTITION BY c ORDER BY d)",
	"SELECT COLUMNS(lambda c: c > 'a'), * LIKE 'a%', greatest(*COLUMNS('a'), 1), FROM (DESCRIBE t), (SUMMARIZE FROM u), (SHOW TABLES) GROUP BY a,",
	"SELECT j.a FROM (t JOIN u USING (a)) AS j(b) WHERE (a, b) IN ((1, 2), (3, 4)) AND a = ANY([1, 2]) AND b SIMILAR TO 'x' AND c <> ALL([d, 3])",
	"SELECT sum(a) OVER v FROM t WINDOW w AS (PARTITION BY a), v AS (w ORDER BY b ROWS 2 PRECEDING) LIMIT (SELECT 1) OFFSET (SELECT 2)",
	"SELECT unnest([a, 2]) AS e, b FROM t, unnest([1, 2]) AS u(c), (VALUES (a, (SELECT 1))) v",
	"SELECT sum(a) FILTER (b) OVER (ORDER BY c RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND 2 FOLLOWING), first(a) OVER (ORDER BY b GROUPS UNBOUNDED PRECEDING) FROM t",
}

// sameFields may change and leave a statement as it is, by the end of their path.
var sameFields = []struct{ path, why string }{
	{".column_ref.fields.string.sval", "letters are read from the text (L1)"},
	{".range_var.relname", "letters are read from the text (L1)"},
	{".range_var.schemaname", "letters are read from the text (L1)"},
	{".range_var.catalogname", "letters are read from the text (L1)"},
	{".type_name.names.string.sval", "letters are read from the text (L1)"},
	{".a_const.isnull", "beside a value the parser never sets it"},
	{".limit_option", "LIMIT, FETCH and neither of them"},
	{".with_clause", "without a CTE"},
	{".alias", "without a name"},
	{".func_call.funcname.string.sval", "pg_catalog, in front of the functions of SQL's own syntax"},
	{".a_expr.name.string.sval", "the sign follows from the kind"},
	{".a_expr.kind", "the kind follows from the sign"},
	{".func_call.funcformat", "SQL's own syntax beside a plain call"},
	{".func_call.agg_star", "count() is count(*)"},
	{".sort_by.sortby_dir", "ASC is the default, and USING has an operator beside it"},
	{".sort_by.sortby_nulls", "NULLS LAST is the default"},
	{".group_clause.a_const.ival.ival", "the parser is given 0 for ALL"},
	{".lateral", "a statement and unnest may read what stands before them without the word, too"},
	{".with_clause.recursive", "no statement reads itself"},
	{".ctematerialized", "a CTE is read once"},
	{".window_clause", "no function names the window"},
	{".functions.list.items", "behind the call stand definitions of columns, which nobody takes"},
}

// Would catch a field of the parser's tree that is set and ignored, as an order within a call was: of
// statements of the whole grammar each field of each message is changed, set or cleared in turn. The
// statement that is read is then another, or refused.
func TestNothingIsIgnored(t *testing.T) {
	for _, text := range grammar {
		s, err := newScript(text, "")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		tree, err := s.parse(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want, err := readTree(t.Context(), s, tree)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		eachChange(tree.ProtoReflect(), "", func(path, what string) {
			same := slices.ContainsFunc(sameFields, func(f struct{ path, why string }) bool { return strings.HasSuffix(path, f.path) })
			if got, err := readTree(t.Context(), s, tree); err == nil && reflect.DeepEqual(got, want) && !same {
				t.Errorf("%s\n%s %s: the statement is read as before", text, path, what)
			}
		})
		if got, err := readTree(t.Context(), s, tree); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: changes are left: %v", text, err)
		}
	}
}

// copies has every form of COPY that is read.
var copies = []string{
	"COPY (SELECT a FROM t) TO 'x.csv' WITH (FORMAT csv, HEADER, DELIM '|', PARTITION_BY (a, \"B\"), COMPRESSION_LEVEL 3, RATIO 1.5, ON true)",
	"COPY s.t (a, b) TO 'x.parquet'",
	"COPY t TO 'x' CSV HEADER DELIMITER '|'",
}

// Would catch a field of COPY in the parser's tree that is set and ignored, as TestNothingIsIgnored does.
func TestNothingOfCopyIsIgnored(t *testing.T) {
	spelled := []string{".relname", ".schemaname", ".catalogname", ".attlist.string.sval", ".arg.list.items.string.sval"} // L1
	for _, text := range copies {
		s, err := newScript(text, "")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		tree, err := pg.Parse(s.parsed)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		of := tree.GetStmts()[0].GetStmt().GetCopyStmt()
		read := func() (c *Copy, err error) {
			defer func() {
				if failed := recover(); failed != nil {
					err = fmt.Errorf("%v", failed)
				}
			}()
			return s.readCopy(of, 0)
		}
		want, err := read()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		eachChange(of.ProtoReflect(), "", func(path, what string) {
			same := slices.ContainsFunc(spelled, func(end string) bool { return strings.HasSuffix(path, end) }) ||
				slices.ContainsFunc(sameFields, func(f struct{ path, why string }) bool { return strings.HasSuffix(path, f.path) })
			if got, err := read(); err == nil && reflect.DeepEqual(got, want) && !same {
				t.Errorf("%s\n%s %s: the statement is read as before", text, path, what)
			}
		})
	}
	for _, text := range []string{
		"COPY t FROM 'x'", "COPY FROM DATABASE a TO b", "COPY t TO PROGRAM 'x'", "COPY t TO STDOUT", "COPY t", "COPY (DELETE FROM t) TO 'x'",
		"COPY t TO 'x' (A, A)", "COPY t TO 'x' (A *)", "COPY t TO 'x'; SELECT 1", "COPY ?", "COPY t WHERE a TO 'x'",
	} {
		if c, err := ParseCopy(text); err == nil {
			t.Errorf("%s is read as %+v", text, c)
		}
	}
	if _, err := Parse("COPY t TO 'x'"); err == nil || !strings.Contains(err.Error(), "COPY writes files") {
		t.Errorf("COPY read as a statement with rows: %v", err)
	}
}

// Would catch a clause that the parser accepts, that no Select holds, and that is dropped.
func TestClausesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT count(*) FROM t GROUP BY DISTINCT ROLLUP (a, a)": "GROUP BY DISTINCT",
		"SELECT a FROM ONLY t":                                         "ONLY",
		"SELECT a FROM t TABLESAMPLE BERNOULLI (10)":                   "a bernoulli sample is a share",
		"SELECT COLUMNS(* REPLACE (a AS b)) FROM t":                    "REPLACE in COLUMNS",
		"SELECT COLUMNS(c -> c > 'a') FROM t":                          "this COLUMNS",
		"SELECT COLUMNS(a) FROM t":                                     "this COLUMNS",
		"SELECT COLUMNS('a', 'b') FROM t":                              "one argument, not 2",
		"SELECT COLUMNS(DISTINCT 'a') FROM t":                          "DISTINCT in this call",
		"SELECT COLUMNS('a') OVER () FROM t":                           "OVER",
		"SELECT count(t.* EXCLUDE (a)) FROM t":                         "",
		"PIVOT t ON a IN (FROM u) USING sum(b)":                        "this behind IN",
		"PIVOT t ON a % 2 IN (1) USING sum(b)":                         "in parentheses before IN",
		"PIVOT t ON a IN (1) b USING sum(b)":                           "want a comma behind IN",
		"PIVOT t ON a IN (1) USING sum(b) GROUP BY c HAVING d":         "GROUP BY of PIVOT takes names",
		"PIVOT t ON a IN (1) USING sum(b) GROUP BY ROLLUP (c)":         "GROUP BY of PIVOT takes names",
		"PIVOT t WHERE c ON a IN (1) USING sum(b)":                     "PIVOT of this",
		"PIVOT t TABLESAMPLE 3 ON a IN (1) USING sum(b)":               "PIVOT of this",
		"PIVOT t JOIN u ON a ON a IN (1) USING sum(b)":                 "in parentheses before IN",
		"PIVOT t ON a IN () USING sum(b)":                              "PIVOT wants expressions here",
		"SELECT * FROM t PIVOT (sum(a) FOR b IN ANY)":                  "write b IN (value, ...)",
		"UNPIVOT t ON a INTO NAME n":                                   "this INTO",
		"UNPIVOT t ON a INTO NAME n VALUE v, w":                        "this INTO",
		"UNPIVOT t ON a WHERE b":                                       "syntax error",
		"UNPIVOT INCLUDE NULLS t ON a":                                 "syntax error",
		"SELECT * FROM t UNPIVOT ((v, w) FOR n IN ((a, b)))":           "this UNPIVOT",
		"SELECT a FROM t TABLESAMPLE (101%)":                           "want 0% to 100%",
		"SELECT a FROM t TABLESAMPLE first(3)":                         "no sample is named first",
		"SELECT a FROM t TABLESAMPLE 3 AS u":                           "alias of JoinExpr",
		"SELECT a FROM t USING SAMPLE 1 + 1":                           "want a sample: 10%",
		"SELECT a FROM t USING SAMPLE 10% ROWS":                        "want a sample: 10%",
		"SELECT a FROM t USING SAMPLE 2.5":                             "want a whole number",
		"SELECT a FROM t USING SAMPLE 2 REPEATABLE (7)":                "want a sample: 10%",
		"SELECT a FROM t USING SAMPLE 2 (reservoir, -1)":               "want a sample: 10%",
		"SELECT a FROM t USING SAMPLE ?":                               "want a sample: 10%",
		"SELECT a FROM t ORDER BY a USING SAMPLE 3":                    "before ORDER BY and LIMIT",
		"SELECT a FROM t USING SAMPLE 3 WHERE a":                       "stands behind WHERE",
		"SELECT a FROM t ORDER BY a FETCH FIRST 2 ROWS WITH TIES":      "WITH TIES",
		"SELECT a FROM t FOR UPDATE":                                   "FOR",
		"SELECT a FROM t ORDER BY a USING <":                           "USING in ORDER BY",
		"SELECT count(*) WITHIN GROUP (ORDER BY a) FROM t":             "count with WITHIN GROUP",
		"SELECT a COLLATE \"C\" FROM t":                                "COLLATE",
		"SELECT sum(a) OVER (w) FROM t":                                "no window is named w",
		"SELECT sum(a) FROM t WINDOW w AS (), w AS ()":                 "two windows have the name",
		"SELECT sum(a) FROM t WINDOW w AS (v)":                         "no window before w is named v",
		"SELECT sum(a) FROM t WINDOW w AS (), v AS (w PARTITION BY a)": "stands in window w alone",
		"SELECT a, FROM (DESCRIBE t, u)":                               "",
		"SELECT a FROM t WHERE (a, b) IN ((1, 2), (3, 4, 5))":          "want lists of 2 values",
		"SELECT a FROM t WHERE a + ANY(b)":                             "operator + before ANY and ALL",
		"SELECT lag(a) FILTER (WHERE true) OVER () FROM t":             "FILTER behind lag",
		"SELECT lag(DISTINCT a) OVER () FROM t":                        "DISTINCT in this call",
		"SELECT upper(DISTINCT a) FROM t":                              "no aggregate function",
		"SELECT upper(a) FILTER (WHERE true) FROM t":                   "no aggregate function",
		"SELECT upper(a ORDER BY a) FROM t":                            "no aggregate function",
		"SELECT upper(VARIADIC a) FROM t":                              "VARIADIC",
		"SELECT sum(VARIADIC a) FROM t":                                "VARIADIC",
		"SELECT main.upper(a) FROM t":                                  "name in parts",
		"SELECT a OPERATOR(pg_catalog.+) 1 FROM t":                     "name in parts",
		"SELECT CAST(a AS x.integer) FROM t":                           "name in parts",
		"SELECT CAST(a AS SETOF integer) FROM t":                       "SETOF",
		"SELECT CAST(a AS integer[3][]) FROM t":                        "lists of a fixed size",
		"SELECT INTERVAL(3) '1 second'":                                "takes no parameters",
		"SELECT a FROM s.read_csv('x')":                                "name in parts",
		"SELECT a FROM read_csv(DISTINCT 'x')":                         "DISTINCT in this call",
		"SELECT a FROM read_csv('x' ORDER BY 1)":                       "ORDER BY in this call",
		"SELECT a FROM read_csv('x') WITH ORDINALITY":                  "WITH ORDINALITY",
		"SELECT a FROM ROWS FROM (read_csv('x'))":                      "ROWS FROM",
		"SELECT a FROM read_csv('x') AS t(a integer)":                  "definitions of columns",
		"SELECT a FROM t, unnest(l) AS u(a, b)":                        "unnest, which has one",
		"SELECT a FROM t GROUP BY GROUPING SETS (ROW(a, b))":           "ROW",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", text, err, want)
		}
	}
}

// Would catch a clause of aggregates that stands in a call of another function and is dropped.
func TestClausesOfFunctions(t *testing.T) {
	tried := 0
	for _, f := range expr.Functions() {
		for _, name := range append(f.Aliases, f.Name) {
			if name[0] < 'a' || name[0] > 'z' || strings.Contains(name, " ") || strings.Contains(name, "_") && f.Name == "case" {
				continue
			}
			for _, call := range []string{"%s(DISTINCT a)", "%s(a ORDER BY a)", "%s(a) FILTER (WHERE b)", "%s(a) OVER ()", "%s(a) WITHIN GROUP (ORDER BY a)", "%s(VARIADIC a)", "main.%s(a)"} {
				text := "SELECT " + fmt.Sprintf(call, name) + " FROM t"
				if read, err := Parse(text); err == nil {
					t.Errorf("%s is read as %s", text, shown(read))
				}
				tried++
			}
		}
	}
	if tried < 500 {
		t.Errorf("%d calls", tried)
	}
}

// Would catch a schema in front of a dropped table that is ignored, and a name that is read in another case.
func TestParseDrop(t *testing.T) {
	for text, want := range map[string]Drop{
		"DROP TABLE x":                        {Table: "x", In: []string{}},
		"drop table if exists Mine":           {Table: "Mine", In: []string{}, IfExists: true},
		"DROP TABLE c.\"S\".\"My x\" CASCADE": {Table: "My x", In: []string{"c", "S"}},
		"DROP VIEW IF EXISTS s.View":          {Table: "View", In: []string{"s"}, View: true, IfExists: true},
	} {
		if got, err := ParseDrop(text); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"DROP TABLE x, y", "DROP VIEW x, y", "DROP TABLE", "DROP INDEX CONCURRENTLY x"} {
		if _, err := ParseDrop(text); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// Every word in front of AS is read, and nothing is passed over.
func TestParseCreate(t *testing.T) {
	for text, want := range map[string]Create{
		"CREATE TABLE x AS SELECT 1":                     {Name: "x", At: 13},
		"-- a\ncreate or replace temp view if AS FROM t": {Name: "if", At: 33, Replace: true, Temp: true, View: true},
		`CREATE TEMPORARY TABLE IF NOT EXISTS c."S"."My x" (a, "B c") AS (SELECT 1, 2)`: {
			Name: "My x", In: []string{"c", "S"}, At: 37, Temp: true, IfNotExists: true, Columns: []string{"a", "B c"}},
		"CREATE TABLE x AS DESCRIBE t;":                   {Name: "x", At: 13},
		"CREATE TABLE x AS WITH q AS (VALUES (1)) FROM q": {Name: "x", At: 13},
	} {
		got, err := ParseCreate(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.Query == nil || got.Query.Text != text {
			t.Errorf("%s: the statement is %+v", text, got.Query)
		}
		got.Query = nil
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", text, *got, want)
		}
	}
	for text, want := range map[string]string{
		"CREATE TABLE": "wants a name", "CREATE TABLE x": "wants AS", "CREATE TABLE x AS": "AS of what",
		"CREATE TABLE AS SELECT 1": "wants a name", "CREATE TABLE 'x' AS SELECT 1": "wants a name",
		"CREATE TABLE x (a INTEGER)": "types and constraints", "CREATE TABLE x () AS SELECT 1": "wants a name",
		"CREATE OR REPLACE TABLE IF NOT EXISTS x AS SELECT 1": "one statement", "CREATE INDEX x ON t(a)": "CREATE of this",
		"CREATE TABLE x AS SELECT 1; SELECT 2": "more than one statement", "CREATE VIEW x AS SELECT ?": "no parameters",
		"CREATE TABLE x AS EXPLAIN SELECT 1": "EXPLAIN", "CREATE TABLE x AS CREATE TABLE y AS SELECT 1": "not supported: CREATE",
		"CREATE VIEW x AS SELECT 1 WITH NO DATA": "CREATE TABLE alone", "CREATE TABLE select AS SELECT 1": "select is a word of SQL",
		"CREATE TABLE x (a, b, A) AS SELECT 1, 2, 3": "two columns have the name A", "CREATE UNLOGGED TABLE x AS SELECT 1": "CREATE of this",
		"CREATE TABLE x. AS SELECT 1": "wants a name", "CREATE TABLE \"\" AS SELECT 1": "wants a name", "CREATE TABLE \"x": "",
	} {
		_, err := ParseCreate(t.Context(), text)
		var at *Error
		if !errors.As(err, &at) || !strings.Contains(at.Message, want) || at.Text != text {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// readTree reads a tree, which may be one that no text has.
func readTree(ctx context.Context, s *script, tree *pg.SelectStmt) (read *Select, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("%v", failed)
		}
	}()
	p := &statements{ctx: ctx, script: s, taken: map[proto.Message]bool{}}
	read = p.statement(tree, nil)
	p.checkTaken(tree)
	return read, nil
}

// eachChange changes each field of a message and of the messages within, calls a function, and changes
// the field back.
func eachChange(m protoreflect.Message, path string, changed func(path, what string)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		here := path + "." + string(f.Name())
		if isPlace(f) {
			continue
		}
		try := func(v protoreflect.Value, how string) {
			before, had := m.Get(f), m.Has(f)
			if f.IsList() {
				before = cloneList(m, f, before.List().Len())
			}
			m.Set(f, v)
			changed(here, how)
			if m.Clear(f); had {
				m.Set(f, before)
			}
		}
		switch {
		case m.Descriptor().Name() == "Node", f.IsMap():
		case f.IsList():
			if n := m.Get(f).List().Len(); n > 0 {
				try(cloneList(m, f, n-1), "without its last element")
			}
			if f.Message() != nil && f.FullName() != "pg_query.A_Indirection.indirection" {
				longer := cloneList(m, f, m.Get(f).List().Len())
				node := &pg.Node{Node: &pg.Node_String_{String_: &pg.String{Sval: "more"}}}
				longer.List().Append(protoreflect.ValueOfMessage(node.ProtoReflect()))
				try(longer, "with a further element")
			}
		case f.Message() != nil && m.Has(f) && f.ContainingOneof() == nil:
			before := m.Get(f)
			m.Clear(f)
			changed(here, "cleared")
			m.Set(f, before)
		case f.Message() != nil && f.ContainingOneof() == nil:
			try(m.NewField(f), "set")
		case f.Kind() == protoreflect.BoolKind && f.ContainingOneof() == nil:
			try(protoreflect.ValueOfBool(!m.Get(f).Bool()), "the other")
		case f.Kind() == protoreflect.EnumKind:
			for v := range f.Enum().Values().Len() {
				if n := f.Enum().Values().Get(v).Number(); n != 0 && n != m.Get(f).Enum() {
					try(protoreflect.ValueOfEnum(n), "as "+string(f.Enum().Values().Get(v).Name()))
				}
			}
		case f.Kind() == protoreflect.StringKind:
			try(protoreflect.ValueOfString("q"+m.Get(f).String()), "with a further letter")
		case f.Kind() == protoreflect.Int32Kind:
			try(protoreflect.ValueOfInt32(int32(m.Get(f).Int())+1), "greater")
		case f.Kind() == protoreflect.Uint32Kind:
			try(protoreflect.ValueOfUint32(uint32(m.Get(f).Uint())+1), "greater")
		}
		switch {
		case f.Message() == nil || !m.Has(f):
		case f.IsList():
			for j := range m.Get(f).List().Len() {
				eachChange(m.Get(f).List().Get(j).Message(), here, changed)
			}
		default:
			eachChange(m.Get(f).Message(), here, changed)
		}
	}
}

func cloneList(m protoreflect.Message, f protoreflect.FieldDescriptor, n int) protoreflect.Value {
	list := m.NewField(f)
	for i := range n {
		list.List().Append(m.Get(f).List().Get(i))
	}
	return list
}
