package tests

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Statements within statements stay within the memory limit and 5%, as seen from outside, though
// the groups of the inner ones, and the rows that are put in order, do not fit: they are streams.
func TestSQLDerivedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 3e6 rows")
	}
	const limit = 128 << 20
	mpga, dir := buildCommand(t), t.TempDir()
	data := filepath.Join(dir, "pairs.parquet")
	if out, err := exec.Command(mpga, "gen", "pairs", "--rows", "3000000", "--groups", "3000000", "-o", data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ text, want string }{
		{"SELECT count(*), sum(c), max(k) FROM (SELECT key AS k, count(*) AS c, median(value) AS m, sum(value) AS s FROM t GROUP BY key) WHERE m IS NOT NULL",
			"3000000,3000000,2999999"},
		{"SELECT count(*), sum(n) FROM (SELECT key, count(*) AS n, last(value ORDER BY value) AS v FROM t GROUP BY key ORDER BY v LIMIT 2000000)", "2000000,2000000"},
		{"SELECT count(*), sum(n) FROM (SELECT key, key % 1000 AS m, count(*) AS n FROM t GROUP BY ROLLUP (m, key))", "3001001,9000000"},
		{"SELECT count(d), sum(n) FROM (SELECT key, count(*) AS n, sum(DISTINCT value) AS d FROM t GROUP BY key)", "3000000,3000000"},
	} {
		cmd := exec.Command(mpga, "sql", "--table", "t="+data, "--threads", "2", "--temp-dir", t.TempDir(), "--format", "csv",
			"--memory-limit", strconv.Itoa(limit), c.text)
		var out bytes.Buffer
		cmd.Stdout = &out
		peak, _ := watched(t, cmd)
		if peak > limit*105/100 {
			t.Errorf("%s\n%d MiB were resident, the limit is %d", c.text, peak>>20, limit>>20)
		}
		t.Logf("%d MiB of %d", peak>>20, limit>>20)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s\ngot %s, want %s", c.text, &out, c.want)
		}
	}
}
