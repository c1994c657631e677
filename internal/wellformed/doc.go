// Package wellformed says whether text is UTF-8, at the speed at which columns of strings are read.
//
//	text:     | http://a.com/x | приве | т, мир | ... |      vectors of 32 bytes
//	           ASCII: next      lookup of each byte and the byte before it
//
// ASCII is passed over by its highest bits. In other text, three lookups of 16 entries tell what is
// wrong with each pair of neighbours, after Keiser and Lemire, "Validating UTF-8 in less than one
// instruction per byte" (Software: Practice and Experience, 2021), "lookup"; what differs here is
// that a vector of ASCII, and the end of the text, take no lookup. Without AVX2, the standard
// library does it.
//
//   - U1 (bounds): no byte behind the capacity of a slice is read, and none before its first.
//   - U2 (same answers): UTF8 says what unicode/utf8.Valid says, of any bytes.
package wellformed
