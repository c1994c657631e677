package device

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/internal/spawn"
)

// opening is devices that are being chosen and opened while readers decode the input. What they have
// decoded waits:
//
//		Aggregator.Take -> pieces that wait -> Aggregator.EndInput -> tiles of the devices, or workers of the CPU
//
//	  - O1 (bounded): pieces that wait take a small part of the memory; then readers wait, too.
//	  - O2 (whole): all pieces that waited have been taken when EndInput returns without an error.
type opening struct {
	cancel context.CancelFunc // of opening, when the query needs no devices any more
	done   chan struct{}      // closed when devices and err are set

	devices *coprocessor // nil when the CPU aggregates
	err     error        // why the CPU does

	once    sync.Once
	settled atomic.Bool // the aggregator has taken devices or err over

	began time.Time
	sized chan struct{} // closed when size is set; never where the CPU is chosen before that
	size  Size          // that the input is expected to have
	left  bool          // the CPU aggregates, and nobody waits for the devices

	mu   sync.Mutex
	held []aggregator.Piece // whose batches are retained
	rows int64              // of these
	room int64              // bytes of further pieces that may wait
}

// openingShare is the part of the memory that pieces may take which wait for devices: as much as a
// store leaves free.
const openingShare = 8

// newOpening begins to measure the input, and then to open devices for an input of that size. Up to
// room bytes of pieces may wait for the devices.
func newOpening(
	ctx context.Context, room int64,
	measure func(context.Context) (Size, error), open func(context.Context, Size) (*coprocessor, error),
) *opening {
	ctx, cancel := context.WithCancel(ctx)
	o := &opening{cancel: cancel, room: room, began: time.Now(), done: make(chan struct{}), sized: make(chan struct{})}
	spawn.Go(func() (err error) {
		if o.size, err = measure(ctx); err != nil {
			return err
		}
		close(o.sized)
		o.devices, err = open(ctx, o.size)
		return err
	}, func(err error) {
		o.err = err
		close(o.done)
	})
	return o
}

// isDone reports whether the devices are open, or it is known why they are not.
func (o *opening) isDone() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// choose has the aggregator take over the devices, or why there are none. Requires: done is closed.
func (o *opening) choose(a *Aggregator) {
	o.once.Do(func() { a.chose(o.devices, o.err) })
	o.settled.Store(true)
}

// hold keeps the next rows of a piece for later, if there is room for them (O1), and returns how
// many.
func (o *opening) hold(p aggregator.Piece, from, to int) int {
	if o.isDone() {
		return 0
	}
	const valueBytes = 16                       // of any type
	p.From, p.To = from, min(to, from+fillRows) // few enough that workers share what waits evenly
	bytes := int64(p.To-p.From) * p.Batch.NumCols() * valueBytes
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.room < bytes {
		return 0
	}
	o.room -= bytes
	p.Batch.Retain()
	o.held = append(o.held, p)
	o.rows += int64(p.To - p.From)
	return p.To - p.From
}

// isLate says whether the CPU is expected to take all rows that wait before the devices are open.
// The rows have been read meanwhile, which is a part of the time that the CPU takes for them.
// Requires: no row comes any more.
func (o *opening) isLate(ctx context.Context, q *Query) bool {
	select {
	case <-o.done:
	case <-ctx.Done():
	case <-o.sized:
	}
	select {
	case <-o.done:
		return false
	case <-ctx.Done():
		return false
	default:
	}
	const surplus = 4 // who has not answered in time takes some time more
	o.mu.Lock()
	defer o.mu.Unlock()
	elapsed := time.Since(o.began)
	cpu := q.Devices.rates.cpuTime(o.rows, o.size.Groups, q.Workers)
	return cpu-elapsed < max(q.Devices.rates.opens()-elapsed, elapsed/surplus)
}

// leave has the CPU aggregate. Whoever opens the devices does so for others, and is not waited for.
func (o *opening) leave(a *Aggregator) {
	o.once.Do(func() {
		o.left = true
		a.chose(nil, errLate)
	})
	o.settled.Store(true)
	o.cancel()
}

var errLate = errNotOnDevice("the CPU has all rows before the device is open")

// next returns a piece that has waited, which is the caller's to release.
func (o *opening) next() (aggregator.Piece, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.held) == 0 {
		return aggregator.Piece{}, false
	}
	p := o.held[0]
	o.held = o.held[1:]
	return p, true
}

// end waits for the devices, which are then the aggregator's to release unless it has left them, and
// drops what still waits. Its error is a bug.
func (o *opening) end(a *Aggregator) (err error) {
	o.cancel() // it may wait for others
	<-o.done
	o.choose(a)
	if o.left && o.devices != nil {
		err = o.devices.release(nil)
	}
	for p, ok := o.next(); ok; p, ok = o.next() {
		p.Batch.Release()
	}
	return err
}
