//go:build invariants

package invariants

import (
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
)

// CloseChecker is a field of an owner that must be closed once. The zero value is closed by no one.
type CloseChecker struct {
	owner  *owner // nil before Open
	mu     sync.Mutex
	closed []byte // stack of the first Close
}

// owner describes an owner that is open.
type owner struct {
	what  string
	stack []byte // of Open
}

func (o *owner) String() string {
	return fmt.Sprintf("%s was not closed; opened by\n%s", o.what, o.stack)
}

var (
	ownersMu sync.Mutex
	owners   = make(map[*owner]struct{}) // that are open
)

// Open notes that the owner, described by what, must be closed; a second call does nothing. An
// owner that the collector finds open ends the process.
func (c *CloseChecker) Open(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner != nil {
		return
	}
	c.owner = &owner{what, debug.Stack()}
	ownersMu.Lock()
	defer ownersMu.Unlock()
	owners[c.owner] = struct{}{}
	runtime.AddCleanup(c, func(o *owner) {
		if slices.Contains(stillOpen(), o) {
			panic("invariant: " + o.String())
		}
	}, c.owner)
}

// Close notes that the owner is closed. The second call panics.
func (c *CloseChecker) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		panic(fmt.Sprintf("invariant: %s is closed twice; first by\n%s", c.what(), c.closed))
	}
	c.closed = debug.Stack()
	ownersMu.Lock()
	defer ownersMu.Unlock()
	delete(owners, c.owner)
}

// CheckOpen panics if the owner has been closed.
func (c *CloseChecker) CheckOpen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		panic(fmt.Sprintf("invariant: %s is used after it was closed by\n%s", c.what(), c.closed))
	}
}

func (c *CloseChecker) what() string {
	if c.owner == nil {
		return "an owner"
	}
	return c.owner.what
}

// stillOpen returns the owners that are open.
func stillOpen() []*owner {
	ownersMu.Lock()
	defer ownersMu.Unlock()
	return slices.Collect(maps.Keys(owners))
}
