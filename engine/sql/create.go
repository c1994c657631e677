//go:build cgo

package sql

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

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
	s, err := newScriptFrom(text, "", head.place())
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
	h.at++
	return name
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
		c.Columns = append(c.Columns, h.name("a list of columns"))
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
