package main

import (
	"fmt"
	"image/color"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	barColor    = color.RGBA{0x4c, 0x78, 0xa8, 0xff}
	missedColor = color.RGBA{0xe4, 0x57, 0x56, 0xff}
	wantedColor = color.RGBA{0x22, 0x22, 0x22, 0xff}
	evenColor   = color.RGBA{0x99, 0x99, 0x99, 0xff}
)

const (
	barWidth     = vg.Length(11)
	barPitch     = vg.Length(17) // from one bar to the next
	pictureWidth = vg.Length(760)
	marginHeight = vg.Length(90) // of the title and the axis
	labelRoom    = 0.5           // of a ratio's text, on the axis
)

// writePictures draws the ratios to path, and the curves to files beside it whose names end in
// -groups and -rows. The ending says what is written: .svg, .png, .pdf.
func (r *report) writePictures(path string) error {
	if len(r.Results) > 0 {
		if err := r.drawRatios(path); err != nil {
			return err
		}
	}
	ending := filepath.Ext(path)
	for _, c := range r.curves() {
		if err := r.drawCurve(c, strings.TrimSuffix(path, ending)+"-"+c.name+ending); err != nil {
			return err
		}
	}
	return nil
}

// drawRatios draws a bar for each case, the first on top, with a mark at what is wanted.
func (r *report) drawRatios(path string) error {
	p := newPlot()
	p.Title.Text = fmt.Sprintf("DuckDB's time / mpga's, %s rows, %d threads\n%s", power(r.Header.Rows), r.Header.Threads, r.Header.CPU)
	p.X.Label.Text = "times as fast as DuckDB (mark: wanted)"
	p.Y.Label.Text = " " // room: names are drawn wider than they are measured
	p.X.Min, p.X.Tick.Marker = 0, wholes{}
	names := make([]string, len(r.Results))
	reached, missed := make(plotter.Values, len(names)), make(plotter.Values, len(names))
	var wanted plotter.XYs
	labels := plotter.XYLabels{}
	for i := range r.Results {
		one := &r.Results[i]
		y := len(names) - 1 - i
		names[y] = one.Case
		if one.missed() == "" {
			reached[y] = one.Ratio
		} else {
			missed[y] = one.Ratio
		}
		if one.Wanted > 0 {
			wanted = append(wanted, plotter.XY{X: one.Wanted, Y: float64(y)})
		}
		at := one.Ratio
		if one.Wanted > at && one.Wanted < at+labelRoom {
			at = one.Wanted // the text would cover the mark
		}
		labels.XYs = append(labels.XYs, plotter.XY{X: at, Y: float64(y)})
		labels.Labels = append(labels.Labels, " "+orNothing("%.1f", one.Ratio))
	}
	p.NominalY(names...)
	if err := addBars(p, reached, barColor); err != nil {
		return err
	}
	if err := addBars(p, missed, missedColor); err != nil {
		return err
	}
	if err := addMarks(p, wanted, labels, len(names)); err != nil {
		return err
	}
	return save(p, marginHeight+barPitch*vg.Length(len(names)), path)
}

func addBars(p *plot.Plot, values plotter.Values, c color.Color) error {
	bars, err := plotter.NewBarChart(values, barWidth)
	if err != nil {
		return err
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, c, 0
	p.Add(bars)
	return nil
}

// addMarks adds the wanted ratios, the line where both are as fast, and the ratios as text.
func addMarks(p *plot.Plot, wanted plotter.XYs, labels plotter.XYLabels, rows int) error {
	even, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(rows) - 0.5}})
	if err != nil {
		return err
	}
	even.Color, even.Dashes = evenColor, []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(even)
	if len(wanted) > 0 {
		marks, err := plotter.NewScatter(wanted)
		if err != nil {
			return err
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: wantedColor, Radius: barWidth * 0.6, Shape: tick{}}
		p.Add(marks)
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range text.TextStyle {
		text.TextStyle[i].Font.Size, text.TextStyle[i].YAlign = vg.Points(9), draw.YCenter
	}
	p.Add(text)
	p.X.Max *= 1.08 // room for the last bar's text
	return nil
}

// drawCurve draws the cost of a row by what varies, both on logarithmic axes.
func (r *report) drawCurve(c curve, path string) error {
	p := newPlot()
	p.Title.Text = fmt.Sprintf("Cost per row by number of %s, %s, %d threads\n%s", c.name, c.fixed, r.Header.Threads, r.Header.CPU)
	p.X.Label.Text, p.Y.Label.Text = c.name, "ns per row"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers{}, powers{}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, c.name == "groups", vg.Points(3) // where lines are low
	for i, e := range c.engines {
		line := make(plotter.XYs, len(c.points))
		for j, at := range c.points {
			line[j] = plotter.XY{X: float64(c.x(at)), Y: at.nanos(e, c.cpu)}
		}
		lines, points, err := plotter.NewLinePoints(line)
		if err != nil {
			return err
		}
		lines.Color, lines.Width = plotutil.Color(i), vg.Points(1.5)
		points.Color, points.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(lines, points)
		p.Legend.Add(string(e), lines, points)
	}
	return save(p, pictureWidth*0.6, path)
}
