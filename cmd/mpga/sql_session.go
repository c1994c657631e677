package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/copyto"
	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/sqlscan"
)

// sqlStatement is a statement of mpga sql: one of its fields is set.
type sqlStatement struct {
	query  *sql.Select
	copies *copying
	create *sql.Create
	drop   *sql.Drop
	set    *sql.Setting
}

// copying is a COPY, and how its files are written.
type copying struct {
	*sql.Copy
	files sink.Options
}

// statementsMax bounds the statements of one command.
const statementsMax = 10_000

// parse reads the statements of a text: what stands before the last has no rows for the output.
func (f *sqlFlags) parse(cmd *cobra.Command, text string) (before []*sqlStatement, last *sqlStatement, err error) {
	texts := []string{text}
	if f.isScript(text) {
		texts = sqlscan.Statements(text)
	}
	if len(texts) > statementsMax {
		return nil, nil, usagef("sql: %d statements, more than %d: mpga shell runs them from the standard input",
			len(texts), statementsMax)
	}
	for i, text := range texts {
		st, err := f.parseOne(cmd, text)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case i == len(texts)-1:
			return before, f.planned(st), f.checkLast(st)
		case f.explain && st.copies != nil:
			return nil, nil, usagef("--explain makes the tables and views of statements before the last, and runs no COPY")
		case st.query != nil:
			return nil, nil, st.query.ErrorAt(0, "not supported: rows of a statement before the last, which nobody takes; "+
				"the output has the rows of the last: mpga shell shows all")
		}
		before = append(before, st)
	}
	return nil, nil, nil
}

// planned returns what is done of the last statement: with --explain the SELECT of a COPY or a CREATE is planned.
func (f *sqlFlags) planned(st *sqlStatement) *sqlStatement {
	switch {
	case f.explain && st.copies != nil:
		return &sqlStatement{query: st.copies.Query}
	case f.explain && st.create != nil:
		return &sqlStatement{query: st.create.Query}
	}
	return st
}

// checkLast refuses flags that the last statement would ignore.
func (f *sqlFlags) checkLast(st *sqlStatement) error {
	verb := "CREATE"
	switch {
	case st.drop != nil:
		verb = "DROP"
	case st.set != nil:
		verb = "SET"
	case st.create == nil:
		return nil
	}
	switch {
	case f.explain && st.create == nil:
		return usagef("--explain is for a SELECT, a COPY or a CREATE: %s has no plan", verb)
	case f.output != "-":
		return usagef("--output is for rows, and %s has none: let a SELECT stand behind it", verb)
	}
	return nil
}

// isScript says whether a text has several statements, as far as that can be told without reading more than a
// statement may have.
func (f *sqlFlags) isScript(text string) bool {
	const textBytesMax = 256 << 10 // of a statement
	end := sqlscan.StatementEnd(text[:min(len(text), textBytesMax)])
	return end >= 0 && !sqlscan.Empty(text[end:])
}

// parseOne reads a statement.
func (f *sqlFlags) parseOne(cmd *cobra.Command, text string) (st *sqlStatement, err error) {
	st = &sqlStatement{}
	switch {
	case sql.IsCreate(text):
		st.create, err = sql.ParseCreate(cmd.Context(), text)
	case sql.IsDrop(text):
		st.drop, err = sql.ParseDrop(text)
	case sql.IsSet(text):
		st.set, err = sql.ParseSet(text)
	case sql.IsCopy(text):
		var read *sql.Copy
		if read, err = sql.ParseCopy(text); err != nil {
			return nil, err
		}
		st.copies = &copying{Copy: read}
		files := sink.Options{FS: filesOf(cmd.Context()), Query: strings.TrimSpace(text)}
		st.copies.files, err = copyto.Options(read, files)
	default:
		st.query, err = sql.Parse(text)
	}
	return st, err
}

// sqlSession is the tables and views of one command.
type sqlSession struct {
	*request
	names  plan.Options
	zone   string // of names at first
	store  *temporary.Store
	tables *temporary.Tables
}

func (f *sqlFlags) newSession(r *request, names plan.Options) (*sqlSession, error) {
	store, err := f.store(r.eng, &f.budgetFlags)
	if err != nil {
		return nil, err
	}
	given := func(name string) bool { return hasTable(names.Tables, name) }
	return &sqlSession{r, names, names.TimeZone, store, store.NewTables(given)}, nil
}

// hasTable says whether a table has a name, in whatever case it is written.
func hasTable(tables map[string]plan.Table, name string) bool {
	for own := range tables {
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// close gives back what the tables take.
func (s *sqlSession) close() error { return errors.Join(s.tables.Close(), s.store.Close()) }

// run runs a statement, and writes its rows, or what tell tells about it.
func (s *sqlSession) run(st *sqlStatement, tell planText) (err error) {
	switch {
	case st.drop != nil:
		return s.tables.Drop(st.drop)
	case st.set != nil:
		s.names.TimeZone = cmp.Or(st.set.TimeZone, s.zone)
		return nil
	case st.create != nil:
		run := func(q *plan.Query) (*plan.Result, error) { return q.Run(s.ctx) }
		_, stats, err := s.tables.Run(s.ctx, st.create, s.names, run)
		if err == nil && !st.create.View {
			observerOf(s.ctx).query(s.ctx, stats)
		}
		return err
	}
	names, release := s.tables.Names(s.names)
	defer func() { err = errors.Join(err, release()) }()
	if st.copies != nil {
		return s.copy(st.copies, names)
	}
	return s.request.run(st.query, names, tell)
}

// copy runs a COPY, and writes its answer.
func (s *sqlSession) copy(c *copying, opt plan.Options) error {
	s.suit(&c.files)
	c.files.BeforePublish = s.accept
	result, err := copyto.Run(s.ctx, s.eng, c.Copy, opt, c.files)
	if err != nil {
		return err
	}
	return s.write(result)
}
