package pairs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/spawn"
)

// Time asks an engine the query some times. It returns the seconds that each answer took, and what
// the last one did.
//
// Requires: times > 0.
func (in *Input) Time(ctx context.Context, eng *engine.Engine, times int) (seconds []float64, last engine.Stats,
	err error) {
	for range times {
		start := time.Now()
		if last, err = in.ask(ctx, eng); err != nil {
			return nil, last, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return seconds, last, nil
}

// ask asks the query once and checks the answer: I1, I2.
func (in *Input) ask(ctx context.Context, eng *engine.Engine) (stats engine.Stats, err error) {
	result, err := eng.Aggregate(ctx, in.source, in.Query)
	if err != nil {
		return stats, err
	}
	defer result.Release()
	sum, err := in.sum(ctx, result)
	if err != nil {
		return stats, err
	}
	stats = result.Stats()
	if in.Groups == 0 {
		in.Groups = stats.Groups
	}
	switch {
	case sum != in.Sum:
		return stats, errors.New("the sums do not add up: the answer is wrong")
	case stats.Groups != in.Groups:
		return stats, fmt.Errorf("%d groups, and other answers have %d: an answer is wrong", stats.Groups, in.Groups)
	}
	return stats, nil
}

// sum adds up the first aggregate of all groups. One goroutine would take longer to add up a result
// than the query takes to make it.
func (in *Input) sum(ctx context.Context, result *engine.Result) (uint64, error) {
	var sum atomic.Uint64
	batches := make(chan arrow.RecordBatch)
	readers, readCtx := spawn.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), 8) {
		readers.Go(func() error {
			for b := range batches {
				sum.Add(sumOf(b.Column(len(in.Query.Keys))))
				b.Release()
			}
			return nil
		})
	}
	for readCtx.Err() == nil && result.Next() {
		b := result.RecordBatch()
		b.Retain()
		select {
		case batches <- b:
		case <-readCtx.Done():
			b.Release()
		}
	}
	close(batches)
	err := cmp.Or(readers.Wait(), result.Err(), ctx.Err())
	return sum.Load(), err
}
