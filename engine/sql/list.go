//go:build cgo

package sql

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
	"google.golang.org/protobuf/proto"
)

// L2: the longest text and item that reach the recursive parser, whose tree is at most as deep as an
// item has tokens. TestParseDeepest goes to that depth.
const (
	textBytesMax  = 256 << 10 // thousands of calls
	itemTokensMax = 256       // a call has about ten
)

// list is the parsed text: the items between SELECT and FROM.
type list struct {
	text   string
	tokens map[int32]*pg.ScanToken // by their first byte in text
	items  []item
}

// item is one element of the list.
type item struct {
	expr *pg.Node
	name string // its alias, or ""
	at   int    // its first byte in the text
}

// selectPrefix makes a statement of the text; positions are counted without it.
const selectPrefix = "SELECT "

// parseList parses text as the list of a SELECT. Errors are of type *Error.
func parseList(text string) (*list, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	groups, err := scan(text)
	if err != nil {
		return nil, err
	}
	tree, err := pg.Parse(selectPrefix + text)
	if err != nil {
		return nil, syntaxError(text, groups, err)
	}
	stmt := tree.GetStmts()[0].GetStmt().GetSelectStmt()
	if stmt == nil || len(stmt.GetTargetList()) != len(groups) || !onlyTargets(stmt) {
		return nil, strayClause(text, groups)
	}
	l := &list{text: text, tokens: make(map[int32]*pg.ScanToken)}
	for _, group := range groups {
		for _, token := range group {
			l.tokens[token.Start] = token
		}
	}
	for i, target := range stmt.GetTargetList() {
		res := target.GetResTarget()
		it := item{expr: res.GetVal(), at: int(groups[i][0].Start)}
		if res.GetName() != "" {
			it.name = l.spelling(groups[i][len(groups[i])-1], res.GetName()) // an alias comes last
		}
		l.items = append(l.items, it)
	}
	return l, nil
}

// checkText refuses what the C parser would cut short, garble or take too long for.
func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errorAt(text, 0, "the text is empty")
	case len(text) > textBytesMax:
		return errorAt(text, textBytesMax, "the text is %s long, more than %s",
			humanize.IBytes(uint64(len(text))), humanize.IBytes(textBytesMax))
	case strings.ContainsRune(text, 0):
		return errorAt(text, strings.IndexByte(text, 0), "the text has a zero byte")
	case !utf8.ValidString(text):
		at := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError })
		return errorAt(text, at, "the text is not UTF-8")
	}
	return nil
}

// scan cuts the text into tokens, without comments, and these into items at the commas outside parentheses.
func scan(text string) ([][]*pg.ScanToken, error) {
	scanned, err := pg.Scan(selectPrefix + text)
	if err != nil {
		return nil, syntaxError(text, nil, err)
	}
	var groups [][]*pg.ScanToken
	var group []*pg.ScanToken
	depth := 0
	for _, token := range scanned.GetTokens()[1:] {
		token.Start -= int32(len(selectPrefix))
		token.End -= int32(len(selectPrefix))
		switch token.Token {
		case pg.Token_SQL_COMMENT, pg.Token_C_COMMENT:
			continue
		case pg.Token_ASCII_59:
			return nil, errorAt(text, int(token.Start), "a list has no semicolon")
		case pg.Token_ASCII_40, pg.Token_ASCII_91:
			depth++
		case pg.Token_ASCII_41, pg.Token_ASCII_93:
			depth--
		case pg.Token_ASCII_44:
			if depth == 0 && len(group) > 0 {
				groups, group = append(groups, group), nil
				continue
			}
		}
		if group = append(group, token); len(group) > itemTokensMax {
			return nil, errorAt(text, int(group[0].Start), "not supported: an expression of more than %d words and signs", itemTokensMax)
		}
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	if len(groups) == 0 {
		return nil, errorAt(text, 0, "the text is empty")
	}
	return groups, nil
}

// syntaxError says what the parser found, where, and whether quotes would have helped.
func syntaxError(text string, groups [][]*pg.ScanToken, err error) error {
	var parseErr *parser.Error
	if !errors.As(err, &parseErr) {
		return errorAt(text, 0, "the SQL parser: %v", err) // its answer could not be read
	}
	// The message repeats the rest of the text, which the caret shows better.
	message, _, _ := strings.Cut(parseErr.Message, " at or near ")
	offset := 0
	for range parseErr.Cursorpos - 1 - len(selectPrefix) { // Cursorpos counts characters, from 1
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	for _, group := range groups {
		for _, token := range group {
			if int(token.Start) == offset && token.KeywordKind == pg.KeywordKind_RESERVED_KEYWORD {
				word := text[token.Start:token.End]
				message += `: ` + word + ` is a word of SQL; a column of that name is written "` + word + `"`
			}
		}
	}
	return errorAt(text, offset, "%s", message)
}

// onlyTargets reports whether the statement is a list and nothing else.
func onlyTargets(stmt *pg.SelectStmt) bool {
	return proto.Equal(stmt, &pg.SelectStmt{
		TargetList:  stmt.GetTargetList(),
		LimitOption: stmt.GetLimitOption(),
		Op:          pg.SetOperation_SETOP_NONE,
	})
}

// strayClause points at the word that ends the list.
func strayClause(text string, groups [][]*pg.ScanToken) error {
	for _, group := range groups {
		depth := 0
		var before pg.Token
		for _, token := range group {
			switch token.Token {
			case pg.Token_ASCII_40:
				depth++
			case pg.Token_ASCII_41:
				depth--
			case pg.Token_GROUP_P:
				if depth == 0 && before != pg.Token_WITHIN {
					return errorAt(text, int(token.Start), "not supported: %s after the list", text[token.Start:token.End])
				}
			case pg.Token_DISTINCT, pg.Token_ALL, pg.Token_FROM, pg.Token_WHERE, pg.Token_HAVING, pg.Token_ORDER,
				pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT,
				pg.Token_INTO, pg.Token_FOR, pg.Token_WINDOW:
				if depth == 0 {
					return errorAt(text, int(token.Start), "not supported: %s beside the list", text[token.Start:token.End])
				}
			}
			before = token.Token
		}
	}
	return errorAt(text, 0, "not supported: more than a list")
}

// spelling returns a name as the text has it (L1); parsed is what PostgreSQL made of it.
func (l *list) spelling(token *pg.ScanToken, parsed string) string {
	if token == nil || token.Token == pg.Token_UIDENT { // U&"\00e9" is decoded by the parser alone
		return parsed
	}
	written := l.text[token.Start:token.End]
	if quoted, ok := strings.CutPrefix(written, `"`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(quoted, `"`), `""`, `"`)
	}
	return written
}
