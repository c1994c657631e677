// Package sqlscan cuts SQL into tokens, where it need not be whole: a text that is being typed, of
// several statements. Package sql has PostgreSQL's own scanner, which refuses an open string.
//
// Strings, names in quotes, comments and dollar quotes are PostgreSQL's. What a word means is for
// callers to know.
package sqlscan

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a token is.
type Kind uint8

// The kinds of tokens. White space is no token.
const (
	Word    Kind = iota + 1 // a keyword, or a name without quotes
	Name                    // a name in double quotes
	String                  // a string in single quotes or dollar quotes
	Number                  // begins with a digit
	Comment                 // -- to the end of the line, or /* */
	Sign                    // one character of any other kind
)

// Token is a part of a text.
type Token struct {
	Kind       Kind
	Start, End int  // bytes of the text
	Open       bool // the text ends before the token does: a quote or the end of a comment is missing
}

// Text returns the token as it is written.
func (t Token) Text(of string) string { return of[t.Start:t.End] }

// Is says whether the token is a word, in any case.
func (t Token) Is(of, word string) bool { return t.Kind == Word && strings.EqualFold(t.Text(of), word) }

// Value returns what a name or a string says, without its quotes.
func (t Token) Value(of string) string {
	text := t.Text(of)
	quote := byte(0)
	switch t.Kind {
	case Name:
		quote = '"'
	case String:
		quote = '\''
	}
	at := strings.IndexByte(text, quote)
	if quote == 0 || at < 0 || at > 1 { // a word, a dollar quote
		return text
	}
	text = text[at+1:]
	if !t.Open {
		text = text[:len(text)-1]
	}
	return strings.ReplaceAll(text, string([]byte{quote, quote}), string(quote))
}

// Scan cuts a text into tokens, in order.
func Scan(text string) []Token { return slices.Collect(tokens(text)) }

// tokens cuts a text into tokens, in order.
func tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for at := 0; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			if unicode.IsSpace(r) {
				at += size
				continue
			}
			t := next(text, at)
			if !yield(t) {
				return
			}
			at = t.End
		}
	}
}

// First returns the first token that is no comment, or an empty token.
func First(text string) Token {
	for t := range tokens(text) {
		if t.Kind != Comment {
			return t
		}
	}
	return Token{}
}

// StatementEnd returns the byte behind the first semicolon that ends a statement, or -1.
func StatementEnd(text string) int {
	for _, t := range Scan(text) {
		if t.Kind == Sign && text[t.Start] == ';' {
			return t.End
		}
	}
	return -1
}

// Statements cuts a text behind the semicolons that end statements. Statements without anything to run are left out.
func Statements(text string) (list []string) {
	for text != "" {
		end := StatementEnd(text)
		if end < 0 {
			end = len(text)
		}
		if !Empty(text[:end]) {
			list = append(list, strings.TrimSpace(text[:end]))
		}
		text = text[end:]
	}
	return list
}

// Empty says whether a text has nothing but white space, comments and semicolons.
func Empty(text string) bool {
	for _, t := range Scan(text) {
		if t.Kind != Comment && t.Text(text) != ";" {
			return false
		}
	}
	return true
}

// next returns the token that begins at a byte, which is not white space.
func next(text string, at int) Token {
	rest := text[at:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, "--"):
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			return Token{Comment, at, len(text), true}
		}
		return Token{Comment, at, at + end, false}
	case strings.HasPrefix(rest, "/*"):
		return blockComment(text, at)
	case r == '\'':
		return quoted(text, String, at, at+1, false)
	case r == '"':
		return quoted(text, Name, at, at+1, false)
	case r == '$':
		if t, ok := dollarQuoted(text, at); ok {
			return t
		}
	case len(rest) > 1 && rest[1] == '\'' && strings.ContainsRune("eEbBxXnN", r):
		return quoted(text, String, at, at+2, r == 'e' || r == 'E')
	case r >= '0' && r <= '9':
		return Token{Number, at, at + runLength(rest, func(r rune) bool { return inWord(r) || r == '.' }), false}
	case inWord(r):
		return Token{Word, at, at + runLength(rest, inWord), false}
	}
	return Token{Sign, at, at + size, false}
}

// inWord says whether a rune may be in a word.
func inWord(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf
	return letter || r == '_' || r == '$' || r >= '0' && r <= '9'
}

// runLength is how many bytes of a text hold nothing but runes of a kind.
func runLength(text string, of func(rune) bool) int {
	end := strings.IndexFunc(text, func(r rune) bool { return !of(r) })
	if end < 0 {
		return len(text)
	}
	return end
}

// quoted returns a token in quotes whose content begins at a byte. A quote within is doubled, or
// behind a backslash where the string has escapes.
func quoted(text string, kind Kind, start, content int, escapes bool) Token {
	quote := text[content-1]
	for i := content; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return Token{kind, start, i + 1, false}
		}
	}
	return Token{kind, start, len(text), true}
}

// blockComment returns a comment, which may have others within.
func blockComment(text string, start int) Token {
	depth := 0
	for i := start; i+1 < len(text); {
		switch text[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			depth--
			i += 2
			if depth == 0 {
				return Token{Comment, start, i, false}
			}
		default:
			i++
		}
	}
	return Token{Comment, start, len(text), true}
}

// dollarQuoted returns a string between $$ or $tag$. It returns false where none begins.
func dollarQuoted(text string, start int) (Token, bool) {
	tagEnd := strings.IndexByte(text[start+1:], '$')
	if tagEnd < 0 {
		return Token{}, false
	}
	tag := text[start : start+tagEnd+2]
	name := tag[1 : len(tag)-1]
	if runLength(name, inWord) != len(name) || name != "" && name[0] >= '0' && name[0] <= '9' {
		return Token{}, false
	}
	content := start + len(tag)
	end := strings.Index(text[content:], tag)
	if end < 0 {
		return Token{String, start, len(text), true}, true
	}
	return Token{String, start, content + end + len(tag), false}, true
}
