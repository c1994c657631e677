// Package needle finds a needle in strings, many of which lie behind each other in memory, as
// the strings of a column do.
//
//	texts:   | len | http://a.com/x | len | http://www.google.com/ | len | http://b.org/ |
//	search:         ------------------------------^--------------------------------------->
//
// Two bytes of the needle that are rare in text are compared with 32 positions at once (AVX2), as
// far as strings follow each other: where there is no match, no work is done string by string. The
// rest is the standard library's.
//
//   - N1 (bounds): no byte before the first string of a run or behind its last is read. What lies
//     between two strings of a run is read, and lies in a page of memory with one of them.
package needle
