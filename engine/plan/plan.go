package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/rules"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/spawn"
)

// Options say what the names in a statement mean. The zero value knows no tables.
type Options struct {
	// Tables are what FROM name reads.
	Tables map[string]Table

	// Scan says how files are read that FROM names.
	Scan dataset.Options

	// Open opens the files of a table. The default is dataset.Open.
	Open func(ctx context.Context, files []string, opt dataset.Options) (scan.Source, error)

	// Rollup opens a roll-up that FROM names. The default is Rollups.
	Rollup RollupOpener

	// Parameters are the values of the parameters ? and $1 of the statement. The default, nil, is NULL for
	// each: the columns of the result, and Query.Parameters, are known without values.
	Parameters []Parameter

	// Overflow says what the sum of an integer column does when it passes int64.
	// The default is query.OverflowError.
	Overflow query.Overflow

	// Deterministic gives sums of floating-point values the same bits on every run. The default is
	// false.
	Deterministic bool

	// TimeZone is the zone whose clocks show TIMESTAMPTZ, in texts, dates and parts of times, by its name as in
	// Europe/Berlin. The default is UTC.
	TimeZone string

	// OneStep keeps a statement one aggregation, for Query.Aggregation, where two would be faster:
	// count(DISTINCT x) is then a set for each group. The default is false.
	OneStep bool

	// SetsInParts keeps several grouping sets one aggregation, of a row for each set of each row, so that their groups may
	// be made in parts; Parts.WithNothing adds the groups of no rows. The default is false.
	SetsInParts bool

	// NoneAbove keeps a statement of OneStep without expressions above the aggregation, whose states are all that is
	// made: lists are without NULL, then.
	NoneAbove bool

	// IsView says that the statement is a view's, and is checked alone. Views that it reads are then taken to have the
	// columns that they had when they were made, so that a chain of views is not planned for each of them; where that is
	// an error, they are planned after all. The default is false.
	IsView bool

	// Without are rules that are not used. A statement has the same answer without them, and may take
	// longer. The default is none.
	Without []Rule
}

// Rollup is a roll-up behind FROM.
type Rollup = logical.Rollup

// RolledUp is what a roll-up tells of itself.
type RolledUp = logical.RolledUp

// RollupOpener opens a roll-up, whose state is where the options have their files.
type RollupOpener func(ctx context.Context, eng *engine.Engine, of Rollup, opt dataset.Options) (scan.Source, error)

// Rollups opens the roll-ups that statements name behind FROM. Package rollup, which plans statements itself, sets it
// in the programs that import it; others refuse roll-ups.
var Rollups RollupOpener = func(context.Context, *engine.Engine, Rollup, dataset.Options) (scan.Source, error) {
	return nil, errors.New("not supported: roll-ups behind FROM in this program")
}

// Table is what a name stands for: a source, the files of some patterns, or a view.
type Table = logical.Table

// Parameter is the value of a parameter of a statement.
type Parameter = logical.Parameter

// ParametersOf returns the values of a row of a batch, whose columns are the parameters in their order.
func ParametersOf(batch arrow.RecordBatch, row int) []Parameter {
	return logical.ParametersOf(batch, row)
}

// Rule is the name of a rewrite of a statement, which changes no answer.
type Rule = rules.Name

// Rules are all rules, in the order in which they are used.
var Rules = rules.Names()

// oneStepRules make two steps of an aggregation, or none, or read tables once more for some of their rows:
// Options.OneStep goes without them.
var oneStepRules = []Rule{rules.ShiftedSums, rules.DistinctApart, rules.DistinctGroups, rules.Extremes,
	rules.EagerGroups, rules.FirstRows}

// Query is a statement whose tables are open: its plan. It can be run any number of times, at once,
// too, unless a source can be read only once. It must be closed.
type Query struct {
	engine *engine.Engine
	used   []Rule      // by the statement
	text   *sql.Select // the statement as it was given

	setsInParts bool                  // Options.SetsInParts
	statement   *logical.Statement    // its names looked up
	root        readerNode            // the rows of the result
	zone        string                // Options.TimeZone
	once        string                // a table that it reads, and that can be read once; "" of none
	read        map[scan.Source][]int // places of the columns that it reads, by table
	conditions  []*condition          // of all nodes, to be released
}

// Prepare looks up the names of a statement, opens the files that the statement reads, and gives
// every expression its type. Errors that point at the text are of type *sql.Error.
func Prepare(ctx context.Context, eng *engine.Engine, s *sql.Select, opt Options) (*Query, error) {
	return guarded(s.Text, func() (*Query, error) {
		if opt.IsView {
			if q, err := prepare(ctx, eng, s, opt); err == nil {
				return q, nil
			}
			opt.IsView = false
		}
		return prepare(ctx, eng, s, opt)
	})
}

// guarded calls a function. Its error, which may be a panic, is an error of the statement.
func guarded[T any](statement string, f func() (T, error)) (result T, err error) {
	err = spawn.Call(func() (err error) {
		result, err = f()
		return err
	})
	return result, spawn.InQuery(err, statement)
}

// ensureDefaults fills in what is nil, and returns who notes the formats of the statement's files; nil where
// the options are for other statements, too.
func (o *Options) ensureDefaults(eng *engine.Engine) (readers *dataset.Readers) {
	o.Scan.EnsureDefaults()
	if o.Scan.Readers == nil {
		readers = &dataset.Readers{}
		o.Scan.Readers = readers
	}
	if o.Open == nil {
		o.Open = dataset.Open
	}
	if o.Scan.Budget == nil {
		o.Scan.Budget = eng.Budget()
	}
	if o.Rollup == nil {
		o.Rollup = Rollups
	}
	return readers
}

func prepare(ctx context.Context, eng *engine.Engine, s *sql.Select, opt Options) (*Query, error) {
	ctx, err := expr.InZone(ctx, opt.TimeZone)
	if err != nil {
		return nil, err
	}
	readers := opt.ensureDefaults(eng)
	rollup := func(ctx context.Context, of Rollup, scan dataset.Options) (scan.Source, error) {
		return opt.Rollup(ctx, eng, of, scan)
	}
	ask := func(ctx context.Context, s *sql.Select) ([]string, error) {
		s.Parameters = len(opt.Parameters)
		return textsOf(ctx, eng, s, opt)
	}
	statement, err := logical.Bind(ctx, s, logical.Options{
		Tables: opt.Tables, Scan: opt.Scan, Open: opt.Open, Parameters: opt.Parameters, Overflow: opt.Overflow, Ask: ask,
		Rollup:        rollup,
		ViewsAsMade:   opt.IsView,
		NoneAbove:     opt.NoneAbove,
		InParts:       opt.OneStep,
		Deterministic: opt.Deterministic, Budget: eng.Budget(), Inline: slices.Contains(opt.Without, rules.SharedStatements),
	})
	if err != nil {
		return nil, err
	}
	defer statement.Planned()
	if readers != nil {
		if err := readers.Check(&opt.Scan); err != nil {
			return nil, err
		}
	}
	q := &Query{engine: eng, text: s, statement: statement, zone: expr.NameOf(expr.ZoneOf(ctx))}
	p := &planner{ctx: ctx, engine: eng, query: q, filters: map[*logical.Filter]*filterNode{},
		bodies: map[*logical.Body]*bodyNode{}, estimates: rules.NewEstimator(), limited: map[*logical.Join]bool{},
		inParts: opt.OneStep}
	c := &rules.Context{Context: ctx, IDs: statement.IDs, Without: opt.Without, OnDevices: p.onDevices}
	if opt.OneStep {
		c.Without = append(c.Without[:len(c.Without):len(c.Without)], oneStepRules...)
	}
	if q.setsInParts = opt.SetsInParts; q.setsInParts {
		c.Without = append(c.Without[:len(c.Without):len(c.Without)], rules.FinestFirst)
	}
	root, used, err := rules.Apply(c, statement.Root)
	if err == nil {
		read := map[any]bool{}
		err = checkOnce(root, read, false)
		for of := range read {
			if table, ok := of.(*logical.Scan); ok {
				q.once = max(q.once, table.Name)
			}
		}
	}
	if err == nil {
		q.used, q.read = used, rules.ColumnsRead(root)
		p.noteLimited(root, false)
		q.root, err = p.reader(root)
	}
	if err = cmp.Or(err, context.Cause(ctx)); err != nil { // what could not be bound for it may have been left out
		q.Close()
		return nil, logical.Located(s, err)
	}
	if join := eng.JoinAlgorithm(); join != "" && !p.joinsOnDevice {
		eng.Warn("no join of the statement is one of equalities alone: the algorithm that was asked for has nothing to do",
			"algorithm", join)
	}
	return q, nil
}

// textsOf runs a statement, and returns the texts of its second column.
func textsOf(ctx context.Context, eng *engine.Engine, s *sql.Select, opt Options) (texts []string, err error) {
	q, err := prepare(ctx, eng, s, opt)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result, err := q.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for result.Next() {
		column := result.RecordBatch().Column(1)
		for i := range column.Len() {
			texts = append(texts, column.ValueStr(i))
		}
	}
	return texts, result.Err()
}

// checkOnce refuses a plan that reads a table twice which can be read once: for the domain of a subquery, too, and in
// the step of a recursion, which isStep is for.
func checkOnce(n logical.Node, read map[any]bool, isStep bool) error {
	if table, ok := n.(*logical.Scan); ok && table.Source.Stats().Once {
		switch {
		case isStep:
			return fmt.Errorf("%w: %s is read by each iteration of a WITH RECURSIVE, and can be read once; write it to a file, "+
				"or read it by WITH name AS MATERIALIZED (...) before", query.ErrQuery, table.Name)
		case read[table]:
			return fmt.Errorf("%w: %s is read twice for a subquery that uses its columns, and can be read once; "+
				"write it to a file, or compare the columns with = in the subquery", query.ErrQuery, table.Name)
		}
		read[table] = true
	}
	inputs := n.Inputs()
	switch of := n.(type) {
	case *logical.Shared:
		if !read[of.Body] {
			read[of.Body] = true
			inputs = []logical.Node{of.Body.Root}
			readsAny := false
			logical.Iterations(of.Body.Root, func(*logical.Working) { readsAny = true })
			isStep = isStep && readsAny
		}
	case *logical.Recursion:
		if err := checkOnce(of.Step, read, true); err != nil {
			return err
		}
		inputs = inputs[:1]
	}
	for _, in := range inputs {
		if err := checkOnce(in, read, isStep); err != nil {
			return err
		}
	}
	return nil
}

// ReadsOnce returns the name of a table that the statement reads, and that can be read once, as standard input can; ""
// of none.
func (q *Query) ReadsOnce() string { return q.once }

// ColumnsRead returns the places of the columns that the statement reads of a table, ascending.
func (q *Query) ColumnsRead(table scan.Source) []int { return q.read[table] }

// Schema returns the columns of the result.
func (q *Query) Schema() *arrow.Schema { return nested.InZone(nested.Schema(q.root.schema()), q.zone) }

// Parameters returns the types of the statement's parameters, in their order, as the places where
// they stand let expect them; text where the place says nothing. A value may be of another type.
func (q *Query) Parameters() []arrow.DataType { return q.statement.Parameters }

// Observed returns the query for runs that others watch: all else is the query's own. It is not closed by
// itself.
func (q *Query) Observed(by engine.Observer) *Query {
	of := *q
	of.engine = q.engine.Observed(by)
	return &of
}

// Close gives back what the conditions of the query hold.
// Requires: no result is read any more.
func (q *Query) Close() {
	for _, c := range q.conditions {
		c.release()
	}
}

// last is the steps behind the rows or the groups of a statement, where each is one of these: their
// projection, an order, and the columns of it that the result has.
type last struct {
	of      readerNode   // before these steps
	project *projectNode // nil of rows
	post    *projection
	sort    *sortNode // nil where rows have no order and no limit
}

// last returns the last steps of the statement.
func (q *Query) last() (l last) {
	n := q.root
	if pick, ok := n.(*pickNode); ok {
		n = pick.in
	}
	if sort, ok := n.(*sortNode); ok {
		l.sort, n = sort, sort.in
	}
	l.of = n
	switch of := n.(type) {
	case *projectNode:
		l.project, l.post = of, of.post
	case *rowsNode:
		l.post = of.post
	}
	return l
}

// by returns the order and the limit of the result; all rows in any order where it has none.
func (l *last) by() order.By {
	if l.sort == nil {
		return order.By{}
	}
	return l.sort.by
}

// listed lists names.
func listed(names []Rule) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}

// errUnbound is the error of a statement that runs without values for its parameters.
func (q *Query) errUnbound() error {
	if n := q.statement.Unbound; n > 0 {
		return fmt.Errorf("%w: parameters of the statement: %d; values that are given: 0", query.ErrQuery, n)
	}
	return nil
}
