package tests

import (
	"fmt"
	"strings"
)

func (g *sqlGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

// number writes an expression that is a number, of integers and decimals that do not overflow, or
// doubles.
func (g *sqlGenerator) number(depth int) string {
	if depth == 0 {
		return g.pick("i", "si", "ti", "p", "q", "d", "f", "id", "1", "2", "-3", "0.5", "10.25", "NULL::INTEGER", g.float())
	}
	a, b := g.number(depth-1), g.number(depth-1)
	switch g.IntN(18) {
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
	case 15:
		return g.pick("gcd(i, ", "lcm(ti, ", "bit_count(si) + (", "fmod(ti, ", "fdiv(si, ") + g.pick("si", "ti", "7") + ")"
	case 16:
		units := g.pick("month", "day", "week", "year", "quarter")
		return g.pick("date_sub", "date_diff") + "('" + units + "', " + g.date(depth-1) + ", " + g.date(depth-1) + ")"
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
	switch g.IntN(20) {
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
	case 17:
		name := g.pick("hex", "md5", "url_encode", "regexp_escape", "strip_accents", "parse_filename", "parse_dirpath")
		return name + "(" + a + ")"
	case 18:
		return "(" + a + ")[" + g.pick("1", "-1", "2:", ":-2", "ti % 3:4", "NULL") + "]"
	case 19:
		return g.pick("printf('%5d|%s', si, ", "format('{:>6}{}', ti, ", "translate('abcU', 'aU', ", "concat_ws('-', n, ") +
			a + ")"
	}
	return "trim(" + a + ")"
}

func (g *sqlGenerator) date(depth int) string {
	if depth == 0 {
		return g.pick("dt", "dt", "ts", "DATE '2001-01-01'") // to a day within a month DuckDB 1.5.5 compares date_trunc wrongly where it is NULL
	}
	switch g.IntN(6) {
	case 3:
		step := g.pick(" + to_days(ti)", " - to_months(ti)", " + INTERVAL (si) HOURS", " + ti * INTERVAL 1 WEEK", " - age(dt, DATE '1999-12-31')")
		return "(" + g.date(depth-1) + step + ")"
	case 4:
		return "time_bucket(INTERVAL " + g.pick("3 MONTHS", "10 DAYS", "'36 hours'", "1 WEEK") + ", " + g.date(depth-1) + ")"
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
	switch g.IntN(10) {
	case 0:
		return "(" + g.condition(depth-1) + " AND " + g.condition(depth-1) + ")"
	case 1:
		return "(" + g.condition(depth-1) + " OR " + g.condition(depth-1) + ")"
	case 2:
		return "(NOT " + g.condition(depth-1) + ")"
	case 3:
		return "(" + g.number(depth-1) + " " + compare + " " + g.number(depth-1) + ")"
	case 4:
		return "(" + g.text(depth-1) + g.pick("", "", " COLLATE NOCASE", " COLLATE NOCASE.NOACCENT") + " " + compare + " " +
			g.text(depth-1) + ")"
	case 5:
		return "(" + g.date(depth-1) + " " + compare + " " + g.date(depth-1) + ")"
	case 6:
		return "(" + g.text(depth-1) + g.pick(" LIKE ", " NOT LIKE ", " ILIKE ") + g.pick("'%a%'", "'U%'", "'_l%'", "'%m'") + ")"
	case 8:
		return "(" + g.text(depth-1) + g.pick(" GLOB ", " NOT GLOB ") + g.pick("'*a*'", "'U*'", "'[a-m]*'", "'[!a]?*'") + ")"
	case 7:
		return "(" + g.number(depth-1) + " BETWEEN " + g.number(0) + " AND " + g.number(0) + ")"
	}
	return "(" + g.text(depth-1) + g.pick(" IN ", " NOT IN ") + "('a', 'Ulm', 'aaa'" + g.pick("", ", NULL") + "))"
}

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

// exact writes a number whose sums are exact.
func (g *sqlGenerator) exact() string {
	return g.pick("i", "si", "p", "q", "si * 2", "p + q", "length(s)", "q * (1 - p)", "CASE WHEN b THEN i END")
}
