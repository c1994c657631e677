package tests

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// SUMMARIZE of random columns of every type says what DuckDB's says: names, types, extremes, means,
// counts and NULLs to the letter, or to 9 digits of a double; the number of distinct values within 5%.
// Quantiles, which DuckDB approximates, are where quantile_cont has them.
func TestSQLSummarize(t *testing.T) {
	s := openSQL(t)
	columns := map[string]string{
		"ti": "(random() * 200 - 100)::TINYINT", "i": "(random() * 2e9 - 1e9)::INTEGER", "b": "(random() * 2e15 - 1e15)::BIGINT",
		"ub": "(random() * 1e18)::UBIGINT", "f": "(random() * 1000 - 500)::FLOAT", "d": "random() * 1e6 - 5e5",
		"de": "(random() * 1000 - 500)::DECIMAL(10, 3)", "s": "'s' || (random() * 300)::INT", "bl": "('b' || (random() * 300)::INT)::BLOB",
		"da": "DATE '2020-01-01' + (random() * 3000)::INT", "tm": "TIME '00:00:00' + INTERVAL (random() * 86000) SECOND",
		"ts": "TIMESTAMP '2000-01-01' + INTERVAL (random() * 1e9) SECOND", "bo": "random() < 0.5",
	}
	for _, rows := range []int{0, 1, 2, 3000} {
		for _, nulls := range []float64{0, 0.3, 1} {
			var items []string
			for _, name := range slices.Sorted(maps.Keys(columns)) {
				items = append(items, fmt.Sprintf("CASE WHEN random() < %g THEN NULL ELSE %s END AS %s", nulls, columns[name], name))
			}
			s.exec(t, "SELECT setseed(0.5)")
			s.add(t, "t", fmt.Sprintf("SELECT %s FROM range(%d)", strings.Join(items, ", "), rows))
			want, err := s.theirs("SUMMARIZE t")
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.ours("SUMMARIZE t")
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d rows, want %d", len(got), len(want))
			}
			for i := range want {
				s.compareSummary(t, got[i], want[i])
			}
		}
	}
}

// compareSummary compares the rows of a column.
func (s *sqlTables) compareSummary(t *testing.T, got, want []any) {
	t.Helper()
	column := fmt.Sprint(want[0])
	for i, name := range []string{"name", "type", "min", "max", "unique", "avg", "std", "q25", "q50", "q75", "count", "nulls"} {
		alike := fmt.Sprint(got[i]) == fmt.Sprint(want[i])
		switch {
		case name == "unique":
			exact := s.number(t, fmt.Sprintf("SELECT count(DISTINCT %s)::DOUBLE FROM t", column))
			alike = math.Abs(parsed(got[i])-exact) <= exact/20
		case name == "avg" && strings.HasPrefix(fmt.Sprint(want[1]), "TIME"): // the double is a microsecond off, or is not
			alike = alike || strings.SplitN(fmt.Sprint(got[i]), ".", 2)[0] == strings.SplitN(fmt.Sprint(want[i]), ".", 2)[0]
		case name == "avg" || name == "std":
			alike = alike || math.Abs(parsed(got[i])-parsed(want[i])) <= 1e-9*math.Abs(parsed(want[i]))
		case name[0] == 'q' && got[i] != nil && got[6] != nil: // of a number: it has a deviation
			exact := s.number(t, fmt.Sprintf("SELECT quantile_cont(%s, %g)::DOUBLE FROM t", column, parsed(name[1:])/100))
			alike = math.Abs(parsed(got[i])-exact) <= 0.5+1e-9*math.Abs(exact)
		case name[0] == 'q':
			alike = (got[i] == nil) == (want[i] == nil)
		}
		if !alike {
			t.Errorf("%s of %s: got %v, want %v", name, column, got[i], want[i])
		}
	}
}

// number asks DuckDB for a double.
func (s *sqlTables) number(t *testing.T, text string) float64 {
	t.Helper()
	rows, err := s.theirs(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(rows[0][0])
}

// parsed returns the number that a cell is, or NaN.
func parsed(cell any) float64 {
	v, err := strconv.ParseFloat(fmt.Sprint(cell), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
