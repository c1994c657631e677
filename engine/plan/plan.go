package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowdata"
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

	// Parameters are the values of the parameters ? and $1 of the statement. The default, nil, is NULL for
	// each: the columns of the result, and Query.Parameters, are known without values.
	Parameters []Parameter

	// Overflow says what the sum of an integer column does when it passes int64.
	// The default is query.OverflowError.
	Overflow query.Overflow

	// Deterministic gives sums of floating-point values the same bits on every run. The default is
	// false.
	Deterministic bool

	// OneStep keeps a statement one aggregation, for Query.Aggregation, where two would be faster:
	// count(DISTINCT x) is then a set for each group. The default is false.
	OneStep bool

	// Without are rules that are not used. A statement has the same answer without them, and may take
	// longer. The default is none.
	Without []Rule
}

// Table is what a name stands for: a source, or the files of some patterns.
type Table struct {
	Source scan.Source      // nil for files
	Files  []string         // patterns
	Scan   *dataset.Options // how the files are read; nil for Options.Scan
	In     []string         // the catalog and the schema of the table, which may qualify its name; may be nil
}

// Query is a statement whose tables are open: its plan. It can be run any number of times, at once,
// too, unless a source can be read only once. It must be closed.
type Query struct {
	engine *engine.Engine
	rules  *rewrites    // of the statement that Prepare was given
	text   *sql.Select  // the statement as it was given
	st     *statement   // text, its names looked up
	uses   []*expr.Expr // all expressions of the statement over the columns of base, but for the condition

	base   *relation   // the table behind FROM
	where  *filterNode // of base with WHERE; nil where all rows are read
	in     sourceNode  // the rows that are projected, or that the last aggregation reads
	groups *groupsNode // of in; nil of a statement without groups
	reads  readerNode  // makes the columns of the result of in; nil of a statement with groups
	root   readerNode  // the rows of the result, with hidden columns

	rows *arrow.Schema // input of post: the columns of in, or of the groups
	post *projection   // makes the columns of the result, and hidden columns behind them

	hidden       int           // number of columns behind the result's columns that only ORDER BY needs
	by           order.By      // the order and the limit of the result
	resultSchema *arrow.Schema // without hidden columns

	subqueries []*Query // derived tables, to be closed
	parameters *placeholders
}

// Prepare looks up the names of a statement, opens the files that the statement reads, and gives
// every expression its type. Errors that point at the text are of type *sql.Error.
func Prepare(ctx context.Context, eng *engine.Engine, s *sql.Select, opt Options) (*Query, error) {
	return guarded(s.Text, func() (*Query, error) { return prepare(ctx, eng, s, opt) })
}

// guarded calls a function. Its error, which may be a panic, is an error of the statement.
func guarded[T any](statement string, f func() (T, error)) (result T, err error) {
	err = spawn.Call(func() (err error) {
		result, err = f()
		return err
	})
	return result, spawn.InQuery(err, statement)
}

func prepare(ctx context.Context, eng *engine.Engine, s *sql.Select, opt Options) (*Query, error) {
	opt.Scan.EnsureDefaults()
	if opt.Open == nil {
		opt.Open = dataset.Open
	}
	if opt.Scan.Budget == nil {
		opt.Scan.Budget = eng.Budget()
	}
	given, err := newPlaceholders(s, opt.Parameters)
	if err != nil {
		return nil, err
	}
	p := &planner{engine: eng, opt: opt, rules: newRewrites(&opt), parameters: given}
	p.held = rowdata.NewReservation(eng.Budget())
	defer p.held.Release() // from now on it counts as what the process holds
	q, err := p.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	q.parameters = given
	err = p.narrow(ctx, q)
	if err = cmp.Or(err, ended(ctx)); err != nil { // what could not be bound for it may have been left out
		q.Close()
		return nil, err
	}
	return q, nil
}

// ended returns why a context has ended, or nil.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// Schema returns the columns of the result.
func (q *Query) Schema() *arrow.Schema { return q.resultSchema }

// source returns the rows that are projected, or that the last aggregation reads, to plan by.
func (q *Query) source() scan.Source { return q.in.rows(nil) }

// Observed returns the query for runs that others watch: all else is the query's own. It is not closed by
// itself.
func (q *Query) Observed(by engine.Observer) *Query {
	of := *q
	of.engine = q.engine.Observed(by)
	return &of
}

// below returns the statement behind FROM whose rows the query reads; nil where it reads a table.
func (q *Query) below() *Query {
	for n := node(q.base.node); n != nil; n = n.input() {
		if inner, ok := n.(*Query); ok {
			return inner
		}
	}
	return nil
}

// Close gives back what the conditions of the query and of its derived tables hold.
// Requires: no result is read any more.
func (q *Query) Close() {
	if q.where != nil {
		q.where.condition.release()
	}
	for _, s := range q.subqueries {
		s.Close()
	}
}

// planner plans a statement and the statements within it.
type planner struct {
	engine     *engine.Engine
	opt        Options
	rules      *rewrites
	parameters *placeholders
	subqueries []*Query // derived tables of the statement that is planned now

	held rowdata.Reservation // of what is planned
}

// statement is a statement, its names looked up, while it is planned.
type statement struct {
	*sql.Select
	rel     *relation             // the table behind FROM
	items   []item                // what stands behind SELECT
	unused  []bool                // by item: nobody asks for it; nil where all items are wanted
	aliases map[string]*expr.Expr // what stands behind AS, in lower case
	groups  bool                  // whether there are aggregates or keys
	keys    map[string]bool       // the expressions that the statement groups by, by Key
}

// results are the items that somebody asks for.
func (st *statement) results() []item {
	if st.unused == nil {
		return st.items
	}
	var list []item
	for i, it := range st.items {
		if !st.unused[i] {
			list = append(list, it)
		}
	}
	return list
}

// item is an element of the result.
type item struct {
	expr    *expr.Expr // over the source's columns, with aggregates
	name    string     // no two items have the same
	isConst bool       // as it is written: no column of the table, also of a derived table, is in it
}

func (p *planner) plan(ctx context.Context, s *sql.Select) (*Query, error) {
	return p.owning(s, func() (*Query, error) { return p.build(ctx, s) })
}

// owning calls build, which plans a statement, and gives the query the derived tables that build
// has met.
func (p *planner) owning(s *sql.Select, build func() (*Query, error)) (*Query, error) {
	saved := p.subqueries
	defer func() { p.subqueries = saved }()
	p.subqueries = nil
	q, err := build()
	if err != nil {
		for _, sub := range p.subqueries {
			sub.Close()
		}
		return nil, located(s, err)
	}
	q.subqueries = p.subqueries
	return q, nil
}

// located turns an error of an expression into one that points at the statement's text.
func located(s *sql.Select, err error) error {
	var e *expr.Error
	if errors.As(err, &e) && e.At >= 0 && s.Text != "" {
		at := s.ErrorAt(e.At, e.Message)
		at.Cause = e.Cause
		return at
	}
	return err
}

// advised adds to an error of columns that are text why the table has them so.
func advised(err error, table scan.Source) error {
	var e *expr.Error
	adviser, ok := table.(scan.Adviser)
	if !ok || !errors.As(err, &e) {
		return err
	}
	for _, column := range e.Texts {
		if why := adviser.WhyText(column); why != nil {
			cause := errors.Join(query.ErrQuery, why)
			return &expr.Error{Message: fmt.Sprintf("%s; %v", e.Message, why), At: e.At, Cause: cause}
		}
	}
	return err
}

func (p *planner) build(ctx context.Context, s *sql.Select) (*Query, error) {
	s, err := unnestInFrom(s)
	if err != nil {
		return nil, err
	}
	rel, err := p.from(ctx, s, s.From)
	if err != nil {
		return nil, err
	}
	q, err := p.planOver(ctx, s, rel)
	return q, advised(err, rel.source())
}

// planOver plans a statement over the table behind its FROM.
func (p *planner) planOver(ctx context.Context, s *sql.Select, rel *relation) (*Query, error) {
	s = p.parameters.bind(ctx, s, rel)
	st := &statement{Select: s, rel: rel, aliases: map[string]*expr.Expr{}, keys: map[string]bool{}}
	nodes, err := st.resolveItems(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.held.Resize(p.held.Bytes() + int64(nodes)*nodeBytes); err != nil {
		return nil, fmt.Errorf("a statement of %s parts of expressions: %w", humanize.Comma(int64(nodes)), err)
	}
	where, err := st.condition(s.Where, "WHERE")
	if err != nil {
		return nil, err
	}
	base := *rel
	base.where = conjunction(rel.where, where)
	q := &Query{engine: p.engine, rules: p.rules, text: s, st: st, base: &base}
	if base.where != nil {
		if err := base.pruneLists(ctx, p.rules); err != nil {
			return nil, err
		}
		if q.where, err = p.filtered(ctx, base.node, base.where); err != nil {
			return nil, err
		}
	}
	if st.groups, err = st.grouped(); err != nil {
		return nil, err
	}
	if s.Distinct && st.groups {
		return p.distinct(ctx, st)
	}
	return q, p.complete(ctx, q)
}

// complete plans the steps between the rows that are read and the result.
func (p *planner) complete(ctx context.Context, q *Query) (err error) {
	q.in = q.base.node
	if q.where != nil {
		q.in = q.where
	}
	if q.st.groups || q.st.Distinct {
		err = p.group(ctx, q, q.st)
	} else {
		q.rows = q.source().Schema()
		err = q.finish(ctx, q.st, func(e *expr.Expr) (*expr.Expr, error) { return e, nil }, nil)
	}
	if err != nil {
		return err
	}
	if err := q.limit(ctx, q.text); err != nil {
		return err
	}
	return q.planRoot(ctx)
}

// planRoot plans how the rows of the result are made, and their order.
func (q *Query) planRoot(ctx context.Context) error {
	top, err := q.planTop(ctx)
	switch {
	case err != nil:
		return err
	case top != nil:
		q.reads, q.root = top, top
		return nil
	case q.groups != nil:
		q.groups.of.most = q.largestCounts()
		q.rules.note(LargestCounts, q.groups.of.most != nil)
		q.root = &projectNode{q.groups, q.post}
	default:
		inOrder := len(q.by.Keys) == 0 && q.Ordered() // the first rows are the first of the input
		q.reads = &rowsNode{in: q.in, post: q.post, inOrder: inOrder}
		q.root = q.reads
	}
	if q.Ordered() {
		q.root = &sortNode{q.root, q.by}
	}
	return nil
}

// mostGroups bounds the groups that the engine chooses by their counts.
const mostGroups = 256

// largestCounts returns which groups the result is made of, where these are the groups that have the
// largest values of an aggregate, which is a count; else nil.
func (q *Query) largestCounts() *engine.Most {
	by, of := &q.by, &q.groups.of.query
	if !q.rules.allows(LargestCounts) || len(by.Keys) == 0 || !by.Limited || by.Limit+by.Offset < 1 ||
		max(by.Limit, by.Offset) > mostGroups || q.post.having != nil || len(q.groups.sets) > 0 || !by.Keys[0].Descending {
		return nil
	}
	count := q.post.from[by.Keys[0].Column] - len(of.Keys)
	if count < 0 || of.Aggregates[count].Func != query.CountStar && of.Aggregates[count].Func != query.Count {
		return nil
	}
	return &engine.Most{N: int(by.Limit + by.Offset), Count: count, Ties: len(by.Keys) > 1}
}

// resolveItems looks up the columns of the items, and gives every item a name of its own. It returns how many
// parts the items have, with what their names stand for.
func (st *statement) resolveItems(ctx context.Context) (nodes int, err error) {
	constants := make(map[string]bool) // names that items have given to constants
	for _, it := range st.Items {
		if err := ended(ctx); err != nil {
			return 0, err
		}
		if it.Expr == nil {
			from, to, err := st.rel.star(it)
			if err != nil {
				return 0, err
			}
			if columns := len(st.items) + to - from; columns > sql.ItemsMax {
				return 0, errorAt(0, "not supported: a result of %d columns, more than %d", columns, sql.ItemsMax)
			}
			for i := from; i < to; i++ {
				st.items = append(st.items, item{expr: st.rel.exprs[i], name: st.rel.schema.Field(i).Name})
			}
			continue
		}
		x, err := st.rel.resolve(it.Expr, st.aliases, nil)
		if err != nil {
			return 0, err
		}
		isConst := true
		for _, column := range it.Expr.Columns() {
			isConst = isConst && constants[strings.ToLower(column)]
		}
		name := it.Name
		if name == "" {
			if name = it.Expr.String(); it.Expr.Path != nil {
				name = it.Expr.Path[len(it.Expr.Path)-1]
			}
		} else if _, taken := st.aliases[strings.ToLower(name)]; !taken {
			st.aliases[strings.ToLower(name)] = x
			constants[strings.ToLower(name)] = isConst && len(st.rel.schema.FieldIndices(name)) == 0
		}
		st.items = append(st.items, item{x, name, isConst})
	}
	most := nodesMax + nodesPerColumn*st.rel.schema.NumFields()
	for _, it := range st.items {
		it.expr.Walk(func(*expr.Expr) bool {
			nodes++
			return nodes <= most
		})
	}
	switch {
	case len(st.items) == 0:
		return 0, errorAt(0, "a statement without columns: there is no table to take * from")
	case nodes > most:
		return 0, errorAt(0, "not supported: expressions of more than %d parts, with what their names stand for", most)
	}
	written := make([]string, len(st.items))
	for i, it := range st.items {
		written[i] = it.name
	}
	for i, name := range apart(written) {
		st.items[i].name = name
	}
	return nodes, nil
}

// condition looks up the names of WHERE or HAVING. Only HAVING may have aggregates.
func (st *statement) condition(e *expr.Expr, clause string) (*expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	behind := st.behind
	if clause == "WHERE" {
		behind = nil
	}
	x, err := st.rel.resolve(e, st.aliases, behind)
	if err != nil {
		return nil, err
	}
	if a := firstAggregate(x); a != nil && clause == "WHERE" {
		return nil, errorAt(a.At, "%s: an aggregate function cannot stand in WHERE; HAVING is for groups", a)
	}
	return x, nil
}

// errorAt is an error that points at a byte of the statement's text.
func errorAt(at int, format string, args ...any) error {
	return &expr.Error{Message: fmt.Sprintf(format, args...), At: at}
}

// indexOf returns the place of the first expression of a list that is written as x is, or -1.
func indexOf(list []*expr.Expr, x *expr.Expr) int {
	key := x.Key()
	return slices.IndexFunc(list, func(y *expr.Expr) bool { return y.Key() == key })
}

// firstAggregate returns the first call of an aggregate function in an expression, or nil.
func firstAggregate(e *expr.Expr) (found *expr.Expr) {
	e.Walk(func(x *expr.Expr) bool {
		if x.Op == expr.OpAggregate && found == nil {
			found = x
		}
		return found == nil
	})
	return found
}

// grouped says whether the statement has groups.
func (st *statement) grouped() (bool, error) {
	if len(st.GroupBy) > 0 || st.Having != nil {
		return true, nil
	}
	for _, it := range st.items {
		if firstAggregate(it.expr) != nil || st.GroupAll && !it.isConst { // ALL leaves constants out
			return true, nil
		}
	}
	for _, o := range st.OrderBy {
		if x, err := st.orderExpr(o.Expr); err == nil && firstAggregate(x) != nil {
			return true, nil
		}
	}
	return false, nil
}

// ordinal returns the item that an integer constant stands for.
func (st *statement) ordinal(e *expr.Expr, clause string) (*expr.Expr, bool, error) {
	n, ok := e.Value.(int64)
	if e.Op != expr.OpConstant || !ok || e.Type.ID == expr.Decimal { // a decimal's digits are an int64, too
		return nil, false, nil
	}
	if n < 1 || n > int64(len(st.items)) {
		return nil, true, errorAt(e.At, "%s %d: there are %d columns", clause, n, len(st.items))
	}
	return st.items[n-1].expr, true, nil
}

// behind says whether an alias comes before a column of the same name: where rows are grouped, but
// not by the column.
func (st *statement) behind(column *expr.Expr) bool { return st.groups && !st.keys[column.Key()] }

// orderExpr looks up an element of ORDER BY: a number, an alias, or an expression.
func (st *statement) orderExpr(e *expr.Expr) (*expr.Expr, error) {
	if x, ok, err := st.ordinal(e, "ORDER BY"); ok {
		return x, err
	}
	if e.Op == expr.OpConstant {
		return nil, ordersNothing(e)
	}
	if alias := st.aliases[strings.ToLower(e.Name)]; mayBeAlias(e) && alias != nil {
		return alias, nil
	}
	return st.rel.resolve(e, st.aliases, st.behind)
}

// ordersNothing is the error of a constant in ORDER BY.
func ordersNothing(e *expr.Expr) error {
	return errorAt(e.At, "ORDER BY %s: a constant orders nothing; a name stands without quotes or in double ones", e)
}

// orders returns what rows are ordered by.
func (st *statement) orders() ([]sql.Order, error) {
	var list []sql.Order
	if all := st.OrderAll; all != nil {
		for _, it := range st.items {
			list = append(list, sql.Order{Expr: it.expr, Descending: all.Descending, NullsFirst: all.NullsFirst})
		}
	}
	for _, o := range st.OrderBy {
		x, err := st.orderExpr(o.Expr)
		if err != nil {
			return nil, err
		}
		o.Expr = x
		list = append(list, o)
	}
	return list, nil
}

// finish plans what comes after rows or groups: HAVING, the items, the order. of turns an
// expression over the columns of the source into an expression over the columns of q.rows.
func (q *Query) finish(
	ctx context.Context, st *statement, of func(*expr.Expr) (*expr.Expr, error), having *expr.Expr,
) error {
	var names []string
	var exprs []*expr.Expr
	places := make(map[string]int) // in exprs, by Key
	add := func(key, name string, x *expr.Expr) {
		if _, ok := places[key]; !ok {
			places[key] = len(exprs)
		}
		names, exprs = append(names, name), append(exprs, x)
	}
	for _, it := range st.results() {
		x, err := of(it.expr)
		if err = cmp.Or(err, ended(ctx)); err != nil {
			return err
		}
		q.uses = append(q.uses, it.expr)
		add(x.Key(), it.name, x)
	}
	orders, err := st.orders()
	if err != nil {
		return err
	}
	for _, o := range orders {
		x, err := of(o.Expr)
		if err != nil {
			return err
		}
		q.uses = append(q.uses, o.Expr)
		key := x.Key()
		at, ok := places[key]
		if !ok {
			at = len(exprs)
			q.hidden++
			add(key, fmt.Sprintf("order by %d", q.hidden), x)
		}
		q.by.Keys = append(q.by.Keys, order.Key{Column: at, Descending: o.Descending, NullsFirst: o.NullsFirst})
	}
	if q.post, err = newProjection(ctx, q.rows, names, exprs, having, q.groups == nil); err != nil {
		return err
	}
	fields := q.post.schema.Fields()
	q.resultSchema = arrow.NewSchema(fields[:len(fields)-q.hidden], nil)
	return nil
}

// limit reads LIMIT and OFFSET.
func (q *Query) limit(ctx context.Context, s *sql.Select) error {
	count := func(e *expr.Expr, clause string) (int64, error) {
		number := &expr.Expr{Op: expr.OpTryCast, Type: expr.Type{ID: expr.Int64}, Args: []*expr.Expr{e}, At: e.At}
		if p, err := expr.Bind(ctx, arrow.NewSchema(nil, nil), number); err == nil {
			value, _ := p.Constant(0)
			if n, ok := value.(int64); ok && n >= 0 {
				return n, nil
			}
		}
		return 0, errorAt(e.At, "%s takes a number of rows, 0 or more", clause)
	}
	var err error
	given := func(e *expr.Expr) bool { return e != nil && (e.Op != expr.OpConstant || e.Value != nil) } // NULL is no limit
	if given(s.Limit) {
		q.by.Limited = true
		if q.by.Limit, err = count(s.Limit, "LIMIT"); err != nil {
			return err
		}
	}
	if given(s.Offset) {
		q.by.Offset, err = count(s.Offset, "OFFSET")
	}
	return err
}

// mergedNodesMax bounds the expressions of a derived table that become a part of the statement around it: each name of
// a column there stands for one of them, and may stand often, at every level.
const mergedNodesMax = 1 << 14

// asRelation returns the query as a part of the statement around it, or nil if the query must run
// by itself. P4.
func (q *Query) asRelation() *relation {
	if q.groups != nil || q.Ordered() || len(q.subqueries) > 0 || exceeds(mergedNodesMax, q.post.exprs...) ||
		!q.rules.allows(MergeDerived) {
		return nil
	}
	q.rules.note(MergeDerived, true)
	return &relation{
		node: q.base.node, schema: q.resultSchema, inStar: q.resultSchema,
		exprs: q.post.exprs, where: q.base.where,
	}
}

// distinct plans DISTINCT over groups: groups of the groups.
func (p *planner) distinct(ctx context.Context, st *statement) (*Query, error) {
	inner := *st.Select
	inner.Distinct, inner.OrderBy, inner.OrderAll, inner.Limit, inner.Offset = false, nil, nil, nil, nil
	outer := &sql.Select{
		Text: st.Text, From: &sql.Derived{Query: &inner}, GroupAll: true,
		OrderAll: st.OrderAll, Limit: st.Limit, Offset: st.Offset,
	}
	for _, it := range st.items {
		outer.Items = append(outer.Items, sql.Item{Expr: expr.Column(it.name), Name: it.name})
	}
	for _, o := range st.OrderBy {
		x, err := st.orderExpr(o.Expr)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(st.items, func(it item) bool { return it.expr.Key() == x.Key() })
		if at < 0 {
			return nil, errorAt(o.Expr.At, "ORDER BY beside DISTINCT takes what stands behind SELECT")
		}
		o.Expr = expr.Column(st.items[at].name)
		outer.OrderBy = append(outer.OrderBy, o)
	}
	return p.build(ctx, outer)
}
