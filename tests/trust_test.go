package tests

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lyingFile writes a Parquet file of the numbers 0 to 9,999 in which the number 10 is then made 1,000,000: its
// statistics, page indexes and Bloom filters were written before.
func lyingFile(t *testing.T) string {
	t.Helper()
	s := openSQL(t)
	path := filepath.Join(s.dir, "lying.parquet")
	s.exec(t, fmt.Sprintf(`COPY (SELECT r AS n, r * 7 %% 10000 AS m FROM range(10000) t(r)) TO '%s'
		(COMPRESSION uncompressed, ROW_GROUP_SIZE 2048, DICTIONARY_SIZE_LIMIT 1)`, path))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(n ...uint64) (raw []byte) {
		for _, n := range n {
			raw = binary.LittleEndian.AppendUint64(raw, n)
		}
		return raw
	}
	told, lie := numbers(9, 10, 11), numbers(9, 1e6, 11)
	if bytes.Count(data, told) != 1 {
		t.Fatalf("%s has the numbers 9, 10 and 11 side by side %d times", path, bytes.Count(data, told))
	}
	if err := os.WriteFile(path, bytes.Replace(data, told, lie, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Statistics that are wrong are passed over by each of the ways of asking for that. Would catch an answer that is
// still taken from them: by a filter, for min and max, and in the footers that a process keeps.
func TestTrustStatistics(t *testing.T) {
	path, mpga := lyingFile(t), buildCommand(t)
	jobFile := filepath.Join(t.TempDir(), "job.yaml")
	job := "steps:\n  - name: one\n    from: %s\n    input: {trust_statistics: off}\n    sql: %s\n    output: out.csv\n"
	for _, c := range []struct{ query, trusting, distrusting string }{
		{"SELECT count(*) AS c FROM %s WHERE n = 1000000", "c\n0\n", "c\n1\n"},
		{"SELECT max(n) AS c FROM %s", "c\n9999\n", "c\n1000000\n"},
		{"SELECT n AS c FROM %s WHERE n > 9998 ORDER BY n DESC", "c\n9999\n", "c\n1000000\n9999\n"},
		{"SELECT m AS c FROM %s ORDER BY n DESC LIMIT 1", "c\n9993\n", "c\n70\n"},
	} {
		file := "'" + path + "'"
		run := func(args ...string) string {
			command := exec.Command(mpga, args...)
			if stdin, err := os.Open(path); err == nil {
				defer func() { _ = stdin.Close() }()
				command.Stdin = stdin
			}
			out, err := command.CombinedOutput()
			if err != nil {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
			return string(out)
		}
		sql := func(from string, flags ...string) string {
			return run(append([]string{"sql", "--format", "csv", fmt.Sprintf(c.query, from)}, flags...)...)
		}
		if strings.Contains(c.query, "WHERE n =") || strings.Contains(c.query, "max") {
			if got := sql(file); got != c.trusting { // else nothing is tested
				t.Errorf("%s: got %q by the statistics, want %q", c.query, got, c.trusting)
			}
		}
		if err := os.WriteFile(jobFile, fmt.Appendf(nil, job, path, fmt.Sprintf(c.query, "input")), 0o600); err != nil {
			t.Fatal(err)
		}
		run("run", "--force", jobFile)
		ofJob, err := os.ReadFile(filepath.Join(filepath.Dir(jobFile), "out.csv"))
		if err != nil {
			t.Error(err)
		}
		for by, got := range map[string]string{
			"flag":             sql(file, "--trust-statistics=off"),
			"SQL":              sql("read_parquet(" + file + ", trust_statistics = false)"),
			"flag, over stdin": sql("'-'", "--trust-statistics=off"),
			"job":              string(ofJob),
		} {
			if got != c.distrusting {
				t.Errorf("%s, asked by %s: got %q, want %q", c.query, by, got, c.distrusting)
			}
		}
	}
}
