package tests

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/tests/peer"
)

var (
	sqlQueriesFlag = flag.Int("sqlqueries", 150, "how many random statements are asked")
	sqlDeviceFlag  = flag.String("sqldevice", "", "the device that mpga answers statements on, as host:64MiB, cuda or auto")
)

// Random statements of the supported grammar answer as DuckDB's. -seed, -first and -sqlqueries ask
// others and more; a failure tells how to ask its statement alone.
func TestSQLRandom(t *testing.T) {
	seed, first, failures := *seedFlag, *firstFlag, 0
	fmt.Printf("again: go test -run '^%s$' -seed=%d -first=%d -sqlqueries=%d\n", t.Name(), seed, first, *sqlQueriesFlag)
	s := openSQL(t)
	s.add(t, "t", mixedTable)
	// Of row groups that conditions on dt leave out.
	s.addGroups(t, "u", "SELECT t.* REPLACE (id + 3000 * k AS id) FROM t, range(4) r(k) ORDER BY dt, id", 2048)
	s.addLayouts(t)
	answered := 0
	for i := first; i < first+*sqlQueriesFlag; i++ {
		g := &sqlGenerator{rand.New(rand.NewPCG(seed, uint64(i)))}
		text := g.statement()
		s.without = g.rulesOff()
		want, err := s.theirs(text)
		if s.python != nil && err != nil && !errors.As(err, new(*peer.EngineError)) {
			t.Fatalf("%s\n%v", text, err)
		}
		if err != nil {
			continue // an overflow, which depends on the rows that an expression is evaluated for
		}
		answered++
		mistake, err := s.holdTo(text, want)
		if verb := []string{"EXPLAIN ", "EXPLAIN ANALYZE "}[i%2]; err == nil && mistake == nil && i%8 < 2 {
			_, err = s.ours(verb + text)
		}
		if mistake != nil {
			t.Logf("%s\nDuckDB answers so with its optimizer, and as mpga does without: %v", text, mistake)
		}
		if err != nil {
			t.Errorf("%s\nwithout %q: %v\nagain: go test -run TestSQLRandom -seed=%d -first=%d -sqlqueries=1", text, s.without, err, seed, i)
			const failuresMax = 20
			if failures++; testing.Short() || failures == failuresMax {
				t.FailNow()
			}
		}
	}
	t.Logf("%d of %d statements have an answer", answered, *sqlQueriesFlag)
	if answered < *sqlQueriesFlag/3 && *sqlQueriesFlag >= 20 {
		t.Errorf("%d of %d statements have an answer: the generator makes too many errors", answered, *sqlQueriesFlag)
	}
}

// randomTables are the tables of random statements: mixedTable, four times as many rows in small row groups, and
// mixedTable in other files, as addLayouts says.
var randomTables = []string{"t", "t", "u", "folders", "mixed", "texts"}

// addLayouts makes tables of the rows of t that mpga reads from other files than DuckDB does: from folders that give
// the column ti, from files of Parquet and Arrow together, and from packed CSV.
func (s *sqlTables) addLayouts(t *testing.T) {
	t.Helper()
	folders := filepath.Join(s.dir, "folders")
	s.exec(t, "COPY (SELECT * REPLACE (ti % 3 AS ti) FROM t) TO '"+folders+"' (FORMAT parquet, PARTITION_BY (ti))")
	s.add(t, "folders", "SELECT * FROM read_parquet('"+folders+"/*/*.parquet', hive_partitioning = true)")
	s.tables["folders"] = plan.Table{Files: []string{folders}}

	whole := s.tables["t"]
	var mixed []string
	for i, where := range []string{"id < 900", "id BETWEEN 900 AND 2100", "id > 2100"} {
		file := filepath.Join(s.dir, fmt.Sprintf("mixed%d.%s", i, []string{"parquet", "arrow", "arrows"}[i]))
		s.copyTo(t, "SELECT * FROM t WHERE "+where+" ORDER BY id", file, sink.Options{RowGroupRows: 200})
		mixed = append(mixed, file)
	}
	s.add(t, "mixed", "FROM t")
	s.tables["mixed"] = plan.Table{Files: mixed}

	file := filepath.Join(s.dir, "texts.csv.gz")
	s.copyTo(t, "SELECT * FROM t ORDER BY id", file, sink.Options{})
	types := map[string]arrow.DataType{}
	for _, f := range openFiles(t, dataset.Options{}, whole.Files[0]).Schema().Fields() {
		types[f.Name] = f.Type
	}
	s.add(t, "texts", "FROM t")
	s.tables["texts"] = plan.Table{Files: []string{file}, Scan: &dataset.Options{CSV: csv.Options{Types: types}}}
}

// sqlGenerator writes statements over mixedTable.
type sqlGenerator struct{ *rand.Rand }

// rulesOff returns rules to plan without: none for half of the statements, all for some.
func (g *sqlGenerator) rulesOff() (off []plan.Rule) {
	share := []int{0, 0, 0, 2, 4, 8}[g.IntN(6)]
	for _, rule := range plan.Rules {
		if g.IntN(8) < share {
			off = append(off, rule)
		}
	}
	return off
}

func (g *sqlGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

// number writes an expression that is a number, of integers and decimals that do not overflow, or
// doubles.
func (g *sqlGenerator) number(depth int) string {
	if depth == 0 {
		return g.pick("i", "si", "ti", "p", "q", "d", "f", "id", "1", "2", "-3", "0.5", "10.25", "NULL::INTEGER", g.float())
	}
	a, b := g.number(depth-1), g.number(depth-1)
	switch g.IntN(16) {
	case 0, 1:
		return "(" + a + " + " + b + ")"
	case 2:
		return "(" + a + " - " + b + ")"
	case 3:
		return "(" + a + " * " + g.pick("2", "0.5", "si", "1.25") + ")"
	case 4:
		return "(" + a + " / " + g.pick("3", "7.5", "nullif(ti, 0)") + ")"
	case 5:
		return "abs(" + a + ")"
	case 6:
		return g.choice(depth-1, a, b, g.number(depth-1))
	case 7:
		return "coalesce(" + a + ", " + b + ")"
	case 8:
		return g.pick("greatest", "least") + "(" + a + ", " + b + ")"
	case 9:
		return g.pick("length(", "strlen(", "unicode(", "strpos(n, ") + g.text(depth-1) + ")"
	case 10:
		return g.pick("year", "month", "day", "dayofweek", "quarter") + "(" + g.date(depth-1) + ")"
	case 11:
		return "(i % " + g.pick("3", "7", "nullif(ti, 0)") + ")"
	case 12:
		return "CAST(" + a + " AS DOUBLE)"
	case 13:
		return "TRY_CAST(" + g.text(depth-1) + " AS " + g.pick("INTEGER", "DOUBLE", "DECIMAL(8, 2)") + ")"
	case 14:
		return g.pick("round", "floor", "ceil") + "(" + a + ")"
	}
	return a
}

// float writes a DOUBLE or FLOAT that is made of a decimal or an integer of any number of digits.
func (g *sqlGenerator) float() string {
	digits := make([]byte, 1+g.IntN(38))
	for i := range digits {
		digits[i] = '0' + byte(g.IntN(10))
	}
	point := g.IntN(len(digits) + 1)
	literal := string(digits[:point]) + "." + string(digits[point:])
	if point == len(digits) {
		literal = strings.TrimSuffix(literal, ".") + ".0"[:2*g.IntN(2)]
	}
	from := g.pick("w", "q", "p", "ub", "l", fmt.Sprintf("TRY_CAST(w * q AS DECIMAL(38, %d))", g.IntN(12)), literal, literal, "("+literal+")::VARCHAR")
	return "(" + from + ")::" + g.pick("DOUBLE", "DOUBLE", "FLOAT")
}

// choice writes a CASE of three results of a type: searched, of a value, or within another.
func (g *sqlGenerator) choice(depth int, a, b, c string) string {
	inner := "CASE WHEN " + g.condition(depth) + " THEN " + a + " ELSE " + b + " END"
	switch g.IntN(5) {
	case 0:
		return "CASE WHEN " + g.condition(depth) + " THEN " + inner + " WHEN " + g.condition(0) + " THEN " + c + " END"
	case 1:
		return "CASE si % 3 WHEN 0 THEN " + a + " WHEN 1 THEN " + c + " ELSE " + inner + " END"
	case 2:
		return "CASE WHEN " + g.condition(0) + " THEN " + c + " ELSE " + inner + " END"
	}
	return inner
}

func (g *sqlGenerator) text(depth int) string {
	if depth == 0 {
		return g.pick("s", "n", "s", "'a'", "'Ulm'", "''", "NULL::VARCHAR", "'größe'", "'日本 x'", "'😀ab'")
	}
	a := g.text(depth - 1)
	count := g.pick("0", "1", "2", "3", "5", "-1", "-2", "ti % 4")
	switch g.IntN(17) {
	case 11:
		return g.pick("left(", "right(") + a + ", " + count + ")"
	case 12:
		return g.pick("lpad(", "rpad(") + a + ", " + count + ", " + g.pick("'*'", "'äb'") + ")"
	case 13:
		return "reverse(" + a + ")"
	case 14:
		return "substr(" + a + ", " + count + g.pick(")", ", 2)", ", "+count+")")
	case 15:
		return "regexp_replace(" + a + ", " + g.pick("'[aeiouö]'", "'(.)(.)'", "'^.'") + ", " + g.pick("'_'", "'ö'", `'\0\0'`) + g.pick(")", ", 'g')")
	case 16:
		return g.choice(depth-1, a, g.text(depth-1), "'ß'")
	case 0:
		return "upper(" + a + ")"
	case 1:
		return "lower(" + a + ")"
	case 2:
		return "(" + a + " || " + g.text(depth-1) + ")"
	case 3:
		return "substr(" + a + ", " + g.pick("1", "2", "-1") + ", " + g.pick("1", "3") + ")"
	case 4:
		return "replace(" + a + ", 'a', 'xy')"
	case 5:
		return "split_part(" + a + ", ' ', " + g.pick("1", "2") + ")"
	case 6:
		return "coalesce(" + a + ", '?')"
	case 7:
		return "CASE WHEN " + g.condition(depth-1) + " THEN " + a + " END"
	case 8:
		return "CAST(" + g.pick("i", "p", "b", "dt", "ts", "l", "ti") + " AS VARCHAR)"
	case 9:
		return "strftime(" + g.date(depth-1) + ", '%Y/%m')"
	}
	return "trim(" + a + ")"
}

func (g *sqlGenerator) date(depth int) string {
	if depth == 0 {
		return g.pick("dt", "dt", "ts", "DATE '2001-01-01'") // to a day within a month DuckDB 1.5.5 compares date_trunc wrongly where it is NULL
	}
	switch g.IntN(4) {
	case 0:
		return "date_trunc('" + g.pick("year", "month", "week", "day") + "', " + g.date(depth-1) + ")"
	case 1:
		return "(" + g.pick("dt", "ts", "date_trunc('month', ts)") + " + INTERVAL " + g.pick("1 MONTH", "3 DAYS", "'2 hours'") + ")"
	case 2:
		return "CAST(" + g.date(depth-1) + " AS " + g.pick("DATE", "TIMESTAMP") + ")"
	}
	return g.date(depth - 1)
}

func (g *sqlGenerator) condition(depth int) string {
	if depth == 0 {
		return g.pick("b", "i > 0", "s = 'Ulm'", "d < 0", "i IS NULL", "p BETWEEN -100 AND 500.5", "s LIKE '%a%'", "i IN (1, 5, 9, 30)", "dt < '1990-01-01'",
			"year(dt) "+g.pick("=", "<", "<=", ">", ">=", "<>")+" "+g.pick("1962", "1985", "2050", "2070"), "date_trunc('year', dt) "+g.pick("=", "<", "<=", ">", ">=")+" TIMESTAMP '1985-01-01'",
			"date_trunc('month', dt) "+g.pick("<", "<=", ">", ">=")+" TIMESTAMP '1999-05-01'", "CAST(ts AS DATE) >= DATE '1990-07-01'", "dt BETWEEN DATE '1961-01-01' AND DATE '1961-12-31'", "id < 100", "id IN (5, 2999)")
	}
	compare := g.pick("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")
	switch g.IntN(9) {
	case 0:
		return "(" + g.condition(depth-1) + " AND " + g.condition(depth-1) + ")"
	case 1:
		return "(" + g.condition(depth-1) + " OR " + g.condition(depth-1) + ")"
	case 2:
		return "(NOT " + g.condition(depth-1) + ")"
	case 3:
		return "(" + g.number(depth-1) + " " + compare + " " + g.number(depth-1) + ")"
	case 4:
		return "(" + g.text(depth-1) + " " + compare + " " + g.text(depth-1) + ")"
	case 5:
		return "(" + g.date(depth-1) + " " + compare + " " + g.date(depth-1) + ")"
	case 6:
		return "(" + g.text(depth-1) + g.pick(" LIKE ", " NOT LIKE ", " ILIKE ") + g.pick("'%a%'", "'U%'", "'_l%'", "'%m'") + ")"
	case 7:
		return "(" + g.number(depth-1) + " BETWEEN " + g.number(0) + " AND " + g.number(0) + ")"
	}
	return "(" + g.text(depth-1) + g.pick(" IN ", " NOT IN ") + "('a', 'Ulm', 'aaa'" + g.pick("", ", NULL") + "))"
}

// columns are those of mixedTable that a statement may have anywhere.
var columns = []string{"id", "i", "l", "si", "ti", "ui", "ub", "d", "f", "p", "q", "w", "s", "n", "b", "dt", "ts"}

// key writes an expression to group by.
func (g *sqlGenerator) key() string {
	switch g.IntN(8) {
	case 0, 1, 2:
		return g.pick(columns...)
	case 3:
		return "(i % " + g.pick("3", "10") + ")"
	case 4:
		return g.text(2)
	case 5:
		return g.date(2)
	case 6:
		return g.condition(1)
	}
	return "(ti + si * 2)"
}

// filter writes the rows that an aggregate is of; all of them, most of the time.
func (g *sqlGenerator) filter() string {
	if g.IntN(4) > 0 {
		return ""
	}
	return " FILTER (WHERE " + g.condition(1) + ")"
}

// where writes a condition of WHERE, which may have a subquery.
func (g *sqlGenerator) where(depth int) string {
	text := g.condition(depth)
	switch g.IntN(8) {
	case 0:
		return g.subquery()
	case 1:
		return g.subquery() + " AND " + text
	case 2:
		return "(" + text + " OR " + g.subquery() + ")"
	}
	return text
}

// subquery writes a condition with a subquery, whose columns have names of their own: other names are of the rows
// around it.
func (g *sqlGenerator) subquery() string {
	z := " FROM (SELECT id AS zid, si AS zsi, i AS zi, s AS zs, dt AS zdt, b AS zb FROM " + g.table(g.IntN(2)) + ") z"
	same := g.pick(" WHERE zid = id", " WHERE zsi = si", " WHERE zs = s AND zsi = si", " WHERE zi = i + 1",
		" WHERE zdt = dt AND zb")
	other := g.pick(" WHERE zid < 40 AND zsi < si", " WHERE zid < 30 AND zi <> i", " WHERE zid < 50 AND (zs < s OR zb)",
		" WHERE zid < 60 AND zs IS NOT DISTINCT FROM s")
	alone := g.pick("", " WHERE zid > 1200", " WHERE zi IS NOT NULL AND zs <> 'b'")
	any := g.pick(same, same, other, alone)
	not, compared := g.pick("", "", "NOT "), g.pick("si", "i")+g.pick(" > ", " <= ", " = ", " <> ")
	switch g.IntN(7) {
	case 0:
		return not + "EXISTS (SELECT 1" + z + any + ")"
	case 1:
		if g.IntN(3) == 0 {
			return "si " + not + "IN (SELECT zsi" + z + any + " ORDER BY zid" + g.pick(" LIMIT 2)", " DESC LIMIT 3 OFFSET 1)", " OFFSET 2)")
		}
		return g.pick("i ", "id ", "si ") + not + "IN (SELECT " + g.pick("zi", "zid", "zsi") + z + any + ")"
	case 2:
		return "s " + not + "IN (SELECT zs" + z + any + ")"
	case 3:
		value := g.pick("avg(zsi)", "max(zi)", "count(*)", "count(zs) + 1", "sum(zsi) FILTER (WHERE zb)")
		return compared + "(SELECT " + value + z + any + ")"
	case 4:
		return compared + g.pick("ANY", "ALL") + " (SELECT " + g.pick("zi", "zsi") + z + any + ")"
	case 5:
		counted := g.pick("count(*)", "count(DISTINCT zs)") + z + g.pick(same, other)
		return "(SELECT " + counted + ")" + g.pick(" > 1", " = 0")
	}
	return g.pick("", "NOT ") + "EXISTS (SELECT zsi, count(*)" + z + any + " GROUP BY zsi HAVING count(*) > 3)"
}

// aggregate writes an aggregate, of all values or of each once, of all rows or of some, over any
// columns.
func (g *sqlGenerator) aggregate() string {
	distinct := g.pick("", "", "DISTINCT ")
	switch g.IntN(14) {
	case 0:
		return "count(*)" + g.filter()
	case 1, 2:
		return "count(DISTINCT " + g.key() + ")" + g.filter()
	case 3:
		return "avg(" + distinct + g.exact() + ")" + g.filter()
	case 4:
		return g.pick("min", "max") + "(" + distinct + g.pick(g.text(1), g.date(1), g.pick(columns...)) + ")" + g.filter()
	case 5:
		return "max(" + g.number(1) + ")" + g.filter()
	case 6:
		return "count(" + distinct + g.pick(g.text(1), g.pick(columns...)) + ")" + g.filter()
	case 7:
		return g.pick("median", "var_pop", "stddev_pop", "stddev_samp", "var_samp") + "(" + distinct + g.pick("si", "id", "i", "ti") + ")" + g.filter()
	case 8:
		return "bit_xor(" + distinct + g.pick("si", "i", "id", "ui") + ")" + g.filter()
	case 9:
		return g.pick("covar_pop", "regr_slope") + "(" + distinct + g.pick("si", "i") + ", " + g.pick("id", "ti") + ")" + g.filter()
	case 10:
		return "quantile_disc(" + distinct + g.pick("si", "p", "s", "dt") + ", " + g.pick("0", "0.3", "1") + ")" + g.filter()
	case 11, 12:
		return g.set()
	}
	return "sum(" + distinct + g.exact() + ")" + g.filter()
}

// set writes an aggregate in which the order of distinct values shows. DuckDB keeps NULLs in lists.
func (g *sqlGenerator) set() string {
	order := g.pick("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	text := g.pick("s", "n", "upper(s)", g.text(1))
	x := g.pick(g.pick(columns...), "i % 7", text)
	switch g.IntN(4) {
	case 0:
		return "string_agg(DISTINCT " + text + ", '+' ORDER BY " + text + order + ")" + g.filter()
	case 1:
		return g.pick("first", "last") + "(DISTINCT " + x + " ORDER BY " + x + order + ") FILTER (WHERE " + x + " IS NOT NULL)"
	}
	return "list(DISTINCT " + x + " ORDER BY " + x + order + ") FILTER (WHERE " + x + " IS NOT NULL" + g.pick("", " AND "+g.condition(0)) + ")"
}

// exact writes a number whose sums are exact.
func (g *sqlGenerator) exact() string {
	return g.pick("i", "si", "p", "q", "si * 2", "p + q", "length(s)", "q * (1 - p)", "CASE WHEN b THEN i END")
}

// merging writes an aggregate that can be put together of parts.
func (g *sqlGenerator) merging() string {
	switch g.IntN(5) {
	case 0:
		return "count(*)"
	case 1:
		return "avg(" + g.pick("si", "p", "q") + ")"
	case 2:
		return g.pick("min", "max") + "(" + g.pick("s", "n", "dt", "p", "d", "ts") + ")"
	case 3:
		return "count(" + g.pick("i", "s", "dt") + ") FILTER (WHERE " + g.condition(1) + ")"
	}
	return "sum(" + g.exact() + ")"
}

// aggregates writes those of a statement: of all kinds beside each other, or those that can be made
// of parts alone.
func (g *sqlGenerator) aggregates() (items []string) {
	switch g.IntN(8) {
	case 0:
		of := g.pick("i", "si % 10", "p", "ti")
		items = append(items, g.pick("sum", "avg", "stddev_pop", "count")+"(DISTINCT "+of+")")
		for range g.IntN(3) {
			items = append(items, g.merging())
		}
		return items
	case 1, 2:
		for range 1 + g.IntN(3) {
			items = append(items, g.ordered())
		}
	}
	for range 1 + g.IntN(4) {
		a := g.aggregate()
		switch g.IntN(6) {
		case 0:
			a = g.pick("-count(*) + count(i)", "count(*) * 2", "coalesce(sum(si), 0) + 1", "round(avg(q), 1) > 0", "max(i) - min(i)")
		case 1:
			a = g.merging()
		}
		items = append(items, a)
	}
	g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items
}

// ordered writes an aggregate of rows in an order, each in one of its own.
func (g *sqlGenerator) ordered() string {
	order := g.pick("id", "id DESC", "si, id", "n DESC, id", "ub DESC NULLS FIRST, id", "i NULLS FIRST, id DESC", "s, id")
	call := g.pick("list(id", "string_agg(s, '+'", "first(si", "last(n", "list(si", "string_agg(upper(n)", "list(w", "any_value(n", "any_value(i",
		"mode(si", "mode(s", "mode(i % 5", "mode(b", "arg_min(id, ti", "arg_max(s, si % 3", "arg_max(w, b", "quantile", "set")
	switch call {
	case "quantile": // of 0 with DESC DuckDB 1.5.5 has the least value
		x := g.pick("si", "p", "dt", "i", "i % 7")
		call, order := g.pick("quantile_disc(", "quantile_disc(DISTINCT "), g.pick("", " DESC", " DESC NULLS FIRST")
		return call + x + ", " + g.pick("0.02", "0.3", "0.5", "1") + " ORDER BY " + x + order + ")" + g.filter()
	case "set":
		x := g.pick("si", "s", "i % 5")
		order := g.pick("", " DESC")
		return g.pick("any_value", "mode") + "(DISTINCT " + x + " ORDER BY " + x + order + ") FILTER (WHERE " + x + " IS NOT NULL)"
	}
	return call + " ORDER BY " + order + ")" + g.filter()
}

// from writes what a statement reads.
func (g *sqlGenerator) from() string { return g.table(2) }

// table writes a table, or a statement that has its columns, of tables as deep as that.
func (g *sqlGenerator) table(depth int) string {
	if depth == 0 {
		return g.pick(randomTables...)
	}
	switch g.IntN(8) {
	case 3:
		return g.joined(depth - 1)
	case 4:
		return g.setOperation(depth - 1)
	case 5:
		if g.IntN(3) == 0 {
			return "(SELECT * FROM " + g.table(depth-1) + " QUALIFY row_number() OVER (PARTITION BY si ORDER BY id) <= 40)"
		}
		if g.IntN(3) == 0 { // samples of all rows
			return "(SELECT * FROM " + g.table(depth-1) + g.pick(" USING SAMPLE 100%", " AS sampled TABLESAMPLE 100000", " USING SAMPLE reservoir(100%)") + ")"
		}
		if g.IntN(3) == 0 {
			return "(SELECT DISTINCT ON (id % 500) * FROM " + g.table(depth-1) + " ORDER BY id % 500, id)"
		}
	case 0:
		return "(SELECT * FROM " + g.table(depth-1) + " WHERE " + g.where(1) + ")"
	case 1:
		order, limit := g.pick("id", "si, id", "s DESC NULLS FIRST, id"), g.pick(" LIMIT 700", " LIMIT 300 OFFSET 50", " LIMIT 61%", "")
		return "(SELECT * FROM " + g.table(depth-1) + " WHERE " + g.where(1) + " ORDER BY " + order + limit + ")"
	case 2:
		return "(SELECT " + strings.Join(g.replaced(), ", ") + " FROM " + g.table(depth-1) + g.pick("", " WHERE "+g.where(1)) + ")"
	}
	return g.pick(randomTables...)
}

// setOperation writes a set operation of tables of a depth, which has their columns. Each id is there once, as orders
// are by it.
func (g *sqlGenerator) setOperation(depth int) string {
	replaced := "SELECT " + strings.Join(g.replaced(), ", ") + " FROM " + g.table(0)
	one := func(condition string) string {
		from := "SELECT " + strings.Join(columns, ", ") + " FROM " + g.table(depth)
		return g.pick(from, from, replaced) + condition + g.pick("", " AND "+g.where(1))
	}
	low, high := " WHERE id < 1500", " WHERE id >= 1500"
	union := g.pick(" UNION ", " UNION ALL ")
	switch g.IntN(5) {
	case 0:
		byName := slices.Clone(columns)
		g.Shuffle(len(byName), func(i, j int) { byName[i], byName[j] = byName[j], byName[i] })
		return "(" + one(low) + union + "BY NAME SELECT " + strings.Join(byName, ", ") + " FROM " + g.table(0) + high + ")"
	case 1:
		return "(" + one(low) + union + one(high+" AND id <= 2000") + union + one(" WHERE id > 2000") + ")"
	case 2:
		return "(" + one(low) + union + one(high) + ")"
	}
	all := " WHERE id IS NOT NULL"
	return "(" + one(all) + g.pick(" INTERSECT ", " INTERSECT ALL ", " EXCEPT ", " EXCEPT ALL ") + one(g.pick(all, low)) + ")"
}

// laterals writes a join with a statement that has the first rows for each row of a table.
func (g *sqlGenerator) laterals() string {
	order := g.pick("zi, zid", "zs DESC NULLS FIRST, zid", "zid DESC")
	same := g.pick("zsi = x.si", "zs = x.s AND zi < x.i", "zid BETWEEN x.id AND x.id + 5", "zs IS NOT DISTINCT FROM x.s AND zid < 500")
	return "SELECT x.id, s.* FROM " + g.table(1) + " x" + g.pick(", (", ", LATERAL (", " CROSS JOIN LATERAL (") + "SELECT zi, zs, " +
		g.pick("row_number() OVER (ORDER BY zid)", "x.si + zsi", "zid % 3") + " AS v FROM (SELECT id AS zid, si AS zsi, i AS zi, s AS zs FROM " +
		g.table(0) + ") z WHERE " + same + " ORDER BY " + order + " LIMIT " + g.pick("3", "2 OFFSET 1", "1") + ") s WHERE x.id < 300 ORDER BY ALL"
}

// sets writes set operations of a few columns, perhaps in an order.
func (g *sqlGenerator) sets() string {
	keys := []string{g.pick("si", "i", "ti", "p", "d"), g.pick("s", "n", "upper(s)"), g.pick("b", "dt", "id % 5")}[:1+g.IntN(3)]
	one := func() string {
		text := "SELECT "
		for i, key := range keys {
			text += key + fmt.Sprintf(" AS c%d, ", i)
		}
		text += "1 AS one FROM " + g.table(1)
		return text + g.pick("", " WHERE "+g.condition(1), " WHERE id < 700", " WHERE id > 600")
	}
	text := one()
	for range 1 + g.IntN(3) {
		text += g.pick(" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL ") + one()
	}
	return text + g.pick("", " ORDER BY ALL LIMIT 40")
}

// window writes a window function.
func (g *sqlGenerator) window() string {
	partition := g.pick("", "PARTITION BY si % 3", "PARTITION BY s", "PARTITION BY b, ti % 2", "PARTITION BY dt", "PARTITION BY "+g.key())
	total := " ORDER BY " + g.pick("id", "id DESC", "si, id", "s DESC NULLS FIRST, id", "i NULLS FIRST, id DESC", "p, id")
	bound := func(offset string) string {
		start := g.pick("UNBOUNDED PRECEDING", offset+" PRECEDING", offset+" PRECEDING", "CURRENT ROW", "1 FOLLOWING")
		end := g.pick("CURRENT ROW", offset+" FOLLOWING", offset+" FOLLOWING", "UNBOUNDED FOLLOWING", "0 FOLLOWING")
		if start == "1 FOLLOWING" {
			end = g.pick("3 FOLLOWING", "UNBOUNDED FOLLOWING")
		}
		return " BETWEEN " + start + " AND " + end + g.pick("", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES")
	}
	value := g.pick(g.pick(columns...), g.text(1), g.number(1))
	nulls := g.pick("", "", " IGNORE NULLS")
	switch g.IntN(8) {
	case 0:
		return g.pick("row_number()", "rank()", "dense_rank()", "ntile(5)", "percent_rank()", "cume_dist()") + " OVER (" + partition + total + ")"
	case 1:
		return g.pick("rank()", "dense_rank()", "percent_rank()", "cume_dist()") + " OVER (" + partition + " ORDER BY " + g.key() + g.pick("", " DESC") + ")"
	case 2:
		return g.pick("lag", "lead") + "(" + value + g.pick("", ", 2", ", ti % 3", ", 0") + nulls + ") OVER (" + partition + total + ")"
	case 3:
		return g.pick("lag(si, 3, i", "lead(s, 1, 'none'", "lag(p, 2, 1.5") + nulls + ") OVER (" + partition + total + ")"
	case 4:
		frame := g.pick("", " ROWS"+bound(g.pick("1", "4", "30")), " GROUPS"+bound("2"))
		return g.pick("first_value("+value, "last_value("+value, "nth_value("+value+", 2") + nulls + ") OVER (" + partition + total + frame + ")"
	}
	call := g.pick("sum("+g.exact()+")", "avg(si)", "count(*)", "min("+value+")", "max("+value+")", "count("+value+")", "bit_xor(id)", "count(DISTINCT si)",
		"sum(DISTINCT ti)", "bool_or(b)") + g.filter()
	frame := g.pick("", total, total+" ROWS"+bound(g.pick("1", "4", "30")), " ORDER BY "+g.key(), " ORDER BY si"+g.pick("", " DESC")+" RANGE"+bound(g.pick("1", "2.5")),
		" ORDER BY "+g.pick("ti", "i NULLS FIRST")+" GROUPS"+bound("2"), " ORDER BY dt RANGE BETWEEN INTERVAL 30 DAYS PRECEDING AND CURRENT ROW")
	return call + " OVER (" + partition + frame + ")"
}

// windows writes a statement with window functions, over rows or over groups.
func (g *sqlGenerator) windows() string {
	if g.IntN(5) == 0 {
		const text = "coalesce(s, '?')" // NULL stands for the groups of ROLLUP alone: orders have no ties
		return "SELECT si % 7 AS k, " + text + " AS l, count(*) AS n, " +
			"sum(count(*)) OVER (PARTITION BY si % 7 ORDER BY " + text + ") AS x, " + g.pick("rank() OVER (ORDER BY count(*) DESC)", "sum(max(id)) OVER ()",
			"lag(count(*)) OVER (ORDER BY si % 7, "+text+")") + " AS y FROM " + g.from() +
			" GROUP BY " + g.pick("1, 2", "ALL", "ROLLUP (1, 2)") + g.pick("", " QUALIFY n < 2 * avg(n) OVER ()")
	}
	items := []string{"id"}
	for i := range 1 + g.IntN(3) {
		items = append(items, g.window()+fmt.Sprintf(" AS c%d", i+1))
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM " + g.from()
	if g.IntN(2) == 0 {
		text += " WHERE " + g.where(1)
	}
	if g.IntN(4) == 0 {
		text += " QUALIFY " + g.pick("row_number() OVER (PARTITION BY si ORDER BY id) <= 3", "c1 IS NOT NULL", "rank() OVER (ORDER BY s) < 40",
			"rank() OVER (PARTITION BY n % 3 ORDER BY w DESC) <= 4")
	}
	return text + g.pick("", " ORDER BY id", " ORDER BY id DESC LIMIT 30")
}

// joined writes a join of two tables of a depth, by their ids: each column is the one's or the other's.
func (g *sqlGenerator) joined(depth int) string {
	items := slices.Clone(columns)
	for i, name := range items {
		switch name {
		case "id", "si", "w", "n": // which are never NULL: lists, first and last have no NULL
			items[i] = "coalesce(x." + name + ", y." + name + ") AS " + name
		default:
			items[i] = g.pick("x.", "x.", "y.") + name
		}
	}
	if g.IntN(5) == 0 {
		return "(SELECT x.* FROM " + g.table(depth) + " x " + g.pick("SEMI JOIN ", "ANTI JOIN ") + g.table(depth) + " y " +
			g.pick("USING (id)", "USING (dt, si)", "ON x.i = y.i", "ON x.s = y.s AND x.i < y.i + 100", "ON x.id = y.si AND y.b") + ")"
	}
	if g.IntN(5) == 0 {
		return g.nearest(depth, items)
	}
	if g.IntN(5) == 0 {
		return g.ranged(depth, items)
	}
	if g.IntN(5) == 0 {
		return g.lateral(depth)
	}
	if g.IntN(5) == 0 {
		on := g.pick("y.id = z.id", "z.id = x.id", "z.id + 1 = y.id")
		where := g.pick("x.s = z.s", "y.dt = z.dt", "y.b") + g.pick("", " AND x.si <> z.si", " AND (x.b OR z.i > 5)",
			" AND (x.si = y.si AND z.b OR y.si = x.si AND z.i > 3)")
		return "(SELECT " + g.pick("x", "y", "z") + ".* FROM " + g.table(depth) + " x JOIN " + g.table(0) + " y ON x.id = y.id" +
			" JOIN " + g.table(0) + " z ON " + on + " WHERE " + where + ")"
	}
	kind := g.pick("JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", ",")
	on := g.pick("x.id = y.id", "y.id = x.id", "x.id + 1 = y.id", "x.id = y.id AND x.s = y.s",
		"x.dt = y.dt AND x.id = y.id AND x.si = y.si", "y.id = x.id AND x.p IS NOT DISTINCT FROM y.p")
	switch kind {
	case "FULL JOIN": // each id is there once
		on = g.pick("x.id = y.id", "y.id = x.id")
	case "RIGHT JOIN":
		items[0] = "y.id"
		fallthrough
	default:
		on += g.pick("", "", " AND x.i < y.i + 100", " AND y.si > 2", " AND x.s <> 'b'", " AND (x.b OR y.i > 5)")
		if g.IntN(4) == 0 {
			on += " AND " + g.onSubquery(kind)
		}
	}
	text := "(SELECT " + strings.Join(items, ", ") + " FROM " + g.table(depth) + " x " + kind + " " + g.table(depth) + " y"
	if kind == "," {
		return text + " WHERE " + on + ")"
	}
	return text + " ON " + on + ")"
}

// lateral writes a join with a statement that reads columns of the table before it, and has one row at most for each row
// of that table.
func (g *sqlGenerator) lateral(depth int) string {
	items := slices.Clone(columns)
	for i, name := range items {
		if items[i] = "x." + name; name == "si" {
			items[i] = "CAST(coalesce(s.v, x.si) AS SMALLINT) AS si"
		}
	}
	z := " FROM (SELECT id AS zid, si AS zsi, i AS zi, s AS zs, b AS zb FROM " + g.table(0) + ") z"
	of := g.pick("zsi AS v"+z+" WHERE zs = x.s AND zi > 5 ORDER BY zi DESC, zid LIMIT 1",
		"zsi AS v"+z+" WHERE zid < 60 AND zsi >= x.si ORDER BY zsi, zid LIMIT 1 OFFSET 2",
		"max(zsi) AS v"+z+" WHERE zsi < x.si", "count(*) % 5 AS v"+z+" WHERE zid = x.id AND zb", "x.si % 7 AS v",
		"zsi + x.si % 2 AS v"+z+" WHERE zid = x.id + 1", "min(zsi) AS v"+z+" WHERE zid < 90 AND zi < x.i GROUP BY zb ORDER BY 1 LIMIT 1",
		"(SELECT max(zsi)"+z+" WHERE zs = x.s AND zid < 100) AS v", "min(zsi) AS v"+z+" WHERE zid > 1500")
	kind := g.pick(", ", ", LATERAL ", " JOIN LATERAL ", " LEFT JOIN LATERAL ", " LEFT JOIN ", " CROSS JOIN LATERAL ")
	text := "(SELECT " + strings.Join(items, ", ") + " FROM " + g.table(depth) + " x" + kind + "(SELECT " + of + ") s"
	if strings.Contains(kind, " JOIN") && !strings.Contains(kind, "CROSS") {
		text += " ON " + g.pick("true", "true", "s.v > 2", "s.v <> x.si")
	}
	return text + ")"
}

// onSubquery writes a condition with a subquery, which stands in ON of a join of x and y.
func (g *sqlGenerator) onSubquery(kind string) string {
	z := " FROM (SELECT id AS zid, si AS zsi, i AS zi, s AS zs, b AS zb FROM " + g.table(0) + ") z"
	if side := g.pick("x.", "y.", ""); side != "" {
		return g.pick(side+"si > (SELECT avg(zsi)"+z+" WHERE zs = "+side+"s)", side+"i IN (SELECT zi"+z+" WHERE zb)",
			"(EXISTS (SELECT 1"+z+" WHERE zid = "+side+"id AND zb) OR "+side+"si < 5)", side+"si >= (SELECT min(zsi)"+z+")",
			"NOT EXISTS (SELECT 1"+z+" WHERE zid < 40 AND zsi > "+side+"si)",
			side+"s NOT IN (SELECT zs"+z+" WHERE zsi = "+side+"si AND zi > 3)")
	}
	if strings.HasSuffix(kind, "JOIN") && kind != "JOIN" && kind != "INNER JOIN" {
		return "x.si <= (SELECT max(zsi)" + z + ")"
	}
	return g.pick("(SELECT count(*)"+z+" WHERE zid = x.id AND zsi = y.si) = 1", "EXISTS (SELECT 1"+z+" WHERE zsi = x.si AND zi > y.i)",
		"x.i <> ALL (SELECT zi"+z+" WHERE zid = y.id AND zs <> x.s)")
}

// nearest writes an ASOF join of two tables of a depth. The columns may be of both sides where a row has one nearest
// partner; else the compared value alone is of the right side.
func (g *sqlGenerator) nearest(depth int, items []string) string {
	sign, kind := g.pick(" >= ", " > ", " <= ", " < "), g.pick("", "", "LEFT ", "INNER ", "SEMI ", "ANTI ")
	equal := g.pick("", "", "x.si = y.si AND ", "x.s = y.s AND ", "x.ti = y.ti AND x.b IS NOT DISTINCT FROM y.b AND ")
	more := g.pick("", "", " AND y.b", " AND x.s <> 'b'")
	if g.IntN(4) == 0 {
		more = " AND x.si <> y.si"
	}
	what := "x.*"
	on := g.pick("x.id"+sign+"y.id", "y.id * 3"+sign+"x.id", "x.id"+sign+"y.id + 7")
	if kind != "SEMI " && kind != "ANTI " {
		items[0] = "x.id"
		what = strings.Join(items, ", ")
	}
	if g.IntN(2) == 0 {
		column := g.pick("dt", "p", "i", "s", "ts")
		on = "x." + column + sign + "y." + column
		if what != "x.*" {
			what = "x.* REPLACE (y." + column + " AS " + column + ")"
		}
	}
	right := g.table(0)
	if g.IntN(8) == 0 && kind == "" {
		return "(SELECT x.* FROM " + g.table(depth) + " x ASOF JOIN " + right + " y USING (" + g.pick("dt", "si, p", "s, si, ts") + "))"
	}
	return "(SELECT " + what + " FROM " + g.table(depth) + " x ASOF " + kind + "JOIN " + right + " y ON " + equal + on + more + ")"
}

// ranged writes a join by inequalities of two tables of a depth. Each id is there once.
func (g *sqlGenerator) ranged(depth int, items []string) string {
	kind := g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", ",")
	high := g.pick(" < ", " <= ")
	items[0] = "x.id"
	on := g.pick("x.id BETWEEN y.id * 10 AND y.id * 10 + 3", "y.id * 5 <= x.id AND x.id"+high+"y.id * 5 + 4",
		"x.id > y.id AND y.id + 1 >= x.id", "x.id <= y.id AND x.id >= y.id")
	switch kind {
	case "RIGHT JOIN":
		items[0] = "y.id"
		on = g.pick("y.id BETWEEN x.id * 10 AND x.id * 10 + 3", "x.id * 5 <= y.id AND y.id"+high+"x.id * 5 + 4")
	case "FULL JOIN":
		items[0] = "coalesce(x.id, y.id) AS id"
		on = g.pick("x.id <= y.id AND x.id >= y.id", "x.id BETWEEN y.id AND y.id", "x.id = y.id AND x.i <= y.i")
	case "SEMI JOIN", "ANTI JOIN":
		on = g.pick(on, "x.i"+high+"y.si", "x.dt BETWEEN y.dt AND y.dt + 1", "x.s"+high+"y.s AND x.si > y.si + 2",
			"x.f > y.d", "x.p"+high+"y.p AND y.p"+high+"x.p + 3", "x.ts"+high+"y.dt AND x.id <> y.id")
		return "(SELECT x.* FROM " + g.table(depth) + " x " + kind + " " + g.table(0) + " y ON " + on + ")"
	default:
		on += g.pick("", " AND x.si <> y.si", " AND x.s <= y.s", " AND x.ti % 3 = y.ti % 3")
	}
	text := "(SELECT " + strings.Join(items, ", ") + " FROM " + g.table(depth) + " x " + kind + " " + g.table(0) + " y"
	if kind == "," {
		return text + " WHERE " + on + ")"
	}
	return text + " ON " + on + ")"
}

// replaced writes the columns of mixedTable, some of which are made of others.
func (g *sqlGenerator) replaced() []string {
	items := slices.Clone(columns)
	for i, name := range items {
		if g.IntN(4) > 0 {
			continue
		}
		switch name {
		case "i":
			items[i] = g.pick("coalesce(i, ti)", "i + 1", "CASE WHEN b THEN i END") + " AS i"
		case "s":
			items[i] = g.text(1) + " AS s"
		case "n": // has no NULLs, as first and last of mpga skip these
			items[i] = "coalesce(" + g.text(1) + ", 'none') AS n"
		case "b":
			items[i] = g.condition(1) + " AS b"
		case "dt":
			items[i] = "CAST(" + g.date(1) + " AS DATE) AS dt"
		case "p":
			items[i] = "CAST(p / 2 AS DECIMAL(9, 2)) AS p"
		}
	}
	return items
}

func (g *sqlGenerator) statement() string {
	switch g.IntN(10) {
	case 3:
		return g.windows()
	case 0:
		return g.rows()
	case 1:
		return g.nested()
	case 2:
		if g.IntN(3) == 0 {
			return g.laterals()
		}
		return g.sets()
	case 4:
		if g.IntN(2) == 0 {
			return g.recursive()
		}
		return g.shared()
	case 5:
		if g.IntN(2) == 0 {
			return g.starred()
		}
		return g.pivoted()
	case 6:
		return g.around()
	}
	return g.groups()
}

// shared writes a statement that reads a statement of WITH several times.
func (g *sqlGenerator) shared() string {
	w := "w AS " + g.pick("", "", "MATERIALIZED ", "NOT MATERIALIZED ")
	if g.IntN(4) == 0 {
		w += "(SELECT DISTINCT si AS k, si % 7 AS j, si * 2 AS c, si - 1 AS x FROM " + g.from() + ")"
	} else {
		w += "(SELECT si AS k, min(si) % 7 AS j, count(*) AS c, sum(" + g.exact() + ") AS x FROM " + g.from() +
			g.pick("", " WHERE "+g.where(1)) + " GROUP BY si)"
	}
	if g.IntN(3) == 0 {
		w += ", v AS " + g.pick("", "MATERIALIZED ") + "(SELECT j, count(*) AS n, max(x) AS x FROM w GROUP BY j)"
		return "WITH " + w + " SELECT a.k, a.c, b.n, (SELECT sum(n) FROM v) AS s FROM w a " + g.pick("", "LEFT ") +
			"JOIN v b ON a.j = b.j WHERE " + g.pick("a.c > 3", "a.k < 10", "b.x IS NOT NULL", "a.x < (SELECT max(x) FROM v)")
	}
	return "WITH " + w + g.pick(
		" SELECT a.k, a.c, b.x FROM w a JOIN w b ON a.k = b.k + 1 WHERE a.c > 1 AND b.k < 20",
		" SELECT a.k, b.c, b.x FROM w a LEFT JOIN w b ON a.k = b.j AND b.c > 2 WHERE a.j IN (1, 2, 3)",
		" SELECT k, x FROM w WHERE j = 1 UNION ALL SELECT j, c FROM w WHERE k = 2 OR j = 3",
		" SELECT k, c FROM w WHERE c >= (SELECT avg(c) FROM w) AND k NOT IN (SELECT j FROM w WHERE c < 5)",
		" SELECT j, sum(c), max(x) FROM w WHERE k IN (SELECT j FROM w) GROUP BY j",
		" SELECT a.k, count(*) FROM w a, w b, w c WHERE a.k = b.k AND b.j = c.j AND c.k < 3 GROUP BY a.k")
}

// recursive writes a statement of WITH RECURSIVE, which ends by the number of its iterations.
func (g *sqlGenerator) recursive() string {
	w := "WITH RECURSIVE q AS (SELECT DISTINCT si AS k, si % 9 AS j FROM " + g.from() + g.pick("", " WHERE "+g.where(1)) + "), "
	anchor := g.pick("SELECT 1, 0, 'a'", "SELECT DISTINCT si % 5, 0, 'abc' FROM t", "SELECT k, 0, NULL::VARCHAR FROM q WHERE k < 6",
		"SELECT min(k), 0, 'x' FROM q", "SELECT j, 0, CAST(k AS VARCHAR) FROM q")
	step := g.pick("(k * 3 + 1) % 11, d + 1, s || 'y' FROM r WHERE d < 9",
		"q.j, d + 1, s FROM r JOIN q ON q.k = r.k WHERE d < 4",
		"k + 1, d + 1, upper(s) FROM r LEFT JOIN q USING (k) WHERE d < 3 AND q.j IS DISTINCT FROM 2",
		"max(k) + 1, d + 1, max(s) FROM r WHERE d < 5 GROUP BY d",
		"k, d + 1, s FROM (SELECT *, row_number() OVER (ORDER BY k, d, s) AS w FROM r) WHERE w <= 3 AND d < 5",
		"k + 1, d + 1, s FROM r WHERE d < 4 AND k IN (SELECT j FROM q)",
		"k + 2, d + 1, s FROM r WHERE d < 4 AND NOT EXISTS (SELECT 1 FROM q WHERE q.k = r.k AND q.j > 3)",
		"a.k + b.k, a.d + 1, b.s FROM r a JOIN r b ON a.k = b.k + 1 WHERE a.d < 3",
		"k - 1, d + 1, s FROM r WHERE k > (SELECT avg(k) FROM r) AND d < 6",
		"k % 3, d + 1, s FROM r, (SELECT max(j) AS m FROM q) WHERE d < m AND d < 7")
	union := g.pick(" UNION ", " UNION ALL ")
	w += "r(k, d, s) AS (" + anchor + union + "SELECT " + g.pick("", "", "DISTINCT ") + step + ")"
	return w + g.pick(" SELECT * FROM r", " SELECT k, d, count(*), max(s) FROM r GROUP BY ALL", " SELECT count(*), sum(k), count(s), max(d) FROM r",
		" SELECT a.k, b.d FROM r a JOIN r b ON a.k = b.k AND a.d = b.d + 1", " SELECT d, si FROM r, t WHERE si = k AND id < 50",
		" SELECT k, s FROM r WHERE d > 1 AND k IN (SELECT j FROM q)")
}

// rows writes a statement without groups.
func (g *sqlGenerator) rows() string {
	items := []string{"id"}
	for range 1 + g.IntN(3) {
		items = append(items, g.pick(g.number(2), g.text(2), g.date(2), g.condition(2)))
	}
	text := "SELECT " + g.pick("", "", "DISTINCT ") + strings.Join(items, ", ") + " FROM " + g.from()
	if g.IntN(2) == 0 {
		text += " WHERE " + g.where(2)
	}
	return text + g.pick("", " ORDER BY id", " ORDER BY id DESC LIMIT 20 OFFSET 3", " ORDER BY id LIMIT 2.5 PERCENT OFFSET 3", " ORDER BY 2 NULLS FIRST, id LIMIT 50")
}

// starred writes a statement of COLUMNS.
func (g *sqlGenerator) starred() string {
	numbers := g.pick("COLUMNS('^(id|si)$')", "COLUMNS(['SI', 'id'])", "COLUMNS('(?i)^S?I')")
	items := g.pick("sum("+numbers+")", "max("+numbers+" + "+numbers+") AS \"most_\\0\"", "count(DISTINCT COLUMNS(* EXCLUDE (dt)))",
		"min(COLUMNS('^(.)')) AS \"\\0_\\1\"", "count(COLUMNS(* RENAME (id AS number)))")
	text := " FROM " + g.table(1) + " AS starred WHERE " + g.pick("COLUMNS(*) IS NOT NULL", numbers+" > 3", numbers+" > 3 OR id < 100", "true")
	return g.pick("SELECT "+items+text, "SELECT s, "+items+text+" GROUP BY s", "SELECT id, "+numbers+" * 2 AS \"c_\\0\""+text+" ORDER BY "+numbers)
}

// pivoted writes PIVOT, UNPIVOT, or both.
func (g *sqlGenerator) pivoted() string {
	from := g.table(1) + " AS pivoted"
	rows := g.pick("ON si, id INTO NAME name VALUE value", "ON si + 1, id AS number", "ON COLUMNS('^(id|si)$')", "ON i, l, d")
	switch g.IntN(4) {
	case 0:
		return "SELECT name, count(*), count(DISTINCT s) FROM (UNPIVOT " + from + " " + rows + ") GROUP BY name"
	case 1:
		nulls := g.pick("", "INCLUDE NULLS ", "EXCLUDE NULLS ")
		return "SELECT x.n, s, count(*), max(v) FROM " + from + " UNPIVOT " + nulls + "(v FOR n IN (si AS small, id, ti)) AS x GROUP BY ALL"
	}
	of := g.pick("si IN (0, 1, 2)", "s IN ('a', 'b', NULL)", "b IN (true, false)", "b IN (true, false), si IN (1, 2 AS two)", "(id % 3) IN (0, 1)")
	made := g.pick(" USING count(*)", " USING sum(id)", " USING max(id) AS m, count(DISTINCT s)", " USING count(*) + 1", "")
	if g.IntN(2) == 0 && made != "" {
		return "SELECT * FROM " + from + " PIVOT (" + strings.TrimPrefix(made, " USING ") + " FOR " + strings.ReplaceAll(of, "), si", ") si") +
			" GROUP BY " + g.pick("dt", "dt, ti") + ") AS p"
	}
	return "PIVOT " + from + " ON " + of + made + " GROUP BY " + g.pick("dt", "ti, dt") + g.pick("", " ORDER BY ALL LIMIT 20")
}

// nested writes groups of groups.
func (g *sqlGenerator) nested() string {
	inner := "SELECT " + g.key() + " AS k, " + g.key() + " AS l, count(*) AS c, sum(" + g.exact() + ") AS x FROM " + g.from() +
		" GROUP BY " + g.pick("k, l", "ALL", "ROLLUP (k, l)", "CUBE (k, l)")
	outer := g.pick("SELECT count(*), sum(c), min(x), max(x)", "SELECT c % 5 AS m, count(*), sum(x), count(DISTINCT k)", "SELECT c, k IS NULL AS m, max(x)", "SELECT DISTINCT c, k IS NULL")
	where := g.pick("", "", " WHERE c > 1", " WHERE k IS NOT NULL AND x IS NOT NULL")
	group := ""
	if strings.Contains(outer, " AS m") {
		group = " GROUP BY ALL"
	}
	if g.IntN(4) == 0 {
		inner = "SELECT k, max(l) AS l, sum(c) AS c, max(x) AS x FROM (" + inner + ") " + g.pick("", "WHERE c < 50 ") + "GROUP BY k"
	}
	if g.IntN(2) == 0 {
		return "WITH a AS (" + inner + ") " + outer + " FROM a" + where + group
	}
	return outer + " FROM (" + inner + ")" + where + group
}

// groups writes a statement with groups. Keys stand in it several times: as columns of the result,
// under their names and their numbers, and within aggregates.
func (g *sqlGenerator) groups() string {
	var keys []string
	for range g.IntN(4) {
		key := g.key()
		if len(keys) > 0 && g.IntN(4) == 0 {
			key = g.pick(keys...)
		}
		keys = append(keys, key)
	}
	items := append(append([]string{}, keys...), g.aggregates()...)
	if len(keys) > 0 && g.IntN(3) == 0 {
		key := g.pick(keys...)
		items = append(items, g.pick("count(DISTINCT "+key+")", "count("+key+")", "max("+key+")", key))
	}
	// Keys as GROUP BY names them: by numbers or by names, as of both DuckDB 1.5.5 takes the number
	// for 42 wherever it stands.
	named, short := make([]string, len(keys)), g.pick("%d", "c%d")
	for i, key := range keys {
		number := i
		if short == "%d" {
			number++
		}
		named[i] = g.pick(key, key, key, fmt.Sprintf(short, number))
	}
	again := "c0"
	if short == "%d" {
		again = "1"
	}
	group := ""
	if len(keys) > 0 {
		var calls []string
		group, calls = g.grouping(keys, named, again)
		items = append(items, calls...)
	}
	for i := range items {
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM " + g.from()
	if g.IntN(2) == 0 {
		text += " WHERE " + g.where(2)
	}
	text += group
	if g.IntN(4) == 0 {
		text += " HAVING " + g.pick("count(*) > 2", "count(*) < 50", "count(*) <> 1", "count(DISTINCT si) > 1", "max(id) > 1000", "count(DISTINCT id) FILTER (WHERE b) > 2")
	}
	return text
}

// grouping writes GROUP BY, and what grouping() is asked for of it. again is the number or the name
// of the first key.
func (g *sqlGenerator) grouping(keys, named []string, again string) (group string, calls []string) {
	first, last, list := named[0], named[len(named)-1], strings.Join(named, ", ")
	switch g.IntN(12) {
	case 0:
		return " GROUP BY ALL", nil
	case 1:
		return " GROUP BY ROLLUP (" + list + ")", nil
	case 2:
		return " GROUP BY CUBE (" + strings.Join(keys, ", ") + ")", []string{"grouping(" + keys[0] + ")"}
	case 3:
		return " GROUP BY GROUPING SETS ((" + first + "), (" + last + "), ())", nil
	case 4:
		all := strings.Join(keys, ", ")
		return " GROUP BY GROUPING SETS ((" + all + "), (" + keys[len(keys)-1] + "))", []string{"grouping(" + all + ")"}
	case 5:
		return " GROUP BY ROLLUP (" + list + ", " + g.pick(again, again, first, last, "'x'", "1.5", "NULL") + ")", nil
	case 6:
		return " GROUP BY CUBE (" + g.pick(again, "'x'", first) + ", " + last + ")" + g.pick("", ", "+list, ", ROLLUP ("+first+")"), nil
	case 7:
		return " GROUP BY GROUPING SETS ((" + list + ", " + last + "), ROLLUP (" + list + "), (" + g.pick(again, again, "true", first) + "))", nil
	}
	return " GROUP BY " + list + g.pick("", ", "+again, ", "+first, ", 'x'"), nil
}
