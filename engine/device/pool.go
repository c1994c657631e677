package device

import (
	"errors"
	"log/slog"
	"reflect"
	"sync"
)

// Pool keeps devices open when the engine that used them is closed, for the next engine whose options ask for the
// same: one set of devices, the last that was used. Engines that take the CPU alone leave it as it is. It is safe for
// concurrent use.
type Pool struct {
	log *slog.Logger

	mu     sync.Mutex
	kept   *pooled // nil before the first engine
	closed bool
}

// pooled are devices of a pool.
type pooled struct {
	*Devices
	options Options
	users   int // engines
	old     bool
}

// NewPool returns a pool, which Close ends. Devices outlive the loggers of engines, and tell log what they have to say.
func NewPool(log *slog.Logger) *Pool { return &Pool{log: log} }

// Open returns the devices of an engine, which calls release in place of Devices.Close. A nil pool keeps nothing.
func (p *Pool) Open(o Options) (d *Devices, release func(why error) error, err error) {
	if p == nil || o.Device == "cpu" {
		if d, err = New(o); err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	}
	o.Log = p.log
	o.MeasureLink = true // which a later engine may ask for
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || !reflect.DeepEqual(p.kept.options, o) {
		made, err := New(o)
		if err != nil {
			return nil, nil, err
		}
		if err := p.retire(); err != nil {
			return nil, nil, errors.Join(err, made.Close(errRetired))
		}
		p.kept = &pooled{Devices: made, options: o}
	}
	of := p.kept
	of.users++
	return of.Devices, func(why error) error { return p.release(of, why) }, nil
}

var errRetired = errors.New("the devices of the pool are closed")

// retire takes the devices that are kept out of the pool: their last user closes them. Requires: p.mu is held.
func (p *Pool) retire() error {
	of := p.kept
	if p.kept = nil; of == nil {
		return nil
	}
	of.old = true
	if of.users > 0 {
		return nil
	}
	return of.Close(errRetired)
}

// release gives the devices of an engine back. Devices that could not be opened are not kept: the next engine tries
// again.
func (p *Pool) release(of *pooled, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	of.users--
	if (p.closed || of.whyNone() != nil || of.broken.Load() != nil) && !of.old {
		return p.retire()
	}
	if of.old && of.users == 0 {
		return of.Close(why)
	}
	of.rates.save()
	return nil
}

// Close closes the devices that no engine uses; engines close the others.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.retire()
}
