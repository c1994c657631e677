package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

// Would catch a plan that says something else than before: of every kind of table, of keys with
// and without statistics, and of sources that do not know their size. What changed on purpose is
// renewed with -rewrite.
func TestExplain(t *testing.T) {
	eng := openChecked(t, engine.Options{Threads: 4, MemoryLimit: 1 << 30, TempDir: "temp", TempLimit: 10 << 30})
	made := &madeSource{splits: 3, batches: 10, rows: 1234, groups: 10}
	ranged := *made
	ranged.stats = []scan.ColumnStats{{NoNulls: true, HasRange: true, Min: -5, Max: 94}, {HasRange: true, Min: 0, Max: 1 << 40}, {NoNulls: true, Repeats: true}}
	one := &madeSource{splits: 1, batches: 1, rows: 1, groups: 1}
	aggregates := []spec.Aggregate{
		{Func: spec.CountStar}, {Func: spec.Avg, Args: []string{"v"}, Name: "mean"}, {Func: spec.Max, Args: []string{"s"}},
		{Func: spec.MinN, Args: []string{"v"}, Length: 3}, {Func: spec.Corr, Args: []string{"v", "k"}}, {Func: spec.ApproxCountDistinct, Args: []string{"s"}},
	}
	for _, c := range []struct {
		name string
		src  scan.Source
		q    spec.Query
	}{
		{"single_group", made, spec.Query{Aggregates: aggregates}},
		{"hash", made, spec.Query{Keys: []spec.Key{{Column: "k"}, {Column: "s"}}, Aggregates: aggregates}},
		{"dense", &ranged, spec.Query{Keys: []spec.Key{{Column: "k", Name: "key"}}, Aggregates: aggregates[:2]}},
		{"strings_that_repeat", &ranged, spec.Query{Keys: []spec.Key{{Column: "s"}}, Aggregates: aggregates[:1]}},
		{"keys_only", one, spec.Query{Keys: []spec.Key{{Column: "v"}}}},
		{"unknown_size", unknownSize{made}, spec.Query{Keys: []spec.Key{{Column: "k"}}, Aggregates: aggregates[:1]}},
	} {
		plan, err := eng.Explain(t.Context(), c.src, c.q)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "explain_"+c.name, plan.String())
	}
	if _, err := eng.Explain(t.Context(), made, spec.Query{Keys: []spec.Key{{Column: "kk"}}}); err == nil || !strings.Contains(err.Error(), "did you mean k?") {
		t.Errorf("a column that does not exist: %v", err)
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}
