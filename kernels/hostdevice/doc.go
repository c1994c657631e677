// Package hostdevice is a kernels.Device in plain Go: for tests, and for machines without a GPU.
//
//	Stream -> queue -> goroutine -+- copies in  -> engine: one at a time, latency + bytes / bandwidth
//	                              +- copies out -> engine: likewise
//	                              +- fills, operators: on the goroutine itself
//
// It holds its callers to the contract of kernels.Device:
//
//   - H1 (asynchrony): a method returns before its work is done. Code that reads a result too early
//     reads garbage: memory that is allocated, and pinned memory that a copy will write, is
//     poisoned.
//   - H2 (ownership): every use of memory is held against all uses by streams, by vector clocks: a
//     stream may use memory that another has used when an event lies between; memory may be freed
//     when the host has waited; pinned memory may not change while a copy reads it.
//   - H3 (faults): any call, and any work of a stream, can be made to fail.
//   - H4 (determinism): the same work gives the same bytes; groups come in order of first rows.
//
// A breach of H2 is a bug of the caller: it panics, or goes to Options.Report.
//
// Device memory is Go's heap, so that the race detector watches it too.
package hostdevice
