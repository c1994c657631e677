//go:build cgo

package plan_test

import (
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
)

// Would catch a sum that is computed row by row though it follows from another, and one that is not
// though a row of it may be an error.
func TestShift(t *testing.T) {
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	told := &toldSource{countedSource: countedSource{Source: keyedTable(10)}}
	for _, c := range []struct {
		source  scan.Source
		text    string
		shifted bool
	}{
		{told, "SELECT sum(b + 1), sum(3 + b), sum(b - 2) FROM t GROUP BY a", true},
		{told, "SELECT sum(b + 10000000) FROM t", false},
		{told, "SELECT sum(b + 1) FILTER (WHERE a > 3) FROM t", false},
		{told, "SELECT sum(3 - b) FROM t", false},
		{told, "SELECT sum(a + 1) FROM t", false},           // of 64 bits
		{keyedTable(10), "SELECT sum(b + 1) FROM t", false}, // which may pass 32 bits
	} {
		text, err := explained(eng, c.text, map[string]plan.Table{"t": {Source: c.source}})
		if shifted := !strings.Contains(text, "compute:"); err != nil || shifted != c.shifted {
			t.Errorf("%s: %v, of\n%s", c.text, err, text)
		}
	}
}
