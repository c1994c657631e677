package jsonpath

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Kind names what a value is, as DuckDB's json_type does.
func Kind(value string) string {
	switch value[0] {
	case '{':
		return "OBJECT"
	case '[':
		return "ARRAY"
	case '"':
		return "VARCHAR"
	case 't', 'f':
		return "BOOLEAN"
	case 'n':
		return "NULL"
	}
	kind, end := "UBIGINT", "18446744073709551615"
	if value[0] == '-' {
		kind, end = "BIGINT", "-9223372036854775808"
	}
	if isFraction(value) || len(value) > len(end) || len(value) == len(end) && value > end {
		return "DOUBLE"
	}
	return kind
}

// isFraction reports whether a number is written as other than an integer.
func isFraction(number string) bool { return strings.ContainsAny(number, ".eE") }

// Append appends a value without space, in one form: strings with no more escapes than they need, and doubles in the
// fewest digits.
func Append(dst []byte, value string) []byte {
	switch value[0] {
	case '{', '[':
		open := value[0]
		dst = append(dst, open)
		first := true
		Each(value, func(key, v string) bool {
			if !first {
				dst = append(dst, ',')
			}
			if first = false; open == '{' {
				dst = append(AppendString(dst, key), ':')
			}
			dst = Append(dst, v)
			return true
		})
		return append(dst, open+2) // the bracket that closes it
	case '"':
		return AppendString(dst, Unquote(value))
	}
	if value[0] <= '9' && isFraction(value) {
		return appendDouble(dst, value)
	}
	return append(dst, value...)
}

// appendDouble appends a number as JSON has doubles.
func appendDouble(dst []byte, value string) []byte {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(v, 0) {
		return append(dst, value...)
	}
	return AppendFloat(dst, v)
}

// AppendFloat appends a double. What JSON has no numbers for are NaN, Infinity and -Infinity.
func AppendFloat(dst []byte, v float64) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	const plainFrom, plainTo = 1e-6, 1e21
	if a := math.Abs(v); a != 0 && (a < plainFrom || a >= plainTo) {
		text := strconv.AppendFloat(nil, v, 'e', -1, 64)
		digits, exponent, _ := bytes.Cut(text, []byte("e"))
		n, _ := strconv.Atoi(string(exponent))
		return strconv.AppendInt(append(append(dst, digits...), 'e'), int64(n), 10)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
	if bytes.IndexByte(dst[from:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendString appends a text in quotes.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		if at := strings.IndexByte("\b\f\n\r\t", c); at >= 0 {
			dst = append(dst, '\\', "bfnrt"[at])
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			const digits = "0123456789ABCDEF"
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// AppendPretty writes a value with a line for each member, four spaces further in than what it belongs to.
func AppendPretty(dst []byte, value string) []byte { return appendPretty(dst, value, "\n") }

func appendPretty(dst []byte, value, line string) []byte {
	value = strings.TrimRight(value, space)
	if Kind(value) != "OBJECT" && Kind(value) != "ARRAY" {
		return Append(dst, value)
	}
	inner, isFirst := line+"    ", true
	dst = append(dst, value[0])
	Each(value, func(key, v string) bool {
		if !isFirst {
			dst = append(dst, ',')
		}
		isFirst = false
		if dst = append(dst, inner...); value[0] == '{' {
			dst = append(AppendString(dst, key), ": "...)
		}
		dst = appendPretty(dst, v, inner)
		return true
	})
	if !isFirst {
		dst = append(dst, line...)
	}
	return append(dst, value[len(value)-1])
}
