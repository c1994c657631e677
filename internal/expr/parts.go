package expr

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// partFunctions are the functions of single characters and bytes, of paths, and of text that shows numbers.
func partFunctions() []Function {
	return []Function{
		function("array_extract", "s, i", "character i, from the end where negative; s[i] too, also element i of a list, "+
			"field i of a struct, and the value of key i of a map", "('group')[2]", "r",
			ofLists(extract, elementOf), "list_extract", "list_element"),
		operator("array_slice", "array_slice(s, from, to [, step])",
			"characters, or elements, up to a place, which counts from the end where negative; s[from:to] too, "+
				"of lists s[from:to:step]",
			"('group')[2:-2]", "rou", 3, 4, ofLists(sliceList, sliceOf), "list_slice"),
		operator("overlay", "overlay(s PLACING new FROM start [FOR length])",
			"with new in place of the characters from one on",
			"overlay('group' PLACING 'o' FROM 2 FOR 3)", "gop", 3, 4, overlay),
		function("translate", "s, from, to", "with the character of to in place of each one of from, or none",
			"translate('group', 'rup', 'l')", "glo", translate),
		operator("glob", "a GLOB pattern", "* is any bytes, ? is one, [a-z] and [!a-z] are one of them or of the others",
			"'group' GLOB 'g[a-z]*'", "true", 2, 2, globTest, "~~~"),
		function("bit_length", "s", "bits", "bit_length('größe')", "56",
			ofBits(countOfBits(allBits), textToInt(Int64, func(s string) int64 { return 8 * int64(len(s)) }))),
		function("strip_accents", "s", "letters without their accents", "strip_accents('Größe')", "Große",
			textOf(decomposed, appendPlain)),
		function("nfc_normalize", "s", "letters and accents as one character where there is one",
			"length(nfc_normalize('é'))", "1",
			textOf(func(s string) int { return 3 * len(s) }, func(b []byte, s string) []byte {
				return norm.NFC.AppendString(b,
					s)
			})),
		function("regexp_escape", "s", `with \ before what is no letter, digit or _`, "regexp_escape('a.b')", `a\.b`,
			textOf(func(s string) int { return 4 * len(s) }, appendEscaped)),
		operator("parse_filename", "parse_filename(path [, trims] [, separator])",
			"what stands behind the last / or \\; without .ending where trims is true; separator is 'forward_slash', "+
				"'backslash', 'both_slash' or 'system'",
			"parse_filename('a/b.csv', true)", "b", 1, 3, filename),
		function("parse_dirname", "path [, separator]", "the first folder", "parse_dirname('a/b/c.csv')", "a",
			folder(`/\`, firstFolder)),
		function("parse_dirpath", "path [, separator]", "what stands before the last / or \\", "parse_dirpath('a/b/c.csv')",
			"a/b", folder(`/\`, folders)),
		function("parse_path", "path [, separator]", "its folders and its file, as a list", "parse_path('/a/b.csv')",
			"[/, a, b.csv]", pathParts),
		function("format_bytes", "n", "bytes in KiB, MiB, GiB, TiB or PiB", "format_bytes(16384)", "16.0 KiB",
			sized(1024, "KiB", "MiB", "GiB", "TiB", "PiB"), "formatreadablesize", "pg_size_pretty"),
		function("formatreadabledecimalsize", "n", "bytes in kB, MB, GB, TB or PB", "formatReadableDecimalSize(16000)",
			"16.0 kB",
			sized(1000, "kB", "MB", "GB", "TB", "PB")),
		function("bar", "x, low, high [, width]", "a bar of width characters, 80 at first, where x is high",
			"bar(5, 0, 20, 10)",
			"██▌       ", bar),
	}
}

// elementOf binds s[i].
func elementOf(b *binder, n *node) {
	n.typ = typeOf(Text)
	b.want(n, Text, Int64)
	n.eval = map2e(n, func(s string, i int64) (string, error) {
		if i == 0 || isFar(i) {
			return "", nil
		}
		return substring(s, i, 1), nil
	})
}

// sliceOf binds s[from:to].
func sliceOf(b *binder, n *node) {
	n.typ = typeOf(Text)
	b.want(n, Text, Int64, Int64)
	n.eval = map3f(n, func(_ *Evaluator, s string, from, to int64) (string, error) {
		from, to = max(from, -farMax), max(min(to, farMax), -farMax)
		if from < 0 || to < 0 {
			length := characters(s)
			if from < 0 {
				from += length + 1
			}
			if to < 0 {
				to += length + 1
			}
		}
		return span(s, min(from, farMax)-1, to), nil
	})
}

// fill adds a constant where the last of a number of arguments is not given.
func (b *binder) fill(n *node, args int, t Type, value any) {
	if len(n.args) == args-1 {
		n.args = append(slices.Clone(n.args), b.constant(t, value))
	}
}

// overlay binds overlay: without a length, or with a negative one, new is as long as what it stands for.
func overlay(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	b.fill(n, 4, typeOf(Int64), int64(-1))
	b.want(n, Text, Text, Int64, Int64)
	n.eval = rowKernel(n, ofAny, func(e *Evaluator, args []*vector, row int) (string, error) {
		s, with, start, length := args[0].texts[row], args[1].texts[row], args[2].ints[row], args[3].ints[row]
		if isFar(start) || isFar(length) {
			return "", farError(n, start, length)
		}
		if length < 0 {
			length = characters(with)
		}
		room, err := e.room(n, len(s)+len(s)+len(with))
		if err != nil {
			return "", err
		}
		room = append(append(room, span(s, 0, start-1)...), with...)
		return e.keep(append(room, span(s, start-1+length, farMax)...)), nil
	})
}

func translate(b *binder, n *node) {
	n.typ = typeOf(Text)
	b.want(n, Text, Text, Text)
	n.eval = map3f(n, func(e *Evaluator, s, from, to string) (string, error) {
		with := map[rune]rune{} // -1 of none
		others := []rune(to)
		for i, r := range []rune(from) {
			if _, ok := with[r]; ok {
				continue
			}
			if with[r] = -1; i < len(others) {
				with[r] = others[i]
			}
		}
		made := strings.Map(func(r rune) rune {
			if other, ok := with[r]; ok {
				return other
			}
			return r
		}, s)
		room, err := e.room(n, len(made))
		if err != nil {
			return "", err
		}
		return e.keep(append(room, made...)), nil
	})
}

// globTest binds GLOB.
func globTest(b *binder, n *node) {
	n.typ = typeOf(Bool)
	b.want(n, Text, Text)
	if pattern, ok := n.args[1].value.(string); ok && !strings.ContainsAny(pattern, `?[\`) {
		n.args, n.pattern = n.args[:1], &likePattern{parts: strings.Split(pattern, "*")}
		n.eval = n.pattern.kernel(n, false)
		return
	}
	n.eval = test2(n, func(_ *Evaluator, s, pattern string) (bool, error) { return globs(s, pattern), nil })
}

// globs says whether a pattern of GLOB has the whole of a string.
func globs(s, pattern string) bool {
	starAt, starFrom := -1, 0 // the pattern behind the last *, and where s is tried for it
	p, i := 0, 0
	for i < len(s) || p < len(pattern) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			starAt, starFrom = p, i
			continue
		}
		if i < len(s) {
			if next := globByte(s[i], pattern, p); next > 0 {
				p, i = next, i+1
				continue
			}
		}
		if starAt < 0 || starFrom >= len(s) {
			return false
		}
		starFrom++
		p, i = starAt, starFrom
	}
	return true
}

// globByte returns where a pattern goes on behind the sign at p, if that has a byte, and else 0.
func globByte(c byte, pattern string, p int) int {
	switch {
	case p == len(pattern):
		return 0
	case pattern[p] == '?':
		return p + 1
	case pattern[p] == '[':
		return globSet(c, pattern, p+1)
	case pattern[p] == '\\' && p+1 < len(pattern):
		p++
	}
	if pattern[p] != c {
		return 0
	}
	return p + 1
}

// globSet is globByte for the set that begins behind [ at p.
func globSet(c byte, pattern string, p int) int {
	negated := p < len(pattern) && pattern[p] == '!'
	if negated {
		p++
	}
	has := false
	for first := p; p < len(pattern); p++ {
		low := pattern[p]
		if low == ']' && p > first {
			if has == negated {
				return 0
			}
			return p + 1
		}
		high := low
		if p+2 < len(pattern) && pattern[p+1] == '-' && pattern[p+2] != ']' {
			p, high = p+2, pattern[p+2]
		}
		has = has || low <= c && c <= high
	}
	return 0
}

// decomposed bounds the bytes of a string whose accents stand apart.
func decomposed(s string) int { return 4 * len(s) }

// appendPlain appends a string without accents.
func appendPlain(b []byte, s string) []byte {
	if isASCII(s) {
		return append(b, s...)
	}
	for _, r := range norm.NFD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b = append(b, string(r)...)
		}
	}
	return norm.NFC.Append(nil, b...)
}

func appendEscaped(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0:
			b = append(b, `\x00`...)
			continue
		case !isWordByte(c) && c != '_' && c < 0x80:
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return b
}

// separators are the words for what stands between folders.
var separators = map[string]string{"system": "/", "forward_slash": "/", "backslash": `\`, "both_slash": `/\`}

// separator returns the separators that argument i names, or others where it is missing.
func (b *binder) separator(n *node, i int, others string) string {
	if i >= len(n.args) {
		return others
	}
	name := b.word(n, i)
	n.args = n.args[:i]
	signs, ok := separators[strings.ToLower(name)]
	if !ok {
		b.fail(n.at, "%s: no separator is named %s; want forward_slash, backslash, both_slash or system", n.text, name)
	}
	return signs
}

// pathParts binds parse_path.
func pathParts(b *binder, n *node) {
	signs := b.separator(n, 1, `/\`)
	n.typ = ListOf(typeOf(Text))
	b.want(n, Text)
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		d := e.draft[:0]
		if s != "" && strings.IndexByte(signs, s[0]) >= 0 {
			d = nested.AppendText(append(d, nested.Some), s[:1])
		}
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(signs, r) }) {
			d = nested.AppendText(append(d, nested.Some), part)
		}
		return e.keeping(n, append(d, nested.End))
	})
}

// filename binds parse_filename.
func filename(b *binder, n *node) {
	trims, trimmed := false, false
	if len(n.args) > 1 {
		if trims, trimmed = n.args[1].value.(bool); trimmed {
			n.args = append(n.args[:1:1], n.args[2:]...)
		}
	}
	signs := b.separator(n, 1, `/\`)
	if len(n.args) > 1 {
		b.fail(n.at, "%s: want TRUE or FALSE, then the name of a separator", n.text)
	}
	n.typ = typeOf(Text)
	b.want(n, Text)
	n.eval = map1e(n, func(s string) (string, error) {
		s = s[strings.LastIndexAny(s, signs)+1:]
		if dot := strings.LastIndexByte(s, '.'); trims && dot >= 0 {
			s = s[:dot]
		}
		return s, nil
	})
}

// folder binds a function of the folders of a path.
func folder(others string, of func(path, signs string) string) binding {
	return func(b *binder, n *node) {
		signs := b.separator(n, 1, others)
		n.typ = typeOf(Text)
		b.want(n, Text)
		n.eval = map1e(n, func(s string) (string, error) { return of(s, signs), nil })
	}
}

func firstFolder(path, signs string) string {
	at := strings.IndexAny(path, signs)
	if at == 0 {
		at = 1
	}
	return path[:max(at, 0)]
}

func folders(path, signs string) string {
	at := strings.LastIndexAny(path, signs)
	if len(path) == 1 {
		return path[:at+1]
	}
	return path[:max(at, 0)]
}

// sized binds a function of bytes in units: a unit is step times the unit before it.
func sized(step uint64, units ...string) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		b.want(n, Int64)
		n.eval = appended(n, func(int64) int { return 32 }, func(b []byte, v int64) ([]byte, error) {
			size := uint64(v)
			if v < 0 {
				b, size = append(b, '-'), -size
			}
			switch {
			case size == 1:
				return append(b, "1 byte"...), nil
			case size < step:
				return fmt.Appendf(b, "%d bytes", size), nil
			}
			rest, unit := uint64(0), -1
			for size >= step && unit+1 < len(units) {
				rest, size, unit = size%step, size/step, unit+1
			}
			return fmt.Appendf(b, "%d.%d %s", size, rest*10/step, units[unit]), nil
		})
	}
}

// barWidthMax bounds the characters of a bar.
const barWidthMax = 1000

// bar binds bar: of eighths of characters.
func bar(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Text), true
	b.fill(n, 4, typeOf(Float64), 80.0)
	b.want(n, Float64, Float64, Float64, Float64)
	n.eval = rowKernel(n, ofAny, func(e *Evaluator, args []*vector, row int) (string, error) {
		x, low, high, width := args[0].floats[row], args[1].floats[row], args[2].floats[row], args[3].floats[row]
		if !(width >= 1 && width <= barWidthMax) {
			return "", query.Valuef("%s: a bar of %g characters; want 1 to %d", n.text, width, barWidthMax)
		}
		room, err := e.room(n, 3*barWidthMax+3)
		if err != nil {
			return "", err
		}
		return e.keep(appendBar(room, x, low, high, width)), nil
	})
}

func appendBar(b []byte, x, low, high, width float64) []byte {
	full := 0.0
	switch {
	case math.IsNaN(x) || math.IsNaN(low) || math.IsNaN(high) || x <= low:
	case x >= high:
		full = width
	default:
		full = width * (x - low) / (high - low)
	}
	eighths := int(full * 8)
	b = append(b, strings.Repeat("█", eighths/8)...)
	used := eighths / 8
	if part := eighths % 8; part > 0 {
		b = append(b, string(rune('▏'-part+1))...) // U+258F is one eighth, U+2589 seven
		used++
	}
	return append(b, strings.Repeat(" ", max(int(width)-used, 0))...)
}

// bitCount binds bit_count of integers of 64 bits or fewer.
func bitCount(b *binder, n *node) {
	t := n.args[0].typ
	if t.ID == Null {
		t = typeOf(Int64)
	}
	if !t.integer() {
		b.mismatch(n)
	}
	n.typ = typeOf(Int8)
	b.castArgs(n, t)
	if t.ID == Huge {
		n.eval = map1(n, func(v wide) int64 {
			return int64(int8(bits.OnesCount64(v.LowBits()) + bits.OnesCount64(uint64(v.HighBits()))))
		})
		return
	}
	if t.ID == Uint64 {
		n.eval = map1(n, func(v wide) int64 { return int64(bits.OnesCount64(v.LowBits())) })
		return
	}
	width := t.bits()
	n.eval = map1(n, func(v int64) int64 { return int64(bits.OnesCount64(uint64(v) << (64 - width))) })
}
