package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
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
	answer    answer
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
func measure(ctx context.Context, contenders []contender, times int) (samples, answer, error) {
	measured := make(samples)
	var first *answer
	for round := range 1 + times {
		for _, c := range contenders {
			s, got, err := measureOne(ctx, c)
			if err != nil {
				return nil, answer{}, fmt.Errorf("%s: %w", c.engine(), err)
			}
			if first == nil {
				first = &got
			}
			if !first.equal(got) {
				return nil, answer{}, fmt.Errorf("%s and %s answer differently: %s; %s", contenders[0].engine(), c.engine(), first, got)
			}
			if round > 0 {
				measured[c.engine()] = append(measured[c.engine()], s)
			}
		}
	}
	return measured, *first, nil
}

func measureOne(ctx context.Context, c contender) (sample, answer, error) {
	runtime.GC() // no run pays for the garbage of another
	cpu, start := cpuTime(), time.Now()
	out, err := c.run(ctx)
	s := sample{Wall: time.Since(start), CPU: cpuTime() - cpu, Peak: out.peakBytes}
	return s, out.answer, err
}

// cpuTime is what this process and its finished children have used, of all processors together.
func cpuTime() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			panic(fmt.Sprintf("getrusage: %v", err)) // only for a bad argument
		}
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return total
}

// millis returns the median of an engine's runs in milliseconds, of their CPU time if so wanted, and
// 0 if there are none.
func (s samples) millis(engine engineName, cpu bool) float64 {
	times := make([]time.Duration, 0, len(s[engine]))
	for _, one := range s[engine] {
		if cpu {
			times = append(times, one.CPU)
		} else {
			times = append(times, one.Wall)
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	middle := len(times) / 2
	return float64(times[middle]+times[len(times)-1-middle]) / 2 / float64(time.Millisecond)
}

// peak returns the largest resident set of an engine's runs in bytes, 0 where it was not measured.
func (s samples) peak(engine engineName) int64 {
	var peak int64
	for _, one := range s[engine] {
		peak = max(peak, one.Peak)
	}
	return peak
}
