package tests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// csvFile writes a file of CSV whose rows a function makes.
func csvFile(t *testing.T, path string, rows int, row func(i int) string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("k,v,s\n")
	for i := range rows {
		b.WriteString(row(i) + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// checkManifest compares the manifest of a directory with the files that are there.
func checkManifest(t *testing.T, dir string) sink.Manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, sink.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m sink.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	named, rows := []string{sink.ManifestName}, int64(0)
	for _, f := range m.Files {
		named, rows = append(named, filepath.FromSlash(f.Path)), rows+f.Rows
		content, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 || int64(len(content)) != f.Bytes {
			t.Errorf("%s is not what the manifest says", f.Path)
		}
	}
	slices.Sort(named)
	if there := treeOf(t, dir); !slices.Equal(named, there) || rows != m.Rows {
		t.Errorf("the manifest has %d rows, %d of them in %q; there is %q", m.Rows, rows, named, there)
	}
	return m
}

// Would catch what shows at the edges alone: splits, partitions and merges without rows, all rows in one of
// them, positions within files, and outputs of every layout.
func TestDistEdges(t *testing.T) {
	const groups = "SELECT k, count(*) AS n, sum(v) AS v, first(s) AS f, last(s) AS l, string_agg(s, '+') AS a FROM t GROUP BY k"
	const whole = "SELECT count(*) AS n, sum(v) AS v, min(s) AS s, string_agg(s, '+') AS a FROM t"
	mixed := func(i int) string { return fmt.Sprintf("%d,%d,s%d", i*7919%50, i, i) }
	tiny := func(files, rows int) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for f := range files {
				csvFile(t, filepath.Join(dir, fmt.Sprintf("%03d.csv", f)), rows, func(i int) string { return mixed(f*rows + i) })
			}
		}
	}
	// some writes files of which some have no rows.
	some := func(rows ...int) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for f, n := range rows {
				csvFile(t, filepath.Join(dir, fmt.Sprintf("%d.csv", f)), n, func(i int) string { return mixed(f*100 + i) })
			}
		}
	}
	parquet := func(write func(t *testing.T, dir string), rowGroup int64) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			from := t.TempDir()
			write(t, from)
			eng := openEngine(t, 1)
			for _, name := range treeOf(t, from) {
				to := filepath.Join(dir, strings.TrimSuffix(name, ".csv")+".parquet")
				err := writeAnswer(t.Context(), eng, "SELECT k::INTEGER AS k, v::INTEGER AS v, s::VARCHAR AS s FROM '"+filepath.Join(from, name)+"'", plan.Options{}, to, sink.Options{RowGroupRows: rowGroup})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		text   string
		input  func(t *testing.T, dir string)
		r      distributed.Request
		splits int // that there are to be; 0 where it does not matter
	}{
		{"one key", groups, func(t *testing.T, dir string) {
			for f := range 6 {
				csvFile(t, filepath.Join(dir, fmt.Sprintf("%d.csv", f)), 3000, func(i int) string { return fmt.Sprintf("5,%d,s%d", f*3000+i, i) })
			}
		}, distributed.Request{Splits: 6, Partitions: 32, Merges: 8}, 6},
		{"all keys distinct", groups, func(t *testing.T, dir string) {
			for f := range 4 {
				csvFile(t, filepath.Join(dir, fmt.Sprintf("%d.csv", f)), 4000, func(i int) string { return fmt.Sprintf("%d,%d,s%d", f*4000+i, i, i) })
			}
		}, distributed.Request{Splits: 4, Partitions: 16, Merges: 5}, 4},
		{"one heavy key among many", groups, func(t *testing.T, dir string) {
			for f := range 4 {
				csvFile(t, filepath.Join(dir, fmt.Sprintf("%d.csv", f)), 4000, func(i int) string { return fmt.Sprintf("%d,%d,s%d", max(0, f*4000+i-12_000), i, i) })
			}
		}, distributed.Request{Splits: 4, Partitions: 16, Merges: 5, Combines: 2}, 4},
		{"an empty file in the middle", groups, some(40, 0, 30), distributed.Request{Splits: 3, Partitions: 4, Merges: 2}, 0},
		{"an empty file in front", groups, some(0, 40), distributed.Request{Splits: 9, Partitions: 4}, 0},
		{"empty files of Parquet", groups, parquet(some(0, 40, 0, 0, 5), 7), distributed.Request{Splits: 9, Partitions: 4}, 0},
		{"no rows, with keys", groups, parquet(some(0, 0), 7), distributed.Request{Splits: 4, Partitions: 4, Merges: 2}, 1},
		{"no rows, without keys", whole, parquet(some(0), 7), distributed.Request{Splits: 4, Partitions: 4, Merges: 4}, 1},
		{"headers alone", "SELECT k, count(*) AS n, first(s) AS f FROM t GROUP BY k", some(0, 0), distributed.Request{Splits: 4, Partitions: 4, Merges: 2}, 0},
		{"a condition that leaves nothing, with keys", groups + " HAVING sum(v) < 0", tiny(3, 20), distributed.Request{Splits: 3, Partitions: 4, Merges: 3}, 3},
		{"no row, with keys", strings.Replace(groups, "GROUP", "WHERE v < 0 GROUP", 1), tiny(3, 20), distributed.Request{Splits: 3, Partitions: 4, Merges: 3}, 3},
		{"no row, without keys", whole + " WHERE v < 0", tiny(3, 20), distributed.Request{Splits: 3, Partitions: 4, Merges: 3}, 3},
		{"no row, by row groups", whole + " WHERE v < 0", parquet(tiny(3, 20), 5), distributed.Request{Splits: 6, Partitions: 4, Merges: 3}, 0},
		{"rows of one split alone", groups[:strings.Index(groups, "GROUP")] + "WHERE v >= 45 GROUP BY k", parquet(tiny(3, 20), 5), distributed.Request{Splits: 12, Partitions: 4, Merges: 3}, 0},
		{"without keys", whole, tiny(5, 20), distributed.Request{Splits: 5, Partitions: 16, Merges: 4, Combines: 2}, 5},
		{"500 splits", groups, tiny(500, 3), distributed.Request{Splits: 500, Partitions: 4, Merges: 2}, 500},
		{"500 files in one split", groups, tiny(500, 3), distributed.Request{Splits: 1, Partitions: 4, Merges: 2}, 1},
		{"one of each", groups, tiny(1, 100), distributed.Request{Splits: 1, Partitions: 1, Merges: 1, Combines: 1}, 1},
		{"more merges than partitions", groups, tiny(2, 100), distributed.Request{Splits: 100, Partitions: 2, Merges: 100, Combines: 100}, 2},
		{"row groups", groups, parquet(tiny(3, 1000), 64), distributed.Request{Splits: 17, Partitions: 8, Merges: 3}, 17},
		{"parts of a file of CSV", groups, func(t *testing.T, dir string) {
			csvFile(t, filepath.Join(dir, "one.csv"), 150_000, func(i int) string {
				return fmt.Sprintf("%d,%d,%q", i%40_000, i, strings.Repeat("x", i%100)+"\n") // rows are two lines
			})
		}, distributed.Request{Splits: 4, Partitions: 4, Merges: 2}, 0},
		{"two thousand partitions", groups, tiny(2, 500), distributed.Request{Splits: 2, Partitions: 2048, Merges: 3}, 2},
		{"folders", groups, tiny(4, 50), distributed.Request{Splits: 4, Partitions: 8, Merges: 3, Layout: sink.Options{PartitionBy: []string{"k"}}}, 4},
		{"small files", groups, tiny(4, 50), distributed.Request{Splits: 4, Partitions: 8, Merges: 3, Layout: sink.Options{MaxRowsPerFile: 4}}, 4},
		{"folders of no rows", groups + " HAVING sum(v) < 0", tiny(4, 50), distributed.Request{Splits: 4, Partitions: 8, Merges: 3, Layout: sink.Options{PartitionBy: []string{"k"}}}, 4},
		{"folders in order", groups + " ORDER BY v DESC LIMIT 20", tiny(4, 50), distributed.Request{Splits: 4, Partitions: 8, Merges: 3, Layout: sink.Options{PartitionBy: []string{"k"}}}, 4},
		{"JSON", groups, tiny(4, 50), distributed.Request{Splits: 4, Partitions: 8, Merges: 3, Layout: sink.Options{Format: sink.JSON}}, 4},
		{"Arrow", groups, tiny(4, 50), distributed.Request{Splits: 4, Partitions: 8, Merges: 3, Layout: sink.Options{Format: sink.Arrow, Codec: "zstd"}}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in := filepath.Join(dir, "in")
			if err := os.Mkdir(in, 0o777); err != nil {
				t.Fatal(err)
			}
			c.input(t, in)
			eng := openEngine(t, 2)
			tables := map[string]plan.Table{"t": {Files: []string{in}}}
			single := filepath.Join(dir, "single.csv")
			if err := writeAnswer(t.Context(), eng, c.text, plan.Options{Tables: tables}, single, sink.Options{}); err != nil {
				t.Fatal(err)
			}
			c.r.Statement, c.r.Tables, c.r.Work, c.r.Output = c.text, tables, filepath.Join(dir, "work"), filepath.Join(dir, "out")
			j, err := planDist(t.Context(), eng, faultfs.Unsynced{FS: vfs.OS}, dir, c.r)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(j.plan.Splits); c.splits > 0 && n != c.splits {
				t.Errorf("%d splits, want %d", n, c.splits)
			}
			if err := j.doAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			m := checkManifest(t, c.r.Output)
			want := sortedLines(t, single)
			if m.Rows != int64(len(want)-1) {
				t.Errorf("the manifest says %d rows, want %d", m.Rows, len(want)-1)
			}
			if len(m.Files) > 0 {
				got := filepath.Join(dir, "got.csv")
				if err := writeAnswer(t.Context(), eng, "SELECT "+want[0]+" FROM '"+c.r.Output+"'", plan.Options{}, got, sink.Options{}); err != nil {
					t.Fatal(err)
				}
				if err := sameLines(want, sortedLines(t, got)); err != nil {
					t.Error(err)
				}
			}
			if _, err := distributed.Collect(vfs.OS, c.r.Work, 0, false); err != nil {
				t.Error(err)
			}
			wantLeft(t, j.plan.Work)
		})
	}
}

// openEngine opens an engine until the test has ended.
func openEngine(t *testing.T, threads int) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: threads, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}
