// Package joins has the joins of Wu, Koutsoukos and Alonso (SIGMOD 2025) over the operators of package kernels: each
// takes two sides in device memory, and gives columns in device memory.
//
//	              transform                    match                      materialise
//	PHJ-TR  sides by partition, all columns -> tables in shared memory -> clustered gather of the partitions
//	PHJ-UR  keys and row numbers by partition -> the same              -> gather of the rows as they came
//	SMJ-TR  sides sorted by key, column by column -> Merge Path        -> clustered gather of the sorted rows
//	SMJ-UR  keys and row numbers sorted     -> the same                -> gather of the rows as they came
//	NPHJ                                       one table in memory     -> gather, the probe side's clustered
//
// Every one of them:
//
//   - J1 (no waiting): Enqueue enqueues, and reads nothing back. Pairs are counted on the device, and gathers take
//     their number from there.
//   - J2 (capacity): where there are more pairs than Output has room for, their number is right, what has room is
//     written, and nothing beyond it.
//   - J3 (NULLs): a key that is NULL equals none.
//
// A pipeline of tiles keeps a table of the build side, and probes it tile by tile: BuildTable and ProbeTable of
// kernels.Operators.
package joins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/kernels"
)

// Algorithm is one of the joins.
type Algorithm uint8

// The algorithms, in the order of the paper's tree.
const (
	PHJTR Algorithm = iota
	PHJUR
	SMJTR
	SMJUR
	NPHJ
)

var algorithmNames = [...]string{PHJTR: "phj-tr", PHJUR: "phj-ur", SMJTR: "smj-tr", SMJUR: "smj-ur", NPHJ: "nphj"}

// Algorithms lists the algorithms.
func Algorithms() []Algorithm { return []Algorithm{PHJTR, PHJUR, SMJTR, SMJUR, NPHJ} }

// Parse returns the algorithm of a name.
func Parse(name string) (Algorithm, error) {
	if i := slices.Index(algorithmNames[:], name); i >= 0 {
		return Algorithm(i), nil
	}
	return 0, fmt.Errorf("%q: want one of %s", name, strings.Join(algorithmNames[:], ", "))
}

// String returns the name of an algorithm as flags have it.
func (a Algorithm) String() string { return algorithmNames[a] }

// moves reports whether an algorithm brings all columns into an order, and not row numbers.
func (a Algorithm) moves() bool { return a == PHJTR || a == SMJTR }

func (a Algorithm) sorts() bool { return a == SMJTR || a == SMJUR }

// Kind is a kind of equi-join. Left keeps the probe side, and Right the build side.
type Kind uint8

// The kinds.
const (
	Inner Kind = iota
	Left
	Right
	Full
	Semi
	Anti
)

var kindNames = [...]string{Inner: "inner", Left: "left", Right: "right", Full: "full", Semi: "semi", Anti: "anti"}

// String names the kind for people.
func (k Kind) String() string { return kindNames[k] }

// pairs returns the kind of the pairs that a kind begins with.
func (k Kind) pairs() kernels.JoinKind {
	switch k {
	case Left, Full:
		return kernels.JoinLeft
	case Semi:
		return kernels.JoinSemi
	case Anti:
		return kernels.JoinAnti
	}
	return kernels.JoinInner
}

// keepsBuild reports whether build rows without a match are in the answer.
func (k Kind) keepsBuild() bool { return k == Right || k == Full }

// givesBuild reports whether build columns are in the answer.
func (k Kind) givesBuild() bool { return k != Semi && k != Anti }

// Column is a column in device memory. Valid is a bitmap as kernels.Rows has; without a buffer no value is NULL.
type Column struct {
	Bytes  int // of a value: 4, 8 or 16
	Values kernels.Span
	Valid  kernels.Span
}

// Side is one side of a join. Valid says which keys are not NULL.
type Side struct {
	Count   int64
	Keys    kernels.Span
	Valid   kernels.Span
	Columns []Column
}

// Query is a join of two sides. Unique says that no two build rows have the same key.
type Query struct {
	Algorithm    Algorithm
	Kind         Kind
	KeyBytes     int
	Unique       bool
	Build, Probe Side
	// Partitions has how partitioned joins cut sides, and the tables of blocks; zeros let the device choose.
	Partitions kernels.JoinPartitions
}

// Output is room for an answer: columns of Capacity values, with bitmaps where NULLs can be and are asked for.
type Output struct {
	Capacity int64
	Status   kernels.Span // kernels.JoinStatusBytes; a kernels.JoinStatus
	// BuildKeys and ProbeKeys get the keys of pairs' rows, up to 16 B, and 0 where a pair has no row of the side; without
	// a buffer they are not wanted.
	BuildKeys, ProbeKeys kernels.Span
	Build, Probe         []Column // as the sides' columns
}

// What an algorithm lacks.
var (
	errNulls = errors.New("keys with NULLs are not sorted")
	errWide  = errors.New("columns of 16 B and columns with NULLs are not sorted with the keys")
)

// Lacks returns nil where the algorithm answers the query, and else what it lacks. NPHJ lacks nothing.
func (q *Query) Lacks() error {
	if q.Algorithm == NPHJ {
		return nil
	}
	if q.KeyBytes != 4 && q.KeyBytes != 8 {
		return fmt.Errorf("%v: keys of %d B: want 4 or 8, which codes of wider keys have", q.Algorithm, q.KeyBytes)
	}
	if q.Algorithm.sorts() && (q.Build.Valid.Buffer != nil || q.Probe.Valid.Buffer != nil) {
		return fmt.Errorf("%v: %w", q.Algorithm, errNulls)
	}
	if q.Algorithm != SMJTR {
		return nil
	}
	for _, columns := range [][]Column{q.Build.Columns, q.Probe.Columns} {
		for _, c := range columns {
			if c.Bytes > 8 || c.Valid.Buffer != nil {
				return fmt.Errorf("%v: %w", q.Algorithm, errWide)
			}
		}
	}
	return nil
}

// Scratch returns the bytes of scratch that Enqueue needs for room for a number of pairs.
func (q *Query) Scratch(device kernels.Properties, capacity int64) int64 {
	r := q.layout(device, capacity)
	return r.bytes
}

// Enqueue has a stream join the sides. Sides, scratch and output belong to the stream until an event that is recorded
// afterwards.
func (q *Query) Enqueue(stream kernels.Stream, device kernels.Properties, into *Output, scratch kernels.Span) error {
	if err := q.Lacks(); err != nil {
		return err
	}
	if !q.Kind.givesBuild() && (len(into.Build) > 0 || into.BuildKeys.Buffer != nil) {
		return fmt.Errorf("a %v join has no build columns", q.Kind)
	}
	l := q.layout(device, into.Capacity)
	r := &run{Query: q, stream: stream, into: into, layout: l, scratch: scratch}
	return r.all()
}
