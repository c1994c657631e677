package expr

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
)

// frame is the rows of a batch for which an expression is evaluated.
type frame struct {
	e    *Evaluator
	n    int     // number of rows, from 1 to vectorRows
	from int     // the first row, if rows is nil
	rows []int32 // the rows of the batch; nil if they are neighbours

	loaded []*vector // by column of the program; nil before the column is loaded
	params []bound   // of the lambdas around
	known  []*vector // by slot, the results of nodes that stand more than once; nil if the program has none
}

// row returns the number in the batch of row i.
func (f *frame) row(i int) int {
	if f.rows != nil {
		return int(f.rows[i])
	}
	return f.from + i
}

// column returns the values of column c of the program.
func (f *frame) column(c int) (v *vector, err error) {
	if f.loaded[c] == nil {
		if f.loaded[c], err = f.load(c); err != nil {
			f.loaded[c], err = nil, fmt.Errorf("column %q: %w", f.e.program.columns[c].name, err)
		}
	}
	return f.loaded[c], err
}

// load reads the rows of the frame from a column.
func (f *frame) load(c int) (*vector, error) {
	arr, col := f.e.arrays[c], &f.e.program.columns[c]
	if d, ok := arr.(*array.Dictionary); ok {
		if d.NullN() == 0 && d.Dictionary().NullN() == 0 && f.e.areFew(&f.e.ofColumns[c], d, f.n) {
			return f.fromEntries(d, col)
		}
		entries, err := f.e.entriesOf(d, c)
		if err != nil {
			return nil, err
		}
		return f.lookUp(d, entries)
	}
	v := f.e.vector(col.typ.kind(), f.n)
	v.null = f.nulls(arr)
	return v, f.fill(v, arr, col)
}

// fromEntries reads the values of the rows from a dictionary, where no row and no entry is NULL.
func (f *frame) fromEntries(d *array.Dictionary, col *column) (*vector, error) {
	entries := d.Dictionary()
	codes, err := f.checkedCodes(d, entries.Len()+1)
	if err != nil {
		return nil, err
	}
	ofEntries := f.e.frameOf(0, f.n, codes)
	defer f.e.done(ofEntries)
	v := f.e.vector(col.typ.kind(), f.n)
	return v, ofEntries.fill(v, entries, col)
}

// nulls returns the frame's rows that are NULL in an array; nil if no row is NULL.
func (f *frame) nulls(arr arrow.Array) []uint64 {
	if arr.NullN() == 0 {
		return nil
	}
	if arr.DataType().ID() == arrow.NULL {
		return f.allNull()
	}
	valid := arr.NullBitmapBytes()
	if len(valid) == 0 {
		return nil
	}
	offset := arr.Data().Offset()
	null := f.e.bitmap(f.n)
	f.copyBits(null, valid, offset)
	null[len(null)-1] |= ^lastMask(f.n)
	var any uint64
	for w := range null {
		null[w] = ^null[w]
		any |= null[w]
	}
	if any == 0 {
		return nil
	}
	return null
}

// copyBits sets the bits of the frame's rows that are set in packed, where row 0 is at the offset.
func (f *frame) copyBits(out []uint64, packed []byte, offset int) {
	if f.rows == nil {
		to := unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), 8*len(out))
		bitutil.CopyBitmap(packed, offset+f.from, f.n, to, 0)
		return
	}
	for i, row := range f.rows {
		if bitutil.BitIsSet(packed, offset+int(row)) {
			out[i>>6] |= 1 << (i & 63)
		}
	}
}

func (f *frame) allNull() []uint64 {
	null := f.e.bitmap(f.n)
	fillAll(null, ^uint64(0))
	return null
}

// fill writes the values of the frame's rows.
func (f *frame) fill(v *vector, arr arrow.Array, col *column) error {
	switch a := arr.(type) {
	case *array.Null:
	case *array.Boolean:
		f.copyBits(v.bits, a.Data().Buffers()[1].Bytes(), a.Data().Offset())
	case *array.Int8:
		widen(f, v.ints, a.Values())
	case *array.Int16:
		widen(f, v.ints, a.Values())
	case *array.Int32:
		widen(f, v.ints, a.Values())
	case *array.Int64:
		copyValues(f, &v.ints, a.Values())
	case *array.Uint8:
		widen(f, v.ints, a.Values())
	case *array.Uint16:
		widen(f, v.ints, a.Values())
	case *array.Uint32:
		widen(f, v.ints, a.Values())
	case *array.Uint64:
		values := a.Values()
		for i := range v.wides {
			v.wides[i] = decimal128.FromU64(values[f.row(i)])
		}
	case *array.Float16:
		for i := range v.floats {
			v.floats[i] = float64(rowdata.FromHalf(a.Value(f.row(i)).Uint16()))
		}
	case *array.Float32:
		widen(f, v.floats, a.Values())
	case *array.Float64:
		copyValues(f, &v.floats, a.Values())
	case *array.Decimal32:
		widen(f, v.ints, unsafeSlice[int32](a.Values()))
	case *array.Decimal64:
		copyValues(f, &v.ints, unsafeSlice[int64](a.Values()))
	case *array.Decimal128:
		if v.wides != nil {
			copyValues(f, &v.wides, a.Values())
			return nil
		}
		values := a.Values()
		for i := range v.ints {
			v.ints[i] = int64(values[f.row(i)].LowBits())
		}
	case *array.Date32:
		widen(f, v.ints, a.Date32Values())
	case *array.Date64:
		return fillScaled(f, v, a.Date64Values(), 1, 86_400_000)
	case *array.Time32:
		return fillScaled(f, v, a.Time32Values(), int64(a.DataType().(*arrow.Time32Type).Unit.Multiplier())/1000, 1)
	case *array.Time64:
		return f.fillUnit(v, col.typ, unsafeSlice[int64](a.Time64Values()), a.DataType().(*arrow.Time64Type).Unit)
	case *array.Timestamp:
		return f.fillUnit(v, col.typ, unsafeSlice[int64](a.TimestampValues()), a.DataType().(*arrow.TimestampType).Unit)
	case *array.Duration:
		return f.fillUnit(v, col.typ, unsafeSlice[int64](a.DurationValues()), a.DataType().(*arrow.DurationType).Unit)
	default:
		if arrow.IsNested(arr.DataType().ID()) {
			return f.fillNested(v, arr, col.typ)
		}
		return f.fillTexts(v, arr)
	}
	return nil
}

// number is what arrow's fixed-width arrays hold.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | float32
}

func widen[O int64 | float64, T number](f *frame, out []O, values []T) {
	if f.rows == nil {
		for i, x := range values[f.from : f.from+f.n] {
			out[i] = O(x)
		}
		return
	}
	for i, row := range f.rows {
		out[i] = O(values[row])
	}
}

// copyValues takes neighbouring rows where they lie, and gathers others.
func copyValues[T any](f *frame, out *[]T, values []T) {
	if f.rows == nil {
		*out = values[f.from : f.from+f.n : f.from+f.n]
		return
	}
	for i, row := range f.rows {
		(*out)[i] = values[row]
	}
}

// unsafeSlice returns values of a named integer type, or of a struct of an integer, as integers.
func unsafeSlice[T, V any](values []V) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// fillUnit writes times of a unit as microseconds, rounded down, or as they are where the type has nanoseconds.
func (f *frame) fillUnit(v *vector, t Type, values []int64, unit arrow.TimeUnit) error {
	if unit == arrow.Microsecond || t.ID == TimestampNS || t.ID == TimeNS {
		copyValues(f, &v.ints, values)
		return nil
	}
	nanos := int64(unit.Multiplier())
	return fillScaled(f, v, values, max(nanos/1000, 1), max(1000/nanos, 1))
}

// fillScaled writes values times a factor, or divided by a divisor.
func fillScaled[T ~int32 | ~int64](f *frame, v *vector, values []T, factor, divisor int64) error {
	least, most := math.MinInt64/factor, math.MaxInt64/factor
	for i := range v.ints {
		x := int64(values[f.row(i)])
		if (x > most || x < least) && !v.isNull(i) {
			return query.Valuef("overflow: the time %d, in units of %d us, does not fit TIMESTAMP", x, factor)
		}
		v.ints[i] = digits.FloorDiv(x*factor, divisor)
	}
	return nil
}

// fillTexts writes strings that lie where the array has them.
func (f *frame) fillTexts(v *vector, arr arrow.Array) error {
	switch a := arr.(type) {
	case interface{ ValueOffsets() []int32 }: // array.String, array.Binary
		fillOffsets(f, v.texts, a.ValueOffsets(), bufferOf(arr, 2))
	case interface{ ValueOffsets() []int64 }: // array.LargeString, array.LargeBinary
		fillOffsets(f, v.texts, a.ValueOffsets(), bufferOf(arr, 2))
	case array.ViewLike: // array.StringView, array.BinaryView
		f.fillViews(v.texts, arr)
	case interface{ Value(i int) []byte }: // array.FixedSizeBinary
		for i := range v.texts {
			v.texts[i] = bytesText(a.Value(f.row(i)))
		}
	default:
		return fmt.Errorf("type %s is not supported in expressions", arr.DataType())
	}
	return nil
}

// fillViews is fillTexts for views. A short view has its string in itself.
func (f *frame) fillViews(out []string, arr arrow.Array) {
	views, data := viewsOf(arr), viewData(arr)
	nulls := arr.NullN() > 0
	for i := range out {
		row := f.row(i)
		h := &views[row]
		switch {
		case nulls && arr.IsNull(row): // the view of a NULL may be anything
			out[i] = ""
		case h.IsInline():
			out[i] = bytesText(h.InlineBytes())
		default:
			from := int(h.BufferOffset())
			out[i] = bytesText(data[h.BufferIndex()][from : from+h.Len()])
		}
	}
}

func viewsOf(arr arrow.Array) []arrow.ViewHeader {
	return arrow.ViewHeaderTraits.CastFromBytes(bufferOf(arr, 1))[arr.Data().Offset():]
}

// viewData returns the bytes that long views point to, by the number of their buffer.
func viewData(arr arrow.Array) [][]byte {
	buffers := arr.Data().Buffers()[2:]
	data := make([][]byte, len(buffers))
	for i, b := range buffers {
		data[i] = b.Bytes()
	}
	return data
}

func bufferOf(arr arrow.Array, i int) []byte {
	if b := arr.Data().Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

func bytesText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func fillOffsets[O int32 | int64](f *frame, out []string, offsets []O, bytes []byte) {
	if f.rows == nil {
		offsets = offsets[f.from : f.from+f.n+1]
		for i := range out {
			out[i] = bytesText(bytes[offsets[i]:offsets[i+1]])
		}
		return
	}
	for i, row := range f.rows {
		out[i] = bytesText(bytes[offsets[row]:offsets[row+1]])
	}
}

// entries are an expression's values for the entries of a dictionary, and after them the value for
// NULL. They are kept until the dictionary changes.
type entries struct {
	of     arrow.ArrayData // the dictionary, retained
	made   bool            // values, or err; until then the dictionary's rows are evaluated by themselves
	asked  int             // rows that were evaluated by themselves
	values vector          // of any length
	nulls  flags           // values.null
	truths flags           // values.bits
	alike  bool            // truths of all entries but NULL are equal, and no truth is NULL
	array  arrow.Array     // of the values; nil before recode makes it
	err    error           // of some entry, which maybe no row has
}

// has says whether the entries' values, or the error of one, were made of the dictionary dict.
func (e *entries) has(dict arrow.Array) bool { return e != nil && e.made && e.of == dict.Data() }

func (e *entries) release() {
	if e == nil {
		return
	}
	e.of.Release()
	if e.array != nil {
		e.array.Release()
	}
}

// checkedCodes returns the codes of the frame's rows, each below n; NULL has the code n-1. The
// caller does not write to the codes.
func (f *frame) checkedCodes(d *array.Dictionary, n int) ([]int32, error) {
	codes := f.codes(d)
	null := f.nulls(d)
	if int(largest(codes)) >= n-1 || null != nil {
		own := f.e.rows.get(f.n)
		for i, c := range codes {
			switch {
			case null != nil && null[i>>6]>>(i&63)&1 != 0:
				c = int32(n - 1)
			case uint32(c) >= uint32(n-1):
				return nil, fmt.Errorf("a code of %d in a dictionary of %d entries", c, n-1)
			}
			own[i] = c
		}
		codes = own
	}
	return codes, nil
}

// largestEach returns the largest of codes, unsigned, by four maxima beside each other.
func largestEach(codes []int32) uint32 {
	var a, b, c, d uint32
	for ; len(codes) >= 4; codes = codes[4:] {
		a, b, c, d = max(a, uint32(codes[0])), max(b, uint32(codes[1])), max(c, uint32(codes[2])), max(d, uint32(codes[3]))
	}
	for _, code := range codes {
		a = max(a, uint32(code))
	}
	return max(a, b, c, d)
}

// codes returns the codes of the frame's rows; the codes of NULLs are anything.
func (f *frame) codes(d *array.Dictionary) []int32 {
	if codes, ok := d.Indices().(*array.Int32); ok {
		if f.rows == nil {
			return codes.Values()[f.from : f.from+f.n]
		}
		return gather(f.e.rows.get(f.n), codes.Values(), f.rows)
	}
	out := f.e.rows.get(f.n)
	for i := range out {
		if row := f.row(i); d.IsValid(row) {
			out[i] = int32(d.GetValueIndex(row))
		} else {
			out[i] = 0
		}
	}
	return out
}

// lookUp returns the values of the frame's rows by their codes.
func (f *frame) lookUp(d *array.Dictionary, e *entries) (*vector, error) {
	if e.alike && d.NullN() == 0 {
		v := f.e.vector(bitKind, f.n)
		if e.truths.bytes[0] != 0 {
			fillAll(v.bits, ^uint64(0))
		}
		return v, nil
	}
	codes, err := f.checkedCodes(d, e.values.n)
	if err != nil {
		return nil, err
	}
	v := f.e.holding(vector{n: f.n})
	if e.values.null != nil {
		v.null = gatherBits(f.e.bitmap(f.n), e.nulls, codes)
	}
	switch {
	case e.values.bits != nil:
		v.bits = gatherBits(f.e.bitmap(f.n), e.truths, codes)
	case e.values.ints != nil:
		v.ints = gather(f.e.ints.get(f.n), e.values.ints, codes)
	case e.values.floats != nil:
		v.floats = gather(f.e.floats.get(f.n), e.values.floats, codes)
	case e.values.wides != nil:
		v.wides = gather(f.e.wides.get(f.n), e.values.wides, codes)
	default:
		v.texts = gather(f.e.texts.get(f.n), e.values.texts, codes)
	}
	return v, nil
}

// gather writes the values of the codes, unchecked. Requires: each code is an index of values.
func gather[T any](out, values []T, codes []int32) []T {
	first := unsafe.Pointer(unsafe.SliceData(values))
	out = out[:len(codes)]
	for i, c := range codes {
		out[i] = *(*T)(unsafe.Add(first, uintptr(uint32(c))*unsafe.Sizeof(out[0])))
	}
	return out
}

// flags are truths of codes, as bits and as bytes of 0 and 1.
type flags struct {
	bits  []uint64
	bytes []uint8

	odd  int32 // the only code that has another truth than all others; -1 if there is no such code
	rest bool  // the truth of the others
}

func flagsOf(bits []uint64, n int) flags {
	f := flags{bits: bits, bytes: bytesOf(bits, n), odd: -1}
	f.findOdd(n)
	return f
}

// findOdd looks for the odd code among the first n.
func (f *flags) findOdd(n int) {
	switch trues := countBits(f.bits, n); {
	case n < 2:
	case trues == 1:
		f.odd = int32(bytes.IndexByte(f.bytes[:n], 1))
	case trues == n-1:
		f.odd, f.rest = int32(bytes.IndexByte(f.bytes[:n], 0)), true
	}
}

// gatherBitsEach sets the bits of rows whose codes have a 1. Requires: as gather.
func gatherBitsEach(out []uint64, values []uint8, codes []int32) {
	first := unsafe.Pointer(unsafe.SliceData(values))
	at := func(code int32) uint64 { return uint64(*(*uint8)(unsafe.Add(first, uintptr(uint32(code))))) }
	for w := range out {
		var m uint64
		rows := codes[w<<6 : min(w<<6+64, len(codes))]
		for len(rows)&7 != 0 {
			last := len(rows) - 1
			m = m<<1 | at(rows[last])
			rows = rows[:last]
		}
		for end := len(rows); end > 0; end -= 8 {
			c := (*[8]int32)(rows[end-8 : end])
			m = m<<8 | at(c[0]) | at(c[1])<<1 | at(c[2])<<2 | at(c[3])<<3 | at(c[4])<<4 | at(c[5])<<5 | at(c[6])<<6 | at(c[7])<<7
		}
		out[w] = m
	}
}

// bytesOf returns n bits as bytes of 0 and 1.
func bytesOf(words []uint64, n int) []uint8 {
	eights := make([]uint64, 8*wordsOf(n)) // of bytes
	for i := range eights {
		// Byte j keeps bit j of the eight; adding 0x7F carries it to the byte's highest bit.
		spread := words[i>>3] >> (i & 7 * 8) & 0xFF * 0x0101010101010101 & 0x8040201008040201
		eights[i] = (spread + 0x7F7F7F7F7F7F7F7F) >> 7 & 0x0101010101010101
	}
	return rowdata.View[uint8](eights)[:n]
}
