package expr

import (
	"encoding/base64"
	bytecode "encoding/binary"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/query"
)

// codes are the functions that write bytes and numbers as text, and read them.
func codes() []Function {
	return []Function{
		function("hex", "a", "bytes of a string or BLOB, or an integer, in hexadecimal digits", "hex('Ulm')", "556C6D",
			inDigits(4), "to_hex"),
		function("bin", "a", "the same in binary digits", "bin(42)", "101010", inDigits(1), "to_binary"),
		function("unhex", "s", "the BLOB of hexadecimal digits", "unhex('556C6D')", "Ulm", ofDigits(4), "from_hex"),
		function("unbin", "s", "the BLOB of binary digits", "unbin('01010101')", "U", ofDigits(1), "from_binary"),
		operator("to_base", "to_base(n, radix [, digits])",
			"n in a base from 2 to 36, filled up with zeros to a number of digits",
			"to_base(42, 16, 4)", "002A", 2, 3, toBase),
		function("to_base64", "blob", "in Base64", "to_base64('Ulm'::BLOB)", "VWxt", toBase64, "base64"),
		function("from_base64", "s", "the BLOB of Base64", "from_base64('VWxt')", "Ulm", fromBase64),
		function("encode", "s", "its bytes as a BLOB", "encode('a')", "a", encode),
		operator("decode", "decode(blob [, how])",
			"the text that bytes of UTF-8 are; others are an error, ? by 'replace', or left out by 'ignore'",
			"decode('\\xAAb'::BLOB, 'replace')", "?b", 1, 2, decode),
		function("url_encode", "s", "with % and two digits for bytes other than letters, digits and -_.~",
			"url_encode('a b')", "a%20b", textOf(func(s string) int { return 3 * len(s) }, appendURL)),
		function("url_decode", "s", "with the bytes that % and two digits stand for", "url_decode('a%20b')", "a b",
			urlDecode),
	}
}

// textOf binds a function that appends what it makes of a string, in size bytes at most.
func textOf(size func(s string) int, fn func(b []byte, s string) []byte) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		b.want(n, Text)
		n.eval = appended(n, size, func(b []byte, s string) ([]byte, error) { return fn(b, s), nil })
	}
}

// appended makes the kernel of a function that appends to bytes what it makes of a value, in size bytes at most.
func appended[A element](n *node, size func(A) int, fn func(b []byte, a A) ([]byte, error)) kernel {
	return map1f(n, func(e *Evaluator, a A) (string, error) {
		b, err := e.room(n, size(a))
		if err == nil {
			b, err = fn(b, a)
		}
		if err != nil {
			return "", err
		}
		return e.keep(b), nil
	})
}

// wantBytes requires the first argument to be a string or a BLOB.
func (b *binder) wantBytes(n *node) {
	if n.args[0].typ.ID != Blob {
		b.want(n, Text)
	}
}

const digitSigns = "0123456789ABCDEF"

// inDigits binds hex and bin: bytes, and integers without leading zeros, in digits of some bits.
func inDigits(bitsOfDigit uint) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		t := n.args[0].typ
		if !t.integer() {
			b.wantBytes(n)
			n.eval = appended(n, func(s string) int { return len(s) * 8 / int(bitsOfDigit) }, func(b []byte, s string) ([]byte,
				error) {
				for i := range len(s) {
					for shift := 8 - bitsOfDigit; shift < 8; shift -= bitsOfDigit {
						b = append(b, digitSigns[s[i]>>shift&(1<<bitsOfDigit-1)])
					}
				}
				return b, nil
			})
			return
		}
		to := typeOf(Huge)
		if t.ID != Huge && t.ID != Uint64 {
			to = typeOf(Int64)
		}
		b.castArg(n, 0, to)
		base := 1 << bitsOfDigit
		if to.ID == Int64 {
			n.eval = appended(n, func(int64) int { return 64 }, func(b []byte, v int64) ([]byte, error) {
				return upperDigits(strconv.AppendUint(b, uint64(v), base)), nil
			})
			return
		}
		n.eval = appended(n, func(wide) int { return 128 }, func(b []byte, v wide) ([]byte, error) {
			high := new(big.Int).SetUint64(uint64(v.HighBits()))
			return upperDigits(high.Lsh(high, 64).Or(high, new(big.Int).SetUint64(v.LowBits())).Append(b, base)), nil
		})
	}
}

// upperDigits makes the letters of digits capitals.
func upperDigits(b []byte) []byte {
	for i, c := range b {
		if c >= 'a' {
			b[i] = c - 'a' + 'A'
		}
	}
	return b
}

// ofDigits binds unhex and unbin. Digits that fill no byte are the last of the first byte.
func ofDigits(bitsOfDigit int) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Blob), true
		b.want(n, Text)
		perByte := 8 / bitsOfDigit
		n.eval = appended(n, func(s string) int { return len(s)/perByte + 1 }, func(b []byte, s string) ([]byte, error) {
			for len(s) > 0 {
				size := (len(s)-1)%perByte + 1
				v, err := strconv.ParseUint(s[:size], 1<<bitsOfDigit, 8)
				if err != nil || s[0] == '+' {
					return nil, query.Valuef("%s: %q has other than digits of base %d", n.text, shortText(s), 1<<bitsOfDigit)
				}
				b, s = append(b, byte(v)), s[size:]
			}
			return b, nil
		})
	}
}

// toBase binds to_base(number, radix, digits).
func toBase(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	b.want(n, []TypeID{Int64, Int64, Int64}[:len(n.args)]...)
	b.fill(n, 3, typeOf(Int64), int64(0))
	n.eval = map3f(n, func(e *Evaluator, v, radix, least int64) (string, error) {
		if v < 0 || radix < 2 || radix > 36 || least < 0 || least > 64 {
			return "", query.Valuef("%s: %d to base %d, %d digits; want a number from 0 on, a base from 2 to 36, and 64 "+
				"digits at most",
				n.text, v, radix, least)
		}
		room, err := e.room(n, 128)
		if err != nil {
			return "", err
		}
		var digits [64]byte
		made := upperDigits(strconv.AppendInt(digits[:0], v, int(radix)))
		for range int(least) - len(made) {
			room = append(room, '0')
		}
		return e.keep(append(room, made...)), nil
	})
}

func toBase64(b *binder, n *node) {
	n.typ = typeOf(Text)
	b.wantBytes(n)
	n.eval = appended(n, func(s string) int { return base64.StdEncoding.EncodedLen(len(s)) },
		func(b []byte, s string) ([]byte, error) { return base64.StdEncoding.AppendEncode(b, []byte(s)), nil })
}

func fromBase64(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Blob), true
	b.want(n, Text)
	n.eval = appended(n, func(s string) int { return base64.StdEncoding.DecodedLen(len(s)) },
		func(b []byte, s string) ([]byte, error) {
			made, err := base64.StdEncoding.AppendDecode(b, []byte(s))
			if err != nil || strings.ContainsAny(s, "\r\n") { // which the library passes over
				return nil, query.Valuef("%s: %q is no Base64", n.text, shortText(s))
			}
			return made, nil
		})
}

func encode(b *binder, n *node) {
	b.want(n, Text)
	n.typ, n.eval = typeOf(Blob), sameValues(n)
}

func decode(b *binder, n *node) {
	if t := n.args[0].typ.ID; t != Blob && t != Null {
		b.mismatch(n)
	}
	with, isKnown := "", true
	if len(n.args) > 1 {
		how := map[string]string{"strict": "", "replace": "?", "ignore": " "}
		with, isKnown = how[b.word(n, 1)]
	}
	if n.args = n.args[:1]; !isKnown {
		b.fail(n.at, "%s: want 'strict', 'replace' or 'ignore' behind the bytes", n.text)
	}
	n.typ, n.fallible = typeOf(Text), true
	b.castArg(n, 0, typeOf(Blob))
	n.eval = map1e(n, func(s string) (string, error) {
		if !utf8.ValidString(s) && with != "" {
			return readable(s, strings.TrimSpace(with)), nil
		}
		if !utf8.ValidString(s) {
			return "", query.Valuef("%s: the bytes are no UTF-8", n.text)
		}
		return s, nil
	})
}

// readable returns a text with another in place of each byte that is no UTF-8.
func readable(s, with string) string {
	var text strings.Builder
	for at, r := range s {
		if _, size := utf8.DecodeRuneInString(s[at:]); r == utf8.RuneError && size == 1 {
			text.WriteString(with)
		} else {
			text.WriteRune(r)
		}
	}
	return text.String()
}

func appendURL(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; isWordByte(c) || strings.IndexByte("-_.~", c) >= 0 {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return b
}

// isWordByte says whether a byte is an ASCII letter or a digit.
func isWordByte(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func urlDecode(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	b.want(n, Text)
	n.eval = appended(n, byteLen, func(b []byte, s string) ([]byte, error) {
		from := len(b)
		for i := 0; i < len(s); i++ {
			c := s[i]
			if c == '%' && i+2 < len(s) {
				if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && s[i+1] != '+' {
					c, i = byte(v), i+2
				}
			}
			b = append(b, c)
		}
		if !utf8.Valid(b[from:]) {
			return nil, query.Valuef("%s: the bytes are no UTF-8", n.text)
		}
		return b, nil
	})
}

func byteLen(s string) int { return len(s) }

// RowOf is a function of values that is equal where all of them are, with NULL as a value. No text can call it.
const RowOf = "row of"

// rowOf binds RowOf: a BLOB of all values.
func rowOf(b *binder, n *node) {
	n.typ = typeOf(Blob)
	for i, a := range n.args {
		if a.typ.ID == Interval {
			n.args[i] = b.lengthOf(n, a)
		}
	}
	n.eval = func(f *frame) (*vector, error) {
		args, out, err := f.all(n, textKind)
		if err != nil {
			return nil, err
		}
		out.null = nil
		for i := range out.texts {
			size := 0
			for _, a := range args {
				if size += 1 + 16; a.texts != nil {
					size += len(a.texts[i])
				}
			}
			room, err := f.e.room(n, size)
			if err != nil {
				return nil, err
			}
			for j, a := range args {
				room = a.appendKey(room, n.args[j].typ.kind(), i)
			}
			out.texts[i] = f.e.keep(room)
		}
		return out, nil
	}
}

// appendKey writes a row's value so that equal values, and no others, are the same bytes.
func (v *vector) appendKey(b []byte, k kind, i int) []byte {
	if v.isNull(i) {
		return append(b, 0)
	}
	b = append(b, 1)
	switch k {
	case bitKind:
		return append(b, byte(bitOf(v.bit(i))))
	case intKind:
		return bytecode.LittleEndian.AppendUint64(b, uint64(v.ints[i]))
	case floatKind:
		return bytecode.LittleEndian.AppendUint64(b, uint64(orderFloat(v.floats[i])))
	case wideKind:
		b = bytecode.LittleEndian.AppendUint64(b, uint64(v.wides[i].HighBits()))
		return bytecode.LittleEndian.AppendUint64(b, v.wides[i].LowBits())
	}
	b = bytecode.LittleEndian.AppendUint64(b, uint64(len(v.texts[i])))
	return append(b, v.texts[i]...)
}
