//go:build cgo

package plan_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch joins whose splits a sample for a device takes for read: rows of the build side without a partner then
// come before all partners are known, and a count of splits ends below 0.
func TestJoinsOfAuto(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	opt := engine.Options{Device: "auto", MemoryLimit: 2 << 30, Threads: 2}
	auto, err := engine.Open(testknobs.With(opt, testknobs.Engine{Device: testknobs.Device{AutoHostBytes: 256 << 20}}))
	if err != nil {
		t.Fatal(err)
	}
	defer auto.Close()
	cpu := openEngine(t)
	tables := map[string]plan.Table{
		"l": {Source: source(rng, makeSide(rng, 3000, 900, 0.1))},
		"r": {Source: source(rng, makeSide(rng, 2000, 600, 0.2))},
	}
	for _, kind := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"} {
		text := "SELECT l.k, max(l.s), count(*) FROM l " + kind + " r ON l.k = r.k AND l.v <> r.v GROUP BY 1"
		if kind == "SEMI JOIN" || kind == "ANTI JOIN" {
			text = "SELECT k, max(s), count(*) FROM l " + kind + " r ON l.k = r.k GROUP BY 1"
		}
		for range 5 {
			got, err := answeredWith(auto, text, plan.Options{Tables: tables})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want, err := answeredWith(cpu, text, plan.Options{Tables: tables})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d groups, %d on the CPU", text, len(got), len(want))
			}
		}
	}
}
