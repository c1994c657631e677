package encode

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Encoder turns record batches into tiles. It belongs to one worker.
type Encoder struct {
	bound   *rowdata.Bound
	columns []columnReader // by column of bound
	Dense   bool           // whoever takes the tiles takes group numbers in place of keys
	base    uint64         // position of the batch's first row

	keyTables []valueTable // by key
	argTables []valueTable // by argument

	rows    int          // of a tile, at most
	tile    rowdata.Tile // the last
	words   [][]uint64   // of the tile, by column, in the natural encoding; nil before they are asked for
	bufs    [][]uint64   // memory of the tile's arguments, by argument
	keys    []uint64     // memory of the tile's keys, where they cannot be shared
	groups  []uint32     // memory of the tile's group numbers, where Dense is set
	codes   []uint64     // scratch: of one key column
	doubles []uint64     // scratch: of one column of a pair
}

// NewEncoder returns an encoder; interners are by column, of the columns that are interned keys.
func NewEncoder(b *rowdata.Bound, interners []*Interner) *Encoder {
	e := &Encoder{
		bound:   b,
		rows:    tileRows(len(b.Columns) + len(b.Args)),
		columns: make([]columnReader, len(b.Columns)),
		words:   make([][]uint64, len(b.Columns)),
		bufs:    make([][]uint64, len(b.Args)),

		keyTables: make([]valueTable, len(b.KeyColumns)),
		argTables: make([]valueTable, len(b.Args)),

		tile: rowdata.Tile{
			Args:  make([][]uint64, len(b.Args)),
			Valid: make([][]uint8, len(b.Columns)),
		},
	}
	for c := range e.columns {
		e.columns[c].col, e.columns[c].interner = &b.Columns[c], interners[c]
	}
	return e
}

// tileRows returns how many rows to put in a tile, given its buffers: they take 4 MiB at most, unless there are
// thousands.
func tileRows(buffers int) int {
	const wordsMax, least = 1 << 19, 64
	rows := rowdata.TileRows
	for rows > least && rows*buffers > wordsMax {
		rows /= 2
	}
	return rows
}

// SetBatch turns the encoder to a batch, whose columns are Bound.Columns, in their order.
func (e *Encoder) SetBatch(batch arrow.RecordBatch, position uint64) error {
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

// Encode returns a tile of the batch's rows from from on, at most up to row to. It is valid until
// the next call, and shares memory with the batch.
func (e *Encoder) Encode(from, to int) (*rowdata.Tile, error) {
	t := &e.tile
	t.Rows = min(e.rows, to-from)
	clear(e.words)
	for c := range e.columns {
		var err error
		if t.Valid[c], err = e.columns[c].valid(from, t.Rows); err != nil {
			return nil, err
		}
	}
	if err := e.packKeys(t, from); err != nil {
		return nil, err
	}
	for a := range e.bound.Args {
		var err error
		if t.Args[a], err = e.arg(a, from, t.Rows); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// natural returns the natural words of a column of the tile, whose first row is row from of the
// batch.
func (e *Encoder) natural(c, from int) (words []uint64, err error) {
	if e.words[c] == nil {
		e.words[c], err = e.columns[c].natural(from, e.tile.Rows)
	}
	return e.words[c], err
}

// Plain returns the bytes of n values of a column of Bound.Columns from row from on, if the batch has
// them without NULLs and in width bytes each; or nil.
func (e *Encoder) Plain(column, width, from, n int) []byte {
	return e.columns[column].plain(width, from, n)
}

// packKeys writes the packed keys of the tile, whose first row is row from of the batch.
func (e *Encoder) packKeys(t *rowdata.Tile, from int) (err error) {
	l := &e.bound.Keys
	if l.Words == 0 {
		return nil
	}
	if e.sharesKeys(t) {
		t.Keys, err = e.natural(e.bound.KeyColumns[0], from)
		return err
	}
	e.keys = rowdata.Grow(e.keys, t.Rows*l.Words)
	t.Keys, t.Groups = e.keys, nil
	for k := range e.bound.KeyColumns {
		packed, err := e.packCodes(t, k, from)
		if err == nil && !packed {
			err = e.packValues(t, k, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// packCodes packs a key column by its dictionary: what an entry adds to a packed key is made once.
// N3. It returns false, and has done nothing, where the column has no dictionary or needs more than
// a word of a key.
func (e *Encoder) packCodes(t *rowdata.Tile, k, from int) (packed bool, err error) {
	f, r := &e.bound.Keys.Fields[k], &e.columns[e.bound.KeyColumns[k]]
	table := &e.keyTables[k]
	if r.dict == nil || f.NullBit >= 0 || f.Kind.Words() == 2 {
		return false, nil
	}
	if !f.Interned && !table.fill(r.dict, func() bool { return r.dict.pack(table, f) }) {
		return false, nil
	}
	width, valid := e.bound.Keys.Words, t.Valid[e.bound.KeyColumns[k]]
	look := func(out []uint64) error {
		if !f.Interned {
			return r.lookUp(out, table.words, from)
		}
		err := r.numbers(out, from)
		if f.Shift > 0 {
			for i := range out {
				out[i] <<= f.Shift & 63
			}
		}
		return err
	}
	if width == 1 && valid == nil && k == 0 {
		return true, look(t.Keys)
	}
	e.codes = rowdata.Grow(e.codes, t.Rows)
	if err := look(e.codes); err != nil {
		return true, err
	}
	if valid != nil {
		null, _ := f.NullCode()
		if f.Interned {
			null = 0
		}
		replaceNulls(e.codes, valid, null<<f.Shift)
	}
	e.clearKeys(k)
	if width == 1 {
		for i, code := range e.codes {
			t.Keys[i] |= code
		}
		return true, nil
	}
	for i, code := range e.codes {
		t.Keys[i*width+f.Word] |= code
	}
	return true, nil
}

// clearKeys makes packed keys ready for the first of their fields.
func (e *Encoder) clearKeys(k int) {
	if k == 0 {
		clear(e.keys)
	}
}

// replaceNulls puts a word in the place of each word of a NULL.
func replaceNulls(words []uint64, valid []uint8, null uint64) {
	valid = valid[:len(words)]
	for i, w := range words {
		ok := -uint64(valid[i])
		words[i] = w&ok | null&^ok
	}
}

// packValues packs a key column by the values of its rows.
func (e *Encoder) packValues(t *rowdata.Tile, k, from int) error {
	l, c := &e.bound.Keys, e.bound.KeyColumns[k]
	f, valid := &l.Fields[k], t.Valid[c]
	words, err := e.natural(c, from)
	if err != nil {
		return err
	}
	if f.Interned {
		e.codes = rowdata.Grow(e.codes, t.Rows)
		if err := e.columns[c].internRows(e.codes, words, valid); err != nil {
			return err
		}
		words, valid = e.codes, nil
	}
	var row int
	switch first := k == 0 && l.Words == 1 && valid == nil && f.Kind != rowdata.Float64; {
	case first && e.Dense && len(l.Fields) == 1:
		e.groups = rowdata.Grow(e.groups, t.Rows)
		t.Keys, t.Groups = nil, e.groups
		row = packGroups(t.Groups, f, words)
	case first:
		row = packFirst(t.Keys, f, words)
	case len(l.Fields) == 1 && f.NullBit >= 0 && valid != nil && f.Kind.Words() == 1 && f.Kind != rowdata.Float64:
		packBeside(t.Keys, f, words, valid)
		row = -1 // every word is within the field's range
	default:
		e.clearKeys(k)
		row = PackField(t.Keys, l.Words, f, words, valid)
	}
	if row >= 0 {
		return fmt.Errorf("column %q holds %d, outside the range %d to %d that its statistics give: "+
			"the file contradicts itself",
			e.bound.Columns[c].Name, int64(words[row]), f.Base, f.Base+int64(f.Span))
	}
	return nil
}

// sharesKeys says whether the words of the only key column are the packed keys as they are.
func (e *Encoder) sharesKeys(t *rowdata.Tile) bool {
	l := &e.bound.Keys
	if len(l.Fields) != 1 {
		return false
	}
	f, c := &l.Fields[0], e.bound.KeyColumns[0]
	if f.Interned || f.Kind == rowdata.Float64 || f.Kind.Words() != l.Words || t.Valid[c] != nil {
		return false
	}
	return l.Words > 1 || f.Base == 0 && f.Span == math.MaxUint64
}

// PackField packs a field, which is zero so far, of all rows. It returns -1, or the first row whose
// value is outside the field's range.
func PackField(keys []uint64, width int, f *rowdata.KeyField, words []uint64, valid []uint8) (outside int) {
	switch {
	case f.Kind.Words() == 2:
		packPairs(keys, width, f, words, valid)
	case f.Kind == rowdata.Float64:
		packFloats(keys, width, f, words, valid)
	default:
		return packIntegers(keys, width, f, words, valid)
	}
	return -1
}

// packIntegers is PackField for integers and codes.
func packIntegers(keys []uint64, width int, f *rowdata.KeyField, words []uint64, valid []uint8) (outside int) {
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
		return outsideRange(f, words, valid)
	}
	return -1
}

// outsideRange returns the first row whose value is outside a field's range, or -1.
func outsideRange(f *rowdata.KeyField, words []uint64, valid []uint8) int {
	for i, v := range words {
		if v-uint64(f.Base) > f.Span && (valid == nil || valid[i] != 0) {
			return i
		}
	}
	return -1
}

// packFirst is packIntegers for the first field of keys of one word, without NULLs: it takes half
// the time, as it loads no keys and has no chain of maxima.
func packFirst[K uint32 | uint64](keys []K, f *rowdata.KeyField, words []uint64) (outside int) {
	base, span, shift := uint64(f.Base), f.Span, f.Shift
	keys = keys[:len(words)]
	var suspect uint64 // its first bit is set if some code is above the span, and maybe otherwise
	for i, v := range words {
		code := v - base
		suspect |= code | (span - code)
		keys[i] = K(code << (shift & 63))
	}
	if suspect>>63 != 0 {
		return outsideRange(f, words, nil)
	}
	return -1
}

// packBeside is packIntegers for the only field of keys, whose NULLs have a bit in a word of its
// own. It takes a third of the time, as it writes each key once.
func packBeside(keys []uint64, f *rowdata.KeyField, words []uint64, valid []uint8) {
	base, pairs := uint64(f.Base), unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys)/2)
	pairs, valid = pairs[:len(words)], valid[:len(words)]
	for i, v := range words {
		ok := uint64(valid[i])
		pairs[i] = [2]uint64{(v - base) & -ok, ok ^ 1}
	}
}

// packNullable packs an integer field with NULLs, without a branch on them, and returns the largest
// code of the other values.
func packNullable(keys []uint64, width int, f *rowdata.KeyField, words []uint64, valid []uint8) (most uint64) {
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
// all NaNs have one code. A field of at most 33 bits holds the bits of a float32.
func packFloats(keys []uint64, width int, f *rowdata.KeyField, words []uint64, valid []uint8) {
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
		case v != v:
			v = math.NaN()
			fallthrough
		default:
			if code = math.Float64bits(v); f.Bits < 64 {
				code = uint64(math.Float32bits(float32(v)))
			}
		}
		keys[i*width+f.Word] |= code << f.Shift
	}
}

// packPairs packs a field of two words.
func packPairs(keys []uint64, width int, f *rowdata.KeyField, words []uint64, valid []uint8) {
	null := rowdata.Bytes2{}
	if f.Kind == rowdata.Bytes {
		null = rowdata.NullBytes()
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

// arg returns an argument of the n rows of the batch from row from on.
func (e *Encoder) arg(a, from, n int) ([]uint64, error) {
	arg := &e.bound.Args[a]
	if arg.Encoding == rowdata.Position {
		buf := e.buf(a, n)
		for i := range buf {
			buf[i] = e.base + uint64(from+i)
		}
		return buf, nil
	}
	if arg.Encoding == rowdata.Pair {
		return e.pair(a, from, n)
	}
	col, r := &e.bound.Columns[arg.Column], &e.columns[arg.Column]
	if r.dict != nil && arg.Words == 1 { // each entry is encoded once
		table := &e.argTables[a]
		table.fill(r.dict, func() bool {
			table.words = Values(r.dict.words, r.dict.len, arg.Encoding, col, &table.buf)
			return true
		})
		buf := e.buf(a, n)
		return buf, r.lookUp(buf, table.words, from)
	}
	words, err := e.natural(arg.Column, from)
	if err != nil {
		return nil, err
	}
	return Values(words, n, arg.Encoding, col, &e.bufs[a]), nil
}

// pair returns the argument of two columns, side by side.
func (e *Encoder) pair(a, from, n int) ([]uint64, error) {
	arg, buf := &e.bound.Args[a], e.buf(a, 2*n)
	for i, c := range []int{arg.Column, arg.Other} {
		words, err := e.natural(c, from)
		if err != nil {
			return nil, err
		}
		e.doubles = rowdata.Grow(e.doubles, n)
		for row, w := range Values(words, n, rowdata.Double, &e.bound.Columns[c], &e.doubles)[:n] {
			buf[2*row+1-i] = orderFloat(w)
		}
	}
	return buf, nil
}

// Values returns n values of a column in an encoding: in words as they are, or in buf, which it
// grows.
func Values(words []uint64, n int, encoding rowdata.Encoding, col *rowdata.Column, buf *[]uint64) []uint64 {
	switch encoding {
	case rowdata.Ordered:
		*buf = rowdata.Grow(*buf, len(words))
		Order(*buf, words, col.Kind)
		return *buf
	case rowdata.Double:
		if col.Kind == rowdata.Float64 {
			return words
		}
		*buf = rowdata.Grow(*buf, n)
		Doubles(*buf, words, col)
		return *buf
	case rowdata.Hashed:
		*buf = rowdata.Grow(*buf, n)
		hashValues(*buf, words, col.Kind)
		return *buf
	}
	return words
}

func (e *Encoder) buf(a, words int) []uint64 {
	e.bufs[a] = rowdata.Grow(e.bufs[a], words)
	return e.bufs[a]
}

const signBit = 1 << 63

// Order writes words in the Ordered encoding.
func Order(out, words []uint64, kind rowdata.Kind) {
	switch kind {
	case rowdata.Int64:
		for i, w := range words {
			out[i] = w ^ signBit
		}
	case rowdata.Uint64:
		copy(out, words)
	case rowdata.Float64:
		for i, w := range words {
			out[i] = orderFloat(w)
		}
	case rowdata.Int128:
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

// Unorder returns the natural word of an Ordered word.
func Unorder(w uint64, kind rowdata.Kind) uint64 {
	switch kind {
	case rowdata.Int64:
		return w ^ signBit
	case rowdata.Float64:
		if w == math.MaxUint64 {
			return math.Float64bits(math.NaN())
		}
		return w ^ (^uint64(int64(w)>>63) | signBit)
	}
	return w
}

// UnorderValue turns one value from the Ordered to the natural encoding, in place.
func UnorderValue(words []uint64, kind rowdata.Kind) {
	switch kind {
	case rowdata.Bytes:
	case rowdata.Int128:
		words[1] ^= signBit
	default:
		words[0] = Unorder(words[0], kind)
	}
}

// Doubles writes the doubles that are nearest to the numbers of a column.
func Doubles(out, words []uint64, col *rowdata.Column) {
	scale := col.Scale()
	const digitsExact = 15 // a double holds integers of 15 digits and 10^15 exactly
	d, ok := col.Type.(arrow.DecimalType)
	if ok && col.Kind == rowdata.Int64 && d.GetPrecision() <= digitsExact && scale >= 0 && scale <= digitsExact {
		divisor := math.Pow10(scale)
		for i := range out {
			out[i] = math.Float64bits(float64(int64(words[i])) / divisor)
		}
		return
	}
	for i := range out {
		var v float64
		switch {
		case col.Kind == rowdata.Int128:
			v = digits.Double128(words[2*i], words[2*i+1], scale)
		case col.Kind == rowdata.Uint64:
			v = float64(words[i])
		case scale == 0:
			v = float64(int64(words[i]))
		default:
			v = digits.Double(int64(words[i]), scale)
		}
		out[i] = math.Float64bits(v)
	}
}

// hashValues writes a hash of each value; equal values, as count(distinct) sees them, have equal
// hashes.
func hashValues(out, words []uint64, kind rowdata.Kind) {
	switch kind {
	case rowdata.Bytes:
		values := unsafe.Slice((*rowdata.Bytes2)(unsafe.Pointer(unsafe.SliceData(words))), len(out))
		for i := range values {
			out[i] = partition.HashBytes(values[i].Bytes(), 0)
		}
	case rowdata.Int128:
		partition.HashKeysN(words, 2, 0, out)
	default:
		Order(out, words, kind)
		partition.HashKeys1(out, 0, out)
	}
}
