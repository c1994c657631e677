package mem

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

var _ rowdata.Budget = (*Memory)(nil)

// reservations are what owners outside Memory are promised, and who makes room for them.
type reservations struct {
	reserved atomic.Int64                  // bytes promised, see Reserve
	settling atomic.Int64                  // bytes given back since the process was last measured, see Unreserve
	refuse   func(asked, left int64) error // nil where SetRefusal was not called
	relieve  func()                        // nil where nobody measures the process
	reclaim  func(bytes int64) error       // nil where SetReclaim was not called
	isShared func() bool                   // nil for never
}

// A reservation that does not fit waits for other owners to give reservations back, which they hold
// while they work on a batch. Then it is refused.
const (
	reserveWaitMin = time.Millisecond
	reserveWaitMax = 256 * time.Millisecond

	// patienceAlone is how long a reservation of the only statement waits where the process is measured, in all.
	patienceAlone = 500 * time.Millisecond

	// patienceShared is how long a reservation waits beside other statements, which give back what they hold
	// beyond their parts.
	patienceShared = 4 * time.Second
)

// SetRefusal sets the error of reservations that do not fit. It is called before Memory is shared.
func (m *Memory) SetRefusal(refuse func(asked, left int64) error) { m.refuse = refuse }

// SetRelief sets a function that gives memory which the process does not need, such as garbage,
// back to the system, and then calls SetLimit with what is left. The owner that calls SetLimit over
// and over calls it before Memory is shared.
func (m *Memory) SetRelief(relieve func()) { m.relieve = relieve }

// SetReclaim sets a function that makes room for bytes by writing pages to disk. Reserve calls it, from
// any goroutine and without a lock of Memory. isShared says whether several statements have sinks; nil
// is never. They are set before Memory is shared.
func (m *Memory) SetReclaim(reclaim func(bytes int64) error, isShared func() bool) {
	m.reclaim, m.isShared = reclaim, isShared
}

// Reserve implements rowdata.Budget. Where bytes do not fit it tries again once pages are on disk,
// garbage is given back to the system, and other owners had some time. The end of the context ends the
// waiting, with its cause.
func (m *Memory) Reserve(bytes int64) error {
	left, err := m.tryReserve(bytes)
	if err != nil || left >= 0 {
		return err
	}
	began := time.Now()
	wait := reserveWaitMin
	for bytes <= m.Limit() && time.Since(began) < m.patience() {
		invariants.Sometimes("mem: a reservation waits for others to be given back")
		if m.relieve != nil {
			m.relieve()
		}
		if left, err = m.tryReserve(bytes); err != nil || left >= 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-m.ctx.Done():
			return context.Cause(m.ctx)
		}
		wait = min(2*wait, reserveWaitMax)
	}
	return m.refusal(bytes, max(left+bytes, 0))
}

// patience returns how long a reservation waits.
func (m *Memory) patience() time.Duration {
	switch {
	case m.isShared != nil && m.isShared():
		return patienceShared
	case m.relieve != nil:
		return patienceAlone
	}
	return 0
}

// tryReserve reserves bytes, and returns how many bytes of the budget are left. Where left is
// negative it has reserved nothing.
func (m *Memory) tryReserve(bytes int64) (left int64, err error) {
	m.reserved.Add(bytes)
	if left = m.Left(); left < 0 && m.reclaim != nil {
		invariants.Sometimes("mem: pages are written to disk for a reservation")
		if err = m.reclaim(-left); err == nil {
			left = m.Left()
		}
	}
	if err != nil || left < 0 {
		m.reserved.Add(-bytes)
		return left, err
	}
	m.grown()
	return left, nil
}

// Unreserve implements rowdata.Budget. The memory that was reserved may still be resident, as
// another owner's or as garbage: where the process is measured, the bytes count until the next
// Measure.
func (m *Memory) Unreserve(bytes int64) {
	if m.relieve != nil {
		m.settling.Add(bytes)
	}
	left := m.reserved.Add(-bytes)
	if invariants.Enabled {
		invariants.Checkf(left >= 0, "T1: %d B are given back, %d B more than were reserved", bytes, -left)
	}
}

// Room is Reserve and Unreserve: it waits and has pages spilled as Reserve does, and returns the same error,
// but nothing stays reserved.
func (m *Memory) Room(bytes int64) error {
	err := m.Reserve(bytes)
	if err == nil {
		m.reserved.Add(-bytes)
	}
	return err
}

// Measure calls a function that measures the process and returns how many bytes are left for blocks
// and reservations, which becomes the limit.
func (m *Memory) Measure(measure func() int64) {
	settled := m.settling.Load()
	m.SetLimit(measure())
	m.settling.Add(-settled)
}

// Reserved returns the bytes that are promised to owners outside Memory.
func (m *Memory) Reserved() int64 { return m.reserved.Load() }

// refusal returns the error of a reservation that does not fit.
func (m *Memory) refusal(asked, left int64) error {
	invariants.Sometimes("mem: a reservation is refused")
	if m.refuse != nil {
		return m.refuse(asked, left)
	}
	return fmt.Errorf("%d B of memory are asked for, %d B of %d B are left", asked, left, m.Limit())
}
