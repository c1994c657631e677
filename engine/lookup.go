package engine

import (
	"errors"
	"fmt"
	"math"
	mathbits "math/bits"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// lookup is the rows of a Hashed for devices, which find them by keys of one word: one key's value as it is, several
// packed. Its columns are the Hashed's.
type lookup struct {
	of    *Hashed
	first []int64  // by batch, and behind the last: the number of its first row
	near  []uint32 // by number / nearRows: the batch of the first such row
}

// nearRows is how many rows a place of lookup.near stands for: few batches begin among them.
const nearRows = 1 << 10

var _ device.GatheredLookup = (*lookup)(nil)

// Lookup returns the rows for devices, which fetch some columns of them, or why they cannot have them.
func (h *Hashed) Lookup(fetched []int) (rowcode.Lookup, error) {
	fields := h.keys.Keys.Fields
	for i := range fields {
		isInteger := fields[i].Kind == rowdata.Int64 || fields[i].Kind == rowdata.Uint64
		switch {
		case !isInteger || fields[i].Interned:
			return nil, errors.New("a key of a join is no integer, date or time")
		case h.nullsEqual[i] && slices.ContainsFunc(h.columns[i][:len(h.batches)], hasNull): // else they have no partner
			return nil, errors.New("NULLs are equal in a join")
		}
		if err := hasWords(h.schema.Field(i).Type); err != nil {
			return nil, err
		}
	}
	for _, c := range fetched {
		if err := hasWords(h.schema.Field(c).Type); err != nil {
			return nil, err
		}
	}
	switch {
	case len(fields) > 1 && h.keys.Keys.Words != 1:
		return nil, errors.New("the keys of a join take more than 64 bits together")
	case h.rows >= math.MaxUint32:
		return nil, fmt.Errorf("the build side of a join has %d rows", h.rows)
	}
	h.lookupOnce.Do(func() {
		h.lookup = &lookup{of: h}
		rows := int64(0)
		for i, b := range h.batches {
			h.lookup.first = append(h.lookup.first, rows)
			rows += b.NumRows()
			for int64(len(h.lookup.near))*nearRows < rows {
				h.lookup.near = append(h.lookup.near, uint32(i))
			}
		}
		h.lookup.first = append(h.lookup.first, rows)
	})
	return h.lookup, nil
}

func hasNull(a arrow.Array) bool { return a.NullN() > 0 }

// Repeats says whether some rows have the same key.
func (h *Hashed) Repeats() bool { return h.build.Repeats() }

// Rows implements rowcode.Lookup.
func (l *lookup) Rows() int64 { return l.of.rows }

// IsText implements rowcode.Lookup.
func (l *lookup) IsText(column int) bool {
	kind, err := rowdata.KindOf(l.of.schema.Field(column).Type)
	return err == nil && kind == rowdata.Bytes
}

// batchOf returns the batch that has a row.
func (l *lookup) batchOf(row int64) int {
	batch := int(l.near[row/nearRows])
	for l.first[batch+1] <= row {
		batch++
	}
	return batch
}

// each calls a function with the parts of batches that hold n rows from first on, and with the places of their first
// rows among these.
func (l *lookup) each(first, n int64, f func(part arrow.RecordBatch, at int) error) error {
	if n == 0 {
		return nil
	}
	batch := l.batchOf(first)
	for at := int64(0); at < n; batch++ {
		of := l.of.batches[batch]
		from := first + at - l.first[batch]
		part := of.NewSlice(from, min(from+n-at, of.NumRows()))
		err := f(part, int(at))
		at += part.NumRows()
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// Words implements rowcode.Lookup.
func (l *lookup) Words(column int, first int64, words []int64, valid []byte) error {
	packer := newKeyPacker(l.of.keys)
	return l.each(first, int64(len(words)), func(part arrow.RecordBatch, at int) error {
		switch {
		case column != rowcode.Keys:
			return wordsOf(part.Column(column), words[at:], valid[at:])
		case len(l.of.nullsEqual) == 1:
			return wordsOf(part.Column(0), words[at:], valid[at:])
		}
		return packer.words(part, words[at:], valid[at:])
	})
}

// words packs the keys of a batch to words; a key is valid where no part of it is NULL.
func (k *keyPacker) words(batch arrow.RecordBatch, words []int64, valid []byte) error {
	return k.tiles(batch, func(t *rowdata.Tile, from int) error {
		for i, key := range t.Keys[:t.Rows] {
			words[from+i], valid[from+i] = int64(key), 1
		}
		for _, of := range t.Valid {
			for i := range of[:min(t.Rows, len(of))] {
				valid[from+i] &= of[i]
			}
		}
		return nil
	})
}

// hasWords tells why devices cannot have the values of a type, if they cannot.
func hasWords(of arrow.DataType) error {
	if kind, err := rowdata.KindOf(of); err != nil || kind == rowdata.Bytes {
		return err
	}
	none := array.MakeArrayOfNull(memory.DefaultAllocator, of, 0)
	defer none.Release()
	return wordsOf(none, nil, nil)
}

// wordsOf writes the values of an array as devices have inputs.
func wordsOf(a arrow.Array, words []int64, valid []byte) error {
	if hasNull(a) {
		for i := range a.Len() {
			valid[i] = 0
			if a.IsValid(i) {
				valid[i] = 1
			}
		}
	} else {
		for i := range valid[:a.Len()] {
			valid[i] = 1
		}
	}
	switch a := a.(type) {
	case *array.Uint64:
		for i, v := range a.Uint64Values() {
			words[i] = int64(v)
		}
	case *array.Float64:
		for i, v := range a.Float64Values() {
			words[i] = int64(math.Float64bits(v))
		}
	case *array.Float32:
		for i, v := range a.Float32Values() {
			words[i] = int64(math.Float64bits(float64(v)))
		}
	case *array.Boolean:
		for i := range a.Len() {
			words[i] = 0
			if a.Value(i) {
				words[i] = 1
			}
		}
	case *array.Decimal128:
		for i, v := range a.Values() {
			words[i] = int64(v.LowBits())
		}
	default:
		values, ok := vector.Integers(a)
		if !ok {
			return fmt.Errorf("a device has no %s", a.DataType())
		}
		copy(words, values)
	}
	return nil
}

// Strings implements rowcode.Lookup.
func (l *lookup) Strings(column int, first int64, n int, put func(i int, s []byte)) error {
	return l.each(first, int64(n), func(part arrow.RecordBatch, at int) error {
		switch a := part.Column(column).(type) {
		case array.StringLike:
			for i := range a.Len() {
				if a.IsValid(i) {
					s := a.Value(i)
					put(at+i, unsafe.Slice(unsafe.StringData(s), len(s)))
				}
			}
		case interface {
			arrow.Array
			Value(i int) []byte
		}:
			for i := range a.Len() {
				if a.IsValid(i) {
					put(at+i, a.Value(i))
				}
			}
		default:
			return fmt.Errorf("a device has no %s", a.DataType())
		}
		return nil
	})
}

// Gather implements device.GatheredLookup.
func (l *lookup) Gather(mem memory.Allocator, column int, rows []uint64, valid []uint8) (arrow.Array, error) {
	at := make([]gather.Row, len(rows))
	for i, row := range rows {
		if valid != nil && valid[i] == 0 {
			at[i] = l.of.None()
			continue
		}
		batch := l.batchOf(int64(row))
		at[i] = gather.Row{Batch: uint32(batch), Row: uint32(int64(row) - l.first[batch])}
	}
	return gather.Column(mem, l.of.columns[column], at)
}

// Marked implements rowcode.Lookup: the rows have partners.
func (l *lookup) Marked(rows []uint32) {
	batch := 0
	var noted []gather.Row
	for word, bits := range rows {
		for ; bits != 0; bits &= bits - 1 {
			row := int64(32*word + mathbits.TrailingZeros32(bits))
			for row >= l.first[batch]+l.of.batches[batch].NumRows() {
				batch++
			}
			noted = append(noted, gather.Row{Batch: uint32(batch), Row: uint32(row - l.first[batch])})
		}
	}
	l.of.Note(noted)
}
