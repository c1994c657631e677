package main

import (
	"context"
	"strings"
	"testing"
)

// Every query runs and both engines answer alike. It finds a harness that no longer fits the
// engine.
func TestRun(t *testing.T) {
	var out strings.Builder
	err := run(context.Background(), []string{"-scale", "0.01", "-rows", "2e4", "-times", "1", "-dir", t.TempDir()}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"| TPC-H: Q1 |", "| H2O: q10 |", "| ClickBench: geometric mean |", "| 1% of sorted data: by the key |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}
