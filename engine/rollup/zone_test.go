package rollup

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/engine/plan"
)

// Would catch a roll-up whose keys are computed by other clocks than the statement's: the answer is the statement's own,
// of which the days of an instant are others than UTC's.
func TestZone(t *testing.T) {
	h := newHistory(t, rand.New(rand.NewPCG(1, 2)))
	path := filepath.Join(h.dir, "instants.csv")
	check(t, os.WriteFile(path, []byte("at,v\n2024-03-31 01:30:00+00,1\n2024-07-01 22:00:00+00,2\n2024-07-01 01:00:00+00,3\n,4\n"), 0o644))
	h.opt.Tables = map[string]plan.Table{"t": {Files: []string{path}}}
	h.opt.TimeZone, h.opt.Output = "Asia/Tokyo", filepath.Join(h.dir, "days.csv")
	h.opt.Statement = "SELECT at::DATE AS day, date_trunc('day', at) AS began, sum(v) AS v, min(at::VARCHAR) AS least FROM t " +
		"WHERE at::DATE IS NULL OR at::DATE <> DATE '2024-07-01' GROUP BY ALL"
	_, err := Run(t.Context(), h.eng, h.opt)
	check(t, err)
	want := filepath.Join(h.dir, "want.csv")
	check(t, h.write(h.opt.Statement, plan.Options{Tables: h.opt.Tables, Deterministic: true, TimeZone: h.opt.TimeZone}, want))
	answer, err := os.ReadFile(want)
	check(t, err)
	if got, err := os.ReadFile(h.opt.Output); err != nil || !bytes.Equal(got, answer) {
		t.Errorf("%v: %s, want %s", err, got, answer)
	}
}
