package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/device"
)

// Would catch a figure of devices that --stats and reports leave out, or give in other units.
func TestDeviceFacts(t *testing.T) {
	d := &device.Stats{
		Devices: "NVIDIA H100", Rates: "about 10 groups", Routes: []string{"one table", "partitions"}, Estimate: 12_000,
		Tiles: 7, Rows: 1_000_000, TileRows: 150_000, RowsBack: 5000, GroupsBack: 2000, Reduction: 500,
		Decoded: 600_000, Kept: 500_000, Refused: 1000, BytesPages: 1 << 30,
		BytesIn: 3 << 30, BytesOut: 1 << 30, LinkSpeed: 52.6e9, LinkShare: 0.876,
		CopyIn: 60 * time.Millisecond, Kernel: 20 * time.Millisecond, CopyOut: 30 * time.Millisecond, Busy: 70 * time.Millisecond, Overlap: 0.8,
		Partitions: 64, Resident: 20, Theorem: 70, Tail: 50, Merged: 33, Emitted: 60, Split: 2, OnCPU: 1,
		Rounds: 3, Loads: []float64{0.21, 0.79, 0.5}, KeptBytes: 4 << 20, HostBytes: 6 << 20, MemoryPeak: 2 << 30,
	}
	want := []string{
		"device: NVIDIA H100",
		"chosen by: about 10 groups",
		"device route: one table, then partitions, about 12,000 groups expected",
		"tiles: 7, 1,000,000 rows of at most 150,000",
		"decoded on the device: 600,000 rows, of which 500,000 passed there, 1.0 GiB of pages; 1,000 rows refused, which the CPU decoded",
		"over the link: 3.0 GiB in, 1.0 GiB out; in at 88% of the link's 52.6 GB/s",
		"device time: copies in 60ms, kernels 20ms, copies out 30ms; 70ms in all, 80% of what could be hidden is",
		"groups to the CPU: 2,000, 500 rows each",
		"rows to the CPU: 5,000",
		"device partitions: 64 (Theorem 1 asks for 70, the binomial tail for 50), 20 of them in one table, the others merged into 33",
		"partitions done: 60 on the device; 2 sets split there, 1 set finished by the CPU",
		"feedback: 3 rounds; load factor 0.21 at first, 0.50 at last, 0.79 at most",
		"device memory: 2.0 GiB at most",
		"partitioned rows: 4.0 MiB on the device, 6.0 MiB in pinned memory",
	}
	if got := deviceLines(d); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	got := deviceLines(&device.Stats{Devices: "NVIDIA H100", Finisher: "no fold for a set", Tiles: 1, Partitions: 64})
	if !strings.Contains(got, "\nthe CPU aggregates: no fold for a set\n") || !strings.Contains(got, "\ndevice partitions: 64\n") || strings.Contains(got, "done") {
		t.Errorf("got\n%s", got)
	}
}

func deviceLines(d *device.Stats) string {
	var lines []string
	for _, f := range deviceFacts(d) {
		lines = append(lines, f.Name+": "+f.Value)
	}
	return strings.Join(lines, "\n")
}
