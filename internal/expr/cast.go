package expr

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// implicit says whether values of a type are converted to another without a written cast.
func implicit(from, to Type) bool {
	switch {
	case from == to, from.ID == Null, from.ID == Text:
		return true
	case from.isEnum() && to.ID == Text:
		return true
	case from.numeric() && (to.numeric() || to.ID == Bool), from.ID == Bool && to.numeric():
		return true
	case from.temporal() && to.temporal(), from.clock() && to.clock():
		return true
	case from.span() && to.ID == Period:
		return true
	case from.nested() && to.nested():
		return implicitParts(from, to)
	}
	return from.ID == Interval && to.ID == Duration
}

// cast returns a node converted to a type, where that may happen implicitly.
func (b *binder) cast(n *node, t Type) (*node, error) {
	if n.typ == t {
		return n, nil
	}
	c, ok := n, implicit(n.typ, t)
	if ok {
		c, ok = b.converted(n, t)
	}
	switch {
	case !ok:
		return nil, errorAt(n.at, "%s is of type %s, want %s", n.text, n.typ, t)
	case n.textConstant() && !c.isConst:
		return nil, errorAt(n.at, "%s is no %s", n.text, t)
	}
	return c, nil
}

// converted returns a node converted to a type, whether or not without a written cast. It returns
// false where no cast leads to the type.
func (b *binder) converted(n *node, t Type) (*node, bool) {
	if t.ID == Period && n.typ.ID == Interval && n.unitOf == nil {
		return b.periodOf(n)
	}
	c := &node{typ: t, text: n.text, at: n.at, column: -1, single: -1, args: []*node{n}, zone: b.zone}
	if !setCast(c, n.typ, false) {
		return nil, false
	}
	return b.finish(c), true
}

// explicitCast binds CAST and TRY_CAST.
func (b *binder) explicitCast(n *node, t Type, try bool) *node {
	from := n.args[0].typ
	if from == t {
		if a := n.args[0]; a.intConstant() { // 2::INTEGER is an INTEGER beside a TINYINT, where 2 is a TINYINT
			typed := *a
			typed.literal = false
			return &typed
		}
		return n.args[0]
	}
	n.typ, n.zone = t, b.zone
	if t.ID == Interval && (n.args[0].textConstant() || isNull(n.args[0])) {
		return b.intervalOf(n, try)
	}
	switch {
	case isNull(n.args[0]): // of any type
		from = typeOf(Null)
	case n.args[0].isJSON:
		if t.ID == Interval {
			t = period
		}
		if !b.readJSON(n, t, !try) {
			b.fail(n.at, "%s: no cast from JSON to %s", n.text, t)
		}
		return b.finish(n)
	case t.ID == Interval && from.span():
		return n.args[0]
	case t.ID == Period && from.ID == Interval:
		b.periods(n)
		return n.args[0]
	case t.ID == Interval:
		n.typ = period
	case from.ID == Interval && t.ID == Text:
		b.periods(n)
		from = period
	}
	if from.ID == Interval || !setCast(n, from, try) {
		b.fail(n.at, "%s: no cast from %s to %s", n.text, from, t)
	}
	return b.finish(n)
}

// spanOf returns an interval without months as a duration, and false for other nodes.
func (b *binder) spanOf(n *node) (*node, bool) {
	if n.typ.ID != Interval {
		return nil, false
	}
	return b.converted(n, typeOf(Duration))
}

// castError is the error of a value that does not fit the type of a cast, n.
type castError struct {
	n     *node
	value string
}

func (e *castError) Error() string {
	value := e.value
	const shownMax = 60
	if len(value) > shownMax {
		value = strings.ToValidUTF8(value[:shownMax], "") + "..."
	}
	return fmt.Sprintf("%s: %q does not fit %s; TRY_CAST gives NULL in its place", e.n.text, value, e.n.typ)
}

// Is makes the error a query.ErrValue.
func (e *castError) Is(target error) bool { return target == query.ErrValue }

// setCast gives a node, whose argument is of the type from, the kernel of a cast to the node's
// type. It returns false if there is no cast; then the functions that make kernels return nil.
func setCast(n *node, from Type, try bool) bool {
	to := n.typ
	n.conversion = plainCast
	if try {
		n.conversion = tryCast
	}
	n.fallible = !try
	n.exact = from.numeric() && !from.float() && to.numeric() && !to.float() && always(from, to) ||
		from.ID == Float32 && to.ID == Float64 || from.ID == Date && to.ID == Timestamp && !try ||
		from.ID == Timestamp && to.ID == TimestampNS && !try || // which may be NULL
		from.ID == Time && to.ID == TimeNS
	if from.ID == Null {
		n.fallible = false
		n.eval = func(f *frame) (*vector, error) {
			out := f.e.vector(to.kind(), f.n)
			out.null = f.allNull()
			return out, nil
		}
		return true
	}
	switch {
	case n.zone != nil && setZonedCast(n, from, try):
		return n.eval != nil
	case from.ID == Interval && to.ID == Duration:
		return n.setDuration(n.args[0])
	case to.ID == Period && from.ID != Null:
		return setPeriod(n, from, try)
	case from.isNamed() || to.isNamed():
		return setNamedCast(n, from, try)
	case from.nested() || to.nested():
		return setNestedCast(n, from, try)
	case to.ID == Text:
		n.fallible = false
		n.eval = textCast(n, from)
	case from.ID == Text:
		n.eval = parseCast(n, try)
	case to.ID == Bool:
		n.fallible = false
		n.eval = truthCast(n, from)
	case from.ID == Bool:
		n.fallible = false
		n.eval = boolCast(n)
	case from.numeric() && to.numeric():
		n.eval = numberCast(n, from, try)
	default:
		n.fallible = false
		n.eval = timeCast(n, from, try)
	}
	return n.eval != nil
}

// setDuration makes a node the duration that an interval without months is. It returns false for other intervals.
func (n *node) setDuration(interval *node) bool {
	if v, ok := interval.value.(IntervalValue); ok {
		n.isConst, n.value, n.fallible = true, v.Days*dayMicros+v.Micros, false
		return v.Months == 0
	}
	if isNull(interval) {
		n.isConst, n.fallible = true, false
		return true
	}
	unit := interval.unitOf
	if unit == nil || unit.Months != 0 {
		return false
	}
	n.args, n.conversion = interval.args, noCast
	n.eval = map1e(n, func(k int64) (int64, error) {
		v, ok := unit.times(k)
		days := v.Days * dayMicros
		if r := days + v.Micros; ok && v.Days <= daysMax && v.Days >= -daysMax && (v.Micros > 0) == (r > days) {
			return r, nil
		}
		return 0, query.Valuef("%s: overflow: the result does not fit %s", n.text, n.typ)
	})
	return true
}

// tried makes the kernel of a cast, which has NULL in place of an error if it is TRY_CAST. Errors
// show the argument as a value of the type from.
func tried[A, R element](n *node, from Type, try bool, fn func(A) (R, bool)) kernel {
	return map1e(n, func(a A) (R, error) {
		r, ok := fn(a)
		switch {
		case ok:
			return r, nil
		case try:
			return r, errNull
		}
		return r, &castError{n, formatValue(from, a)} // a copy: the batch may be gone when the error is read
	})
}

// truthCast casts numbers to BOOLEAN.
func truthCast(n *node, from Type) kernel {
	switch {
	case !from.numeric():
		return nil
	case from.float():
		return test1(n, func(a float64) bool { return a != 0 })
	case from.kind() == wideKind:
		return test1(n, func(a wide) bool { return a.Sign() != 0 })
	}
	return test1(n, func(a int64) bool { return a != 0 })
}

// boolCast casts BOOLEAN to numbers.
func boolCast(n *node) kernel {
	if !n.typ.numeric() {
		return nil
	}
	one, ok := scaleUp(int128(1), int(n.typ.Scale))
	if n.typ.ID == Decimal && (!ok || !fits(one, int(n.typ.Precision))) {
		return nil
	}
	k := n.typ.kind()
	return unary(n, k, func(_ *frame, a, out *vector) error {
		switch k {
		case intKind:
			setBits(out.ints, a.bits, int64(one.LowBits()))
		case floatKind:
			setBits(out.floats, a.bits, 1)
		case wideKind:
			setBits(out.wides, a.bits, one)
		}
		return nil
	})
}

// setBits writes a value where a bit is set, and 0 elsewhere.
func setBits[T element](out []T, bits []uint64, value T) {
	clear(out)
	eachBit(bits, len(out), func(i int) { out[i] = value })
}

// numberCast casts between integers, decimals and floats.
func numberCast(n *node, from Type, try bool) kernel {
	to := n.typ
	switch {
	case from.kind() == floatKind && to.ID == Float32:
		return tried(n, from, try, func(a float64) (float64, bool) {
			f := float64(float32(a))
			return f, !math.IsInf(f, 0) || math.IsInf(a, 0)
		})
	case to.float():
		n.fallible = false
		return floatCast(n, from)
	case from.float():
		return roundCast(n, try)
	case from.kind() == intKind && to.kind() == intKind:
		return intCast(n, from, try)
	case from.kind() == intKind:
		n.fallible = n.fallible && !always(from, to)
		return tried(n, from, try, func(a int64) (wide, bool) { return exactNumber(int128(a), from, to) })
	case to.kind() == intKind:
		return tried(n, from, try, func(a wide) (int64, bool) { return asInt64(exactNumber(a, from, to)) })
	}
	return tried(n, from, try, func(a wide) (wide, bool) { return exactNumber(a, from, to) })
}

// always says whether every value of a decimal or integer type, from, is a value of another, to.
func always(from, to Type) bool {
	switch {
	case to.ID == Uint64:
		return from.unsigned()
	case to.ID == Huge:
		return from.integer()
	case to.ID == Decimal:
		from = from.asDecimal()
		return from.Scale <= to.Scale && from.Precision-from.Scale <= to.Precision-to.Scale
	case !from.integer() || !to.integer() || from.kind() == wideKind:
		return false
	}
	low, high := bounds(from)
	least, most := bounds(to)
	return least <= low && high <= most
}

// exactNumber turns the digits of an integer or decimal into the digits of another type.
func exactNumber(v wide, from, to Type) (wide, bool) {
	v, ok := rescale(v, int(from.Scale), int(to.Scale))
	if !ok {
		return v, false
	}
	if to.ID == Decimal {
		return v, fits(v, int(to.Precision))
	}
	return v, fitsType(v, to)
}

// asInt64 returns an integer of 128 bits that fits 64 if ok.
func asInt64(v wide, ok bool) (int64, bool) { return int64(v.LowBits()), ok }

// intCast casts among integers and decimals that are held as int64.
func intCast(n *node, from Type, try bool) kernel {
	to := n.typ
	low, high := bounds(to)
	switch {
	case always(from, to) && from.Scale == to.Scale:
		n.fallible = false
		return sameValues(n)
	case always(from, to):
		n.fallible = false
		factor := pow10(int(to.Scale - from.Scale))
		return map1(n, func(a int64) int64 { return a * factor })
	case from.Scale == to.Scale:
		return tried(n, from, try, func(a int64) (int64, bool) { return a, a >= low && a <= high })
	}
	return tried(n, from, try, func(a int64) (int64, bool) { return asInt64(exactNumber(int128(a), from, to)) })
}

// floatCast casts numbers to floats.
func floatCast(n *node, from Type) kernel {
	scale, single := int(from.Scale), n.typ.ID == Float32
	const digitsExact = 15 // which a double holds
	switch kind := from.kind(); {
	case kind == wideKind && single:
		return map1e(n, func(a wide) (float64, error) {
			return float64(digits.Single128(a.LowBits(), uint64(a.HighBits()), scale)), nil
		})
	case kind == wideKind:
		return map1e(n, func(a wide) (float64, error) { return toFloat(a, scale), nil })
	case kind == floatKind:
		return sameValues(n)
	case single && scale == 0:
		return map1(n, func(a int64) float64 { return float64(float32(a)) })
	case single:
		return map1(n, func(a int64) float64 { return float64(digits.Single(a, scale)) })
	case scale == 0:
		return map1(n, func(a int64) float64 { return float64(a) })
	case from.Precision <= digitsExact:
		divisor := math.Pow10(scale)
		return map1(n, func(a int64) float64 { return float64(a) / divisor })
	}
	return map1(n, func(a int64) float64 { return digits.Double(a, scale) })
}

// roundCast casts floats to integers and decimals.
func roundCast(n *node, try bool) kernel {
	to, from := n.typ, typeOf(Float64) // a float is shown with all digits of its double
	switch {
	case to.kind() == wideKind:
		return tried(n, from, try, func(a float64) (wide, bool) {
			if to.ID == Decimal {
				return fromFloat(a, to)
			}
			v, ok := wideOfFloat(math.RoundToEven(a))
			return v, ok && fitsType(v, to)
		})
	case to.ID == Decimal:
		return tried(n, from, try, func(a float64) (int64, bool) { return asInt64(fromFloat(a, to)) })
	}
	low, high := bounds(to)
	return tried(n, from, try, func(a float64) (int64, bool) {
		r := math.RoundToEven(a)
		if !(r >= float64(low) && r <= float64(high)) || r >= 1<<63 {
			return 0, false
		}
		return int64(r), true
	})
}

// parseCast casts strings.
func parseCast(n *node, try bool) kernel {
	to, from := n.typ, typeOf(Text)
	var parse func(string) (int64, bool)
	switch {
	case to.ID == Blob:
		return tried(n, from, try, parseBlob)
	case to.float():
		bits := types[to.ID].arrow.(arrow.FixedWidthDataType).BitWidth()
		return tried(n, from, try, func(a string) (float64, bool) { return parseFloat(a, bits) })
	case to.kind() == wideKind:
		return tried(n, from, try, func(a string) (wide, bool) { return parseExact(a, to) })
	case to.numeric():
		parse = func(a string) (int64, bool) { return asInt64(parseExact(a, to)) }
	case to.ID == Bool:
		return truths(tried(n, from, try, parseBool))
	case to.ID == Date:
		parse = parseDate
	case to.ID == Timestamp:
		parse = parseTimestamp
	case to.ID == TimestampTZ:
		parse = instantParser(n.zone)
	case to.ID == TimestampNS:
		parse = parseTimestampNS
	case to.ID == Time:
		parse = parseTime
	case to.ID == TimeNS:
		parse = func(a string) (int64, bool) {
			v, ok := parseTime(a)
			return v*1000 + nanosBelow(a), ok
		}
	case to.ID == Duration:
		parse = func(a string) (int64, bool) {
			v, err := parseInterval(a)
			return v.Days*dayMicros + v.Micros, err == nil && v.Months == 0
		}
	default:
		return nil
	}
	return tried(n, from, try, parse)
}

func parseExact(text string, to Type) (wide, bool) {
	if to.ID == Decimal {
		return parseDecimal(text, to)
	}
	trimmed := strings.TrimSpace(text)
	if v, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
		return int128(v), fitsType(int128(v), to)
	}
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if len(text) > 2 && text[0] == '0' {
		if prefix := text[1] | 0x20; prefix == 'x' || prefix == 'b' {
			v, ok := new(big.Int).SetString(text, 0)
			if !ok || v.BitLen() > 126 {
				return wide{}, false
			}
			w := decimal128.FromBigInt(v)
			return w, fitsType(w, to)
		}
	}
	if to.unsigned() && strings.HasPrefix(text, "-") {
		return wide{}, false // nor does '-0.4' fit, in DuckDB
	}
	v, ok := parseDecimal(text, decimalOf(digitsMax, 0))
	return v, ok && fitsType(v, to)
}

func parseFloat(text string, bits int) (float64, bool) {
	trimmed := strings.TrimSpace(text)
	switch unsigned := strings.TrimLeft(trimmed, "+-"); {
	case strings.HasPrefix(unsigned, "0x"):
		return 0, false
	case len(trimmed) == len("-nan") && strings.EqualFold(unsigned, "nan"):
		return math.NaN(), true
	}
	v, err := strconv.ParseFloat(trimmed, bits)
	return v, err == nil || errors.Is(err, strconv.ErrRange) // which is an infinity
}

// parseBlob reads a BLOB: bytes of ASCII as they are, but \xAA for a byte in hexadecimal digits.
func parseBlob(text string) (string, bool) {
	if strings.IndexFunc(text, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf }) < 0 {
		return text, true
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return "", false
		case c != '\\':
			out = append(out, c)
		default:
			if len(text) < i+4 || text[i+1] != 'x' {
				return "", false
			}
			v, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
			if err != nil {
				return "", false
			}
			out = append(out, byte(v))
			i += 3
		}
	}
	return string(out), true
}

// appendBlob writes bytes as parseBlob reads them.
func appendBlob(b []byte, blob string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(blob) {
		if c := blob[i]; c < ' ' || c > '~' || c == '\\' || c == '\'' || c == '"' {
			b = append(b, '\\', 'x', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// blobTextLen returns how many bytes appendBlob writes.
func blobTextLen(blob string) int {
	size := 0
	for i := range len(blob) {
		size++
		if c := blob[i]; c < ' ' || c > '~' || c == '\\' || c == '\'' || c == '"' {
			size += 3
		}
	}
	return size
}

// parseBool returns 1 for TRUE and 0 for FALSE.
func parseBool(text string) (value int64, ok bool) {
	switch strings.ToLower(text) {
	case "true", "t", "1", "yes", "y":
		return 1, true
	case "false", "f", "0", "no", "n":
		return 0, true
	}
	return 0, false
}

// truths turns the zeros and ones of a kernel into bits.
func truths(parse kernel) kernel {
	return func(f *frame) (*vector, error) {
		v, err := parse(f)
		if err != nil {
			return nil, err
		}
		out := f.e.vector(bitKind, f.n)
		out.null = v.null
		for i, x := range v.ints {
			if !v.isNull(i) {
				out.bits[i>>6] |= uint64(x) << (i & 63)
			}
		}
		return out, nil
	}
}

// textCast writes values as strings.
func textCast(n *node, from Type) kernel {
	switch from.kind() {
	case bitKind:
		return unary(n, textKind, func(_ *frame, a, out *vector) error {
			for i := range out.texts {
				out.texts[i] = strconv.FormatBool(a.bit(i))
			}
			return nil
		})
	case floatKind:
		return written[float64](n, from)
	case wideKind:
		return written[wide](n, from)
	case intKind:
		return written[int64](n, from)
	}
	return map1f(n, func(e *Evaluator, a string) (string, error) {
		b, err := e.room(n, blobTextLen(a))
		if err != nil {
			return "", err
		}
		return e.keep(appendBlob(b, a)), nil
	})
}

// written makes the kernel that writes numbers and times.
func written[A element](n *node, from Type) kernel {
	const longest = 48 // a sign, digitsMax digits and a decimal point, or a timestamp
	return map1f(n, func(e *Evaluator, a A) (string, error) {
		b, err := e.room(n, longest)
		if err != nil {
			return "", err
		}
		return e.keep(appendValue(b, from, a)), nil
	})
}

// appendValue writes a value as SQL casts it to a string.
func appendValue(b []byte, t Type, value any) []byte {
	switch v := value.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		bits := 64
		if t.ID == Float32 {
			bits = 32
		}
		return append(b, formatFloat(v, bits)...)
	case wide:
		return appendDecimal(b, v, t)
	case string:
		switch {
		case t.ID == Blob:
			return appendBlob(b, v)
		case t.nested():
			return appendNested(b, t, v, nil)
		}
		return append(b, v...)
	case int64:
		switch t.ID {
		case Decimal:
			return appendDecimal(b, decimal128.FromI64(v), t)
		case Date:
			return timeformat.AppendDate(b, v)
		case Time:
			return appendClock(b, v, 0)
		case TimeNS:
			return appendClock(b, v/1000, v%1000)
		case Timestamp, TimestampTZ, TimestampNS:
			return appendTimestamp(b, v, t)
		case Duration:
			return appendDuration(b, v)
		}
		return strconv.AppendInt(b, v, 10)
	}
	return append(b, "NULL"...)
}

func formatValue(t Type, value any) string { return string(appendValue(nil, t, value)) }

// formatFloat writes the shortest number that reads back the same, with an exponent from 1e16 on
// and below 1e-4.
func formatFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
	text := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
