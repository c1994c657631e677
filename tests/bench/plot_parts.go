package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// newPlot returns an empty picture in a sans-serif font.
func newPlot() *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	p := plot.New()
	p.Title.Padding = vg.Points(6)
	return p
}

// save writes a picture in the format of the path's ending. An SVG names fonts of the same widths
// for machines that do not have ours.
func save(p *plot.Plot, height vg.Length, path string) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	picture, err := p.WriterTo(pictureWidth, height, format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := picture.WriteTo(&b); err != nil {
		return err
	}
	text := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return os.WriteFile(path, text, 0o644)
}

// wholes are the ticks of a linear axis, at whole numbers.
type wholes struct{}

func (wholes) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for x := math.Ceil(low); x <= high; x++ {
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.Itoa(int(x))})
	}
	return ticks
}

// powers labels the powers of ten of a logarithmic axis as they are written in code.
type powers struct{}

func (powers) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: -1}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" && ticks[i].Value >= 1e3 {
			ticks[i].Label = strings.Replace(strconv.FormatFloat(ticks[i].Value, 'e', 0, 64), "e+0", "e", 1)
		}
	}
	return ticks
}

// tick is a glyph: an upright stroke.
type tick struct{}

func (tick) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: vg.Points(2)}, at.X, at.Y-style.Radius, at.X, at.Y+style.Radius)
}
