package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/mpga/mpga/internal/nested"
)

// textLists are the functions from strings to lists.
func textLists() []Function {
	return []Function{
		function("string_split", "s, separator", "the parts of s between separators, as a list; of '' its characters",
			"string_split('a-b', '-')", "[a, b]", splitText, "str_split", "string_to_array", "split"),
		function("regexp_split_to_array", "s, pattern", "the parts of s between matches",
			"regexp_split_to_array('a1b', '[0-9]')", "[a, b]", splitByPattern, "string_split_regex", "str_split_regex"),
		function("regexp_extract_all", "s, pattern [, group] [, options]", "all matches, or a group of each",
			"regexp_extract_all('a1b2', '[0-9]')", "[1, 2]", extractAll),
	}
}

// splitText binds string_split. Without a separator the string is the only part.
func splitText(b *binder, n *node) {
	n.typ = ListOf(typeOf(Text))
	b.want(n, Text, Text)
	n.eval = rowKernel(n, ofFirst, func(e *Evaluator, args []*vector, row int) (string, error) {
		s, separator := args[0].texts[row], args[1].texts[row]
		d := e.draft[:0]
		switch {
		case args[1].isNull(row) || s == "":
			d = nested.AppendText(append(d, nested.Some), s)
		case separator == "":
			for s != "" {
				_, size := utf8.DecodeRuneInString(s)
				d = nested.AppendText(append(d, nested.Some), s[:size])
				s = s[size:]
			}
		default:
			for part := range strings.SplitSeq(s, separator) {
				d = nested.AppendText(append(d, nested.Some), part)
			}
		}
		return e.keeping(n, append(d, nested.End))
	})
}

// splitByPattern binds regexp_split_to_array.
func splitByPattern(b *binder, n *node) {
	n.typ, n.fallible = ListOf(typeOf(Text)), true
	b.want(n, Text, Text)
	n.eval = map2f(n, func(e *Evaluator, s, pattern string) (string, error) {
		re, err := e.regexp(pattern, "")
		if err != nil {
			return "", err
		}
		d := e.draft[:0]
		for _, part := range re.Library().Split(s, -1) {
			d = nested.AppendText(append(d, nested.Some), part)
		}
		return e.keeping(n, append(d, nested.End))
	})
}

// extractAll binds regexp_extract_all.
func extractAll(b *binder, n *node) {
	n.typ, n.fallible = ListOf(typeOf(Text)), true
	flags := ""
	if len(n.args) == 4 {
		flags = b.word(n, 3)
		n.args = n.args[:3]
	}
	if len(n.args) == 2 {
		n.args = append(n.args, b.constant(typeOf(Int64), int64(0)))
	}
	b.want(n, Text, Text, Int64)
	n.eval = map3f(n, func(e *Evaluator, s, pattern string, group int64) (string, error) {
		re, err := e.regexp(pattern, flags)
		if err != nil {
			return "", err
		}
		if group < 0 || group > int64(re.Groups()) {
			return "", valueError(n, "there is no group %d", group)
		}
		d := e.draft[:0]
		for _, m := range re.Library().FindAllStringSubmatch(s, -1) {
			d = nested.AppendText(append(d, nested.Some), m[group])
		}
		return e.keeping(n, append(d, nested.End))
	})
}
