package distributed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
)

// Would catch a table of Delta that has no file yet, and is refused or gives other rows than in one run.
func TestLakeWithoutFiles(t *testing.T) {
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(newSeed(t), 0))
	log := filepath.Join(dir, "empty", "_delta_log")
	check(t, os.MkdirAll(log, 0o777))
	const schema = `{"type":"struct","fields":[{"name":"k","type":"long","nullable":true,"metadata":{}},` +
		`{"name":"v","type":"double","nullable":true,"metadata":{}}]}`
	text := fmt.Sprintf(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"t","format":{"provider":"parquet"},"schemaString":%q,"partitionColumns":[],"configuration":{}}}
`, schema)
	check(t, os.WriteFile(filepath.Join(log, fmt.Sprintf("%020d.json", 0)), []byte(text), 0o666))
	check(t, os.WriteFile(filepath.Join(dir, "rows.csv"), []byte("k,v\n1,0.5\n2,1.5\n1,2\n"), 0o666))
	tables := map[string]plan.Table{"empty": {Files: []string{filepath.Join(dir, "empty")}},
		"rows": {Files: []string{filepath.Join(dir, "rows.csv")}}}
	eng := open(t, 2)
	for i, c := range []struct {
		statement string
		keys      int
	}{
		{"SELECT k, sum(v) AS s FROM empty GROUP BY k", 1},
		{"SELECT count(*) AS n, sum(v) AS s FROM empty", 0},
		{"SELECT k, sum(v) AS s FROM (SELECT k, v FROM empty UNION ALL SELECT k, v FROM rows) GROUP BY k", 1},
		{"SELECT rows.k, sum(empty.v) AS s, count(*) AS n FROM rows LEFT JOIN empty USING (k) GROUP BY rows.k", 1},
		{"SELECT empty.k, count(*) AS n FROM empty JOIN rows USING (k) GROUP BY empty.k", 1},
	} {
		want, err := atOnce(t, eng, c.statement, plan.Options{Tables: tables}, c.keys)
		check(t, err)
		for _, broadcast := range []int64{0, 1} {
			out := filepath.Join(dir, fmt.Sprint("out", i, broadcast))
			p, err := New(t.Context(), eng, quick, Request{
				Statement: c.statement, Tables: tables, Version: "test", Output: out, BroadcastBytes: broadcast,
				Layout: sink.Options{Format: sink.Arrow, Manifest: true, FS: quick}, Work: out + ".work",
			})
			check(t, err)
			check(t, runAll(t, rng, newTasks(eng, quick, dir, p)))
			got, err := grouptest.ReadAll(readOutput(t, out), c.keys)
			check(t, err)
			if err := grouptest.Equal(want, got); err != nil {
				t.Errorf("%s, tables up to %d B read whole: %v", c.statement, broadcast, err)
			}
		}
	}
}
