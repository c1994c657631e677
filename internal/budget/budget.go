// Package budget keeps the process within a limit of resident memory while queries run:
//
//		limit = margin + what the process holds beside blocks and reservations + what mem.Memory may give out
//
//	  - L1 (measured): what the process holds is what the system says, looked at every few
//	    milliseconds.
//	  - L2 (asked): large buffers of the Go heap are reserved before they are allocated; see
//	    Bounded.
//	  - L3 (restored): the limit of Go's collector is the program's own again a second after the
//	    last query, and when the budget is closed.
package budget

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
)

// ErrMemoryLimit marks a query that cannot run within the memory limit.
var ErrMemoryLimit = errors.New("memory limit")

// Budget keeps the process within its limit while queries run: the memory of pages and tables may
// hold as much of the limit as the rest of the process, as the system counts it, leaves.
type Budget struct {
	memory *mem.Memory
	limit  int64        // resident bytes of the process
	fixed  bool         // for tests: the limit of memory stays as it is
	peak   atomic.Int64 // most resident bytes of the process
	freed  atomic.Int64 // when the program's code last left the resident set, in Unix nanoseconds
	base   atomic.Int64 // bytes that the process held outside the budget when nothing was last reserved of it
	code   atomic.Int64 // bytes of the program's code when it last left the resident set

	fresh     freshBlocks
	collector collector
	relieving sync.Mutex
	relieved  time.Time // when garbage was last given back to the system. Requires: relieving is held.

	mu      sync.Mutex
	running map[*context.CancelCauseFunc]struct{} // queries within the budget, by how they are failed
	watch   *watch                                // nil before the first query
}

// watch is a goroutine that looks after the budget while queries run.
type watch struct {
	stop  chan struct{} // closed when the last query ends
	ended chan struct{} // closed when the goroutine has ended
	err   error         // of its panic, written before ended is closed
}

const (
	// budgetEvery is the time between two looks at the resident set. One takes 20 us.
	budgetEvery = 5 * time.Millisecond

	// budgetMargin is the part of the limit that is kept free for what the process takes between
	// two looks.
	budgetMargin = 8

	// memoryBytesMin is the least that pages, tables and decoded columns can work with.
	memoryBytesMin = 16 << 20

	// Where less than this part of the limit is left, the program's code leaves the resident set,
	// at most this often. Linux 6.18 maps all of the command's 75 MiB, and then 20 to 40 MiB are
	// mapped again; releasing takes 0.5 ms.
	releaseBelow = 4
	releaseEvery = 100 * time.Millisecond

	// filledPerSecond is the least rate at which new blocks are written: pages being decompressed.
	filledPerSecond = 400 << 20

	// Where less than this part of the limit is left, or a reservation does not fit, the collector
	// runs and gives garbage back, at most this often: it takes some 10 ms.
	relieveBelow = 16
	relieveEvery = 50 * time.Millisecond
)

// New returns the budget of a process, which may have limit bytes resident. fixed is for tests:
// where it is not 0, m has that limit and the process is not measured.
func New(m *mem.Memory, limit, fixed int64) *Budget {
	b := &Budget{memory: m, limit: limit, fixed: fixed > 0, running: make(map[*context.CancelCauseFunc]struct{})}
	m.SetRefusal(b.refuse)
	if b.fixed {
		m.SetLimit(fixed)
	} else {
		m.SetRelief(b.relieve)
		_ = b.look() // a query asks again
	}
	return b
}

// relieve gives garbage and the program's code back to the system.
func (b *Budget) relieve() {
	b.relieving.Lock()
	defer b.relieving.Unlock()
	if time.Since(b.relieved) > relieveEvery {
		debug.FreeOSMemory()
		b.freed.Store(0) // so that look releases the program's code
		b.relieved = time.Now()
	}
	_ = b.look() // the reservation that waits sees how much is left
}

// refuse returns the error of a reservation that does not fit.
func (b *Budget) refuse(asked, left int64) error {
	return knob.Errorf("%w of %s: %s are needed at once, and %s are left; raise %s to about %s",
		ErrMemoryLimit, humanize.IBytes(uint64(b.limit)), humanize.IBytes(uint64(asked)),
		humanize.IBytes(uint64(left)), knob.Name("engine.MemoryLimit"),
		humanize.IBytes(uint64(b.enough(asked-left))))
}

// enough returns a limit with room for the missing bytes: other owners take a part of a larger
// limit, and a reservation of some size comes more than once.
func (b *Budget) enough(missing int64) int64 {
	const slack, step = 2, 4
	return b.limit + max(slack*missing, b.limit/step)
}

// look measures the process and sets what is left for pages, tables and reservations.
func (b *Budget) look() error {
	var left, others int64
	b.memory.Measure(func() int64 {
		left, others = b.measure(b.code.Load())
		if now, last := time.Now().UnixNano(), b.freed.Load(); left < b.limit/releaseBelow &&
			now-last >= int64(releaseEvery) && b.freed.CompareAndSwap(last, now) {
			b.code.Store(mem.ResidentFileBytes())
			mem.ReleaseProgram()
		}
		if left < memoryBytesMin { // else code must not count as room: most is mapped again at once
			left, others = b.measure(0)
		}
		return max(left, memoryBytesMin)
	})
	if left < memoryBytesMin {
		need := (others + memoryBytesMin) / (budgetMargin - 1) * budgetMargin
		return knob.Errorf(
			"%w of %s: the process holds %s beside the query's pages and tables, and these need %s; raise %s to %s",
			ErrMemoryLimit, humanize.IBytes(uint64(b.limit)), humanize.IBytes(uint64(others)),
			humanize.IBytes(memoryBytesMin), knob.Name("engine.MemoryLimit"), humanize.IBytes(uint64(need)))
	}
	return nil
}

// measure returns how many bytes of the limit are left for pages, tables and reservations, and how
// many the process holds beside these. At least code bytes of the program count as resident.
func (b *Budget) measure(code int64) (left, others int64) {
	resident := mem.ResidentBytes()
	if peak := b.peak.Load(); resident > peak {
		b.peak.Store(resident)
	}
	outside := b.outside(resident) + max(code-mem.ResidentFileBytes(), 0)
	reserved := b.memory.Reserved()
	others = max(outside-reserved, 0)
	if reserved == 0 {
		b.base.Store(others)
	} else {
		// The owners of reservations may not have taken their memory yet: the rest of the process
		// holds no less than it did before they reserved it, unless all of them together hold less.
		b.base.Store(min(b.base.Load(), outside))
		others = max(others, b.base.Load())
	}
	return b.limit - b.limit/budgetMargin - others, others
}

// outside returns how many bytes the process holds beside the blocks of Memory. Blocks that were
// allocated lately may not be resident yet, so the figure falls no faster than owners are taken to
// fill blocks.
func (b *Budget) outside(resident int64) int64 {
	b.fresh.mu.Lock()
	defer b.fresh.mu.Unlock()
	f, blocks, now := &b.fresh, b.memory.Resident(), time.Now()
	f.bytes = min(max(f.bytes-int64(now.Sub(f.at).Seconds()*filledPerSecond), 0)+max(blocks-f.blocks, 0), blocks)
	f.blocks, f.at = blocks, now
	least := max(resident-blocks, 0)
	f.outside = max(least, min(f.outside, least+f.bytes))
	return f.outside
}

// freshBlocks is what Budget.outside has seen last.
type freshBlocks struct {
	mu      sync.Mutex
	at      time.Time
	bytes   int64 // of blocks that may not be resident
	blocks  int64 // bytes of all blocks
	outside int64 // bytes of the process beside them
}

// Start looks after the budget until stop is called. It calls fail if it cannot go on; stop returns this error, too,
// for a query that was done meanwhile.
func (b *Budget) Start(fail context.CancelCauseFunc) (stop func() error, err error) {
	if b.fixed {
		return func() error { return nil }, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.running) > 0 {
		if err := b.watch.hasEnded(); err != nil {
			return nil, err
		}
	} else {
		if b.look() != nil {
			b.relieve() // of what other engines of the process have left
			if err := b.look(); err != nil {
				return nil, err
			}
		}
		w := &watch{stop: make(chan struct{}), ended: make(chan struct{})}
		b.watch = w
		b.collector.begin(b.limit)
		spawn.Go(func() error { return b.keep(w.stop) }, func(err error) { b.watched(w, err) })
	}
	w := b.watch
	b.running[&fail] = struct{}{}
	return func() error {
		if b.leave(&fail) {
			<-w.ended
		}
		return w.hasEnded()
	}, nil
}

// hasEnded returns the error that the watch has ended with; nil while it goes on.
func (w *watch) hasEnded() error {
	select {
	case <-w.ended:
		return w.err
	default:
		return nil
	}
}

// leave takes a query from the running ones, and reports whether it was the last, so that nobody needs the watch.
func (b *Budget) leave(query *context.CancelCauseFunc) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, query)
	if len(b.running) > 0 {
		return false
	}
	close(b.watch.stop)
	b.collector.adjust(b.memory) // who prints the result has no more garbage than without a query
	b.collector.end()
	return true
}

// watched takes the end of a watch: after an error it fails all queries, which nobody watches any
// more.
func (b *Budget) watched(w *watch, err error) {
	defer close(w.ended)
	if w.err = err; err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch == w {
		for fail := range b.running {
			(*fail)(err)
		}
	}
}

// Limit returns how many bytes the process may have resident.
func (b *Budget) Limit() int64 { return b.limit }

// Peak returns how many bytes the process had resident at most.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// Close restores the limit of Go's collector.
// Requires: no query runs.
func (b *Budget) Close() { b.collector.close() }

// keep looks at the process until stop is closed.
func (b *Budget) keep(stop chan struct{}) error {
	ticker := time.NewTicker(budgetEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			spawn.Step()
			_ = b.look() // where too little is left, pages spill as much as they can
			b.collector.adjust(b.memory)
			if b.limit-mem.ResidentBytes() < b.limit/relieveBelow {
				b.relieve()
			}
		case <-stop:
			return nil
		}
	}
}
