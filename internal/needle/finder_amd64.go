//go:build !portable

package needle

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var hasVectors = cpu.X86.HasAVX2

// findPair returns the first place from at to last, and up to 31 behind it, where two bytes stand,
// each at its distance behind the place; or a place without one below it, and false. It reads 32
// bytes at both distances behind every place up to last.
//
//go:noescape
func findPair(text unsafe.Pointer, at, last, at1, at2 int, byte1, byte2 byte) (place int, found bool)
