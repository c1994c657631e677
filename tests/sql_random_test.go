package tests

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/tests/peer"
)

var (
	sqlQueriesFlag = flag.Int("sqlqueries", 150, "how many random statements are asked")
	sqlDeviceFlag  = flag.String("sqldevice", "", "the device that mpga answers statements on, as host:64MiB, cuda or auto")
	sqlJoinFlag    = flag.String("sqljoin", "", "the algorithm of the papers that makes the pairs of joins there, as phj-tr")
)

// Random statements of the supported grammar answer as DuckDB's. -seed, -first and -sqlqueries ask
// others and more; a failure tells how to ask its statement alone.
func TestSQLRandom(t *testing.T) {
	seed, first, failures := *seedFlag, *firstFlag, 0
	fmt.Printf("again: go test -run '^%s$' -seed=%d -first=%d -sqlqueries=%d\n", t.Name(), seed, first, *sqlQueriesFlag)
	s := openSQL(t)
	s.add(t, "t", mixedTable)
	// Of row groups that conditions on dt leave out.
	s.addGroups(t, "u", "SELECT t.* REPLACE (id + 3000 * k AS id) FROM t, range(4) r(k) ORDER BY dt, id", 2048)
	s.addLayouts(t)
	s.addNested(t)
	answered := 0
	for i := first; i < first+*sqlQueriesFlag; i++ {
		g := &sqlGenerator{rand.New(rand.NewPCG(seed, uint64(i)))}
		text := g.statement()
		s.without, s.spills = g.rulesOff(), i%4 == 1
		want, err := s.theirs(text)
		if s.python != nil && err != nil && !errors.As(err, new(*peer.EngineError)) {
			t.Fatalf("%s\n%v", text, err)
		}
		if err != nil {
			continue // an overflow, which depends on the rows that an expression is evaluated for
		}
		answered++
		mistake, err := s.holdTo(text, want)
		if verb := []string{"EXPLAIN ", "EXPLAIN ANALYZE "}[i%2]; err == nil && mistake == nil && i%8 < 2 {
			_, err = s.ours(verb + text)
		}
		if mistake != nil {
			t.Logf("%s\nDuckDB answers so with its optimizer, and as mpga does without: %v", text, mistake)
		}
		if err != nil {
			t.Errorf("%s\nwithout %q: %v\nagain: go test -run TestSQLRandom -seed=%d -first=%d -sqlqueries=1", text, s.without, err, seed, i)
			const failuresMax = 20
			if failures++; failures == failuresMax {
				t.FailNow()
			}
		}
	}
	t.Logf("%d of %d statements have an answer", answered, *sqlQueriesFlag)
	if answered < *sqlQueriesFlag/3 && *sqlQueriesFlag >= 20 {
		t.Errorf("%d of %d statements have an answer: the generator makes too many errors", answered, *sqlQueriesFlag)
	}
}

// randomTables are the tables of random statements: mixedTable, four times as many rows in small row groups, and
// mixedTable in other files, as addLayouts says.
var randomTables = []string{"t", "t", "u", "folders", "mixed", "texts"}

// addLayouts makes tables of the rows of t that mpga reads from other files than DuckDB does: from folders that give
// the column ti, from files of Parquet and Arrow together, and from packed CSV.
func (s *sqlTables) addLayouts(t *testing.T) {
	t.Helper()
	folders := filepath.Join(s.dir, "folders")
	s.exec(t, "COPY (SELECT * REPLACE (ti % 3 AS ti, ts::TIMESTAMP_MS AS ts) FROM t) TO '"+folders+"' (FORMAT parquet, PARTITION_BY (ti))")
	s.add(t, "folders", "SELECT * FROM read_parquet('"+folders+"/*/*.parquet', hive_partitioning = true)")
	s.tables["folders"] = plan.Table{Files: []string{folders}}

	whole := s.tables["t"]
	var mixed []string
	for i, where := range []string{"id < 900", "id BETWEEN 900 AND 2100", "id > 2100"} {
		file := filepath.Join(s.dir, fmt.Sprintf("mixed%d.%s", i, []string{"parquet", "arrow", "arrows"}[i]))
		s.copyTo(t, "SELECT * FROM t WHERE "+where+" ORDER BY id", file, sink.Options{RowGroupRows: 200})
		mixed = append(mixed, file)
	}
	s.add(t, "mixed", "FROM t")
	s.tables["mixed"] = plan.Table{Files: mixed}

	file := filepath.Join(s.dir, "texts.csv.gz")
	s.copyTo(t, "SELECT * FROM t ORDER BY id", file, sink.Options{})
	types := map[string]arrow.DataType{}
	for _, f := range openFiles(t, dataset.Options{}, whole.Files[0]).Schema().Fields() {
		types[f.Name] = f.Type
	}
	s.add(t, "texts", "FROM t")
	s.tables["texts"] = plan.Table{Files: []string{file}, Scan: &dataset.Options{CSV: csv.Options{Types: types}}}
}

// sqlGenerator writes statements over mixedTable.
type sqlGenerator struct{ *rand.Rand }

// rulesOff returns rules to plan without: none for half of the statements, all for some.
func (g *sqlGenerator) rulesOff() (off []plan.Rule) {
	share := []int{0, 0, 0, 2, 4, 8}[g.IntN(6)]
	for _, rule := range plan.Rules {
		if g.IntN(8) < share {
			off = append(off, rule)
		}
	}
	return off
}

// columns are those of mixedTable that a statement may have anywhere.
var columns = []string{"id", "i", "l", "si", "ti", "ui", "ub", "d", "f", "p", "q", "w", "s", "n", "b", "dt", "ts"}

func (g *sqlGenerator) statement() string {
	switch g.IntN(10) {
	case 3:
		return g.windows()
	case 0:
		return g.rows()
	case 1:
		return g.nested()
	case 2:
		if g.IntN(3) == 0 {
			return g.laterals()
		}
		return g.sets()
	case 4:
		if g.IntN(2) == 0 {
			return g.recursive()
		}
		return g.shared()
	case 5:
		if g.IntN(2) == 0 {
			return g.starred()
		}
		return g.pivoted()
	case 6:
		return g.around()
	case 7:
		return g.values()
	}
	return g.groups()
}
