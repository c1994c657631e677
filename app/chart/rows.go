package chart

import (
	"io"
	"math"
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
	panel := &Panel{X: Axis{Name: c.X, Names: c.Names}}
	if len(c.Columns) == 1 {
		panel.Y.Name = c.Columns[0].Name
	}
	for _, s := range c.Columns {
		series := &Series{Name: s.Name, Origin: Measured}
		for i, y := range s.Values {
			x := float64(i)
			if c.Names == nil {
				x = c.At[i]
			}
			if math.IsInf(y, 0) {
				y = math.NaN()
			}
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				series.Points = append(series.Points, Point{X: x, Y: y})
			}
		}
		panel.Series = append(panel.Series, series)
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
