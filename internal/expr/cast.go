package expr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/internal/digits"
)

// implicit says whether values of a type are converted to another without a written cast.
func implicit(from, to Type) bool {
	switch {
	case from == to, from.ID == Null, from.ID == Text:
		return true
	case from.numeric() && (to.numeric() || to.ID == Bool), from.ID == Bool && to.numeric():
		return true
	case from.temporal() && to.temporal():
		return true
	}
	return from.ID == Interval && to.ID == Duration
}

// cast returns a node converted to a type, where that may happen implicitly.
func (b *binder) cast(n *node, t Type) (*node, error) {
	if n.typ == t {
		return n, nil
	}
	if !implicit(n.typ, t) {
		return nil, errorAt(n.at, "%s is of type %s, want %s", n.text, n.typ, t)
	}
	c := &node{typ: t, text: n.text, at: n.at, column: -1, single: -1, args: []*node{n}}
	if !setCast(c, n.typ, false) {
		return nil, errorAt(n.at, "%s is of type %s, want %s", n.text, n.typ, t)
	}
	c = b.finish(c)
	if n.textConstant() && !c.isConst {
		return nil, errorAt(n.at, "%s is no %s", n.text, t)
	}
	return c, nil
}

// explicitCast binds CAST and TRY_CAST.
func (b *binder) explicitCast(n *node, t Type, try bool) (*node, error) {
	from := n.args[0].typ
	if from == t {
		return n.args[0], nil
	}
	n.typ = t
	if t.ID == Interval && n.args[0].textConstant() {
		v, err := parseInterval(n.args[0].value.(string))
		if err != nil {
			return nil, errorAt(n.at, "%v", err)
		}
		c := b.constant(t, v)
		c.at = n.at
		return c, nil
	}
	if from.ID == Interval || t.ID == Interval || !setCast(n, from, try) {
		return nil, errorAt(n.at, "%s: no cast from %s to %s", n.text, from, t)
	}
	return b.finish(n), nil
}

// castError is a value that does not fit a type.
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

// setCast gives a node with one argument the kernel of a cast. It returns false where there is none.
func setCast(n *node, from Type, try bool) bool {
	n.fallible = !try
	to := n.typ
	n.exact = from.numeric() && !from.float() && to.numeric() && !to.float() && always(from, to) ||
		from.ID == Float32 && to.ID == Float64 || from.ID == Date && to.ID == Timestamp && !try ||
		from.ID == Timestamp && to.ID == TimestampNS && !try // which may be NULL
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
	case from.ID == Interval && to.ID == Duration:
		return setIntervalCast(n)
	case to.ID == Text:
		setTextCast(n, from)
		return true
	case from.ID == Text && to.ID == Blob:
		n.eval = tried(n, try, parseBlob, func(a string) string { return a })
		return true
	case from.ID == Text:
		return setParse(n, try)
	case to.ID == Bool:
		n.fallible = false
		return setTruth(n, from)
	case from.ID == Bool:
		return setFromBool(n)
	case from.numeric() && to.numeric():
		setNumberCast(n, from, try)
		return true
	}
	return setTimeCast(n, from, try)
}

// tried makes the kernel of a cast, whose error is NULL if it is TRY_CAST.
func tried[A, R element](n *node, try bool, fn func(A) (R, bool), show func(A) string) func(*frame) (*vector, error) {
	return map1e(n, func(a A) (R, error) {
		r, ok := fn(a)
		switch {
		case ok:
			return r, nil
		case try:
			return r, errNull
		}
		return r, &castError{n, strings.Clone(show(a))} // the batch may be gone when the error is read
	})
}

func setTruth(n *node, from Type) bool {
	switch from.kind() {
	case intKind:
		if !from.numeric() {
			return false
		}
		n.eval = test1(n, func(a int64) bool { return a != 0 })
	case floatKind:
		n.eval = test1(n, func(a float64) bool { return a != 0 })
	case wideKind:
		n.eval = test1(n, func(a wide) bool { return a.Sign() != 0 })
	default:
		return false
	}
	return true
}

func setFromBool(n *node) bool {
	if !n.typ.numeric() {
		return false
	}
	one := any(int64(1))
	if n.typ.ID == Decimal {
		v, ok := scaleUp(int128(1), int(n.typ.Scale))
		if !ok || !fits(v, int(n.typ.Precision)) {
			return false
		}
		one = narrowed(v, n.typ)
	} else if n.typ.kind() == wideKind {
		one = int128(1)
	}
	k := n.typ.kind()
	n.fallible = false
	n.eval = func(f *frame) (*vector, error) {
		a, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		out := f.e.vector(k, f.n)
		out.null = a.null
		switch k {
		case intKind:
			clear(out.ints)
			eachBit(a.bits, f.n, func(i int) { out.ints[i] = one.(int64) })
		case floatKind:
			clear(out.floats)
			eachBit(a.bits, f.n, func(i int) { out.floats[i] = 1 })
		case wideKind:
			clear(out.wides)
			eachBit(a.bits, f.n, func(i int) { out.wides[i] = one.(wide) })
		}
		return out, nil
	}
	return true
}

// setNumberCast casts between integers, decimals and floats.
func setNumberCast(n *node, from Type, try bool) {
	to := n.typ
	switch {
	case to.float():
		n.fallible = false
		setToFloat(n, from)
	case from.float():
		setFromFloat(n, try)
	case from.kind() == intKind && to.kind() == intKind:
		setIntCast(n, from, try)
	case from.kind() == intKind:
		n.eval = tried(n, try, func(a int64) (wide, bool) { return exactNumber(int128(a), from, to) }, showNumber[int64](from))
		n.fallible = n.fallible && !always(from, to)
	case to.kind() == intKind:
		n.eval = tried(n, try, func(a wide) (int64, bool) {
			v, ok := exactNumber(a, from, to)
			return int64(v.LowBits()), ok
		}, showNumber[wide](from))
	default:
		n.eval = tried(n, try, func(a wide) (wide, bool) { return exactNumber(a, from, to) }, showNumber[wide](from))
	}
}

// always says whether every value of one decimal or integer type is a value of another.
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

func showNumber[A element](t Type) func(A) string {
	return func(a A) string { return formatValue(t, any(a)) }
}

// setIntCast casts among integers and decimals that are held as int64.
func setIntCast(n *node, from Type, try bool) {
	to := n.typ
	if always(from, to) {
		n.fallible = false
		factor := pow10[to.Scale-from.Scale]
		if factor == 1 {
			n.eval = func(f *frame) (*vector, error) { return f.eval(n.args[0]) }
			return
		}
		n.eval = map1(n, func(a int64) int64 { return a * factor })
		return
	}
	low, high := bounds(to)
	if from.Scale == to.Scale {
		n.eval = tried(n, try, func(a int64) (int64, bool) { return a, a >= low && a <= high }, showNumber[int64](from))
		return
	}
	n.eval = tried(n, try, func(a int64) (int64, bool) {
		v, ok := exactNumber(int128(a), from, to)
		return int64(v.LowBits()), ok
	}, showNumber[int64](from))
}

func setToFloat(n *node, from Type) {
	scale, single := int(from.Scale), n.typ.ID == Float32
	const digitsExact = 15 // which a double holds
	switch kind := from.kind(); {
	case kind == wideKind && single:
		n.eval = map1e(n, func(a wide) (float64, error) { return toSingle(a, scale), nil })
	case kind == wideKind:
		n.eval = map1e(n, func(a wide) (float64, error) { return toFloat(a, scale), nil })
	case kind == floatKind && single:
		n.eval = map1(n, func(a float64) float64 { return float64(float32(a)) })
	case kind == floatKind:
		n.eval = map1(n, func(a float64) float64 { return a })
	case single && scale == 0:
		n.eval = map1(n, func(a int64) float64 { return float64(float32(a)) })
	case single:
		n.eval = map1(n, func(a int64) float64 { return float64(digits.Single(a, scale)) })
	case scale == 0:
		n.eval = map1(n, func(a int64) float64 { return float64(a) })
	case from.Precision <= digitsExact:
		divisor := math.Pow10(scale)
		n.eval = map1(n, func(a int64) float64 { return float64(a) / divisor })
	default:
		n.eval = map1(n, func(a int64) float64 { return digits.Double(a, scale) })
	}
}

func setFromFloat(n *node, try bool) {
	to := n.typ
	show := func(a float64) string { return formatFloat(a, 64) }
	switch {
	case to.kind() == wideKind:
		n.eval = tried(n, try, func(a float64) (wide, bool) { return floatToExact(a, to) }, show)
	case to.ID == Decimal:
		n.eval = tried(n, try, func(a float64) (int64, bool) {
			v, ok := fromFloat(a, to)
			return int64(v.LowBits()), ok
		}, show)
	default:
		low, high := bounds(to)
		n.eval = tried(n, try, func(a float64) (int64, bool) {
			r := math.RoundToEven(a)
			if !(a >= float64(low) && r <= float64(high)) || r >= 1<<63 {
				return 0, false
			}
			return int64(r), true
		}, show)
	}
}

func floatToExact(a float64, to Type) (wide, bool) {
	if to.ID == Decimal {
		return fromFloat(a, to)
	}
	v, ok := fromFloat(math.RoundToEven(a), decimalOf(digitsMax, 0))
	return v, ok && fitsType(v, to) && (a >= 0 || to.ID != Uint64)
}

// setParse casts strings.
func setParse(n *node, try bool) bool {
	to := n.typ
	show := func(a string) string { return a }
	switch {
	case to.ID == Bool:
		n.eval = parseBools(n, try)
	case to.float():
		bits := 64
		if to.ID == Float32 {
			bits = 32
		}
		n.eval = tried(n, try, func(a string) (float64, bool) { return parseFloat(a, bits) }, show)
	case to.kind() == wideKind:
		n.eval = tried(n, try, func(a string) (wide, bool) { return parseExact(a, to) }, show)
	case to.numeric():
		n.eval = tried(n, try, func(a string) (int64, bool) {
			v, ok := parseExact(a, to)
			return int64(v.LowBits()), ok
		}, show)
	case to.ID == Date:
		n.eval = tried(n, try, parseDate, show)
	case to.ID == Timestamp || to.ID == TimestampTZ:
		n.eval = tried(n, try, parseTimestamp, show)
	case to.ID == TimestampNS:
		n.eval = tried(n, try, func(a string) (int64, bool) {
			v, ok := parseTimestamp(a)
			return v * 1000, ok && v == v*1000/1000
		}, show)
	case to.ID == Time:
		n.eval = tried(n, try, parseTime, show)
	case to.ID == Duration:
		n.eval = tried(n, try, func(a string) (int64, bool) {
			v, err := parseInterval(a)
			return v.Days*dayMicros + v.Micros, err == nil && v.Months == 0
		}, show)
	default:
		return false
	}
	return true
}

func parseExact(text string, to Type) (wide, bool) {
	if to.ID == Decimal {
		return parseDecimal(text, to)
	}
	trimmed := strings.TrimSpace(text)
	if v, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
		return int128(v), fitsType(int128(v), to)
	}
	if len(text) > 2 && text[0] == '0' && to.ID != Huge {
		if prefix := text[1] | 0x20; prefix == 'x' || prefix == 'b' {
			v, err := strconv.ParseUint(text, 0, 64)
			w := decimal128.FromU64(v)
			return w, err == nil && fitsType(w, to)
		}
	}
	v, ok := parseDecimal(text, decimalOf(digitsMax, 0))
	return v, ok && fitsType(v, to)
}

func parseFloat(text string, bits int) (float64, bool) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(strings.TrimLeft(trimmed, "+-"), "0x") {
		return 0, false
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

func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "t", "1", "yes", "y":
		return true, true
	case "false", "f", "0", "no", "n":
		return false, true
	}
	return false, false
}

func parseBools(n *node, try bool) func(*frame) (*vector, error) {
	parse := tried(n, try, func(a string) (int64, bool) {
		v, ok := parseBool(a)
		return int64(bitOf(v)), ok
	}, func(a string) string { return a })
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

// setTextCast writes values as strings.
func setTextCast(n *node, from Type) {
	n.fallible = false
	switch from.kind() {
	case bitKind:
		n.eval = func(f *frame) (*vector, error) {
			a, err := f.eval(n.args[0])
			if err != nil {
				return nil, err
			}
			out := f.e.vector(textKind, f.n)
			out.null = a.null
			for i := range out.texts {
				out.texts[i] = strconv.FormatBool(a.bit(i))
			}
			return out, nil
		}
	case floatKind:
		n.eval = map1f(n, func(e *Evaluator, a float64) (string, error) {
			b, err := e.room(n, 32)
			if err != nil {
				return "", err
			}
			return e.keep(appendValue(b, from, a)), nil
		})
	case wideKind:
		n.eval = map1f(n, func(e *Evaluator, a wide) (string, error) {
			b, err := e.room(n, 48)
			if err != nil {
				return "", err
			}
			return e.keep(appendValue(b, from, a)), nil
		})
	case intKind:
		n.eval = map1f(n, func(e *Evaluator, a int64) (string, error) {
			b, err := e.room(n, 32)
			if err != nil {
				return "", err
			}
			return e.keep(appendValue(b, from, a)), nil
		})
	default:
		n.eval = map1f(n, func(e *Evaluator, a string) (string, error) {
			b, err := e.room(n, blobTextLen(a))
			if err != nil {
				return "", err
			}
			return e.keep(appendBlob(b, a)), nil
		})
	}
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
		if t.ID == Blob {
			return appendBlob(b, v)
		}
		return append(b, v...)
	case int64:
		switch t.ID {
		case Decimal:
			return appendDecimal(b, decimal128.FromI64(v), t)
		case Date:
			return appendDate(b, v)
		case Time:
			return appendClock(b, v)
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

// formatFloat writes the shortest number that reads back the same, with an exponent from 1e16 on and
// below 1e-4.
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
