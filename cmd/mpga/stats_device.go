package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/digits"
)

// deviceFacts words what devices did, or why they did nothing.
func deviceFacts(d *device.Stats) []report.Fact {
	if d == nil {
		return nil
	}
	var facts factList
	row := facts.add
	facts.addText("device", d.Devices)
	if d.Algorithm != "" {
		row("algorithm", "%s: %s", d.Algorithm, d.Method)
	}
	facts.addText("on the CPU", d.Reason)
	facts.addText("the CPU aggregates", d.Finisher)
	if d.ChangedAt > 0 {
		row("device from", "%.0f%% of the input on: the CPU took longer than was expected", 100*d.ChangedAt)
	}
	facts.addText("chosen by", d.Rates)
	if d.Tiles == 0 {
		return facts
	}
	row("device route", "%s, about %s groups expected", strings.Join(d.Routes, ", then "), humanize.Comma(d.Estimate))
	row("tiles", "%s, %s of at most %s", humanize.Comma(d.Tiles), digits.Counted(d.Rows, "row"),
		humanize.Comma(int64(d.TileRows)))
	facts.addDecoded(d)
	if d.NewStrings > 0 {
		row("strings", "%s new to a device, to which the CPU gave numbers", humanize.Comma(d.NewStrings))
	}
	link := ""
	if d.LinkShare > 0 {
		link = fmt.Sprintf("; in at %.0f%% of the link's %s", 100*d.LinkShare, byteRate(d.LinkSpeed))
	}
	row("over the link", "%s in, %s out%s", byteSize(d.BytesIn), byteSize(d.BytesOut), link)
	row("device time",
		"copies in %s, kernels %s, copies out %s; %s in all, %.0f%% of what could be hidden is",
		roundTime(d.CopyIn), roundTime(d.Kernel),
		roundTime(d.CopyOut), roundTime(d.Busy), 100*d.Overlap)
	if d.GroupsBack > 0 {
		row("groups to the CPU", "%s, %.3g rows each", humanize.Comma(d.GroupsBack), d.Reduction)
	}
	facts.addCount("rows to the CPU", d.RowsBack)
	facts.addPartitions(d)
	if d.Rounds > 0 && len(d.Loads) > 0 {
		row("feedback", "%s; load factor %.2f at first, %.2f at last, %.2f at most",
			digits.Counted(d.Rounds, "round"), d.Loads[0], d.Loads[len(d.Loads)-1], slices.Max(d.Loads))
	}
	if d.Probes > 0 {
		row("probes", "%.2f a row", d.Probes)
	}
	row("device memory", "%s at most", byteSize(d.MemoryPeak))
	if d.KeptBytes+d.HostBytes > 0 {
		row("partitioned rows", "%s on the device, %s in pinned memory", byteSize(d.KeptBytes), byteSize(d.HostBytes))
	}
	return facts
}

// factList is facts in the order in which they are shown.
type factList []report.Fact

func (l *factList) add(name, format string, args ...any) {
	*l = append(*l, report.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
}

// addText adds a text; nothing where it is empty.
func (l *factList) addText(name, text string) {
	if text != "" {
		l.add(name, "%s", text)
	}
}

// addCount adds a count; nothing of 0.
func (l *factList) addCount(name string, n int64) {
	if n > 0 {
		l.add(name, "%s", humanize.Comma(n))
	}
}

// addSize adds a number of bytes; nothing of 0.
func (l *factList) addSize(name string, n int64) {
	if n > 0 {
		l.add(name, "%s", byteSize(n))
	}
}

// addDecoded adds how many rows devices decoded; nothing where they were given none to decode.
func (l *factList) addDecoded(d *device.Stats) {
	if d.Decoded+d.Refused == 0 {
		return
	}
	refused := ""
	if d.Refused > 0 {
		refused = fmt.Sprintf("; %s refused, which the CPU decoded", digits.Counted(d.Refused, "row"))
	}
	kept := ""
	if d.Kept < d.Decoded {
		kept = fmt.Sprintf(", of which %s passed there", humanize.Comma(d.Kept))
	}
	l.add("decoded on the device", "%s%s, %s of pages%s", digits.Counted(d.Decoded, "row"), kept,
		byteSize(d.BytesPages), refused)
}

// addPartitions adds into how many partitions devices scattered rows, and who aggregated them;
// nothing where rows were not scattered.
func (l *factList) addPartitions(d *device.Stats) {
	switch {
	case d.Partitions > 0 && d.Finisher != "":
		l.add("device partitions", "%d", d.Partitions)
	case d.Partitions > 0:
		asked := ""
		if d.Theorem > 0 {
			asked = fmt.Sprintf(" (Theorem 1 asks for %s, the binomial tail for %s)",
				humanize.Comma(d.Theorem), humanize.Comma(d.Tail))
		}
		resident := ""
		if d.Resident > 0 {
			resident = fmt.Sprintf("%d of them in one table, the others ", d.Resident)
		}
		l.add("device partitions", "%d%s, %smerged into %d", d.Partitions, asked, resident, d.Merged)
		l.add("partitions done", "%s on the device; %s split there, %s finished by the CPU",
			humanize.Comma(d.Emitted), digits.Counted(d.Split, "set"), digits.Counted(d.OnCPU, "set"))
	}
}

// byteRate is bytes per second.
func byteRate(perSecond float64) string {
	value, prefix := humanize.ComputeSI(perSecond)
	return fmt.Sprintf("%.3g %sB/s", value, prefix)
}
