package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
)

// rowsOf makes a batch of one column in memory that is checked.
func rowsOf(mem memory.Allocator, rows int) arrow.RecordBatch {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for i := range rows {
		b.Append(int64(i))
	}
	column := b.NewArray()
	defer column.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: column.DataType()}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{column}, int64(rows))
}

// feedWorkers run the loop of a reader without its aggregation: each row is marked once.
func feedWorkers(ctx context.Context, f *feed, workers int, batch arrow.RecordBatch, seen []atomic.Int32) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(4, uint64(w)))
			work := func(p aggregator.Piece) {
				for from := p.From; from < p.To && ctx.Err() == nil; from++ {
					if half := (p.To - from) / 2; half > 10 {
						rest := p
						rest.From = p.To - half
						if f.offer(rest) {
							p.To = rest.From
						}
					}
					seen[p.Position+uint64(from)].Add(1)
					if rng.IntN(50) == 0 {
						time.Sleep(time.Microsecond)
					}
				}
			}
			for {
				split, ok := f.takeSplit()
				if !ok {
					break
				}
				work(aggregator.Piece{Batch: batch, To: int(batch.NumRows()), Position: split.Position(), Split: split})
				f.release()
			}
			for {
				p, ok := f.takePiece(ctx)
				if !ok {
					return
				}
				work(p)
				p.Batch.Release()
				f.release()
			}
		})
	}
	wg.Wait()
}

// fakeSplit is a split of which only the position matters.
type fakeSplit struct {
	scan.Split
	position uint64
}

func (s fakeSplit) Position() uint64 { return s.position }

// Would catch rows that two workers take or none, workers that wait for ever at the end, and
// batches that stay retained: with more splits than workers, fewer, one and none.
func TestFeedGivesEveryRowOnce(t *testing.T) {
	const rows = 500
	for _, splits := range []int{0, 1, 2, 5, 40} {
		for _, workers := range []int{1, 2, 7} {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			batch := rowsOf(mem, rows)
			list := make([]scan.Split, splits)
			for i := range list {
				list[i] = fakeSplit{position: uint64(i * rows)}
			}
			f := newFeed(list)
			seen := make([]atomic.Int32, splits*rows)
			feedWorkers(context.Background(), f, workers, batch, seen)
			for i := range seen {
				if n := seen[i].Load(); n != 1 {
					t.Fatalf("%d splits, %d workers: row %d was taken %d times", splits, workers, i, n)
				}
			}
			if f.active != 0 || f.waiting.Load() != 0 {
				t.Errorf("%d splits, %d workers: %d are active, %d wait", splits, workers, f.active, f.waiting.Load())
			}
			batch.Release()
			mem.AssertSize(t, 0)
		}
	}
}

// Would catch workers that wait for a piece although the query has ended, and pieces that nobody
// gives back then.
func TestFeedEndsWithItsContext(t *testing.T) {
	for delay := range 8 {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		batch := rowsOf(mem, 100_000)
		f := newFeed([]scan.Split{fakeSplit{}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(delay*delay)*100*time.Microsecond)
		started := time.Now()
		feedWorkers(ctx, f, 4, batch, make([]atomic.Int32, 100_000))
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("the workers ended after %v", took)
		}
		cancel()
		batch.Release()
		mem.AssertSize(t, 0)
	}
}

// Would catch an offer that blocks, or that counts a worker who was not there.
func TestFeedOfferWithoutTaker(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	batch := rowsOf(mem, 10)
	f := newFeed([]scan.Split{fakeSplit{}})
	if _, ok := f.takeSplit(); !ok {
		t.Fatal("no split")
	}
	f.waiting.Add(1) // a worker that is about to wait, and is not there yet
	if f.offer(aggregator.Piece{Batch: batch, To: 10}) {
		t.Error("nobody took a piece that was given away")
	}
	f.waiting.Add(-1)
	if f.offer(aggregator.Piece{Batch: batch, To: 10}) {
		t.Error("nobody waits, and a piece was given away")
	}
	f.release()
	if _, ok := f.takePiece(context.Background()); ok {
		t.Error("a piece of nothing")
	}
	batch.Release()
	mem.AssertSize(t, 0)
}
