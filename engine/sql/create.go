//go:build cgo

package sql

import (
	"context"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/sqlscan"
)

// isFirst says whether a word is the first of a text, behind comments.
func isFirst(text, word string) bool { return sqlscan.First(text).Is(text, word) }

// IsCopy says whether a text begins as a COPY does.
func IsCopy(text string) bool { return isFirst(text, "copy") }

// IsCreate says whether a text begins as a CREATE does.
func IsCreate(text string) bool { return isFirst(text, "create") }

// IsDrop says whether a text begins as a DROP does.
func IsDrop(text string) bool { return isFirst(text, "drop") }

// ParseCreate reads CREATE [OR REPLACE] [TEMP] TABLE or VIEW [IF NOT EXISTS] name [(columns)] AS SELECT, whose head
// PostgreSQL's parser does not know in all of DuckDB's forms. Errors are of type *Error.
func ParseCreate(ctx context.Context, text string) (read *Create, err error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	head := newHead(text)
	defer caught(&read, &err)
	read = head.create()
	first, of := head.place(), text
	isWithout := head.withoutRows()
	if isWithout {
		of = text[:head.place()] + blank(text[head.place():])
	}
	s, err := newScriptFrom(of, "", first)
	if err != nil {
		return nil, err
	}
	stmt, err := s.parse(ctx)
	if err != nil {
		return nil, err
	}
	p := &statements{ctx: ctx, script: s, taken: map[proto.Message]bool{}}
	read.Query = p.whole(stmt)
	switch {
	case s.verb == Explain, s.verb == ExplainAnalyze:
		head.fail("not supported: CREATE of what EXPLAIN tells; want a SELECT")
	case read.View && read.Query.Parameters > 0:
		head.fail("a view has no parameters: write their values")
	}
	if isWithout {
		if read.View {
			head.fail("WITH DATA and WITH NO DATA stand behind CREATE TABLE alone")
		}
		if head.takes("with", "no", "data") {
			whole := &Derived{Query: read.Query, Alias: Alias{Name: read.Name}, At: read.At}
			none := expr.Constant(int64(0))
			read.Query = &Select{Text: text, Items: []Item{{}}, From: whole, Limit: none, Parameters: read.Query.Parameters}
		}
	}
	if read.Columns != nil {
		as := Alias{Name: read.Name, Columns: read.Columns}
		named := &Derived{Query: read.Query, Alias: as, At: read.At}
		read.Query = &Select{Text: text, Items: []Item{{}}, From: named, Parameters: read.Query.Parameters}
	}
	return read, nil
}

// head reads the words in front of a statement.
type head struct {
	text   string
	tokens []sqlscan.Token // without comments
	at     int             // index of the next token
}

func newHead(text string) *head {
	h := &head{text: text}
	for _, t := range sqlscan.Scan(text) {
		if t.Kind != sqlscan.Comment {
			h.tokens = append(h.tokens, t)
		}
	}
	return h
}

// place returns the byte where the next token begins.
func (h *head) place() int {
	if h.at >= len(h.tokens) {
		return len(h.text)
	}
	return h.tokens[h.at].Start
}

// fail ends the reading with an error at the next token.
func (h *head) fail(format string, args ...any) {
	panic(errorAt(h.text, h.place(), format, args...))
}

// withoutRows goes to WITH [NO] DATA at the end of the text, and says whether it is there.
func (h *head) withoutRows() bool {
	end := len(h.tokens)
	for end > 0 && h.tokens[end-1].Text(h.text) == ";" {
		end--
	}
	for _, words := range [][]string{{"with", "no", "data"}, {"with", "data"}} {
		before := h.at
		h.at = end - len(words)
		if h.at > before && h.takes(words...) {
			h.at = end - len(words)
			return true
		}
		h.at = before
	}
	return false
}

// takes goes on behind words, if they are next.
func (h *head) takes(words ...string) bool {
	for i, word := range words {
		if h.at+i >= len(h.tokens) || !strings.EqualFold(h.tokens[h.at+i].Text(h.text), word) {
			return false
		}
	}
	h.at += len(words)
	return true
}

// name reads a name.
func (h *head) name(what string) string {
	if h.at >= len(h.tokens) || h.takes("as") {
		h.fail("%s wants a name", what)
	}
	t := h.tokens[h.at]
	name := t.Value(h.text)
	if t.Kind != sqlscan.Word && t.Kind != sqlscan.Name || t.Open || name == "" {
		h.fail("%s wants a name", what)
	}
	if t.Kind == sqlscan.Word && isReserved(name) {
		h.fail("%s wants a name, and %s is a word of SQL: a name like that is written \"%[2]s\"", what, name)
	}
	h.at++
	return name
}

// isReserved says whether a word is reserved by SQL.
func isReserved(word string) bool {
	scanned, err := pg.Scan(word)
	if err != nil || len(scanned.GetTokens()) != 1 {
		return false
	}
	return scanned.GetTokens()[0].KeywordKind == pg.KeywordKind_RESERVED_KEYWORD
}

// create reads a CREATE up to the statement behind AS.
func (h *head) create() *Create {
	c := &Create{}
	h.takes("create")
	c.Replace = h.takes("or", "replace")
	isTemp := h.takes("temp") || h.takes("temporary")
	what := "CREATE TABLE"
	switch {
	case h.takes("view"):
		c.View, what = true, "CREATE VIEW"
	case !h.takes("table"):
		h.fail("not supported: CREATE of this; want CREATE [OR REPLACE] [TEMP] TABLE or VIEW name AS SELECT ...")
	}
	c.Temp = isTemp
	if c.IfNotExists = h.takes("if", "not", "exists"); c.IfNotExists && c.Replace {
		h.fail("OR REPLACE and IF NOT EXISTS do not stand in one statement")
	}
	c.At = h.place()
	c.Name = h.name(what)
	for h.takes(".") {
		c.In, c.Name = append(c.In, c.Name), h.name(what)
	}
	if h.takes("(") {
		h.columns(c)
	}
	if !h.takes("as") {
		h.fail("%s %s wants AS SELECT ...: mpga makes tables and views of statements alone", what, c.Name)
	}
	if h.at == len(h.tokens) {
		h.fail("%s %s AS of what? want a SELECT", what, c.Name)
	}
	return c
}

// columns reads the names of columns, behind their parenthesis.
func (h *head) columns(c *Create) {
	for {
		name := h.name("a list of columns")
		isSame := func(other string) bool { return strings.EqualFold(other, name) }
		if slices.ContainsFunc(c.Columns, isSame) {
			h.at--
			h.fail("two columns have the name %s", name)
		}
		c.Columns = append(c.Columns, name)
		switch {
		case h.takes(")"):
			return
		case len(c.Columns) > ItemsMax:
			h.fail("not supported: a list of more than %d columns", ItemsMax)
		case !h.takes(","):
			h.fail("not supported: types and constraints of columns: the statement behind AS gives the columns their types")
		}
	}
}
