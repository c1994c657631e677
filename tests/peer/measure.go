package peer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Contender asks one engine one query.
type Contender struct {
	Engine string

	// Run asks the query once and reads its result to its end.
	Run func(ctx context.Context) (Outcome, error)
}

// Contender returns the contender that asks the database.
func (d *DuckDB) Contender(query Summed) Contender {
	return Contender{"DuckDB", func(ctx context.Context) (out Outcome, err error) {
		out.Answer, err = d.Ask(ctx, query)
		return out, err
	}}
}

// Outcome is what a run leaves.
type Outcome struct {
	Answer    Answer
	PeakBytes int64 // largest resident set of a process of its own, or 0
}

// Sample is one measured run.
type Sample struct {
	Wall time.Duration `json:"wall_nanos"`
	CPU  time.Duration `json:"cpu_nanos"` // user and system, of all threads
	Peak int64         `json:"peak_bytes,omitempty"`
}

// Samples are the runs by engine.
type Samples map[string][]Sample

// Measure asks every contender once to warm up and then so many times in turns, so that a drift of
// the machine's speed meets all of them. Answers that differ are an error.
func Measure(ctx context.Context, contenders []Contender, times int) (Samples, Answer, error) {
	measured := make(Samples)
	var first *Answer
	for round := range 1 + times {
		for _, c := range contenders {
			runtime.GC() // no run pays for the garbage of another
			cpu, start := cpuTime(), time.Now()
			out, err := c.Run(ctx)
			took := Sample{Wall: time.Since(start), CPU: cpuTime() - cpu, Peak: out.PeakBytes}
			if err != nil {
				return nil, Answer{}, fmt.Errorf("%s: %w", c.Engine, err)
			}
			if first == nil {
				first = &out.Answer
			}
			if !first.Equal(out.Answer) {
				return nil, Answer{}, fmt.Errorf("%s and %s answer differently: %s; %s", contenders[0].Engine, c.Engine, first, out.Answer)
			}
			if round > 0 {
				measured[c.Engine] = append(measured[c.Engine], took)
			}
		}
	}
	return measured, *first, nil
}

// Millis returns the median of an engine's runs in milliseconds, of their CPU time if so wanted,
// and 0 if there are none.
func (s Samples) Millis(engine string, cpu bool) float64 {
	times := make([]time.Duration, 0, len(s[engine]))
	for _, one := range s[engine] {
		if cpu {
			times = append(times, one.CPU)
		} else {
			times = append(times, one.Wall)
		}
	}
	return Median(times)
}

// Peak returns the largest resident set of an engine's runs in bytes, 0 where it was not measured.
func (s Samples) Peak(engine string) int64 {
	var peak int64
	for _, one := range s[engine] {
		peak = max(peak, one.Peak)
	}
	return peak
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

// Median returns the median of times in milliseconds, and 0 if there are none. It sorts the times.
func Median(times []time.Duration) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	middle := len(times) / 2
	return float64(times[middle]+times[len(times)-1-middle]) / 2 / float64(time.Millisecond)
}
