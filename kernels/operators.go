package kernels

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// ColumnType is how a column's values lie in device memory. Widths are in bytes.
type ColumnType uint8

// The types. Ordered words, Bytes2 and positions are never sent to a device.
const (
	Int32   ColumnType = iota // 4
	Uint32                    // 4
	Int64                     // 8
	Uint64                    // 8
	Float64                   // 8
	Int128                    // 16, low word first
)

// FoldOp is what a fold does with the values of a group that are not NULL. States are words, as
// the states of rowdata's folds of the same name; words of 8 bytes.
type FoldOp uint8

const (
	// Count: 1 word. Of no column, rows; else values that are not NULL (in both columns, of two).
	Count FoldOp = iota
	// Sum64: 1 word, the sum modulo 2^64: exact for columns of 4 bytes and fewer than 2^32 rows.
	Sum64
	// Sum128: 2 words, low word first: the sum of integers in two's complement.
	Sum128
	// SumFloat: 1 word, a double.
	SumFloat
	// Min, Max: 1 word, of the column's type (sign- or zero-extended); NaN is the greatest, -0 is
	// 0. A state without values is the identity: the greatest, or the least, of the type.
	Min
	Max // see Min
	// BitAnd, BitOr, BitXor: 1 word.
	BitAnd
	BitOr  // see BitAnd
	BitXor // see BitAnd
	// Moments2, Moments4, Comoments: 4, 6 and 8 words, as rowdata.FoldMoments2 and its like.
	Moments2
	Moments4  // see Moments2
	Comoments // see Moments2
	// SumExact: 2 words, low word first: the sum of doubles in two's complement, in units of 2^(Unit-1074). It
	// is exact, and the same in every order, where Exponents of all values lie within the words.
	SumExact
	// MinN, MaxN: 1 + Limit words: how many values there are, or Limit and up where there are more, and the
	// least, or greatest, as words in unsigned order, NaN last, the best first. Words of MinN are inverted, so that
	// the greatest word is the best of both. Words that have no value are 0.
	MinN
	MaxN // see MinN
	// CountDistinct: 1 word, how many different values there are. All NaNs are one value, and so are
	// 0 and -0.
	CountDistinct
	// QuantileCont, QuantileDisc: 3 words: how many values there are, n, and two of them, as words in
	// unsigned order, NaN last. Counted from 0, QuantileCont has value floor(Fraction * (n-1)) in order
	// and the next one, if there is one; QuantileDisc has value n - floor(n - Fraction*n) - 1, or the
	// first, twice.
	QuantileCont
	QuantileDisc // see QuantileCont
)

// Sorts reports whether a fold needs the values of a group in order. Only KernelSorted has them; no
// table holds its states, which cannot be merged.
func (op FoldOp) Sorts() bool { return op >= CountDistinct }

// Fold is one accumulation. Column is -1 for Count of rows; Other is Comoments' second column, and
// -1 otherwise. Fraction, of the quantiles, is in [0, 1]. Unit, of SumExact, is in [0, ExactPlaces).
// Limit, of MinN and MaxN, is in [1, LimitMax].
type Fold struct {
	Op       FoldOp
	Column   int
	Other    int
	Fraction float64
	Unit     int
	Limit    int
}

// ExactPlaces is how many bits a number has that all finite doubles are multiples of 1 of, from 2^-1074 on.
const ExactPlaces = 1074 + 1024

// Exponents tell which bits the doubles of a column have: the highest one has is High, and the lowest Low, counted
// from 2^-1074. High is -1 where all are 0, or NULL. Finite is false where one is NaN or infinite.
type Exponents struct {
	High, Low int
	Finite    bool
}

// ExponentsBytes is the size of Exponents in device memory, where zeros stand for no value.
const ExponentsBytes = 16

// ExponentsOf reads exponents that were copied to the host.
func ExponentsOf(b []byte) Exponents {
	word := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	return Exponents{High: word(0) - 1, Low: ExactPlaces - word(1), Finite: word(2) == 0}
}

// Limits of a launch, whatever the device, since the parameters of a kernel have no room for more.
// A query beyond the limits runs on the CPU.
const (
	KeyBytesMax = 64
	ColumnsMax  = 24
	FoldsMax    = 32
	LimitMax    = 7
)

// Shape is what the rows of a query consist of, on a device.
type Shape struct {
	KeyBytes int // 4, 8, or a multiple of 8 up to KeyBytesMax: rowdata.KeyLayout.Bytes
	Columns  []ColumnType
	Folds    []Fold
}

// Sorts reports whether a fold of the shape sorts.
func (s *Shape) Sorts() bool {
	return slices.ContainsFunc(s.Folds, func(f Fold) bool { return f.Op.Sorts() })
}

// Rows are rows in device memory, by column. Every bit pattern is a legal key.
type Rows struct {
	Count int64
	Keys  Span // Count * KeyBytes, row after row
	// Columns[i]: Count values of Shape.Columns[i]. Valid[i]: a bitmap, least bit first, set where
	// the value is not NULL; without a buffer, none is. Bitmaps are whole 32-bit words.
	Columns []Span
	Valid   []Span
}

// Groups are groups in device memory, by column, in no order.
type Groups struct {
	Capacity int64
	Status   Span   // a GroupsStatus
	Keys     Span   // Capacity * KeyBytes
	States   []Span // of each fold: Capacity * its words * 8
}

// GroupsStatus is what an operator leaves beside its groups; 64 bytes.
type GroupsStatus struct {
	Groups   uint64 // found; where they are more than Capacity, only Capacity groups were written
	Rows     uint64 // aggregated
	Overflow uint64 // rows that no slot took: not in the groups, to be aggregated again elsewhere
	Probes   uint64 // slots looked at, when they are counted
	_        [4]uint64
}

// StatusOf reads a status that was copied to the host.
func StatusOf(b []byte) GroupsStatus {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return GroupsStatus{Groups: word(0), Rows: word(1), Overflow: word(2), Probes: word(3)}
}

// Words returns the words of a fold's state.
func (f *Fold) Words() int {
	switch f.Op {
	case MinN, MaxN:
		return 1 + f.Limit
	case Sum128, SumExact:
		return 2
	case QuantileCont, QuantileDisc:
		return 3
	case Moments2:
		return 4
	case Moments4:
		return 6
	case Comoments:
		return 8
	}
	return 1
}

// Bytes returns the width of a value.
func (t ColumnType) Bytes() int {
	switch t {
	case Int32, Uint32:
		return 4
	case Int128:
		return 16
	}
	return 8
}

// Kernel is a family of group-by kernels. All give the same groups; they differ in time.
type Kernel uint8

// The families, with what each suits.
const (
	// KernelShared: one table per thread block in shared memory, flushed to the groups at the end:
	// few groups (Karnagel et al., 2015; Wu et al., SIGMOD 2025, section 4.2).
	KernelShared Kernel = iota
	// KernelScattered: rows are scattered by hash, then each partition is grouped in shared memory
	// (Wu et al., section 4.3): many groups.
	KernelScattered
	// KernelTwoPhase: SP-EGA, with its two-phase hash (Wang, Shen, Lei, 2025, section 4.1): load
	// factors up to 1.
	KernelTwoPhase
	// KernelLinear: one global table with linear probing (LPHGA, there, section 3.2).
	KernelLinear
	// KernelSorted: radix sort of row numbers by key, then a segmented reduction: groups in order of keys.
	KernelSorted
	// KernelNumbered: as KernelScattered, but keys are scattered with row numbers, and columns are read by these (Wu
	// et al., section 4.3, GFUR).
	KernelNumbered
	// KernelSortedColumns: as KernelSorted, but columns are sorted with the keys, one after the other, instead of
	// row numbers (there, section 4.1.3, GFTR). Keys have one word. Columns of 16 bytes, columns with NULLs and folds
	// of two columns are read by row number.
	KernelSortedColumns
	// KernelSortedCodes: as KernelSortedColumns, with codes of 4 bytes in place of the keys, which a table gives them
	// (there, section 4.4). Groups are in order of codes.
	KernelSortedCodes
	// KernelThreadPrivate: one table per thread in device memory (Karnagel et al., section 5.1).
	KernelThreadPrivate
	// KernelBlockPrivate: one table per thread block in shared memory, of two slots a group and some more, with one state
	// a group (there).
	KernelBlockPrivate
	// KernelBlockRanks: rows are given ranks by thread blocks of up to 128 keys each, and summed up by rank in shared
	// memory; where a block has more keys, each row is added to its group in device memory (libcudf, 2026, sections 4
	// to 8).
	KernelBlockRanks
)

var kernelNames = [...]string{
	KernelShared: "shared", KernelScattered: "scattered", KernelTwoPhase: "two-phase",
	KernelLinear: "linear", KernelSorted: "sorted",
	KernelNumbered: "numbered", KernelSortedColumns: "sorted columns", KernelSortedCodes: "sorted codes",
	KernelThreadPrivate: "thread-private", KernelBlockPrivate: "block-private", KernelBlockRanks: "block ranks",
}

// Takes returns nil where the family groups rows of a shape, and what it lacks otherwise.
func (k Kernel) Takes(shape *Shape) error {
	switch {
	case shape.Sorts() && k != KernelSorted:
		return errSorts
	case shape.KeyBytes > 8 && k == KernelSortedColumns:
		return fmt.Errorf("columns are sorted with keys of up to 8 B, and these have %d", shape.KeyBytes)
	}
	return nil
}

// Kernels lists the families.
func Kernels() []Kernel {
	list := make([]Kernel, len(kernelNames))
	for i := range list {
		list[i] = Kernel(i)
	}
	return list
}

// String names the family for people.
func (k Kernel) String() string { return kernelNames[k] }

// Plan is a family with its parameters, as Choose makes it. The zero value of a parameter lets
// the family choose.
type Plan struct {
	Kernel    Kernel
	Groups    int64 // that the plan was made for
	Slots     int64 // of the table, or the set, in device memory
	RadixBits int   // of KernelScattered and KernelNumbered: log2 of their partitions
	// Seed of their hash. Rows that were scattered by a seed before must get another
	// seed, or they are all of one partition.
	Seed   uint64
	Reason string
}

// Table is a hash table in device memory that takes rows launch after launch (section 4.2.2 of
// Wang, Shen, Lei calls that feedback load). Memory is of TableBytes; Reset comes first. A table
// that is sealed takes no more groups: rows of keys that it does not have are refused.
type Table struct {
	Slots  int64
	Memory Span
	Sealed bool
	Packed bool // slots are of one word: Shape.Packs. Memory is as PackedLayout tells
}

// Bytes returns the bytes of the table's memory.
func (t Table) Bytes(shape *Shape) int64 {
	if t.Packed {
		return NewPackedLayout(t.Slots).Bytes()
	}
	return shape.TableBytes(t.Slots)
}

// tableHeaderBytes lie before the slots of a table: params.h.
const tableHeaderBytes = 128

// TableBytes returns the bytes of the memory of a table that is not packed.
func (s *Shape) TableBytes(slots int64) int64 {
	return tableHeaderBytes + (slots+1)*8*int64(s.slotKeyWords()+s.StateWords())
}

// slotKeyWords returns the words before the states in a slot: a key of up to 8 bytes, or a tag and
// the key.
func (s *Shape) slotKeyWords() int {
	if s.KeyBytes <= 8 {
		return 1
	}
	return 1 + s.KeyBytes/8
}

// StateWords returns the words of all folds' states.
func (s *Shape) StateWords() int {
	n := 0
	for _, f := range s.Folds {
		n += f.Words()
	}
	return n
}

// Operators are the work of a stream: group-by, and decoding before it. Scratch is memory of at least
// the bytes that the method of the same name at Plan, Shape or Pages asks for. Rows, groups, tables
// and scratch do not overlap, and their spans begin at multiples of 16 bytes. Shapes, rows, groups,
// chunks and pages are read before a method returns; the memory that they name belongs to the stream.
type Operators interface {
	// Sample adds the keys of rows to HyperLogLog registers, partition.SketchRegisters bytes that
	// merge by maximum with the registers of the CPU.
	Sample(shape *Shape, rows *Rows, registers Span) error

	// Exponents widens the exponents of the column of each SumExact, ExponentsBytes each, by the exponents of rows.
	Exponents(shape *Shape, rows *Rows, exponents Span) error

	// Aggregate groups rows. Status.Overflow is not 0 when the plan had too few slots, or the
	// groups too little room: the answer then is void, and a larger plan is to be tried.
	Aggregate(shape *Shape, plan Plan, rows *Rows, into *Groups, scratch Span) error

	// Scatter writes rows by partition: of hash h, h >> (64 - radixBits). The hash of a key is
	// partition.HashKeys1's or HashKeysN's, a 4-byte key taken as a word. Partition p gets the rows
	// from offsets[p] to offsets[p+1], offsets being 2^radixBits + 1 words.
	Scatter(shape *Shape, rows *Rows, seed uint64, radixBits int, into *Rows, offsets, scratch Span) error

	// Partition is Scatter under the seed 0, in as many passes as the device takes for up to 15 bits.
	Partition(shape *Shape, rows *Rows, radixBits int, into *Rows, offsets, scratch Span) error
	// NumberRows writes 0, 1, 2, ..., 4 bytes each.
	NumberRows(into Span, count int64) error
	// Sort sorts keys and what moves with them.
	Sort(s *Sorting, scratch Span) error
	// Gather gathers columns by numbers of rows.
	Gather(g *Gathering) error

	// BuildTable empties a table and takes the build rows to it, but for rows of NULL keys. ProbeTable
	// appends the pairs of the probe rows.
	BuildTable(j *Join, t JoinTable) error
	ProbeTable(j *Join, t JoinTable) error // see BuildTable
	// JoinPartitions appends the pairs of sides that lie by partition, by tables in shared memory.
	JoinPartitions(j *Join, p JoinPartitions, scratch Span) error
	// JoinSorted appends the pairs of sides that are sorted by keys, by merging them.
	JoinSorted(j *Join, scratch Span) error
	// ListBuildRows appends the build rows whose bit in Matched is 1, or 0, beside NoRow.
	ListBuildRows(j *Join, matched bool) error
	// FillFilter makes a filter of the build keys. TestFilter gives a bitmap of the probe rows whose keys may be among
	// them, and counts these as pairs.
	FillFilter(j *Join, f JoinFilter) error
	TestFilter(j *Join, f JoinFilter, passed Span) error // see FillFilter

	// ResetTable empties a table.
	ResetTable(shape *Shape, table Table) error
	// Insert aggregates rows into a table; rows that no slot takes go to overflow, in any order.
	// Status counts all groups of the table, and this call's rows, overflow and probes.
	Insert(shape *Shape, rows *Rows, table Table, overflow *Rows, status Span) error
	// InsertGroups merges groups into a table that is not sealed; groups that no slot takes go to
	// overflow, in any order. Status is as Insert's, of groups.
	InsertGroups(shape *Shape, in *Groups, count int64, table Table, overflow *Groups, status Span) error
	// Compact writes the groups of the slots [first, end) of a table. The end table.Slots includes
	// the groups that lie behind the slots.
	Compact(shape *Shape, table Table, first, end int64, into *Groups) error

	// DecompressSnappy decompresses blocks, and their chunks, side by side.
	DecompressSnappy(b *Blocks) error
	// ExpandPages makes pages of other encodings plain.
	ExpandPages(e *Expansions) error
	// NumberStrings gives the strings of pages their numbers, and lists the strings that have none.
	NumberStrings(s *Strings) error
	// AddStrings takes the numbers of the first `missing` listed strings, gives them to all strings
	// that are equal, and adds the strings to Known while there is room.
	AddStrings(s *Strings, missing int64) error
	// DecodePages decodes pages of some columns, at most OutputsMax, each to its values, and to 1 in
	// its bitmap for values that are not NULL. A NULL gets the value 0.
	DecodePages(columns []*Pages) error
	// Evaluate computes columns of rows from others, and leaves out rows that do not pass.
	Evaluate(e *Evaluation) error
	// PackKeys packs the values of columns into keys.
	PackKeys(k *KeyParts) error
	// Recode gives codes the entries of a table in their place.
	Recode(c *Codes) error
}
