package report_test

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/report"
)

// drawing is a chart that parse takes.
type drawing struct{ *report.ResultChart }

func (d drawing) Write(to io.Writer) error { return d.ResultChart.Write(to) }

// Would catch a chart without one of its rows, a line through a NULL, names that become markup, and
// numbers that no picture has.
func TestResultChart(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name  string
		chart report.ResultChart
		want  map[string]int // elements
		text  string
	}{
		{"bars", report.ResultChart{Kind: report.Bars, X: "<x>", Names: []string{"a", "<b>", "NULL"},
			Series: []report.ResultSeries{{"n", []float64{1, 2, nan}}, {"m", []float64{-1, 0, 3}}}}, map[string]int{"rect": 5, "svg": 1}, "<b>"},
		{"lines", report.ResultChart{Kind: report.Lines, X: "x", At: []float64{1, 2, 3, 4, 5},
			Series: []report.ResultSeries{{"n", []float64{1, 2, nan, 4, 5}}}}, map[string]int{"polyline": 2, "path": 4}, "n: 4 at 4"},
		{"points", report.ResultChart{Kind: report.Scatter, X: "x", At: []float64{1, nan, 3, 4},
			Series: []report.ResultSeries{{"n", []float64{1, 2, 3, inf}}}}, map[string]int{"polyline": 0, "path": 2}, "n: 3 at 3"},
		{"dates", report.ResultChart{Kind: report.Lines, X: "day", Dates: true, At: []float64{0, 86400, 172800},
			Series: []report.ResultSeries{{"n", []float64{1, 2, 3}}}}, map[string]int{"polyline": 1, "path": 3}, "n: 3 at 1970-01-03"},
		{"no number", report.ResultChart{Kind: report.Bars, X: "x", Names: []string{"a"}, Series: []report.ResultSeries{{"n", []float64{nan}}}},
			map[string]int{"svg": 0}, ""},
		{"one row", report.ResultChart{Kind: report.Lines, X: "x", At: []float64{7}, Series: []report.ResultSeries{{"n", []float64{7}}}},
			map[string]int{"path": 1}, "n: 7 at 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parse(t, drawing{&c.chart})
			for name, n := range c.want {
				if got.elements[name] != n {
					t.Errorf("%d of %s, want %d", got.elements[name], name, n)
				}
			}
			if !strings.Contains(got.text, c.text) {
				t.Errorf("no %q in %s", c.text, got.text)
			}
			var b bytes.Buffer
			if err := c.chart.Write(&b); err != nil || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Errorf("%v: %s", err, b.String())
			}
		})
	}
}
