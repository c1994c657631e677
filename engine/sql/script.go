//go:build cgo

package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/mpga/mpga/internal/sqlscan"
)

// script is a statement's text, as it was given and as PostgreSQL's parser gets it: words that
// DuckDB alone has are rewritten, token by token, and their places remembered. L3.
type script struct {
	text   string
	code   string          // text with blanks in place of block comments, byte for byte
	tokens []*pg.ScanToken // without comments
	at     map[int32]int   // index of a token by its first byte in text

	asked    int // parameters written ?
	numbered int // the largest number of a parameter written $1

	parsed string         // the text that PostgreSQL's parser gets
	places []origin       // places of parsed in text, in order
	marks  map[int]string // mark of a rewritten word, by the offset of its first byte in text

	end       int            // of the last token
	joinWords map[int]string // SEMI, ANTI and ASOF, by the offset of the word in text

	stars            map[int]*starred // what stands behind a *, by the offset of the *
	replaces, closes map[int]*starred // the same, by the offset of REPLACE and of the parenthesis that closes it
	failed           error            // of rewriting; nil of none

	inserted   map[int]string  // what is parsed before a token, by the offset of its first byte
	tail       string          // what is parsed behind all tokens
	plain      map[int]bool    // strings that are no files, by the offset of their first byte
	files      map[int]bool    // strings that are files
	pivots     map[int]*Pivot  // by the offset of the word
	sampleEnds map[int]int     // of USING SAMPLE: the last token, by SAMPLE
	samples    map[int]*Sample // by the offset of the table or the item that stands for them

	lambdas map[int]bool // COLUMNS of a name and a condition on it, and * LIKE, by their offset

	verbsWithin map[int]string // what is parsed in place of verbs behind FROM, by their offset

	partners map[int]int       // indexes of brackets that belong together
	openings map[int][]opening // by the offset of the first byte of an operand
	swapped  map[int]string    // what is parsed in place of a token of a nested value, by its offset
	types    map[int]typed     // nested types with their parts, by the offset of the first word

	qualified map[int]bool // conditions of QUALIFY, by the offset of their first byte

	keys map[int]keyText // of USING KEY, by the offset of the name of WITH

	verb      Verb // in front of the statement; "" of a SELECT alone
	verbWords int  // of verb
	of        int  // index of the token behind verb from which on the text is a table, as behind FROM; 0 of other texts
}

// origin says which byte of the text a byte of the parsed text comes from. The bytes up to the next
// origin follow one another in both texts.
type origin struct{ parsed, text int }

// textBytesMax bounds the text. L2.
const textBytesMax = 256 << 10 // thousands of calls

// L2: the depth of the tree that a statement may have at most. The C parser was seen to manage
// 4,000 levels of every kind but two, which it refuses.
const depthMax = 1000

// The words that DuckDB's SQL has and PostgreSQL's parser does not, as they are marked.
const (
	markTryCast  = "try_cast"
	markIntDiv   = "//"
	markGroupAll = "group by all"
	markOrderAll = "order by all"
	markFile     = "file"
	markByName   = "by name"

	markSelectAll = "select all" // a FROM that SELECT * stands for

	markNatural     = "natural"      // SEMI or ANTI that stood behind NATURAL
	markIgnoreNulls = "ignore nulls" // a function's name
	markQualify     = "qualify"      // QUALIFY, whose condition is parsed as the last item
	markPivot       = "pivot"        // PIVOT and UNPIVOT, which are parsed as an item
	markShare       = "%"            // of LIMIT
	markSample      = "sample"       // USING SAMPLE, which is parsed as an item
	markColon       = ":"            // between the places of a subscript
	markGlob        = "glob"         // GLOB, which is parsed as LIKE
	markUnit        = "unit"         // of INTERVAL (x) unit
	markVerb        = "verb"         // DESCRIBE, SUMMARIZE and SHOW behind FROM, which are parsed as an item
	markUnpacked    = "unpacked"     // COLUMNS behind a *
)

// The signs of DuckDB's structs, which the parser's tokens have no names for.
const (
	tokenOpenBrace  pg.Token = '{'
	tokenCloseBrace pg.Token = '}'
)

// newScript cuts a text into tokens and rewrites it. prefix is put before the text that is parsed.
func newScript(text, prefix string) (*script, error) { return newScriptFrom(text, prefix, 0) }

// newScriptFrom is newScript of what stands behind the first bytes of a text.
func newScriptFrom(text, prefix string, from int) (*script, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	code, err := blankComments(text)
	if err != nil {
		return nil, err
	}
	code = blank(text[:from]) + code[from:]
	scanned, err := pg.Scan(code)
	if err != nil {
		return nil, scanError(text, code, err)
	}
	s := &script{
		text: text, code: code, at: map[int32]int{}, marks: map[int]string{}, joinWords: map[int]string{},
		stars: map[int]*starred{}, replaces: map[int]*starred{}, closes: map[int]*starred{},
		qualified: map[int]bool{}, inserted: map[int]string{}, plain: map[int]bool{}, files: map[int]bool{},
		verbsWithin: map[int]string{}, lambdas: map[int]bool{}, swapped: map[int]string{}, types: map[int]typed{},
		keys:     map[int]keyText{},
		openings: map[int][]opening{}, pivots: map[int]*Pivot{}, samples: map[int]*Sample{}, sampleEnds: map[int]int{},
	}
	for _, t := range scanned.GetTokens() {
		switch t.Token {
		case pg.Token_SQL_COMMENT, pg.Token_C_COMMENT:
		case pg.Token_Op:
			if err := s.addOperator(t); err != nil {
				return nil, err
			}
		default:
			s.add(t)
		}
	}
	s.numberPlaces()
	if len(s.tokens) == 0 {
		return nil, errorAt(text, 0, "the text is empty")
	}
	if err := s.checkDepth(); err != nil {
		return nil, err
	}
	gaps := make(map[int32]int32, len(s.tokens)) // where the text before a token begins, by the token's first byte
	gaps[s.tokens[0].Start] = 0
	for i, t := range s.tokens[1:] {
		gaps[t.Start] = s.tokens[i].End
	}
	s.end = int(s.tokens[len(s.tokens)-1].End)
	s.arrange()
	if prefix == "" {
		s.nestedVerbs()
		s.selectFirst()
		if err := s.pivotWords(); err != nil {
			return nil, err
		}
	}
	if err := s.countParameters(); err != nil {
		return nil, err
	}
	if prefix == "" {
		if err := s.readVerb(); err != nil {
			return nil, err
		}
	}
	if s.tokens[0].Token == pg.Token_COPY { // which a table may follow
		s.of = 1
	}
	s.rewrite(prefix, gaps)
	return s, s.failed
}

// arrange puts the tokens into the order of PostgreSQL's syntax, and notes what is parsed in their places.
func (s *script) arrange() {
	s.dropWords()
	s.usingKeys()
	s.prefixAliases()
	s.naturalLast()
	s.nestedValues()
	s.subscripts()
	s.orderedCalls()
	s.bareValues()
	s.insertOpenings()
}

// checkText refuses what the C parser would cut short, garble or take too long for.
func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errorAt(text, 0, "the text is empty")
	case len(text) > textBytesMax:
		return errorAt(text[:textBytesMax], textBytesMax, "the text is %s long, more than %s",
			humanize.IBytes(uint64(len(text))), humanize.IBytes(textBytesMax))
	case strings.ContainsRune(text, 0):
		return errorAt(text, strings.IndexByte(text, 0), "the text has a zero byte")
	case !utf8.ValidString(text):
		at := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError })
		return errorAt(text, at, "the text is not UTF-8")
	}
	return nil
}

// operatorMax bounds the signs of an operator, as PostgreSQL does.
const operatorMax = 63

// blankComments writes blanks in place of the block comments of a text, but for line ends, and refuses operators that
// are too long: PostgreSQL's scanner takes the square of the bytes of both. L2.
func blankComments(text string) (string, error) {
	code := []byte(text)
	signs, end := 0, 0 // of the operator that is read
	for _, t := range sqlscan.Scan(text) {
		if t.Kind != sqlscan.Sign || t.Start != end || !strings.Contains("~!@#^&|`?+-*/%<>=", t.Text(text)) {
			signs = 0
		}
		if signs, end = signs+1, t.End; signs > operatorMax {
			return "", errorAt(text, t.Start-operatorMax, "operator too long")
		}
		if t.Kind != sqlscan.Comment || !strings.HasPrefix(t.Text(text), "/*") {
			continue
		}
		if t.Open {
			return "", errorAt(text, t.Start, "unterminated /* comment")
		}
		copy(code[t.Start:], blank(t.Text(text)))
	}
	return string(code), nil
}

// blank returns blanks in place of a text, but for line ends.
func blank(text string) string {
	code := []byte(text)
	for i, b := range code {
		if b != '\n' {
			code[i] = ' '
		}
	}
	return string(code)
}

// scanError points at what cannot be cut into tokens, such as an open string.
func scanError(text, code string, err error) error {
	var parseErr *parser.Error
	if !errors.As(err, &parseErr) {
		return errorAt(text, 0, "the SQL parser: %v", err)
	}
	message, _, _ := strings.Cut(parseErr.Message, " at or near ")
	at := byteOfRune(code, parseErr.Cursorpos-1)
	return errorAt(text, at, "%s%s", message, offerFile(text, at))
}

// byteOfRune returns where a character begins, counted from 0.
func byteOfRune(text string, n int) int {
	for at := range text {
		if n <= 0 {
			return at
		}
		n--
	}
	return len(text)
}

// checkDepth refuses a text whose tree may be deeper than the parser's stack: a level is at most as
// deep as the number of its tokens between commas, AND, FROM and the like.
func (s *script) checkDepth() error {
	stack := []int{0} // tokens of each open level
	depth := 0        // the sum of the stack
	joins, sets := 0, 0
	for i, t := range s.tokens {
		top := len(stack) - 1
		switch t.Token {
		case pg.Token_IDENT:
			if s.joinWord(i) == positional {
				return errorAt(s.text, int(t.Start), "not supported: %s JOIN", positional)
			}
		case pg.Token_ASCII_40, pg.Token_ASCII_91, pg.Token_CASE, tokenOpenBrace:
			stack = append(stack, 0)
		case pg.Token_ASCII_41, pg.Token_ASCII_93, pg.Token_END_P, tokenCloseBrace:
			if top > 0 {
				depth -= stack[top]
				stack = stack[:top]
			}
		case pg.Token_ASCII_44, pg.Token_AND, pg.Token_OR, pg.Token_WHEN, pg.Token_THEN, pg.Token_ELSE,
			pg.Token_FROM, pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_ORDER:
			depth -= stack[top]
			stack[top] = 0
		case pg.Token_JOIN:
			if joins++; joins > tablesMax {
				return errorAt(s.text, int(t.Start), "not supported: more than %d joins", tablesMax)
			}
			depth -= stack[top]
			stack[top] = 0
		case pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT:
			if sets++; sets > setsOfRowsMax {
				return errorAt(s.text, int(t.Start), "not supported: more than %d UNION, INTERSECT and EXCEPT", setsOfRowsMax)
			}
			depth -= stack[top]
			stack[top] = 0
		}
		stack[len(stack)-1]++
		if depth++; depth > depthMax || len(stack) > depthMax {
			return errorAt(s.text, int(t.Start),
				"not supported: an expression of more than %d words and signs, or nested as deep", depthMax)
		}
	}
	return nil
}

// word returns a token as it is written.
func (s *script) word(t *pg.ScanToken) string { return s.text[t.Start:t.End] }

// token returns the token at an index, or an empty token at the end of the text.
func (s *script) token(i int) *pg.ScanToken {
	if i < 0 || i >= len(s.tokens) {
		return &pg.ScanToken{Start: int32(len(s.text)), End: int32(len(s.text))}
	}
	return s.tokens[i]
}

// isWord says whether the token at an index is a word, in any case.
func (s *script) isWord(i int, word string) bool { return strings.EqualFold(s.word(s.token(i)), word) }

// rewrite builds the parsed text. gaps says where the text before a token begins.
func (s *script) rewrite(prefix string, gaps map[int32]int32) {
	var b strings.Builder
	b.WriteString(prefix)
	s.openSampled()
	levels := []level{{}}
	for i := 0; i < len(s.tokens); i++ {
		t := s.tokens[i]
		of := &levels[len(levels)-1]
		switch t.Token {
		case pg.Token_ASCII_40:
			inner := level{inCall: slices.Contains(takeFrom, s.token(i-1).Token)}
			inner.inFrom = of.inFrom && slices.Contains(beforeTable, s.token(i-1).Token)
			levels = append(levels, inner)
		case pg.Token_ASCII_41:
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
			}
		case pg.Token_FROM:
			if s.token(i-1).Token != pg.Token_DISTINCT {
				of.inFrom = !of.inCall
			}
		case pg.Token_SELECT, pg.Token_VALUES, pg.Token_WINDOW, pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING,
			pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET:
			of.inFrom = of.inFrom && s.token(i-1).Token == pg.Token_ASCII_46 // a column of that name
		}
		if i > 0 && gaps[t.Start] == t.Start && s.tokens[i-1].End != t.Start { // it did not stand behind that one
			b.WriteByte(' ')
		}
		b.WriteString(s.code[gaps[t.Start]:t.Start])
		if s.isQuestion(t) { // whose number must not become a part of the word before
			b.WriteByte(' ')
		}
		s.insert(&b, s.inserted[int(t.Start)])
		s.places = append(s.places, origin{b.Len(), int(t.Start)})
		replacement, taken := s.replacement(i, of.inFrom)
		if replacement == "" {
			replacement = s.word(t)
		}
		b.WriteString(replacement)
		i += taken - 1
	}
	b.WriteString(s.tail)
	s.places = append(s.places, origin{b.Len(), s.end})
	b.WriteString(s.code[s.end:])
	s.parsed = b.String()
}

// insert writes what is parsed beside the tokens. Its * stands for all columns, whatever stands behind a * of the text.
func (s *script) insert(b *strings.Builder, text string) {
	if before, _, ok := strings.Cut(text, "*"); ok {
		s.places = append(s.places, origin{b.Len() + len(before), len(s.text)})
	}
	b.WriteString(text)
}

// level is what stands between parentheses.
type level struct {
	inCall bool // of a function in whose call FROM may stand
	inFrom bool // behind FROM
}

// beforeTable are the tokens behind FROM that a table follows.
var beforeTable = []pg.Token{pg.Token_FROM, pg.Token_JOIN, pg.Token_ASCII_44, pg.Token_ASCII_40}

// takeFrom are the words of calls in which FROM may stand.
var takeFrom = []pg.Token{pg.Token_EXTRACT, pg.Token_SUBSTRING, pg.Token_TRIM, pg.Token_OVERLAY}

// replacement returns the text to parse in place of the next tokens, or "", and their number.
func (s *script) replacement(i int, inFrom bool) (text string, taken int) {
	t := s.tokens[i]
	at := int(t.Start)
	if left := s.columnsWords(i); left > 0 {
		return " ", left
	}
	if text, taken := s.replacedVerb(i); taken > 0 {
		return text, taken
	}
	switch t.Token {
	case pg.Token_Op:
		switch s.word(t) {
		case "//": // in PostgreSQL, an operator that is no sign of its own binds less than +
			s.marks[at] = markIntDiv
			return "/ ", 1
		case "**":
			return "^ ", 1
		case "==":
			return "= ", 1
		}
	case pg.Token_SCONST:
		return s.replacedString(i, inFrom)
	case pg.Token_ALL:
		ends := slices.Contains(elementEnds, s.token(i+1).Token) || s.isWord(i+1, "nulls")
		if ends && s.token(i-1).Token == pg.Token_BY {
			switch s.token(i - 2).Token {
			case pg.Token_GROUP_P:
				s.marks[at] = markGroupAll
				return "0", 1
			case pg.Token_ORDER:
				s.marks[at] = markOrderAll
				return "0", 1
			}
		}
	case pg.Token_FROM, pg.Token_ASCII_42, pg.Token_REPLACE, pg.Token_ASCII_40, pg.Token_ASCII_41:
		return s.replacedStar(i)
	case pg.Token_ASCII_91:
		if s.opensList(i) {
			return "ARRAY[", 1
		}
	case tokenOpenBrace:
		return `"` + structCall + `"(`, 1
	case tokenCloseBrace:
		return ")", 1
	case pg.Token_ASCII_58:
		if s.marks[at] != markColon {
			return ",", 1
		}
	case pg.Token_PARAM:
		if s.isQuestion(t) {
			s.asked++
			return fmt.Sprintf("$%d ", s.asked), 1
		}
	case pg.Token_INTERVAL:
		return s.interval(i)
	case pg.Token_CURRENT_DATE:
		if s.token(i+1).Token == pg.Token_ASCII_40 && s.token(i+2).Token == pg.Token_ASCII_41 {
			return s.word(t), 3
		}
	case pg.Token_USER, pg.Token_CURRENT_USER, pg.Token_SESSION_USER, pg.Token_CURRENT_ROLE, pg.Token_CURRENT_CATALOG:
		return `"` + s.word(t) + `"`, 1 // a value in PostgreSQL; a name, as of columns of JSON files, in DuckDB
	case pg.Token_IDENT:
		return s.replacedWord(i, inFrom)
	}
	return s.replacedClause(i)
}

// replacedString is replacement of a string: a name behind AS, or a file.
func (s *script) replacedString(i int, inFrom bool) (text string, taken int) {
	t := s.tokens[i]
	at := int(t.Start)
	isFile := inFrom && s.isTablePlace(i) || i > 0 && i == s.of
	switch {
	case s.token(i-1).Token == pg.Token_AS:
		return s.quotedName(i), 1
	case isFile && !s.plain[at] || s.files[at]:
		s.marks[at] = markFile
		return `"` + strings.Repeat("f", min(max(len(s.word(t))-2, 1), 60)) + `"`, 1
	}
	return "", 1
}

// replacedVerb is replacement of the words before a statement and of words that were marked, of GLOB, and of nested
// values.
func (s *script) replacedVerb(i int) (text string, taken int) {
	at := int(s.tokens[i].Start)
	typed, isType := s.types[at]
	switch {
	case isType:
		return `"` + typeName + `"`, typed.taken
	case s.swapped[at] != "":
		return s.swapped[at], 1
	case i == 0 && s.verb != "":
		return s.withoutVerb()
	case s.marks[at] == markVerb && s.verbsWithin[at] == showTables:
		return s.verbsWithin[at], 2
	case s.marks[at] == markVerb:
		return s.verbsWithin[at], 1
	case s.marks[at] == markUnit:
		return " ", 1
	case s.isGlob(i):
		s.marks[at] = markGlob
		before := int(s.token(i - 1).Start)
		s.marks[before] = cmp.Or(s.marks[before], markGlob) // of NOT
		return "LIKE", 1
	}
	return "", 0
}

// isTablePlace says whether a table stands at a place of a FROM clause, which IS DISTINCT FROM is not.
func (s *script) isTablePlace(i int) bool {
	return slices.Contains(beforeTable, s.token(i-1).Token) && s.token(i-2).Token != pg.Token_DISTINCT
}

// isGlob says whether a token is GLOB between two operands.
func (s *script) isGlob(i int) bool {
	if !s.isWord(i, "glob") || i == 0 || s.token(i).Token != pg.Token_IDENT || s.code[s.tokens[i].Start] == '"' {
		return false
	}
	switch before := s.token(i - 1); before.Token {
	case pg.Token_NOT, pg.Token_SCONST, pg.Token_IDENT, pg.Token_ASCII_41, pg.Token_ASCII_93, pg.Token_PARAM,
		pg.Token_NULL_P, pg.Token_END_P:
	default:
		if before.KeywordKind == pg.KeywordKind_NO_KEYWORD || before.KeywordKind == pg.KeywordKind_RESERVED_KEYWORD {
			return false
		}
	}
	switch s.token(i + 1).Token {
	case pg.Token_SCONST, pg.Token_IDENT, pg.Token_ASCII_40, pg.Token_PARAM, pg.Token_NULL_P, pg.Token_CAST:
		return true
	}
	return false
}

// replacedClause is replacement of the words of samples, limits and set operations.
func (s *script) replacedClause(i int) (text string, taken int) {
	t := s.tokens[i]
	at := int(t.Start)
	switch t.Token {
	case pg.Token_TABLESAMPLE:
		return s.sample(i)
	case pg.Token_USING:
		switch s.marks[at] {
		case markSample:
			return ",", 1
		case markSelectAll:
			return "SELECT *,", 1
		}
	case pg.Token_LIMIT:
		if end := s.sharedLimit(i); end >= 0 {
			s.marks[int(s.tokens[end].Start)] = markShare
			return `LIMIT "` + ShareCall + `"(`, 1
		}
	case pg.Token_ASCII_37:
		if s.marks[at] == markShare {
			return ")", 1
		}
	case pg.Token_BY:
		word := i - 1
		if s.token(word).Token == pg.Token_ALL {
			word--
		}
		if slices.Contains(setTokens, s.token(word).Token) && s.isWord(i+1, "name") {
			s.marks[int(s.tokens[word].Start)] = markByName
			return " ", 2
		}
	}
	return "", 1
}

// replacedStar is replacement for what SELECT * FROM is written with, and for FILTER without WHERE.
func (s *script) replacedStar(i int) (text string, taken int) {
	at := int(s.tokens[i].Start)
	switch s.tokens[i].Token {
	case pg.Token_FROM:
		if s.marks[at] == markSelectAll {
			return "SELECT * FROM", 1
		}
	case pg.Token_ASCII_42:
		if s.token(i-1).Token == pg.Token_BY && s.token(i-2).Token == pg.Token_ORDER {
			s.marks[at] = markOrderAll
			return "0", 1
		}
		if text, taken := s.starLike(i); taken > 0 {
			return text, taken
		}
		return s.star(i)
	case pg.Token_REPLACE:
		if s.replaces[at] != nil {
			return s.replace(i)
		}
	case pg.Token_ASCII_40:
		switch before := s.token(i - 1); {
		case before.Token == pg.Token_REPLACE && s.replaces[int(before.Start)] != nil:
			return " ", 1
		case before.Token == pg.Token_FILTER && s.token(i-2).Token == pg.Token_ASCII_41 &&
			s.token(i+1).Token != pg.Token_WHERE:
			return "(WHERE ", 1
		}
	case pg.Token_ASCII_41:
		if s.closes[at] != nil {
			return s.close(i)
		}
	}
	return "", 1
}

// replacedWord is replacement for a word that PostgreSQL takes for a name.
func (s *script) replacedWord(i int, inFrom bool) (text string, taken int) {
	at := int(s.tokens[i].Start)
	switch s.marks[at] {
	case markSelectAll:
		return "SELECT *,", 1
	case markQualify:
		return ",", 1
	case markShare:
		return ")", 1
	case markSample:
		return s.sample(i)
	case markPivot:
		return "0, ", 1
	case markPlace:
		return `"` + s.word(s.tokens[i]) + `"`, 1
	}
	if (s.isWord(i, "ignore") || s.isWord(i, "respect")) && s.ignoreNulls(i) {
		return " ", 2
	}
	if s.isWord(i, "grouping_id") && s.token(i+1).Token == pg.Token_ASCII_40 {
		return "GROUPING", 1
	}
	if s.isWord(i, markTryCast) && s.token(i+1).Token == pg.Token_ASCII_40 {
		s.marks[at] = markTryCast
		return "CAST", 1
	}
	if word := s.joinWord(i); inFrom && word != "" {
		s.joinWords[at] = word
		return joinWordBefore + `"` + joinWordName + `"`, 1
	}
	return "", 1
}

// PostgreSQL has no SEMI, ANTI and ASOF JOIN: each word becomes a table of this name that is joined before.
const (
	joinWordBefore = "CROSS JOIN "
	joinWordName   = "semi, anti or asof"
)

// The words before JOIN that are no kinds of joins.
const (
	asof       = "ASOF"
	positional = "POSITIONAL"
)

// naturalLast puts SEMI and ANTI before NATURAL, which then stands before JOIN.
func (s *script) naturalLast() {
	for i, t := range s.tokens {
		word := s.token(i + 1)
		isWord := s.isWord(i+1, string(SemiJoin)) || s.isWord(i+1, string(AntiJoin))
		if t.Token == pg.Token_NATURAL && isWord && s.token(i+2).Token == pg.Token_JOIN {
			s.tokens[i], s.tokens[i+1] = word, t
			s.at[word.Start], s.at[t.Start] = i, i+1
			s.marks[int(word.Start)] = markNatural
		}
	}
}

// joinWord returns the word before JOIN, where PostgreSQL does not have it there, and "" where it is another word, or
// names a table.
func (s *script) joinWord(i int) string {
	before := s.token(i - 1).Token
	if before == pg.Token_AS || slices.Contains(beforeTable, before) {
		return ""
	}
	word := strings.ToUpper(s.word(s.token(i)))
	next := s.token(i + 1).Token
	switch word {
	case string(SemiJoin), string(AntiJoin), positional:
		if next == pg.Token_JOIN || s.marks[int(s.token(i).Start)] == markNatural {
			return word
		}
	case asof:
		if slices.Contains(behindAsof, next) || s.joinWord(i+1) != "" {
			return word
		}
	}
	return ""
}

// behindAsof are the tokens that make ASOF a word of a join, beside SEMI and ANTI.
var behindAsof = []pg.Token{pg.Token_JOIN, pg.Token_LEFT, pg.Token_RIGHT, pg.Token_FULL, pg.Token_INNER_P,
	pg.Token_NATURAL, pg.Token_CROSS}

// elementEnds are the tokens that may stand behind an element of GROUP BY or ORDER BY.
var elementEnds = []pg.Token{0, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_ASCII_41,
	pg.Token_ASCII_59, pg.Token_ASC, pg.Token_DESC, pg.Token_NULLS_LA, pg.Token_UNION, pg.Token_INTERSECT,
	pg.Token_EXCEPT}

// interval writes INTERVAL 3 DAYS, and '3' DAY, as PostgreSQL has it: INTERVAL '3 DAYS'.
func (s *script) interval(i int) (text string, taken int) {
	number, unit := s.token(i+1), s.token(i+2)
	value := s.word(number)
	switch number.Token {
	case pg.Token_SCONST:
		value = strings.Trim(value, "'")
	case pg.Token_ICONST, pg.Token_FCONST:
	case pg.Token_ASCII_40:
		return s.computedInterval(i), 1
	default:
		return "", 1
	}
	word := strings.TrimSuffix(strings.ToLower(s.word(unit)), "s")
	if !slices.Contains(intervalWords, word) || strings.ContainsAny(value, `'\`) {
		return "", 1
	}
	if number.Token == pg.Token_FCONST && word != "second" && word != "millisecond" {
		value, _, _ = strings.Cut(value, ".") // to_days and its kin take whole numbers
	}
	return fmt.Sprintf("INTERVAL '%s %s'", value, s.word(unit)), 3
}

// computedInterval writes INTERVAL (x) DAYS as a call: to_days(x).
func (s *script) computedInterval(i int) string {
	end := s.closing(i + 2)
	unit := s.token(end + 1)
	word := strings.TrimSuffix(strings.ToLower(s.word(unit)), "s")
	if end < 0 || !slices.Contains(intervalWords, word) {
		return ""
	}
	s.marks[int(unit.Start)] = markUnit
	switch word {
	case "millennium":
		return "to_millennia"
	case "century":
		return "to_centuries"
	}
	return "to_" + word + "s"
}

// intervalWords are the units that may stand behind the number of an interval.
var intervalWords = []string{"millennium", "century", "decade", "year", "quarter", "month", "week", "day",
	"hour", "minute", "second", "millisecond", "microsecond"}

// offset turns a byte of the parsed text into one of the text.
func (s *script) offset(parsed int32) int {
	i, found := slices.BinarySearchFunc(s.places, int(parsed), func(p origin, at int) int { return p.parsed - at })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	p := s.places[i]
	return min(p.text+int(parsed)-p.parsed, len(s.text))
}

// parse returns the only statement of the text.
func (s *script) parse(ctx context.Context) (*pg.SelectStmt, error) {
	if ctx.Err() != nil { // the parser itself does not look
		return nil, context.Cause(ctx)
	}
	if s.tokens[0].Token == pg.Token_COPY {
		return nil, s.refuseCopy()
	}
	tree, err := pg.Parse(s.parsed)
	if err != nil {
		return nil, s.syntaxError(err)
	}
	switch stmts := tree.GetStmts(); {
	case len(stmts) == 0:
		return nil, errorAt(s.text, 0, "the text is empty")
	case len(stmts) > 1:
		return nil, errorAt(s.text, s.offset(stmts[1].GetStmtLocation()), "not supported: more than one statement")
	case stmts[0].GetStmt().GetSelectStmt() == nil:
		return nil, s.refuseStatement()
	default:
		return stmts[0].GetStmt().GetSelectStmt(), nil
	}
}

const (
	madeOnce     = "a table's rows are made once: "
	sessionsOnly = "tables and views are of sessions, as mpga shell, mpga sql and mpga serve have them"
)

// advices say what to write in place of statements that change tables, by their first words.
var advices = map[string]string{
	"INSERT": madeOnce + "CREATE OR REPLACE TABLE t AS SELECT ... UNION ALL BY NAME SELECT ... has more rows",
	"UPDATE": madeOnce + "CREATE OR REPLACE TABLE t AS SELECT * REPLACE (... AS column) FROM t changes them",
	"DELETE": madeOnce + "CREATE OR REPLACE TABLE t AS SELECT * FROM t WHERE ... keeps some of them",
	"CREATE": sessionsOnly,
	"DROP":   sessionsOnly,
}

// refuseStatement is the error of a statement that is no SELECT.
func (s *script) refuseStatement() error {
	first := s.tokens[0]
	word := strings.ToUpper(s.word(first))
	advice := advices[word]
	if advice == "" {
		advice = "want SELECT"
	}
	return errorAt(s.text, int(first.Start), "not supported: %s; %s", word, advice)
}

// fileBehindFrom is a word behind FROM that is no name, as a path is not.
var fileBehindFrom = regexp.MustCompile(`(?i)\bfrom\s+([^\s'"();,]*[./~*?-][^\s'"();,]*)`)

// offerFile says how a file is written, where a byte of a text is in a file without quotes behind
// FROM; else it returns "".
func offerFile(text string, at int) string {
	for _, m := range fileBehindFrom.FindAllStringSubmatchIndex(text, -1) {
		if m[2] <= at && at < m[3] {
			name := text[m[2]:m[3]]
			offer := "; a file is written in single quotes: FROM '" + name + "'"
			if !strings.ContainsAny(name, "./~*?") {
				offer += ", a table of that name in double quotes: FROM \"" + name + "\""
			}
			return offer
		}
	}
	return ""
}

// spelled returns the name at a place as the text has it (L1); PostgreSQL has read it as parsed.
func (s *script) spelled(at int, parsed string) string {
	i, ok := s.at[int32(at)]
	if !ok || s.tokens[i].Token == pg.Token_UIDENT { // U&"\00e9" is decoded by the parser alone
		return parsed
	}
	return s.name(s.tokens[i])
}

// spelledParts returns the parts of a name, between which points stand, as the text has them.
func (s *script) spelledParts(at int, parsed []string) []string {
	first, known := s.at[int32(at)]
	parts := make([]string, len(parsed))
	for i, part := range parsed {
		place := at
		if known {
			place = int(s.token(first + 2*i).Start)
		}
		parts[i] = s.spelled(place, part)
	}
	return parts
}

// name returns the name that a token is, also in single quotes.
func (s *script) name(t *pg.ScanToken) string {
	written := s.word(t)
	if quoted, ok := strings.CutPrefix(written, `"`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(quoted, `"`), `""`, `"`)
	}
	if quoted, ok := strings.CutPrefix(written, `'`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(quoted, `'`), `''`, `'`)
	}
	return written
}
