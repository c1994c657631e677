package stream

import (
	"fmt"

	"github.com/dustin/go-humanize"
)

// Forecast is what a run would do.
type Forecast struct {
	Route      Route
	Reason     string // of the route, and of its kernel
	TileRows   int
	Partitions int   // 0 where rows are not scattered
	SortRows   int64 // of folds that sort: the most rows that are sorted at once
}

// Foretell says what a run would do with rows of Options.Groups groups, and takes no memory of a
// device.
func Foretell(opt Options) (Forecast, error) {
	opt.EnsureDefaults()
	r := newRun(opt)
	d := newDevice(r, 0, opt.Devices[0])
	if err := d.layOut(); err != nil {
		return Forecast{}, failure(err)
	}
	r.estimate, r.firstRatio = max(opt.Groups, 1), 1
	if parts := opt.Parts; parts != nil {
		return Forecast{Route: RoutePartition, TileRows: int(d.layout.capacity),
			Partitions: 1 << parts.Radix(r.estimate)}, nil
	}
	f := Forecast{Route: d.routeFor(r.estimate), TileRows: int(d.layout.capacity)}
	switch f.Route {
	case RouteAggregate:
		f.Reason = d.planFor(&r.opt.Shape, d.layout.capacity, r.estimate).Reason
	case RouteTable:
		f.Reason = fmt.Sprintf("about %s groups, and a table of up to %s slots fits",
			humanize.Comma(r.estimate), humanize.Comma(d.tableMax().Slots))
	case RouteHybrid, RouteScatter, RouteGroups:
		r.size(d)
		f.Partitions = 1 << r.radix
		if opt.Algorithm != Auto {
			f.Reason = opt.Algorithm.Describe()
		}
		if opt.Shape.Sorts() {
			f.Reason = d.planFor(&r.opt.Shape, 1, 1).Reason
			f.SortRows = d.areaRows(d.limit / 8 * (8 - keepShare) / areas)
			break
		}
		if opt.Algorithm != Auto {
			break
		}
		rows := max(opt.Rows, int64(1)<<r.radix) >> r.radix
		f.Reason = fmt.Sprintf(
			"about %s groups, and a table of no more than %s slots fits; of a partition, %s",
			humanize.Comma(r.estimate),
			humanize.Comma(d.tableMax().Slots), d.planFor(&r.opt.Shape, rows, max(r.estimate>>r.radix, 1)).Reason)
	}
	return f, nil
}
