package device

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// changeover lets a query go on with devices that the CPU has begun: it was expected to end soon, and turns out to take
// long. What the CPU has taken stays with it.
//
//	CPU -> opening, while the CPU goes on -> devices are open: each reader lends its worker of the CPU, and fills tiles
type changeover struct {
	aggregator *Aggregator
	ctx        context.Context // of the query
	layout     *Layout
	began      time.Time
	watching   atomic.Bool  // the CPU was chosen by rates, which may be wrong
	next       atomic.Int64 // nanoseconds after began when to look again
	looks      atomic.Int64 // of readers, where tests count them
	opening    atomic.Pointer[opening]
	lent       []atomic.Bool // by worker of the CPU: it is the devices'

	taking sync.Mutex
}

// newChangeover returns nil where the user has chosen the devices, or where devices are of no use once the CPU has
// rows of all partitions: devices would only partition or decode, or groups of devices and CPU cannot be merged.
func (a *Aggregator) newChangeover(ctx context.Context, layout *Layout) *changeover {
	if layout == nil || layout.forCPU() != nil || layout.shape.Sorts() || a.query.Devices.Asked() || a.query.Once {
		return nil
	}
	c := &changeover{aggregator: a, ctx: ctx, layout: layout, began: time.Now(),
		lent: make([]atomic.Bool, a.query.Workers)}
	c.next.Store(int64(lookEvery))
	return c
}

// watch says why the CPU aggregates.
func (c *changeover) watch(why error) {
	var slower errSlower
	c.watching.Store(errors.As(why, &slower) || c.aggregator.query.Devices.knobs.ChangeAfter > 0)
}

// devicesFor returns the devices that take a reader's rows; nil where the CPU does.
func (a *Aggregator) devicesFor(r *aggregator.Rows) *coprocessor {
	c := a.change
	if c == nil || !c.watching.Load() {
		return a.devices.Load()
	}
	if a.devices.Load() == nil {
		c.look(r.Thread)
	}
	devices := a.devices.Load()
	if devices != nil && c.lent[r.Worker].CompareAndSwap(false, true) {
		devices.lend(a.query.CPU.Workers()[r.Worker])
		r.Encoder().Dense = false
	}
	return devices
}

// look begins to open devices where that pays, and has the aggregator take them when they are open.
func (c *changeover) look(th *threads.Thread) {
	if o := c.opening.Load(); o != nil {
		if o.isDone() {
			c.take(o)
		}
		return
	}
	if !c.isTime() {
		return
	}
	o := c.open()
	if c.aggregator.query.Devices.knobs.ChangeAfter > 0 {
		if th.Wait(c.ctx, func() { <-o.done }) == nil { // else the query has ended
			c.take(o)
		}
	}
}

// isTime reports whether devices are to be opened.
func (c *changeover) isTime() bool {
	if after := c.aggregator.query.Devices.knobs.ChangeAfter; after > 0 {
		return c.looks.Add(1) > after
	}
	at, elapsed := c.next.Load(), time.Since(c.began)
	return int64(elapsed) >= at && c.next.CompareAndSwap(at, int64(elapsed+lookEvery)) && c.pays(elapsed)
}

// open begins to open devices, unless another reader has done so.
func (c *changeover) open() *opening {
	c.taking.Lock()
	defer c.taking.Unlock()
	if o := c.opening.Load(); o != nil {
		return o
	}
	q := c.aggregator.query
	measure := func(context.Context) (Size, error) { return Size{Rows: -1, Groups: -1, High: -1}, nil }
	open := func(ctx context.Context, _ Size) (*coprocessor, error) { return newCoprocessor(ctx, q, c.layout) }
	o := newOpening(c.ctx, 0, measure, open)
	c.aggregator.late = true
	c.opening.Store(o)
	return o
}

// lookEvery is after which times a query is looked at.
const lookEvery = 250 * time.Millisecond

// changeSaves is what a query is to gain by devices that open in its middle. Beside readers that
// have all processors, they take a second to open (H100, 16 cores): queries that had 0.9 s left
// ended before, 0.3 s later than by the CPU alone.
const changeSaves = 2 * time.Second

// pays reports whether devices would save so much, and a good part of what is left, if the CPU went
// on at the speed that it has had so far.
func (c *changeover) pays(elapsed time.Duration) bool {
	q := c.aggregator.query
	rows, part := q.Read()
	if part <= 0 {
		return false
	}
	rest := (1 - part) / part
	cpu := float64(elapsed) * rest
	left := max(int64(float64(rows)*rest), 1) // rows; where a filter leaves rows out, the rows that pass
	of := q.compare(c.layout, Size{Rows: left, Groups: 1}, q.Devices.rates.fastestLink())
	device := of.device * float64(left)
	if d := c.layout.decoder; c.layout.notDecoded == nil && d.count != nil { // pages of all rows cross, whichever pass
		device *= 1 - part
	}
	opens := float64(q.Devices.rates.opens())
	if q.Devices.Opened() {
		opens = 0
	}
	changed := opens + device*max(cpu-opens, 0)/max(cpu, 1) // the CPU goes on meanwhile
	const goodPart = 4
	return cpu-changed > max(float64(changeSaves), cpu/goodPart)
}

// take has the aggregator take devices over, if they are open.
func (c *changeover) take(o *opening) {
	c.taking.Lock()
	defer c.taking.Unlock()
	a := c.aggregator
	if a.devices.Load() != nil {
		return
	}
	if o.devices == nil {
		a.query.Devices.log.Debug("the CPU goes on", slog.Any("reason", o.err))
		c.watching.Store(false)
		return
	}
	_, a.stats.ChangedAt = a.query.Read()
	a.stats.Reason = ""
	o.devices.describe(&a.stats)
	o.devices.begin(nil)
	o.devices.onCPU.Store(true)
	a.devices.Store(o.devices)
}

// lendAll lends devices the workers that no reader has lent. Requires: no reader is left.
func (c *changeover) lendAll(devices *coprocessor) {
	if !c.watching.Load() { // they have all workers since Begin
		return
	}
	for i, w := range c.aggregator.query.CPU.Workers() {
		if c.lent[i].CompareAndSwap(false, true) {
			devices.lend(w)
		}
	}
}

// lend gives devices a worker of the CPU.
func (c *coprocessor) lend(w *cpuagg.Worker) { c.pool <- &cpuWorker{Worker: w} }

// end waits for devices that are being opened, and gives them back where nobody has taken them. Its error is a bug.
func (c *changeover) end() error {
	o := c.opening.Load()
	if o == nil {
		return nil
	}
	o.cancel()
	<-o.done
	switch {
	case errors.Is(o.err, spawn.ErrInternal):
		return o.err
	case o.devices == nil || o.devices == c.aggregator.devices.Load(): // which releases them
		return nil
	}
	return o.devices.release(nil)
}
