// Package device is the aggregator that uses GPUs: it chooses whether a query is worth them, opens
// and leases them, lays out rows and states for package stream, and gives what devices do not
// finish to the workers of the CPU.
//
//	Aggregator.Begin: Query.suits -> Query.open: lease -> coprocessor
//	Aggregator.Take: rows -> filler -> tiles -> stream.Run; they wait while devices open
//	Aggregator.EndInput, Process: groups -> Writer, or workers of the CPU
//	a device fails: Aggregator.Release -> Begin: the CPU takes the input again, but for what was emitted
//
// The invariants are at the types that keep them: C1 and C2 at coprocessor, D1 and D2 at lease, D3
// at Devices, O1 and O2 at opening, V1 and V2 at rates.
package device
