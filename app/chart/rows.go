package chart

import (
	"cmp"
	"io"
	"math"
	"slices"
)

// Kind is how the rows of a result are drawn.
type Kind string

// The kinds.
const (
	Bars    Kind = "bar"
	Lines   Kind = "line"
	Scatter Kind = "scatter" // points that are not joined
)

// Rows are the rows of a result as a chart: a dimension, and numbers beside it.
type Rows struct {
	Kind    Kind
	X       string    // name of the dimension
	Names   []string  // of the rows, where the dimension has no numbers; always of bars
	At      []float64 // of the rows, where it has: seconds since 1970 of dates
	Dates   bool      // At are dates
	By      []string  // of the rows: the values are series of the one column, Colours at most; nil is a series a column
	Columns []Column
}

// Column is a column of numbers.
type Column struct {
	Name   string
	Values []float64 // of the rows; NaN is NULL
}

// Write writes the chart as an SVG element without a style of its own, for a page that has report.Style. It
// writes nothing where no row has a number.
func (c *Rows) Write(to io.Writer) error {
	panel := &Panel{X: Axis{Name: c.X}}
	if len(c.Columns) == 1 {
		panel.Y.Name = c.Columns[0].Name
	}
	at := c.At
	if c.Names != nil {
		panel.X.Names, at = places(c.Names, c.By != nil)
	}
	for _, name := range c.seriesNames() {
		panel.Series = append(panel.Series, &Series{Name: name, Origin: Measured})
	}
	for i, column := range c.Columns {
		for row, y := range column.Values {
			series := panel.Series[i]
			if c.By != nil {
				series = panel.Find(c.By[row]) // nil of a value that has no colour
			}
			if math.IsInf(y, 0) {
				y = math.NaN()
			}
			if x := at[row]; series != nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
				series.Points = append(series.Points, Point{x, y})
			}
		}
	}
	if c.Kind == Lines {
		for _, s := range panel.Series { // a line goes from left to right, whatever the order of the rows
			slices.SortStableFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		}
	}
	p := plot{panel: panel, top: chartTop, apart: c.Kind == Scatter, dates: c.Dates}
	if !p.measure() {
		return nil
	}
	if c.Kind != Bars && p.y.low == 0 && c.least() > p.y.high/2 {
		p.y.low = c.least() - (p.y.high-c.least())/4 // lines need no ground at 0
	}
	var body, w Writer
	height := p.drawKind(&body, c.Kind)
	w.F("<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>%s of %s</title>\n",
		chartWidth, math.Ceil(height), c.names(), c.X)
	_, _ = body.WriteTo(&w)
	w.F("</svg>\n")
	_, err := w.WriteTo(to)
	return err
}

// places returns the names of an axis, and where on it the rows are. Rows of one name are at one place where
// several series have it.
func places(names []string, together bool) (axis []string, at []float64) {
	seen := map[string]int{}
	for _, name := range names {
		i, ok := seen[name]
		if !ok || !together {
			i = len(axis)
			seen[name], axis = i, append(axis, name)
		}
		at = append(at, float64(i))
	}
	return axis, at
}

// seriesNames returns the names of the series: of the columns, or the values of By, as many as there are colours.
// Those whose numbers are largest together are shown, in the order of the rows.
func (c *Rows) seriesNames() (names []string) {
	if c.By == nil {
		for _, column := range c.Columns {
			names = append(names, column.Name)
		}
		return names
	}
	totals := map[string]float64{}
	for row, y := range c.Columns[0].Values {
		name := c.By[row]
		if _, ok := totals[name]; !ok {
			names = append(names, name)
			totals[name] = 0
		}
		if !math.IsNaN(y) {
			totals[name] += math.Abs(y)
		}
	}
	if len(names) <= Colours {
		return names
	}
	largest := slices.Clone(names)
	slices.SortStableFunc(largest, func(a, b string) int { return cmp.Compare(totals[b], totals[a]) })
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(largest[:Colours], name) })
}

// least returns the least value of the rows.
func (c *Rows) least() float64 {
	least := math.Inf(1)
	for _, s := range c.Columns {
		for _, y := range s.Values {
			if y < least { // which NaN is not
				least = y
			}
		}
	}
	return least
}

// names lists the series.
func (c *Rows) names() (text string) {
	for i, s := range c.Columns {
		if i > 0 {
			text += ", "
		}
		text += s.Name
	}
	return text
}
