package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
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

// Would catch a device that is never chosen for CSV, whose rows nobody has counted, one that is opened in vain, and
// reasons that are not those by which it was left alone.
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
		{"fast", 1_200_000, 1, false, "as long as a device takes to open"},
		{"slow", 1_200_000, 1000, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := scan.Open(t.Context(), []string{files[c.rows]}, scan.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if src.Stats().Rows >= 0 {
				t.Fatal("the source knows its rows")
			}
			if c.keeps {
				src = unmeasured{src}
			}
			eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30})
			if err != nil {
				t.Fatal(err)
			}
			defer eng.Close()
			eng.devices.choice.hostBytes = 256 << 20
			eng.rates = newRates("", slog.New(slog.DiscardHandler))
			for i := range eng.rates.seen.CPU {
				eng.rates.seen.CPU[i] *= c.slow
			}
			plan, err := eng.Explain(t.Context(), src, q)
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && eng.devices.opened() {
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
