package stream

import (
	"cmp"
	"slices"
	"time"
)

// Lane says what a traced span is of.
type Lane uint8

// The lanes of a device.
const (
	LaneCopyIn Lane = iota
	LaneKernel
	LaneCopyOut
)

// lanes is the number of lanes.
const lanes = int(LaneCopyOut) + 1

// routeWork names what kernels do with a tile.
var routeWork = [...]string{RouteAggregate: "aggregate", RouteTable: "insert",
	RouteHybrid: "insert", RouteScatter: "scatter", RouteGroups: "aggregate",
	RoutePartition: "scatter"}

// markedStream is a stream of a device, whose work is copied in, done and copied out between marks.
type markedStream struct {
	device *device
	number int            // among the streams of the device: tiles come first, then areas
	stream *guardedStream // nil once it is closed
	marks  [lanes + 1]*guardedEvent
}

// mark records where a lane begins, and the lane before it ends.
func (m *markedStream) mark(i int) (err error) {
	m.marks[i], err = m.stream.Record()
	return err
}

func (m *markedStream) closeMarks() error { return m.device.guard.closeEvents(m.marks[:]) }

// stop closes the marks and the stream, which waits for its work.
func (m *markedStream) stop() error {
	err := m.closeMarks()
	if m.stream != nil {
		_ = m.stream.Close() // its events have told its errors
		m.stream = nil
	}
	return err
}

// span is when something was done, in nanoseconds since the run began.
type span struct{ begin, end int64 }

// spansKept bounds the spans of a lane that are remembered.
const spansKept = 1 << 16

// note remembers when each lane of the stream's work, which has a name, began and ended, and closes
// the marks, which are done. Without their times nothing is remembered: the work tells its errors.
func (m *markedStream) note(work string) error {
	if at, err := m.device.guard.nanosOf(m.marks[:], m.device.base); err == nil {
		m.keep(work, at)
	}
	return m.closeMarks()
}

// keep remembers the spans of the lanes, which begin and end at the marks' times.
func (m *markedStream) keep(work string, at []int64) {
	d := m.device
	d.spansMu.Lock()
	defer d.spansMu.Unlock()
	for lane, name := range [lanes]string{LaneCopyIn: "copy in", LaneKernel: work, LaneCopyOut: "copy out"} {
		s := span{at[lane], at[lane+1]}
		if s.end <= s.begin {
			continue
		}
		if len(d.spans[lane]) < spansKept {
			d.spans[lane] = append(d.spans[lane], s)
		}
		if d.run.opt.Trace != nil {
			begin, end := d.based.Add(time.Duration(s.begin)), d.based.Add(time.Duration(s.end))
			d.run.opt.Trace(d.number, m.number, Lane(lane), name, begin, end)
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
