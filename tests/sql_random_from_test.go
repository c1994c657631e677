package tests

import (
	"slices"
	"strings"
)

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
		second := "SELECT " + strings.Join(byName, ", ") + " FROM " + g.table(0) + high
		ordered := "(" + second + " ORDER BY " + g.pick("1", "id", "#2") + ")"
		return "(" + one(low) + union + "BY NAME " + g.pick(second, ordered) + ")"
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
		items[0] = "coalesce(x.id, y.id + 100000) AS id" // both stand alone where only the second condition fails
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
