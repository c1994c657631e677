package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// rowsOf checks a trace, and returns the names of spans by group and row, without numbers.
func rowsOf(t *testing.T, recorder *trace.Recorder) map[string]map[string]bool {
	t.Helper()
	rows := map[string]map[string]bool{}
	for _, q := range recorder.Timeline().Queries {
		for _, row := range q.Rows {
			name := row.Group + "/" + strings.TrimRight(row.Name, " 0123456789")
			if rows[name] == nil {
				rows[name] = map[string]bool{}
			}
			end := q.Begin
			for _, s := range row.Spans {
				if s.Begin < end || s.End <= s.Begin || s.End > q.End {
					t.Errorf("%s, %s: %+v after %v in a query from %v to %v", row.Group, row.Name, s, end, q.Begin, q.End)
				}
				end = s.End
				rows[name][strings.TrimRight(s.Name, " 0123456789")] = true
			}
		}
	}
	return rows
}

// Would catch a part of a query that no trace shows, on each route of a device, on the CPU and on
// disk.
func TestTrace(t *testing.T) {
	schema, batches := deviceTable(20_000, 5000)
	for name, c := range map[string]struct {
		device string
		knobs  testknobs.Engine
		want   string // row: span
	}{
		"cpu":        {"cpu", testknobs.Engine{}, "query/phase: plan, query/phase: partition, query/phase: process, CPU/worker: read, CPU/worker: aggregate, CPU/worker: write"},
		"spilled":    {"cpu", testknobs.Engine{SpillAll: true, RadixBits: 2, NoPreAgg: true, TableGroups: 64}, "disk/disk: write, disk/disk: read, CPU/worker: process"},
		"table":      {"host:16MiB", testknobs.Engine{Device: testknobs.Device{Groups: 5000}}, "device 0/stream: copy in, device 0/stream: insert, device 0/stream: compact, device 0/copy engine in: stream, device 0/copy engine out: stream"},
		"partitions": {"host:16MiB", testknobs.Engine{Device: testknobs.Device{Groups: 1 << 40, RadixBits: 2, TileRows: 1000}}, "device 0/stream: scatter, device 0/stream: aggregate, device 0/copy engine in: stream, CPU/worker: fill tiles"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := trace.New()
			opt := engine.Options{Threads: 1, Device: c.device, Trace: recorder, TempDir: t.TempDir()}
			if stats := deviceStats(t, testknobs.With(opt, c.knobs), schema, batches, deviceQuery); stats.Groups != 4896 {
				t.Errorf("%d groups", stats.Groups)
			}
			rows := rowsOf(t, recorder)
			for _, want := range strings.Split(c.want, ", ") {
				row, span, _ := strings.Cut(want, ": ")
				if !rows[row][span] {
					t.Errorf("no span %q in %v", want, rows)
				}
			}
		})
	}
}

// Would catch a trace that is lost, or not whole, when the device or the query fails.
func TestTraceFailure(t *testing.T) {
	schema, batches := deviceTable(20_000, 5000)
	for _, work := range []int64{5, 40, 90} {
		recorder := trace.New()
		knobs := testknobs.Engine{Device: testknobs.Device{Groups: 1 << 40, RadixBits: 2, TileRows: 1000, Fail: hostdevice.FailNth(work, true, errors.New("boom"))}}
		opt := engine.Options{Threads: 2, Device: "host:16MiB", Trace: recorder}
		if stats := deviceStats(t, testknobs.With(opt, knobs), schema, batches, deviceQuery); stats.Device.Reason == "" {
			t.Errorf("work %d: the device has not failed", work)
		}
		if rows := rowsOf(t, recorder); !rows["CPU/worker"]["aggregate"] {
			t.Errorf("work %d: %v", work, rows)
		}
	}
	recorder := trace.New()
	eng := openChecked(t, engine.Options{Trace: recorder})
	ctx, cancel := context.WithCancel(t.Context())
	result, err := eng.Aggregate(ctx, scan.Batches(schema, batches), deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for result.Next() {
	}
	result.Release()
	if rows := rowsOf(t, recorder); len(rows) == 0 {
		t.Error("nothing of a query that was cancelled")
	}
}
