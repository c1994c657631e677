package chart_test

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/app/chart/charttest"
)

// drawing is a chart that parse takes.
type drawing struct{ *chart.Rows }

func (d drawing) Write(to io.Writer) error { return d.Rows.Write(to) }

// Would catch a chart without one of its rows, a line through a NULL, names that become markup, and
// numbers that no picture has.
func TestRows(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name  string
		chart chart.Rows
		want  map[string]int // elements
		text  string
	}{
		{"bars", chart.Rows{Kind: chart.Bars, X: "<x>", Names: []string{"a", "<b>", "NULL"},
			Columns: []chart.Column{{"n", []float64{1, 2, nan}}, {"m", []float64{-1, 0, 3}}}}, map[string]int{"rect": 5, "svg": 1}, "<b>"},
		{"lines", chart.Rows{Kind: chart.Lines, X: "x", At: []float64{1, 2, 3, 4, 5},
			Columns: []chart.Column{{"n", []float64{1, 2, nan, 4, 5}}}}, map[string]int{"polyline": 2, "path": 4}, "n: 4 at 4"},
		{"points", chart.Rows{Kind: chart.Scatter, X: "x", At: []float64{1, nan, 3, 4},
			Columns: []chart.Column{{"n", []float64{1, 2, 3, inf}}}}, map[string]int{"polyline": 0, "path": 2}, "n: 3 at 3"},
		{"dates", chart.Rows{Kind: chart.Lines, X: "day", Dates: true, At: []float64{0, 86400, 172800},
			Columns: []chart.Column{{"n", []float64{1, 2, 3}}}}, map[string]int{"polyline": 1, "path": 3}, "n: 3 at 1970-01-03"},
		{"no number", chart.Rows{Kind: chart.Bars, X: "x", Names: []string{"a"}, Columns: []chart.Column{{"n", []float64{nan}}}},
			map[string]int{"svg": 0}, ""},
		{"one row", chart.Rows{Kind: chart.Lines, X: "x", At: []float64{7}, Columns: []chart.Column{{"n", []float64{7}}}},
			map[string]int{"path": 1}, "n: 7 at 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := charttest.Parse(t, drawing{&c.chart})
			for name, n := range c.want {
				if got.Elements[name] != n {
					t.Errorf("%d of %s, want %d", got.Elements[name], name, n)
				}
			}
			if !strings.Contains(got.Text, c.text) {
				t.Errorf("no %q in %s", c.text, got.Text)
			}
			var b bytes.Buffer
			if err := c.chart.Write(&b); err != nil || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Errorf("%v: %s", err, b.String())
			}
		})
	}
}
