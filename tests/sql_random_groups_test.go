package tests

import (
	"fmt"
	"strings"
)

// aggregate writes an aggregate, of all values or of each once, of all rows or of some, over any
// columns.
func (g *sqlGenerator) aggregate() string {
	distinct := g.pick("", "", "DISTINCT ")
	switch g.IntN(15) {
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
	case 13:
		return g.overList(distinct)
	}
	return "sum(" + distinct + g.exact() + ")" + g.filter()
}

// overList writes an aggregate that is an expression of the list of the values.
func (g *sqlGenerator) overList(distinct string) string {
	call := g.pick("mad("+distinct+g.pick("si", "i", "ti"), "entropy("+distinct+g.pick("i % 5", "s", "b"),
		"product("+distinct+g.pick("i % 2", "ti % 3"), "kurtosis_pop("+distinct+g.pick("si", "id"),
		"histogram("+distinct+g.pick("i % 5", "s", "dt"), "histogram("+distinct+"si, [0, 10, 1000]",
		"histogram_exact("+distinct+g.pick("i % 5, [3, 0]", "s, ['Ulm', 'a']", "dt, [DATE '1990-01-01']"),
		"quantile_disc("+distinct+g.pick("si", "p", "dt")+", [0.9, 0.1]", "quantile_cont("+distinct+"si, [0, 0.5]",
		"arg_max(id, id, 3", "arg_min(s, id, 2", "max(to_months(i % 7) + to_days(si % 20)")
	return "CAST(" + call + ")" + g.filter() + " AS " + g.typeOfList(call) + ")"
}

// typeOfList returns the type as which a result is compared: numbers as such, and others as texts.
func (g *sqlGenerator) typeOfList(call string) string {
	for _, name := range []string{"mad(", "entropy(", "product(", "kurtosis_pop("} {
		if strings.HasPrefix(call, name) {
			return "DOUBLE"
		}
	}
	return "VARCHAR"
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
	if g.IntN(4) == 0 { // distinct values of several columns, beside each other
		items = append(items, "count(DISTINCT "+g.key()+")"+g.filter())
		items = append(items, g.pick("sum", "avg")+"(DISTINCT "+g.exact()+")"+g.filter())
	}
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
