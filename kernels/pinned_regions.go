//go:build cgo && linux

package kernels

import (
	"slices"
	"sync"
	"unsafe"
)

// regions are pieces of memory, each mapped and registered at once, in the order of their
// addresses: a block, or a slab of blocks.
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
