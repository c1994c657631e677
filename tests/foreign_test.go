package tests

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rewriteForeign = flag.Bool("rewrite-foreign", false, "write testdata/foreign.txt anew, from the files and the command")

const (
	// foreignDir has files of other writers, which are no part of the module.
	foreignDir = "../../shared/data/foreign"

	// foreignFile says what is read of each file: rows and a digest of them as CSV, or the error.
	foreignFile = "testdata/foreign.txt"
)

// foreignColumns names the columns to read of files that have others, too, which are nested.
var foreignColumns = map[string]string{
	"parquet-testing/ARROW-GH-41317.parquet":               "count(*)",
	"parquet-testing/ARROW-GH-41321.parquet":               "count(*)",
	"parquet-testing/ARROW-GH-45185.parquet":               "count(*)",
	"parquet-testing/ARROW-RS-GH-6229-LEVELS.parquet":      "count(*)",
	"parquet-testing/list_columns.parquet":                 "unnest(int64_list)",
	"parquet-testing/nested_lists.snappy.parquet":          "b",
	"parquet-testing/nested_maps.snappy.parquet":           "b, c",
	"parquet-testing/null_list.parquet":                    "count(*)",
	"parquet-testing/nullable.impala.parquet":              "id",
	"parquet-testing/old_list_structure.parquet":           "count(*)",
	"parquet-testing/repeated_no_annotation.parquet":       "id",
	"parquet-testing/repeated_primitive_no_list.parquet":   "unnest(Int32_list)",
	"arrow-testing/generated_primitive_zerolength.stream":  "*",
	"duckdb/h2oai_group_small.parquet":                     "id1, count(*), count(id4), sum(v1)",
	"parquet-testing/int32_with_null_pages.parquet":        "*",
	"parquet-testing/binary_truncated_min_max.parquet":     "*",
	"parquet-testing/floating_orders_nan_count.parquet":    "*",
	"parquet-testing/nested_structs.rust.parquet":          "*",
	"parquet-testing/hadoop_lz4_compressed_larger.parquet": "*",
}

// Would catch a file of another writer that is not read as before: the digests were held against pyarrow 26 and DuckDB
// 2.0.0 when they were written.
func TestForeignFiles(t *testing.T) {
	if _, err := os.Stat(foreignDir); err != nil {
		t.Skip("the files of other writers are not here: ", err)
	}
	mpga := buildCommand(t)
	var lines []string
	err := filepath.WalkDir(foreignDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(foreignDir, path)
		lines = append(lines, readForeign(mpga, name, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *rewriteForeign {
		if err := os.WriteFile(foreignFile, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(foreignFile)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	known := strings.Split(string(want), "\n")
	for _, line := range lines {
		if !slices.Contains(known, line) {
			t.Errorf("now %s", line)
		}
	}
	for _, line := range known {
		if line != "" && !slices.Contains(lines, line) {
			t.Errorf("was %s", line)
		}
	}
}

// foreignInsides are words of programs, which no error shows.
var foreignInsides = regexp.MustCompile(`goroutine|runtime error|panic`)

// readForeign reads a file by the command, and says what comes of it.
func readForeign(mpga, name, path string) string {
	columns := foreignColumns[name]
	if columns == "" {
		columns = "*"
	}
	query := fmt.Sprintf("SELECT %s FROM '%s'", columns, path)
	if strings.Contains(columns, "id1, count") {
		query += " GROUP BY id1 ORDER BY id1"
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(mpga, "sql", query, "--format", "csv", "--threads", "1")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		text, _, _ := strings.Cut(strings.ReplaceAll(stderr.String(), path, "FILE"), "\n")
		if foreignInsides.MatchString(text) {
			text += " (shows the insides of the program)"
		}
		return fmt.Sprintf("%s: %s", name, text)
	}
	return fmt.Sprintf("%s: %s: %d rows, %.12x", name, columns, bytes.Count(stdout.Bytes(), []byte("\n"))-1, sha256.Sum256(stdout.Bytes()))
}
