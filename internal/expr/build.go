package expr

import (
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// builder makes an array of vectors.
type builder struct {
	typ    Type
	narrow bool             // decimals are of 64 bits
	rows   int              // capacity
	n      int              // rows so far
	nulls  int              // NULLs among the rows so far
	valid  *memory.Buffer   // nil while no row is NULL
	fixed  *memory.Buffer   // values, bits, or offsets of strings
	text   *memory.Buffer   // bytes of strings; nil of other types
	length int              // bytes of strings so far
	mem    memory.Allocator // of the buffers
}

// newBuilder returns a builder of an array of at most `rows` rows.
func newBuilder(t Type, narrow bool, rows int, mem memory.Allocator) *builder {
	b := &builder{typ: t, narrow: narrow, rows: rows, mem: mem}
	b.fixed = memory.NewResizableBuffer(mem)
	switch k := t.kind(); {
	case t.ID == Bool:
		b.fixed.Resize((rows + 7) / 8)
		clear(b.fixed.Bytes())
	case k == textKind:
		b.fixed.Resize(4 * (rows + 1))
		arrow.Int32Traits.CastFromBytes(b.fixed.Bytes())[0] = 0
		b.text = memory.NewResizableBuffer(mem)
	default:
		b.fixed.Resize(rows * t.arrowOf(narrow).(arrow.FixedWidthDataType).Bytes())
	}
	return b
}

func (b *builder) release() {
	for _, buffer := range []*memory.Buffer{b.valid, b.fixed, b.text} {
		if buffer != nil {
			buffer.Release()
		}
	}
	b.valid, b.fixed, b.text = nil, nil, nil
}

// errTextTooLong is the error of strings that are too long for an array with 32-bit offsets.
var errTextTooLong = errors.New("the strings of one batch are longer than 2 GiB together")

// add appends the values of a vector. Requires: the number of rows so far is a multiple of 8.
func (b *builder) add(v *vector) error {
	b.addNulls(v)
	fixed := b.fixed.Bytes()
	from, to := b.n, b.n+v.n
	b.n = to
	switch b.typ.ID {
	case Null:
		clear(arrow.Int32Traits.CastFromBytes(fixed)[from:to])
	case Bool:
		putBits(fixed[from/8:], v.bits, v.n)
	case Int8, Uint8: // the lowest bits are the same
		truncate(arrow.Int8Traits.CastFromBytes(fixed)[from:to], v.ints)
	case Int16, Uint16:
		truncate(arrow.Int16Traits.CastFromBytes(fixed)[from:to], v.ints)
	case Int32, Uint32, Date:
		truncate(arrow.Int32Traits.CastFromBytes(fixed)[from:to], v.ints)
	case Int64, Time, TimeNS, Timestamp, TimestampNS, TimestampTZ, Duration:
		copy(arrow.Int64Traits.CastFromBytes(fixed)[from:to], v.ints)
	case Uint64:
		out := arrow.Uint64Traits.CastFromBytes(fixed)[from:to]
		for i, x := range v.wides {
			out[i] = x.LowBits()
		}
	case Float32:
		truncate(arrow.Float32Traits.CastFromBytes(fixed)[from:to], v.floats)
	case Float64:
		copy(arrow.Float64Traits.CastFromBytes(fixed)[from:to], v.floats)
	case Huge, Decimal:
		if b.narrow {
			copy(arrow.Int64Traits.CastFromBytes(fixed)[from:to], v.ints)
			break
		}
		out := arrow.Decimal128Traits.CastFromBytes(fixed)[from:to]
		if v.wides != nil {
			copy(out, v.wides)
			break
		}
		for i, x := range v.ints {
			out[i] = decimal128.New(x>>63, uint64(x))
		}
	default:
		return b.addTexts(arrow.Int32Traits.CastFromBytes(fixed)[from+1:to+1], v)
	}
	return nil
}

func truncate[T number, V int64 | float64](out []T, values []V) {
	for i, x := range values[:len(out)] {
		out[i] = T(x)
	}
}

func (b *builder) addTexts(offsets []int32, v *vector) error {
	size := b.length
	for i, s := range v.texts {
		if !v.isNull(i) {
			size += len(s)
		}
	}
	if size > math.MaxInt32 {
		return errTextTooLong
	}
	if size > b.text.Cap() {
		b.text.Reserve(max(size, 2*b.text.Cap()))
	}
	b.text.ResizeNoShrink(size)
	out := b.text.Bytes()
	for i, s := range v.texts {
		if !v.isNull(i) {
			b.length += copy(out[b.length:], s)
		}
		offsets[i] = int32(b.length)
	}
	return nil
}

// textsOf returns the strings of views as an array of a type with 32-bit offsets; nil where there are none, or more
// than a batch is to have.
func (e *Evaluator) textsOf(a array.ViewLike, to arrow.DataType) arrow.Array {
	rows := a.Len()
	if rows == 0 {
		return nil
	}
	headers, data := viewsOf(a)[:rows], viewData(a)
	size := 0
	for i := range headers {
		if a.IsValid(i) {
			size += headers[i].Len()
		}
	}
	if size > e.text.array {
		return nil
	}
	ends, text := memory.NewResizableBuffer(e.mem), memory.NewResizableBuffer(e.mem)
	ends.Resize(arrow.Int32SizeBytes * (rows + 1))
	text.Resize(size)
	offsets, out, at := arrow.Int32Traits.CastFromBytes(ends.Bytes()), text.Bytes(), 0
	offsets[0] = 0
	for i := range headers {
		switch h := &headers[i]; {
		case a.IsNull(i):
		case h.IsInline():
			at += copy(out[at:], h.InlineBytes())
		default:
			from := int(h.BufferOffset())
			at += copy(out[at:], data[h.BufferIndex()][from:from+h.Len()])
		}
		offsets[i+1] = int32(at)
	}
	var valid *memory.Buffer
	if a.NullN() > 0 {
		valid = memory.NewResizableBuffer(e.mem)
		valid.Resize(int(bitutil.BytesForBits(int64(rows))))
		bitutil.CopyBitmap(bufferOf(a, 0), a.Data().Offset(), rows, valid.Bytes(), 0)
		defer valid.Release()
	}
	defer ends.Release()
	defer text.Release()
	made := array.NewData(to, rows, []*memory.Buffer{valid, ends, text}, nil, a.NullN(), 0)
	defer made.Release()
	return array.MakeFromData(made)
}

// cut drops the rows that the last call of add has added.
func (b *builder) cut(rows int) {
	b.n -= rows
	if b.text != nil {
		b.length = int(arrow.Int32Traits.CastFromBytes(b.fixed.Bytes())[b.n])
	}
	if b.valid != nil {
		b.nulls = b.n - bitutil.CountSetBits(b.valid.Bytes(), 0, b.n)
		memory.Set(b.valid.Bytes()[b.n/8:], 0xFF)
	}
}

// addNulls notes which of the next rows are NULL.
func (b *builder) addNulls(v *vector) {
	if v.null == nil || countBits(v.null, v.n) == 0 {
		return
	}
	if b.valid == nil {
		b.valid = memory.NewResizableBuffer(b.mem)
		b.valid.Resize((b.rows + 7) / 8)
		memory.Set(b.valid.Bytes(), 0xFF)
	}
	b.nulls += countBits(v.null, v.n)
	var valid [vectorWords]uint64
	for w := range wordsOf(v.n) {
		valid[w] = ^v.null[w]
	}
	putBits(b.valid.Bytes()[b.n/8:], valid[:wordsOf(v.n)], v.n)
}

// array returns the array, and gives the builder's buffers to it.
func (b *builder) array() arrow.Array {
	buffers := []*memory.Buffer{b.valid, b.fixed}
	if b.text != nil {
		buffers = append(buffers, b.text)
	}
	d := array.NewData(b.typ.arrowOf(b.narrow), b.n, buffers, nil, b.nulls, 0)
	defer d.Release()
	b.release()
	return array.MakeFromData(d)
}

// textArray makes an array of strings.
func textArray(texts []string, t Type) (arrow.Array, error) {
	b := newBuilder(t, false, len(texts), memory.DefaultAllocator)
	defer b.release()
	for from := 0; from < len(texts); from += vectorRows {
		n := min(vectorRows, len(texts)-from)
		if err := b.add(&vector{n: n, texts: texts[from : from+n]}); err != nil {
			return nil, err
		}
	}
	return b.array(), nil
}
