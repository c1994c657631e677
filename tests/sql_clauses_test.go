package tests

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/tests/peer"
)

// clauseTable has values that come often and rarely, in no order, and NULLs in what orders them.
const clauseTable = `SELECT * FROM (VALUES
	(1, 30, 3, 'b', true, 2.5), (1, 10, 1, 'a', true, 1.0), (1, 20, NULL, 'd', false, 0.5), (2, 10, 9, 'c', true, -1.0), (1, 20, 8, 'e', false, 4.0),
	(2, 40, 2, 'b', false, 3.5), (2, 40, NULL, 'a', true, 9.0), (2, 10, 5, 'f', true, 7.25), (1, 10, 7, 'f', false, 6.0), (2, 30, 6, 'c', true, 8.0)) v(g, y, z, s, b, d)`

// callsOfAggregates are calls of every aggregate, between whose arguments and ) a clause may stand.
var callsOfAggregates = map[query.Func]string{
	query.CountStar: "count(*", query.Count: "count(y", query.Sum: "sum(y", query.Min: "min(y", query.Max: "max(s", query.Avg: "avg(y",
	query.VarSamp: "var_samp(y", query.VarPop: "var_pop(y", query.StddevSamp: "stddev_samp(y", query.StddevPop: "stddev_pop(y",
	query.BoolAnd: "bool_and(b", query.BoolOr: "bool_or(b", query.BitAnd: "bit_and(y", query.BitOr: "bit_or(y", query.BitXor: "bit_xor(y",
	query.First: "first(s", query.Last: "last(s", query.AnyValue: "any_value(s", query.CountDistinct: "count(DISTINCT s",
	query.ApproxCountDistinct: "approx_count_distinct(s", query.Median: "median(y", query.QuantileCont: "quantile_cont(y, 0.3",
	query.QuantileDisc: "quantile_disc(y, 0.3", query.Mode: "mode(s", query.Corr: "corr(y, d", query.CovarSamp: "covar_samp(y, d", query.CovarPop: "covar_pop(y, d",
	query.RegrSlope: "regr_slope(y, d", query.RegrIntercept: "regr_intercept(y, d", query.RegrR2: "regr_r2(y, d", query.ArgMin: "arg_min(s, y",
	query.ArgMax: "arg_max(s, y", query.MinN: "min(y, 2", query.MaxN: "max(y, 2", query.StringAgg: "string_agg(s, '-'", query.List: "list(s",
	query.Skewness: "skewness(y", query.Kurtosis: "kurtosis(y",
}

// clausesOfCalls are what may stand within a call and behind it. A call stands for its first argument.
var clausesOfCalls = []struct{ within, behind string }{
	{"", ""}, {"", " FILTER (WHERE z > 4)"}, {"", " FILTER (WHERE false)"}, {" ORDER BY z", ""}, {" ORDER BY z DESC", ""},
	{" ORDER BY z NULLS FIRST", ""}, {" ORDER BY z DESC NULLS FIRST", ""}, {" ORDER BY g DESC, z", ""}, {" ORDER BY -z", " FILTER (WHERE z <> 9)"},
	{" ORDER BY FIRST", ""}, {" ORDER BY FIRST DESC", ""}, {" ORDER BY FIRST DESC NULLS FIRST, z", ""}, {" ORDER BY z COLLATE nocase", ""},
	{" ORDER BY 1", ""}, {" ORDER BY ALL", ""}, {" ORDER BY sum(z)", ""}, {"", " OVER ()"}, {"", " WITHIN GROUP (ORDER BY y DESC)"}, {" LIMIT 2", ""},
}

// refusedByChoice are clauses that DuckDB takes and mpga refuses, each in words that say so.
var refusedByChoice = []string{"is of its values in their own order", "a constant orders nothing", "not supported", "syntax error",
	"an aggregate function in ORDER BY within another", "ORDER BY beside DISTINCT takes", "no function is named columns"}

// Would catch a clause within an aggregate that is read and ignored: every clause that a call may have is
// put in the calls of all aggregates. The answer is DuckDB's, which another clause changes, or the
// statement is refused.
func TestSQLClausesOfAggregates(t *testing.T) {
	s := openSQL(t)
	s.add(t, "t", clauseTable)
	matters := 0
	for _, f := range query.Funcs() {
		call, ok := callsOfAggregates[f]
		if !ok {
			t.Errorf("no call of %s", f)
			continue
		}
		_, args, _ := strings.Cut(call, "(")
		first, _, _ := strings.Cut(strings.TrimPrefix(args, "DISTINCT "), ",")
		calls := []string{call}
		if f != query.CountStar && f != query.CountDistinct {
			calls = append(calls, strings.Replace(call, "(", "(DISTINCT ", 1))
		}
		for _, call := range calls {
			var without [][]any
			for i, c := range clausesOfCalls {
				if c.within == "" && strings.Contains(call, "(DISTINCT") && (f == query.List || f == query.StringAgg) {
					continue // which DuckDB has in some order
				}
				text := "SELECT g, " + call + strings.Replace(c.within, "FIRST", first, 1) + ")" + c.behind + " AS x FROM t GROUP BY g ORDER BY g"
				want := s.checkClause(t, text)
				if i == 0 {
					without = want
				} else if want != nil && !reflect.DeepEqual(want, without) {
					matters++
				}
			}
		}
	}
	if matters < 100 {
		t.Errorf("%d clauses change an answer: the table tells too few of them apart", matters)
	}
}

// checkClause holds mpga to DuckDB's answer, which it returns, or to a refusal.
func (s *sqlTables) checkClause(t *testing.T, text string) [][]any {
	t.Helper()
	want, wantErr := s.theirs(text)
	if wantErr != nil && s.python != nil && !errors.As(wantErr, new(*peer.EngineError)) {
		t.Fatalf("%s\n%v", text, wantErr)
	}
	got, err := s.ours(text)
	switch {
	case err == nil && wantErr != nil:
		t.Errorf("%s\nDuckDB has the error %v, mpga the answer %s", text, wantErr, shortly(got))
	case err == nil:
		if err := sameCells(want, got, true); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	case wantErr == nil:
		known := false
		for _, words := range refusedByChoice {
			known = known || strings.Contains(err.Error(), words)
		}
		if !known {
			t.Errorf("%s\nDuckDB answers %s, mpga has the error %v", text, shortly(want), err)
		}
	}
	return want
}

// Would catch a clause of a statement that is read and ignored. Each is put behind the same statement; where
// it changes DuckDB's answer, it changes mpga's alike, or is refused.
func TestSQLClausesOfStatements(t *testing.T) {
	s := openSQL(t)
	s.add(t, "t", clauseTable)
	const rows, groups = "SELECT %s g, y, s FROM %s t %s ORDER BY y, s, g %s", "SELECT g, count(*) AS n FROM t GROUP BY %s g %s ORDER BY g %s"
	for _, text := range []string{
		fmt.Sprintf(rows, "", "", "", ""), fmt.Sprintf(rows, "DISTINCT", "", "", ""), fmt.Sprintf(rows, "ALL", "", "", ""), fmt.Sprintf(rows, "DISTINCT ON (y)", "", "", ""),
		fmt.Sprintf(rows, "", "ONLY", "", ""), fmt.Sprintf(rows, "", "", "TABLESAMPLE BERNOULLI (100)", ""), fmt.Sprintf(rows, "", "", "TABLESAMPLE reservoir(3000 ROWS)", ""),
		fmt.Sprintf(rows, "", "", "AS u(a, b)", ""), fmt.Sprintf(rows, "", "", "WHERE y > 10", ""), fmt.Sprintf(rows, "", "", "CROSS JOIN t AS u", ""),
		fmt.Sprintf(rows, "", "", "QUALIFY true", ""), fmt.Sprintf(rows, "", "", "WINDOW w AS ()", ""),
		fmt.Sprintf(rows, "", "", "", "LIMIT 3"), fmt.Sprintf(rows, "", "", "", "LIMIT 3 OFFSET 2"), fmt.Sprintf(rows, "", "", "", "OFFSET 8"), fmt.Sprintf(rows, "", "", "", "LIMIT 0"),
		fmt.Sprintf(rows, "", "", "", "LIMIT ALL"), fmt.Sprintf(rows, "", "", "", "LIMIT NULL"), fmt.Sprintf(rows, "", "", "", "LIMIT 30%"), fmt.Sprintf(rows, "", "", "", "LIMIT -1"),
		fmt.Sprintf(rows, "", "", "", "FETCH FIRST 2 ROWS ONLY"), fmt.Sprintf(rows, "", "", "", "FETCH FIRST 2 ROWS WITH TIES"), fmt.Sprintf(rows, "", "", "", "FETCH FIRST ROW ONLY"),
		fmt.Sprintf(rows, "", "", "", "FOR UPDATE"), fmt.Sprintf(rows, "", "", "", "FOR SHARE SKIP LOCKED"), fmt.Sprintf(rows, "", "", "", "USING SAMPLE 3000"),
		fmt.Sprintf(groups, "", "", ""), fmt.Sprintf(groups, "DISTINCT", "", ""), fmt.Sprintf(groups, "", "HAVING count(*) > 5", ""),
		fmt.Sprintf(groups, "", "HAVING sum(y) FILTER (WHERE z > 4) > 50", ""), fmt.Sprintf(groups, "", "", "DESC"), fmt.Sprintf(groups, "", "", "NULLS FIRST"),
		"SELECT z FROM t ORDER BY z NULLS FIRST", "SELECT z FROM t ORDER BY z DESC NULLS FIRST", "SELECT z FROM t ORDER BY z NULLS LAST", "SELECT z FROM t ORDER BY z DESC",
		"SELECT s FROM t ORDER BY s COLLATE nocase", "SELECT s COLLATE nocase FROM t ORDER BY 1", "SELECT y FROM t ORDER BY y USING >", "SELECT s, y FROM t ORDER BY ALL DESC NULLS FIRST",
		"SELECT g, y, count(*) FROM t GROUP BY ROLLUP (g, y) ORDER BY ALL", "SELECT g, y, count(*) FROM t GROUP BY DISTINCT ROLLUP (g, y), ROLLUP (g, y) ORDER BY ALL",
		"SELECT count(*) FROM t GROUP BY (g, y) ORDER BY 1", "WITH q AS (SELECT y FROM t) SELECT y FROM q ORDER BY y", "WITH q AS MATERIALIZED (SELECT y FROM t) SELECT y FROM q ORDER BY y",
		"WITH q AS NOT MATERIALIZED (SELECT y FROM t) SELECT y FROM q ORDER BY y", "WITH q(a) AS (SELECT y FROM t) SELECT a FROM q ORDER BY a", "WITH RECURSIVE q AS (SELECT y FROM t) SELECT y FROM q ORDER BY y",
		"SELECT u.y FROM t AS u ORDER BY u.y", "SELECT a FROM (SELECT y FROM t) AS u(a) ORDER BY a", "SELECT y FROM LATERAL (SELECT y FROM t) ORDER BY y", "SELECT y INTO x FROM t",
		"SELECT y FROM t UNION ALL SELECT y FROM t ORDER BY 1", "VALUES (1)", "TABLE t", "SELECT * EXCLUDE (g, z) FROM t ORDER BY ALL", "SELECT * REPLACE (1 AS g) FROM t ORDER BY ALL",
		"SELECT COLUMNS('y') FROM t ORDER BY ALL", "FROM t ORDER BY ALL", "SELECT y, FROM t ORDER BY y", "SELECT y a FROM t ORDER BY a", "SELECT CAST(d AS DECIMAL(4, 1)) FROM t ORDER BY 1", "SELECT CAST(s AS VARCHAR(1)) FROM t ORDER BY 1",
	} {
		s.checkClause(t, text)
	}
}
