package rowdata

import "unsafe"

// View returns bytes as the values of T that lie in them. Requires: the bytes are aligned as T is.
func View[T any](raw []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/int(unsafe.Sizeof(t)))
}

// Narrow writes the low bits of words to the memory of so many values of T.
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
