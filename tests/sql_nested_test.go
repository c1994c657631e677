package tests

import "testing"

// Fields of structs are what they are to DuckDB, whatever is NULL around them, and so are the
// columns that are named as fields are.
func TestSQLStructs(t *testing.T) {
	s := openSQL(t)
	s.addGroups(t, "n", `SELECT r AS id, r % 10 AS "a.x",
		CASE WHEN r % 7 > 0 THEN {'x': CASE WHEN r % 5 > 0 THEN r % 100 END,
			'y': CASE WHEN r % 3 > 0 THEN {'city': CASE WHEN r % 11 > 0 THEN 'c' || (r % 13) END, 'day': DATE '2020-01-01' + CAST(r // 1000 AS INTEGER)} END} END AS a,
		{'Price': CAST(r % 997 AS DECIMAL(9, 2)), 'x.y': {'z': r % 4}} AS "Odd one", [r, r + 1] AS list
		FROM range(30000) t(r)`, 4096)
	for _, text := range []string{
		"SELECT a.y.city, count(*), sum(a.x), max(a.y.day) FROM n GROUP BY a.y.city",
		`SELECT a.x, sum("a.x"), count(a.x) FROM n WHERE a.x < 20 OR "a.x" = 3 GROUP BY a.x`,
		"SELECT (a).x AS k, min(id) FROM n WHERE (a).y.day BETWEEN DATE '2020-01-05' AND DATE '2020-01-06' GROUP BY k",
		"SELECT a['y']['city'] AS k, count(*) FROM n GROUP BY k HAVING count(*) > 1500",
		`SELECT "Odd one".price * 2 AS p, "Odd one"."x.y".z, count(*) FROM n GROUP BY ALL`,
		"SELECT count(*) FROM n WHERE a.y.city IS NULL AND a.x IS NOT NULL",
		"SELECT t.a.y.city, t.id FROM n t WHERE t.a.x = 7 AND t.a.y.city LIKE 'c1%'",
		"SELECT a.x, id FROM n a WHERE a.id < 50",
		"SELECT id FROM n WHERE a.y.city = 'c3' ORDER BY a.x DESC, id LIMIT 20",
		"SELECT city, sum(x) FROM (SELECT a.y.city, (a).x AS x FROM n WHERE id % 2 = 0) GROUP BY city",
		"SELECT a.y.day, a.x, count(*) FROM n GROUP BY ROLLUP (a.y.day, a.x)",
		"SELECT e, count(*), sum(id), max(a.y.city) FROM n, unnest(list) AS t(e) WHERE id < 9000 AND e > 5 GROUP BY e",
		"SELECT e, count(*) FROM (SELECT unnest(list) AS e FROM n WHERE a.x IS NULL) GROUP BY e",
		"SELECT id, unnest(list) FROM n WHERE id % 1000 = 1 ORDER BY unnest(list) DESC",
		"SELECT DISTINCT unnest(list) % 7 AS d FROM n",
		"SELECT k, sum(e) FROM (SELECT id % 10 AS k, unnest(list) AS e FROM n) WHERE e < 500 GROUP BY k",
		"SELECT k, count(*), sum(e) FROM (SELECT id % 3 AS k, list(id) AS ids FROM n GROUP BY k), unnest(ids) AS t(e) GROUP BY k",
		"SELECT count(*) FROM n, unnest(n.list) t(e) WHERE t.e = n.id",
		"SELECT max(unnest(list)) FROM n",
		"SELECT id FROM n WHERE unnest(list) = 1",
		"SELECT unnest(id) FROM n",
		"SELECT unnest(list), sum(id) FROM n",
		"SELECT a.nothing FROM n",
		"SELECT nothing.x FROM n",
	} {
		s.check(t, text)
	}
}
