package main

import (
	"fmt"
	"strings"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/tests/h2o"
)

// benchCase is one row of the result: a query of a table, asked of every engine.
type benchCase struct {
	name   string
	wanted float64 // DuckDB's time / mpga's, at least; 0 for what only counts in a mean
	input  input
	query  query.Query
	sql    string // the same of the table t
	known  bool   // mpga is told the range of the key, as DuckDB always is
	limit  int64  // bytes of memory of a process of its own; 0 runs in this process without limit
}

// input is where a case's rows are. Cases of equal inputs that follow each other share it.
type input struct {
	table table // for H2O's, the number of rows alone
	kind  fileKind
}

// mean is a row with the geometric mean of the ratios of other rows.
type mean struct {
	prefix string // of the names of the other rows
	wanted float64
}

func (m mean) name() string { return m.prefix + "geometric mean" }

// h2oParquetPrefix and h2oCSVPrefix begin the names of H2O's cases.
const (
	h2oParquetPrefix = "H2O Parquet: "
	h2oCSVPrefix     = "H2O CSV: "
)

var means = []mean{{h2oParquetPrefix, 2}, {h2oCSVPrefix, 1.5}}

// limitBytes is the memory that both engines get in the case whose table is larger. mpga's process
// may pass it by the factor limitSlack.
const (
	limitBytes = 1 << 30
	limitSlack = 1.05
)

// cases lists the cases in the order of the report. Their tables have so many rows, H2O's table a
// tenth of them.
func cases(rows int64) []benchCase {
	l := caseList{rows: rows}
	of := func(groups int64) table { return l.table(groups, intKey, "", 1) }
	sum := []query.Aggregate{call(query.Sum, "v1")}

	l.add(benchCase{name: "10 groups, range known", wanted: 2, input: input{table: of(10)}, known: true}, sum)
	l.add(benchCase{name: "10 groups, range not known", wanted: 1, input: input{table: of(10)}}, sum)
	l.add(benchCase{name: "1e3 groups, range known", wanted: 2, input: input{table: of(1e3)}, known: true}, sum)
	l.add(benchCase{name: "1e3 groups, range not known", wanted: 1, input: input{table: of(1e3)}}, sum)
	l.add(benchCase{name: "1e5 groups", wanted: 2.5, input: input{table: of(1e5)}}, sum)
	l.add(benchCase{name: "1e6 groups", wanted: 4, input: input{table: of(1e6)}}, sum)
	l.add(benchCase{name: "1e7 groups", wanted: 5, input: input{table: of(1e7)}}, sum)
	l.add(benchCase{name: "5e7 groups", wanted: 5, input: input{table: of(5e7)}}, sum)

	seven := []query.Aggregate{call(query.CountStar), call(query.Sum, "v1"), call(query.Sum, "v2"), call(query.Sum, "v3"),
		call(query.Avg, "v1"), call(query.Min, "v2"), call(query.Max, "v3")}
	l.add(benchCase{name: "7 aggregates, 1e3 groups", wanted: 1, input: input{table: l.table(1e3, intKey, "", 3)}}, seven)
	l.add(benchCase{name: "7 aggregates, 1e6 groups", wanted: 2.5, input: input{table: l.table(1e6, intKey, "", 3)}}, seven)
	l.add(benchCase{name: "two int32 keys, 1e6 groups", wanted: 3, input: input{table: l.table(1e6, twoKeys, "", 1)}}, sum)
	l.add(benchCase{name: "string key, 1e3 groups", wanted: 1.5, input: input{table: l.table(1e3, stringKey, "", 1)}}, sum)
	l.add(benchCase{name: "string key, 1e6 groups", wanted: 1.5, input: input{table: l.table(1e6, stringKey, "", 1)}}, sum)
	l.add(benchCase{name: "10% NULL keys, 1e6 groups", wanted: 3, input: input{table: l.table(1e6, nullKeys, "", 1)}}, sum)
	l.add(benchCase{name: "Zipf 1.2, 1e6 groups", wanted: 2, input: input{table: l.table(1e6, intKey, gen.Zipf, 1)}}, sum)
	l.add(benchCase{name: "one key has half, 1e6 groups", wanted: 2, input: input{table: l.table(1e6, intKey, gen.Heavy, 1)}}, sum)

	strings := l.table(1e3, stringKey, "", 1)
	l.add(benchCase{name: "Parquet snappy: 1e6 groups", wanted: 2.5, input: input{of(1e6), snappy}}, sum)
	l.add(benchCase{name: "Parquet zstd: 1e6 groups", wanted: 2, input: input{of(1e6), zstd}}, sum)
	l.add(benchCase{name: "Parquet snappy: dictionary strings, 1e3 groups", wanted: 1.5, input: input{strings, snappy}}, sum)

	l.addH2O(h2oParquetPrefix, h2oParquet, 1)
	l.addH2O(h2oCSVPrefix, h2oCSV, 0)
	l.add(benchCase{name: "1 GiB of memory: 5e7 groups", wanted: 2, input: input{of(5e7), snappy}, limit: limitBytes}, sum)
	return l.cases
}

type caseList struct {
	rows  int64
	cases []benchCase
}

// table is a table of so many groups, or of as many as there are rows.
func (l *caseList) table(groups int64, keys keyShape, dist gen.Dist, values int) table {
	return table{rows: l.rows, groups: min(groups, l.rows), keys: keys, dist: dist, values: values}
}

// add adds a case that groups by the keys of its table.
func (l *caseList) add(c benchCase, aggregates []query.Aggregate) {
	if c.input.kind == inMemory {
		c.name = "memory: " + c.name
	}
	calls := make([]string, len(aggregates))
	for i, a := range aggregates {
		calls[i] = a.String()
	}
	keys := c.input.table.keyNames()
	c.query.Aggregates = aggregates
	for _, k := range keys {
		c.query.Keys = append(c.query.Keys, query.Key{Column: k})
	}
	c.sql = fmt.Sprintf("SELECT %s FROM t GROUP BY ALL", strings.Join(append(keys, calls...), ", "))
	l.cases = append(l.cases, c)
}

// addH2O adds H2O's ten questions.
func (l *caseList) addH2O(prefix string, kind fileKind, wanted float64) {
	for _, q := range h2o.Questions() {
		in := input{table: table{rows: l.rows / 10}, kind: kind}
		l.cases = append(l.cases, benchCase{name: prefix + q.Name, wanted: wanted, input: in, query: q.Query, sql: q.SQL})
	}
}

func call(f query.Func, args ...string) query.Aggregate { return query.Aggregate{Func: f, Args: args} }

// meanAfter returns the mean that follows case i of the list, if case i is the last case of the
// mean, and all cases of the mean are in the list.
func meanAfter(list []benchCase, i int) (mean, bool) {
	for _, m := range means {
		first := i + 1 - len(h2o.Questions())
		ends := i+1 == len(list) || !strings.HasPrefix(list[i+1].name, m.prefix)
		if ends && first >= 0 && strings.HasPrefix(list[i].name, m.prefix) && strings.HasPrefix(list[first].name, m.prefix) {
			return m, true
		}
	}
	return mean{}, false
}
