package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/needle"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/regex"
)

// likes are the operators of LIKE with ESCAPE as functions.
func likes() (list []Function) {
	for _, f := range []struct{ name, like, help, example, result string }{
		{"like_escape", "like", "s LIKE pattern ESCAPE c", "like_escape('a%c', 'a$%c', '$')", "true"},
		{"not_like_escape", "like", "s NOT LIKE pattern ESCAPE c", "not_like_escape('a%c', 'a$%c', '$')", "false"},
		{"ilike_escape", "ilike", "s ILIKE pattern ESCAPE c", "ilike_escape('A%c', 'a$%C', '$')", "true"},
		{"not_ilike_escape", "ilike", "s NOT ILIKE pattern ESCAPE c", "not_ilike_escape('A%c', 'a$%C', '$')", "false"},
	} {
		list = append(list, function(f.name, "s, pattern, c", f.help, f.example, f.result, func(b *binder, n *node) {
			if strings.HasPrefix(f.name, "not") {
				b.becomes(n, "not", b.made(n, f.like, n.args...))
				return
			}
			b.becomes(n, f.like, n.args...)
		}))
	}
	return list
}

// likePattern is a pattern of LIKE, cut at each %: a single part that is the whole string, or the
// string's beginning, its end, and parts that stand between them in order.
type likePattern struct {
	parts    []string // with anyByte for _
	wildcard bool     // some part has anyByte
}

// anyByte stands for a single character that may be any character. No UTF-8 text has the byte.
const anyByte = 0xFF

// parseLike reads a pattern. The escape is a character, or "" for none.
func parseLike(pattern, escape string) (*likePattern, error) {
	p := &likePattern{}
	var part strings.Builder
	for len(pattern) > 0 {
		_, size := utf8.DecodeRuneInString(pattern)
		c := pattern[:size]
		pattern = pattern[size:]
		switch {
		case escape != "" && c == escape:
			if pattern == "" {
				return nil, query.Valuef("the pattern ends with its escape character %s", escape)
			}
			_, size := utf8.DecodeRuneInString(pattern)
			part.WriteString(pattern[:size])
			pattern = pattern[size:]
		case c == "%":
			p.parts = append(p.parts, part.String())
			part.Reset()
		case c == "_":
			part.WriteByte(anyByte)
			p.wildcard = true
		default:
			part.WriteString(c)
		}
	}
	p.parts = append(p.parts, part.String())
	return p, nil
}

// match says whether the whole of a string is of the pattern.
func (p *likePattern) match(s string) bool {
	n := p.matchHere(s, p.parts[0])
	if n < 0 {
		return false
	}
	last := len(p.parts) - 1
	if last == 0 {
		return n == len(s)
	}
	s = s[n:]
	for _, part := range p.parts[1:last] {
		from, to := p.find(s, part)
		if from < 0 {
			return false
		}
		s = s[to:]
	}
	return p.matchEnd(s, p.parts[last])
}

// matchHere returns the length of the part at the beginning of s, or -1.
func (p *likePattern) matchHere(s, part string) int {
	if !p.wildcard {
		if strings.HasPrefix(s, part) {
			return len(part)
		}
		return -1
	}
	at := 0
	for i := range len(part) {
		switch {
		case at == len(s):
			return -1
		case part[i] == anyByte:
			_, size := utf8.DecodeRuneInString(s[at:])
			at += size
		case s[at] != part[i]:
			return -1
		default:
			at++
		}
	}
	return at
}

// find returns where the part is first, or -1.
func (p *likePattern) find(s, part string) (from, to int) {
	if !p.wildcard {
		i := strings.Index(s, part)
		return i, i + len(part)
	}
	for i := 0; i <= len(s); {
		if n := p.matchHere(s[i:], part); n >= 0 {
			return i, i + n
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += max(size, 1)
	}
	return -1, 0
}

// matchEnd says whether s ends with the part.
func (p *likePattern) matchEnd(s, part string) bool {
	if !p.wildcard {
		return strings.HasSuffix(s, part)
	}
	at := len(s)
	for i := len(part) - 1; i >= 0; i-- {
		switch {
		case at == 0:
			return false
		case part[i] == anyByte:
			_, size := utf8.DecodeLastRuneInString(s[:at])
			at -= size
		case s[at-1] != part[i]:
			return false
		default:
			at--
		}
	}
	return true
}

// like binds LIKE and ILIKE, with an escape character or none.
func like(fold bool) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Bool), true
		escape := ""
		if len(n.args) == 3 {
			escape = b.word(n, 2)
			if utf8.RuneCountInString(escape) > 1 {
				b.fail(n.at, "%s: an escape is one character", n.text)
			}
			n.args = n.args[:2]
			n.name = "like escape" // Terms reads only patterns without one
		}
		b.want(n, Text, Text)
		parse := func(pattern string) (*likePattern, error) {
			if fold {
				pattern = strings.Map(unicode.ToLower, pattern)
			}
			return parseLike(pattern, escape)
		}
		pattern, ok := n.args[1].value.(string)
		if !ok {
			n.eval = test2(n, func(e *Evaluator, s, pattern string) (bool, error) {
				p, err := parse(pattern)
				if err != nil {
					return false, fmt.Errorf("%s: %w", n.text, err)
				}
				if fold {
					s, err = lower(e, n, s)
				}
				return err == nil && p.match(s), err
			})
			return
		}
		p, err := parse(pattern)
		if err != nil {
			b.fail(n.args[1].at, "%v", err)
		}
		n.fallible = false
		if !fold {
			n.pattern = p
		}
		n.eval = p.kernel(n, fold)
	}
}

// kernel returns the kernel of a constant pattern, which is in lower case if fold. Where the pattern
// has a part that may stand anywhere, strings without its longest piece are not looked at one by
// one.
func (p *likePattern) kernel(n *node, fold bool) kernel {
	piece := p.piece()
	finder := needle.New(piece)
	alone := len(p.parts) == 3 && p.parts[0]+p.parts[2] == "" && p.parts[1] == piece
	return unary(n, bitKind, func(f *frame, a, out *vector) (err error) {
		texts := a.texts
		if fold {
			if texts, err = f.lowered(n, a); err != nil {
				return err
			}
		}
		test := func(i int) {
			if alone || !a.isNull(i) && p.match(texts[i]) {
				out.bits[i>>6] |= 1 << (i & 63)
			}
		}
		if piece != "" {
			finder.Each(texts, func(i, _ int) { test(i) })
			return nil
		}
		for i := range texts {
			test(i)
		}
		return nil
	})
}

// lowered returns strings in lower case; of a NULL, the empty string.
func (f *frame) lowered(n *node, a *vector) ([]string, error) {
	texts := f.e.vector(textKind, a.n).texts
	for i, s := range a.texts {
		if a.isNull(i) {
			continue
		}
		var err error
		if texts[i], err = lower(f.e, n, s); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// piece returns the longest string without a wildcard that stands between two %; "" if there is
// none.
func (p *likePattern) piece() (longest string) {
	for i := 1; i < len(p.parts)-1; i++ {
		for _, piece := range strings.Split(p.parts[i], string([]byte{anyByte})) {
			if len(piece) > len(longest) {
				longest = piece
			}
		}
	}
	return longest
}

// regexpsMax bounds the compiled patterns that an evaluator keeps: a column may have many.
const regexpsMax = 100

// regexpBytesMax bounds patterns that are kept beside others. Compiled they take 100 times as much.
const regexpBytesMax = 4 << 10

// memoOf returns the memo of a node that matches an expression; nil where matching costs less.
func (e *Evaluator) memoOf(n *node, re *regex.Regexp) *memo {
	if re.Simple() {
		return nil
	}
	return e.memo(n)
}

// lastRegexp is the expression that an evaluator used last.
type lastRegexp struct {
	pattern, flags string
	compiled       *regex.Regexp // nil before the first
}

// regexp returns a compiled pattern.
func (e *Evaluator) regexp(pattern, flags string) (*regex.Regexp, error) {
	if last := &e.last; last.compiled != nil && last.pattern == pattern && last.flags == flags {
		return last.compiled, nil
	}
	re, err := e.findRegexp(pattern, flags)
	if err == nil {
		e.last = lastRegexp{strings.Clone(pattern), flags, re} // a column's pattern lies in the batch
	}
	return re, err
}

// findRegexp returns a compiled pattern.
func (e *Evaluator) findRegexp(pattern, flags string) (*regex.Regexp, error) {
	prefix := ""
	for _, c := range flags {
		switch c {
		case 'i', 's', 'm':
			prefix += string(c)
		case 'c', 'g':
		default:
			return nil, query.Valuef("the option %q of a regular expression is none of c, g, i, m, s", string(c))
		}
	}
	if prefix != "" {
		pattern = "(?" + prefix + ")" + pattern
	}
	if re := e.regexps[pattern]; re != nil {
		return re, nil
	}
	pattern = strings.Clone(pattern) // a column's pattern lies in the batch, which goes before the cache and the error
	re, err := regex.Compile(pattern)
	if err != nil {
		return nil, query.Valuef("%w", err)
	}
	if len(e.regexps) >= regexpsMax || len(pattern) > regexpBytesMax {
		clear(e.regexps)
	}
	e.regexps[pattern] = re
	return re, nil
}

// pattern takes the options behind the first `args` arguments, checks a constant pattern, and wants
// strings.
func (b *binder) pattern(n *node, args int) (flags string) {
	if len(n.args) > args {
		flags = b.word(n, args)
		n.args = n.args[:args]
	}
	n.fallible = true
	if text, ok := n.args[1].value.(string); ok {
		if _, err := b.evaluator().regexp(text, flags); err != nil {
			b.fail(n.args[1].at, "%v", err)
		}
		n.fallible = false
	}
	b.want(n, Text, Text, Text)
	return flags
}

// regexpTest binds regexp_matches, and regexp_full_match, which wants the whole of the string.
func regexpTest(full bool) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Bool)
		flags := b.pattern(n, 2)
		n.eval = test2(n, func(e *Evaluator, s, pattern string) (bool, error) {
			if full {
				pattern = `\A(?:` + pattern + `)\z` // whatever the option m makes of ^ and $
			}
			re, err := e.regexp(pattern, flags)
			if err != nil {
				return false, err
			}
			return re.MatchString(s), nil
		})
	}
}

// regexpReplace binds regexp_replace: of the first match, or, with the option g, of all matches.
func regexpReplace(b *binder, n *node) {
	n.typ = typeOf(Text)
	flags := b.pattern(n, 3)
	all := strings.Contains(flags, "g")
	n.eval = map3f(n, func(e *Evaluator, s, pattern, with string) (string, error) {
		re, err := e.regexp(pattern, flags)
		if err != nil {
			return "", err
		}
		memo := e.memoOf(n, re)
		if made, ok := memo.find(s); ok {
			return made, nil
		}
		if err := checkReplacement(with, re.Groups()); err != nil {
			return "", err
		}
		made, err := replaceMatches(e, n, re, s, with, all)
		return memo.add(s, made), err
	})
}

// checkReplacement refuses a replacement in which a backslash stands before neither a digit nor a backslash, or
// names a group that the pattern does not have.
func checkReplacement(with string, groups int) error {
	for rest := with; ; {
		i := strings.IndexByte(rest, '\\')
		if i < 0 {
			return nil
		}
		if i+1 == len(rest) {
			return query.Valuef("regexp_replace: the replacement %s ends with a backslash, which is written \\\\",
				shortText(with))
		}
		switch next := rest[i+1]; {
		case next >= '0' && next <= '9':
			if int(next-'0') > groups {
				return query.Valuef("regexp_replace: the replacement %s names group %c, the pattern has %d",
					shortText(with), next, groups)
			}
		case next != '\\':
			return query.Valuef("regexp_replace: in the replacement %s a backslash stands before neither a digit nor another, "+
				"as in \\\\", shortText(with))
		}
		rest = rest[i+2:]
	}
}

// shortText writes a text in an error as SQL has it, of a long one the first characters.
func shortText(text string) string {
	const charactersMax = 40
	if runes := []rune(text[:min(len(text), 4*charactersMax)]); len(runes) > charactersMax {
		text = string(runes[:charactersMax]) + "..."
	}
	return "'" + text + "'"
}

// eachPart calls a function with the parts of a replacement, whose groups are filled in. Every
// backslash of the replacement stands before a digit or a backslash; see checkReplacement.
func eachPart(s, with string, match []int, f func(part string)) {
	for {
		i := strings.IndexByte(with, '\\')
		if i < 0 {
			f(with)
			return
		}
		f(with[:i])
		if group := 2 * int(with[i+1]-'0'); with[i+1] == '\\' {
			f(with[i : i+1])
		} else if match[group] >= 0 {
			f(s[match[group]:match[group+1]])
		}
		with = with[i+2:]
	}
}

// regexpExtract binds regexp_extract: a group of the first match, or the empty string.
func regexpExtract(b *binder, n *node) {
	n.typ = typeOf(Text)
	group, flags := 0, ""
	if len(n.args) == 4 {
		flags = b.word(n, 3)
		n.args = n.args[:3]
	}
	if len(n.args) == 3 && n.args[2].typ.ID == List {
		b.extractGroups(n, flags)
		return
	}
	if len(n.args) == 3 {
		v, ok := n.args[2].value.(int64)
		if !ok || v < 0 || v > 99 {
			b.fail(n.args[2].at, "%s: the group is a constant from 0 to 99", n.text)
		}
		group = int(v)
		n.args = n.args[:2]
	}
	b.pattern(n, 2)
	n.eval = map2f(n, func(e *Evaluator, s, pattern string) (string, error) {
		re, err := e.regexp(pattern, flags)
		if err != nil {
			return "", err
		}
		memo := e.memoOf(n, re)
		if made, ok := memo.find(s); ok {
			return made, nil
		}
		m := re.First(s)
		if 2*group+1 >= len(m) || m[2*group] < 0 {
			return memo.add(s, ""), nil
		}
		return memo.add(s, s[m[2*group]:m[2*group+1]]), nil
	})
}

// extractGroups binds regexp_extract with a list of names: a struct of the groups, from the first on.
func (b *binder) extractGroups(n *node, flags string) {
	names := n.args[2]
	if names.value == nil || names.typ.parts[0].ID != Text {
		b.fail(names.at, "%s: want a list of names, of the groups from the first on", n.text)
	}
	list := names.typ.layout.Elements(nil, names.value.(string))
	texts, types := make([]string, len(list)), make([]Type, len(list))
	for i, x := range list {
		if x.Null {
			b.fail(names.at, "%s: a name is NULL", n.text)
		}
		texts[i], types[i] = nested.TextOf(x.Value), typeOf(Text)
	}
	n.args = n.args[:2]
	b.pattern(n, 2)
	n.fallible = true
	n.typ = structOf(texts, types...)
	n.eval = map2f(n, func(e *Evaluator, s, pattern string) (string, error) {
		re, err := e.regexp(pattern, flags)
		switch {
		case err != nil:
			return "", err
		case re.Groups() < len(texts):
			return "", valueError(n, "%d names, and %d groups", len(texts), re.Groups())
		}
		m := re.First(s)
		d := e.draft[:0]
		for i := range texts {
			part := ""
			if k := 2 * (i + 1); k+1 < len(m) && m[k] >= 0 {
				part = s[m[k]:m[k+1]]
			}
			d = nested.AppendText(append(d, nested.Some), part)
		}
		return e.keeping(n, d)
	})
}
