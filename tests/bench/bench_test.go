package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/tests/peer/peertest"
)

// Every case but those of the command runs, all engines answer alike, and all is written. It finds
// a harness that no longer fits the engine, and answers that differ.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var out strings.Builder
	python := peertest.Python(t)
	err := run(context.Background(), []string{"-python", python, "-rows", "1e4", "-times", "1", "-dir", dir, "-run", "^(memory|Parquet|H2O|cost)",
		"-md", at("x.md"), "-svg", at("x.svg"), "-json", at("x.json")}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for name, want := range map[string]string{"x.md": "| H2O CSV: geometric mean |", "x.json": "wall_nanos", "x.svg": "<svg", "x-groups.svg": "<svg", "x-rows.svg": "<svg"} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
	checkSamples(t, at("x.json"))
}

// checkSamples fails where an engine that Python has did not answer a case.
func checkSamples(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, one := range r.Results {
		for engine := range r.Header.Versions {
			if samples := one.Samples[engine]; one.Samples != nil && (len(samples) != 1 || samples[0].Wall <= 0) {
				t.Errorf("%s: %s has the samples %v", one.Case, engine, samples)
			}
		}
	}
}
