package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/tests/peer"
)

// row is what was measured of a query, medians in milliseconds.
type row struct {
	ours, theirs, plan float64
	read               string
}

// measureQuery asks both engines once to warm up and then so many times in turns, so that a drift
// of the machine's speed meets both. Answers that differ are an error.
func measureQuery(ctx context.Context, o *options, q query, ours *mpga, theirs *peer.DuckDB) (row, error) {
	path, err := q.table.path(ctx, theirs, o.dir)
	if err != nil {
		return row{}, err
	}
	if err := theirs.Exec(ctx, fmt.Sprintf("CREATE OR REPLACE VIEW %s AS FROM read_parquet(%s)", q.table.name, peer.Literal(path))); err != nil {
		return row{}, err
	}
	kinds, err := ours.kinds(ctx, q, path)
	if err != nil {
		return row{}, err
	}
	summed := peer.SumUpQuery(q.text, kinds)
	var oursTimes, theirsTimes, planTimes []time.Duration
	var stats engine.Stats
	for round := range 1 + o.times {
		var a, b peer.Answer
		took, err := timed(o.cpu, func() (err error) { a, stats, err = ours.ask(ctx, q, path); return err })
		if err != nil {
			return row{}, fmt.Errorf("mpga: %w", err)
		}
		theyTook, err := timed(o.cpu, func() (err error) { b, err = theirs.Ask(ctx, summed); return err })
		if err != nil {
			return row{}, fmt.Errorf("duckdb: %w", err)
		}
		if !a.Equal(b) {
			return row{}, fmt.Errorf("mpga answers %v, DuckDB %v", a, b)
		}
		// Elapsed time, also with -cpu: CPU time would count the collector's sweepers, too.
		planned, err := timed(false, func() error {
			prepared, err := ours.prepare(ctx, q, path)
			if err == nil {
				prepared.Close()
			}
			return err
		})
		if err != nil {
			return row{}, err
		}
		if round > 0 {
			oursTimes, theirsTimes, planTimes = append(oursTimes, took), append(theirsTimes, theyTook), append(planTimes, planned)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return row{}, err
	}
	read := fmt.Sprintf("%.2f%%", 100*float64(stats.BytesRead)/float64(info.Size()))
	return row{peer.Median(oursTimes), peer.Median(theirsTimes), peer.Median(planTimes), read}, nil
}

// timed returns how long a function takes.
func timed(cpu bool, f func() error) (time.Duration, error) {
	runtime.GC() // no run pays for the garbage of another
	used, start := peer.CPUTime(), time.Now()
	err := f()
	if cpu {
		return peer.CPUTime() - used, err
	}
	return time.Since(start), err
}
