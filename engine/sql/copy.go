//go:build cgo

package sql

import (
	"context"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/mpga/mpga/internal/expr"
)

// refuseCopy is the error of a COPY where a statement with rows is wanted.
func (s *script) refuseCopy() error {
	const why = "not supported here: COPY writes files, as mpga sql, mpga shell and Python's mpga do for a statement; " +
		"ask for the rows with SELECT: a client of another server writes them itself, a step of a job to its output"
	return errorAt(s.text, int(s.tokens[0].Start), why)
}

// ParseCopy reads a statement COPY (SELECT ...) TO 'file' (option value, ...), or COPY of a table or of some of its
// columns. Errors are of type *Error.
func ParseCopy(text string) (read *Copy, err error) {
	s, err := newScript(text, "")
	if err != nil {
		return nil, err
	}
	to, err := s.copyTarget()
	if err != nil {
		return nil, err
	}
	tree, err := pg.Parse(s.parsed)
	if err != nil {
		return nil, s.syntaxError(err)
	}
	stmts := tree.GetStmts()
	if len(stmts) > 1 {
		return nil, errorAt(text, s.offset(stmts[1].GetStmtLocation()), "not supported: more than one statement")
	}
	return s.readCopy(stmts[0].GetStmt().GetCopyStmt(), to)
}

// copyTarget returns the place of what stands behind TO.
func (s *script) copyTarget() (int, error) {
	depth := 0
	for i, t := range s.tokens {
		switch {
		case t.Token == pg.Token_ASCII_40:
			depth++
		case t.Token == pg.Token_ASCII_41:
			depth--
		case depth == 0 && t.Token == pg.Token_FROM:
			const from = "not supported: COPY FROM, which fills a table of a database; files are read where they are: " +
				"SELECT ... FROM 'file'"
			return 0, errorAt(s.text, int(t.Start), from)
		case depth == 0 && t.Token == pg.Token_TO:
			return int(s.token(i + 1).Start), nil
		}
	}
	return 0, errorAt(s.text, s.end, "COPY wants TO 'file' behind what it copies")
}

// readCopy reads the parser's tree. to is the place of the file.
func (s *script) readCopy(c *pg.CopyStmt, to int) (read *Copy, err error) {
	defer caught(&read, &err)
	p := &statements{ctx: context.Background(), script: s, taken: map[proto.Message]bool{}}
	if c.GetFilename() == "" {
		p.fail(to, "COPY wants the name of a file in single quotes behind TO")
	}
	read = &Copy{To: c.GetFilename(), At: to}
	switch query := c.GetQuery().GetSelectStmt(); {
	case query != nil:
		p.take(c, "query", "filename", "options")
		read.Query = p.statement(query, nil)
	case c.GetRelation() != nil:
		p.take(c, "relation", "attlist", "filename", "options")
		read.Query = p.copyTable(c)
	default:
		p.fail(int(s.tokens[0].Start), "not supported: COPY of this; want a SELECT in parentheses, or a table")
	}
	read.Query.Parameters = max(s.asked, s.numbered)
	for _, node := range c.GetOptions() {
		o := p.copyOption(node.GetDefElem())
		if slices.ContainsFunc(read.Options, func(before CopyOption) bool { return before.Name == o.Name }) {
			p.fail(o.At, "%s stands twice", o.Name)
		}
		read.Options = append(read.Options, o)
	}
	p.checkTaken(c)
	return read, nil
}

// copyTable returns the statement of the rows of a table, or of some of its columns.
func (p *statements) copyTable(c *pg.CopyStmt) *Select {
	s := &Select{Text: p.text, From: p.table(c.GetRelation(), Alias{})}
	first := p.at[int32(s.From.Place())]
	for p.token(first).Token != pg.Token_ASCII_40 && first < len(p.tokens) {
		first++
	}
	at := int(p.token(first + 1).Start)
	for _, name := range p.spelledParts(at, words(c.GetAttlist())) {
		x := expr.Column(name)
		x.At = at
		s.Items = append(s.Items, Item{Expr: x, At: at})
	}
	if s.Items == nil {
		s.Items = []Item{{}}
	}
	return s
}

// copyOption reads an option: a word, with a constant or a list of them behind it, or with nothing.
func (p *statements) copyOption(o *pg.DefElem) CopyOption {
	p.take(o, "defname", "arg")
	read := CopyOption{Name: strings.ToUpper(o.GetDefname()), At: p.offset(o.GetLocation())}
	value := func(node *pg.Node) string {
		switch v := node.GetNode().(type) {
		case *pg.Node_String_:
			return v.String_.GetSval()
		case *pg.Node_Integer:
			return strconv.Itoa(int(v.Integer.GetIval()))
		case *pg.Node_Float:
			return v.Float.GetFval()
		case *pg.Node_Boolean:
			return strconv.FormatBool(v.Boolean.GetBoolval())
		}
		p.fail(read.At, "not supported: this value of %s", read.Name)
		return ""
	}
	switch {
	case o.GetArg() == nil:
	case o.GetArg().GetList() != nil:
		for _, node := range o.GetArg().GetList().GetItems() {
			read.Values = append(read.Values, value(node))
		}
		first := int(p.token(p.at[int32(read.At)] + 2).Start) // behind the parenthesis
		read.Values = p.spelledParts(first, read.Values)
	default:
		read.Values = []string{value(o.GetArg())}
	}
	return read
}
