package tests

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	mpgasql "github.com/mpga/mpga/engine/sql"
)

// wanderingTable has columns whose values wander with the row, so that row groups have ranges of
// their own.
const wanderingTable = `SELECT i AS id, i // 7000 AS part, n::INTEGER AS i, (3000000000 + n)::UINTEGER AS u, n::BIGINT * 4000000000 AS l,
	CASE WHEN n % 19 = 3 THEN 'NaN'::DOUBLE WHEN n = 0 THEN -0.0::DOUBLE ELSE n / 2 END AS f, (n / 4)::DECIMAL(9, 2) AS d, (n * 1000000007)::DECIMAL(30, 5) AS w,
	DATE '2020-01-01' + n::INTEGER AS day, TIMESTAMP '2020-01-01' + INTERVAL (n) HOUR AS t, n > 0 AS b,
	chr((100 + n // 10)::INTEGER) || n AS s, CASE WHEN i % 3 = 0 THEN NULL ELSE (n % 5)::INTEGER END AS x, CASE WHEN i > 9000 THEN NULL ELSE n::SMALLINT END AS late
	FROM (SELECT i, (80 * sin(i / 1500.0) + hash(i) % 9)::BIGINT AS n FROM range(20000) r(i))`

// randomCondition returns text of a condition that readers may know something of.
func randomCondition(rng *rand.Rand) string {
	n := func() int { return rng.IntN(200) - 95 }
	literals := map[string]func() string{
		"id":   func() string { return fmt.Sprint(rng.IntN(20_000)) },
		"part": func() string { return fmt.Sprint(rng.IntN(4)) },
		"i": func() string {
			return []string{fmt.Sprint(n()), fmt.Sprint(n(), ".5"), fmt.Sprint(n(), "e0")}[rng.IntN(3)]
		},
		"u":    func() string { return fmt.Sprint(3_000_000_000 + n()) },
		"l":    func() string { return fmt.Sprint(int64(n())*4_000_000_000 + int64(rng.IntN(2))) },
		"f":    func() string { return []string{fmt.Sprint(n(), ".5"), "0.0", "'NaN'::DOUBLE"}[rng.IntN(3)] },
		"d":    func() string { return fmt.Sprintf("%d.%d", n()/4, rng.IntN(999)) },
		"w":    func() string { return fmt.Sprintf("%d.00000", int64(n())*1_000_000_007) },
		"day":  func() string { return fmt.Sprintf("DATE '2020-%02d-%02d'", 1+rng.IntN(4), 1+rng.IntN(28)) },
		"t":    func() string { return fmt.Sprintf("TIMESTAMP '2020-01-%02d %02d:00:00'", 1+rng.IntN(5), rng.IntN(24)) },
		"s":    func() string { return fmt.Sprintf("'%c%d'", 'd'+n()/10, n()) },
		"x":    func() string { return fmt.Sprint(rng.IntN(8) - 3) },
		"late": func() string { return fmt.Sprint(n()) },
	}
	names := []string{"id", "part", "i", "u", "l", "f", "d", "w", "day", "t", "s", "x", "late"}
	column := names[rng.IntN(len(names))]
	literal := literals[column]
	switch rng.IntN(9) {
	case 0:
		return column + [...]string{" IS NULL", " IS NOT NULL"}[rng.IntN(2)]
	case 1:
		return fmt.Sprintf("%s IN (%s, %s, NULL, %s)", column, literal(), literal(), literal())
	case 2:
		return fmt.Sprintf("%s BETWEEN %s AND %s", column, literal(), literal())
	case 3:
		return fmt.Sprintf("s LIKE '%c%%'", 'd'+n()/10)
	case 4:
		return fmt.Sprintf("(%s OR %s)", randomCondition(rng), randomCondition(rng))
	case 5:
		return fmt.Sprintf("NOT (%s)", randomCondition(rng))
	case 6:
		return [...]string{"b", "NOT b", "i % 7 = 2 AND b"}[rng.IntN(3)]
	}
	text := fmt.Sprintf("%s %s %s", column, [...]string{"=", "<>", "<", "<=", ">", ">="}[rng.IntN(6)], literal())
	if rng.IntN(4) == 0 {
		text = fmt.Sprintf("%s %s %s", literal(), [...]string{"=", "<>", "<", "<=", ">", ">="}[rng.IntN(6)], column)
	}
	return text
}

// What readers leave out for a condition changes no answer: of files that DuckDB has written, with
// Bloom filters or without, in folders or not.
func TestWhereAgainstDuckDB(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seedFlag, 21))
	s := openSQL(t)
	s.add(t, "written", wanderingTable)
	const table = "CREATE TABLE wandering AS FROM written" // of which DuckDB's own statistics of Parquet leave nothing out
	s.exec(t, table)
	if s.python != nil {
		if err := s.tell(table); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for i, opt := range []string{
		"ROW_GROUP_SIZE 2048, PARQUET_VERSION V1, DICTIONARY_SIZE_LIMIT 1000", "ROW_GROUP_SIZE 4096, PARQUET_VERSION V2, COMPRESSION zstd",
		"ROW_GROUP_SIZE 2048, PARTITION_BY (part)",
	} {
		name := fmt.Sprintf("t%d", i)
		path := filepath.Join(s.dir, name+".parquet")
		if strings.Contains(opt, "PARTITION_BY") {
			path = filepath.Join(s.dir, name)
		}
		s.exec(t, fmt.Sprintf("COPY wandering TO '%s' (FORMAT parquet, %s)", path, opt))
		s.tables[name] = plan.Table{Files: []string{path}}
		names = append(names, name)
	}
	var pruned scan.PrunedBy
	for range countOf() {
		conditions := []string{randomCondition(rng)}
		for range rng.IntN(3) {
			conditions = append(conditions, randomCondition(rng))
		}
		where := strings.Join(conditions, " AND ")
		key := []string{"i", "u", "l", "day", "t", "x", "late", "id // 1000"}[rng.IntN(8)] // what holds for rows that are left packs keys
		text := fmt.Sprintf("SELECT part, %s, count(*), sum(id), min(s), max(t), count(late) FROM wandering WHERE ", key) + where + " GROUP BY 1, 2"
		want, err := s.theirs(text)
		if err != nil {
			t.Fatalf("-seed=%d: %v, of\n%s", *seedFlag, err, text)
		}
		for _, name := range names {
			text := strings.Replace(text, "wandering", name, 1)
			got, err := s.ours(text)
			if err == nil {
				err = sameCells(want, got, false)
			}
			if err != nil {
				t.Fatalf("-seed=%d: %v, of\n%s", *seedFlag, err, text)
			}
			if rng.IntN(4) == 0 {
				s.addPruned(t, text, &pruned)
			}
		}
	}
	for r, by := range pruned {
		t.Logf("by %s: %+v", scan.PruneReason(r), by)
	}
	if pruned[scan.PrunedByFolder].Files == 0 || pruned[scan.PrunedByStatistics].RowGroups == 0 || pruned[scan.PrunedByBloomFilter].RowGroups == 0 {
		t.Error("something was not used")
	}
}

// addPruned adds what a query leaves out.
func (s *sqlTables) addPruned(t *testing.T, text string, sum *scan.PrunedBy) {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	statement, err := mpgasql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	query, err := plan.Prepare(t.Context(), eng, statement, plan.Options{Tables: s.tables})
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result, err := query.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	for result.Next() {
	}
	if result.Err() != nil {
		t.Fatal(result.Err())
	}
	if f := result.Stats().Filter; f != nil {
		for r, by := range f.By {
			sum[r].Files += by.Files
			sum[r].RowGroups += by.RowGroups
		}
	}
}
