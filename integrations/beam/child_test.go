package mpgabeam

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/integrations/beam/internal/fakempga"
)

// Would catch an error that is too large for the messages of a runner: Flink drops those above 10 MB.
func TestChatter(t *testing.T) {
	plan := smallPlan(t, map[string]string{"partial 0": fakempga.Chatter})
	lines := 0
	c := child{binary: fakeOptions(t).Binary, args: taskArgs(plan.Path(), "partial", 0, Options{}), log: func(string) { lines++ }}
	_, err := c.run(t.Context())
	wantError(t, err, "exit status 1", "the last line")
	if n := len(err.Error()); n > stderrMax+1000 {
		t.Errorf("an error of %d bytes", n)
	}
	if want := 1<<14 + 1; lines != want {
		t.Errorf("%d lines were logged, not %d", lines, want)
	}
}

// Would catch lines that are cut where writes are, and a text without an end that is kept whole.
func TestLineWriter(t *testing.T) {
	var got []string
	w := lineWriter{each: func(line string) { got = append(got, line) }, most: 8}
	for _, text := range []string{"a", "b\nc\n", "\n", strings.Repeat("x", 100), "\nlast"} {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	if want := []string{"ab", "c", "xxxxxxxx", "last"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, not %q", got, want)
	}
	if w.last() != "last" {
		t.Errorf("kept %q", w.last())
	}
}

// Would catch a standard output that takes the memory of the worker.
func TestBoundedBuffer(t *testing.T) {
	b := boundedBuffer{most: 4}
	for _, c := range []struct {
		text, all string
		dropped   bool
	}{{"abc", "abc", false}, {"d", "abcd", false}, {"e", "abcd", true}} {
		if n, err := b.Write([]byte(c.text)); n != len(c.text) || err != nil {
			t.Fatal(n, err)
		}
		if b.String() != c.all || b.dropped != c.dropped {
			t.Errorf("%q, dropped: %v", b.String(), b.dropped)
		}
	}
}
