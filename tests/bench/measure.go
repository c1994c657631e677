package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/mpga/mpga/tests/peer"
)

// contender asks one engine one query. The names of engines are the columns of the result.
type contender interface {
	engine() engineName

	// run asks the query once and reads its result to its end.
	run(ctx context.Context) (outcome, error)
}

type engineName string

const (
	mpga       engineName = "mpga"
	duckDB     engineName = "DuckDB"
	clickHouse engineName = "ClickHouse"
	polars     engineName = "Polars"
)

// outcome is what a run leaves.
type outcome struct {
	answer    peer.Answer
	peakBytes int64 // largest resident set of a process of its own, or 0
}

// sample is one measured run.
type sample struct {
	Wall time.Duration `json:"wall_nanos"`
	CPU  time.Duration `json:"cpu_nanos"` // user and system, of all threads
	Peak int64         `json:"peak_bytes,omitempty"`
}

// samples are the runs of each engine.
type samples map[engineName][]sample

// measure asks every contender once to warm up and then so many times in turns, so that a drift of
// the machine's speed meets all of them. Answers that differ are an error.
func measure(ctx context.Context, contenders []contender, times int) (samples, peer.Answer, error) {
	measured := make(samples)
	var first *peer.Answer
	for round := range 1 + times {
		for _, c := range contenders {
			s, got, err := measureOne(ctx, c)
			if err != nil {
				return nil, peer.Answer{}, fmt.Errorf("%s: %w", c.engine(), err)
			}
			if first == nil {
				first = &got
			}
			if !first.Equal(got) {
				return nil, peer.Answer{}, fmt.Errorf("%s and %s answer differently: %s; %s", contenders[0].engine(), c.engine(), first, got)
			}
			if round > 0 {
				measured[c.engine()] = append(measured[c.engine()], s)
			}
		}
	}
	return measured, *first, nil
}

func measureOne(ctx context.Context, c contender) (sample, peer.Answer, error) {
	runtime.GC() // no run pays for the garbage of another
	cpu, start := peer.CPUTime(), time.Now()
	out, err := c.run(ctx)
	s := sample{Wall: time.Since(start), CPU: peer.CPUTime() - cpu, Peak: out.peakBytes}
	return s, out.answer, err
}

// millis returns the median of an engine's runs in milliseconds, of their CPU time if so wanted,
// and 0 if there are none.
func (s samples) millis(engine engineName, cpu bool) float64 {
	times := make([]time.Duration, 0, len(s[engine]))
	for _, one := range s[engine] {
		if cpu {
			times = append(times, one.CPU)
		} else {
			times = append(times, one.Wall)
		}
	}
	return peer.Median(times)
}

// peak returns the largest resident set of an engine's runs in bytes, 0 where it was not measured.
func (s samples) peak(engine engineName) int64 {
	var peak int64
	for _, one := range s[engine] {
		peak = max(peak, one.Peak)
	}
	return peak
}
