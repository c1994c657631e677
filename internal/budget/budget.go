// Package budget keeps the process within a limit of resident memory while queries run:
//
//		limit = margin + what the process holds beside blocks and reservations + what mem.Memory may give out
//
//	  - L1 (measured): what the process holds is what the system says, looked at every few milliseconds.
//	  - L2 (asked): large buffers of the Go heap are reserved before they are allocated; see Bounded.
//	  - L3 (restored): the limit of Go's collector is the program's own again when no query runs.
package budget

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
)

// ErrMemoryLimit marks a query that cannot run within the memory limit.
var ErrMemoryLimit = errors.New("memory limit")

// Budget keeps the process within its limit while queries run: what the memory of pages and tables
// may hold is what the rest of the process, as the system counts it, leaves of the limit.
type Budget struct {
	memory *mem.Memory
	limit  int64
	fixed  bool         // for tests: the limit is that of memory
	peak   atomic.Int64 // resident bytes of the process
	freed  atomic.Int64 // when the program was last taken out of them, in Unix nanoseconds
	base   atomic.Int64 // bytes that the process held outside the budget when nothing was last reserved of it

	fresh     freshBlocks
	collector collector
	relieving sync.Mutex
	relieved  time.Time // when garbage was last given back to the system. Requires: relieving is held.

	mu      sync.Mutex
	running map[*budgetUser]struct{}
	stop    chan struct{}
	broken  error // of a watch that panicked when no query ran any more

	watching sync.WaitGroup // goroutines that watch
}

// budgetUser is a query that runs within the budget.
type budgetUser struct{ fail context.CancelCauseFunc }

const (
	// budgetEvery is the time between two looks at the resident set. One takes 20 us.
	budgetEvery = 5 * time.Millisecond

	// budgetMargin is the part of the limit that is kept free for what the process takes between
	// two looks.
	budgetMargin = 8

	// memoryBytesMin is the least that pages, tables and decoded columns can work with.
	memoryBytesMin = 16 << 20

	// Where less than this part of the limit is left, the program itself leaves the resident set, as often as this.
	// Linux 6.18 maps all of the command's 75 MiB, and then 20 to 40 MiB are mapped again; releasing takes 0.5 ms.
	releaseBelow = 4
	releaseEvery = 100 * time.Millisecond

	// filledPerSecond is how many bytes of new blocks are written in a second at least: a page that is decompressed.
	filledPerSecond = 400 << 20

	// Where less than this part of the limit is left, or a reservation does not fit, the collector runs and gives back
	// what is garbage, as often as this: it takes some 10 ms.
	relieveBelow = 16
	relieveEvery = 50 * time.Millisecond
)

// New returns the budget of a process, which may have limit bytes resident. For tests fixed, where it is not 0, is the
// limit of the memory alone.
func New(m *mem.Memory, limit, fixed int64) *Budget {
	b := &Budget{memory: m, limit: limit, fixed: fixed > 0, running: make(map[*budgetUser]struct{})}
	m.SetRefusal(b.refuse)
	if b.fixed {
		m.SetLimit(fixed)
	} else {
		m.SetRelief(b.relieve)
		_ = b.look() // a query asks again
	}
	return b
}

// relieve gives garbage, and what else the process does not need, back to the system.
func (b *Budget) relieve() {
	b.relieving.Lock()
	defer b.relieving.Unlock()
	if time.Since(b.relieved) > relieveEvery {
		debug.FreeOSMemory()
		b.freed.Store(0) // so that the program leaves, too
		b.relieved = time.Now()
	}
	_ = b.look() // who has reserved looks at what is left
}

// refuse returns the error of a reservation that does not fit.
func (b *Budget) refuse(asked, left int64) error {
	return fmt.Errorf("%w of %s: %s are needed at once, and %s are left; raise --memory-limit to about %s (MemoryLimit)",
		ErrMemoryLimit, humanize.IBytes(uint64(b.limit)), humanize.IBytes(uint64(asked)), humanize.IBytes(uint64(left)), humanize.IBytes(uint64(b.enough(asked-left))))
}

// enough returns a limit that has room for so many bytes more: some of what a larger limit gives goes to other owners,
// and what is asked for once is asked for again.
func (b *Budget) enough(missing int64) int64 {
	const slack, step = 2, 4
	return b.limit + max(slack*missing, b.limit/step)
}

// look measures the process and sets what is left for pages, tables and reservations.
func (b *Budget) look() error {
	var left, others int64
	b.memory.Measure(func() int64 {
		left, others = b.measure()
		if now, last := time.Now().UnixNano(), b.freed.Load(); left < b.limit/releaseBelow && now-last >= int64(releaseEvery) && b.freed.CompareAndSwap(last, now) {
			before := mem.ResidentBytes()
			mem.ReleaseProgram()
			b.base.Add(min(mem.ResidentBytes()-before, 0))
			if left < memoryBytesMin { // else what has left is no room yet: most of it is mapped again at once
				left, others = b.measure()
			}
		}
		return max(left, memoryBytesMin)
	})
	if left < memoryBytesMin {
		need := (others + memoryBytesMin) / (budgetMargin - 1) * budgetMargin
		return fmt.Errorf("%w of %s: the process holds %s beside the query's pages and tables, and these need %s; raise --memory-limit to %s (MemoryLimit)",
			ErrMemoryLimit, humanize.IBytes(uint64(b.limit)), humanize.IBytes(uint64(others)), humanize.IBytes(memoryBytesMin), humanize.IBytes(uint64(need)))
	}
	return nil
}

// measure returns what the process leaves of the limit for pages, tables and reservations, and what it holds beside
// them.
func (b *Budget) measure() (left, others int64) {
	resident := mem.ResidentBytes()
	if peak := b.peak.Load(); resident > peak {
		b.peak.Store(resident)
	}
	outside := b.outside(resident)
	reserved := b.memory.Reserved()
	others = max(outside-reserved, 0)
	if reserved == 0 {
		b.base.Store(others)
	} else {
		// The owners of reservations may not have taken their memory yet: the rest of the process holds no less
		// than it did before they reserved it, unless all of them together hold less.
		b.base.Store(min(b.base.Load(), outside))
		others = max(others, b.base.Load())
	}
	return b.limit - b.limit/budgetMargin - others, others
}

// outside returns what the process holds beside the blocks of Memory. Blocks that were allocated lately may not be
// resident yet, so the figure falls no faster than their owners are taken to fill them.
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

// freshBlocks is what budget.outside has seen last.
type freshBlocks struct {
	mu      sync.Mutex
	at      time.Time
	bytes   int64 // of blocks that may not be resident
	blocks  int64 // bytes of all blocks
	outside int64 // bytes of the process beside them
}

// Start looks after the budget until the returned function is called. It calls fail if it cannot go on.
func (b *Budget) Start(fail context.CancelCauseFunc) (stop func(), err error) {
	if b.fixed {
		return func() {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.running) == 0 {
		if err := b.look(); err != nil {
			return nil, err
		}
		stop := make(chan struct{})
		b.stop = stop
		b.watching.Add(1)
		b.collector.begin(b.limit)
		spawn.Go(func() error { return b.watch(stop) }, b.watched)
	}
	user := &budgetUser{fail}
	b.running[user] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, user)
		if len(b.running) == 0 {
			close(b.stop)
			b.collector.end()
		}
	}, nil
}

// watched ends the queries that nobody watches any more.
func (b *Budget) watched(err error) {
	defer b.watching.Done()
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.running) == 0 {
		b.broken = err
	}
	for user := range b.running {
		user.fail(err)
	}
}

// Limit returns how many bytes the process may have resident.
func (b *Budget) Limit() int64 { return b.limit }

// Peak returns how many bytes the process had resident at most.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// Close waits until nobody watches any more. Its error is a bug that no query was told of. Requires: no query runs.
func (b *Budget) Close() error {
	b.watching.Wait()
	return b.broken
}

func (b *Budget) watch(stop chan struct{}) error {
	ticker := time.NewTicker(budgetEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			spawn.Step()
			_ = b.look() // the least is left: pages spill as much as they can
			b.collector.adjust(b.memory)
			if b.limit-mem.ResidentBytes() < b.limit/relieveBelow {
				b.relieve()
			}
		case <-stop:
			return nil
		}
	}
}
