package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
)

// aggFlags are the flags of mpga agg.
type aggFlags struct {
	by      []string
	agg     []string
	where   string
	having  string
	orderBy string

	input inputFlags
	outputFlags
	partialFlags
	queryFlags
}

func newAggCommand() *cobra.Command {
	var f aggFlags
	cmd := &cobra.Command{
		Use:   "agg [--by COLUMNS] [--agg CALLS] FILE...",
		Short: "Group rows and aggregate them",
		Long: `Group the rows of files by key columns and aggregate the others.

FILE is a file, a folder, a glob pattern (in quotes) or - for the standard
input. Folders named key=value become columns. The text of --by, --agg, --where, --having and --order-by is
SQL, as mpga sql takes it: expressions, each with an alias or none. Without --by the whole input is one group;
without --agg the result is the distinct keys. --limit N gives the first N groups, in the order asked for.

Aggregates:

` + functionHelp(),
		Example: `  mpga agg --by origin --agg 'count(*) as flights, avg(delay)' tests/testdata/flights-2001.parquet
  mpga agg --by origin,destination --agg 'max(delay, 3) as worst' -o worst.parquet tests/testdata/flights-2001.parquet
  mpga agg --by "date_trunc('month', date) as month" --agg 'sum(distance) / count(*)' --where 'delay > 60' --order-by month tests/testdata/flights-2001.parquet
  mpga agg --agg 'quantile_cont(delay, 0.9), count(distinct origin)' --stats tests/testdata/flights-2001.parquet
  mpga agg --by origin --agg 'sum(distance)' --format csv tests/testdata/flights-2001.parquet | sort
  printf 'city,n\nUlm,1\nUlm,2\n' | mpga agg --by city --agg 'sum(n)' -`,
		SuggestFor: []string{"aggregate", "aggregation", "group", "groupby", "group-by", "count",
			"summarize", "summarise"},
		Args:              wantSome(inputFiles),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themeQuery, func() { f.registerQuery(cmd) })
	f.outputFlags.register(cmd)
	flags.Lookup("limit").Usage =
		"only the first `N` groups, in the order asked for; without, a table shows 20 and 0 shows all"
	setTheme(flags.Lookup("limit"), themeQuery)
	themed(flags, themeOutput, func() { f.partialFlags.register(flags) })
	f.registerWork(cmd)
	registerRemote(cmd)
	f.outputFlags.registerReports(cmd)
	themed(flags, themeInput, func() { f.input.register(flags) })
	completeInput(cmd)
	f.completeColumns(cmd)
	return cmd
}

// registerQuery adds the flags that are parts of the statement.
func (f *aggFlags) registerQuery(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.by, "by", nil, "`COLUMNS` to group by: 'origin, destination as dest'; may be repeated")
	flags.StringArrayVar(&f.agg, "agg", nil, "aggregate `CALLS`: 'sum(delay) as total, count(*)'; may be repeated")
	flags.StringVar(&f.where, "where", "",
		"only rows for which `CONDITION` is true: 'delay > 60 and origin <> destination'")
	flags.StringVar(&f.having, "having", "", "only groups for which `CONDITION` is true: 'count(*) > 100'")
	flags.StringVar(&f.orderBy, "order-by", "", "order the groups by `LIST`: 'total desc, origin nulls first'")
	f.registerMeaning(cmd)
}

// functionHelp lists the aggregate functions, one a line, indented as code is in Markdown.
func functionHelp() string {
	var b strings.Builder
	for _, f := range query.Funcs() {
		fmt.Fprintf(&b, "    %-26s %s\n", callShape(f), f.Help())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// callShape writes a call as its help shows it.
func callShape(f query.Func) string {
	switch f {
	case query.CountStar:
		return "count(*)"
	case query.CountDistinct:
		return "count(distinct x)"
	}
	args := []string{"x"}
	if f.Args() == 2 {
		args = []string{"y", "x"}
		if f == query.ArgMin || f == query.ArgMax {
			args = []string{"x", "y"}
		}
	}
	switch f.Param() {
	case query.FractionParam:
		args = append(args, "fraction")
	case query.LengthParam:
		args = append(args, "n")
	case query.SeparatorParam:
		args = append(args, "','")
	}
	return f.String() + "(" + strings.Join(args, ", ") + ")"
}

func (f *aggFlags) run(cmd *cobra.Command, files []string) (err error) {
	defer func() { err = f.input.end(err) }()
	statement, err := f.statement(cmd, files)
	if err != nil {
		return err
	}
	planOptions, err := f.planOptions()
	if err != nil {
		return err
	}
	if err := f.partialFlags.check(cmd, f.output); err != nil {
		return err
	}
	sinkOptions, err := f.outputFlags.options(cmd, f.partial)
	if err != nil {
		return err
	}
	sinkOptions.Query = commandLine(cmd, files)
	f.input.dry = f.explain
	scanOptions, err := f.input.options(cmd)
	if err != nil {
		return err
	}
	return f.answer(cmd, f.engineOptions(), &f.budgetFlags, sinkOptions, func(r *request) error {
		scanOptions.Budget, r.accept = r.eng.Budget(), f.input.accept
		source, err := dataset.Open(r.ctx, files, scanOptions)
		if err != nil {
			return err
		}
		planOptions.Tables = map[string]plan.Table{inputTable: {Source: source}}
		if f.partial {
			return f.runPartial(r, statement, planOptions)
		}
		var tell planText
		if f.explain {
			tell = (*plan.Query).Explain
		}
		return r.run(statement, planOptions, tell)
	})
}

// inputTable is the name of the files in the statement that the flags make.
const inputTable = "files"

// statement makes one statement of the flags.
func (f *aggFlags) statement(cmd *cobra.Command, args []string) (*sql.Select, error) {
	for _, arg := range args {
		if f.isCall(cmd, arg) {
			return nil, usagef("agg: %s is no file; write --agg %s", arg, shellQuote(arg))
		}
	}
	if len(f.by) == 0 && len(f.agg) == 0 {
		return nil, usagef("agg: give --by, --agg or both (see mpga agg --help)")
	}
	clauses := sql.Clauses{By: f.by, Agg: f.agg, Where: f.where, Having: f.having, OrderBy: f.orderBy}
	if cmd.Flags().Changed("limit") && f.limit > 0 {
		limit := int64(f.limit)
		clauses.Limit = &limit
	}
	s, err := sql.Compose(inputTable, clauses)
	var clause *sql.ClauseError
	if errors.As(err, &clause) {
		return nil, fmt.Errorf("--%s: %w", clause.Clause, clause.Err)
	}
	return s, err
}

// isCall says whether an argument is the call of a function, as of an aggregate, and not a file.
func (f *aggFlags) isCall(cmd *cobra.Command, arg string) bool {
	if !strings.HasSuffix(arg, ")") || strings.HasPrefix(arg, "(") {
		return false
	}
	if _, err := filesOf(cmd.Context()).Stat(arg); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := sql.Compose(inputTable, sql.Clauses{Agg: []string{arg}})
	return err == nil
}

// runPartial writes the states of the aggregation, or its plan.
func (f *aggFlags) runPartial(r *request, statement *sql.Select, opt plan.Options) error {
	opt.OneStep, opt.NoneAbove = true, true
	q, err := plan.Prepare(r.ctx, r.eng, statement, opt)
	if err != nil {
		return err
	}
	defer q.Close()
	source, aggregation, err := q.Aggregation(r.ctx)
	if err != nil {
		return usagef("--partial: %w", err)
	}
	if f.explain {
		return r.print(q, (*plan.Query).Explain)
	}
	return r.writePartial(func(opt partial.Options) (engine.Stats, error) {
		opt.Partitions = f.partitions
		return r.eng.Partial(r.ctx, source, aggregation, opt)
	})
}
