// Package h2o holds the ten group-by questions of H2O.ai's db-benchmark, as queries for mpga and as
// SQL for DuckDB.
package h2o

import "github.com/mpga/mpga/engine/query"

// Variants are the usual tables at a number of rows such as "1e7": few and many groups, sorted, and
// with NULLs.
func Variants(rows string) []string {
	var names []string
	for _, rest := range []string{"1e2_0_0", "1e1_0_0", "2e0_0_0", "1e2_0_1", "1e2_5_0"} {
		names = append(names, "G1_"+rows+"_"+rest)
	}
	return names
}

// Question is one of the ten.
type Question struct {
	Name  string
	Query query.Query

	// SQL asks DuckDB the same of the table t. It leaves out what both do on the result: q7
	// subtracts its two columns, q8 unnests the lists, q9 squares the correlation.
	SQL string
}

// Questions returns the ten, in order.
func Questions() []Question {
	return []Question{
		ask("q1", "sum(v1)", by("id1"), call(query.Sum, "v1")),
		ask("q2", "sum(v1)", by("id1", "id2"), call(query.Sum, "v1")),
		ask("q3", "sum(v1), avg(v3)", by("id3"), call(query.Sum, "v1"), call(query.Avg, "v3")),
		ask("q4", "avg(v1), avg(v2), avg(v3)", by("id4"), call(query.Avg, "v1"), call(query.Avg, "v2"), call(query.Avg, "v3")),
		ask("q5", "sum(v1), sum(v2), sum(v3)", by("id6"), call(query.Sum, "v1"), call(query.Sum, "v2"), call(query.Sum, "v3")),
		ask("q6", "median(v3), stddev_samp(v3)", by("id4", "id5"), call(query.Median, "v3"), call(query.StddevSamp, "v3")),
		ask("q7", "max(v1), min(v2)", by("id3"), call(query.Max, "v1"), call(query.Min, "v2")),
		ask("q8", "max(v3, 2)", by("id6"), query.Aggregate{Func: query.MaxN, Args: []string{"v3"}, Length: 2}),
		ask("q9", "corr(v1, v2)", by("id2", "id4"), call(query.Corr, "v1", "v2")),
		ask("q10", "sum(v3), count(*)", by("id1", "id2", "id3", "id4", "id5", "id6"), call(query.Sum, "v3"), call(query.CountStar)),
	}
}

func ask(name, sql string, keys []query.Key, aggregates ...query.Aggregate) Question {
	columns := ""
	for _, k := range keys {
		columns += k.Column + ", "
	}
	return Question{name, query.Query{Keys: keys, Aggregates: aggregates}, "SELECT " + columns + sql + " FROM t GROUP BY ALL"}
}

func by(columns ...string) []query.Key {
	keys := make([]query.Key, len(columns))
	for i, c := range columns {
		keys[i].Column = c
	}
	return keys
}

func call(f query.Func, args ...string) query.Aggregate { return query.Aggregate{Func: f, Args: args} }
