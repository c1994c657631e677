package device

import (
	"time"

	"github.com/mpga/mpga/engine/scan"
)

// Stats is what devices did for a query, or why they did nothing.
type Stats struct {
	Devices   string `json:"devices,omitempty"`   // names
	Algorithm string `json:"algorithm,omitempty"` // that was asked for
	Method    string `json:"method,omitempty"`    // what it does, and by which parameters
	// why the CPU did it, from the start or from a failure on
	Reason     string `json:"reason,omitempty"`
	NotDecoded string `json:"not_decoded,omitempty"` // why devices did not decode the pages of files
	// of the machine: they chose devices that were not asked for
	Rates string `json:"rates,omitempty"`
	// which part of the input the CPU had read when devices began, since it took longer than was
	// expected; else 0
	ChangedAt float64 `json:"changed_at,omitempty"`
	Finisher  string  `json:"finished_on_cpu,omitempty"` // why the CPU aggregates what devices have partitioned or decoded
	// in order: "aggregate each tile", "one table", "partitions"
	Routes   []string `json:"routes,omitempty"`
	Estimate int64    `json:"estimated_groups"` // by the first tile
	Tiles    int64    `json:"tiles"`            // of the input
	Rows     int64    `json:"rows"`             // that devices took
	Decoded  int64    `json:"rows_decoded"`     // of the input, from the pages of files by devices
	Kept     int64    `json:"rows_kept"`        // of the rows decoded, that passed a filter there: of Rows
	Refused  int64    `json:"rows_refused"`     // whose pages devices could not decode: the CPU did
	// strings that were new to a device, which the CPU has numbered
	NewStrings int64 `json:"strings_numbered"`
	BytesPages int64 `json:"bytes_pages"` // of pages, of BytesIn
	// that devices have taken to decode, by codec as they crossed: the CPU decompresses what devices
	// do not
	Pages      []scan.PageCount `json:"pages,omitempty"`
	RowsBack   int64            `json:"rows_back"`   // of these, given back to the CPU
	GroupsBack int64            `json:"groups_back"` // groups given to the CPU to merge
	Reduction  float64          `json:"reduction"`   // rows per group given to the CPU; 0 of none
	BytesIn    int64            `json:"bytes_in"`    // over the link, to the devices
	BytesOut   int64            `json:"bytes_out"`   // and back
	// of a pinned copy to a device; 0 where Options.MeasureLink did not ask
	LinkSpeed float64 `json:"link_bytes_per_second"`
	// of it that the copies to the devices reached while there were any
	LinkShare  float64       `json:"link_share"`
	CopyIn     time.Duration `json:"copy_in_nanos"`        // while something was copied in, by the devices' clocks
	Kernel     time.Duration `json:"kernel_nanos"`         // while a kernel was at work
	CopyOut    time.Duration `json:"copy_out_nanos"`       // while something was copied out
	Busy       time.Duration `json:"busy_nanos"`           // while any of it was: less than the sum by what overlaps
	Overlap    float64       `json:"overlap"`              // the part of the shorter lanes that was hidden behind others
	Partitions int           `json:"partitions"`           // that rows were scattered to; 0 when they were not
	Theorem    int64         `json:"partitions_theorem"`   // asked for by Theorem 1
	Tail       int64         `json:"partitions_tail"`      // by the binomial tail
	Resident   int           `json:"partitions_resident"`  // of them, that one table was planned to take
	Merged     int           `json:"partitions_merged"`    // sets that the greedy merge made of them
	Sizes      []int64       `json:"partition_rows"`       // of each partition
	Tasks      []int64       `json:"merged_rows"`          // of each set
	Emitted    int64         `json:"partitions_on_device"` // whose groups devices made alone
	Split      int64         `json:"partitions_split"`     // sets that were scattered again
	OnCPU      int64         `json:"partitions_on_cpu"`    // sets whose table was full: the CPU's
	Rounds     int64         `json:"feedback_rounds"`      // loads of tables that told how full they are
	Loads      []float64     `json:"load_factors"`         // after each of the first 1,024
	// slots of tables in device memory that a row looked at, on average; 0 where no kernel counts them
	Probes     float64 `json:"probes_per_row"`
	KeptBytes  int64   `json:"kept_bytes"`        // of rows that stayed on devices by partition
	HostBytes  int64   `json:"pinned_bytes"`      // of rows in pinned memory by partition
	MemoryPeak int64   `json:"memory_peak_bytes"` // of the devices
	TileRows   int     `json:"tile_rows"`         // of a full tile

	uuid string // of the first device
}

// describe notes which devices aggregate.
func (c *coprocessor) describe(d *Stats) {
	d.Devices = describeDevices(c.lease.list)
	d.Algorithm, d.Method = c.query.method()
	d.uuid = c.lease.list[0].Properties().UUID
	if why := c.layout.notDecoded; why != nil {
		d.NotDecoded = why.Error()
	}
	if why := c.layout.forCPU(); why != nil {
		d.Finisher = why.Error()
	}
}

// report notes what the devices have done so far.
func (c *coprocessor) report(d *Stats) {
	counters := c.run.Counters()
	d.TileRows = c.run.TileRows()
	d.Estimate, d.Tiles, d.Rows = counters.Estimate, counters.Tiles, counters.Rows
	d.Decoded, d.Refused, d.BytesPages = counters.Decoded, counters.Refused, counters.BytesEncoded
	d.NewStrings, d.Kept = counters.NewStrings, counters.Kept
	if c.decoder != nil {
		d.Pages = c.decoder.pages.List()
	}
	d.RowsBack, d.GroupsBack = counters.RowsOut, counters.GroupsOut
	if d.GroupsBack > 0 {
		d.Reduction = float64(d.Rows) / float64(d.GroupsBack)
	}
	for _, r := range counters.Routes {
		d.Routes = append(d.Routes, r.String())
	}
	d.BytesIn, d.BytesOut = counters.BytesIn, counters.BytesOut
	d.CopyIn, d.Kernel, d.CopyOut = time.Duration(counters.CopyIn), time.Duration(counters.Kernel),
		time.Duration(counters.CopyOut)
	d.Busy = time.Duration(counters.Busy)
	if sum, longest := d.CopyIn+d.Kernel+d.CopyOut, max(d.CopyIn, d.Kernel, d.CopyOut); sum > longest {
		d.Overlap = float64(sum-d.Busy) / float64(sum-longest)
	}
	d.Resident = counters.Resident
	d.Partitions, d.Theorem, d.Tail = counters.Partitions, counters.Sizing.Theorem, counters.Sizing.Tail
	d.Sizes, d.Tasks, d.Merged = counters.Sizes, counters.Tasks, len(counters.Tasks)
	d.Split, d.OnCPU, d.Rounds, d.Loads, d.Emitted = counters.Split, counters.OnCPU, counters.Rounds,
		counters.Loads, c.emitted.Load()
	if counters.Probed > 0 {
		d.Probes = float64(counters.Probes) / float64(counters.Probed)
	}
	if d.LinkSpeed = c.lease.link; d.LinkSpeed > 0 && d.CopyIn > 0 {
		d.LinkShare = float64(d.BytesIn) / d.CopyIn.Seconds() / d.LinkSpeed
	}
	d.KeptBytes, d.HostBytes, d.MemoryPeak = counters.KeptBytes, counters.HostBytes, counters.DevicePeak
}

// took is what a query took its workers.
type took struct {
	rows, groups int64
	workers      int
	first, both  time.Duration // the first phase, and both
	few          bool          // a condition has left few of all rows
	filtered     float64       // bytes of the pages that have all of them; 0 where nothing tells
}

// learn lets the rates of the machine follow a query.
func (d *Devices) learn(s *Stats, t took) {
	switch isCPU := s == nil || s.Devices == "" || s.Reason != ""; {
	case d.rates == nil || d.named():
	case t.few && isCPU:
		d.rates.sawDecoding(&t)
	case t.few && s.Decoded == 0: // rows that do not pass have taken a good part of the time
	case isCPU:
		d.rates.sawCPU(t.rows, t.groups, t.workers, t.both)
	case s.Finisher != "": // neither the CPU nor the devices have done all of the work
	case s.Decoded > 0:
		d.rates.sawDevice(s.uuid, s.BytesPages, true, t.workers, t.first, s.CopyIn)
	default:
		d.rates.sawDevice(s.uuid, s.BytesIn, false, t.workers, t.first, s.CopyIn)
	}
}
