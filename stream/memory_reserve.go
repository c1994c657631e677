package stream

import (
	"fmt"

	"github.com/mpga/mpga/engine/spec"
)

var _ spec.Budget = (*Memory)(nil)

// SetRefusal sets the error of reservations that do not fit. It is called before Memory is shared.
func (m *Memory) SetRefusal(refuse func(asked, left int64) error) { m.refuse = refuse }

// AddReclaimer adds a function that makes room for bytes by writing pages to disk; the returned function removes
// it. Reserve calls it, from any goroutine and without a lock of Memory.
func (m *Memory) AddReclaimer(reclaim func(bytes int64) error) (remove func()) {
	m.reclaimMu.Lock()
	defer m.reclaimMu.Unlock()
	if m.reclaimers == nil {
		m.reclaimers = make(map[*reclaimer]struct{})
	}
	r := &reclaimer{reclaim}
	m.reclaimers[r] = struct{}{}
	return func() {
		m.reclaimMu.Lock()
		defer m.reclaimMu.Unlock()
		delete(m.reclaimers, r)
	}
}

// reclaimer is a function with an identity.
type reclaimer struct{ reclaim func(bytes int64) error }

// Reserve implements spec.Budget.
func (m *Memory) Reserve(bytes int64) error {
	m.reserved.Add(bytes)
	left := m.Left()
	if left < 0 {
		if err := m.reclaim(-left); err != nil {
			m.Unreserve(bytes)
			return err
		}
		left = m.Left()
	}
	if left < 0 {
		m.Unreserve(bytes)
		return m.refusal(bytes, max(left+bytes, 0))
	}
	m.grown()
	return nil
}

// Unreserve implements spec.Budget.
func (m *Memory) Unreserve(bytes int64) { m.reserved.Add(-bytes) }

// Reserved returns the bytes that are promised to owners outside Memory.
func (m *Memory) Reserved() int64 { return m.reserved.Load() }

// reclaim asks every query for room until there is enough.
func (m *Memory) reclaim(bytes int64) error {
	m.reclaimMu.Lock()
	list := make([]*reclaimer, 0, len(m.reclaimers))
	for r := range m.reclaimers {
		list = append(list, r)
	}
	m.reclaimMu.Unlock()
	for _, r := range list {
		if m.Left() >= 0 {
			return nil
		}
		if err := r.reclaim(bytes); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns the error of a reservation that does not fit.
func (m *Memory) refusal(asked, left int64) error {
	if m.refuse != nil {
		return m.refuse(asked, left)
	}
	return fmt.Errorf("%d B of memory are asked for, %d B of %d B are left", asked, left, m.Limit())
}
