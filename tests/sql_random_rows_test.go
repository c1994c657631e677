package tests

import (
	"fmt"
	"slices"
	"strings"
)

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
	switch g.IntN(9) {
	case 8: // all rows of the partition in the order of the call
		call := g.pick("row_number(", "rank(", "percent_rank(", "lag("+value, "first_value("+value, "last_value("+value,
			"nth_value("+value+", 2")
		return call + total + ") OVER (" + partition + ")"
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
	if g.IntN(4) == 0 { // an iteration has a row for each key at most
		step := g.pick("(k * 3 + 1) % 11, d + 1, s || 'y' FROM r WHERE d < 9", "k + 1, d + 1, s FROM r WHERE k < 20",
			"rec.k + 11, r.d + 1, rec.s FROM r JOIN recurring.r rec ON rec.k = r.k WHERE r.k < 40",
			"k % 5, d + 1, (SELECT max(s) FROM recurring.r) || k FROM r WHERE d < 4")
		w += "r(k, d, s) USING KEY (k) AS (SELECT DISTINCT si % 5, 0, 'abc' FROM t WHERE si >= 0 UNION SELECT "
		return w + step + ") SELECT * FROM r"
	}
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
