package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/testknobs"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

// Would catch a plan that says something else than before: of every kind of table, of keys with
// and without statistics, and of sources that do not know their size. What changed on purpose is
// renewed with -rewrite.
func TestExplain(t *testing.T) {
	eng := openChecked(t, engine.Options{Threads: 4, Device: "cpu", MemoryLimit: 1 << 30, TempDir: "temp", TempLimit: 10 << 30})
	made := &madeSource{splits: 3, batches: 10, rows: 1234, groups: 10}
	ranged := *made
	ranged.stats = []scan.ColumnStats{{NoNulls: true, HasRange: true, Min: -5, Max: 94}, {HasRange: true, Min: 0, Max: 1 << 40}, {NoNulls: true, Repeats: true}}
	one := &madeSource{splits: 1, batches: 1, rows: 1, groups: 1}
	aggregates := []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Avg, Args: []string{"v"}, Name: "mean"}, {Func: query.Max, Args: []string{"s"}},
		{Func: query.MinN, Args: []string{"v"}, Length: 3}, {Func: query.Corr, Args: []string{"v", "k"}}, {Func: query.ApproxCountDistinct, Args: []string{"s"}},
	}
	for _, c := range []struct {
		name string
		src  scan.Source
		q    query.Query
	}{
		{"single_group", made, query.Query{Aggregates: aggregates}},
		{"hash", made, query.Query{Keys: []query.Key{{Column: "k"}, {Column: "s"}}, Aggregates: aggregates}},
		{"dense", &ranged, query.Query{Keys: []query.Key{{Column: "k", Name: "key"}}, Aggregates: aggregates[:2]}},
		{"strings_that_repeat", &ranged, query.Query{Keys: []query.Key{{Column: "s"}}, Aggregates: aggregates[:1]}},
		{"keys_only", one, query.Query{Keys: []query.Key{{Column: "v"}}}},
		{"unknown_size", unknownSize{made}, query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: aggregates[:1]}},
	} {
		plan, err := eng.Explain(t.Context(), c.src, c.q)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "explain_"+c.name, plan.String())
	}
	if _, err := eng.Explain(t.Context(), made, query.Query{Keys: []query.Key{{Column: "kk"}}}); err == nil || !strings.Contains(err.Error(), "did you mean k?") {
		t.Errorf("a column that does not exist: %v", err)
	}
}

// Would catch a plan that foretells another route than is taken, or that is silent about why the
// CPU works.
func TestExplainDevice(t *testing.T) {
	schema, batches := deviceTable(20_000, 5000)
	median := query.Query{Keys: deviceQuery.Keys, Aggregates: []query.Aggregate{{Func: query.Median, Args: []string{"v"}}}}
	mode := query.Query{Keys: deviceQuery.Keys, Aggregates: []query.Aggregate{{Func: query.Mode, Args: []string{"v"}}}}
	for _, c := range []struct {
		device string
		knobs  testknobs.Device
		query  query.Query
		want   string
	}{
		{"host:16MiB", testknobs.Device{}, deviceQuery, "device: host, tiles of 5,000 rows to one table: about "},
		{"host:16MiB", testknobs.Device{Groups: 1}, deviceQuery, "device: host, tiles of 5,000 rows to groups, each by itself: about 1 groups"},
		{"host:16MiB", testknobs.Device{Groups: 1 << 40, RadixBits: 2, TileRows: 1000}, deviceQuery, "device: host, tiles of 1,000 rows to 4 partitions: about "},
		{"host:16MiB", testknobs.Device{}, query.Query{Aggregates: deviceQuery.Aggregates}, "device: none, there is one group"},
		{"host:16MiB", testknobs.Device{}, median, "device: host, tiles of 5,000 rows to 2 partitions: the folds need values in order"},
		{"host:16MiB", testknobs.Device{}, mode, "device: host, tiles of 5,000 rows to 64 partitions: a device has no fold for counted set"},
		{"auto", testknobs.Device{}, deviceQuery, "device: none, 20000 rows are too few"},
		{"cpu", testknobs.Device{}, deviceQuery, "route cpu"},
	} {
		opt := testknobs.With(engine.Options{Device: c.device}, testknobs.Engine{Device: c.knobs})
		plan, err := openChecked(t, opt).Explain(t.Context(), scan.Batches(schema, batches), c.query)
		if err != nil {
			t.Fatal(err)
		}
		if text := plan.String(); !strings.Contains(text, c.want) || strings.Contains(text, "device:") != (c.device != "cpu") {
			t.Errorf("%s, %+v:\n%s\nwant %s", c.device, c.knobs, text, c.want)
		}
		if plan.Route != "device" {
			continue
		}
		if stats := deviceStats(t, opt, schema, batches, c.query); plan.Device.Route != stats.Device.Routes[0] {
			t.Errorf("%+v: foretold %s, took %v", c.knobs, plan.Device.Route, stats.Device.Routes)
		}
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}
