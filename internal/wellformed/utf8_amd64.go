//go:build !portable

package wellformed

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var hasVectors = cpu.X86.HasAVX2

// validVectors says whether text of some bytes is UTF-8. It reads the text in vectors, the last of
// which it reads whole, whatever it has behind the text.
//
//go:noescape
func validVectors(text unsafe.Pointer, bytes int) bool

// countBlocks returns how many bytes of 1 to blocksMax blocks are not ASCII.
//
//go:noescape
func countBlocks(text unsafe.Pointer, blocks int) int
