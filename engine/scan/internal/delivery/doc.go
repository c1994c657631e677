// Package delivery makes batches as decoders read them into batches as package scan promises them
// (S1): by a Plan, which says where each column comes from. It has the functions on arrays that the
// decoders share, too.
package delivery
