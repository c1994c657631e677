package expr

import (
	"encoding/hex"
	"hash"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/needle"
)

// textToText binds a function from a string to a string.
func textToText(fn func(*Evaluator, *node, string) (string, error)) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		n.eval = map1f(n, func(e *Evaluator, s string) (string, error) { return fn(e, n, s) })
		b.want(n, Text)
	}
}

// digest binds a function from a string or a BLOB to the hexadecimal digits of a digest.
func digest(open func() hash.Hash) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		b.wantBytes(n)
		n.eval = appended(n, func(string) int { return 2 * open().Size() }, func(b []byte, s string) ([]byte, error) {
			h := open()
			_, _ = io.WriteString(h, s) // which has no error
			return hex.AppendEncode(b, h.Sum(nil)), nil
		})
	}
}

// textToInt binds a function from a string to an integer.
func textToInt(id TypeID, fn func(string) int64) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(id)
		n.eval = map1(n, fn)
		b.want(n, Text)
	}
}

// textTest binds a condition on two strings. parts are the parts of the pattern that a constant second string makes.
func textTest(fn func(s, t string) bool, parts func(t string) []string) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Bool)
		b.want(n, Text, Text)
		if t, ok := n.args[1].value.(string); ok {
			n.args, n.pattern = n.args[:1], &likePattern{parts: parts(t)}
			n.eval = test1(n, func(s string) bool { return fn(s, t) })
			return
		}
		n.eval = test2(n, func(_ *Evaluator, s, t string) (bool, error) { return fn(s, t), nil })
	}
}

// mapped makes a string of a string's letters in one case.
func mapped(e *Evaluator, n *node, s string, c *letterCase) (string, error) {
	if isASCII(s) {
		b, err := e.room(n, len(s))
		if err != nil {
			return "", err
		}
		return e.keep(c.ascii(b, s)), nil
	}
	b, err := e.room(n, len(s)*(utf8.UTFMax-1)) // a byte that is no text becomes U+FFFD
	if err != nil {
		return "", err
	}
	return e.keep(c.text(b, s)), nil
}

func lower(e *Evaluator, n *node, s string) (string, error) { return mapped(e, n, s, lowerCase) }

func upper(e *Evaluator, n *node, s string) (string, error) { return mapped(e, n, s, upperCase) }

func reversed(e *Evaluator, n *node, s string) (string, error) {
	b, err := e.room(n, len(s))
	if err != nil {
		return "", err
	}
	for len(s) > 0 {
		_, size := utf8.DecodeLastRuneInString(s)
		b = append(b, s[len(s)-size:]...)
		s = s[:len(s)-size]
	}
	return e.keep(b), nil
}

func byteCount(s string) int64 { return int64(len(s)) }

// byteOf returns the byte at which character i begins, counted from 0, or the length.
func byteOf(s string, i int64) int {
	if i <= 0 {
		return 0
	}
	at := 0
	for ; i > 0 && at < len(s); i-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// span returns the characters from a number on and below another number, counted from 0.
func span(s string, from, to int64) string {
	if from = max(from, 0); to <= from {
		return ""
	}
	if isASCII(s) {
		n := int64(len(s))
		return s[min(from, n):min(to, n)]
	}
	s = s[byteOf(s, from):]
	return s[:byteOf(s, to-from)]
}

// substring is substr(s, start, length): negative, start counts from the end, and length goes left.
func substring(s string, start, length int64) string {
	if start < 0 {
		start += characters(s)
	} else {
		start--
	}
	if length < 0 {
		return span(s, start+length, start)
	}
	return span(s, start, start+length)
}

func substr(b *binder, n *node) {
	n.typ = typeOf(Text)
	b.want(n, Text, Int64, Int64)
	if len(n.args) == 3 {
		n.fallible = true
		n.eval = map3f(n, func(_ *Evaluator, s string, start, length int64) (string, error) {
			if isFar(start) || isFar(length) {
				return "", farError(n, start, length)
			}
			return substring(s, start, length), nil
		})
		return
	}
	n.fallible = true
	n.eval = map2e(n, func(s string, start int64) (string, error) {
		if isFar(start) {
			return "", farError(n, start, 0)
		}
		if start < 0 {
			start = max(characters(s)+start+1, 1)
		}
		return substring(s, start, farMax), nil
	})
}

// farMax bounds the places and lengths of parts of strings.
const farMax = math.MaxUint32

func isFar(place int64) bool { return place > farMax || place < -farMax-1 }

// farError is the error of a place or a length beyond farMax.
func farError(n *node, start, length int64) error {
	what, value := "length", length
	if isFar(start) {
		what, value = "place", start
	}
	return query.Valuef("%s: out of range: the %s %d is not within %d", n.text, what, value, int64(farMax))
}

// side binds left and right: count characters, or, if count is negative, all but as many.
func side(left bool) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Text), left
		b.want(n, Text, Int64)
		n.eval = map2e(n, func(s string, count int64) (string, error) {
			if left && count > farMax {
				return "", farError(n, 0, count)
			}
			total := characters(s)
			if count < 0 {
				count = max(total+count, 0)
			}
			if left {
				return span(s, 0, count), nil
			}
			return span(s, total-min(count, total), total), nil
		})
	}
}

// trimming binds trim, ltrim and rtrim: of spaces, or of the characters of a second argument.
func trimming(left, right bool) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		b.want(n, Text, Text)
		cut := func(s, set string) (string, error) {
			if left {
				s = strings.TrimLeft(s, set)
			}
			if right {
				s = strings.TrimRight(s, set)
			}
			return s, nil
		}
		if len(n.args) == 1 {
			n.eval = map1e(n, func(s string) (string, error) { return cut(s, " ") })
		} else {
			n.eval = map2e(n, cut)
		}
	}
}

// textBytesMax bounds a string that a function makes.
const textBytesMax = 64 << 20

// tooLong is the error of a string that would pass textBytesMax.
func tooLong(n *node) error {
	return query.Valuef("%s: the result would be longer than %d MiB", n.text, textBytesMax>>20)
}

// padding binds lpad and rpad.
func padding(left bool) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Text), true
		b.want(n, Text, Int64, Text)
		n.eval = map3f(n, func(e *Evaluator, s string, length int64, fill string) (string, error) {
			count := characters(s)
			switch {
			case length <= count:
				return span(s, 0, length), nil
			case fill == "":
				return "", query.Valuef("%s: cannot fill %d characters up to %d with an empty string",
					n.text, count, length)
			case length > int64(textBytesMax/len(fill)):
				return "", tooLong(n)
			}
			out, err := e.room(n, len(s)+int(length-count)*len(fill))
			if err != nil {
				return "", err
			}
			if !left {
				out = append(out, s...)
			}
			width := characters(fill)
			for missing := length - count; missing > 0; missing -= width {
				out = append(out, span(fill, 0, missing)...)
			}
			if left {
				out = append(out, s...)
			}
			return e.keep(out), nil
		})
	}
}

func repeat(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	switch t := n.args[0].typ; {
	case t.ID == List:
		b.repeatList(n)
		return
	case t.ID == Blob:
		n.typ = t
		b.castArg(n, 1, typeOf(Int64))
	default:
		b.want(n, Text, Int64)
	}
	n.eval = map2f(n, func(e *Evaluator, s string, times int64) (string, error) {
		switch {
		case s == "" || times <= 0:
			return "", nil
		case times > int64(textBytesMax/len(s)):
			return "", tooLong(n)
		}
		out, err := e.room(n, len(s)*int(times))
		if err != nil {
			return "", err
		}
		for range times {
			out = append(out, s...)
		}
		return e.keep(out), nil
	})
}

// castTexts casts the arguments to strings, whatever their types.
func (b *binder) castTexts(n *node) {
	for i, a := range n.args {
		if a.typ.ID == Text {
			continue
		}
		c, ok := b.converted(a, typeOf(Text))
		if !ok {
			b.mismatch(n)
		}
		n.args[i] = c
	}
}

// concatenation binds ||, which is NULL where an argument is NULL.
func concatenation(b *binder, n *node) {
	n.typ = typeOf(Text)
	if n.args[0].typ.ID == Blob && n.args[1].typ.ID == Blob {
		n.typ = typeOf(Blob)
	} else {
		b.castTexts(n)
	}
	n.eval = map2f(n, func(e *Evaluator, s, t string) (string, error) {
		b, err := e.room(n, len(s)+len(t))
		if err != nil {
			return "", err
		}
		return e.keep(append(append(b, s...), t...)), nil
	})
}

// concat binds concat, which leaves NULLs out, and concat_ws, with a separator as first argument.
func concat(separated bool) binding {
	return func(b *binder, n *node) {
		isList := func(a *node) bool { return a.typ.ID == List }
		if isOther := func(a *node) bool { return !isList(a) && !isNull(a) }; !separated &&
			slices.ContainsFunc(n.args, isList) && !slices.ContainsFunc(n.args, isOther) {
			joinLists(false)(b, n)
			return
		}
		n.typ = typeOf(Text)
		b.castTexts(n)
		n.eval = func(f *frame) (*vector, error) {
			args, out, err := f.all(n, textKind)
			if err != nil {
				return nil, err
			}
			out.null = nil
			if separated {
				out.null = args[0].null
			}
			for i := range out.texts {
				if out.texts[i], err = joinRow(f.e, n, args, i, separated); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
}

func joinRow(e *Evaluator, n *node, args []*vector, i int, separated bool) (string, error) {
	size := 0
	for _, a := range args {
		size += len(a.texts[i])
	}
	separator := ""
	if separated {
		if args[0].isNull(i) {
			return "", nil
		}
		separator = args[0].texts[i]
		size += len(separator) * len(args)
		args = args[1:]
	}
	b, err := e.room(n, size)
	if err != nil {
		return "", err
	}
	first := true
	for _, a := range args {
		if a.isNull(i) {
			continue
		}
		if !first {
			b = append(b, separator...)
		}
		b, first = append(b, a.texts[i]...), false
	}
	return e.keep(b), nil
}

func replacement(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	b.want(n, Text, Text, Text)
	n.eval = map3f(n, func(e *Evaluator, s, old, new string) (string, error) {
		if old == "" || !strings.Contains(s, old) {
			return s, nil
		}
		size := len(s) + strings.Count(s, old)*(len(new)-len(old))
		if size > max(textBytesMax, len(s)) {
			return "", tooLong(n)
		}
		out, err := e.room(n, size)
		if err != nil {
			return "", err
		}
		for {
			i := strings.Index(s, old)
			if i < 0 {
				return e.keep(append(out, s...)), nil
			}
			out = append(append(out, s[:i]...), new...)
			s = s[i+len(old):]
		}
	})
}

// splitPart binds split_part: a part between separators, counted from 1, or from the end.
func splitPart(b *binder, n *node) {
	n.typ = typeOf(Text)
	b.want(n, Text, Text, Int64)
	n.eval = map3f(n, func(_ *Evaluator, s, separator string, index int64) (string, error) {
		if separator == "" { // between all characters
			if index < 0 {
				index += characters(s) + 1
			}
			if index < 1 {
				return "", nil
			}
			return span(s, index-1, index), nil
		}
		if index < 0 {
			index += int64(strings.Count(s, separator)) + 2
		}
		if index < 1 {
			return "", nil
		}
		for ; index > 1; index-- {
			i := strings.Index(s, separator)
			if i < 0 {
				return "", nil
			}
			s = s[i+len(separator):]
		}
		part, _, _ := strings.Cut(s, separator)
		return part, nil
	})
}

// contains binds contains.
func contains(b *binder, n *node) {
	if part, ok := n.args[1].value.(string); ok {
		n.typ = typeOf(Bool)
		b.want(n, Text, Text)
		n.args, n.pattern = n.args[:1], &likePattern{parts: partWithin(part)}
		n.eval = n.pattern.kernel(n, false)
		return
	}
	textTest(strings.Contains, partWithin)(b, n)
}

// The parts of the LIKE patterns 't%', '%t' and '%t%', as likePattern has them.
func partBefore(t string) []string { return []string{t, ""} }
func partBehind(t string) []string { return []string{"", t} }
func partWithin(t string) []string { return []string{"", t, ""} }

// position binds strpos: the first character of a match, counted from 1, or 0.
func position(b *binder, n *node) {
	n.typ = typeOf(Int64)
	b.want(n, Text, Text)
	if part, ok := n.args[1].value.(string); ok {
		finder := needle.New(part)
		n.eval = unary(n, intKind, func(_ *frame, a, out *vector) error {
			clear(out.ints)
			finder.Each(a.texts, func(i, at int) { out.ints[i] = characters(a.texts[i][:at]) + 1 })
			return nil
		})
		return
	}
	n.eval = map2e(n, func(s, part string) (int64, error) {
		i := strings.Index(s, part)
		if i < 0 {
			return 0, nil
		}
		return characters(s[:i]) + 1, nil
	})
}

// length binds the length of a string in a unit, or of a BLOB in bytes.
func length(unit func(string) int64) binding {
	return func(b *binder, n *node) {
		if n.args[0].typ.ID != Blob {
			textToInt(Int64, unit)(b, n)
			return
		}
		n.typ = typeOf(Int64)
		n.eval = map1(n, byteCount)
	}
}

func character(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	b.want(n, Int64)
	n.eval = map1f(n, func(e *Evaluator, code int64) (string, error) {
		if code < 0 || code > unicode.MaxRune || !utf8.ValidRune(rune(code)) {
			return "", query.Valuef("%s: %d is not a character", n.text, code)
		}
		b, err := e.room(n, utf8.UTFMax)
		if err != nil {
			return "", err
		}
		return e.keep(utf8.AppendRune(b, rune(code))), nil
	})
}

// firstRune binds ascii and unicode: the number of the first character, or empty if there is none.
func firstRune(empty int64) binding {
	return textToInt(Int32, func(s string) int64 {
		if s == "" {
			return empty
		}
		r, _ := utf8.DecodeRuneInString(s)
		return int64(r)
	})
}
