package engine

import (
	"fmt"
	"math"
	"math/big"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/partition"
)

// encoder turns record batches into tiles. It belongs to one worker.
type encoder struct {
	bound   *spec.Bound
	columns []columnReader
	needed  []bool     // by column: its words are, and not just its codes or NULLs
	words   [][]uint64 // of the tile, by column, natural
	bufs    [][]uint64 // by argument
	keys    []uint64   // of the tile, packed, when they cannot be shared
	tile    spec.Tile
	base    uint64 // position of the batch's first row
}

// newEncoder returns an encoder; interners are by key, of the interned ones.
func newEncoder(b *spec.Bound, interners []*interner) *encoder {
	e := &encoder{
		bound:   b,
		columns: make([]columnReader, len(b.Columns)),
		needed:  make([]bool, len(b.Columns)),
		words:   make([][]uint64, len(b.Columns)),
		bufs:    make([][]uint64, len(b.Args)),
		tile: spec.Tile{
			Args:  make([][]uint64, len(b.Args)),
			Valid: make([][]uint8, len(b.Columns)),
		},
	}
	for c := range e.columns {
		e.columns[c].col = &b.Columns[c]
	}
	for k, c := range b.KeyColumns {
		if interners[k] != nil {
			e.columns[c].interner = interners[k]
		} else {
			e.needed[c] = true
		}
	}
	for i := range b.Args {
		if c := b.Args[i].Column; c >= 0 {
			e.needed[c] = true
		}
	}
	return e
}

// setBatch turns the encoder to a batch, whose columns are those of Bound.Columns, in that order.
func (e *encoder) setBatch(batch arrow.RecordBatch, position uint64) error {
	if int(batch.NumCols()) != len(e.columns) {
		return fmt.Errorf("a batch has %d columns, %d were asked for", batch.NumCols(), len(e.columns))
	}
	e.base = position
	for c := range e.columns {
		if err := e.columns[c].reset(batch.Column(c)); err != nil {
			return err
		}
	}
	return nil
}

// encode returns a tile of the batch's rows from from on, at most up to row to. It is valid until
// the next call, and shares memory with the batch.
func (e *encoder) encode(from, to int) (*spec.Tile, error) {
	t := &e.tile
	t.Rows = min(spec.TileRows, to-from)
	for c := range e.columns {
		r := &e.columns[c]
		var err error
		if t.Valid[c], err = r.valid(from, t.Rows); err != nil {
			return nil, err
		}
		if !e.needed[c] {
			continue
		}
		if e.words[c], err = r.natural(from, t.Rows); err != nil {
			return nil, err
		}
	}
	if err := e.packKeys(t, from); err != nil {
		return nil, err
	}
	for a := range e.bound.Args {
		t.Args[a] = e.arg(a, from, t.Rows)
	}
	return t, nil
}

// packKeys writes the packed keys of the tile, whose first row is row from of the batch.
func (e *encoder) packKeys(t *spec.Tile, from int) error {
	l := &e.bound.Keys
	if l.Words == 0 {
		return nil
	}
	if t.Keys = e.sharedKeys(t); t.Keys != nil {
		return nil
	}
	e.keys = grow(e.keys, t.Rows*l.Words)
	t.Keys = e.keys
	clear(t.Keys)
	for i, c := range e.bound.KeyColumns {
		f := &l.Fields[i]
		words, valid := e.words[c], t.Valid[c]
		switch {
		case f.Interned:
			codes, err := e.columns[c].internedCodes(from, t.Rows, valid)
			if err != nil {
				return err
			}
			packIntegers(t.Keys, l.Words, f, codes, nil)
		case f.Kind.Words() == 2:
			packPairs(t.Keys, l.Words, f, words, valid)
		case f.Kind == spec.Float64:
			packFloats(t.Keys, l.Words, f, words, valid)
		default:
			if row := packIntegers(t.Keys, l.Words, f, words, valid); row >= 0 {
				return fmt.Errorf("column %q holds %d, outside the range %d to %d that its statistics give: the file contradicts itself",
					e.bound.Columns[c].Name, int64(words[row]), f.Base, f.Base+int64(f.Span))
			}
		}
	}
	return nil
}

// sharedKeys returns the words of the only key column, where they are the packed keys as they are,
// or nil.
func (e *encoder) sharedKeys(t *spec.Tile) []uint64 {
	l := &e.bound.Keys
	if len(l.Fields) != 1 {
		return nil
	}
	f, c := &l.Fields[0], e.bound.KeyColumns[0]
	switch {
	case f.Interned, f.Kind == spec.Float64, f.Kind.Words() != l.Words, t.Valid[c] != nil:
		return nil
	case l.Words == 1 && (f.Base != 0 || f.Span < math.MaxUint64):
		return nil
	}
	return e.words[c]
}

// packIntegers packs a field and returns -1, or the row that is outside the field's range.
func packIntegers(keys []uint64, width int, f *spec.KeyField, words []uint64, valid []uint8) (outside int) {
	var most uint64
	switch {
	case valid != nil:
		most = packNullable(keys, width, f, words, valid)
	case width == 1:
		base, shift := uint64(f.Base), f.Shift
		keys = keys[:len(words)]
		for i, v := range words {
			code := v - base
			most = max(most, code)
			keys[i] |= code << (shift & 63)
		}
	default:
		for i, v := range words {
			code := v - uint64(f.Base)
			most = max(most, code)
			keys[i*width+f.Word] |= code << f.Shift
		}
	}
	if most > f.Span {
		for i, v := range words {
			if v-uint64(f.Base) > f.Span && (valid == nil || valid[i] != 0) {
				return i
			}
		}
	}
	return -1
}

// packNullable packs an integer field with NULLs, without a branch on them, and returns the largest
// code of the others.
func packNullable(keys []uint64, width int, f *spec.KeyField, words []uint64, valid []uint8) (most uint64) {
	nullCode, spare := f.NullCode()
	if !spare {
		nullCode = 0
	}
	valid = valid[:len(words)]
	for i, v := range words {
		ok := -uint64(valid[i])
		code := (v - uint64(f.Base)) & ok
		most = max(most, code)
		keys[i*width+f.Word] |= (code | nullCode&^ok) << (f.Shift & 63)
		if !spare {
			keys[i*width+f.NullWord] |= (ok + 1) << (f.NullBit & 63)
		}
	}
	return most
}

// packFloats packs floating-point values such that equal values have equal codes: -0 is 0, and
// all NaNs are one. A field of at most 33 bits holds the bits of a float32.
func packFloats(keys []uint64, width int, f *spec.KeyField, words []uint64, valid []uint8) {
	nullCode, spare := f.NullCode()
	for i, w := range words {
		v := math.Float64frombits(w)
		var code uint64
		switch {
		case valid != nil && valid[i] == 0:
			if spare {
				code = nullCode
			} else {
				keys[i*width+f.NullWord] |= 1 << f.NullBit
			}
		case v == 0:
		case f.Bits < 64:
			code = uint64(math.Float32bits(canonicalNaN32(v)))
		case v != v:
			code = math.Float64bits(math.NaN())
		default:
			code = w
		}
		keys[i*width+f.Word] |= code << f.Shift
	}
}

// canonicalNaN32 returns a float64 that came from a float32 as one, with one NaN for all.
func canonicalNaN32(v float64) float32 {
	if v != v {
		return float32(math.NaN())
	}
	return float32(v)
}

// packPairs packs a field of two words.
func packPairs(keys []uint64, width int, f *spec.KeyField, words []uint64, valid []uint8) {
	null := spec.Bytes2{}
	if f.Kind == spec.Bytes {
		null = spec.NullBytes()
	}
	for i := range len(words) / 2 {
		at := i*width + f.Word
		if valid != nil && valid[i] == 0 {
			keys[at], keys[at+1] = null[0], null[1]
			if f.NullBit >= 0 {
				keys[i*width+f.NullWord] |= 1 << f.NullBit
			}
			continue
		}
		keys[at], keys[at+1] = words[2*i], words[2*i+1]
	}
}

// arg returns an argument of n rows.
func (e *encoder) arg(a, from, n int) []uint64 {
	arg := &e.bound.Args[a]
	if arg.Encoding == spec.Position {
		buf := e.buf(a, n)
		for i := range buf {
			buf[i] = e.base + uint64(from+i)
		}
		return buf
	}
	words, kind := e.words[arg.Column], e.bound.Columns[arg.Column].Kind
	switch arg.Encoding {
	case spec.Ordered:
		buf := e.buf(a, len(words))
		order(buf, words, kind)
		return buf
	case spec.Double:
		if kind == spec.Float64 {
			return words
		}
		buf := e.buf(a, n)
		toDouble(buf, words, &e.bound.Columns[arg.Column])
		return buf
	case spec.Hashed:
		buf := e.buf(a, n)
		hashValues(buf, words, kind)
		return buf
	}
	return words
}

func (e *encoder) buf(a, words int) []uint64 {
	e.bufs[a] = grow(e.bufs[a], words)
	return e.bufs[a]
}

const signBit = 1 << 63

// order writes words in the Ordered encoding.
func order(out, words []uint64, kind spec.Kind) {
	switch kind {
	case spec.Int64:
		for i, w := range words {
			out[i] = w ^ signBit
		}
	case spec.Uint64:
		copy(out, words)
	case spec.Float64:
		for i, w := range words {
			out[i] = orderFloat(w)
		}
	case spec.Int128:
		for i := 0; i < len(words); i += 2 {
			out[i], out[i+1] = words[i], words[i+1]^signBit
		}
	}
}

// orderFloat maps the bits of a float64 to unsigned order: negative numbers are complemented,
// others get the sign bit.
func orderFloat(w uint64) uint64 {
	v := math.Float64frombits(w)
	switch {
	case v == 0:
		return signBit
	case v != v:
		return math.MaxUint64
	}
	return w ^ (uint64(int64(w)>>63) | signBit)
}

// unorder returns the natural word of an Ordered word.
func unorder(w uint64, kind spec.Kind) uint64 {
	switch kind {
	case spec.Int64:
		return w ^ signBit
	case spec.Float64:
		if w == math.MaxUint64 {
			return math.Float64bits(math.NaN())
		}
		return w ^ (^uint64(int64(w)>>63) | signBit)
	}
	return w
}

// toDouble writes numbers as float64, decimals scaled.
func toDouble(out, words []uint64, col *spec.Column) {
	divisor := 1.0
	if d, ok := col.Type.(arrow.DecimalType); ok {
		divisor = math.Pow10(int(d.GetScale()))
	}
	for i := range out {
		var v float64
		switch col.Kind {
		case spec.Int64:
			v = float64(int64(words[i]))
		case spec.Uint64:
			v = float64(words[i])
		case spec.Int128:
			v = doubleOf128(words[2*i], words[2*i+1])
		}
		out[i] = math.Float64bits(v / divisor)
	}
}

// doubleOf128 rounds a 128-bit integer to the nearest float64.
func doubleOf128(low, high uint64) float64 {
	if int64(high) == int64(low)>>63 {
		return float64(int64(low))
	}
	v, _ := new(big.Float).SetInt(bigOf([]uint64{low, high})).Float64()
	return v
}

// bigOf returns a two's complement integer of any number of words, the lowest first.
func bigOf(words []uint64) *big.Int {
	v := new(big.Int).SetInt64(int64(words[len(words)-1]))
	for i := len(words) - 2; i >= 0; i-- {
		v.Lsh(v, 64)
		v.Add(v, new(big.Int).SetUint64(words[i]))
	}
	return v
}

// hashValues writes a hash of each value; equal values, as count(distinct) sees them, have equal
// hashes.
func hashValues(out, words []uint64, kind spec.Kind) {
	switch kind {
	case spec.Bytes:
		values := unsafe.Slice((*spec.Bytes2)(unsafe.Pointer(unsafe.SliceData(words))), len(out))
		for i := range values {
			out[i] = partition.HashBytes(values[i].Bytes(), 0)
		}
	case spec.Int128:
		partition.HashKeysN(words, 2, 0, out)
	default:
		order(out, words, kind)
		partition.HashKeys1(out, 0, out)
	}
}
