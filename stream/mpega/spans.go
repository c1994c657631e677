package mpega

import (
	"cmp"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// span is when something was done, in nanoseconds since the run began.
type span struct{ begin, end int64 }

// spansKept bounds the spans of a lane that are remembered.
const spansKept = 1 << 16

var laneNames = [lanes]string{LaneCopyIn: "copy in", LaneKernel: "kernel", LaneCopyOut: "copy out"}

// note remembers when the lanes of a stream's work began and ended: at the marks, which are done.
func (d *device) note(stream int, marks []kernels.Event) {
	var at [lanes + 1]int64
	for i, e := range marks {
		var err error
		if at[i], err = e.Nanos(d.base); err != nil {
			return // the work itself tells its errors
		}
	}
	d.mu.Lock()
	for lane := range lanes {
		if s := (span{at[lane], at[lane+1]}); s.end > s.begin && len(d.spans[lane]) < spansKept {
			d.spans[lane] = append(d.spans[lane], s)
		}
	}
	d.mu.Unlock()
	if d.run.opt.Trace == nil {
		return
	}
	for lane := range lanes {
		if at[lane+1] > at[lane] {
			d.run.opt.Trace.Span(d.number, stream, Lane(lane), laneNames[lane], at[lane], at[lane+1])
		}
	}
}

// covered returns how long at least one of the spans lasted.
func covered(lists ...[]span) int64 {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	var total, end int64
	for _, s := range all {
		if s.end > end {
			total += s.end - max(s.begin, end)
			end = s.end
		}
	}
	return total
}
