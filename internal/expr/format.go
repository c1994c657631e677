package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
)

// formats are printf and format, as the library fmt of C++ has them.
func formats() []Function {
	return []Function{
		operator("printf", "printf(format, a, ...)",
			"text with values in place of %d %i %u %x %X %o %c, of floats %f %e %g, of others %s",
			"printf('%s: %5.2f', 'a', 1.5)", "a:  1.50", 1, -1, formatted(parsePrintf)),
		operator("format", "format(format, a, ...)",
			"text with values in place of {}, {1} and {:[[fill]<>^=][sign][#][,][0][width][.digits][dxXobfeEgGs]}",
			"format('{}: {:.2f}', 'a', 1.5)", "a: 1.50", 1, -1, formatted(parseFormat)),
	}
}

// formatPart is a part of a format: a text, or a value behind it.
type formatPart struct {
	text string
	arg  int // index of the value; -1 of none

	fill             string // "" of none given
	align, sign      byte   // one of < > ^ =, and of + and a space; 0 of none
	alternate, zero  bool   // # and 0
	thousands        byte   // between thousands; 0 of none
	width, precision int    // -1 of no precision
	verb             byte   // 0 of none

	isPrintf bool
}

// formatWidthMax bounds the width and the digits of a value.
const formatWidthMax = 4096

// formatError is what is wrong with a format.
type formatError string

func (e formatError) Error() string { return string(e) }

// formatted binds a function whose first argument is a format of the other ones.
func formatted(parse func(format string, args int) ([]formatPart, error)) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Text), true
		b.check(&node{text: n.text, at: n.at, args: n.args[:1]}, Text)
		b.castArg(n, 0, typeOf(Text))
		for i := range n.args[1:] {
			b.castFormatted(n, i+1)
		}
		read := func(format string) (parts []formatPart, err error) {
			if parts, err = parse(format, len(n.args)-1); err != nil {
				err = query.Valuef("%s: the format %q: %v", n.text, shortText(format), err)
			}
			return parts, err
		}
		if format, ok := n.args[0].value.(string); ok {
			if _, err := read(format); err != nil {
				b.fail(n.at, "%v", err)
			}
		}
		n.eval = func(f *frame) (*vector, error) {
			args, out, err := f.all(n, textKind)
			if err != nil {
				return nil, err
			}
			var parts []formatPart
			last := ""
			for i := range out.texts {
				if out.isNull(i) {
					continue
				}
				if format := args[0].texts[i]; parts == nil || format != last {
					if parts, err = read(format); err != nil {
						return nil, err
					}
					last = format
				}
				if out.texts[i], err = f.formatRow(n, parts, args[1:], i); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
}

// castFormatted casts an argument to a type that formats know: integers, doubles, booleans and strings.
func (b *binder) castFormatted(n *node, i int) {
	switch t := n.args[i].typ; {
	case t.ID == Huge || t.ID == Uint64:
		b.castArg(n, i, typeOf(Huge))
	case t.integer():
		b.castArg(n, i, typeOf(Int64))
	case t.numeric():
		b.castArg(n, i, typeOf(Float64))
	case t.ID != Bool && t.ID != Text:
		c, ok := b.converted(n.args[i], typeOf(Text))
		if !ok {
			b.mismatch(n)
		}
		n.args[i] = c
	}
}

// formatRow writes a row's values.
func (f *frame) formatRow(n *node, parts []formatPart, args []*vector, i int) (string, error) {
	const numberMax = 330 // characters of a double's digits before the decimal point, and its sign
	size := 0
	for _, part := range parts {
		if size += len(part.text); part.arg >= 0 {
			size += part.width*utf8.UTFMax + max(part.precision, 0) + numberMax
			if texts := args[part.arg].texts; texts != nil {
				size += len(texts[i])
			}
		}
	}
	b, err := f.e.room(n, size)
	if err != nil {
		return "", err
	}
	for _, part := range parts {
		if b = append(b, part.text...); part.arg < 0 {
			continue
		}
		v, t := args[part.arg], n.args[part.arg+1].typ
		var ok bool
		if b, ok = part.append(b, v, t.kind(), i); !ok {
			return "", query.Valuef("%s: %s is not for a value of type %s", n.text, part.describe(), t)
		}
	}
	return f.e.keep(b), nil
}

func (p *formatPart) describe() string {
	switch {
	case p.verb == 0:
		return "a sign, # or digits in {}"
	case p.isPrintf:
		return "%" + string(rune(p.verb))
	}
	return "{:" + string(rune(p.verb)) + "}"
}

// append writes a value. It returns false if the part is not for a value of its kind.
func (p *formatPart) append(b []byte, v *vector, k kind, i int) ([]byte, bool) {
	switch k {
	case intKind:
		return p.appendInteger(b, big.NewInt(v.ints[i]))
	case wideKind:
		return p.appendInteger(b, v.wides[i].BigInt())
	case floatKind:
		return p.appendFloat(b, v.floats[i])
	case bitKind:
		if p.verb != 0 && (p.verb != 's' || !p.isPrintf) {
			return p.appendInteger(b, big.NewInt(int64(bitOf(v.bit(i)))))
		}
		return p.padded(b, "", strconv.FormatBool(v.bit(i)), '<'), true
	}
	text := v.texts[i]
	if p.verb != 0 && p.verb != 's' || !p.isPrintf && (p.sign != 0 || p.align == '=' || p.alternate || p.zero) {
		return b, false
	}
	if p.precision >= 0 {
		text = span(text, 0, int64(p.precision))
	}
	return p.padded(b, "", text, '<'), true
}

func (p *formatPart) appendInteger(b []byte, v *big.Int) ([]byte, bool) {
	const verbs, printfVerbs = "dxXobB", "dxXoiu"
	base, prefix := 10, ""
	switch {
	case p.isPrintf && p.verb == 'c' && v.IsInt64():
		return p.padded(b, "", string(rune(v.Int64())), '<'), true
	case p.verb != 0 && !p.isPrintf && strings.IndexByte(verbs, p.verb) < 0,
		p.isPrintf && strings.IndexByte(printfVerbs, p.verb) < 0, !p.isPrintf && p.precision >= 0:
		return b, false
	case p.verb == 'x' || p.verb == 'X':
		base, prefix = 16, "0"+string(rune(p.verb))
	case p.verb == 'o':
		base, prefix = 8, "0"
	case p.verb == 'b' || p.verb == 'B':
		base, prefix = 2, "0"+string(rune(p.verb))
	}
	if p.isPrintf && v.Sign() < 0 && v.IsInt64() && strings.IndexByte("xXou", p.verb) >= 0 {
		v = new(big.Int).SetUint64(uint64(v.Int64()))
	}
	text := strings.TrimPrefix(v.Text(base), "-")
	if p.verb == 'X' {
		text = strings.ToUpper(text)
	}
	if missing := p.precision - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	sign := p.signOf(v.Sign() < 0)
	if p.alternate {
		sign += prefix
	}
	return p.padded(b, sign, p.grouped(text), '>'), true
}

func (p *formatPart) appendFloat(b []byte, v float64) ([]byte, bool) {
	const verbs = "fFeEgG"
	if p.verb != 0 && strings.IndexByte(verbs, p.verb) < 0 || p.alternate {
		return b, false
	}
	text, size := "", math.Abs(v)
	align := byte('>')
	switch verb := p.verb | 0x20; {
	case math.IsNaN(v):
		text, align, v = "nan", '<', 0
	case math.IsInf(v, 0):
		text, align = "inf", '<'
	case p.verb == 0 && p.precision < 0:
		text = strings.TrimPrefix(shortestFloat(size), "-")
	case p.verb == 0:
		text = strconv.FormatFloat(size, 'g', max(p.precision, 1), 64)
	case p.precision < 0:
		text = strconv.FormatFloat(size, verb, 6, 64)
	default:
		text = strconv.FormatFloat(size, verb, p.precision, 64)
	}
	if p.verb >= 'E' && p.verb <= 'G' {
		text = strings.ToUpper(text)
	}
	whole, rest := text, ""
	if end := strings.IndexAny(text, ".eE"); end >= 0 {
		whole, rest = text[:end], text[end:]
	}
	if align == '>' {
		whole = p.grouped(whole)
	}
	return p.padded(b, p.signOf(math.Signbit(v)), whole+rest, align), true
}

// shortestFloat writes a double with the fewest digits that are its own, and a point unless there is an exponent.
func shortestFloat(v float64) string {
	if v != 0 && (v < 1e-4 || v >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func (p *formatPart) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.sign != 0:
		return string(rune(p.sign))
	}
	return ""
}

// grouped writes the sign between thousands.
func (p *formatPart) grouped(text string) string {
	if p.thousands == 0 {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(p.thousands)
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// padded writes a sign and a text, filled up to the width. align is how where the part does not say.
func (p *formatPart) padded(b []byte, sign, text string, align byte) []byte {
	fill := p.fill
	isNumber := align == '>'
	if p.isPrintf {
		align = '>'
	}
	if p.align != 0 {
		align = p.align
	}
	if p.zero && (isNumber || !p.isPrintf) && (!p.isPrintf || p.align == 0) {
		fill = "0"
		if isNumber {
			align = '='
		}
	}
	if fill == "" {
		fill = " "
	}
	missing := max(p.width-int(characters(sign)+characters(text)), 0)
	before, within := 0, 0
	switch align {
	case '>':
		before = missing
	case '^':
		before = missing / 2
	case '=':
		within = missing
	}
	b = append(b, strings.Repeat(fill, before)...)
	b = append(b, sign...)
	b = append(b, strings.Repeat(fill, within)...)
	b = append(b, text...)
	return append(b, strings.Repeat(fill, missing-before-within)...)
}

// takeNumber cuts the number off that a text begins with; -1 of none.
func takeNumber(text string) (n int, rest string, err error) {
	v, rest, ok := cutNumber(text, 9)
	switch {
	case !ok:
		return -1, text, nil
	case v > formatWidthMax:
		return 0, "", formatError("a number in it is beyond " + strconv.Itoa(formatWidthMax))
	}
	return int(v), rest, nil
}

// takeSize cuts the width, and behind a point the digits, off the rest of a part.
func (p *formatPart) takeSize(text string) (rest string, err error) {
	var n int
	if n, text, err = takeNumber(text); err != nil {
		return "", err
	}
	p.width, p.precision = max(n, 0), -1
	if after, ok := strings.CutPrefix(text, "."); ok {
		if n, text, err = takeNumber(after); err != nil {
			return "", err
		}
		if p.precision = max(n, 0); n < 0 && p.isPrintf && text != "" && strings.IndexByte("diu", text[0]) >= 0 {
			p.precision, p.thousands = -1, '.'
		}
	}
	return text, nil
}

// argument checks the number of a value.
func (p *formatPart) argument(arg, args int) error {
	if p.arg = arg; arg < 0 || arg >= args {
		return formatError("it wants a value " + strconv.Itoa(arg+1) + ", and there are " + digits.Counted(int64(args),
			"value"))
	}
	return nil
}

// parsePrintf reads a format of printf.
func parsePrintf(format string, args int) (parts []formatPart, err error) {
	text, next := "", 0
	for format != "" {
		before, rest, found := strings.Cut(format, "%")
		text, format = text+before, rest
		switch {
		case !found:
			return append(parts, formatPart{text: text, arg: -1}), nil
		case strings.HasPrefix(rest, "%"):
			text, format = text+"%", rest[1:]
			continue
		}
		p := formatPart{text: text, isPrintf: true}
		text = ""
		arg := next
		if n, after, _ := takeNumber(rest); n > 0 && strings.HasPrefix(after, "$") {
			arg, rest = n-1, after[1:]
		} else {
			next++
		}
		for ; rest != "" && strings.IndexByte("-+ #0,_'", rest[0]) >= 0; rest = rest[1:] {
			p.flag(rest[0])
		}
		if rest, err = p.takeSize(rest); err != nil {
			return nil, err
		}
		if rest = strings.TrimLeft(rest, "hlLqjzt"); rest == "" {
			return nil, formatError("it ends behind a %")
		}
		if p.verb, format = rest[0], rest[1:]; strings.IndexByte("sdiuxXocfFeEgG", p.verb) < 0 {
			return nil, formatError("%" + string(rune(p.verb)) + " is not supported")
		}
		if err := p.argument(arg, args); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return append(parts, formatPart{text: text, arg: -1}), nil
}

// flag notes a sign between % and the width.
func (p *formatPart) flag(c byte) {
	switch c {
	case '-':
		p.align = '<'
	case '#':
		p.alternate = true
	case '0':
		p.zero = true
	case '+', ' ':
		p.sign = c
	default:
		p.thousands = c
	}
}

// parseFormat reads a format with braces.
func parseFormat(format string, args int) (parts []formatPart, err error) {
	text, next, numbered := "", 0, false
	for format != "" {
		at := strings.IndexAny(format, "{}")
		if at < 0 {
			return append(parts, formatPart{text: text + format, arg: -1}), nil
		}
		sign, rest := format[at:at+1], format[at+1:]
		text += format[:at]
		if strings.HasPrefix(rest, sign) {
			text, format = text+sign, rest[1:]
			continue
		}
		inner, after, found := strings.Cut(rest, "}")
		if sign == "}" || !found {
			return nil, formatError("a brace without its other one; it is written twice to stand for itself")
		}
		p := formatPart{text: text}
		text, format = "", after
		arg, inner, err := takeNumber(inner)
		if err != nil {
			return nil, err
		}
		if arg < 0 {
			arg, next = next, next+1
		} else {
			numbered = true
		}
		if numbered && next > 0 {
			return nil, formatError("values with numbers beside values without")
		}
		if err := p.argument(arg, args); err != nil {
			return nil, err
		}
		if err := p.spec(inner); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return append(parts, formatPart{text: text, arg: -1}), nil
}

// spec reads what stands behind the number of a value in braces.
func (p *formatPart) spec(text string) (err error) {
	p.precision = -1
	text, ok := strings.CutPrefix(text, ":")
	if !ok && text != "" {
		return formatError("want a number or a colon in place of " + strconv.Quote(text))
	}
	const aligns = "<>^="
	switch _, size := utf8.DecodeRuneInString(text); {
	case size < len(text) && strings.IndexByte(aligns, text[size]) >= 0:
		p.fill, p.align, text = text[:size], text[size], text[size+1:]
	case text != "" && strings.IndexByte(aligns, text[0]) >= 0:
		p.align, text = text[0], text[1:]
	}
	if text != "" && strings.IndexByte("+- ", text[0]) >= 0 {
		if text[0] != '-' {
			p.sign = text[0]
		}
		text = text[1:]
	}
	text, p.alternate = strings.CutPrefix(text, "#")
	switch {
	case text != "" && strings.IndexByte(",_'", text[0]) >= 0:
		p.thousands, text = text[0], text[1:]
	case len(text) > 1 && text[0] == 't':
		p.thousands, text = text[1], text[2:]
	}
	text, p.zero = strings.CutPrefix(text, "0")
	if text, err = p.takeSize(text); err != nil {
		return err
	}
	if text != "" {
		p.verb, text = text[0], text[1:]
	}
	if text != "" || p.verb != 0 && strings.IndexByte("dxXobBfFeEgGs", p.verb) < 0 {
		return formatError("want [[fill]<>^=][sign][#][,][0][width][.digits][dxXobfeEgGs] behind the colon")
	}
	return nil
}
