//go:build !amd64 || portable

package wellformed

import "unsafe"

const hasVectors = false

func validVectors(unsafe.Pointer, int) bool { return false }

func countBlocks(unsafe.Pointer, int) int { return 0 }
