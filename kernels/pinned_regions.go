//go:build cgo && linux

package kernels

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"
)

// pinnedRegion is memory that was mapped and registered at once. Copies lie within one: the driver refuses others.
type pinnedRegion struct {
	memory []byte
	isSlab bool     // of blocks below a huge page
	free   []extent // in order, none beside the next one
}

// extent is the bytes of a region from one place to another.
type extent struct{ from, to int64 }

func (e extent) bytes() int64 { return e.to - e.from }

func (r *pinnedRegion) isFree() bool {
	return len(r.free) == 1 && r.free[0].bytes() == int64(len(r.memory))
}

// take takes bytes of a free extent.
func (r *pinnedRegion) take(i int, bytes int64) extent {
	e := &r.free[i]
	taken := extent{e.from, e.from + bytes}
	if e.from = taken.to; e.bytes() == 0 {
		r.free = slices.Delete(r.free, i, i+1)
	}
	return taken
}

// put gives an extent back.
func (r *pinnedRegion) put(e extent) {
	i, _ := slices.BinarySearchFunc(r.free, e.from, func(f extent, at int64) int { return cmp.Compare(f.from, at) })
	if i < len(r.free) && r.free[i].from == e.to {
		e.to = r.free[i].to
		r.free = slices.Delete(r.free, i, i+1)
	}
	if i > 0 && r.free[i-1].to == e.from {
		r.free[i-1].to = e.to
		return
	}
	r.free = slices.Insert(r.free, i, e)
}

// regions are the memory of regions, in the order of their addresses.
type regions [][]byte

// allPinned are the regions of all devices of the process: a region that a device has registered is
// page-locked for every other device, too.
var allPinned struct {
	sync.RWMutex // never held over a call of the driver
	regions
}

// isPinned reports whether memory lies in a region of any device.
func isPinned(memory []byte) bool {
	allPinned.RLock()
	defer allPinned.RUnlock()
	return allPinned.holds(memory)
}

// holds reports whether memory lies in a region.
func (r regions) holds(memory []byte) bool {
	at := start(memory)
	i, found := r.find(at)
	if !found {
		i--
	}
	return i >= 0 && at+uintptr(len(memory)) <= start(r[i])+uintptr(len(r[i]))
}

// find returns the region that begins at an address, or where it would be.
func (r regions) find(at uintptr) (i int, found bool) {
	return slices.BinarySearchFunc(r, at, func(memory []byte, at uintptr) int {
		switch s := start(memory); {
		case s < at:
			return -1
		case s > at:
			return 1
		}
		return 0
	})
}

func (r *regions) add(memory []byte) {
	i, _ := r.find(start(memory))
	*r = slices.Insert(*r, i, memory)
}

// remove takes the region out that begins where memory does.
func (r *regions) remove(memory []byte) {
	if i, found := r.find(start(memory)); found {
		*r = slices.Delete(*r, i, i+1)
	}
}

func start(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }
