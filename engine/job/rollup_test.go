package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/rollup"
)

// guestsJob has a step whose states are kept, and one that reads it and a table of its own.
const guestsJob = `
limits: {threads: 1, memory: 256MiB}
steps:
  - name: names
    from: names.csv
    by: id, name
    output: out/names.csv
  - name: guests
    from: in/*.csv
    sql: |
      SELECT name, count(DISTINCT guest) AS guests, median(ms) AS ms FROM input JOIN names USING (id)
      GROUP BY name ORDER BY name
    rollup: states/guests
    output: out/guests.csv
`

// Would catch a step that reads days again whose states are kept, another answer than a full run's, and a step that is
// not done again where the table changes that it reads by the name of a step.
func TestRollup(t *testing.T) {
	dir := t.TempDir()
	day := func(n int) {
		text := fmt.Sprintf("id,guest,ms\n1,%d,%d\n2,7,%d\n", n%3, 10*n, n)
		writeFile(t, filepath.Join(dir, "in", fmt.Sprintf("%d.csv", n)), text)
	}
	writeFile(t, filepath.Join(dir, "names.csv"), "id,name\n1,Ulm\n2,Jena\n")
	day(1)
	day(2)
	var log bytes.Buffer
	opt := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Version: "test"}
	full := reparsed(t, dir, strings.Replace(guestsJob, "    rollup: states/guests\n", "", 1))
	full.State = filepath.Join(dir, "full.state")
	answer := filepath.Join(dir, "full.csv")
	full.Steps[0].Output.Path, full.Steps[1].Output.Path = filepath.Join(dir, "names of full.csv"), answer
	for _, step := range []struct {
		name   string
		change func()
		read   string // how many files are read again depends on the bundles, which hashes of names end
	}{
		{"first", func() {}, "new=2 changed=0 gone=0 files_read=2"},
		{"a day", func() { day(3) }, "new=1 changed=0 gone=0 files_read="},
		{"a change", func() { writeFile(t, filepath.Join(dir, "in", "2.csv"), "id,guest,ms\n1,50,50\n") },
			"new=0 changed=1 gone=0 files_read="},
		{"names", func() { writeFile(t, filepath.Join(dir, "names.csv"), "id,name\n1,Bonn\n2,Jena\n") },
			"new=0 changed=0 gone=0 files_read=3"},
		{"gone", func() { remove(t, filepath.Join(dir, "in", "1.csv")) }, "new=0 changed=0 gone=1 files_read="},
	} {
		step.change()
		log.Reset()
		j := reparsed(t, dir, guestsJob)
		if _, err := j.Run(t.Context(), opt); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if _, err := full.Run(t.Context(), opt); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), step.read) {
			t.Errorf("%s: want %s in\n%s", step.name, step.read, log.String())
		}
		if got, want := readFile(t, filepath.Join(dir, "out", "guests.csv")), readFile(t, answer); got != want {
			t.Errorf("%s: %s\na full run: %s", step.name, got, want)
		}
	}
	if got := outcomes(t, reparsed(t, dir, guestsJob), opt); got != "skipped skipped" {
		t.Errorf("nothing has changed, and the steps are %s", got)
	}
	plan, err := reparsed(t, dir, guestsJob).Plan(context.Background(), opt)
	if err != nil || !strings.Contains(plan.String(), "rollup   "+filepath.Join(dir, "states", "guests")) {
		t.Errorf("%v\n%s", err, plan)
	}
}

// Would catch fields of a roll-up that are taken and ignored, and a state that is lost to another query.
func TestRollupRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "names.csv"), "id,name\n1,Ulm\n")
	writeFile(t, filepath.Join(dir, "in", "1.csv"), "id,guest,ms\n1,2,3\n")
	for _, change := range []struct{ from, to, want string }{
		{"rollup: states/guests", "rollup: {keep_parts: 3}", "state is missing"},
		{"rollup: states/guests", `rollup: ""`, "rollup.state: state is missing"},
		{"rollup: states/guests", `rollup: {state: ""}`, "rollup.state: state is missing"},
		{"rollup: states/guests", "rollup:", "rollup: state is missing"},
		{"rollup: states/guests", "rollup: {state: s, keep_parts: -3}", "rollup.keep_parts: -3: want 0 or more"},
		{"rollup: states/guests", "rollup: {state: s, whole_bytes: 0}", "want a size"},
		{"rollup: states/guests", "rollup: {state: s, keep: 3 weeks}", "want days"},
		{"rollup: states/guests", "rollup: s\n    input: {rejects: r.csv}", "rejects: not supported by a roll-up"},
		{"rollup: states/guests", "rollup: s\n    input: {max_rejects: 1%}", "max_rejects: not supported by a roll-up"},
		{"rollup: states/guests", "rollup: s\n    input: {optional: true}", "optional: not supported by a roll-up"},
		{"    output: out/names.csv", "    rollup: states/guests\n    output: out/names.csv",
			"step names keeps its states in"},
	} {
		text := strings.Replace(guestsJob, change.from, change.to, 1)
		_, err := Parse(filepath.Join(dir, "visits.yaml"), []byte(text), ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: %v, want %q", change.to, err, change.want)
		}
	}
	_, err := reparsed(t, dir, guestsJob).Distributed("guests")
	if err == nil || !strings.Contains(err.Error(), "not kept") {
		t.Errorf("a distributed roll-up: %v", err)
	}
	if _, err := reparsed(t, dir, guestsJob).Run(t.Context(), Options{}); err != nil {
		t.Fatal(err)
	}
	good := readFile(t, filepath.Join(dir, "out", "guests.csv"))
	_, err = reparsed(t, dir, strings.Replace(guestsJob, "median(ms)", "max(ms)", 1)).Run(t.Context(), Options{})
	if !errors.Is(err, rollup.ErrOther) || !strings.Contains(err.Error(), "step guests: ") {
		t.Errorf("another query: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "out", "guests.csv")); err != nil || string(text) != good {
		t.Errorf("the last good output is %q, %v", text, err)
	}
}
