package temporary

import "sync/atomic"

// Holders counts who uses something that goes with its last user. The zero value has none.
type Holders struct{ n atomic.Int64 }

// Hold counts a holder.
// Requires: the caller holds it, or nobody else knows it yet.
func (h *Holders) Hold() { h.n.Add(1) }

// Retain counts a holder, and returns true, unless the last one has let go.
func (h *Holders) Retain() bool {
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

// Drop ends a hold, and reports whether it was the last.
func (h *Holders) Drop() (last bool) { return h.n.Add(-1) == 0 }

// Count returns how many holders there are.
func (h *Holders) Count() int64 { return h.n.Load() }
