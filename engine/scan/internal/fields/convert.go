package fields

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/wellformed"
)

// converter turns the fields of a column into arrays. Between begin and finish, or drop, it holds
// buffers of the column's allocator.
type converter interface {
	// begin makes room for the values of a batch.
	begin(c *Column)

	// add appends the values of the column's fields. It returns -1, or the index of the first field
	// that is no value of the type.
	add(c *Column) (bad int)

	// finish returns the array of the values.
	finish(c *Column) arrow.Array

	// rewind takes back the values from the column's row on: the column's fields are the first of
	// these values.
	rewind(c *Column)

	// drop gives the buffers back without making an array.
	drop()
}

// newConverter returns the converter to a type, of values that are written by a format, or nil if
// text cannot be read as that type.
func newConverter(typ arrow.DataType, format *Format) converter {
	if _, isNested := typ.(*nested.Type); isNested || typ == nil || converters[typ.ID()] == nil {
		return nil
	}
	return converters[typ.ID()](typ, format)
}

// converters make the converter to a type, by the type's ID.
var converters = map[arrow.Type]func(typ arrow.DataType, format *Format) converter{
	arrow.INT8:         parsed(parseSigned[int8]),
	arrow.INT16:        parsed(parseSigned[int16]),
	arrow.INT32:        parsed(parseSigned[int32]),
	arrow.INT64:        newInt64s,
	arrow.UINT8:        parsed(parseUnsigned[uint8]),
	arrow.UINT16:       parsed(parseUnsigned[uint16]),
	arrow.UINT32:       parsed(parseUnsigned[uint32]),
	arrow.UINT64:       parsed(parseUnsigned[uint64]),
	arrow.FLOAT32:      parsed(parseSingle),
	arrow.FLOAT64:      newFloat64s,
	arrow.BOOL:         newOf[booleans],
	arrow.DATE32:       newDates,
	arrow.DATE64:       newDatesMillis,
	arrow.TIMESTAMP:    newTimestamps,
	arrow.TIME32:       newTimes[int32],
	arrow.TIME64:       newTimes[int64],
	arrow.DECIMAL128:   newDecimals,
	arrow.STRING:       newOf[text[int32]],
	arrow.BINARY:       newOf[text[int32]],
	arrow.LARGE_STRING: newOf[text[int64]],
	arrow.LARGE_BINARY: newOf[text[int64]],
}

// newOf returns a converter whose zero value is ready.
func newOf[C any, P interface {
	*C
	converter
}](arrow.DataType, *Format) converter {
	return P(new(C))
}

// parsed makes converters that parse every field alike.
func parsed[T arrow.FixedWidthType](parse func(trimmed []byte) (T, bool)) func(arrow.DataType, *Format) converter {
	return func(_ arrow.DataType, format *Format) converter {
		return &fixed[T]{parse: localized(format, parse)}
	}
}

func newInt64s(typ arrow.DataType, format *Format) converter {
	if format.plainNumbers() {
		return &int64s{exact: format.Inferred}
	}
	return parsed(ParseInt)(typ, format)
}

func newFloat64s(typ arrow.DataType, format *Format) converter {
	if format.plainNumbers() {
		return &float64s{exact: format.Inferred}
	}
	return parsed(ParseFloat)(typ, format)
}

func newDates(_ arrow.DataType, format *Format) converter {
	if format.Times == nil {
		return &fixed[int32]{parse: ParseDate}
	}
	return &fixed[int32]{parse: format.readDate}
}

func newDatesMillis(_ arrow.DataType, format *Format) converter {
	return &fixed[int64]{parse: func(b []byte) (millis int64, ok bool) {
		days, ok := format.readDate(b)
		return int64(days) * 86_400_000, ok
	}}
}

func newTimestamps(typ arrow.DataType, format *Format) converter {
	return &fixed[int64]{parse: readTimestamp(typ.(*arrow.TimestampType), format)}
}

// readTimestamp returns what reads a timestamp in the unit of a type.
func readTimestamp(t *arrow.TimestampType, format *Format) func(trimmed []byte) (int64, bool) {
	unit, zoned := int64(t.Unit.Multiplier()), t.TimeZone != ""
	return func(b []byte) (int64, bool) {
		at, ok := format.ReadTime(b)
		if !ok || at.Zoned && !zoned {
			return 0, false
		}
		return at.In(unit)
	}
}

func newTimes[T int32 | int64](typ arrow.DataType, _ *Format) converter {
	read := readTimeOfDay(typ.(arrow.TemporalWithUnit))
	return &fixed[T]{parse: func(b []byte) (T, bool) {
		n, ok := read(b)
		return T(n), ok
	}}
}

// readTimeOfDay returns what reads a time of a day in the unit of a type.
func readTimeOfDay(t arrow.TemporalWithUnit) func(trimmed []byte) (int64, bool) {
	unit := int64(t.TimeUnit().Multiplier())
	return func(b []byte) (int64, bool) {
		nanos, rest, ok := ParseTimeOfDay(b)
		return nanos / unit, ok && len(rest) == 0 && nanos%unit == 0
	}
}

func newDecimals(typ arrow.DataType, format *Format) converter {
	return &fixed[decimal128.Num]{parse: readDecimal(typ.(*arrow.Decimal128Type), format)}
}

// readDecimal returns what reads a decimal of a type.
func readDecimal(t *arrow.Decimal128Type, format *Format) func(trimmed []byte) (decimal128.Num, bool) {
	return localized(format, func(b []byte) (decimal128.Num, bool) {
		return parseDecimal(b, t.Precision, t.Scale)
	})
}

// parseDecimal reads an optional sign, digits, and an optional fraction of at most scale digits.
func parseDecimal(b []byte, precision, scale int32) (n decimal128.Num, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	digits, significant, fraction := 0, int32(0), int32(-1)
	const wordMax = 1e18
	word, power := uint64(0), uint64(1) // digits that n does not have yet, and ten to the power of their number
	for _, c := range b {
		if c == '.' && fraction < 0 {
			fraction = 0
			continue
		}
		if c -= '0'; c > 9 {
			return n, false
		}
		digits++
		if fraction >= 0 {
			fraction++
		}
		if significant > 0 || c > 0 {
			significant++
		}
		if significant > precision {
			return n, false
		}
		if word, power = word*10+uint64(c), power*10; power == wordMax {
			n = n.Mul(decimal128.FromU64(power)).Add(decimal128.FromU64(word))
			word, power = 0, 1
		}
	}
	n = n.Mul(decimal128.FromU64(power)).Add(decimal128.FromU64(word))
	fraction = max(fraction, 0)
	if digits == 0 || fraction > scale || significant+scale-fraction > precision {
		return n, false
	}
	n = n.IncreaseScaleBy(scale - fraction)
	if negative {
		n = n.Negate()
	}
	return n, true
}

// values are a batch's values of fixed width.
type values[T arrow.FixedWidthType] struct {
	buf *memory.Buffer
	all []T // buf as values, as many as the batch has room for
}

func (v *values[T]) begin(c *Column) {
	v.buf = memory.NewResizableBuffer(c.mem)
	v.buf.Resize(c.room * delivery.SizeOf[T]())
	v.all = arrow.GetData[T](v.buf.Bytes())
}

func (v *values[T]) finish(c *Column) arrow.Array { return v.array(c, c.typ, nil) }

// array makes an array of the values, which are codes where there is a dictionary.
func (v *values[T]) array(c *Column, typ arrow.DataType, dictionary arrow.Array) arrow.Array {
	v.buf.ResizeNoShrink(c.rows * delivery.SizeOf[T]())
	buf := v.buf
	v.buf, v.all = nil, nil
	return c.array(typ, dictionary, buf)
}

func (v *values[T]) rewind(*Column) {}

func (v *values[T]) drop() {
	dropBuffer(&v.buf)
	v.all = nil
}

// fixed converts to a type of fixed width.
type fixed[T arrow.FixedWidthType] struct {
	values[T]
	parse func(trimmed []byte) (T, bool)
}

func (f *fixed[T]) add(c *Column) int {
	var zero T
	out := f.all[c.rows:]
	for i := range c.fields {
		if c.isNull(i) {
			out[i] = zero
			continue
		}
		v, ok := f.parse(Trim(c.Field(i)))
		if !ok {
			return i
		}
		out[i] = v
	}
	return -1
}

// int64s is fixed[int64] for whole numbers.
type int64s struct {
	values[int64]
	exact bool // as Format.Inferred
}

func (v *int64s) add(c *Column) int {
	out := v.all[c.rows:][:len(c.fields)]
	for i, s := range c.fields {
		bytes := s.length()
		if c.nulls.of(bytes) && c.isNull(i) {
			out[i] = 0
			continue
		}
		if v.exact && mayBeCode(c.text, s.Start) && IsCode(Trim(c.Field(i))) {
			return i
		}
		if bytes-1 < 8 {
			if n, ok := digits8(firstDigits(c.text, s.Start, bytes)); ok {
				out[i] = int64(n)
				continue
			}
		}
		n, ok := fastInt(c.text, s)
		if !ok {
			if n, ok = ParseInt(Trim(c.Field(i))); !ok {
				return i
			}
		}
		out[i] = n
	}
	return -1
}

// float64s is fixed[float64].
type float64s struct {
	values[float64]
	exact bool // as Format.Inferred
}

func (v *float64s) add(c *Column) int {
	out := v.all[c.rows:][:len(c.fields)]
	for i, s := range c.fields {
		if c.nulls.of(s.length()) && c.isNull(i) {
			out[i] = 0
			continue
		}
		if v.exact && mayBeCode(c.text, s.Start) && IsCode(Trim(c.Field(i))) {
			return i
		}
		f, ok := fastFloat(c.text, s)
		if !ok {
			number := Trim(c.Field(i))
			if f, ok = ParseFloat(number); !ok || v.exact && !KeepsDigits(f, number) {
				return i
			}
		}
		out[i] = f
	}
	return -1
}

// booleans converts to bits.
type booleans struct{ bits *memory.Buffer }

func (b *booleans) begin(c *Column) {
	b.bits = memory.NewResizableBuffer(c.mem)
	b.bits.Resize(int(bitutil.BytesForBits(int64(c.room))))
	clear(b.bits.Bytes())
}

func (b *booleans) add(c *Column) int {
	for i := range c.fields {
		if c.isNull(i) {
			continue
		}
		v, ok := parseBool(Trim(c.Field(i)))
		if !ok {
			return i
		}
		if v {
			bitutil.SetBit(b.bits.Bytes(), c.rows+i)
		}
	}
	return -1
}

func (b *booleans) finish(c *Column) arrow.Array {
	bits := b.bits
	b.bits = nil
	return c.array(c.typ, nil, bits)
}

func (b *booleans) rewind(c *Column) {
	bitutil.SetBitsTo(b.bits.Bytes(), int64(c.rows), int64(c.room-c.rows), false)
}

func (b *booleans) drop() { dropBuffer(&b.bits) }

// text copies fields; O is the type of offsets.
type text[O int32 | int64] struct {
	offsets, bytes *memory.Buffer // of the batch
	at             int            // end of the last field in bytes
	wanted         int            // bytes that the batch before suggests

	addedRow, addedAt int // of the last add: the batch's rows before, and their end in bytes
}

func (t *text[O]) begin(c *Column) {
	t.offsets, t.bytes = memory.NewResizableBuffer(c.mem), memory.NewResizableBuffer(c.mem)
	t.offsets.Resize((c.room + 1) * delivery.SizeOf[O]())
	t.bytes.Resize(min(t.wanted, c.bytes+Slack))
	t.at, t.addedRow = 0, -1
}

func (t *text[O]) add(c *Column) int {
	t.grow(c)
	t.addedRow, t.addedAt = c.rows, t.at
	starts, out, at := arrow.GetData[O](t.offsets.Bytes())[c.rows:], t.bytes.Bytes(), t.at
	first := at
	for i, s := range c.fields {
		starts[i] = O(at)
		size := s.length()
		if c.nulls.of(size) && c.isNull(i) {
			continue
		}
		if size <= Slack {
			*(*[Slack]byte)(out[at:]) = *(*[Slack]byte)(c.text[s.Start:])
			at += int(size)
			continue
		}
		at += copy(out[at:], c.Field(i))
	}
	t.at = at
	if !IsText(c.typ) || wholeText(out[first:at], starts[:len(c.fields)], O(first)) {
		return -1
	}
	for i := range c.fields {
		if !utf8.Valid(c.Field(i)) {
			return i
		}
	}
	return -1
}

// wholeText says whether strings, which lie behind each other, are UTF-8: the first begins at offset
// first, which is the first byte of text.
func wholeText[O int32 | int64](text []byte, starts []O, first O) bool {
	if wellformed.NonASCII(text) == 0 {
		return true
	}
	if !wellformed.UTF8(text) {
		return false
	}
	for _, start := range starts {
		if at := int(start - first); at < len(text) && !utf8.RuneStart(text[at]) {
			return false
		}
	}
	return true
}

// IsText reports whether the values of a type are strings, which are UTF-8.
func IsText(typ arrow.DataType) bool {
	return typ.ID() == arrow.STRING || typ.ID() == arrow.LARGE_STRING
}

// grow makes room for the fields, with what lies between them in their text, and for Slack.
func (t *text[O]) grow(c *Column) {
	if len(c.fields) == 0 {
		return
	}
	last := c.fields[len(c.fields)-1]
	need := t.at + int(last.End&EndMask-c.fields[0].Start) + Slack
	if need <= t.bytes.Len() {
		return
	}
	if c.many || need > reserve.LargeBytes {
		if need = t.at + c.fieldBytes() + Slack; need <= t.bytes.Len() {
			return
		}
	}
	more := t.bytes.Len()
	if more > reserve.LargeBytes { // copying the strings costs less than not having the memory
		more /= 4
	}
	t.bytes.Resize(max(need, t.bytes.Len()+more))
}

// fieldBytes returns how many bytes the fields have together, with doubled quotes.
func (c *Column) fieldBytes() (bytes int) {
	for _, s := range c.fields {
		bytes += int(s.End&EndMask - s.Start)
	}
	return bytes
}

func (t *text[O]) finish(c *Column) arrow.Array {
	arrow.GetData[O](t.offsets.Bytes())[c.rows] = O(t.at)
	t.offsets.ResizeNoShrink((c.rows + 1) * delivery.SizeOf[O]())
	t.bytes.ResizeNoShrink(t.at)
	t.wanted = t.at + t.at/8
	offsets, bytes := t.offsets, t.bytes
	t.offsets, t.bytes = nil, nil
	return c.array(c.typ, nil, offsets, bytes)
}

func (t *text[O]) rewind(c *Column) {
	if t.addedRow == c.rows {
		t.at = t.addedAt
	}
}

func (t *text[O]) drop() {
	dropBuffer(&t.offsets)
	dropBuffer(&t.bytes)
}
