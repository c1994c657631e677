package papers

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Machine is where a report was measured.
type Machine struct {
	Device     string  `json:"device"`         // its name
	CUDA       string  `json:"cuda,omitempty"` // version; "" without a GPU
	IsGPU      bool    `json:"gpu"`            // false of a GPU's double on the CPU, whose times are no GPU's
	Processors int     `json:"processors"`     // of the CPU, that the process may use
	Bandwidth  float64 `json:"bandwidth"`      // bytes a second with which the device fills its memory
	Link       float64 `json:"link"`           // bytes a second of a pinned copy to it; 0 without a GPU
}

// Report is what was measured for some figures.
type Report struct {
	Machine Machine   `json:"machine"`
	Scale   float64   `json:"scale"`   // of the papers' rows
	Repeats int       `json:"repeats"` // runs, of which the median is taken
	Began   time.Time `json:"began"`
	Results []*Result `json:"results"`
	Left    []string  `json:"left,omitempty"` // IDs of figures that are not measured yet
}

// Result is what was measured for a figure.
type Result struct {
	*Figure
	Scale    float64   `json:"scale"` // of the paper's rows, of this figure
	Panels   []Panel   `json:"panels"`
	Notes    []string  `json:"notes,omitempty"`
	Error    string    `json:"error,omitempty"` // that ended the measurement
	Seconds  float64   `json:"seconds"`         // that the measurement took
	Verdicts []Verdict `json:"verdicts"`
}

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

// Kind says where the points of a series come from.
type Kind string

// The kinds.
const (
	Measured Kind = "measured"
	Model    Kind = "model"     // arithmetic of a paper or of the package
	Other    Kind = "elsewhere" // another program or machine, as a text gives it
)

// Series are points that are joined in a chart.
type Series struct {
	Name   string  `json:"name"`
	Kind   Kind    `json:"kind"`
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

func valueAt(points []Point, x float64) (y float64, ok bool) {
	for _, p := range points {
		if math.Abs(p.X-x) <= 1e-9*math.Abs(x) {
			return p.Y, true
		}
	}
	return 0, false
}

// least and most return the points of a series with the least and the greatest y.
//
// Requires: the series has points.
func (s *Series) least() Point { return slices.MinFunc(s.Points, byY) }
func (s *Series) most() Point  { return slices.MaxFunc(s.Points, byY) }

func byY(a, b Point) int { return cmp.Compare(a.Y, b.Y) }

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
	if !isFinite(y) {
		return
	}
	s := p.find(name)
	if s == nil {
		s = &Series{Name: name, Kind: Measured}
		p.Series = append(p.Series, s)
	}
	s.Points = append(s.Points, Point{x, y})
}

// Give adds what the paper's text gives for the series of a name, if there is one.
func (p *Panel) Give(name string, paper []Point) {
	if s := p.find(name); s != nil {
		s.Paper = paper
	}
}

func (p *Panel) find(name string) *Series {
	if i := slices.IndexFunc(p.Series, func(s *Series) bool { return s.Name == name }); i >= 0 {
		return p.Series[i]
	}
	return nil
}

// named returns the y of a name of the x axis in the first series, which the panel must have; false where the name has
// no point.
func (p *Panel) named(name string) (y float64, ok bool) {
	for _, at := range p.Series[0].Points {
		if p.nameAt(at.X) == name {
			return at.Y, true
		}
	}
	return 0, false
}

// nameAt returns the name of a place of the x axis; "" where the axis has none.
func (p *Panel) nameAt(x float64) string {
	if i := int(x); i >= 0 && i < len(p.X.Names) {
		return p.X.Names[i]
	}
	return ""
}

// Series returns a series of a panel; nil where there is none, or it has no points.
func (r *Result) Series(panel int, name string) *Series {
	if panel >= len(r.Panels) {
		return nil
	}
	s := r.Panels[panel].find(name)
	if s == nil || len(s.Points) == 0 {
		return nil
	}
	return s
}

// first returns a panel whose first series has points; nil where there is none.
func (r *Result) first(panel int) *Panel {
	if panel >= len(r.Panels) || len(r.Panels[panel].Series) == 0 || len(r.Panels[panel].Series[0].Points) == 0 {
		return nil
	}
	return &r.Panels[panel]
}

// Note adds what a reader is to know of the measurement, once.
func (r *Result) Note(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// isRate reports whether higher values of an axis are faster.
func (a *Axis) isRate() bool { return a.Unit == "G rows/s" }

// IsTimed reports whether a panel shows times, or what was computed of them.
func (r *Result) IsTimed() bool {
	return slices.ContainsFunc(r.Panels, func(p Panel) bool { return slices.Contains(timeUnits, p.Y.Unit) })
}

var timeUnits = []string{"s", "ms", "G rows/s", "times the least"}

// ratio is how many times as fast a series is as another at an x.
type ratio struct{ x, times float64 }

// speedups returns how many times as fast a series is as another wherever both have points with x from
// low to high. Where a series has no points, lacking is its name. The points must also reach high: where both series
// end below it, lacking says where.
func (r *Result) speedups(panel int, fast, slow string, low, high float64) (list []ratio, lacking string) {
	a, b := r.Series(panel, fast), r.Series(panel, slow)
	switch {
	case a == nil:
		return nil, fast
	case b == nil:
		return nil, slow
	}
	end := math.Inf(-1) // the greatest x where both series have points
	for _, p := range a.Points {
		other, ok := b.At(p.X)
		if !ok || p.Y == 0 || other == 0 {
			continue
		}
		end = max(end, p.X)
		if p.X < low || p.X > high {
			continue
		}
		times := other / p.Y
		if r.Panels[panel].Y.isRate() {
			times = 1 / times
		}
		list = append(list, ratio{p.X, times})
	}
	switch {
	case len(list) == 0:
		return nil, fast + " and " + slow + " at the same place"
	case end < high && !math.IsInf(high, 1):
		return nil, fast + " and " + slow + " " + shortOf(end, high)
	}
	return list, ""
}

// shortOf says that points end before the place up to which a claim is made.
func shortOf(end, bound float64) string {
	return "up to " + number(bound) + ": they end at " + number(end)
}
