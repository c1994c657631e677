package engine

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
)

// Plan says how a query would run.
type Plan struct {
	Route      string // "cpu" or "device"
	Threads    int
	Table      string // "dense", "hash" or "single group"
	Splits     int
	RowsTotal  int64         // -1 when it is not known
	BytesTotal int64         // -1 when it is not known
	Pruning    *scan.Pruning // what a filter leaves out before it is read; nil of a source without a filter

	MemoryLimit int64  // bytes, of the process
	TempDir     string // where partitions go that do not fit
	TempLimit   int64  // bytes

	Forecast Forecast
	Device   *device.Forecast // nil when the CPU is asked for
	Bound    *rowdata.Bound
}

// String draws the plan, the last step first.
func (p *Plan) String() string {
	o := p.Operators()
	o.Properties = append(o.Properties, budgetProperty(p.MemoryLimit, p.TempLimit, p.TempDir))
	return o.String()
}

func describeTable(p *Plan) string {
	b := p.Bound
	state := b.StateLayout().Stride - b.Keys.Words
	switch p.Table {
	case "single group":
		return fmt.Sprintf("one group of all rows, state %d B", 8*state)
	case "dense":
		return fmt.Sprintf("table addressed by the key, %s slots, state %d B", humanize.Comma(1<<b.Keys.Bits), 8*state)
	}
	window := ""
	if n := p.Forecast.Window; n > 0 {
		window = fmt.Sprintf(", groups found by distance among %s keys", humanize.Comma(n))
	}
	return fmt.Sprintf(
		"hash table, packed key %d B, state %d B%s; scatter by hash when it outgrows the cache",
		b.Keys.Bytes(), 8*state, window)
}

// groupsTold is the greatest bound of groups that is told: greater ones are of types, and of no data.
const groupsTold = 1 << 40

// describeGroups says how many groups are expected, their bounds, and what it goes by.
func describeGroups(f *Forecast) string {
	most := ""
	if f.Most >= 0 && f.Most <= groupsTold {
		most = fmt.Sprintf("at most %s", humanize.Comma(f.Most))
	}
	switch {
	case f.Groups < 0 && most == "":
		return "unknown"
	case f.Groups < 0:
		return "unknown, " + most
	case f.RowsSampled == 0 || f.Groups == f.Most && f.Least == f.Most:
		return humanize.Comma(f.Groups)
	}
	if most != "" {
		most = ", " + most
	}
	return fmt.Sprintf("about %s (at least %s%s), by %s of %s", humanize.Comma(f.Groups), humanize.Comma(f.Least), most,
		digits.Counted(f.RowsSampled, "row"), digits.Counted(int64(f.SplitsSampled), "split"))
}

// describePartitions says what is scattered and how wide, beside the two bounds of what keeps every
// table in the cache.
func describePartitions(f *Forecast) string {
	what := fmt.Sprintf("about %s as they are", digits.Counted(f.RowsScattered, "row"))
	switch f.Route {
	case cpuagg.RoutePreAgg:
		what = fmt.Sprintf("rows pre-aggregated to about %s", digits.Counted(f.StatesScattered, "state"))
	case cpuagg.RouteHash:
		what = fmt.Sprintf("about %s of the workers' tables", digits.Counted(f.StatesScattered, "group"))
	}
	return fmt.Sprintf("%s, by hash to %s; the cache asks for %s (Theorem 1 %s, binomial tail %s)",
		what, digits.Counted(int64(f.Radix.FanOut()), "partition"),
		humanize.Comma(f.Sizing.Partitions), humanize.Comma(f.Sizing.Theorem), humanize.Comma(f.Sizing.Tail))
}

func describeTasks(f *Forecast) string {
	if f.Tasks == 0 {
		return ""
	}
	text := " to about " + digits.Counted(f.Tasks, "task")
	if f.Splits > 0 {
		text += fmt.Sprintf(", split about %s again", digits.Counted(f.Splits, "task"))
	}
	return text
}

// describeMemory says what tables and pages would take, and what of it will go to disk.
func describeMemory(f *Forecast) string {
	if f.MemoryBytes < 0 {
		return "unknown"
	}
	text := fmt.Sprintf("about %s of tables", humanize.IBytes(uint64(f.TableBytes)))
	if f.PageBytes > 0 {
		text += fmt.Sprintf(", %s of pages", humanize.IBytes(uint64(f.PageBytes)))
	}
	if f.SpillBytes == 0 {
		return text + "; nothing is spilled"
	}
	return text + fmt.Sprintf("; about %s is spilled", humanize.IBytes(uint64(f.SpillBytes)))
}

func describeField(f *rowdata.KeyField) string {
	if f.Interned {
		return fmt.Sprintf("%d bits, number of a string", f.Bits)
	}
	text := fmt.Sprintf("%d bits", int(f.Bits)*f.Kind.Words())
	if f.Kind.Words() == 1 && f.Bits < 64 && f.Kind != rowdata.Float64 {
		text += fmt.Sprintf(", values from %d", f.Base)
	}
	if f.Nullable {
		text += ", NULL"
	}
	return text
}

func describeFolds(b *rowdata.Bound, out *rowdata.Output) string {
	text := b.Folds[out.Fold].Kind.String()
	if out.Count >= 0 {
		text += " and " + b.Folds[out.Count].Kind.String()
	}
	return text
}

func describeStats(c *rowdata.Column) string {
	text := ""
	if c.HasRange {
		text = fmt.Sprintf(", %d to %d", c.Min, c.Max)
	}
	if !c.Nullable {
		text += ", no NULL"
	}
	return text
}

func rowsOrUnknown(n int64) string {
	if n < 0 {
		return "unknown rows"
	}
	return digits.Counted(n, "row")
}

func bytesOrUnknown(n int64) string {
	if n < 0 {
		return "unknown size"
	}
	return humanize.IBytes(uint64(n))
}
