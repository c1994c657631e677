package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/app/chart/charttest"
	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/kernels"
)

// Would catch a page that no browser reads, that lacks a picture or a figure, or text that becomes
// markup.
func TestPage(t *testing.T) {
	recorder := trace.New()
	start := time.Now()
	q := recorder.Query(start)
	q.Row("CPU", "worker 0", 0).Add("read", start, start.Add(time.Millisecond))
	many := q.Row("device 0", "stream 0", 0)
	for i := range time.Duration(10_000) {
		many.Add("<scatter>", start.Add(i*time.Microsecond), start.Add(i*time.Microsecond+time.Nanosecond))
	}
	time.Sleep(11 * time.Millisecond)
	q.End()
	p := &report.Page{
		Query:    `SELECT "a" FROM 'x' WHERE a < 3 & b > '</pre><script>alert(1)</script>'`,
		Plan:     "result: a\n  device: host",
		Error:    "interrupted <here>",
		Timeline: recorder.Timeline(),
		Facts:    []report.Fact{{"groups", "4,896"}},
		Device:   []report.Fact{{"device", "NVIDIA <H100>"}},
		Stats: engine.Stats{
			PhaseTimes: map[engine.Phase]time.Duration{engine.PhasePlan: time.Millisecond, engine.PhaseProcess: 2 * time.Second},
			Device:     &device.Stats{Devices: "H100", Sizes: []int64{5, 0, 17, 3}, Tasks: []int64{17, 8}, Loads: []float64{0.25, 0.5, 0.75}, Rounds: 3},
		},
	}
	got := charttest.Parse(t, p)
	for _, want := range []string{p.Query, p.Plan, p.Error, "4,896", "NVIDIA <H100>", "2s", "worker 0", "stream 0", "17 rows", "4 partitions as rows were scattered", "2 sets of partitions", "round 3: 0.750", "<scatter>"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(got.Text, "%!") {
		t.Errorf("a format that does not fit its values: %s", got.Text)
	}
	if e := got.Elements; e["script"] != 1 || e["link"] != 0 || e["img"] != 0 || e["circle"] != 3 || e["rect"] < 4+2+2+2 || e["rect"] > 3000 {
		t.Errorf("elements: %v", e)
	}
}

// Would catch a comparison without one of its ways, or whose text becomes markup.
func TestComparison(t *testing.T) {
	c := &report.Comparison{
		Query: "SELECT a < b", Columns: []string{"algorithm", "s", "route"}, Rows: [][]string{{"hgb", "0.1", "<device>"}, {"lphga", "0.2", "cpu"}},
		Seconds: []float64{0.1, 0.2}, Notes: []string{"all & same"},
	}
	got := charttest.Parse(t, c)
	for _, want := range []string{c.Query, "algorithm", "route", "hgb", "0.1 s", "<device>", "lphga", "all & same"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q", want)
		}
	}
	if e := got.Elements; e["svg"] != 2 || e["tr"] != 2+1+2 || e["script"] != 0 {
		t.Errorf("elements: %v", e)
	}
}

// Would catch a page that needs what a query may not have, or that tells of devices where there are none.
func TestEmptyPage(t *testing.T) {
	p := &report.Page{
		Query: "mpga agg", Device: []report.Fact{{"on the CPU", "no device"}},
		Stats: engine.Stats{Device: &device.Stats{Reason: "no device: no NVIDIA driver"}},
	}
	if kernels.Possible() == nil {
		p.Device = nil
	}
	if got := charttest.Parse(t, p); got.Elements["svg"] != 0 || got.Elements["script"] != 0 || strings.Contains(got.Text, "Devices") || !strings.Contains(got.Text, "mpga agg") {
		t.Errorf("%+v", got)
	}
}
