package peer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// Contender asks one engine one query.
type Contender struct {
	Engine string

	// Run asks the query once and reads its result to its end. Where whole is false, nobody looks at
	// the totals of the answer, and no run's time has their computation.
	Run func(ctx context.Context, whole bool) (Outcome, error)
}

// Outcome is what a run leaves.
type Outcome struct {
	Answer Answer
	Sample Sample
}

// Timed returns a contender whose runs are timed in this process, with the processes that they
// start and wait for. ask is a contender's Run; it may set the sample's Peak.
func Timed(engine string, ask func(ctx context.Context, whole bool) (Outcome, error)) Contender {
	return Contender{engine, func(ctx context.Context, whole bool) (Outcome, error) {
		cpu, start := cpuTime(), time.Now()
		out, err := ask(ctx, whole)
		out.Sample.Wall, out.Sample.CPU = time.Since(start), cpuTime()-cpu
		return out, err
	}}
}

// Contender returns the contender that asks an engine of the process, which times itself.
func (p *Process) Contender(engine, query string) Contender {
	return Contender{engine, func(_ context.Context, whole bool) (out Outcome, err error) {
		var read func(array.RecordReader) error
		if whole {
			read = func(r array.RecordReader) (err error) {
				out.Answer, err = SumUp(r)
				return err
			}
		}
		reply, err := p.Ask(Request{Engine: engine, Query: query}, read)
		out.Answer.Rows = reply.Rows
		out.Sample = Sample{Wall: reply.Wall, CPU: reply.CPU}
		return out, err
	}}
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
// the machine's speed meets all of them. Answers that are not the same are an error; after the first
// round, numbers of rows.
func Measure(
	ctx context.Context, contenders []Contender, times int, same func(a, b Answer) bool,
) (Samples, Answer, error) {
	measured := make(Samples)
	var first *Answer
	for round := range 1 + times {
		whole := round == 0
		for _, c := range contenders {
			runtime.GC() // no run pays for the garbage of another
			out, err := c.Run(ctx, whole)
			if err != nil {
				return nil, Answer{}, fmt.Errorf("%s: %w", c.Engine, err)
			}
			if first == nil {
				first = &out.Answer
			}
			if !first.SameRows(out.Answer) || whole && !same(*first, out.Answer) {
				return nil, Answer{}, fmt.Errorf("%s and %s answer differently: %s; %s",
					contenders[0].Engine, c.Engine, first, out.Answer)
			}
			if !whole {
				measured[c.Engine] = append(measured[c.Engine], out.Sample)
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
