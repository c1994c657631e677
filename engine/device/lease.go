package device

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/stream"
)

// lease is a query's part of the memory of devices. Queries that run at the same time divide the
// memory: each takes what its rows could need at most, in the order in which the queries came. A
// query for which nothing is left waits, or runs on the CPU.
//
//   - D1 (room): the leases of a set are at most its memory, so that no query's allocations fail
//     because of another's.
//   - D2 (patience): no query waits longer than it would take on the CPU, since a lease is held for
//     as long as its query's result is not read. So at worst a query takes twice its time, and no
//     query hangs.
type lease struct {
	*deviceSet
	bytes  int64 // of each device
	closed invariants.CloseChecker
}

// waiter is a query that waits for a lease.
type waiter struct {
	bytes   int64
	granted chan bool // false: the devices are of no use any more
}

// lease waits until `bytes` bytes of each device are free, or all bytes of a device that has fewer. It
// waits no longer than patience. The lease must be ended.
func (d *Devices) lease(ctx context.Context, bytes int64, patience time.Duration) (*lease, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		set, err := d.get(ctx)
		if err != nil {
			return nil, err
		}
		l := &lease{deviceSet: set, bytes: min(bytes, set.memory)}
		w := d.enqueue(l)
		granted := false
		select {
		case granted = <-w.granted:
		case <-timer.C:
			granted = d.dequeue(set, w)
			err = errNotOnDevice(fmt.Sprintf("other queries have the device: %s of its memory were not free within %v",
				humanize.IBytes(uint64(l.bytes)), patience.Round(time.Millisecond)))
		case <-ctx.Done():
			granted = d.dequeue(set, w)
			err = context.Cause(ctx)
		}
		if granted {
			l.closed.Open("a lease")
			return l, nil
		}
		d.put(set, nil)
		if err != nil {
			return nil, err
		}
	}
}

// enqueue puts a lease in line.
func (d *Devices) enqueue(l *lease) *waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := &waiter{l.bytes, make(chan bool, 1)}
	l.line = append(l.line, w)
	l.grant()
	return w
}

// dequeue takes a waiter out of the line. It returns true when that is too late, because the lease
// was granted.
func (d *Devices) dequeue(s *deviceSet, w *waiter) (granted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(s.line, w); i >= 0 {
		s.line = slices.Delete(s.line, i, i+1)
		s.grant() // those behind it may be content with less
		return false
	}
	return <-w.granted
}

// grant gives leases to the waiters in line, in order: D1. Requires: Devices.mu is held.
func (s *deviceSet) grant() {
	for len(s.line) > 0 && (s.old || s.leased+s.line[0].bytes <= s.memory) {
		w := s.line[0]
		s.line = s.line[1:]
		if !s.old {
			s.leased += w.bytes
			if invariants.Enabled {
				invariants.Checkf(s.leased <= s.memory, "D1: %d B of a device's %d are leased", s.leased, s.memory)
			}
		}
		w.granted <- !s.old
	}
}

// end gives a lease and its devices back once released is closed, or at once where released is nil.
// After an error that makes the devices useless, the next query opens others.
func (d *Devices) end(l *lease, err error, released <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoil(l.deviceSet, err)
	select {
	case <-released:
	default:
		if released != nil { // a device does not answer: nobody waits for it
			spawn.Go(func() error {
				<-released
				return nil
			}, func(error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.ended(l)
			})
			return
		}
	}
	d.ended(l)
}

// ended gives the memory of a lease to the waiters in line. Requires: d.mu is held.
func (d *Devices) ended(l *lease) {
	l.closed.Close()
	l.leased -= l.bytes
	if invariants.Enabled {
		invariants.Checkf(l.leased >= 0, "D1: %d B more of a device were given back than leased", -l.leased)
	}
	l.grant()
	d.returned(l.deviceSet)
}

// limit returns how many bytes of a device the lease's query may take at most; 0 stands for all
// free memory. all is the limit of all queries together, 0 for none.
func (l *lease) limit(all int64) int64 {
	if l.bytes < l.memory || l.areas != nil {
		return l.bytes
	}
	return all
}

// What a query is expected to take of a device at most: with so much it runs as well as with all
// memory.
const (
	needRows   = 4        // times the rows: the ring, what stays in partitions, and the areas of the second phase
	needTables = 4        // times the slots of as many groups: half full, in half of the memory
	needBytes  = 16 << 20 // of the smallest rings
)

// need returns how many bytes of a device the query can use at most.
func (q *Query) need(l *Layout) int64 {
	rows := q.Rows
	if rows < 0 || rows > 1<<40 {
		return 1 << 62
	}
	need := needBytes + rows*needRows*l.rowBytes()
	if l.notDecoded == nil {
		need += stream.DecodeBytes(l.decoder.of, rows, l.rows != nil)
	}
	switch {
	case l.parts != nil || l.rows != nil:
	case l.shape.Sorts():
		need += needRows * rows * 8 * int64(l.shape.StateWords()+1)
	default:
		need += needTables * l.shape.TableBytes(rows)
	}
	return need
}

// patience returns how long the query waits for devices that others have: what it would take on the
// CPU, with as many groups as rows. D2.
func (q *Query) patience() time.Duration {
	if p := q.Devices.knobs.Patience; p != 0 {
		return p
	}
	rows := max(q.Rows, 0)
	return q.Devices.rates.cpuTime(rows, rows, q.Workers)
}
