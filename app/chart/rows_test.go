package chart_test

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/app/chart/charttest"
)

// drawing is a chart that parse takes.
type drawing struct{ *chart.Rows }

func (d drawing) Write(to io.Writer) error { return d.Rows.Write(to) }

// Would catch a chart without one of its rows, a line through a NULL, a series of another's rows, names that become
// markup, and numbers that no picture has.
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
		{"lines of rows in another order", chart.Rows{Kind: chart.Lines, X: "x", At: []float64{3, 1, 2},
			Columns: []chart.Column{{"n", []float64{30000, 10000, 20000}}}}, map[string]int{"polyline": 1}, "n: 20,000 at 2"},
		{"series by a text", chart.Rows{Kind: chart.Lines, X: "day", Dates: true,
			At: []float64{86400, 0, 86400, 0}, By: []string{"a", "b", "b", "a"},
			Columns: []chart.Column{{"n", []float64{1, 2, 3, 4}}}}, map[string]int{"polyline": 2}, "b: 3 at 1970-01-02"},
		{"bars by a text", chart.Rows{Kind: chart.Bars, X: "x", Names: []string{"m", "m", "o"}, By: []string{"a", "b", "b"},
			Columns: []chart.Column{{"n", []float64{1, 2, 3}}}}, map[string]int{"rect": 3}, "b: 3 at o"},
		{"more series than colours", chart.Rows{Kind: chart.Scatter, X: "x", At: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
			By:      strings.Split("a b c d e f g h i j", " "),
			Columns: []chart.Column{{"n", []float64{1, 20, 3, 4, 5, 6, 7, 8, 9, 10}}}},
			map[string]int{"path": 16}, "j: 10 at 1"}, // a mark each, and one in the legend
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

// Would catch a line that goes back and forth where the rows are in another order than x.
func TestLinesGoRight(t *testing.T) {
	c := chart.Rows{Kind: chart.Lines, X: "x", At: []float64{3, 1, 2}, Columns: []chart.Column{{"n", []float64{1, 1, 1}}}}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, points, _ := strings.Cut(b.String(), `points="`)
	last := math.Inf(-1)
	for _, at := range strings.Fields(points[:strings.Index(points, `"`)]) {
		x, err := strconv.ParseFloat(at[:strings.Index(at, ",")], 64)
		if err != nil || x <= last {
			t.Errorf("%s comes after %g: %v", at, last, err)
		}
		last = x
	}
}
