package main

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// draw writes a picture of the seconds by groups, both on logarithmic axes.
func draw(file string, lines []line) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "groups", "seconds"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	var series []any
	for _, s := range []struct {
		name  string
		value func(line) float64
	}{
		{"DuckDB", func(l line) float64 { return l.duckDB }},
		{"mpga", func(l line) float64 { return l.mpga.Seconds }},
		{"floor of the link", func(l line) float64 { return l.mpga.Floor }},
	} {
		points := make(plotter.XYs, len(lines))
		for i, l := range lines {
			points[i] = plotter.XY{X: l.groups, Y: s.value(l)}
			if points[i].Y <= 0 {
				points[i].Y = 1e-3 // without a GPU there is no link
			}
		}
		series = append(series, s.name, points)
	}
	if err := plotutil.AddLinePoints(p, series...); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, file)
}
