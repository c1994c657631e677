package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
)

// Operator is a step of a plan as people see it: EXPLAIN draws the tree of operators, the last step first.
type Operator struct {
	Name       string      // "aggregate"
	Of         string      // what the operator makes, keeps or reads; on the line of its name
	Properties []string    // how the operator works, and what is expected; a line each
	Inputs     []*Operator // which come before
}

// Property adds a property.
func (o *Operator) Property(format string, args ...any) {
	o.Properties = append(o.Properties, fmt.Sprintf(format, args...))
}

// String draws the tree: a line for each operator and each property.
//
//	order: n desc limit 3
//	└─ aggregate: count(*) by region
//	   │ groups: 4
//	   └─ scan: 4 splits, 40,000 rows, 10 KiB
func (o *Operator) String() string {
	var b strings.Builder
	o.draw(&b, "", "")
	return b.String()
}

// draw writes the operator behind first, and everything below it behind rest.
func (o *Operator) draw(b *strings.Builder, first, rest string) {
	fmt.Fprintf(b, "%s%s", first, o.Name)
	if o.Of != "" {
		fmt.Fprintf(b, ": %s", o.Of)
	}
	b.WriteByte('\n')
	bar := "  "
	if len(o.Inputs) > 0 {
		bar = "│ "
	}
	for _, p := range o.Properties {
		fmt.Fprintf(b, "%s%s%s\n", rest, bar, p)
	}
	for i, in := range o.Inputs {
		if i == len(o.Inputs)-1 {
			in.draw(b, rest+"└─ ", rest+"   ")
		} else {
			in.draw(b, rest+"├─ ", rest+"│  ")
		}
	}
}

// ScanOperator is the reading of a source, as far as the source is known before it is read.
func ScanOperator(src scan.Source) *Operator {
	stats := src.Stats()
	return &Operator{Name: "scan", Of: fmt.Sprintf("%s, %s", rowsOrUnknown(stats.Rows), bytesOrUnknown(stats.Bytes))}
}

// BudgetProperty says what the plans of the engine may take.
func (e *Engine) BudgetProperty() string {
	return budgetProperty(e.opt.MemoryLimit, e.opt.TempLimit, e.opt.TempDir)
}

func budgetProperty(memory, temp int64, dir string) string {
	const format = "budget: %s of resident memory, then %s in %s"
	return fmt.Sprintf(format, humanize.IBytes(uint64(memory)), humanize.IBytes(uint64(temp)), dir)
}

// Operators returns the tree of the plan: the aggregation over the scan of its source.
func (p *Plan) Operators() *Operator {
	bound := p.Bound
	keys := make([]string, len(bound.KeyColumns))
	for k := range keys {
		keys[k] = bound.Schema.Field(k).Name
	}
	values := make([]string, len(bound.Outputs))
	for i := range bound.Outputs {
		values[i] = bound.Outputs[i].Aggregate.ResultName()
	}
	o := &Operator{Name: "aggregate", Of: strings.Join(values, ", ")}
	if len(keys) > 0 {
		o.Of = strings.TrimSpace(o.Of + " by " + strings.Join(keys, ", "))
	}
	o.Property("groups: %s", describeGroups(&p.Forecast))
	o.Property("table: %s", describeTable(p))
	for k, c := range bound.KeyColumns {
		o.Property("key %s: %s", bound.Columns[c].Name, describeField(&bound.Keys.Fields[k]))
	}
	for i := range bound.Outputs {
		out := &bound.Outputs[i]
		o.Property("%s: %s -> %s", out.Aggregate.ResultName(), describeFolds(bound, out), out.Type)
	}
	for i := range bound.Columns {
		c := &bound.Columns[i]
		o.Property("input %s: %s%s", c.Name, c.Type, describeStats(c))
	}
	tasks := describeTasks(&p.Forecast)
	o.Property("process: route %s, %d threads; merge greedily%s, one table per task", p.Route, p.Threads, tasks)
	if f := &p.Forecast; f.Radix > 0 {
		o.Property("partition: %s", describePartitions(f))
	}
	if p.Device != nil {
		p.describeDevice(o)
	}
	o.Property("memory: %s", describeMemory(&p.Forecast))
	size := fmt.Sprintf("%s, %s", rowsOrUnknown(p.RowsTotal), bytesOrUnknown(p.BytesTotal))
	read := &Operator{Name: "scan", Of: digits.Counted(int64(p.Splits), "split") + ", " + size}
	if p.Pruning != nil {
		read.Property("%s", p.Pruning)
	}
	o.Inputs = []*Operator{read}
	return o
}

// describeDevice adds what devices do.
func (p *Plan) describeDevice(o *Operator) {
	d := p.Device
	o.Property("device: %s", d)
	if d.Algorithm != "" {
		o.Property("algorithm: %s", d.Algorithm)
	}
	switch {
	case d.Devices == "":
	case d.NotDecoded != "":
		o.Property("decode: the CPU, since %s", d.NotDecoded)
	case d.Undecided:
		o.Property("decode: the device or the CPU, which %v", scan.ErrUndecided)
	case d.Patient:
		o.Property("decode: the device, the pages of all columns")
	default:
		o.Property("decode: the device, the pages of all columns; the CPU, where no tile is free")
	}
}

// Ran adds to the operator of the plan's aggregation what the aggregation did. The time includes the time of
// the inputs. whole is false where no more groups were wanted before all had been made.
func (p *Plan) Ran(o *Operator, s *Stats, whole bool) {
	groups := digits.Counted(s.Groups, "group")
	if !whole {
		groups = "the groups that were wanted"
	}
	o.Property("ran: %s to %s in %s, route %s", digits.Counted(s.RowsRead, "row"), groups, rounded(s.Elapsed), s.Route)
	if s.Device != nil && s.Device.Reason != "" && (p.Device == nil || p.Device.Reason != s.Device.Reason) {
		o.Property("ran, device: %s", s.Device.Reason)
	}
	if d := s.Device; d != nil && (p.Device == nil || d.NotDecoded != p.Device.NotDecoded || d.NotDecoded == "") {
		o.decoded("decode", d)
	}
	o.Spilled(s)
}

// decoded says who has decoded the pages of files for a part of the operator, where devices were asked to.
func (o *Operator) decoded(part string, d *device.Stats) {
	switch {
	case d == nil:
	case d.NotDecoded != "":
		o.Property("ran, %s: the CPU, since %s", part, d.NotDecoded)
	case d.Decoded > 0:
		o.Property("ran, %s: the device, %s", part, digits.Counted(d.Decoded, "row"))
	}
}

// Spilled says what the operator has written to the temp directory, if anything.
func (o *Operator) Spilled(s *Stats) {
	if s.SpilledBytes > 0 {
		stored, files := humanize.IBytes(uint64(s.SpilledStored)), digits.Counted(s.SpillFiles, "file")
		o.Property("ran, spilled: %s, as %s in %s", humanize.IBytes(uint64(s.SpilledBytes)), stored, files)
	}
}

// RanScan says what the scan of the operator did, in place of what was expected of it. counted is false where RowsRead
// counts the rows that an operator above the scan made of its rows.
func (o *Operator) RanScan(s *Stats, counted bool) {
	rows := ""
	if counted {
		rows = digits.Counted(s.RowsRead, "row") + ", "
	}
	o.Properties = nil
	o.Property("ran: %s%s of %s", rows, humanize.IBytes(uint64(s.BytesRead)), digits.Counted(int64(s.Splits), "split"))
	if s.RowsRejected > 0 {
		o.Property("ran, left out for errors: %s", digits.Counted(s.RowsRejected, "row"))
	}
	if s.Filter != nil {
		o.Property("ran: %s", s.Filter)
	}
}

// rounded returns a time in four digits or fewer.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}
