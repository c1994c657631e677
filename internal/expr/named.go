package expr

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// This file has the types of nested.Named: UUID, BIT, TIME WITH TIME ZONE and ENUM. Their values are strings of bytes,
// as nested values are, so that whatever compares, groups and orders these does so with them.

var (
	uuidType   = namedOf(nested.NewNamed(nested.UUID))
	bitType    = namedOf(nested.NewNamed(nested.Bit))
	timeTZType = namedOf(nested.NewNamed(nested.TimeTZ))
)

// namedByName are the types of this file that have a name, by it.
var namedByName = map[string]Type{
	"uuid": uuidType, "guid": uuidType, "bit": bitType, "bitstring": bitType, "timetz": timeTZType,
}

// named returns what a type of this file is in Arrow.
func (t Type) named() *nested.Named { return t.arrow.Of.(*nested.Named) }

// isNamed says whether a type is one of this file.
func (t Type) isNamed() bool { return t.ID == Named && t.nested() }

func (t Type) isEnum() bool { return t.isNamed() && t.named().Kind == nested.Enum }

// whole says whether values are strings of bytes without parts.
func (t Type) whole() bool { return t.ID == Period || t.ID == Named }

// namedText returns the bytes of a value of Named as an expression has them.
func namedText(value string) string { return string(nested.AppendText(nil, value)) }

// setNamedCast is setCast from or to a type of this file.
func setNamedCast(n *node, from Type, try bool) bool {
	to := n.typ
	if to.ID == Text {
		n.fallible = false
		n.eval = map1e(n, func(s string) (string, error) { return from.named().Text(nested.TextOf(s)), nil })
		return true
	}
	if from.isEnum() && to.isNamed() {
		text := &node{typ: typeOf(Text), text: n.text, at: n.at, column: -1, single: -1, args: n.args}
		setNamedCast(text, from, try)
		n.args = []*node{text}
		from = text.typ
	}
	n.eval = nil
	switch {
	case to.isNamed() && from.ID == Text:
		parse := parserOf(to.named())
		n.eval = tried(n, from, try, func(s string) (string, bool) {
			v, ok := parse(s)
			return namedText(v), ok
		})
	case to == bitType && from.integer() || from == bitType && to.integer():
		n.eval = bitsOfInteger(n, from, try)
	case to == bitType && from.ID == Blob:
		n.eval = tried(n, from, try, func(s string) (string, bool) { return namedText(bitsOfBytes(s)), s != "" })
	case from == bitType && to.ID == Blob:
		n.eval = map1e(n, func(s string) (string, error) { return bitsAsBytes(nested.TextOf(s)), nil })
	case to == uuidType && from.ID == Blob:
		n.eval = tried(n, from, try, func(s string) (string, bool) { return namedText(s), len(s) == uuidBytes })
	case from == uuidType && to.ID == Blob:
		n.eval = map1e(n, func(s string) (string, error) { return nested.TextOf(s), nil })
	case to == timeTZType && from.ID == Time:
		n.eval = map1e(n, func(micros int64) (string, error) { return namedText(nested.TimeTZBytes(micros, 0)), nil })
	case to == timeTZType && from.ID == TimestampTZ:
		n.eval = finite(n, from, func(micros int64) string {
			return namedText(nested.TimeTZBytes((micros%dayMicros+dayMicros)%dayMicros, 0))
		})
	case from == timeTZType && to.ID == Time:
		n.eval = map1e(n, func(s string) (int64, error) {
			micros, _ := nested.TimeTZOf(nested.TextOf(s))
			return micros, nil
		})
	}
	return n.eval != nil
}

const uuidBytes = 16

// parserOf returns what reads a text as a value.
func parserOf(t *nested.Named) func(s string) (string, bool) {
	switch t.Kind {
	case nested.UUID:
		return parseUUID
	case nested.Bit:
		return parseBits
	case nested.TimeTZ:
		return parseTimeTZ
	}
	places := make(map[string]string, len(t.Words))
	for i, word := range t.Words {
		places[word] = nested.EnumBytes(i)
	}
	return func(s string) (string, bool) {
		v, ok := places[s]
		return v, ok
	}
}

// parseBits reads 0 and 1, one at least.
func parseBits(s string) (string, bool) {
	s = strings.TrimSpace(s)
	return s, s != "" && strings.Trim(s, "01") == ""
}

// parseUUID reads 32 hexadecimal digits, with hyphens between some of them, and braces around all.
func parseUUID(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		if s, ok = strings.CutSuffix(inner, "}"); !ok {
			return "", false
		}
	}
	digits := make([]byte, 0, 2*uuidBytes)
	for i := range len(s) {
		switch {
		case s[i] != '-':
			digits = append(digits, s[i])
		case i == 0 || i+1 == len(s) || s[i-1] == '-' || len(digits)%2 != 0:
			return "", false
		}
	}
	value, err := hex.DecodeString(string(digits))
	return string(value), err == nil && len(value) == uuidBytes
}

// parseTimeTZ reads a time of day and an offset from UTC, which is 0 where none is written.
func parseTimeTZ(s string) (string, bool) {
	_, micros, offset, dated, ok := parseMoment(s)
	const hoursMax = 16
	if dated || !ok || max(offset, -offset) >= hoursMax*hourMicros {
		return "", false
	}
	return nested.TimeTZBytes(micros, int32(offset/secondMicros)), true
}

// bitsOfInteger makes the kernel of a cast between BIT and integers, whose bits are in two's complement.
func bitsOfInteger(n *node, from Type, try bool) kernel {
	of := from
	if from == bitType {
		of = n.typ
	}
	width, isWide := of.bits(), of.kind() == wideKind
	if from != bitType {
		if isWide {
			return map1e(n, func(v wide) (string, error) {
				text := fmt.Sprintf("%064b%064b", uint64(v.HighBits()), v.LowBits())
				return namedText(text[len(text)-width:]), nil
			})
		}
		return map1e(n, func(v int64) (string, error) {
			text := fmt.Sprintf("%064b", uint64(v))
			return namedText(text[len(text)-width:]), nil
		})
	}
	read := func(s string) (v wide, ok bool) {
		text := nested.TextOf(s)
		if of.signed() && len(text) == width && text[0] == '1' {
			v = int128(-1)
		}
		for i := range len(text) {
			v = v.Mul(int128(2)).Add(int128(int64(text[i] - '0')))
		}
		return v, len(text) <= width
	}
	if isWide {
		return tried(n, from, try, read)
	}
	return tried(n, from, try, func(s string) (int64, bool) {
		v, ok := read(s)
		return int64(v.LowBits()), ok
	})
}

// bitsAsBytes has the bytes that a text of 0 and 1 is, and bitsOfBytes the text. The first byte is filled up with 0.
func bitsAsBytes(text string) string {
	b := make([]byte, (len(text)+7)/8)
	for i := range len(text) {
		if at := 8*len(b) - len(text) + i; text[i] == '1' {
			b[at/8] |= 1 << (7 - at%8)
		}
	}
	return string(b)
}

func bitsOfBytes(s string) string {
	var text strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&text, "%08b", s[i])
	}
	return text.String()
}

// bitFunctions are the functions of values of BIT.
func bitFunctions() []Function {
	return []Function{
		function("get_bit", "bits, n", "the bit at a place, counted from 0", "get_bit('0110'::BIT, 1)", "1", getBit),
		function("set_bit", "bits, n, bit", "with another bit at a place", "set_bit('0110'::BIT, 0, 1)", "1110", setBit),
		function("bit_position", "part, bits", "where a part begins, counted from 1; 0 where it is not there",
			"bit_position('010'::BIT, '1110101'::BIT)", "4", bitPosition),
		function("bitstring", "bits, n", "a BIT of a length, filled up with 0 at the beginning", "bitstring('1010', 7)",
			"0001010", bitString),
	}
}

// ofBits binds a function by one binding where its first argument is a BIT, and else by another.
func ofBits(bits, other binding) binding {
	return func(b *binder, n *node) {
		if n.args[0].typ != bitType {
			other(b, n)
			return
		}
		bits(b, n)
	}
}

// wantBits requires an argument to be a BIT, or a string constant that is one.
func (b *binder) wantBits(n *node, i int) {
	if a := n.args[i]; a.typ != bitType && !a.textConstant() && !isNull(a) {
		b.mismatch(n)
	}
	b.castArg(n, i, bitType)
}

// countOfBits binds a function that counts something of the text of a BIT.
func countOfBits(count func(text string) int) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Int64)
		n.eval = map1e(n, func(s string) (int64, error) { return int64(count(nested.TextOf(s))), nil })
	}
}

// placeOfBit returns the text of a BIT, or an error where a place is not in it.
func placeOfBit(n *node, s string, at int64) (text []byte, err error) {
	text = []byte(nested.TextOf(s))
	if at < 0 || at >= int64(len(text)) {
		return nil, query.Valuef("%s: there is no bit %d among %d, which are counted from 0", n.text, at, len(text))
	}
	return text, nil
}

func getBit(b *binder, n *node) {
	b.wantBits(n, 0)
	b.castArg(n, 1, typeOf(Int64))
	n.typ, n.fallible = typeOf(Int32), true
	n.eval = map2e(n, func(s string, at int64) (int64, error) {
		text, err := placeOfBit(n, s, at)
		if err != nil {
			return 0, err
		}
		return int64(text[at] - '0'), nil
	})
}

func setBit(b *binder, n *node) {
	b.wantBits(n, 0)
	b.castArg(n, 1, typeOf(Int64))
	b.castArg(n, 2, typeOf(Int64))
	n.typ, n.fallible = bitType, true
	n.eval = map3f(n, func(_ *Evaluator, s string, at, bit int64) (string, error) {
		text, err := placeOfBit(n, s, at)
		switch {
		case err != nil:
			return "", err
		case bit != 0 && bit != 1:
			return "", query.Valuef("%s: a bit is 0 or 1, not %d", n.text, bit)
		}
		text[at] = '0' + byte(bit)
		return namedText(string(text)), nil
	})
}

func bitPosition(b *binder, n *node) {
	b.wantBits(n, 0)
	b.wantBits(n, 1)
	n.typ = typeOf(Int32)
	n.eval = map2e(n, func(part, s string) (int64, error) {
		return int64(strings.Index(nested.TextOf(s), nested.TextOf(part)) + 1), nil
	})
}

func bitString(b *binder, n *node) {
	b.wantBits(n, 0)
	b.castArg(n, 1, typeOf(Int64))
	n.typ, n.fallible = bitType, true
	n.eval = map2f(n, func(e *Evaluator, s string, length int64) (string, error) {
		text := nested.TextOf(s)
		if length < int64(len(text)) {
			return "", query.Valuef("%s: %d bits do not fit a length of %d", n.text, len(text), length)
		}
		if _, err := e.room(n, int(min(length, farMax))); err != nil {
			return "", err
		}
		return namedText(strings.Repeat("0", int(length)-len(text)) + text), nil
	})
}

// bitsTogether binds & | and xor of two values of BIT that are equally long.
func bitsTogether(sign string) binding {
	ops := map[string]func(a, c byte) byte{
		"&": func(a, c byte) byte { return a & c }, "|": func(a, c byte) byte { return a | c },
		"xor": func(a, c byte) byte { return a&1 ^ c&1 | '0' },
	}
	return func(b *binder, n *node) {
		if ops[sign] == nil {
			b.castArg(n, 1, typeOf(Int64))
			shiftBits(n, sign)
			return
		}
		b.wantBits(n, 1)
		n.typ, n.fallible = bitType, true
		n.eval = map2e(n, func(s, t string) (string, error) {
			x, y := []byte(nested.TextOf(s)), nested.TextOf(t)
			if len(x) != len(y) {
				return "", query.Valuef("%s: %d and %d bits; want equally many", n.text, len(x), len(y))
			}
			for i := range x {
				x[i] = ops[sign](x[i], y[i])
			}
			return namedText(string(x)), nil
		})
	}
}

// shiftBits makes the kernel of << and >> of a BIT, which keeps its length.
func shiftBits(n *node, sign string) {
	n.typ, n.fallible = bitType, true
	n.eval = map2e(n, func(s string, by int64) (string, error) {
		text := nested.TextOf(s)
		if by < 0 {
			return "", query.Valuef("%s: a shift by %d; want 0 or more", n.text, by)
		}
		k := int(min(by, int64(len(text))))
		zeros := strings.Repeat("0", k)
		if sign == "<<" {
			return namedText(text[k:] + zeros), nil
		}
		return namedText(zeros + text[:len(text)-k]), nil
	})
}

// otherBits binds ~ of a BIT.
func otherBits(_ *binder, n *node) {
	n.typ = bitType
	n.eval = map1e(n, func(s string) (string, error) {
		text := []byte(nested.TextOf(s))
		for i := range text {
			text[i] ^= 1
		}
		return namedText(string(text)), nil
	})
}

// enumFunctions are the functions of values of ENUM.
func enumFunctions() []Function {
	return []Function{
		function("enum_code", "e", "the place of a value among the words of its ENUM, counted from 0",
			"enum_code('b'::ENUM('a', 'b'))", "1", enumCode),
		function("enum_first", "e", "the first word of the type", "enum_first(NULL::ENUM('a', 'b'))", "a",
			ofWords(func(words []string) any { return words[0] })),
		function("enum_last", "e", "the last word of the type", "enum_last(NULL::ENUM('a', 'b'))", "b",
			ofWords(func(words []string) any { return words[len(words)-1] })),
		function("enum_range", "e", "the words of the type, as a list", "enum_range(NULL::ENUM('a', 'b'))", "[a, b]",
			ofWords(func(words []string) any { return words })),
		function("enum_range_boundary", "e, e", "the words from one value to another, NULL being the first and the last",
			"enum_range_boundary(NULL, 'b'::ENUM('a', 'b', 'c'))", "[a, b]", enumBetween),
	}
}

// wantEnum requires an argument to be an ENUM, and returns its words.
func (b *binder) wantEnum(n *node, i int) []string {
	if !n.args[i].typ.isEnum() {
		b.mismatch(n)
	}
	return n.args[i].typ.named().Words
}

func enumCode(b *binder, n *node) {
	words := b.wantEnum(n, 0)
	n.typ = typeOf(Uint8)
	if len(words) > 1<<8 {
		n.typ = typeOf(Uint16)
	}
	n.eval = map1e(n, func(s string) (int64, error) {
		v := nested.TextOf(s)
		return int64(v[0])<<8 | int64(v[1]), nil
	})
}

// ofWords binds a function of the words of an ENUM, whatever the value is.
func ofWords(of func(words []string) any) binding {
	return func(b *binder, n *node) {
		n.isConst, n.typ, n.value = true, typeOf(Text), of(b.wantEnum(n, 0))
		if words, ok := n.value.([]string); ok {
			n.typ, n.value = ListOf(typeOf(Text)), listOfTexts(words)
		}
	}
}

// listOfTexts returns a list of strings as an expression has it.
func listOfTexts(words []string) string {
	var list []byte
	for _, word := range words {
		list = nested.AppendText(append(list, nested.Some), word)
	}
	return string(append(list, nested.End))
}

func enumBetween(b *binder, n *node) {
	i := slices.IndexFunc(n.args, func(a *node) bool { return a.typ.isEnum() })
	words := b.wantEnum(n, max(i, 0))
	from, to := 0, len(words)-1
	for k, a := range n.args {
		text, isText := a.value.(string)
		switch {
		case isNull(a):
			continue
		case !a.isConst || !isText || a.typ != n.args[i].typ:
			b.fail(a.at, "%s: want constants of one ENUM, or NULL", n.text)
		}
		at := slices.Index(words, a.typ.named().Text(nested.TextOf(text)))
		if k == 0 {
			from = at
		} else {
			to = at
		}
	}
	n.isConst, n.typ, n.value = true, ListOf(typeOf(Text)), listOfTexts(words[min(from, to+1):to+1])
}

// allBits, bytesOfBits and onesOfBits count the bits of a text of 0 and 1, the bytes that hold them, and the 1s.
func allBits(text string) int     { return len(text) }
func bytesOfBits(text string) int { return (len(text) + 7) / 8 }
func onesOfBits(text string) int  { return strings.Count(text, "1") }

// BitsOfNumbers is the function of a list of integers, and of the least and the greatest number, that has a BIT with a
// 1 for each number that is there.
const BitsOfNumbers = "bits of numbers"

func bitsOfNumbers(b *binder, n *node) {
	const bitsMax = 1 << 20
	low, isLow := n.args[1].value.(int64)
	high, isHigh := n.args[2].value.(int64)
	if !isLow || !isHigh || low > high || high-low < 0 || high-low >= bitsMax {
		b.fail(n.at, "bitstring_agg: want the least and the greatest number behind the argument, constants of at most %d "+
			"numbers", bitsMax)
	}
	b.castList(n, 0, typeOf(Int64))
	l := n.args[0].typ.layout
	n.args = n.args[:1]
	n.typ, n.fallible = bitType, true
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		text := []byte(strings.Repeat("0", int(high-low)+1))
		for _, x := range e.list(l, s) {
			if x.Null {
				continue
			}
			v := l.Parts[0].Int(x.Value)
			if v < low || v > high {
				return "", query.Valuef("bitstring_agg: %d is beyond the numbers from %d to %d", v, low, high)
			}
			text[v-low] = '1'
		}
		return namedText(string(text)), nil
	})
}
