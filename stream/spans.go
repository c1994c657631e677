package stream

import (
	"cmp"
	"slices"
	"time"

	"github.com/mpga/mpga/kernels"
)

// span is when something was done, in nanoseconds since the run began.
type span struct{ begin, end int64 }

// spansKept bounds the spans of a lane that are remembered.
const spansKept = 1 << 16

// routeWork names what kernels do with a tile.
var routeWork = [...]string{RouteAggregate: "aggregate", RouteTable: "insert", RouteHybrid: "insert", RouteScatter: "scatter", RoutePartition: "scatter"}

// note remembers when the lanes of a stream's work, of a name, began and ended: at the marks, which are done.
func (d *device) note(stream int, work string, marks []kernels.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteLocked(stream, work, marks)
}

// noteLocked is note for who holds the device's lock.
func (d *device) noteLocked(stream int, work string, marks []kernels.Event) {
	at, err := d.guard.nanosOf(marks, d.base)
	if err != nil {
		return // the work itself tells its errors
	}
	for lane := range lanes {
		if s := (span{at[lane], at[lane+1]}); s.end > s.begin && len(d.spans[lane]) < spansKept {
			d.spans[lane] = append(d.spans[lane], s)
		}
	}
	if d.run.opt.Trace == nil {
		return
	}
	names := [lanes]string{LaneCopyIn: "copy in", LaneKernel: work, LaneCopyOut: "copy out"}
	for lane := range lanes {
		if at[lane+1] > at[lane] {
			begin, end := d.based.Add(time.Duration(at[lane])), d.based.Add(time.Duration(at[lane+1]))
			d.run.opt.Trace(d.number, stream, Lane(lane), names[lane], begin, end)
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
