package rowdata

import "unsafe"

// View returns the memory of values as the values of another type that lie in it.
// Requires: the memory is aligned as T is.
func View[T, From any](values []From) []T {
	var from From
	var t T
	bytes := len(values) * int(unsafe.Sizeof(from))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), bytes/int(unsafe.Sizeof(t)))
}

// Narrow writes the low bits of each word to out, as values of T.
func Narrow[T uint8 | uint16 | uint32](out []byte, words []uint64) {
	values := View[T](out)[:len(words)]
	for i, w := range words {
		values[i] = T(w)
	}
}

// Grow returns a slice of n elements, in buf where it has room. The elements are arbitrary.
func Grow[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
