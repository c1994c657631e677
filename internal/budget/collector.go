package budget

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
)

// collector keeps the Go heap, garbage included, within its part of the memory limit while queries
// run:
//
//	a third, and what is reserved of the budget    but no more than the rest of the process leaves of the limit
//
// Within this part it lets garbage grow: most of a query's memory is blocks, so that the Go heap is
// small, and by default the Go runtime collects each time that a small heap has doubled. That took
// half of the time of queries that keep little.
//
// The Go runtime has one limit and one rate for the process: the engine that came first sets them,
// and sets them back when it has had no query for a while. A change waits for a collection that runs,
// and the program's own limits are soon met by the garbage of a query: with them in between, each of
// many small questions would wait for a collection.
type collector struct {
	running bool  // between begin and end
	ends    int   // calls of end
	limit   int64 // of the process, in bytes
	before  int64 // the runtime's limit that begin has found
	now     int64 // the runtime's limit
	percent int   // GOGC as this collector has set it; 0 where the program has set its own
}

const (
	// collectorShare is the part of the memory limit that the Go heap may take unasked: decoders
	// and the writer of the result are there.
	collectorShare = 3

	// collectorShareMin is the part that it may take however full the process is: with less, the
	// collector would run all the time for memory that decoders need in any case.
	collectorShareMin = 6

	// garbageShare is the part of the memory limit that garbage may take before it is collected, up
	// to garbageMax: beyond that, collecting takes a hundredth of the time.
	garbageShare = 64
	garbageMax   = 256 << 20

	// percentDefault is GOGC where nobody sets it, and heapMin the heap below which the Go runtime
	// then does not collect.
	percentDefault = 100
	heapMin        = 4 << 20

	// collectorLingers is how long the limits stay without a query.
	collectorLingers = time.Second

	// collectorStep is the part of the limit that a new limit must differ by: a change stops the
	// program for a moment.
	collectorStep = 16
)

// collectorOwner is the collector that sets the runtime's limits, nil for none. Its mutex guards
// all collectors.
var collectorOwner struct {
	sync.Mutex
	is *collector
}

// begin takes the runtime's limits over, unless another engine needs them.
func (c *collector) begin(limit int64) {
	collectorOwner.Lock()
	defer collectorOwner.Unlock()
	if owner := collectorOwner.is; owner != nil && owner != c {
		if owner.running {
			return
		}
		owner.restore()
	}
	c.running = true
	if collectorOwner.is == nil {
		collectorOwner.is = c
		c.take(limit)
	}
	c.setPercent()
}

// take sets the runtime's limits.
// Requires: the collector is collectorOwner, which is locked.
func (c *collector) take(limit int64) {
	c.limit = limit
	c.before = debug.SetMemoryLimit(-1)
	c.now = c.before
	c.set(limit / collectorShare)
	c.percent = percentDefault
	if percent := debug.SetGCPercent(percentDefault); percent != percentDefault {
		debug.SetGCPercent(percent)
		c.percent = 0
	}
}

// restore gives the runtime its limits back.
// Requires: the collector is collectorOwner, which is locked.
func (c *collector) restore() {
	debug.SetMemoryLimit(c.before)
	if c.percent > 0 {
		debug.SetGCPercent(percentDefault)
	}
	collectorOwner.is = nil
}

// end restores the runtime's limits in a while, if there is no new begin until then.
func (c *collector) end() {
	collectorOwner.Lock()
	defer collectorOwner.Unlock()
	if collectorOwner.is != c {
		return
	}
	c.running = false
	c.ends++
	ends := c.ends
	time.AfterFunc(collectorLingers, func() {
		_ = spawn.Call(func() error { // nobody is left to be told of a bug
			c.expire(ends)
			return nil
		})
	})
}

// expire restores the runtime's limits a while after an end, unless a later end waits its own while.
func (c *collector) expire(ends int) {
	collectorOwner.Lock()
	defer collectorOwner.Unlock()
	if c.ends == ends {
		c.restoreIdle()
	}
}

// close restores the runtime's limits now, unless there was a new begin.
func (c *collector) close() {
	collectorOwner.Lock()
	defer collectorOwner.Unlock()
	c.restoreIdle()
}

// restoreIdle restores the runtime's limits, if they are this collector's and no query runs.
// Requires: collectorOwner is locked.
func (c *collector) restoreIdle() {
	if collectorOwner.is == c && !c.running {
		c.restore()
	}
}

// adjust sets the runtime's limit to what the rest of the process leaves.
func (c *collector) adjust(m *mem.Memory) {
	collectorOwner.Lock()
	defer collectorOwner.Unlock()
	if collectorOwner.is != c {
		return
	}
	want := c.limit/collectorShare + m.Reserved()
	if resident := mem.ResidentBytes(); resident > c.limit/4*3 || want > c.limit/2 {
		rest := max(resident-goBytes(), 0)
		want = min(want, c.limit-c.limit/(2*budgetMargin)-rest)
	}
	c.set(max(want, c.limit/collectorShareMin))
	c.setPercent()
}

// setPercent lets the Go heap grow by the garbage that the memory limit allows, or by what lives in
// it if that is more.
func (c *collector) setPercent() {
	if c.percent == 0 {
		return
	}
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
	}
	metrics.Read(samples[:])
	live := uint64(0)
	for i := range samples {
		live += samples[i].Value.Uint64()
	}
	garbage := min(c.limit/garbageShare, garbageMax)
	want := max(int(percentDefault*garbage/max(int64(live), heapMin)), percentDefault)
	if want > c.percent*3/2 || want < c.percent*2/3 {
		debug.SetGCPercent(want)
		c.percent = want
	}
}

// set changes the runtime's limit to about want bytes, unless the program has set a stricter one.
func (c *collector) set(want int64) {
	if c.before < c.limit/collectorShare {
		return
	}
	if step := c.now / collectorStep; want > c.now+step || want < c.now-step {
		debug.SetMemoryLimit(want)
		c.now = want
	}
}

// goBytes returns what the Go runtime holds of the system's memory.
func goBytes() int64 {
	samples := [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples[:])
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
