package report

import (
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/trace"
)

// worked returns a timeline of a second, whose workers did what for so many milliseconds.
func worked(workers ...map[string]int) *trace.Timeline {
	q := trace.QueryTimeline{End: time.Second}
	for _, work := range workers {
		row := trace.RowTimeline{Group: "CPU"}
		if work["disk"] > 0 {
			row.Group = "disk"
		}
		at := time.Duration(0)
		for name, millis := range work {
			end := at + time.Duration(millis)*time.Millisecond
			row.Spans = append(row.Spans, trace.Span{Name: name, Begin: at, End: end})
			at = end
		}
		q.Rows = append(q.Rows, row)
	}
	return &trace.Timeline{Queries: []trace.QueryTimeline{q}}
}

// Would catch a summary that says what the figures do not, or does not say what they do.
func TestSummary(t *testing.T) {
	zstd := []scan.PageCount{{Codec: "ZSTD", Pages: 3, Bytes: 90, Decompressed: 100}, {Codec: "UNCOMPRESSED", Pages: 1, Bytes: 5, Decompressed: 5}}
	second := engine.Stats{Elapsed: time.Second, Threads: 2, Splits: 9}
	with := func(change func(*engine.Stats)) engine.Stats {
		s := second
		change(&s)
		return s
	}
	for _, c := range []struct {
		name     string
		stats    engine.Stats
		timeline *trace.Timeline
		want     string
	}{
		{"nothing is known", engine.Stats{}, &trace.Timeline{}, ""},
		{"the time alone", second, &trace.Timeline{}, ""},
		{"read", second, worked(map[string]int{"read": 790, "aggregate": 150}, map[string]int{"read": 790, "aggregate": 190}),
			"1s: 79% of the workers' time reading the input, 17% aggregating."},
		{"read zstd", with(func(s *engine.Stats) { s.Pages = zstd }), worked(map[string]int{"read": 900}, map[string]int{"read": 900}),
			"1s: 90% of the workers' time reading the input (zstd), 10% waiting. zstd makes the pages only 10% smaller: " +
				"files without compression, or of snappy, would be read faster."},
		{"zstd that pays", with(func(s *engine.Stats) { s.Pages = []scan.PageCount{{Codec: "ZSTD", Bytes: 20, Decompressed: 100}} }),
			worked(map[string]int{"read": 1000}), "1s: 100% of the workers' time reading the input (zstd)."},
		{"snappy, which costs nothing", with(func(s *engine.Stats) {
			s.Pages, s.Elapsed = []scan.PageCount{{Codec: "SNAPPY", Bytes: 99, Decompressed: 100}}, 506032*time.Nanosecond
		}), worked(map[string]int{"read": 1000}), "506µs: 100% of the workers' time reading the input (snappy)."},
		{"spilled", with(func(s *engine.Stats) { s.SpilledBytes, s.ResidentLimit, s.MemoryLimit = 290<<20, 512<<20, 448<<20 }),
			worked(map[string]int{"scatter": 600, "process": 400}),
			"1s: 60% of the workers' time scattering rows to partitions, 40% aggregating partitions. 290 MiB did not fit the memory and " +
				"went to temporary files: with --memory-limit 930MiB they would have stayed."},
		{"a slow disk", second, worked(map[string]int{"process": 300}, map[string]int{"disk": 900}),
			"1s: 70% of the workers' time waiting, 30% aggregating partitions. The disk of temporary files was busy for 90% of the time: " +
				"--temp-dir on a faster one would help."},
		{"one part", with(func(s *engine.Stats) { s.Splits = 1 }), worked(map[string]int{"read": 1000}, map[string]int{"read": 0}),
			"1s: 50% of the workers' time reading the input, 50% waiting. The input has 1 part for 2 workers: files with smaller row " +
				"groups, or several files, would let all of them read."},
		{"a slow reader of the result", second, func() *trace.Timeline {
			tl := worked(map[string]int{"read": 300}, map[string]int{"read": 300})
			tl.Queries[0].Rows = append(tl.Queries[0].Rows, trace.RowTimeline{Group: "query", Spans: []trace.Span{
				{Name: "partition", End: 300 * time.Millisecond}, {Name: "process", Begin: 300 * time.Millisecond, End: time.Second},
			}})
			return tl
		}(), "1s: 70% of the workers' time waiting until the result was taken, or for other queries, 30% reading the input."},
		{"planning", with(func(s *engine.Stats) {
			s.PhaseTimes = map[engine.Phase]time.Duration{engine.PhasePlan: 400 * time.Millisecond}
		}),
			worked(map[string]int{"read": 600}),
			"1s: 60% of the workers' time reading the input, 40% waiting. 40% of it went to planning, which opens the files and reads " +
				"what they say of themselves."},
		{"the link", with(func(s *engine.Stats) { s.Device = &device.Stats{LinkShare: .95, CopyIn: 900 * time.Millisecond} }),
			worked(map[string]int{"fill tiles": 1000}),
			"1s: 100% of the workers' time preparing rows for devices. The link to the device was busy for 90% of the time, at 95% of " +
				"its speed: it is the limit."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Summary(&c.stats, c.timeline); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Would catch a limit that --memory-limit does not take, or that is below what is needed.
func TestLimitText(t *testing.T) {
	for bytes, want := range map[int64]string{1: "1MiB", 99 << 20: "99MiB", 101 << 20: "110MiB", 1023 << 20: "1100MiB", 4 << 30: "4GiB", 101<<30 + 1: "110GiB"} {
		if got := limitText(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

// Would catch ticks at odd times, too many of them, or none.
func TestTimeTicks(t *testing.T) {
	for length, want := range map[time.Duration]string{
		1:                      "0s 1ns",
		7 * time.Nanosecond:    "0s 1ns 2ns 3ns 4ns 5ns 6ns 7ns",
		42695278:               "0s 5ms 10ms 15ms 20ms 25ms 30ms 35ms 40ms",
		807 * time.Millisecond: "0s 100ms 200ms 300ms 400ms 500ms 600ms 700ms 800ms",
		95 * time.Second:       "0s 10s 20s 30s 40s 50s 1m0s 1m10s 1m20s 1m30s",
		5 * time.Hour:          "0s 30m0s 1h0m0s 1h30m0s 2h0m0s 2h30m0s 3h0m0s 3h30m0s 4h0m0s 4h30m0s 5h0m0s",
	} {
		var texts []string
		for _, at := range timeTicks(length, timeTickMax) {
			texts = append(texts, rounded(at))
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("%s: %s, want %s", length, got, want)
		}
	}
	for length := time.Duration(1); length < 1000*time.Hour; length = length*7/3 + 1 {
		if n := len(timeTicks(length, timeTickMax)); n < 2 || n > timeTickMax+1 {
			t.Errorf("%s: %d ticks", length, n)
		}
	}
}
