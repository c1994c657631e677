package tests

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
)

var residentFlag = flag.Int("residentqueries", 16, "how many random queries are watched for what they have resident")

// peakOf runs mpga with some arguments, and returns the most that the process had resident, as the
// system saw it, what it wrote, and how it ended. Of a long output only the first bytes are kept.
func peakOf(t *testing.T, args ...string) (peak int64, stdout, stderr string, code int) {
	t.Helper()
	var out beginOf
	peak, stderr, code = peakInto(t, &out, args...)
	return peak, out.String(), stderr, code
}

// peakInto is peakOf for a process whose standard output is read by somebody.
func peakInto(t *testing.T, stdout io.Writer, args ...string) (peak int64, stderr string, code int) {
	t.Helper()
	var errs beginOf
	cmd := exec.CommandContext(t.Context(), buildCommand(t), args...)
	cmd.Stdout, cmd.Stderr = stdout, &errs
	before := residentPeak("self")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			// The system's account of a process begins with the one that has started it.
			usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			if used := usage.Maxrss << 10; used > max(before, residentPeak("self")) {
				peak = used
			}
			return peak, errs.String(), cmd.ProcessState.ExitCode()
		case <-time.After(time.Millisecond):
			peak = max(peak, residentPeak(strconv.Itoa(cmd.Process.Pid)))
		}
	}
}

// residentPeak returns the most that a process has had resident; 0 when it is gone.
func residentPeak(process string) int64 {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

// beginOf keeps the begin of what is written to it, and may take its time.
type beginOf struct {
	bytes.Buffer
	pause time.Duration // at each write
}

func (b *beginOf) Write(p []byte) (int, error) {
	time.Sleep(b.pause)
	b.Buffer.Write(p[:min(len(p), 1<<16-b.Len())])
	return len(p), nil
}

// residentInput is what queries of these tests read: 150,000 numbers in random order, and few long
// lines.
type residentInput struct{ numbers, lines string }

func newResidentInput(t *testing.T) residentInput {
	t.Helper()
	dir := t.TempDir()
	in := residentInput{numbers: filepath.Join(dir, "n.parquet"), lines: filepath.Join(dir, "l.csv")}
	if out, err := exec.Command(buildCommand(t), "gen", "pairs", "--rows", "150000", "--groups", "150000", "-o", in.numbers).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var text strings.Builder
	text.WriteString("c0,n\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%c,%d\n", 'a'+i%26, i)
	}
	if err := os.WriteFile(in.lines, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

// fill puts the names of the files into a statement.
func (in residentInput) fill(statement string) string {
	const long = "(SELECT rpad(key::VARCHAR, 1000, 'abcdefghijklmnopqrstuvwxyz') AS k, key, value FROM 'NUMBERS')"
	statement = strings.ReplaceAll(statement, "LONG", long)
	return strings.NewReplacer("NUMBERS", in.numbers, "LINES", in.lines).Replace(statement)
}

// statementWithin runs a statement, and checks that the process stays within its limit and 5%,
// whether it answers or says that the limit is too small. It returns the limit that is enough in
// its own words, 0 where there is an answer.
func statementWithin(t *testing.T, limit int64, statement string, args ...string) (enough int64) {
	t.Helper()
	return statementInto(t, &beginOf{}, limit, statement, args...)
}

func statementInto(t *testing.T, stdout io.Writer, limit int64, statement string, args ...string) (enough int64) {
	t.Helper()
	args = append([]string{"sql", statement, "--memory-limit", strconv.FormatInt(limit, 10), "--temp-dir", t.TempDir()}, args...)
	peak, stderr, code := peakInto(t, stdout, args...)
	refused := code == 1 && strings.Contains(stderr, engine.ErrMemoryLimit.Error())
	switch {
	case code == 2 && strings.Contains(stderr, "not supported"): // as some aggregates beside DISTINCT ones
		return 0
	case code != 0 && !refused:
		t.Errorf("%s\nstatus %d: %s", strings.Join(args, " "), code, stderr)
	case peak > limit/100*105:
		t.Errorf("%s\n%d MiB were resident, the limit is %d MiB; status %d: %s", strings.Join(args, " "), peak>>20, limit>>20, code, stderr)
	}
	t.Logf("%d of %d MiB, status %d: %s %s", peak>>20, limit>>20, code, strings.Join(args, " "), stderr)
	if !refused {
		return 0
	}
	_, after, _ := strings.Cut(stderr, "raise --memory-limit to ")
	var number, unit string
	if _, err := fmt.Sscan(strings.TrimPrefix(after, "about "), &number, &unit); err != nil {
		t.Fatalf("the error names no limit that is enough: %s", stderr)
	}
	size, err := humanize.ParseBytes(number + unit)
	if err != nil || int64(size) <= limit {
		t.Fatalf("the error names no limit that is enough: %s: %v", stderr, err)
	}
	return int64(size)
}

// withinRaised is statementWithin with the limit, and then with those that the errors name, the
// last of which is enough.
func withinRaised(t *testing.T, limit int64, statement string, args ...string) {
	t.Helper()
	const (
		most      = 2 << 30 // what an error names is tried up to here
		raisedMax = 3       // limits: a function knows nothing of those that take its result
	)
	for range raisedMax {
		limit = statementWithin(t, limit, statement, args...)
		if limit == 0 || limit > most || t.Failed() {
			return
		}
	}
	if enough := statementWithin(t, limit, statement, args...); enough > 0 {
		t.Errorf("%d MiB are not enough, though the error says so", limit>>20)
	}
}

// What took more than its limit, each in a process of its own; and where the limit is too small,
// the one that the error names is enough.
func TestResidentQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	in := newResidentInput(t)
	dir := t.TempDir()
	for _, c := range []struct {
		name, statement string
		limit           int64  // MiB
		output          string // with flags behind it
	}{
		{"function that grows", "SELECT regexp_replace(repeat('a', 1000000), '', repeat('x', 1000), 'g') FROM 'LINES'", 128, "o.csv"},
		{"function that grows less", "SELECT length(regexp_replace(repeat('a', 1000000), '', repeat(c0, 20), 'g')) FROM 'LINES' WHERE n < 3", 128, "o.csv"},
		{"pattern that looks behind", `SELECT length(regexp_replace(repeat('a ', 500000), '\b', '<>', 'g')) FROM 'LINES' WHERE n < 3`, 128, "o.csv"},
		{"joined", "SELECT string_agg(repeat(c0, 1000000), ',') FROM 'LINES'", 128, "o.csv"},
		{"joined to parquet", "SELECT string_agg(repeat(c0, 100000), ',' ORDER BY n) FROM 'LINES'", 128, "o.parquet"},
		{"joined distinct", "SELECT string_agg(DISTINCT key::VARCHAR, ',') FROM 'NUMBERS'", 128, "o.csv"},
		{"table of all rows", "SELECT key, value, key + 1, key + 2, key + 3 FROM 'NUMBERS'", 128, ""},
		{"distinct long strings", "SELECT count(DISTINCT k), max(k) FROM LONG", 128, "o.csv"},
		{"long keys", "SELECT k, count(*) FROM LONG GROUP BY k", 128, "o.csv"},
		{"long keys to parquet", "SELECT k, count(*) FROM LONG GROUP BY k HAVING count(*) > 0", 128, "o.parquet"},
		{"long order", "SELECT k, key FROM LONG ORDER BY k", 128, "o.parquet"},
		{"long order of few", "SELECT k FROM LONG ORDER BY k DESC LIMIT 50000", 128, "o.json"},
		{"lists", "SELECT key % 10 AS g, list(value) FROM 'NUMBERS' GROUP BY g", 128, "o.parquet"},
		{"lists of long strings", "SELECT key % 1000 AS g, list(DISTINCT k) FROM LONG GROUP BY g", 128, "o.json"},
		{"large lists of long strings", "SELECT key % 3 AS g, list(k) FROM LONG WHERE key < 60000 GROUP BY g", 128, "o.arrow"},
		{"large strings", "SELECT lpad(c0, 1000000, 'x') AS a, n FROM 'LINES'", 128, "o.csv"},
		{"large strings to json", "SELECT rpad(c0, 1000000, chr(34)) AS a, n FROM 'LINES'", 128, "o.json"},
		{"large strings in order", "SELECT lpad(c0, 1000000, 'x') AS a, n FROM 'LINES' ORDER BY n DESC", 128, "o.parquet"},
		{"strings larger than that", "SELECT replace(lpad(c0, 10000000, 'x'), 'x', 'yz') AS a FROM 'LINES' WHERE n < 5", 128, "o.parquet"},
		{"greatest of large strings", "SELECT n % 7, max(lpad(c0, 1000000, 'x')), first(repeat(c0, 100000)), mode(upper(repeat(c0, 50000))) FROM 'LINES' GROUP BY 1", 128, "o.csv"},
		{"quantiles of large groups", "SELECT key % 10, median(value), mode(value), quantile_disc(key, 0.3), approx_count_distinct(key) FROM 'NUMBERS' GROUP BY 1", 128, "o.arrow"},
		{"many sets", "SELECT key % 100, value, key, count(*) FROM 'NUMBERS' GROUP BY CUBE (1, 2, 3)", 128, "o.parquet"},
		{"derived", "SELECT count(*), max(k2) FROM (SELECT k || '!' AS k2, count(*) AS n FROM LONG GROUP BY k HAVING count(*) > 0)", 128, "o.csv"},
		{"distinct rows", "SELECT DISTINCT k, value FROM LONG", 128, "o.arrow"},
		{"many columns", "SELECT " + manyColumns(2000) + " FROM 'NUMBERS' WHERE key < 5000", 128, "o.parquet"},
		{"figures of many columns", "SUMMARIZE SELECT " + manyColumns(300) + " FROM (SELECT n AS key FROM 'LINES')", 128, "o.csv"},
		{"groups of many columns", "SELECT " + manyColumns(300) + ", count(*) FROM (SELECT n AS key FROM 'LINES') GROUP BY ALL", 128, "o.csv"},
		{"the hardest zstd", "SELECT *, value % 7, value + key FROM 'NUMBERS'", 128, "o.parquet --codec zstd --level 22"},
		{"many columns of text", "SELECT " + manyColumns(2000) + " FROM 'NUMBERS' WHERE key < 5000", 128, "o.csv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"--threads", "2", "--limit", "0"}
			if c.output != "" {
				name, flags, _ := strings.Cut(c.output, " ")
				args = append([]string{"--threads", "2", "-o", filepath.Join(dir, name)}, strings.Fields(flags)...)
			}
			withinRaised(t, c.limit<<20, in.fill(c.statement), args...)
		})
	}
}

// manyColumns returns a list of columns that differ.
func manyColumns(n int) string {
	columns := make([]string, n)
	for i := range columns {
		columns[i] = fmt.Sprintf("key + %d AS c%d", i, i)
	}
	return strings.Join(columns, ", ")
}

// Would catch steps of one statement that each take the memory as if they were alone: derived tables over
// grouping sets over ordered rows run within the least limit, and stay within it.
func TestResidentSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	in := newResidentInput(t)
	for _, statement := range []string{
		`SELECT g, count(*), count(DISTINCT k), max(n) FROM (
			SELECT key % 1000 AS g, k, median(value) AS m, list(value ORDER BY value) AS l, sum(value) AS n
			FROM (SELECT * FROM LONG ORDER BY value, k) GROUP BY ROLLUP (key % 1000, k)) GROUP BY ROLLUP (g) ORDER BY g`,
		`SELECT a, b, sum(n) FROM (SELECT k AS a, key AS b, n FROM (SELECT k, key, count(*) AS n FROM LONG
			GROUP BY CUBE (k, key)) ORDER BY n, b DESC) GROUP BY ROLLUP (a, b) ORDER BY a, b`,
		`SELECT m, count(*) FROM (SELECT k, max(s) AS m FROM (SELECT k, key, string_agg(value::VARCHAR, ',' ORDER BY value) AS s
			FROM LONG GROUP BY ROLLUP (k, key)) GROUP BY k ORDER BY m, k) GROUP BY m ORDER BY 2, 1`,
	} {
		statement = in.fill(statement)
		if enough := statementWithin(t, 128<<20, statement, "-o", filepath.Join(t.TempDir(), "o.csv")); enough > 0 {
			t.Errorf("a statement of several steps is refused, of which each has room: %s", statement)
		}
	}
}

// Random queries over numbers, long strings, large values and many columns, to every output, stay
// within random limits. -seed and -residentqueries ask others and more.
func TestResidentRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each query")
	}
	t.Logf("-seed=%d -residentqueries=%d", *seedFlag, *residentFlag)
	in := newResidentInput(t)
	g := &residentGenerator{rand.New(rand.NewPCG(*seedFlag, 6))}
	for range *residentFlag {
		limit := int64(128<<20) << g.IntN(3)
		limit -= limit / 4 * int64(g.IntN(2))
		limit = max(limit, 128<<20)
		statement := in.fill(g.statement())
		out := &beginOf{pause: time.Duration(g.IntN(4)/3) * 2 * time.Millisecond}
		args := append([]string{"--threads", strconv.Itoa(1 + g.IntN(8))}, g.output(t)...)
		statementInto(t, out, limit, statement, args...)
		if t.Failed() {
			t.Fatalf("with -seed=%d -residentqueries=%d", *seedFlag, *residentFlag)
		}
	}
}

// residentGenerator writes statements over a residentInput.
type residentGenerator struct{ *rand.Rand }

func (g *residentGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

// text returns an expression of a string over a column of numbers and one of text, of a length that
// may be large.
func (g *residentGenerator) text(number, text string, length int) string {
	length = 1 + g.IntN(length)
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf("repeat(%s, %d)", text, length)
	case 1:
		return fmt.Sprintf("lpad(%s, %d, '%s')", text, length, g.pick("x", "äb", `"`, "\t,"))
	case 2:
		return fmt.Sprintf("rpad(%s, %d, 'abc')", text, length)
	case 3:
		return fmt.Sprintf("replace(rpad(%s, %d, 'xyz'), 'x', '%s')", text, length, g.pick("", "long"))
	case 4:
		return fmt.Sprintf("regexp_replace(lpad(%s, %d, 'ab'), '%s', '%s', 'g')", text, length, g.pick("a", "", "(b)", `\b`), g.pick("xy", `<\0>`, ""))
	case 5:
		return fmt.Sprintf("concat(rpad(%s, %d, '_'), %s, upper(%s))", text, length, number, text)
	case 6:
		return fmt.Sprintf("reverse(rpad(%s, %d, 'ö')) || split_part(%s, '1', 1)", text, length, text)
	}
	return fmt.Sprintf("strftime(TIMESTAMP '2001-01-01', '%%A %%B') || lower(repeat(%s, %d))", text, length)
}

func (g *residentGenerator) aggregate(text string) string {
	switch g.IntN(10) {
	case 0:
		return "count(DISTINCT " + text + ")"
	case 1:
		return "max(" + text + ")"
	case 2:
		return "list(" + text + ")"
	case 3:
		return "string_agg(" + text + ", ',')"
	case 4:
		return "string_agg(DISTINCT " + text + ", ',')"
	case 5:
		return "mode(" + text + ")"
	case 6:
		return "list(DISTINCT " + text + ")"
	case 7:
		return "first(" + text + ")"
	case 8:
		return "approx_count_distinct(" + text + ")"
	}
	return "min(" + text + ", 5)"
}

func (g *residentGenerator) statement() string {
	number, text, file, length := "key", "key::VARCHAR", "'NUMBERS'", 1000
	rows := g.IntN(100_000)
	if g.IntN(3) == 0 {
		number, text, file, length, rows = "n", "c0", "'LINES'", 300_000, 100
	}
	where := fmt.Sprintf(" WHERE %s < %d", number, rows)
	long := g.text(number, text, length)
	groups := strconv.Itoa(1 + g.IntN(1000))
	order := g.pick("", "", " ORDER BY 1", " ORDER BY 2 DESC", " ORDER BY 1 LIMIT 1000")
	switch g.IntN(6) {
	case 0:
		return "SELECT " + long + " AS a, " + number + " AS b FROM " + file + where + order
	case 1:
		return "SELECT " + number + " % " + groups + " AS g, " + g.aggregate(long) + " AS a, " + g.aggregate(g.text(number, text, 100)) + " AS b FROM " + file + where + " GROUP BY g" + order
	case 2:
		return "SELECT " + long + " AS k, count(*) AS n FROM " + file + where + " GROUP BY k HAVING count(*) > 0" + order
	case 3:
		return "SELECT " + number + " % 3 AS g, " + number + " % " + groups + " AS h, " + g.aggregate(long) + " AS a FROM " + file + where + " GROUP BY CUBE (g, h)" + order
	case 4:
		return "SELECT DISTINCT " + long + " AS a, " + number + " % 10 AS b FROM " + file + where + order
	}
	columns := make([]string, 2+g.IntN(300))
	for i := range columns {
		columns[i] = fmt.Sprintf("%s + %d AS c%d", number, i, i)
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + file + where + order
}

// output returns where the result goes.
func (g *residentGenerator) output(t *testing.T) []string {
	file := filepath.Join(t.TempDir(), "o")
	switch g.IntN(10) {
	case 0:
		return []string{"--limit", "0"} // a table
	case 1:
		return []string{"--format", g.pick("csv", "json", "arrows", "parquet")}
	case 2:
		return []string{"-o", file, "--format", "parquet", "--max-rows-per-file", "5000"}
	}
	return []string{"-o", file + g.pick(".csv", ".json", ".parquet", ".parquet", ".arrow", ".csv.gz", ".json.zst")}
}
