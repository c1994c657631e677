package tests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var sqlQueriesFlag = flag.Int("sqlqueries", 150, "how many random statements are asked")

// Random statements of the supported grammar answer as DuckDB's. -seed and -sqlqueries ask others and more.
func TestSQLRandom(t *testing.T) {
	seed := *seedFlag
	t.Logf("-seed=%d -sqlqueries=%d", seed, *sqlQueriesFlag)
	s := openSQL(t)
	s.add(t, "t", mixedTable)
	g := &sqlGenerator{rand.New(rand.NewPCG(seed, 1))}
	answered := 0
	for range *sqlQueriesFlag {
		text := g.statement()
		if _, err := s.theirs(text); err != nil {
			continue // an overflow, which depends on the rows that an expression is evaluated for
		}
		answered++
		s.check(t, text)
		if t.Failed() {
			t.Fatalf("with -seed=%d", seed)
		}
	}
	t.Logf("%d of %d statements have an answer", answered, *sqlQueriesFlag)
	if answered < *sqlQueriesFlag/3 {
		t.Errorf("%d of %d statements have an answer: the generator makes too many errors", answered, *sqlQueriesFlag)
	}
}

// sqlGenerator writes statements over mixedTable.
type sqlGenerator struct{ *rand.Rand }

func (g *sqlGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

// number writes an expression that is a number, of integers and decimals that do not overflow, or doubles.
func (g *sqlGenerator) number(depth int) string {
	if depth == 0 {
		return g.pick("i", "si", "ti", "p", "q", "d", "f", "id", "1", "2", "-3", "0.5", "10.25", "NULL::INTEGER")
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
		return "CASE WHEN " + g.condition(depth-1) + " THEN " + a + " ELSE " + b + " END"
	case 7:
		return "coalesce(" + a + ", " + b + ")"
	case 8:
		return g.pick("greatest", "least") + "(" + a + ", " + b + ")"
	case 9:
		return "length(" + g.text(depth-1) + ")"
	case 10:
		return g.pick("year", "month", "day", "dayofweek", "quarter") + "(" + g.date(depth-1) + ")"
	case 11:
		return "(i % " + g.pick("3", "7", "ti") + ")"
	case 12:
		return "CAST(" + a + " AS DOUBLE)"
	case 13:
		return "TRY_CAST(" + g.text(depth-1) + " AS " + g.pick("INTEGER", "DOUBLE", "DECIMAL(8, 2)") + ")"
	case 14:
		return g.pick("round", "floor", "ceil") + "(" + a + ")"
	}
	return a
}

func (g *sqlGenerator) text(depth int) string {
	if depth == 0 {
		return g.pick("s", "n", "s", "'a'", "'Ulm'", "''", "NULL::VARCHAR")
	}
	a := g.text(depth - 1)
	switch g.IntN(11) {
	case 0:
		return "upper(" + a + ")"
	case 1:
		return "lower(" + a + ")"
	case 2:
		return "(" + a + " || " + g.text(depth-1) + ")"
	case 3:
		return "substr(" + a + ", " + g.pick("1", "2", "-3") + ", " + g.pick("1", "3") + ")"
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
		return "(" + g.date(depth-1) + " + INTERVAL " + g.pick("1 MONTH", "3 DAYS", "'2 hours'") + ")"
	case 2:
		return "CAST(" + g.date(depth-1) + " AS " + g.pick("DATE", "TIMESTAMP") + ")"
	}
	return g.date(depth - 1)
}

func (g *sqlGenerator) condition(depth int) string {
	if depth == 0 {
		return g.pick("b", "i > 0", "s = 'Ulm'", "d < 0", "i IS NULL", "p BETWEEN -100 AND 500.5", "s LIKE '%a%'", "i IN (1, 5, 9, 30)", "dt < '1990-01-01'")
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

// key writes an expression to group by: one whose values are exact.
func (g *sqlGenerator) key() string {
	switch g.IntN(6) {
	case 0:
		return g.pick("i", "s", "b", "ti", "dt")
	case 1:
		return "(i % " + g.pick("3", "10") + ")"
	case 2:
		return g.text(2)
	case 3:
		return g.date(2)
	case 4:
		return g.condition(1)
	}
	return "(ti + si * 2)"
}

func (g *sqlGenerator) aggregate() string {
	filter := ""
	if g.IntN(4) == 0 {
		filter = " FILTER (WHERE " + g.condition(1) + ")"
	}
	exact := g.pick("i", "si", "p", "q", "ti * 2", "p + q", "length(s)", "q * (1 - p)", "CASE WHEN b THEN i END")
	switch g.IntN(8) {
	case 0:
		return "count(*)" + filter
	case 1:
		return "count(DISTINCT " + g.key() + ")" + filter
	case 2:
		return "avg(" + exact + ")" + filter
	case 3:
		return "min(" + g.text(1) + ")" + filter
	case 4:
		return "max(" + g.date(1) + ")" + filter
	case 5:
		return "max(" + g.number(1) + ")" + filter
	case 6:
		return "count(" + g.text(1) + ")" + filter
	}
	return "sum(" + exact + ")" + filter
}

func (g *sqlGenerator) statement() string {
	var keys, items []string
	for range g.IntN(3) {
		keys = append(keys, g.key())
	}
	items = append(items, keys...)
	for range 1 + g.IntN(3) {
		a := g.aggregate()
		if g.IntN(4) == 0 {
			a = g.pick("-count(*) + count(i)", "count(*) * 2", "coalesce(sum(si), 0) + 1", "round(avg(q), 1) > 0", "max(i) - min(i)")
		}
		items = append(items, a)
	}
	for i := range items {
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM " + g.pick("t", "t", "(SELECT * FROM t WHERE "+g.condition(1)+")")
	if g.IntN(2) == 0 {
		text += " WHERE " + g.condition(2)
	}
	if len(keys) > 0 {
		switch g.IntN(4) {
		case 0:
			text += " GROUP BY ALL"
		case 1:
			text += " GROUP BY ROLLUP (" + strings.Join(keys, ", ") + ")"
		default:
			text += " GROUP BY " + strings.Join(keys, ", ")
		}
	}
	if g.IntN(4) == 0 {
		text += " HAVING count(*) " + g.pick("> 2", "< 50", "<> 1")
	}
	return text
}
