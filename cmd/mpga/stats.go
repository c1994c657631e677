package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/vfs"
)

// statsToStderr is the value of --stats without one.
const statsToStderr = "-"

// checkStats refuses a value of --stats that names a file that could not be written when the work
// is done.
func checkStats(value string) error {
	if value == "" || value == statsToStderr {
		return nil
	}
	if device, err := vfs.IsDevice(vfs.OS, value); err != nil || device {
		return err
	}
	return checkFolder("--stats", value)
}

// writeStats takes the statistics to where a value of --stats says: nowhere, to stderr as people
// read them, or to a file as JSON. The result is in its place already, and stays there whatever
// happens to the statistics.
func writeStats(value string, stderr io.Writer, stats engine.Stats) error {
	switch value {
	case "":
		return nil
	case statsToStderr:
		return writeText(stderr, statsTable(stats))
	}
	text, err := json.MarshalIndent(stats, "", "  ")
	if err == nil {
		err = vfs.WriteFile(vfs.OS, value, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("--stats: %w", err)
	}
	return nil
}

// statsTable writes statistics as people read them.
func statsTable(s engine.Stats) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range statsFacts(s, deviceFacts(s.Device)) {
		fmt.Fprintf(w, "%s\t%s\n", f.Name, f.Value)
	}
	w.Flush() // into memory
	return b.String()
}

// statsFacts words statistics, the statistics of devices among them; counts of 0 are left out.
func statsFacts(s engine.Stats, devices []report.Fact) []report.Fact {
	var facts factList
	row, count := facts.add, facts.addCount
	row("route", "%s, %s", s.Route, digits.Counted(int64(s.Threads), "thread"))
	row("read", "%s, %s in %s", digits.Counted(s.RowsRead, "row"), byteSize(max(s.BytesRead, 0)),
		digits.Counted(int64(s.Splits), "split"))
	count("rows left out", s.RowsRejected)
	if f := s.Filter; f != nil {
		row("filter", "%s", f)
		if f.RowsTested > 0 {
			row("filtered rows", "%s kept of %s", humanize.Comma(f.RowsKept), humanize.Comma(f.RowsTested))
		}
		facts.addSize("not decoded", f.BytesPassed)
	}
	facts.addText("pages decoded", pagesDecoded(s))
	if s.Table != "" { // else the statement has no groups
		row("groups", "%s", humanize.Comma(s.Groups))
	}
	if s.Groups > 0 {
		row("reduction", "%.3g rows a group", s.Reduction)
	}
	if s.Table != "" {
		row("table", "%s, keys of %d B", s.Table, s.KeyBytes)
	}
	count("estimated groups", s.EstimatedGroups)
	count("rows pre-aggregated", s.RowsPreAgg)
	count("rows scattered", s.RowsScattered)
	count("states scattered", s.StatesScattered)
	if s.Partitions > 1 {
		row("partitions", "%d, merged into %d", s.Partitions, s.PartitionsMerged)
	}
	facts.addSize("partition store", s.PartitionBytes)
	if s.PartitionsSplit > 0 {
		row("split again", "%s", digits.Counted(s.PartitionsSplit, "task"))
	}
	if s.SortedRuns > 0 {
		row("sorted runs", "%s of groups that are larger than the memory", humanize.Comma(s.SortedRuns))
	}
	if s.SpilledBytes > 0 {
		row("spilled", "%s, to %s in %s", byteSize(s.SpilledBytes), byteSize(s.SpilledStored),
			digits.Counted(s.SpillFiles, "file"))
	}
	facts = append(facts, devices...)
	row("memory", "%s of pages and tables at most", byteSize(s.MemoryPeak))
	row("resident", "%s at most, the limit is %s", byteSize(s.ResidentPeak), byteSize(s.ResidentLimit))
	for _, phase := range []engine.Phase{engine.PhasePlan, engine.PhasePartition, engine.PhaseProcess} {
		if d, ok := s.PhaseTimes[phase]; ok {
			row(string(phase), "%s", roundTime(d))
		}
	}
	elapsed := roundTime(s.Elapsed)
	if s.Elapsed > 0 {
		elapsed += " (" + rowRate(s.RowsRead, s.Elapsed) + ")"
	}
	row("elapsed", "%s", elapsed)
	return facts
}

// pagesDecoded words which pages CPU and devices have decoded, and their shares of the bytes; "" of none.
func pagesDecoded(s engine.Stats) string {
	sides := []struct {
		name  string
		pages []scan.PageCount
	}{{"CPU", s.Pages}, {"device", nil}}
	if s.Device != nil {
		sides[1].pages = s.Device.Pages
	}
	total := int64(0)
	for _, side := range sides {
		for _, p := range side.pages {
			total += p.Decompressed
		}
	}
	var texts []string
	for _, side := range sides {
		bytes, list := int64(0), []string(nil)
		for _, p := range side.pages {
			bytes += p.Decompressed
			list = append(list, fmt.Sprintf("%s of %s, %s to %s", digits.Counted(p.Pages, "page"), p.Codec,
				byteSize(p.Bytes), byteSize(p.Decompressed)))
		}
		if len(list) > 0 {
			texts = append(texts, fmt.Sprintf("%.0f%% on the %s (%s)",
				100*float64(bytes)/float64(max(total, 1)), side.name, strings.Join(list, "; ")))
		}
	}
	return strings.Join(texts, ", ")
}

// byteSize writes a number of bytes: 4.1 MiB.
func byteSize(n int64) string { return humanize.IBytes(uint64(n)) }

// rowRate is rows per second.
//
// Requires: elapsed > 0.
func rowRate(rows int64, elapsed time.Duration) string {
	value, prefix := humanize.ComputeSI(float64(rows) / elapsed.Seconds())
	if prefix != "" {
		prefix += " "
	}
	return fmt.Sprintf("%.3g %srows/s", value, prefix)
}
