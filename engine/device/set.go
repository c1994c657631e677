package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// deviceSet is devices that queries use together:
//
//	opening -> current <-> lent
//	              \-> old -> closing, once nobody uses it
type deviceSet struct {
	list   []kernels.Device
	link   float64 // bytes a second to one of them, on average; 0 is not known
	memory int64   // bytes of each that queries can have
	users  int
	old    bool // closed when nobody uses it any more

	areas     chan *joinArea // where a join was asked for
	joinBytes int64          // of both sides, in an area

	leased int64     // of memory
	line   []*waiter // for it
}

// Opened reports whether the devices are open already.
func (d *Devices) Opened() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current != nil
}

// whyNone returns why there are no devices; nil while that is not known.
func (d *Devices) whyNone() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reason
}

// get lends the devices to the caller, who puts them back; the first caller opens them. Where there
// are no devices, it returns the reason.
func (d *Devices) get(ctx context.Context) (*deviceSet, error) {
	for {
		set, opening, err := d.take()
		if opening == nil {
			return set, err
		}
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take lends the devices if they are open, or returns why there are none. Where neither is known
// yet, it returns a channel that is closed when it is.
func (d *Devices) take() (_ *deviceSet, opening <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.current != nil:
		d.current.users++
		return d.current, nil, nil
	case d.reason != nil:
		err := d.reason
		if errors.Is(err, spawn.ErrInternal) { // one query fails of it; the next one opens them anew
			d.reason = nil
		}
		return nil, nil, err
	case d.opening == nil:
		d.opening = make(chan struct{})
		d.open(d.closing)
	}
	return nil, d.opening, nil
}

// open begins to open the devices, once the devices that were open before are closed.
func (d *Devices) open(closing <-chan struct{}) {
	var set *deviceSet
	var late func()
	spawn.Go(func() (err error) {
		if closing != nil {
			<-closing
		}
		d.mu.Lock()
		d.began = time.Now()
		d.mu.Unlock()
		set, late, err = kernels.Await(d.wait(), d.newSet, d.closeAll)
		if late != nil {
			err = fmt.Errorf("opening the device: %w", err)
			d.silence(err, late)
		}
		if err != nil {
			d.log.Debug("no device", slog.Any("reason", err))
		}
		return err
	}, func(err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if (err != nil || d.closed) && set != nil {
			d.closeSet(set)
			set = nil
		}
		if err == nil {
			d.rates.sawOpening(time.Since(d.began), true)
		}
		if !d.closed && (late == nil || errors.Is(err, spawn.ErrInternal)) {
			d.current, d.reason = set, err
		}
		close(d.opening)
		d.opening, d.began = nil, time.Time{}
	})
}

func (d *Devices) newSet() (*deviceSet, error) {
	list, err := d.openAll()
	if err != nil {
		return nil, err
	}
	set := &deviceSet{list: list, link: d.measureLink(list), memory: d.memoryOf(list)}
	if d.join.named {
		if set.memory < joinMemoryMin {
			return nil, errors.Join(d.closeAll(set), fmt.Errorf("joins on a device take %s of its memory, and it has %s",
				humanize.IBytes(joinMemoryMin), humanize.IBytes(uint64(set.memory))))
		}
		bytes := set.memory / joinShare
		set.memory -= bytes
		set.areas, set.joinBytes = newJoinAreas(list, bytes, d.pinned)
	}
	return set, nil
}

// silence notes that the devices do not answer. The error is why there are no devices until late,
// which waits for the answer, has returned.
func (d *Devices) silence(reason error, late func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.reason = reason
	}
	spawn.Go(func() error {
		late()
		return nil
	}, func(err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.reason == reason {
			d.reason = err
		}
	})
}

// retain lends devices that are lent already once more: to a batch of a result, say, that lies in
// their memory.
func (d *Devices) retain(s *deviceSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.users++
}

// put gives devices back. After an error that makes the devices useless, the next query opens
// others.
func (d *Devices) put(s *deviceSet, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoil(s, err)
	d.returned(s)
}

// spoil takes devices out of use after an error that makes them useless. Requires: d.mu is held.
func (d *Devices) spoil(s *deviceSet, err error) {
	if !isFatal(err) {
		return
	}
	s.old = true
	s.grant()
	if d.current == s {
		d.current = nil
	}
}

// returned notes that a user has returned a set; the last user of a useless set has it closed.
// Requires: d.mu is held.
func (d *Devices) returned(s *deviceSet) {
	if s.users--; s.old && s.users == 0 {
		d.closeSet(s)
	}
}

// closeSet begins to close the devices of a set. Requires: d.mu is held, and nobody uses the set.
func (d *Devices) closeSet(s *deviceSet) {
	before, done := d.closing, make(chan struct{})
	d.closing = done
	spawn.Go(func() error {
		_, late, err := kernels.Await(d.wait(), func() (struct{}, error) { return struct{}{}, d.closeAll(s) }, nil)
		if late != nil {
			d.log.Warn("closing the device", slog.Any("error", err))
		}
		if before != nil {
			<-before
		}
		return err
	}, func(err error) {
		d.note(err)
		close(done)
	})
}

// note keeps an error that is a bug, where no query is left that could return the error.
func (d *Devices) note(err error) {
	if errors.Is(err, spawn.ErrInternal) {
		d.broken.CompareAndSwap(nil, &err)
	}
}

// closeAll closes devices at once, so that a device that does not answer keeps no other open.
func (d *Devices) closeAll(s *deviceSet) error {
	errs := make([]error, len(s.list)+1)
	errs[len(s.list)] = s.closeJoinAreas()
	var group spawn.Group
	for i, dev := range s.list {
		group.Go(func() error {
			errs[i] = dev.Close()
			return nil
		})
	}
	err := errors.Join(group.Wait(), errors.Join(errs...))
	if err != nil {
		d.log.Warn("device closed", slog.Any("error", err))
	}
	return err
}

// Close closes the devices, and saves the rates. From then on why is the reason that there are no
// devices. No query uses the devices any more; where batches of results lie in their memory, the
// last batch closes them. Devices that are being opened, for a query that has ended without them,
// are closed when they are open: nobody waits for that. An error is a bug that no query has
// returned.
func (d *Devices) Close(why error) error {
	d.mu.Lock()
	if !d.began.IsZero() {
		d.rates.sawOpening(time.Since(d.began), false)
	}
	d.closed = true
	if s := d.current; s != nil {
		s.old = true
		if s.users == 0 {
			d.closeSet(s)
		}
	}
	d.current, d.reason = nil, why
	closing := d.closing
	d.mu.Unlock()
	d.rates.save()
	if closing != nil {
		<-closing
	}
	if err := d.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// missed notes how much earlier a query would have been answered had devices been open. Once queries would have saved
// as much as opening takes, devices are opened for the queries to come: as who rents skis buys them when the rent has
// come to their price, a process never pays more than twice what it would have paid had it known its queries (Karlin,
// Manasse, Rudolph, Sleator, 1988).
func (d *Devices) missed(saved time.Duration) {
	if saved <= 0 || time.Duration(d.savings.Add(int64(saved))) < d.rates.opens() {
		return
	}
	if set, _, err := d.take(); err == nil && set != nil {
		d.put(set, nil)
	}
}
