package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// unmeasured is a source whose splits do not tell how large they are.
type unmeasured struct{ scan.Source }

type unmeasuredSplit struct{ scan.Split }

func (s unmeasured) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Source.Splits(ctx, columns)
	for i := range splits {
		splits[i] = unmeasuredSplit{splits[i]}
	}
	return splits, err
}

func (unmeasuredSplit) Bytes() int64 { return 0 }

// Would catch a device that is never chosen for CSV, whose rows nobody has counted, one that is
// opened in vain, and reasons that are not those by which it was left alone.
func TestDeviceAutoRows(t *testing.T) {
	dir, files := t.TempDir(), map[int]string{}
	for _, rows := range []int{200_000, 1_200_000} {
		var text bytes.Buffer
		fmt.Fprintln(&text, "k,v")
		for i := range rows {
			fmt.Fprintf(&text, "%d,%d\n", i*7919%1_000_003, i%100)
		}
		files[rows] = filepath.Join(dir, fmt.Sprintf("%d.csv", rows))
		if err := os.WriteFile(files[rows], text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}}}
	for _, c := range []struct {
		name  string
		rows  int
		slow  float64 // the CPU, by its usual rates
		keeps bool    // to itself how large it is
		want  string  // of why the CPU does it; "" a device does
	}{
		{"few", 200_000, 1000, false, " rows are too few"},
		{"not told", 1_200_000, 1000, true, "the number of rows is not known"},
		{"fast", 1_200_000, 1, false, "no longer than a device takes to open"},
		{"hardly slow", 1_200_000, 37.5, false, "less than it takes to open"},
		{"slow", 1_200_000, 1000, false, ""},
	} {
		if invariants.Race && c.want != "" && c.rows > 200_000 {
			continue // what the CPU takes alone it takes in other tests
		}
		t.Run(c.name, func(t *testing.T) {
			src, err := dataset.Open(t.Context(), []string{files[c.rows]}, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if src.Stats().Rows >= 0 {
				t.Fatal("the source knows its rows")
			}
			if c.keeps {
				src = unmeasured{src}
			}
			// What the CPU takes in this process has no devices opened in the middle.
			device := testknobs.Device{AutoHostBytes: 256 << 20, CPUSlower: c.slow, ChangeAfter: math.MaxInt64}
			eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30, testing: testknobs.Engine{Device: device}})
			if err != nil {
				t.Fatal(err)
			}
			defer eng.Close()
			plan, err := eng.Explain(t.Context(), src, q)
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && eng.devices.Opened() {
				t.Error("the device was opened in vain")
			}
			result, err := eng.Aggregate(t.Context(), src, q)
			if err != nil {
				t.Fatal(err)
			}
			defer result.Release()
			for result.Next() {
			}
			if err := result.Err(); err != nil {
				t.Fatal(err)
			}
			stats := result.Stats()
			if stats.RowsRead != int64(c.rows) || (stats.Device.Rows > 0) != (c.want == "") {
				t.Errorf("%d rows, of which the device took %d, since %q", stats.RowsRead, stats.Device.Rows, stats.Device.Reason)
			}
			if !strings.Contains(stats.Device.Reason, c.want) || !strings.Contains(plan.Device.Reason, c.want) {
				t.Errorf("since %q, foretold %q; want %q", stats.Device.Reason, plan.Device.Reason, c.want)
			}
			if c.want == "" && (plan.Route != "device" || plan.Device.Rates == "" || stats.Device.Rates == "" || stats.Device.Reason != "") {
				t.Errorf("foretold %+v, then %q, %q", plan.Device, stats.Device.Rates, stats.Device.Reason)
			}
		})
	}
}

// linkRows is as many rows as a device is used for, whoever asks.
const linkRows = 1_000_000

// distinctKeys returns so many rows, whose keys differ.
func distinctKeys(rows uint32) scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for i := range rows {
		b.Field(0).(*array.Uint32Builder).Append(i * 7919)
	}
	return scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})
}

// Would catch a query that waits for a driver which does not answer while its link is measured, and
// a device that is never used again when it does.
func TestDeviceSilentLink(t *testing.T) {
	src := distinctKeys(linkRows)
	silent, answer := make(chan struct{}, 100), make(chan struct{})
	eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30, testing: testknobs.Engine{Device: testknobs.Device{
		AutoHostBytes: 256 << 20,
		CPUSlower:     1000,
		Fail: func(c hostdevice.Call) error {
			if c.Name == "AllocPinned" {
				silent <- struct{}{}
				<-answer
			}
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	eng.devices.SetTimeout(200 * time.Millisecond)
	q := func() *device.Stats {
		result, err := eng.Aggregate(t.Context(), src, query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}})
		if err != nil {
			t.Error(err)
			return &device.Stats{}
		}
		defer result.Release()
		rows := int64(0)
		for result.Next() {
			rows += result.RecordBatch().NumRows()
		}
		if err := result.Err(); err != nil || rows != linkRows {
			t.Errorf("%d groups, %v", rows, err)
		}
		return result.Stats().Device
	}
	done := make(chan *device.Stats)
	for range 3 {
		go func() { done <- q() }()
	}
	<-silent
	for range 3 { // a query that waited for the link would do so until the tests' own timeout
		if s, want := <-done, "measuring the link: no answer for 200ms: the device does not answer"; s.Reason != want {
			t.Errorf("since %q, want %q", s.Reason, want)
		}
	}
	if len(silent) > 0 {
		t.Errorf("the device was asked %d times more", len(silent))
	}
	eng.devices.SetTimeout(time.Minute)
	close(answer)
	for s := q(); s.Rows == 0; s = q() { // until the device is heard again
		if !strings.Contains(s.Reason, "measuring the link") {
			t.Fatalf("the device answers, and is not used since %q", s.Reason)
		}
	}
}

// slow is a source that takes a while to begin.
type slow struct {
	scan.Source
	wait time.Duration
}

type slowSplit struct {
	scan.Split
	wait time.Duration
}

func (s slow) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Source.Splits(ctx, columns)
	for i := range splits {
		splits[i] = slowSplit{splits[i], s.wait}
	}
	return splits, err
}

func (s slowSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	time.Sleep(s.wait)
	return s.Split.Open(ctx, opt)
}

// Would catch a query that waits for a device which opens more slowly than the CPU takes all rows,
// and an engine whose end waits for it.
func TestDeviceAutoLate(t *testing.T) {
	open, opening := make(chan struct{}), make(chan struct{})
	var first sync.Once
	eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30, testing: testknobs.Engine{Device: testknobs.Device{
		AutoHostBytes: 256 << 20,
		CPUSlower:     50, // for a million groups, 325 ms
		Fail: func(hostdevice.Call) error {
			first.Do(func() {
				close(opening)
				<-open
			})
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	src := slow{distinctKeys(linkRows), 400 * time.Millisecond}
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}}
	result, err := eng.Aggregate(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for result.Next() { // a query that waited for the device would do so until the tests' own timeout
		rows += result.RecordBatch().NumRows()
	}
	stats := result.Stats()
	if err := result.Err(); err != nil || rows != linkRows {
		t.Errorf("%d groups, %v", rows, err)
	}
	if stats.Route != "cpu" || !strings.Contains(stats.Device.Reason, "before the device is open") {
		t.Errorf("route %s, since %q", stats.Route, stats.Device.Reason)
	}
	result.Release()
	<-opening
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
	close(open)
}

// Would catch rates of the machine that follow queries which shared it: a server's, where devices seemed slow
// after their queries had waited for each other, and were not used any more.
func TestDeviceRatesAlone(t *testing.T) {
	eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30, testing: testknobs.Engine{
		ResultRows: 1000,
		Device:     testknobs.Device{AutoHostBytes: 256 << 20, CPUSlower: 0.7},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	if err := eng.WarmDevices(t.Context()); err != nil {
		t.Fatal(err)
	}
	src, q := distinctKeys(1_100_000), query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}}
	expected := func() string {
		plan, err := eng.Explain(t.Context(), src, q)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Device.Reason
	}
	begin := func() *Result {
		result, err := eng.Aggregate(t.Context(), src, q)
		if err != nil {
			t.Fatal(err)
		}
		if !result.Next() {
			t.Fatal(result.Err())
		}
		return result
	}
	before, held := expected(), begin()
	for range 3 {
		result := begin()
		for result.Next() {
		}
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
		result.Release()
	}
	held.Release()
	if after := expected(); before != after || !strings.Contains(before, "ns a row on the CPU") {
		t.Errorf("expected %q, and then %q", before, after)
	}
}

// Would catch a small query that looks at a sample of its input for a device that is open, though the CPU is
// ready before a device begins.
func TestDeviceAutoStart(t *testing.T) {
	eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30, testing: testknobs.Engine{
		Device: testknobs.Device{AutoHostBytes: 256 << 20, CPUSlower: 0.1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	if err := eng.WarmDevices(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := eng.Explain(t.Context(), distinctKeys(linkRows), query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "no longer than a device takes to start"; plan.Route != "cpu" || !strings.Contains(plan.Device.Reason, want) {
		t.Errorf("route %s, since %q, want %q", plan.Route, plan.Device.Reason, want)
	}
}

// Would catch a query that takes itself to be alone beside one that began before it, or after it.
func TestBegin(t *testing.T) {
	l := newLifetime()
	first, endFirst := l.begin()
	if !first() {
		t.Error("the first is not alone")
	}
	second, endSecond := l.begin()
	endFirst()
	third, endThird := l.begin()
	if first() || second() || third() {
		t.Error("alone beside others:", first(), second(), third())
	}
	endSecond()
	endThird()
	if fourth, _ := l.begin(); !fourth() {
		t.Error("not alone after the others")
	}
}
