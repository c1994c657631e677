package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/trace"
)

// Summary says in some sentences where the time of a query went, and which flag or file would make
// it faster. It says nothing that neither the statistics nor the timeline show; "" where they tell
// no more than how long it took.
func Summary(s *engine.Stats, t *trace.Timeline) string {
	u := usageOf(t)
	var sentences []string
	add := func(format string, args ...any) { sentences = append(sentences, fmt.Sprintf(format, args...)+".") }
	took := cmp.Or(s.Elapsed, u.length)
	if took == 0 || u.total == 0 && s.SpilledBytes == 0 {
		return ""
	}
	if parts := u.parts(s); len(parts) > 0 {
		add("%s: %s", digitsOf(took), strings.Join(parts, ", "))
	} else {
		add("%s", digitsOf(took))
	}
	if plan := s.PhaseTimes[engine.PhasePlan]; plan > took/4 && plan > 10*time.Millisecond {
		add("%s of it went to planning, which opens the files and reads what they say of themselves", percent(plan, took))
	}
	sentences = append(sentences, spillAdvice(s)...)
	switch {
	case s.Splits > 0 && s.Splits < s.Threads && u.waited > u.total/4:
		add("The input has %s for %s: files with smaller row groups, or several files, would let all of them read",
			digits.Counted(int64(s.Splits), "part"), digits.Counted(int64(s.Threads), "worker"))
	case u.disk > u.length/2 && u.waited > u.total/4:
		add("The disk of temporary files was busy for %s of the time: --temp-dir on a faster one would help",
			percent(u.disk, u.length))
	case s.Device != nil && s.Device.LinkShare > 0.8 && s.Device.CopyIn > took/2:
		add("The link to the device was busy for %s of the time, at %.0f%% of its speed: it is the limit",
			percent(s.Device.CopyIn, took), 100*s.Device.LinkShare)
	}
	if codec, saved := compression(s); u.work["read"] > u.total/2 && slowCodecs[codec] && saved < 0.25 {
		add("%s makes the pages only %.0f%% smaller: files without compression, or of snappy, would be read faster",
			codec, 100*saved)
	}
	return strings.Join(sentences, " ")
}

// slowCodecs are the codecs whose pages take longer to decompress than to decode: of flights, which
// zstd makes a sixth smaller, zstd takes 1.5 times as long as snappy, and snappy no longer than none.
var slowCodecs = map[string]bool{"zstd": true, "gzip": true, "brotli": true}

// spillAdvice says how much memory would have kept a query from writing temporary files.
func spillAdvice(s *engine.Stats) []string {
	if s.SpilledBytes <= 0 || s.ResidentLimit <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s did not fit the memory and went to temporary files: "+
		"with --memory-limit %s they would have stayed.",
		humanize.IBytes(uint64(s.SpilledBytes)), limitText(limitWithout(s)))}
}

// limitWithout returns a limit of the process with which a query spills nothing: as much more as lets
// the spilled pages stay beside the other pages. Only a part of a limit is for pages.
func limitWithout(s *engine.Stats) int64 {
	part := 1.0
	if s.MemoryLimit > 0 {
		part = min(float64(s.MemoryLimit)/float64(s.ResidentLimit), 1)
	}
	return s.ResidentLimit + int64(1.25*float64(s.SpilledBytes)/max(part, 0.1))
}

// limitText writes a size as --memory-limit takes it, rounded up to two digits or so.
func limitText(bytes int64) string {
	unit, name := int64(1<<20), "MiB"
	if bytes >= 4<<30 {
		unit, name = 1<<30, "GiB"
	}
	n := (bytes + unit - 1) / unit
	if step := int64(math.Pow(10, math.Floor(math.Log10(float64(n)))-1)); step > 1 {
		n = (n + step - 1) / step * step
	}
	return fmt.Sprintf("%d%s", n, name)
}

// compression returns the codec of most bytes that the CPU has decoded, and which part of them it saves;
// "" where the most are not compressed.
func compression(s *engine.Stats) (codec string, saved float64) {
	if len(s.Pages) == 0 {
		return "", 0
	}
	p := s.Pages[0]
	for _, other := range s.Pages {
		if other.Decompressed > p.Decompressed {
			p = other
		}
	}
	if p.Decompressed == 0 || p.Codec == "UNCOMPRESSED" {
		return "", 0
	}
	return strings.ToLower(p.Codec), 1 - float64(p.Bytes)/float64(p.Decompressed)
}

// usage is what the workers of a query did, and its disk.
type usage struct {
	length time.Duration // of the queries, added
	total  time.Duration // of the workers: length for each
	waited time.Duration // of total, while a worker did nothing
	behind time.Duration // of waited, behind the input's end: in PhaseProcess
	disk   time.Duration // while a temporary file was read or written, at most length
	work   map[string]time.Duration
}

func usageOf(t *trace.Timeline) (u usage) {
	u.work = make(map[string]time.Duration)
	for i := range t.Queries {
		q := &t.Queries[i]
		u.length += length(q)
		process := processOf(q)
		disk := time.Duration(0)
		for _, row := range q.Rows {
			busy := time.Duration(0)
			for _, s := range row.Spans {
				busy += s.End - s.Begin
				if row.Group == "CPU" {
					u.work[s.Name] += s.End - s.Begin
				}
			}
			switch row.Group {
			case "CPU":
				u.total += length(q)
				u.waited += length(q) - busy
				u.behind += idle(row.Spans, process)
			case "disk":
				disk = max(disk, busy)
			}
		}
		u.disk += disk
	}
	return u
}

// processOf returns the part of a query behind the end of its input; of no length where there is none.
func processOf(q *trace.QueryTimeline) (part trace.Span) {
	for _, row := range q.Rows {
		for _, s := range row.Spans {
			if row.Group == "query" && s.Name == string(engine.PhaseProcess) {
				return s
			}
		}
	}
	return part
}

// idle returns how long nothing was done within a part of the time.
func idle(spans []trace.Span, part trace.Span) time.Duration {
	left := part.End - part.Begin
	for _, s := range spans {
		left -= max(min(s.End, part.End)-max(s.Begin, part.Begin), 0)
	}
	return left
}

// workTexts say what a worker does, by the words of a timeline.
var workTexts = map[string]string{
	"read": "reading the input", "aggregate": "aggregating", "scatter": "scattering rows to partitions",
	"process": "aggregating partitions",
	"write":   "making the result", "merge": "merging groups", "fill tiles": "preparing rows for devices",
}

// parts says what the workers' time went to: the largest parts, of a tenth of it and more.
func (u *usage) parts(s *engine.Stats) (texts []string) {
	if u.total == 0 {
		return nil
	}
	type part struct {
		text string
		took time.Duration
	}
	waiting := "waiting"
	if u.behind > u.waited/4*3 {
		waiting = "waiting until the result was taken, or for other queries"
	}
	parts := []part{{waiting, u.waited}}
	for name, took := range u.work {
		text := cmp.Or(workTexts[name], name)
		if codec, _ := compression(s); name == "read" && codec != "" {
			text += " (" + codec + ")"
		}
		parts = append(parts, part{text, took})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.text, b.text)) })
	for i, p := range parts {
		if p.took < u.total/10 || i == 3 {
			break
		}
		of := ""
		if i == 0 {
			of = " of the workers' time"
		}
		texts = append(texts, fmt.Sprintf("%s%s %s", percent(p.took, u.total), of, p.text))
	}
	return texts
}

// digitsOf writes a time with three digits.
func digitsOf(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// percent writes a part of a time.
func percent(part, whole time.Duration) string {
	return fmt.Sprintf("%.0f%%", 100*float64(min(part, whole))/float64(max(whole, 1)))
}
