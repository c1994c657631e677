package job

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const validJob = `name: nightly
variables: {region: eu, before: "${date-1d}"}
environment: [BUCKET]
limits: {threads: 2, memory: 512MiB, time: 10m}
retry: {attempts: 3, wait: 1s}
steps:
  - &first
    name: by_city
    from: "in/${region}/*.csv"
    by: city
    agg: [sum(n) as total, count(*)]
    where: n > 0
    input: {types: {n: int64}, nulls: [NA]}
    output: {path: "out/${date}/city", format: parquet, partition_by: city, manifest: true}
  - <<: *first
    name: again
    from: ${steps.by_city.output}
    output: out/again.csv
`

// Would catch text that takes memory or time without end, or a stack: aliases and variables that
// double, depth, length.
func TestHostileJobs(t *testing.T) {
	const step = "steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv}\n"
	doubling := func(line func(i int) string) string {
		var b strings.Builder
		for i := range 40 {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"aliases that double":   "x0: &x0 [a, a]\n" + doubling(func(i int) string { return fmt.Sprintf("x%d: &x%d [*x%d, *x%d]\n", i+1, i+1, i, i) }) + step,
		"maps that double":      "x0: &x0 {a: b}\n" + doubling(func(i int) string { return fmt.Sprintf("x%d: &x%d {<<: [*x%d, *x%d], k: *x%d}\n", i+1, i+1, i, i, i) }) + step,
		"variables that double": "variables:\n  v0: xx\n" + doubling(func(i int) string { return fmt.Sprintf("  v%d: ${v%d}${v%d}\n", i+1, i, i) }) + strings.Replace(step, "x.csv", "'${v40}'", 1),
		"a deep list":           "steps: " + strings.Repeat("[", 100_000),
		"a deep list that ends": "steps: " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"a deep map":            "steps: " + strings.Repeat("{a: ", 50_000) + "b" + strings.Repeat("}", 50_000),
		"deep blocks":           doubling(func(i int) string { return strings.Repeat(" ", i) + "a:\n" }) + step,
		"a long value":          "name: " + strings.Repeat("x", 900_000) + "\n" + step,
		"a long key":            strings.Repeat("x", 900_000) + ": 1\n" + step,
		"a long number":         "limits: {threads: " + strings.Repeat("9", 500_000) + "}\n" + step,
		"many fields":           doubling(func(i int) string { return strings.Repeat(fmt.Sprintf("f%d: 1\n", i), 2000) }) + step,
		"many anchors":          "steps: [" + strings.Repeat("&a a, ", 100_000) + "]",
		"binary":                "name: !!binary aGVsbG8=\n" + step,
		"tags":                  "name: !!python/object:os.system ls\nsteps: !!map []\n",
		"zero bytes":            "name: a\x00b\n" + step,
		"no character":          step + "name: \"\\ud800\"\n",
		"a time":                "name: 2001-01-01T00:00:00Z\nlimits: {memory: 1e999, time: .inf}\n" + step,
		"merges of itself":      "a: &a\n  <<: *a\n" + step,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parsed(text, nil)
			runtime.ReadMemStats(&after)
			var errs Errors
			if !errors.As(err, &errs) && name != "deep blocks" {
				t.Errorf("%v", err)
			}
			if len(fmt.Sprint(err)) > 64<<10 {
				t.Errorf("the error has %d B", len(fmt.Sprint(err)))
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 {
				t.Errorf("%d B of text took %d MiB", len(text), took>>20)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, make([]byte, fileBytesMax+1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, endless := range []string{path, "/dev/zero"} {
		if _, err := Load(endless, ParseOptions{}); err == nil || !strings.Contains(err.Error(), "1.0 MiB") {
			t.Errorf("%s: %v", endless, err)
		}
	}
}

// Would catch a panic over text that nobody thought of: words of a job in all places, and bytes
// that are changed.
func TestMutatedJobs(t *testing.T) {
	if _, err := parsed(validJob, nil); err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(validJob, func(r rune) bool { return strings.ContainsRune(" \n,[]{}", r) })
	words = append(words, "[", "]", "{", "}", ",", "\n", "\n  ", "- ", ": ", "*first", "&first ", "<<: ", "null", "~", "!!int ", "-1", "1e400", "'", "\"", "|\n", ">-\n", "${", "$${", "#", "---\n", "%YAML 9\n", "\t", "\x00", "\xff", "../../x", "🦆")
	const jobs = 1500
	parsedWell := 0
	for seed := range uint64(jobs) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := []byte(validJob)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(text))
			to := min(at+r.IntN(12), len(text))
			switch r.IntN(3) {
			case 0:
				text[at] = byte(r.Uint32())
			case 1:
				text = slices.Delete(text, at, to)
			case 2:
				text = slices.Replace(text, at, to, []byte(words[r.IntN(len(words))])...)
			}
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: %v\n%s", seed, p, text)
				}
			}()
			j, err := parsed(string(text), nil)
			var errs Errors
			switch {
			case err == nil:
				parsedWell++
				_ = j.Validate()
			case !errors.As(err, &errs):
				t.Errorf("seed %d: no error of the file: %v", seed, err)
			}
		}()
	}
	if parsedWell == 0 || parsedWell == jobs {
		t.Errorf("%d of %d texts are jobs", parsedWell, jobs)
	}
}
