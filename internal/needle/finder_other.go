//go:build !amd64 || portable

package needle

import "unsafe"

const hasVectors = false

func findPair(unsafe.Pointer, int, int, int, int, byte, byte) (int, bool) { return 0, false }
