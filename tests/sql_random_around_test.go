package tests

import "strings"

// around writes a statement over small tables whose subqueries have statements behind FROM, set operations, VALUES,
// WITH and WITH RECURSIVE that read columns of the rows around them.
func (g *sqlGenerator) around() string {
	w := "WITH w AS MATERIALIZED (SELECT DISTINCT si % 17 AS k, coalesce(ti % 5, 0) AS j, nullif(si % 9, 4) AS c FROM t WHERE id < 300) "
	body := func() string { return g.inner(2+g.IntN(2), true) }
	switch g.IntN(10) {
	case 0:
		return w + "SELECT o.*, (SELECT " + g.pick("sum", "max", "count", "min") + "(v) FROM (" + body() + ") b) AS s FROM w o"
	case 1:
		return w + "SELECT k, j FROM w o WHERE " + g.pick("", "NOT ") + "EXISTS (" + body() + ")" + g.pick("", " OR k = 3")
	case 2:
		return w + "SELECT * FROM w o WHERE " + g.pick("c", "k", "j") + g.pick(" IN ", " NOT IN ", " > ALL ", " <= ANY ") + "(" + body() + ")"
	case 3:
		return w + "SELECT o.k, o.c, o.c " + g.pick("IN", "NOT IN", "< ALL", "= ANY") + " (" + body() + ") AS s FROM w o"
	case 4:
		return w + "SELECT o.*, b.v FROM w o, LATERAL (" + body() + ") b(v)" + g.pick("", " WHERE b.v <> o.k")
	case 5:
		return w + "SELECT o.*, b.v FROM w o LEFT JOIN LATERAL (" + body() + ") b(v) ON " + g.pick("true", "b.v > 2", "b.v = o.j")
	case 6:
		return w + "SELECT o.k, o.j, b.v, p.c FROM w o, (" + body() + ") b(v) " + g.pick("", "LEFT ") + "JOIN w p ON p.k = b.v AND p.j = 1"
	case 7:
		limit := " LIMIT (SELECT count(*) % 20 FROM w WHERE k > " + g.pick("3", "8") + ")" + g.pick("", " %") +
			g.pick("", " OFFSET (SELECT abs(min(k)) FROM w)")
		return w + "SELECT k, j, c FROM w ORDER BY ALL " + limit
	case 8:
		deep := strings.ReplaceAll(body(), "o.", "p.")
		return w + "SELECT o.k, (SELECT max((SELECT count(*) FROM (" + deep + ") b)) FROM w p WHERE p.k = o.j) AS s FROM w o"
	}
	return g.pick(
		w+"PIVOT w ON j USING "+g.pick("sum(c)", "count(*)", "max(c) AS m, min(c)")+" GROUP BY k",
		w+"SELECT COLUMNS(lambda x: x "+g.pick("> 'c'", "<> 'j'", "IN ('k', 'c')")+"), greatest(*COLUMNS(* EXCLUDE (k))) AS g FROM w",
		w+"SELECT * LIKE '"+g.pick("k", "%j%", "_")+"', unnest([k, c, 1]) AS u FROM w",
		w+"SELECT j, unnest("+g.pick("list(k)", "max(c, 2)", "[min(k), sum(c)]", "map_keys(histogram(k))")+") AS e, count(*) AS n FROM w GROUP BY j",
		w+"SELECT j, unnest({'a': k, 'b': "+g.pick("{'c': c}, 'd': j}", "NULL::STRUCT(c INTEGER)}", "{'c': [c]}}")+", recursive := true) FROM w",
		w+"SELECT * FROM w WHERE (k, j) IN ((1, 2), (3, c), (j, k),) OR c = ANY([2, j])",
		w+"SELECT * FROM w WHERE (c, k) "+g.pick("=", "<>", "IS DISTINCT FROM")+" (j, 2)",
		w+"SELECT i, c, count_if(j > 1) AS n, sem(k) AS s, regr_sxx(k, c) AS x "+
			"FROM w RIGHT JOIN range("+g.pick("5", "-3, 4", "9, 0, -2")+") r(i) ON i = "+g.pick("k", "j + 1")+" GROUP BY i, c",
		w+"SELECT o.j, "+g.pick("(SELECT sum(o.k) + count(*) FROM w WHERE w.k = o.j)", "min(c) IN (SELECT k FROM w)",
			"row_number() OVER (ORDER BY o.j) NOT IN (SELECT c FROM w WHERE k > 3)")+" AS v FROM w o GROUP BY o.j",
		w+"FROM w QUALIFY rank() OVER (PARTITION BY j ORDER BY k, c) "+
			g.pick("= 1", "> ALL (SELECT j FROM w)", "IN (SELECT c FROM w)"),
		w+"SELECT k, sum(c) OVER v AS s, count(*) OVER u AS n FROM w WINDOW u AS (PARTITION BY j), v AS (u ORDER BY k, c)")
}

// inner writes a statement with a column v that reads columns of the table o around it. Below a set operation and below
// DISTINCT a group of no rows is missing in DuckDB 2.0.0: mayBeEmpty allows one.
func (g *sqlGenerator) inner(depth int, mayBeEmpty bool) string {
	read := g.pick("o.k", "o.j", "o.c")
	by := " GROUP BY w.k"
	if mayBeEmpty && g.IntN(2) == 0 {
		by = ""
	}
	plain := g.pick(
		"SELECT c AS v FROM w WHERE w.k = "+read,
		"SELECT c AS v FROM w WHERE w.j > "+read+" AND w.k < 6",
		"SELECT "+read+" AS v",
		"SELECT v FROM (VALUES (o.k), (o.c), (2)) t(v)",
		"SELECT unnest(["+read+", 3, o.j]) AS v",
		"SELECT max(c) AS v FROM w WHERE w.j = "+read+by,
		"SELECT count(*) AS v FROM w WHERE w.k = "+read+" AND w.c > o.j"+by,
		"SELECT j AS v FROM w WHERE w.k = "+read+" GROUP BY j HAVING count(*) > 1")
	if depth == 0 {
		return plain
	}
	kind := g.IntN(12)
	mayBeEmpty = mayBeEmpty && kind > 1 && kind != 6
	below := func() string { return "(" + g.inner(depth-1, mayBeEmpty) + ")" }
	switch kind {
	case 0, 1:
		sets := g.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL", "UNION BY NAME")
		return below() + " " + sets + " " + below()
	case 2:
		return "SELECT v FROM " + below() + " b WHERE v " + g.pick(">", "<=", "<>") + " " + read
	case 3:
		return "WITH z AS " + below() + " SELECT a.v FROM z a " + g.pick("JOIN", "LEFT JOIN", "SEMI JOIN") + " z b USING (v)"
	case 4:
		return "SELECT " + g.pick("count(*)", "sum(v)", "max(v)", "count(DISTINCT v)") + " AS v FROM " + below() + " b" + strings.Replace(by, "w.k", "v", 1)
	case 5:
		return "SELECT v FROM " + below() + " b ORDER BY v LIMIT " + g.pick("1", "2", "3 OFFSET 1")
	case 6:
		return "SELECT DISTINCT v FROM " + below() + " b"
	case 7:
		return "WITH RECURSIVE r(v) AS (SELECT " + g.pick("o.j", "1", "o.k % 3") + g.pick(" UNION ", " UNION ALL ") +
			"SELECT v + 1 FROM r WHERE v < " + g.pick("o.c", "4", "o.j + 2") + ") SELECT v FROM r"
	case 8:
		return "SELECT v FROM (SELECT v, row_number() OVER (ORDER BY v) AS n FROM " + below() + " b) b WHERE n < 3"
	case 9:
		return "SELECT b.v FROM " + below() + " b " + g.pick("JOIN", "LEFT JOIN") + " w ON w.k = b.v AND w.j = " + g.pick("2", "o.j")
	case 10:
		return "SELECT b.v FROM w, " + below() + " b WHERE w.k = b.v AND w.c IS NOT NULL"
	}
	return plain
}
