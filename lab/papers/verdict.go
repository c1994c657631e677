package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Status is how a claim fares.
type Status string

// The statuses.
const (
	Holds      Status = "holds"
	Differs    Status = "differs"
	Unmeasured Status = "not measured here"
)

// Verdict is how a claim of a paper fares here.
type Verdict struct {
	Claim  string  `json:"claim"`
	Paper  string  `json:"paper"`           // the paper's numbers
	Ours   string  `json:"ours"`            // ours
	Ratio  float64 `json:"ratio,omitempty"` // ours by the paper's; 0 where one is missing
	Status Status  `json:"status"`
	Why    string  `json:"why,omitempty"`
}

// claim is a sentence of a paper that points can hold or break.
type claim struct {
	text  string
	paper string // its numbers
	timed bool   // it is about times, which a GPU's double does not have (F2)
	test  func(*Result) finding
}

// finding is what the points of a result say of a claim.
type finding struct {
	lacking string // series or points that are not there; "" where all are
	ours    string
	ratio   float64 // as in Verdict
	holds   bool
	why     string // it is so
}

// Judge fills in the verdicts of a result. A result whose measurement ended with an error decides no claim: points that
// the claim is about may be missing.
func (r *Result) Judge(m *Machine) {
	r.Verdicts = nil
	for _, c := range r.claims {
		r.Verdicts = append(r.Verdicts, c.verdict(r, m))
	}
}

func (c *claim) verdict(r *Result, m *Machine) Verdict {
	v := Verdict{Claim: c.text, Paper: c.paper, Status: Unmeasured}
	if r.Error != "" {
		v.Why = "the measurement ended with an error: " + r.Error
		return v
	}
	if c.timed && !m.IsGPU {
		return v
	}
	f := c.test(r)
	if f.lacking != "" {
		v.Why = "no points of " + f.lacking
		return v
	}
	v.Ours, v.Why, v.Status = f.ours, f.why, Differs
	if isFinite(f.ratio) {
		v.Ratio = f.ratio
	}
	if f.holds {
		v.Status = Holds
	}
	return v
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// number writes a number with three digits.
func number(x float64) string {
	if x != 0 && (math.Abs(x) >= 1e5 || math.Abs(x) < 1e-3) {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(rounded(x), 'f', -1, 64)
}

// rounded returns a number of three digits, or a whole number.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, min(math.Floor(math.Log10(math.Abs(x)))-2, 0))
	return math.Round(math.Round(x/unit)*unit*1e9) / 1e9
}

// span writes the least and the greatest of some ratios.
func span(list []ratio) string {
	low, high := extremes(list)
	if number(low) == number(high) {
		return number(low) + " times"
	}
	return fmt.Sprintf("%s to %s times", number(low), number(high))
}

// covered writes the least and the greatest place of some ratios.
func covered(list []ratio) string {
	by := func(a, b ratio) int { return cmp.Compare(a.x, b.x) }
	return covers(slices.MinFunc(list, by).x, slices.MaxFunc(list, by).x)
}

// covers writes a range of places with points.
func covers(low, high float64) string {
	if low == high {
		return "at " + number(low)
	}
	return "from " + number(low) + " to " + number(high)
}

func extremes(list []ratio) (low, high float64) {
	by := func(a, b ratio) int { return cmp.Compare(a.times, b.times) }
	return slices.MinFunc(list, by).times, slices.MaxFunc(list, by).times
}

// allFaster tests whether a series is at least so many times as fast as another for every x from low to
// high. The ratio is that of the greatest speedup to the paper's, if it has one.
func allFaster(panel int, fast, slow string, low, high, least, paperMost float64) func(*Result) finding {
	return func(r *Result) finding {
		list, lacking := r.speedups(panel, fast, slow, low, high)
		if lacking != "" {
			return finding{lacking: lacking}
		}
		worst := slices.MinFunc(list, func(a, b ratio) int { return cmp.Compare(a.times, b.times) })
		_, most := extremes(list)
		f := finding{ours: span(list) + " " + covered(list), holds: worst.times >= least}
		if paperMost > 0 {
			f.ratio = most / paperMost
		}
		if !f.holds {
			f.why = fmt.Sprintf("%s times as fast as %s at %s", number(worst.times), slow, number(worst.x))
		}
		return f
	}
}

// similar tests whether two series are within a factor of each other for every x from low to high.
func similar(panel int, a, b string, low, high, factor float64) func(*Result) finding {
	return func(r *Result) finding {
		list, lacking := r.speedups(panel, a, b, low, high)
		if lacking != "" {
			return finding{lacking: lacking}
		}
		least, most := extremes(list)
		return finding{ours: span(list) + " " + covered(list), holds: least >= 1/factor && most <= factor,
			why: "similar is within " + number(factor) + " times"}
	}
}

// steady tests whether the greatest value of a series is at most so many times its least.
func steady(panel int, name string, factor float64) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(panel, name)
		if s == nil || len(s.Points) < 2 {
			return finding{lacking: name}
		}
		least, most := least(s), most(s)
		times := most.Y / least.Y
		return finding{ours: number(times) + " times", holds: times <= factor,
			why: fmt.Sprintf("from %s at %s to %s at %s; steady is within %s times", number(least.Y), number(least.X),
				number(most.Y), number(most.X), number(factor))}
	}
}

// inPanels tests the first panels of a result alike, which have names for the reader: the claim holds if it holds in
// each panel, and has no verdict if a panel lacks points.
func inPanels(names []string, test func(panel int) func(*Result) finding) func(*Result) finding {
	return func(r *Result) finding {
		all := finding{holds: true}
		var ours, whys []string
		for panel, name := range names {
			f := test(panel)(r)
			if f.lacking != "" {
				return finding{lacking: f.lacking}
			}
			all.holds = all.holds && f.holds
			ours = append(ours, name+": "+f.ours)
			if f.why != "" {
				whys = append(whys, name+": "+f.why)
			}
		}
		all.ours, all.why = strings.Join(ours, "; "), strings.Join(whys, "; ")
		return all
	}
}

// not turns a finding around.
func not(test func(*Result) finding) func(*Result) finding {
	return func(r *Result) finding {
		f := test(r)
		f.holds = !f.holds
		return f
	}
}

// paperPoint tests a point of a series beside the paper's: within a factor of it, or at least as good
// where a lower value is.
func paperPoint(panel int, name string, x float64, within func(ratio float64) bool, why string) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(panel, name)
		if s == nil {
			return finding{lacking: name}
		}
		ours, measured := s.At(x)
		paper, given := s.PaperAt(x)
		if !measured || !given {
			return finding{lacking: name + " where the paper has one"}
		}
		return finding{ours: number(ours), ratio: ours / paper, holds: within(ours / paper), why: why}
	}
}

func atMost(limit float64) func(float64) bool { return func(x float64) bool { return x <= limit } }

func withinFactor(factor float64) func(float64) bool {
	return func(x float64) bool { return x <= factor && x >= 1/factor }
}
