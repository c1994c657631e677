package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// DeviceStats is what devices did for a query, or why they did nothing.
type DeviceStats struct {
	Devices    string        `json:"devices,omitempty"`         // names
	Reason     string        `json:"reason,omitempty"`          // why the CPU did it, from the start or from a failure on
	Rates      string        `json:"rates,omitempty"`           // of the machine, by which devices that were not asked for were chosen
	Finisher   string        `json:"finished_on_cpu,omitempty"` // why the CPU aggregates what devices have partitioned
	Routes     []string      `json:"routes,omitempty"`          // in order: "aggregate each tile", "one table", "partitions"
	Estimate   int64         `json:"estimated_groups"`          // by the first tile
	Tiles      int64         `json:"tiles"`                     // of the input
	Rows       int64         `json:"rows"`                      // that devices took
	RowsBack   int64         `json:"rows_back"`                 // of these, given back to the CPU
	GroupsBack int64         `json:"groups_back"`               // groups given to the CPU to merge
	Reduction  float64       `json:"reduction"`                 // rows per group given to the CPU; 0 of none
	BytesIn    int64         `json:"bytes_in"`                  // over the link, to the devices
	BytesOut   int64         `json:"bytes_out"`                 // and back
	LinkSpeed  float64       `json:"link_bytes_per_second"`     // of a pinned copy to a device; 0 where Options.MeasureLink did not ask
	LinkShare  float64       `json:"link_share"`                // of it that the copies to the devices reached while there were any
	CopyIn     time.Duration `json:"copy_in_nanos"`             // while something was copied in, by the devices' clocks
	Kernel     time.Duration `json:"kernel_nanos"`              // while a kernel was at work
	CopyOut    time.Duration `json:"copy_out_nanos"`            // while something was copied out
	Busy       time.Duration `json:"busy_nanos"`                // while any of it was: less than the sum by what overlaps
	Overlap    float64       `json:"overlap"`                   // the part of the shorter lanes that was hidden behind others
	Partitions int           `json:"partitions"`                // that rows were scattered to; 0 when they were not
	Theorem    int64         `json:"partitions_theorem"`        // asked for by Theorem 1
	Tail       int64         `json:"partitions_tail"`           // by the binomial tail
	Resident   int           `json:"partitions_resident"`       // of them, that one table was planned to take
	Merged     int           `json:"partitions_merged"`         // sets that the greedy merge made of them
	Sizes      []int64       `json:"partition_rows"`            // of each partition
	Tasks      []int64       `json:"merged_rows"`               // of each set
	Emitted    int64         `json:"partitions_on_device"`      // whose groups devices made alone
	Split      int64         `json:"partitions_split"`          // sets that were scattered again
	OnCPU      int64         `json:"partitions_on_cpu"`         // sets whose table was full: the CPU's
	Rounds     int64         `json:"feedback_rounds"`           // loads of tables that told how full they are
	Loads      []float64     `json:"load_factors"`              // after each of the first 1,024
	KeptBytes  int64         `json:"kept_bytes"`                // of rows that stayed on devices by partition
	HostBytes  int64         `json:"pinned_bytes"`              // of rows in pinned memory by partition
	MemoryPeak int64         `json:"memory_peak_bytes"`         // of the devices
	TileRows   int           `json:"tile_rows"`                 // of a full tile

	uuid string // of the first device
}

// useDevices lets devices do the work, where they suit the query. Its error is a bug.
func (q *execution) useDevices(ctx context.Context) error {
	kind := q.engine.devices.choice.kind
	if kind == "cpu" || q.adopted != nil {
		return nil
	}
	q.device = &DeviceStats{}
	layout, size, err := q.suitsDevice(func() (Forecast, error) { return q.forecast(ctx, q.source.Stats()) })
	prepare := func(ctx context.Context) (*coprocessor, error) {
		rates, err := q.worthDevice(ctx, layout, size)
		if err != nil {
			return nil, err
		}
		q.device.Rates = rates
		return newCoprocessor(ctx, q, layout)
	}
	var prepared *coprocessor
	switch {
	case err != nil:
		q.tookDevices(nil, err)
	case q.engine.devices.opened():
		prepared, err = prepare(ctx)
		q.tookDevices(prepared, err)
	default:
		q.open(ctx, prepare)
	}
	if errors.Is(err, spawn.ErrInternal) {
		return err
	}
	return nil
}

// tookDevices notes which devices aggregate, or why the CPU does.
func (q *execution) tookDevices(c *coprocessor, err error) {
	if q.devices = c; err == nil {
		q.device.Devices = describeDevices(c.lease.list)
		q.device.uuid = c.lease.list[0].Properties().UUID
		if why := c.layout.parts; why != nil {
			q.device.Finisher = why.Error()
		}
		return
	}
	q.device.Reason = err.Error()
	level := slog.LevelDebug
	if q.engine.devices.choice.kind != "auto" {
		level = slog.LevelWarn
	}
	q.engine.opt.Logger.Log(context.Background(), level, "the CPU aggregates", slog.Any("reason", err))
}

// expected is what the input is foretold to have. Both are positive.
type expected struct{ rows, groups int64 }

// suitsDevice returns how the query lies on a device, or why none is to do it, and where that depends on it,
// what is expected of the input. It may ask for the forecast. It opens no device.
func (q *execution) suitsDevice(forecast func() (Forecast, error)) (layout *deviceLayout, size expected, err error) {
	layout, err = newDeviceLayout(q.bound, q.progress.rowsTotal)
	if err == nil && layout.parts != nil && q.run.Dense() {
		err = errNotOnDevice(fmt.Sprintf("%v, and the CPU has a group for every key, so that partitions are of no use", layout.parts))
	}
	if err == nil && q.engine.devices.choice.kind == "auto" {
		size, err = q.mayBeWorthDevice(forecast)
	}
	return layout, size, err
}

const (
	// A GPU is not used for fewer rows than this, whatever they are: the CPU takes a few milliseconds.
	autoRowsMin = 1_000_000

	// A GPU is not used with a memory limit below this: 0.4 GB are resident with a context and a ring (H200, driver 580).
	autoMemoryMin = 1 << 30

	// deviceOpens is what it takes to make a context on a GPU, once for an engine (H100, driver 580).
	deviceOpens = 250 * time.Millisecond
)

// mayBeWorthDevice returns what is expected of the input, or why a device that was not asked for would not be
// worth its while, however fast it is.
func (q *execution) mayBeWorthDevice(forecast func() (Forecast, error)) (size expected, err error) {
	rows := q.progress.rowsTotal
	switch {
	case q.once:
		return size, errNotOnDevice("the input can be read once, and not again if a device fails")
	case rows >= 0 && rows < autoRowsMin:
		return size, errNotOnDevice(fmt.Sprintf("%d rows are too few", rows))
	case q.engine.opt.MemoryLimit < autoMemoryMin:
		return size, errNotOnDevice(fmt.Sprintf("of a memory limit of %s a device's driver takes too much", humanize.IBytes(uint64(q.engine.opt.MemoryLimit))))
	}
	if err := q.engine.devices.available(); err != nil {
		return size, err
	}
	f, err := forecast()
	if err != nil {
		return size, err
	}
	size = expected{f.Rows, max(f.Groups, 1)}
	switch cpu := q.engine.rates.cpuTime(size.rows, size.groups, q.workers); {
	case size.rows < 0:
		err = errNotOnDevice("the number of rows is not known")
	case size.rows < autoRowsMin:
		err = errNotOnDevice(fmt.Sprintf("about %s rows are too few", humanize.Comma(size.rows)))
	case cpu < deviceOpens && !q.engine.devices.opened():
		err = errNotOnDevice(fmt.Sprintf("the CPU is expected to take %v, as long as a device takes to open", cpu.Round(time.Millisecond)))
	}
	return size, err
}

// worthDevice returns the rates of the machine by which a device that was not asked for is worth its while for what is
// expected; or they are why it is not. It opens the device if it is not open.
func (q *execution) worthDevice(ctx context.Context, layout *deviceLayout, size expected) (rates string, err error) {
	if q.engine.devices.choice.kind != "auto" {
		return "", nil
	}
	devices := q.engine.devices
	set, err := devices.get(ctx)
	if err != nil {
		return "", err
	}
	defer func() { devices.put(set, err) }()
	link, err := q.engine.rates.link(set.list[0].Properties().UUID, func() (float64, error) { return devices.linkSpeed(set) })
	if err != nil {
		return "", err
	}
	part := 1.0
	if layout.parts != nil {
		part = scatterPart
	}
	wins, rates := q.engine.rates.deviceWins(size.rows, layout.rowBytes(), size.groups, q.workers, link*float64(len(set.list)), part)
	if !wins {
		return "", errNotOnDevice(rates)
	}
	return rates, nil
}

// learnRates lets the machine's rates follow what the query took.
func (q *execution) learnRates() {
	r := q.engine.rates
	if r == nil || q.adopted != nil || q.openedDevices {
		return
	}
	switch d := q.device; {
	case d == nil || d.Devices == "" || d.Reason != "":
	case d.Finisher != "":
		return // neither has done all of it
	default:
		r.sawDevice(d.uuid, d.BytesIn, q.workers, q.times[PhasePartition], d.CopyIn)
		return
	}
	r.sawCPU(q.progress.rows.Load(), q.progress.groups.Load(), q.workers, q.times[PhasePartition]+q.times[PhaseProcess])
}

// releaseDevices ends the devices' part of an attempt. Its error is a bug.
func (q *execution) releaseDevices(cause error) error {
	q.opening.end()
	q.opening = nil
	c := q.devices
	if c == nil {
		return nil
	}
	counters := c.run.Counters()
	q.device.TileRows = c.run.TileRows()
	q.written = c.written()
	q.held = c.held(q.written)
	bug := c.release(cause)
	q.devices = nil
	d := q.device
	d.Estimate, d.Tiles, d.Rows = counters.Estimate, counters.Tiles, counters.Rows
	d.RowsBack, d.GroupsBack = counters.RowsOut, counters.GroupsOut
	if d.GroupsBack > 0 {
		d.Reduction = float64(d.Rows) / float64(d.GroupsBack)
	}
	for _, r := range counters.Routes {
		d.Routes = append(d.Routes, r.String())
	}
	d.BytesIn, d.BytesOut = counters.BytesIn, counters.BytesOut
	d.CopyIn, d.Kernel, d.CopyOut = time.Duration(counters.CopyIn), time.Duration(counters.Kernel), time.Duration(counters.CopyOut)
	d.Busy = time.Duration(counters.Busy)
	if sum, longest := d.CopyIn+d.Kernel+d.CopyOut, max(d.CopyIn, d.Kernel, d.CopyOut); sum > longest {
		d.Overlap = float64(sum-d.Busy) / float64(sum-longest)
	}
	d.Resident = counters.Resident
	d.Partitions, d.Theorem, d.Tail = counters.Partitions, counters.Sizing.Theorem, counters.Sizing.Tail
	d.Sizes, d.Tasks, d.Merged = counters.Sizes, counters.Tasks, len(counters.Tasks)
	d.Split, d.OnCPU, d.Rounds, d.Loads, d.Emitted = counters.Split, counters.OnCPU, counters.Rounds, counters.Loads, c.emitted.Load()
	if d.LinkSpeed = c.lease.link; d.LinkSpeed > 0 && d.CopyIn > 0 {
		d.LinkShare = float64(d.BytesIn) / d.CopyIn.Seconds() / d.LinkSpeed
	}
	d.KeptBytes, d.HostBytes, d.MemoryPeak = counters.KeptBytes, counters.HostBytes, counters.DevicePeak
	return bug
}

// fallBack lets the CPU take the input again, after an error of a device.
func (q *execution) fallBack(cause error) error {
	q.device.Reason = cause.Error()
	q.engine.opt.Logger.Warn("a device failed; the CPU goes on", slog.Any("error", cause))
	if q.once {
		return fmt.Errorf("%w; the input can be read once only, so that the CPU cannot go on: --device=cpu does without devices", cause)
	}
	if err := q.store.Close(); err != nil {
		return err
	}
	q.progress.again()
	q.reset()
	return nil
}

// isFatal reports whether a device is of no use after an error. After a bug nobody knows what the device still does.
func isFatal(err error) bool {
	return errors.Is(err, kernels.ErrDeviceLost) || errors.Is(err, kernels.ErrTimeout) || errors.Is(err, spawn.ErrInternal)
}

// route names what has aggregated.
func (q *execution) route() string {
	d := q.device
	switch {
	case d == nil || d.Rows == 0 && q.devices == nil || d.Reason != "" && d.Emitted == 0:
		return "cpu"
	case d.Reason != "" || d.RowsBack+d.GroupsBack > 0 || q.counters.Load().RowsPreAgg.Load() > 0:
		return "cpu and device"
	}
	return "device"
}
