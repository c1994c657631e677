package papers

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mpga/mpga/app/chart"
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
	Scale    float64       `json:"scale"` // of the paper's rows, of this figure
	Panels   []chart.Panel `json:"panels"`
	Notes    []string      `json:"notes,omitempty"`
	Error    string        `json:"error,omitempty"` // that ended the measurement
	Seconds  float64       `json:"seconds"`         // that the measurement took
	Verdicts []Verdict     `json:"verdicts"`
}

// Series returns a series of a panel; nil where there is none, or it has no points.
func (r *Result) Series(panel int, name string) *chart.Series {
	if panel >= len(r.Panels) {
		return nil
	}
	s := r.Panels[panel].Find(name)
	if s == nil || len(s.Points) == 0 {
		return nil
	}
	return s
}

// first returns a panel whose first series has points; nil where there is none.
func (r *Result) first(panel int) *chart.Panel {
	if panel >= len(r.Panels) || len(r.Panels[panel].Series) == 0 || len(r.Panels[panel].Series[0].Points) == 0 {
		return nil
	}
	return &r.Panels[panel]
}

// points returns points by their x and y, in turn.
func points(xy ...float64) (list []chart.Point) {
	for i := 0; i < len(xy); i += 2 {
		list = append(list, chart.Point{X: xy[i], Y: xy[i+1]})
	}
	return list
}

// least and most return the points of a series with the least and the greatest y.
//
// Requires: the series has points.
func least(s *chart.Series) chart.Point { return slices.MinFunc(s.Points, byY) }
func most(s *chart.Series) chart.Point  { return slices.MaxFunc(s.Points, byY) }

func byY(a, b chart.Point) int { return cmp.Compare(a.Y, b.Y) }

// Note adds what a reader is to know of the measurement, once.
func (r *Result) Note(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// isRate reports whether higher values of an axis are faster.
func isRate(a *chart.Axis) bool { return a.Unit == "G rows/s" }

// IsTimed reports whether a panel shows times, or what was computed of them.
func (r *Result) IsTimed() bool {
	return slices.ContainsFunc(r.Panels, func(p chart.Panel) bool { return slices.Contains(timeUnits, p.Y.Unit) })
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
		if isRate(&r.Panels[panel].Y) {
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
