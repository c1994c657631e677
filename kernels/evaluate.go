package kernels

import (
	"encoding/binary"

	"github.com/mpga/mpga/internal/rowcode"
)

// Evaluation is what Evaluate takes: the Rows of inputs, and where their outputs go, by Code's numbers, at
// most InputsMax and OutputsMax. Head gets an EvaluationHead. Outputs have room for Room rows, Rows at least; if rows
// may not pass, rows that pass come first, in any order. A NULL gets the value 0.
type Evaluation struct {
	Code    *rowcode.Code
	Rows    int64
	Room    int64
	Inputs  []Column
	Outputs []Column
	Lookups []LookupTable // by Code.Lookups
	Fetched []Column      // by Code.Fetched: words of 8 bytes of the lookups' rows
	Head    Span
}

// LookupTable is the rows of a rowcode.Lookup: BuildTable has made Table of their keys of 8 bytes, which are Unique but
// for Code.Each. Marks gets a bitmap of the rows that Code marks; it has no buffer where Code.Marked lacks the lookup.
type LookupTable struct {
	Rows  int64
	Keys  Span
	Table JoinTable
	Marks Span
}

// BitmapBytes returns the bytes of a bit for each of some rows, in words of 4 bytes.
func BitmapBytes(rows int64) int64 { return ceilDiv(rows, 32) * 4 }

// Column is values of one type, of 4 or 8 bytes.
type Column struct {
	Type   ColumnType
	Values Span
	Valid  Span // a bitmap; without a buffer, no value is NULL, or is to be
}

// What the parameters of a kernel have room for.
const (
	InputsMax  = 24
	OutputsMax = ColumnsMax + KeyPartsMax
)

// EvaluationHead is how an Evaluate ended.
type EvaluationHead struct {
	Rows uint64 // that pass
	// a condition or an output is an error, or NULL where it is not to be, or Code.Each makes more rows than there is
	// room for: outputs may be anything
	Wrong bool
}

// EvaluationHeadBytes is the size of an EvaluationHead in device memory.
const EvaluationHeadBytes = 16

// EvaluationHeadOf reads a head that was copied to the host.
func EvaluationHeadOf(b []byte) EvaluationHead {
	return EvaluationHead{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]) != 0}
}
