package spawn

import "sync/atomic"

var fault atomic.Pointer[func()]

// Step is called at the first and the last step of each goroutine, and by its function in between:
// once for a batch, a tile, a task or a file; and likewise where an entry point recovers panics. It
// does nothing but in tests of faults.
func Step() {
	if f := fault.Load(); f != nil {
		(*f)()
	}
}

// SetFault makes Step call a function, which may panic; nil makes it do nothing again. It is for
// tests.
func SetFault(f func()) {
	if f == nil {
		fault.Store(nil)
		return
	}
	fault.Store(&f)
}
