package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// generate runs mpga gen and returns its exit code and output.
func generate(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"gen"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// mustGenerate is generate where no error is expected.
func mustGenerate(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := generate(t, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("gen %q: exit %d: %s", args, code, stderr)
	}
	return stdout
}

// Catches blocks out of order, and files that depend on how they were made. Parquet is left out:
// its library lists a column's encodings in an order of its own.
func TestGenThreads(t *testing.T) {
	dir := t.TempDir()
	for i, args := range [][]string{
		{"h2o", "--name", "G1_3e5_1e2_5_0"}, {"h2o", "--name", "G1_3e5_1e2_0_1"},
		{"pairs", "--dist", "zipf", "--zipf", "0.8", "--rows", "6e5", "--groups", "1e4"},
		{"lineitem", "--scale", "0.05"},
		{"hits", "--rows", "2e3"},
	} {
		for k, ending := range []string{"arrow", "csv"} {
			if testing.Short() && (i+k)%2 != 0 {
				continue
			}
			var sums []string
			for _, threads := range []string{"1", "4"} {
				path := filepath.Join(dir, "x."+ending)
				mustGenerate(t, append(args, "-o", path, "--threads", threads)...)
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(data)))
			}
			if sums[0] != sums[1] {
				t.Errorf("%q as %s: 1 and 4 threads differ", args, ending)
			}
		}
	}
	if got := namesIn(t, dir); got != "x.arrow x.csv" {
		t.Errorf("left: %s", got)
	}
}

// Catches rows lost or repeated where files or blocks meet.
func TestGenFiles(t *testing.T) {
	dir := t.TempDir()
	args := []string{"pairs", "--rows", "600_000", "--groups", "1e3", "--seed", "9", "--threads", "3", "--format", "csv"}
	whole := mustGenerate(t, append(args, "-o", "-")...)
	mustGenerate(t, append(args, "-o", filepath.Join(dir, "x.csv"), "--files", "7")...)
	if got := namesIn(t, dir); got != "x-0001.csv x-0002.csv x-0003.csv x-0004.csv x-0005.csv x-0006.csv x-0007.csv" {
		t.Fatal(got)
	}
	joined := "key,value\n"
	for i := range 7 {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("x-%04d.csv", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		joined += strings.TrimPrefix(string(data), "key,value\n")
	}
	if joined != whole {
		t.Errorf("%d bytes in parts, %d whole", len(joined), len(whole))
	}
}

// Catches a format that flags or endings do not reach.
func TestGenFormats(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.data")
	args := []string{"h2o", "--name", "G1_1e3_1e1_0_0", "-o"}

	mustGenerate(t, append(args, path, "--format", "parquet", "--codec", "zstd")...)
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != 1000 || f.MetaData().Schema.NumColumns() != 9 {
		t.Errorf("%d rows", f.NumRows())
	}
	f.Close()

	r, err := ipc.NewReader(strings.NewReader(mustGenerate(t, append(args, "-", "--format", "arrow")...)))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() || r.RecordBatch().NumRows() != 1000 {
		t.Error(r.Err())
	}
	lines, err := csv.NewReader(strings.NewReader(mustGenerate(t, append(args, "-", "--format", "csv")...))).ReadAll()
	if err != nil || len(lines) != 1001 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if table := mustGenerate(t, args[:3]...); !strings.HasSuffix(table, "… 960 more rows\n1,000 rows\n") {
		t.Error(table)
	}
	mustGenerate(t, append(args, filepath.Join(dir, "y.csv.gz"), "--files", "2")...)
	if got := namesIn(t, dir); got != "x.data y-0001.csv.gz y-0002.csv.gz" {
		t.Error(got)
	}
}

// Catches flags that are taken though they make no sense, and files left by what fails.
func TestGenRefused(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		code int
		want string
		args []string
	}{
		{2, `unknown command "h2"`, []string{"h2"}},
		{2, "G1_<rows>", []string{"h2o", "--name", "G1"}},
		{2, "unknown command", []string{"h2o", "G1_1e3_1e1_0_0"}},
		{2, "whole number", []string{"pairs", "--rows", "1.5"}},
		{2, "want uniform", []string{"pairs", "--dist", "normal"}},
		{2, "key type", []string{"pairs", "--key", "blob"}},
		{2, "value type", []string{"pairs", "--value", "utf8"}},
		{2, "Zipf (-1)", []string{"pairs", "--dist", "zipf", "--zipf", "-1"}},
		{2, "scale (0)", []string{"lineitem", "--scale", "0"}},
		{2, "--files 0", []string{"lineitem", "--files", "0"}},
		{2, "one file", []string{"lineitem", "--files", "2"}},
		{2, "--threads -1", []string{"lineitem", "--threads", "-1"}},
		{2, "names no format", []string{"lineitem", "-o", dir + "/x.xls"}},
		{2, "format", []string{"lineitem", "--format", "xls"}},
		{2, `mpga: --codec ("rar") of parquet must be one of`, []string{"lineitem", "--codec", "rar", "-o", dir + "/x.parquet"}},
		{1, "does not exist", []string{"lineitem", "-o", dir + "/none/x.csv"}},
		{1, "is a directory", []string{"pairs", "--rows", "10", "--groups", "1", "--files", "2", "-o", dir + "/sub.csv"}},
	}
	if err := os.Mkdir(filepath.Join(dir, "sub-0002.csv"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		code, stdout, stderr := generate(t, c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, want %d: %s (want %q)", c.args, code, c.code, stderr, c.want)
		}
	}
	if got := namesIn(t, dir); got != "sub-0002.csv" {
		t.Errorf("left: %s", got)
	}
}

// Catches an interrupt that leaves files or is waited out.
func TestGenCancel(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	root := newRootCommand(new(observer))
	root.SetArgs([]string{"gen", "pairs", "--rows", "1e10", "--groups", "10", "--files", "3", "-o", filepath.Join(dir, "x.csv")})
	done := make(chan error)
	go func() { done <- root.ExecuteContext(ctx) }()
	for namesIn(t, dir) == "" {
	}
	cancel()
	if err := <-done; err == nil || exitCode(ctx, err) != exitInterrupted {
		t.Errorf("cancelled: %v", err)
	}
	if got := namesIn(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}
