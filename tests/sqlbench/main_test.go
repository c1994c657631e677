package main

import (
	"context"
	"strings"
	"testing"

	"github.com/mpga/mpga/tests/peer/peertest"
)

// Every query runs and both engines answer alike. It finds a harness that no longer fits the
// engine.
func TestRun(t *testing.T) {
	python := peertest.Python(t)
	var out strings.Builder
	err := run(context.Background(), []string{"-python", python, "-scale", "0.01", "-rows", "2e4", "-hits", "2e4", "-times", "1", "-dir", t.TempDir()}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"DuckDB 2.", "| TPC-H: Q1 |", "| plain sums: two columns |", "| H2O: q10 |", "| ClickBench: geometric mean |", "| ClickBench: minimum |", "| ClickBench: below 1.0 |", "| text: min(URL) |", "| 1% of sorted data: by the key |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}

// The rows below a set tell how many of its queries are behind, which a mean alone would hide.
func TestRatios(t *testing.T) {
	var out strings.Builder
	ratios{4, 0.5, 2, 1}.print(&out, "set")
	ratios{2}.print(&out, "one query")
	want := "| set: geometric mean | | | 1.41 | | |\n| set: minimum | | | 0.50 | | |\n| set: below 1.0 | | | 1 of 4 | | |\n"
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}
