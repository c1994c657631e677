package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
)

// sqlFlags are the flags of mpga sql.
type sqlFlags struct {
	file   string
	tables []string

	input inputFlags
	outputFlags

	queryFlags
	tableFlags
}

func newSQLCommand() *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql [QUERY]",
		Short: "Answer a query in SQL",
		Long: `Answer a SELECT over tables and joins: with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT, expressions everywhere,
grouping sets, and tables derived of other such queries. DESCRIBE and SUMMARIZE, in front of a file, a table or
a SELECT, tell its columns, and what values they have; EXPLAIN tells how a SELECT is answered. COPY (SELECT ...) TO
'file.parquet' writes the rows to a file, as -o does.

QUERY is the text; - is the standard input, and --file names a file. FROM takes files in single quotes, with
wildcards or without ('sales/*.parquet'), read_csv('x.csv', delim = ';'), or the name of a --table. Functions,
operators and types are those of docs/sql.md; what they answer is what DuckDB answers.

Statements may stand before it, ended by semicolons: CREATE TABLE name AS SELECT, CREATE VIEW name AS SELECT, DROP
and COPY. Tables and views are there until the command ends; --explain makes them, too, to plan the last statement.`,
		Example: `  mpga sql "SELECT origin, count(*) AS flights, avg(delay) FROM 'tests/testdata/flights-2001.parquet' GROUP BY ALL"
  mpga sql --table f=tests/testdata/flights-2001.parquet "SELECT origin, sum(distance) / count(*) AS mean FROM f WHERE delay > 0 GROUP BY 1 ORDER BY 2 DESC LIMIT 5"
  mpga sql --explain "SELECT date_trunc('month', date) AS m, max(delay) FROM 'tests/testdata/flights-2001.parquet' GROUP BY m"`,
		SuggestFor: []string{"query", "select", "with", "q"},
		RunE:       f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themeQuery, func() {
		flags.StringVarP(&f.file, "file", "f", "", "read the query from `FILE`")
		registerTables(flags, &f.tables)
		f.registerMeaning(cmd)
	})
	f.outputFlags.register(cmd)
	f.registerWork(cmd)
	themed(flags, themeResources, func() { f.tableFlags.register(flags) })
	registerRemote(cmd)
	f.outputFlags.registerReports(cmd)
	themed(flags, themeInput, func() { f.input.register(flags) })
	completeInput(cmd)
	return cmd
}

// queryText returns the text of the query.
func (f *sqlFlags) queryText(cmd *cobra.Command, args []string) (string, error) {
	switch {
	case f.file != "" && len(args) > 0:
		return "", usagef("sql: give --file or a query, not both")
	case f.file != "":
		file, err := os.Open(f.file)
		if err != nil {
			return "", err
		}
		defer file.Close()
		return readText(file)
	case len(args) == 0:
		return "", usagef("sql: give a query, or --file (see mpga sql --help)")
	case len(args) > 1:
		return "", usagef("sql: a query is one argument, in quotes; got %d", len(args))
	case args[0] == "-":
		return readText(cmd.InOrStdin())
	}
	return args[0], nil
}

// readText reads the text of a query, from what may have no end.
func readText(from io.Reader) (string, error) {
	const textBytesMax = 1 << 20 // the parser takes less, and says so
	text, err := io.ReadAll(io.LimitReader(from, textBytesMax))
	return string(text), err
}

// registerTables adds the flag that names tables.
func registerTables(flags *pflag.FlagSet, tables *[]string) {
	flags.StringArrayVarP(tables, "table", "t", nil,
		"let FROM name read a file, a folder or a pattern: `NAME=PATH`; may be repeated, also for one name")
}

// tableOptions reads name=path.
func tableOptions(texts []string) (map[string]plan.Table, error) {
	tables := map[string]plan.Table{}
	for _, text := range texts {
		name, path, ok := strings.Cut(text, "=")
		if !ok || name == "" || path == "" {
			return nil, usagef("--table %q: want name=path, as in t=sales.parquet", text)
		}
		t := tables[name]
		t.Files = append(t.Files, path)
		tables[name] = t
	}
	return tables, nil
}

func (f *sqlFlags) run(cmd *cobra.Command, args []string) (err error) {
	defer func() { err = f.input.end(err) }()
	text, err := f.queryText(cmd, args)
	if err != nil {
		return err
	}
	before, last, err := f.parse(cmd, text)
	if err != nil {
		return err
	}
	planOptions, err := f.planOptions()
	if err != nil {
		return err
	}
	if planOptions.Tables, err = tableOptions(f.tables); err != nil {
		return err
	}
	var tell planText
	if last.query != nil {
		if last.query, tell, err = f.explained(cmd, last.query); err != nil {
			return err
		}
	}
	if planOptions.Scan, err = f.input.options(cmd); err != nil {
		return err
	}
	sinkOptions, err := f.outputFlags.options(cmd, false)
	if err != nil {
		return err
	}
	sinkOptions.Query = strings.TrimSpace(text)
	readers := &dataset.Readers{}
	if len(before) > 0 {
		planOptions.Scan.Readers = readers // an option may be for one of the statements
	}
	return f.answer(cmd, f.engineOptions(), &f.budgetFlags, sinkOptions, func(r *request) (err error) {
		r.accept = f.input.accept
		session, err := f.newSession(r, planOptions)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, session.close()) }()
		for _, st := range before {
			if err := session.run(st, nil); err != nil {
				return err
			}
		}
		if err := session.run(last, tell); err != nil {
			return err
		}
		return readers.Check(&planOptions.Scan)
	})
}

// explained returns the statement that is planned, and what is printed of it in place of its result: nil where the
// statement is asked for its rows.
func (f *sqlFlags) explained(cmd *cobra.Command, statement *sql.Select) (*sql.Select, planText, error) {
	about, verb := statement.Explained()
	if about != nil && !f.explain {
		if name := forResults(cmd.Flags()); name != "" {
			return nil, nil, usagef("--%s is for results and runs: %s prints a plan", name, verb)
		}
	}
	switch {
	case verb == sql.ExplainAnalyze && !f.explain:
		return about, (*plan.Query).Analyze, nil
	case about != nil:
		statement = about
	case !f.explain:
		return statement, nil, nil
	}
	f.input.dry = true
	return statement, (*plan.Query).Explain, nil
}

// forResults returns a flag that is given, and says how a result is written or what a run is asked for; "" without one.
func forResults(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if isThemed(f, themeOutput) || slices.Contains([]string{"stats", "report", "trace"}, f.Name) {
			name = f.Name
		}
	})
	return name
}

// planText tells about a query in place of its result.
type planText func(*plan.Query, context.Context) (string, error)

// run plans a statement and writes its result, or the text that tells about it; tell may be nil.
func (r *request) run(statement *sql.Select, opt plan.Options, tell planText) error {
	query, err := plan.Prepare(r.ctx, r.eng, statement, opt)
	if err != nil {
		return err
	}
	defer query.Close()
	if tell != nil {
		return r.print(query, tell)
	}
	if r.pictures.report != "" {
		if text, err := query.Explain(r.ctx); err == nil { // else the query tells why not
			r.pictures.page.Plan = text
		}
	}
	result, err := query.Run(r.ctx)
	if err != nil {
		return err
	}
	return r.write(result)
}
