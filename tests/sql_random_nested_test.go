package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
)

// nestedColumns are lists, structs and maps of the columns of mixedTable, with NULL and nothing at each level.
var nestedColumns = strings.Join([]string{
	"CASE WHEN i % 5 <> 0 THEN [i % 10, CAST(ti % 3 AS INTEGER)] WHEN b THEN [] END AS li",
	"[s, nullif(n, 'name 7'), left(s, 1)] AS ls",
	"CASE WHEN b THEN [[CAST(si % 4 AS INTEGER)], [], NULL] WHEN i > 0 THEN [[CAST(ti % 2 AS INTEGER), NULL]] END AS ll",
	"CASE WHEN si <> 3 THEN {'a': si % 5, 'b': s, 'c': d + 0} END AS st",
	"CASE WHEN dt IS NOT NULL THEN MAP {'x': i % 3, 'y': NULL} WHEN b THEN MAP([]::VARCHAR[], []::INTEGER[]) END AS mp",
	"[{'p': p, 'q': dt}, CASE WHEN b THEN {'p': CAST(1.5 AS DECIMAL(9, 2)), 'q': NULL} END] AS lp",
}, ", ")

// addNested makes tables with nestedColumns: nests of one file of DuckDB's, and nests2 of files of Parquet and Arrow
// that mpga has written.
func (s *sqlTables) addNested(t *testing.T) {
	t.Helper()
	s.addGroups(t, "nests", "SELECT *, "+nestedColumns+" FROM t", 2048)
	var files []string
	for _, part := range [][2]string{{"nests0.parquet", "id < 900"}, {"nests1.arrow", "id >= 900"}} {
		file := filepath.Join(s.dir, part[0])
		s.copyTo(t, "SELECT * FROM nests WHERE "+part[1]+" ORDER BY id", file, sink.Options{RowGroupRows: 200})
		files = append(files, file)
	}
	s.add(t, "nests2", "FROM nests")
	s.tables["nests2"] = plan.Table{Files: files}
}

// nests writes a table with nestedColumns: of a file, or made of the rows of any other table.
func (g *sqlGenerator) nests() string {
	if g.IntN(3) == 0 {
		return "(SELECT *, " + nestedColumns + " FROM " + g.table(1) + ")"
	}
	return g.pick("nests", "nests2")
}

// values writes a statement over lists, structs and maps.
func (g *sqlGenerator) values() string {
	where := g.pick("", " WHERE "+g.ofValue(1), " WHERE "+g.condition(1))
	value, other := g.value(2), g.value(1)
	order := g.pick("", " ORDER BY id", " ORDER BY "+g.value(1)+g.pick("", " DESC")+g.pick("",
		" NULLS FIRST")+", id LIMIT 30")
	switch g.IntN(9) {
	case 0:
		return "SELECT id, " + value + " AS c1, " + g.part(2) + " AS c2 FROM " + g.nests() + where + order
	case 1:
		return "SELECT DISTINCT " + value + " AS c0, " + g.pick("b", "si % 3",
			g.value(0)) + " AS c1 FROM " + g.nests() + where
	case 2:
		one := func() string {
			return "SELECT " + value + " AS c0, si % 3 AS c1 FROM " + g.nests() + g.pick("", " WHERE id < 700",
				" WHERE id > 600")
		}
		return one() + g.pick(" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ",
			" EXCEPT ALL ") + one()
	case 3:
		return g.partners()
	case 4:
		over := " OVER (PARTITION BY " + g.pick("si % 7", other) + " ORDER BY " + g.value(0) + g.pick("", " DESC") + ", id)"
		call := g.pick("rank()", "lag("+value+")", "max("+value+")", "first_value("+value+")", "count("+value+")",
			"lead("+value+", 2)")
		return "SELECT id, " + call + over + " AS c1 FROM " + g.nests() + where + g.pick("",
			" QUALIFY row_number()"+over+" < 3")
	case 5:
		of := g.pick("li", "ls", "ll", "lp", "map_values(mp)", g.ints(1), g.texts(1))
		return g.pick("SELECT id, unnest("+of+") AS u, unnest("+g.ints(1)+") AS v FROM "+g.nests()+where,
			"SELECT id, u FROM "+g.nests()+", unnest("+of+") AS w(u)"+where,
			"SELECT u, count(*) AS n, min(id) AS m FROM (SELECT id, unnest("+of+") AS u FROM "+g.nests()+where+") GROUP BY u")
	case 6:
		z := "FROM (SELECT id AS zid, li AS zli, st AS zst, mp AS zmp, ls AS zls FROM " + g.nests() + ") z"
		return "SELECT id, " + g.pick(
			"(SELECT sum(u) FROM (SELECT unnest("+g.ints(1)+") AS u) v)",
			"(SELECT count(*) FROM unnest("+g.ints(1)+") w(u) WHERE u > si % 3)",
			"(SELECT max(zst) "+z+" WHERE zli = li)",
			"(SELECT count(*) "+z+" WHERE zst.a = st.a AND zid < 100)",
			"li IN (SELECT zli "+z+" WHERE zid < 300)",
			"EXISTS (SELECT 1 "+z+" WHERE zmp = mp AND zls[1] = ls[1])") + " AS c1 FROM " + g.nests() + " x" + where
	}
	call := g.pick("count(DISTINCT "+other+")", "min("+other+")", "max("+other+")",
		"any_value("+other+" ORDER BY id)", "count("+other+")",
		"arg_max("+other+", id)", "list("+other+" ORDER BY id)", "arg_min(id, {'v': ti, 'i': id})",
		"sum(list_sum(li))", "sum("+g.part(1)+" % 10)")
	return "SELECT " + value + " AS c0, count(*) AS c1, " + call + g.filter() + " AS c2 FROM " + g.nests() + where +
		g.pick(" GROUP BY 1", " GROUP BY 1 HAVING count(*) > 2", " GROUP BY ROLLUP (1)")
}

// partners writes a join by lists, structs or maps, or of rows that have them.
func (g *sqlGenerator) partners() string {
	side := func(most string) string {
		return "(SELECT id, si, li, ls, st, mp, lp FROM " + g.nests() + " WHERE id < " + most + ")"
	}
	on := g.pick("x.li = y.li", "x.st = y.st", "x.mp = y.mp AND x.si = y.si", "x.ls IS NOT DISTINCT FROM y.ls",
		"x.id = y.id", "x.id = y.id * 2",
		"x.st.b = y.ls[1] AND x.si < y.si", "x.lp = y.lp AND x.id < y.id + 500")
	kind := g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	items := g.pick("len(y.li) AS c2, list_append(x.li, y.si) AS c3", "y.st AS c2, x.st.b AS c3",
		"y.mp['x'] AS c2, x.ls AS c3", "y.lp[1].q AS c2, y.ls AS c3")
	return "SELECT x.id, y.id AS i2, " + items + " FROM " + side("250") + " x " + kind + " " + side("200") + " y ON " + on
}

// value writes a list, a struct or a map.
func (g *sqlGenerator) value(depth int) string {
	if depth == 0 {
		return g.pick("li", "ls", "ll", "st", "mp", "lp")
	}
	switch g.IntN(7) {
	case 0:
		return g.ints(depth)
	case 1:
		return g.texts(depth)
	case 2:
		return "{'k': " + g.part(depth-1) + ", 'v': " + g.value(depth-1) + "}"
	case 3:
		return "[" + g.pick("st, NULL", "mp", "ls, "+g.texts(depth-1), "li, "+g.ints(depth-1)) + "]"
	case 4:
		return "coalesce(" + g.pick("mp, MAP {'z': 7}", "st, {'a': 1::SMALLINT, 'b': 'x', 'c': 0.5::DOUBLE}",
			"li, "+g.ints(depth-1)) + ")"
	case 5:
		return g.pick("lp[1]", "ll[1]", "map_keys(mp)", "map_entries(mp)", "lp[2:]",
			"CASE WHEN "+g.condition(0)+" THEN st END",
			"list_transform(lp, lambda e: e.q)", "list_zip(li, ls)", "CAST(st AS STRUCT(a BIGINT, b VARCHAR, c VARCHAR))")
	}
	return g.value(0)
}

// ints writes a list of INTEGER.
func (g *sqlGenerator) ints(depth int) string {
	if depth == 0 {
		return g.pick("li", "ll[1]", "[i % 4, NULL]", "map_values(mp)")
	}
	a := g.ints(depth - 1)
	return g.pick(a, "list_sort("+a+g.pick("", ", 'DESC'")+")", "list_reverse("+a+")",
		"list_filter("+a+", lambda e: e "+g.pick("> 1", "% 2 = 0", "IS NOT NULL")+")",
		"list_transform("+a+", lambda e, j: e % 7 + CAST(j AS INTEGER))", "[e % 3 FOR e IN "+a+" IF e <> 2]",
		"flatten(ll)", "("+a+")[1:2]", "("+a+")[:-:-1]",
		"list_resize("+a+", 3, 9)", "list_sort(list_distinct("+a+"))", "("+a+" || "+g.ints(0)+")",
		"invoke(lambda x, y: list_append(x, y), "+a+", i % 5)")
}

// texts writes a list of VARCHAR.
func (g *sqlGenerator) texts(depth int) string {
	if depth == 0 {
		return g.pick("ls", "[s, 'a']", "map_keys(mp)", "string_split(s, 'a')", "map_values(st::MAP(VARCHAR, VARCHAR))")
	}
	a := g.texts(depth - 1)
	return g.pick(a, "list_transform("+a+", lambda e: upper(e))", "list_sort("+a+")", "list_concat("+a+", ['x'])",
		"CAST("+g.ints(depth-1)+" AS VARCHAR[])",
		"list_filter("+a+", lambda e: e < 'n')", "list_transform(lp, lambda e: CAST(e.p AS VARCHAR))")
}

// part writes a whole number that is made of a nested value.
func (g *sqlGenerator) part(depth int) string {
	return g.pick("st.a", "mp['x']", "li[1]", "ll[1][1]", "len("+g.texts(depth)+")", "len("+g.ints(depth)+")",
		"list_position("+g.ints(depth)+", 1)",
		"list_max("+g.ints(depth)+")", "length(ls[2])", "cardinality(mp)", "length(st.b)", "list_unique(ls)")
}

// ofValue writes a condition on a nested value.
func (g *sqlGenerator) ofValue(depth int) string {
	compare := g.pick(" = ", " <> ", " < ", " >= ", " IS DISTINCT FROM ")
	return g.pick("list_contains("+g.ints(depth)+", 1)", "li"+compare+g.ints(depth), "ls"+compare+g.texts(depth),
		"st"+compare+"{'a': 2::SMALLINT, 'b': 'b', 'c': 1.5::DOUBLE}",
		"st IS NULL", "mp"+compare+"MAP {'x': 1, 'y': NULL}", "st.b = 'Ulm'", "li IN ([1, 0], [2, NULL], [])",
		"list_has_any(ls, ['a', 'Ulm'])",
		g.part(depth)+" "+g.pick("=", "<>", "<", ">=")+g.pick(" ANY(", " ALL(")+g.ints(depth)+")",
		g.part(depth)+" > 1", "lp[1].q < DATE '1990-01-01'")
}
