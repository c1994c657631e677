// Package report writes what a query did as one HTML page, with nothing of the web: its plan, its figures, and
// pictures of its time, its partitions and its tables.
package report

import (
	"io"
	"slices"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/trace"
)

// Page is what a report tells. What is zero is left out.
type Page struct {
	Query    string // as the user has written it
	Error    string // that ended it
	Plan     string // lines
	Stats    engine.Stats
	Timeline trace.Timeline

	// Facts and Device are the figures of the query and of its devices, as text.
	Facts, Device []Fact
}

// Fact is a line of a table.
type Fact struct{ Name, Value string }

// Write writes the page, with URLs without secrets.
func (p *Page) Write(w io.Writer) error {
	shown := *p
	shown.Query, shown.Error, shown.Plan = redact.Text(p.Query), redact.Text(p.Error), redact.Text(p.Plan)
	v := &view{
		Page:       &shown,
		Phases:     phaseBars(p.Stats.PhaseTimes),
		Timelines:  timelines(&p.Timeline),
		Partitions: partitionBars(p.Stats.Device),
		Loads:      loadCurve(p.Stats.Device),
	}
	_, err := w.Write(v.html())
	return err
}

// view is a page with its pictures.
type view struct {
	*Page
	Phases     []bar
	Timelines  []timeline
	Partitions []histogram
	Loads      *curve
}

// bar is a phase and its part of the longest.
type bar struct {
	Name, Value string
	Width       float64
}

func phaseBars(times map[engine.Phase]time.Duration) []bar {
	var bars []bar
	var longest time.Duration
	for _, d := range times {
		longest = max(longest, d)
	}
	for _, phase := range []engine.Phase{engine.PhasePlan, engine.PhasePartition, engine.PhaseProcess} {
		if d, ok := times[phase]; ok {
			bars = append(bars, bar{string(phase), rounded(d), pictureWidth / 2 * float64(d) / float64(max(longest, 1))})
		}
	}
	return bars
}

// rounded writes a time with three digits or so.
func rounded(d time.Duration) string {
	switch {
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Microsecond)
	}
	return d.String()
}

// histogram is the sizes of partitions, the largest first.
type histogram struct {
	Title        string
	Bars         []box
	Most, Height int64
}

// box is a rectangle, and what it says when it is pointed at.
type box struct {
	X, Y, Width, Height float64
	Class               int
	Title               string
}

const (
	pictureWidth  = 1000
	pictureHeight = 160
)

// partitionBars draws the partitions before and after the merge by the same measure.
func partitionBars(d *device.Stats) []histogram {
	if d == nil || len(d.Sizes) == 0 {
		return nil
	}
	most := max(slices.Max(d.Sizes), 1)
	if len(d.Tasks) > 0 {
		most = max(most, slices.Max(d.Tasks))
	}
	return []histogram{
		newHistogram("partitions as rows were scattered", d.Sizes, most),
		newHistogram("sets of partitions after the merge", d.Tasks, most),
	}
}

func newHistogram(title string, sizes []int64, most int64) histogram {
	h := histogram{Title: counted(len(sizes)) + " " + title, Most: most, Height: pictureHeight}
	sorted := slices.Clone(sizes)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	width := float64(pictureWidth) / float64(max(len(sorted), 1))
	for i, n := range sorted {
		height := pictureHeight * float64(n) / float64(most)
		h.Bars = append(h.Bars, box{
			X: float64(i) * width, Y: pictureHeight - height, Width: max(width*0.9, 0.4), Height: height, Title: counted(int(n)) + " rows",
		})
	}
	return h
}

// curve is the load factor of tables by feedback round.
type curve struct {
	Points []point
	Rounds int64
	Height int64
}

type point struct {
	X, Y  float64
	Title string
}
