package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// gatedSource is a source of which one split is read, and others once the gate is open.
type gatedSource struct {
	scan.Source
	open  chan struct{}
	began *atomic.Int64 // splits
}

type gatedSplit struct {
	scan.Split
	of *gatedSource
}

func (s *gatedSource) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Source.Splits(ctx, columns)
	for i := range splits {
		splits[i] = gatedSplit{splits[i], s}
	}
	return splits, err
}

// pass waits for the gate, or until a query that opens no device has waited long enough.
func (s gatedSplit) pass() {
	if s.of.began.Add(1) > 1 {
		select {
		case <-s.of.open:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s gatedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	s.pass()
	return s.Split.Open(ctx, opt)
}

func (s gatedSplit) Paged() (*scan.Paged, error) { return scan.PagedOf(s.Split) }

// changeoverQuery returns a query of a table, most of which devices have without sorting.
func changeoverQuery(rng *rand.Rand, schema *arrow.Schema) query.Query {
	q := pagedQuery(rng, schema)
	q.Aggregates = slices.DeleteFunc(q.Aggregates, func(a query.Aggregate) bool {
		return slices.Contains([]query.Func{query.Median, query.QuantileDisc, query.CountDistinct}, a.Func)
	})
	if len(q.Aggregates) == 0 {
		q.Aggregates = []query.Aggregate{{Func: query.CountStar, Name: "n"}}
	}
	return q
}

// Would catch rows that are lost or taken twice, and workers that two goroutines use, where a query that the CPU has
// begun goes on with devices: batches and pages, few and many groups, devices that fail.
func TestDeviceChangeover(t *testing.T) {
	seed := newSeed(t)
	queries := 300
	if testing.Short() {
		queries = 60
	}
	changed, divided, failed := 0, 0, 0
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng)/4, pagedTypes...)
		q := changeoverQuery(rng, schema)
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			continue
		}
		src := scan.Batches(schema, batches)
		if rng.IntN(2) == 0 {
			path := filepath.Join(t.TempDir(), "t.parquet")
			if err := os.WriteFile(path, randomPages(t, rng, schema, batches, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			if src, err = dataset.Open(t.Context(), []string{path}, dataset.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		gated := &gatedSource{Source: src, open: make(chan struct{}), began: new(atomic.Int64)}
		var fail func(hostdevice.Call) error
		if rng.IntN(4) == 0 {
			fail = hostdevice.FailNth(1+rng.Int64N(60), false, errors.New("boom"))
		}
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 1 + rng.IntN(4), MemoryLimit: 2 << 30}, testknobs.Engine{
			BatchRows: 100, TableGroups: []int{0, 0, 64}[rng.IntN(3)], Device: testknobs.Device{
				AutoHostBytes: []int64{4 << 20, 64 << 20}[rng.IntN(2)], ChangeOver: true, Changing: sync.OnceFunc(func() { close(gated.open) }),
				TileRows: []int{0, 500}[rng.IntN(2)], Groups: []int64{0, 10, 1 << 30}[rng.IntN(3)], Fail: fail, RadixBits: []int{0, 3}[rng.IntN(2)],
			},
		}))
		got, stats, err := answerWithStats(eng, gated, q)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Fatalf("query %d, %v over %v of %v, %+v: %v", i, q.Aggregates, q.Keys, schema, stats.Device, err)
		}
		switch d := stats.Device; {
		case d.Devices == "": // it was not to be, or came too late
		case d.Reason != "":
			failed++
		default:
			changed++
			if d.Rows > 0 && d.Rows < stats.RowsRead {
				divided++
			}
		}
	}
	t.Logf("%d of %d queries changed over, %d of them in the middle of their rows; devices of %d failed", changed, queries, divided, failed)
	if changed < queries/8 || divided == 0 || failed == 0 {
		t.Errorf("%d of %d queries changed over, %d of them in the middle of their rows; devices of %d failed: want more", changed, queries, divided, failed)
	}
}
