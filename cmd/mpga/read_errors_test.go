package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/klauspost/compress/zstd"
)

// badText is a text whose row has a value that its column does not take.
type badText struct {
	ending string
	text   func(rows, bad int) string // row bad, counted from 0, has the value
	types  string                     // of --type; "" to let the sample tell
	place  string                     // of the row, as errors have it: "line %d", or "row %d"
	first  int                        // the number that place has for row 0
	behind bool                       // the value is no error within the sample: the column is text there
}

// csvOf returns a CSV of rows "a,good", one with another value.
func csvOf(good, bad string) func(rows, row int) string {
	return func(rows, row int) string {
		lines := strings.Repeat("a,"+good+"\n", rows-1)
		at := row * (len(good) + 3)
		return "k,v\n" + lines[:at] + "a," + bad + "\n" + lines[at:]
	}
}

func jsonOf(good, bad string) func(rows, row int) string {
	return func(rows, row int) string {
		line := `{"k": "a", "v": ` + good + "}\n"
		lines := strings.Repeat(line, rows-1)
		return lines[:row*len(line)] + `{"k": "a", "v": ` + bad + "}\n" + lines[row*len(line):]
	}
}

// badTexts have a value of each type that is none.
var badTexts = map[string]badText{
	"csv inferred":  {ending: ".csv", text: csvOf("12", "x7"), place: "line %d", first: 2, behind: true},
	"csv bigint":    {ending: ".csv", text: csvOf("12", "x7"), types: "v=int64", place: "line %d", first: 2},
	"csv double":    {ending: ".csv", text: csvOf("1.5", "1.5.2"), types: "v=double", place: "line %d", first: 2},
	"csv decimal":   {ending: ".csv", text: csvOf("1.5", "1.5.5"), types: "v=decimal(9,2)", place: "line %d", first: 2},
	"csv boolean":   {ending: ".csv", text: csvOf("true", "truth"), types: "v=bool", place: "line %d", first: 2},
	"csv date":      {ending: ".csv", text: csvOf("2024-01-02", "2024-13-02"), types: "v=date", place: "line %d", first: 2},
	"csv timestamp": {ending: ".csv", text: csvOf("2024-01-02 03:04:05", "2024-01-02 25:04:05"), types: "v=timestamp", place: "line %d", first: 2},
	"csv utf-8":     {ending: ".csv", text: csvOf("text", "a\xffb"), place: "line %d", first: 2},
	"csv long":      {ending: ".csv", text: csvOf("12", strings.Repeat("x", 3000)), types: "v=int64", place: "line %d", first: 2},
	"csv fields":    {ending: ".csv", text: csvOf("12", "12,13"), place: "line %d", first: 2, behind: true},
	"tsv bigint": {ending: ".tsv", text: func(rows, row int) string {
		return strings.ReplaceAll(csvOf("12", "x7")(rows, row), ",", "\t")
	}, types: "v=int64", place: "line %d", first: 2},
	"json inferred": {ending: ".ndjson", text: jsonOf("12", `"x7"`), place: "line %d", first: 1, behind: true},
	"json bigint":   {ending: ".ndjson", text: jsonOf("12", `"x7"`), types: "v=int64", place: "line %d", first: 1},
	"json syntax":   {ending: ".ndjson", text: jsonOf("12", "12,,"), place: "line %d", first: 1},
	"json utf-8":    {ending: ".ndjson", text: jsonOf(`"text"`, "\"a\xffb\""), place: "line %d", first: 1},
}

// Numbers of rows: behindSample is one that no sample reaches.
const (
	badRows      = 25_000
	behindSample = 22_000
)

// packed writes a text as a file, compressed as its ending says.
func packed(t *testing.T, path, text string) {
	t.Helper()
	var b bytes.Buffer
	switch filepath.Ext(path) {
	case ".gz":
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
	case ".zst":
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
		_ = w.Close()
	default:
		b.WriteString(text)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// readError is a command that fails over its input.
type readError struct {
	name  string
	args  []string
	stdin string // a file, or a text where it has a line end
	want  []string
	lines int // of the error, 1 or 3
}

// Would catch an error of a reader that ends the process, shows a stack, says neither file, row nor column, has
// another exit code than 1, or leaves files: of bad values of all types, in the first row, behind the sample and in the
// last row, of a second file, of files, compressed files and the standard input, in every command that reads.
func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	var list []readError
	for name, bad := range badTexts {
		list = append(list, bad.errors(t, dir, name)...)
	}
	list = append(list, binaryErrors(t, dir)...)
	list = append(list, stateErrors(t, dir)...)
	next := make(chan readError)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for c := range next {
				c.check(t)
			}
		})
	}
	for _, c := range list {
		next <- c
	}
	close(next)
	workers.Wait()
}

// errors returns the commands that read the text: each place in each container by one command, and each command once.
func (b *badText) errors(t *testing.T, dir, name string) (list []readError) {
	name = strings.ReplaceAll(name, " ", "-")
	good := filepath.Join(dir, name+"-good"+b.ending)
	packed(t, good, b.text(2, 1)[:strings.LastIndex(strings.TrimSpace(b.text(2, 1)), "\n")+1])
	n := 0
	for _, row := range []int{0, behindSample, badRows - 1} {
		if row == 0 && b.behind {
			continue
		}
		place := fmt.Sprintf(b.place, row+b.first)
		for _, container := range []string{"", ".gz", ".zst", "stdin", "second"} {
			if n++; testing.Short() && n%3 != 0 {
				continue
			}
			file := filepath.Join(dir, fmt.Sprintf("%s-%d%s%s", name, row, b.ending, strings.TrimSuffix(strings.TrimSuffix(container, "stdin"), "second")))
			packed(t, file, b.text(badRows, row))
			c := readError{name: name + " " + container + " " + place, args: []string{"agg", "--by", "k", "--agg", "max(v)"}, want: []string{place}, lines: 1}
			if b.types != "" {
				c.args = append(c.args, "--type", b.types)
			}
			switch container {
			case "stdin":
				c.args, c.stdin = append(c.args, "--input-format", strings.TrimPrefix(b.ending, "."), "-"), file
				c.want = append(c.want, "-, line ")
			case "second":
				c.args, c.want = append(c.args, good, file), append(c.want, filepath.Base(file))
			default:
				c.args, c.want = append(c.args, file), append(c.want, filepath.Base(file))
			}
			if !strings.Contains(name, "fields") && !strings.Contains(name, "syntax") {
				c.want = append(c.want, `"v"`)
			}
			list = append(list, c)
			if row == behindSample && container == "" {
				list = append(list, b.commands(t, file, c)...)
			}
		}
	}
	return list
}

// commands returns all commands that read files, over a file that fails as one does.
func (b *badText) commands(t *testing.T, file string, like readError) (list []readError) {
	t.Helper()
	dir := filepath.Dir(file)
	out := filepath.Join(dir, "out-"+filepath.Base(file))
	var types []string
	if b.types != "" {
		types = []string{"--type", b.types}
	}
	query := fmt.Sprintf("SELECT k, count(*) AS n, max(v) AS v FROM '%s' GROUP BY k", file)
	job := out + ".yaml"
	column, typ, _ := strings.Cut(b.types, "=")
	step := map[string]any{
		"name": "one", "from": file, "sql": "SELECT k, count(*) AS n, max(v) AS v FROM input GROUP BY k", "output": out + ".job.parquet",
	}
	if typ != "" {
		step["input"] = map[string]any{"types": map[string]string{column: typ}}
	}
	jobName := strings.ReplaceAll(filepath.Base(file), ".", "-") // jobs of one name share a lock
	text, err := json.Marshal(map[string]any{"name": jobName, "steps": []any{step}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(job, text, 0o666); err != nil {
		t.Fatal(err)
	}
	add := func(name string, lines int, stdin string, args ...string) {
		list = append(list, readError{name: like.name + " by " + name, args: args, stdin: stdin, want: like.want, lines: lines})
	}
	add("sql", 1, "", append([]string{"sql", query, "-o", out + ".csv"}, types...)...)
	add("sql of rows", 1, "", append([]string{"sql", fmt.Sprintf("SELECT * FROM '%s' ORDER BY v", file), "-o", out + ".parquet"}, types...)...)
	add("summarize", 1, "", append([]string{"sql", fmt.Sprintf("SUMMARIZE '%s'", file)}, types...)...)
	add("agg --partial", 1, "", append([]string{"agg", "--by", "k", "--agg", "max(v)", "--partial", "-o", out + ".state", file}, types...)...)
	add("shell", 1, query+";\n", append([]string{"shell"}, types...)...)
	add("run", 1, "", "run", "--log-level", "error", job)
	if b.types == "" {
		add("dist plan", 1, "", "dist", "plan", query, "--output", out+".dist.csv", "--work", out+".work", "-o", out+".plan.json")
		add("compare", 1, "", "compare", "--device", "host:64MiB", "--algorithms", "cpu", query)
	}
	return list
}

// check runs the command.
func (c *readError) check(t *testing.T) {
	cmd := exec.Command("mpga", c.args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+os.TempDir())
	switch {
	case strings.HasSuffix(c.stdin, "\n"):
		cmd.Stdin = strings.NewReader(c.stdin)
	case c.stdin != "":
		file, err := os.Open(c.stdin)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		cmd.Stdin = file
	}
	temp, err := os.MkdirTemp("", "mpga-read-errors-*")
	if err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(temp)
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	text := stderr.String()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("%s: mpga %q: %v, want exit code 1\n%.2000s", c.name, c.args, err, text)
		return
	}
	for _, want := range c.want {
		if !strings.Contains(text, want) {
			t.Errorf("%s: mpga %q: no %s in\n%s", c.name, c.args, want, text)
		}
	}
	if n := strings.Count(text, "\n"); n != c.lines || len(text) > 1000 || insides.MatchString(text) {
		t.Errorf("%s: mpga %q: %d lines, want %d:\n%s", c.name, c.args, n, c.lines, text)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%s: mpga %q leaves %v, %v", c.name, c.args, left, err)
	}
}

// stateErrors are the errors of states that agg --partial has written, one of whose files is cut or has another byte.
func stateErrors(t *testing.T, dir string) (list []readError) {
	t.Helper()
	csv, whole := filepath.Join(dir, "states.csv"), filepath.Join(dir, "whole.state")
	packed(t, csv, csvOf("12", "13")(100, 50))
	if text, err := exec.Command("mpga", "agg", "--by", "k", "--agg", "max(v)", "--partial", "-o", whole, csv).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"cut":  func(b []byte) []byte { return b[:len(b)/2] },
		"byte": func(b []byte) []byte { b[len(b)/2] ^= 0xFF; return b },
		"none": func([]byte) []byte { return nil },
	} {
		states := filepath.Join(dir, name+".state")
		if err := os.CopyFS(states, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(states)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(states, files[len(files)/2].Name())
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, damage(text), 0o666); err != nil {
			t.Fatal(err)
		}
		list = append(list, readError{name: "merge of states, " + name, args: []string{"merge", whole, states, "-o", file + ".csv"},
			want: []string{filepath.Base(states), filepath.Base(file)}, lines: 1})
	}
	return list
}

// insides are words of the program's own, which no user is to read.
var insides = regexp.MustCompile(`goroutine|runtime error|SIGSEGV|panic|\.go:[0-9]+|%!`)

// binaryErrors are the errors of formats that are no text: strings that are none, and files that are damaged.
func binaryErrors(t *testing.T, dir string) (list []readError) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range badRows {
		b.Field(0).(*array.Int64Builder).Append(int64(i % 7))
		value := "value " + strconv.Itoa(i%1000)
		if i == behindSample {
			value = "a\xffb"
		}
		b.Field(1).(*array.StringBuilder).Append(value)
	}
	batch := b.NewRecordBatch()
	write := func(name string, f func(*os.File) error) string {
		path := filepath.Join(dir, name)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f(file); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		return path
	}
	writeParquet := func(options ...parquet.WriterProperty) func(*os.File) error {
		return func(file *os.File) error {
			w, err := pqarrow.NewFileWriter(schema, file, parquet.NewWriterProperties(options...), pqarrow.DefaultWriterProps())
			if err != nil {
				return err
			}
			return errors.Join(w.Write(batch), w.Close())
		}
	}
	files := map[string]string{
		write("text.parquet", writeParquet()):                                           "row " + strconv.Itoa(behindSample+1),
		write("text-plain.parquet", writeParquet(parquet.WithDictionaryDefault(false))): "row " + strconv.Itoa(behindSample+1),
		write("text.arrow", func(file *os.File) error {
			w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
			if err != nil {
				return err
			}
			return errors.Join(w.Write(batch), w.Close())
		}): "row " + strconv.Itoa(behindSample+1),
		write("text.arrows", func(file *os.File) error {
			w := ipc.NewWriter(file, ipc.WithSchema(schema))
			return errors.Join(w.Write(batch), w.Close())
		}): "row " + strconv.Itoa(behindSample+1),
	}
	for file, place := range files {
		name := filepath.Base(file)
		for _, args := range [][]string{
			{"agg", "--by", "v", "--agg", "count(*)", file},
			{"sql", fmt.Sprintf("SELECT v, sum(k) FROM '%s' GROUP BY v", file)},
			{"sql", fmt.Sprintf("SELECT upper(v) AS u FROM '%s'", file), "--format", "csv", "-o", file + ".csv"},
			{"agg", "--by", "v", "--partial", "-o", file + ".state", file},
		} {
			list = append(list, readError{name: name, args: args, want: []string{name, place, `"v"`}, lines: 1})
		}
	}
	return list
}
