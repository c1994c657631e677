//go:build invariants

package invariants

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// panics returns what a function panics with, as text; "" if it does not.
func panics(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = p.(string)
		}
	}()
	f()
	return ""
}

func TestCheckf(t *testing.T) {
	if got := panics(func() { Checkf(true, "A1: %d", 1) }); got != "" {
		t.Errorf("an invariant that holds: %s", got)
	}
	if got := panics(func() { Checkf(false, "A1: %d", 1) }); got != "invariant A1: 1" {
		t.Errorf("an invariant that does not hold: %q", got)
	}
}

func TestCloseChecker(t *testing.T) {
	var c CloseChecker
	c.Open("a store")
	if open := stillOpen(); len(open) != 1 || !strings.Contains(open[0].String(), "a store was not closed") ||
		!strings.Contains(open[0].String(), "TestCloseChecker") {
		t.Errorf("open: %v, want the store with its stack", open)
	}
	c.CheckOpen()
	c.Close()
	if open := stillOpen(); len(open) != 0 {
		t.Errorf("closed, and still open: %v", open)
	}
	if got := panics(c.CheckOpen); !strings.Contains(got, "a store is used after it was closed") {
		t.Errorf("use after close: %q", got)
	}
	if got := panics(c.Close); !strings.Contains(got, "a store is closed twice") {
		t.Errorf("second close: %q", got)
	}
}

// passing are tests that pass and do what a function does.
type passing func()

func (p passing) Run() int {
	p()
	return 0
}

// A path that nobody reaches, and an owner that nobody closes, must fail a run of tests.
func TestRun(t *testing.T) {
	var c CloseChecker
	if code := Run(passing(func() { c.Open("a pass") })); code == 0 {
		t.Error("an owner is open, and the tests pass")
	}
	c.Close()
	dir := t.TempDir()
	for name, source := range map[string]string{
		"a.go":      `package a; func f() { invariants.Sometimes("a: first"); invariants.Sometimes("a: second") }`,
		"a_test.go": `package a; func g() { invariants.Sometimes("a: of a test") }`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := pathsIn(dir)
	if err != nil || !slices.Equal(paths, []string{"a: first", "a: second"}) {
		t.Fatalf("paths %q, %v", paths, err)
	}
	if selective() {
		t.Skip("flags leave tests out: Run does not look for paths")
	}
	t.Chdir(dir)
	if code := Run(passing(func() { Sometimes("a: first") })); code == 0 {
		t.Error("a path was not reached, and the tests pass")
	}
	if code := Run(passing(func() { Sometimes("a: second") })); code != 0 {
		t.Error("all paths were reached, and the tests fail")
	}
}
