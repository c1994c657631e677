package tests

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/testknobs"
)

// tallied adds up the values of a generated table of pairs as the engine takes them.
type tallied struct {
	*gen.Table
	rows, sum atomic.Int64
}

func (s *tallied) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Table.Splits(ctx, columns)
	for i := range splits {
		splits[i] = &talliedSplit{splits[i], s}
	}
	return splits, err
}

type talliedSplit struct {
	scan.Split
	of *tallied
}

func (s *talliedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	r, err := s.Split.Open(ctx, opt)
	return &talliedReader{r, s.of}, err
}

type talliedReader struct {
	array.RecordReader
	of *tallied
}

func (r *talliedReader) Next() bool {
	if !r.RecordReader.Next() {
		return false
	}
	batch := r.RecordBatch()
	var sum int64
	for c, f := range batch.Schema().Fields() {
		if f.Name == "value" {
			for _, v := range batch.Column(c).(*array.Int64).Int64Values() {
				sum += v
			}
		}
	}
	r.of.rows.Add(batch.NumRows())
	r.of.sum.Add(sum)
	return true
}

// Of more rows than any oracle can hold, streamed from their generator through a memory that they
// do not fit: every key is a group once, and rows and values are as many in the groups as came in.
// Would catch rows lost or doubled on the way to disk and back, in splits, and in sums of two
// words. With -large it takes 1e9 rows, some 10 GB of the temp directory, and minutes.
func TestConservation(t *testing.T) {
	rows, groups, limit := int64(20_000_000), int64(3_000_000), int64(64<<20)
	opt, knobs := engine.Options{Threads: 2}, testknobs.Engine{MemoryBytes: limit}
	switch {
	case *largeFlag:
		rows, groups = 1_000_000_000, 100_000_000
		opt.MemoryLimit, knobs = 2<<30, testknobs.Engine{}
	case testing.Short():
		rows, groups = 1_000_000, 300_000
	}
	for _, dist := range []gen.PairsOptions{{Dist: gen.Uniform}, {Dist: gen.Heavy, Heavy: 0.5}} {
		if *largeFlag && dist.Dist != gen.Uniform {
			break
		}
		t.Run(string(dist.Dist), func(t *testing.T) {
			dist.Rows, dist.Groups, dist.Seed = rows, groups, *seedFlag
			checkConservation(t, dist, testknobs.With(opt, knobs))
		})
	}
}

func checkConservation(t *testing.T, pairs gen.PairsOptions, opt engine.Options) {
	t.Helper()
	table, err := gen.Pairs(pairs)
	if err != nil {
		t.Fatal(err)
	}
	src := &tallied{Table: table}
	opt.TempDir = t.TempDir()
	eng, err := engine.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	start := time.Now()
	res, err := eng.Aggregate(context.Background(), src, query.Query{
		Keys:       []query.Key{{Column: "key"}},
		Aggregates: []query.Aggregate{{Func: query.CountStar}, {Func: query.Sum, Args: []string{"value"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	var groups, keys, count, sum int64
	for res.Next() {
		batch := res.RecordBatch()
		groups += batch.NumRows()
		keys += total(batch.Column(0))
		count += total(batch.Column(1))
		sum += total(batch.Column(2))
	}
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	s := res.Stats()
	t.Logf("%.3g M rows/s; %d MiB resident of %d, %d MiB spilled to %d in %d files, %d of %d tasks split",
		float64(pairs.Rows)/1e6/time.Since(start).Seconds(), s.ResidentPeak>>20, s.ResidentLimit>>20,
		s.SpilledBytes>>20, s.SpilledStored>>20, s.SpillFiles, s.PartitionsSplit, s.PartitionsMerged)
	if s.SpilledBytes == 0 && !testing.Short() {
		t.Error("nothing was spilled: the test is too small")
	}
	if want := pairs.Groups; groups != want || keys != want*(want-1)/2 {
		t.Errorf("%d groups whose keys add up to %d, want %d and %d", groups, keys, want, want*(want-1)/2)
	}
	if rows := src.rows.Load(); rows != pairs.Rows || count != rows {
		t.Errorf("%d rows, %d came in; counts add up to %d", pairs.Rows, rows, count)
	}
	if want := src.sum.Load(); sum != want {
		t.Errorf("sums add up to %d, the values to %d", sum, want)
	}
}

// total adds up a column of integers without NULLs.
func total(column arrow.Array) (n int64) {
	for _, v := range column.(*array.Int64).Int64Values() {
		n += v
	}
	return n
}
