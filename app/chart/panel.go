// Package chart draws charts as SVG, in pages of HTML or as pictures of their own: panels of series of points, and
// the rows of a result.
package chart

import (
	"math"
	"slices"
)

// Panel is one chart of a figure.
type Panel struct {
	Title  string    `json:"title"`
	X      Axis      `json:"x"`
	Y      Axis      `json:"y"`
	Series []*Series `json:"series"`
}

// Axis is an axis of a chart.
type Axis struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit,omitempty"`
	Log   int      `json:"log,omitempty"`   // base of a logarithmic axis; 0 is linear
	Names []string `json:"names,omitempty"` // of the whole numbers from 0 on, where the axis has no numbers
}

// Origin says where the points of a series come from.
type Origin string

// The origins.
const (
	Measured Origin = "measured"
	Model    Origin = "model"     // arithmetic of a paper or of the package
	Other    Origin = "elsewhere" // another program or machine, as a text gives it
)

// Series are points that are joined in a chart.
type Series struct {
	Name   string  `json:"name"`
	Origin Origin  `json:"kind"`
	Points []Point `json:"points"`
	Paper  []Point `json:"paper,omitempty"` // what the paper's text gives for the series
}

// Point is a place in a chart, in the units of its axes.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// At returns the y of a series at an x.
func (s *Series) At(x float64) (y float64, ok bool) { return valueAt(s.Points, x) }

// PaperAt returns what the paper gives for the series at an x.
func (s *Series) PaperAt(x float64) (y float64, ok bool) { return valueAt(s.Paper, x) }

// valueAt returns the y of the point at an x.
func valueAt(points []Point, x float64) (y float64, ok bool) {
	for _, p := range points {
		if math.Abs(p.X-x) <= 1e-9*math.Abs(x) {
			return p.Y, true
		}
	}
	return 0, false
}

// Xs returns where the series of a panel have points, ascending.
func (p *Panel) Xs() (xs []float64) {
	for _, s := range p.Series {
		for _, at := range slices.Concat(s.Points, s.Paper) {
			xs = append(xs, at.X)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// Add adds a point to the series of a name, which it makes where there is none. A point that is no number is left
// out: JSON has none.
func (p *Panel) Add(name string, x, y float64) {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return
	}
	s := p.Find(name)
	if s == nil {
		s = &Series{Name: name, Origin: Measured}
		p.Series = append(p.Series, s)
	}
	s.Points = append(s.Points, Point{x, y})
}

// Give adds what the paper's text gives for the series of a name, if there is one.
func (p *Panel) Give(name string, paper []Point) {
	if s := p.Find(name); s != nil {
		s.Paper = paper
	}
}

// Find returns the series of a name; nil where there is none.
func (p *Panel) Find(name string) *Series {
	if i := slices.IndexFunc(p.Series, func(s *Series) bool { return s.Name == name }); i >= 0 {
		return p.Series[i]
	}
	return nil
}

// Named returns the y of a name of the x axis in the first series, which the panel must have; false where the name has
// no point.
func (p *Panel) Named(name string) (y float64, ok bool) {
	for _, at := range p.Series[0].Points {
		if p.NameAt(at.X) == name {
			return at.Y, true
		}
	}
	return 0, false
}

// NameAt returns the name of a place of the x axis; "" where the axis has none.
func (p *Panel) NameAt(x float64) string {
	if i := int(x); i >= 0 && i < len(p.X.Names) {
		return p.X.Names[i]
	}
	return ""
}
