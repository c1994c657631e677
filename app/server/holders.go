package server

import "sync/atomic"

// holders counts who uses something that goes with its last user. The zero value has none.
type holders struct{ n atomic.Int64 }

// hold counts a holder.
// Requires: the caller holds it, or nobody else knows it yet.
func (h *holders) hold() { h.n.Add(1) }

// retain counts a holder, and returns true, unless the last one has let go.
func (h *holders) retain() bool {
	for {
		n := h.n.Load()
		if n == 0 {
			return false
		}
		if h.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// drop ends a hold, and reports whether it was the last.
func (h *holders) drop() (last bool) { return h.n.Add(-1) == 0 }
