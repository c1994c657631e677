package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Groups by strings of a table that is joined are made of groups by the keys of the join, where these are far fewer
// than rows: strings are then copied, hashed and compared for each of these groups, and not for each row. A group has
// as many partners as each of its rows, so aggregates that merge are what they were (Yan and Larson, "Performing
// Group-By before Join", ICDE 1994). So it is with aggregates of values that the table chooses: of sum(CASE WHEN day =
// 'Sunday' THEN price END) for each day there is one sum of prices, which is asked for its day once. Where groups are
// few, it spares rows their look for a partner.
func groupsBelowJoins(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || of.Sets != nil || of.Again || of.Domain || of.Expanded != 0 || of.Deterministic || !mergesSafely(of) {
		return nil, nil
	}
	in, made := of.In, map[expr.ID]*expr.Expr{}
	if p, ok := in.(*logical.Project); ok {
		in = p.In
		for i, column := range p.Columns() {
			made[column.ID] = p.Exprs[i]
		}
	}
	if !isInner(in) {
		return nil, nil
	}
	t := flattened(in)
	for i := range t.leaves {
		e := &eager{of: of, leaf: t.leaves[i], made: made, rows: logical.ColumnsOf(in), choices: map[expr.ID]*choice{}}
		divides, err := e.divide(c, t)
		if err != nil {
			return nil, err
		}
		if !divides {
			continue
		}
		pays, err := e.pays(c)
		if err != nil {
			return nil, err
		}
		if pays {
			return e.whole(c)
		}
	}
	return nil, nil
}

// mergesSafely says whether the aggregates of groups of groups are the aggregates of their rows: sums of parts may pass
// bounds that the whole keeps.
func mergesSafely(of *logical.Aggregate) bool {
	return !slices.ContainsFunc(of.Calls, func(call logical.Call) bool {
		switch call.Function.Func {
		case query.Sum:
			return !isFarFromBounds(of.In, call.Args[0])
		case query.Avg:
			return !isNarrow(of.In, call.Args[0])
		}
		return false
	})
}

// isFarFromBounds says whether no sum of a column of fewer than 1e12 rows passes the bounds of sums: 38 digits of
// decimals, 64 bits of integers.
func isFarFromBounds(n logical.Node, column expr.ID) bool {
	const rowsMost, digitsMost = 1e12, 38 - 12
	of := n.Columns()[logical.PlaceOf(n, column)]
	if dt, ok := rowdata.ValueType(of.Type).(arrow.DecimalType); ok {
		return dt.GetPrecision() <= digitsMost
	}
	const most = math.MaxInt64 / int64(rowsMost)
	isSmall := of.Stats.HasRange && of.Stats.Min >= -most && of.Stats.Max <= most
	return isSmall || isNarrow(n, column)
}

// eager is an aggregation over the join of a table with others, which have all that aggregates read but for choices.
type eager struct {
	of   *logical.Aggregate
	leaf logical.Node           // the table
	made map[expr.ID]*expr.Expr // what columns of the aggregation's input are of, unless they are the join's
	rows expr.Columns           // of the join

	choices map[expr.ID]*choice // by column of the aggregation's input

	others     *joinTree
	ofLeaf     []*expr.Expr // by key of the join
	ofOthers   []*expr.Expr // by key of the join
	nullsEqual []bool       // by key of the join

	in logical.Node // the join of the others; nil before pays
}

// choice is the argument of an aggregate: a value of the others' rows where a condition on the table is TRUE.
type choice struct {
	condition *expr.Expr
	value     *expr.Expr
	otherwise *expr.Expr     // a constant: NULL, or 0 of a sum
	column    logical.Column // of value
}

// choiceOf returns the choice that the argument of a call is; nil of another expression.
func (e *eager) choiceOf(c *Context, call *logical.Call, id expr.ID) (*choice, error) {
	x, f := e.source(id), call.Function.Func
	if x.Op != expr.OpCall || x.Name != "case" || len(x.Args) > 3 || call.Distinct || len(call.Args) != 1 {
		return nil, nil
	}
	made := &choice{x.Args[0], x.Args[1], expr.Constant(nil), logical.Column{Name: x.Args[1].String()}}
	if len(x.Args) == 3 {
		made.otherwise = x.Args[2]
	}
	isZero := made.otherwise.Op == expr.OpConstant && made.otherwise.Value == int64(0)
	switch isNull := made.otherwise.Op == expr.OpConstant && made.otherwise.Value == nil; {
	case isNull && slices.Contains([]query.Func{query.Sum, query.Count, query.Min, query.Max}, f):
	case isZero && f == query.Sum:
	default:
		return nil, nil
	}
	if !logical.Reads(made.condition, e.leaf) || e.reads(made.value) {
		return nil, nil
	}
	p, err := expr.BindTo(c, e.rows, x, made.value)
	if err != nil {
		return nil, err
	}
	if !arrow.TypeEqual(p.Arrow(0), p.Arrow(1)) {
		made.value = expr.Cast(made.value, p.Type(0))
	}
	made.column.ID = c.IDs.New()
	return made, nil
}

// source returns what a column of the aggregation's input is of.
func (e *eager) source(id expr.ID) *expr.Expr {
	if x := e.made[id]; x != nil {
		return x
	}
	return e.of.In.Columns()[logical.PlaceOf(e.of.In, id)].Expr()
}

// reads says whether an expression reads the table.
func (e *eager) reads(x *expr.Expr) (some bool) {
	x.IDs(func(id expr.ID) { some = some || logical.PlaceOf(e.leaf, id) >= 0 })
	return some
}

// divide parts the table from the others. It returns false where they are joined by more than equalities, or where an
// aggregate, or a key beside others' columns, reads the table, but for choices.
func (e *eager) divide(c *Context, t *joinTree) (bool, error) {
	e.others = new(joinTree)
	for _, leaf := range t.leaves {
		if leaf != e.leaf {
			e.others.leaves = append(e.others.leaves, leaf)
		}
	}
	for _, x := range t.conditions {
		if !e.reads(x) {
			e.others.conditions = append(e.others.conditions, x)
			continue
		}
		if _, _, ok := t.between(x); !ok {
			return false, nil
		}
		a, b := x.Args[0], x.Args[1]
		if e.reads(b) {
			a, b = b, a
		}
		e.ofLeaf, e.ofOthers = append(e.ofLeaf, a), append(e.ofOthers, b)
		e.nullsEqual = append(e.nullsEqual, x.Name != "=")
	}
	for _, k := range e.of.Keys {
		if x := e.source(k.Of); e.reads(x) && !logical.Reads(x, e.leaf) {
			return false, nil
		}
	}
	for i := range e.of.Calls {
		for _, id := range e.of.Calls[i].Args {
			if !e.reads(e.source(id)) {
				continue
			}
			made, err := e.choiceOf(c, &e.of.Calls[i], id)
			if made == nil || err != nil {
				return false, err
			}
			e.choices[id] = made
		}
	}
	return len(e.ofLeaf) > 0, nil
}

// strings returns how many strings of the table are keys.
func (e *eager) strings() (n int) {
	for _, k := range e.of.Keys {
		if e.reads(e.source(k.Of)) && arrow.IsBaseBinary(rowdata.ValueType(k.Column.Type).ID()) {
			n++
		}
	}
	return n
}

// Groups are made first where the others, and the join with the table, have some times as many rows as there are such
// groups: 1 + 1/n times where n strings of a table of more than eagerTableMin rows are keys (of fewer rows they are
// joined and grouped by codes), since a string takes a row more time than the groups do, eagerChoicesMin where the
// table chooses values, and else eagerRowsMin, which spares rows their look for a partner.
const (
	eagerTableMin   = 1 << 16
	eagerChoicesMin = 8
	eagerRowsMin    = 64
)

// pays says whether groups of the others' rows are taken to be few. It makes the join of the others.
func (e *eager) pays(c *Context) (bool, error) {
	estimator, rowsMin := NewEstimator(), float64(eagerRowsMin)
	switch {
	case e.strings() > 0 && estimator.Rows(e.leaf) > eagerTableMin:
		rowsMin = 1 + 1/float64(e.strings())
	case len(e.choices) > 0:
		rowsMin = eagerChoicesMin
	}
	var err error
	if e.in, err = e.others.planned(c); err != nil {
		return false, err
	}
	keys, all := e.ofOthers, []*expr.Expr{}
	for _, k := range e.of.Keys {
		if x := e.source(k.Of); !e.reads(x) {
			keys = append(keys[:len(keys):len(keys)], x)
		}
	}
	groups := 1.0
	for _, x := range keys {
		if len(x.Columns()) > 0 {
			groups *= estimator.values(e.in, x)
		}
	}
	for _, call := range e.of.Calls {
		for _, id := range call.Args {
			if of := e.choices[id]; of != nil {
				all = append(all, of.value)
			} else {
				all = append(all, e.source(id))
			}
		}
	}
	p, err := expr.BindTo(c, logical.ColumnsOf(e.in), append(all, keys...)...)
	if err != nil || p.Fallible(logical.StatsOf(e.in)) { // rows without a partner are no error
		return false, err
	}
	return groups*rowsMin <= min(estimator.Rows(e.in), estimator.Rows(e.of.In)), nil
}

// whole returns the aggregation over the join of the table with the groups of the others.
func (e *eager) whole(c *Context) (logical.Node, error) {
	below := *e.of
	below.Keys = slices.DeleteFunc(slices.Clone(e.of.Keys), func(k logical.Group) bool { return e.reads(e.source(k.Of)) })
	below.Calls = slices.Clone(e.of.Calls)
	chosen := map[expr.ID]*choice{} // by column of the value
	for i, call := range below.Calls {
		if len(call.Args) == 1 && e.choices[call.Args[0]] != nil {
			of := e.choices[call.Args[0]]
			below.Calls[i].Args, chosen[of.column.ID] = []expr.ID{of.column.ID}, of
		}
	}
	s, ok := splitOf(c, &below, nil)
	if !ok {
		return nil, nil
	}
	choices := s.choose(c, chosen)
	var columns []logical.Column // of the others, that are grouped
	var exprs []*expr.Expr
	compute := func(of logical.Column, x *expr.Expr) {
		if !slices.ContainsFunc(columns, func(c logical.Column) bool { return c.ID == of.ID }) {
			columns, exprs = append(columns, of), append(exprs, x)
		}
	}
	input := func(id expr.ID) { compute(e.of.In.Columns()[logical.PlaceOf(e.of.In, id)], e.source(id)) }
	for _, k := range below.Keys {
		input(k.Of)
	}
	for _, call := range s.first.Calls {
		for _, id := range call.Args {
			if of := chosen[id]; of != nil {
				compute(of.column, of.value)
			} else {
				input(id)
			}
		}
	}
	var conditions []*expr.Expr
	for i, x := range e.ofOthers {
		key := logical.Column{ID: c.IDs.New(), Name: x.String()}
		compute(key, x)
		group := logical.Column{ID: c.IDs.New(), Name: key.Name}
		s.first.Keys = append(s.first.Keys, logical.Group{Of: key.ID, Column: group})
		of := logical.JoinKey{Left: e.ofLeaf[i], Right: group.Expr(), NullsEqual: e.nullsEqual[i]}
		conditions = append(conditions, of.Condition())
	}
	var err error
	if s.first.In, err = logical.NewProject(c, e.in, columns, exprs); err != nil {
		return nil, err
	}
	groups, err := groupsOfOthers(c, &s.first)
	if err != nil {
		return nil, err
	}
	if s.last.In, err = e.joined(c, groups, conditions, choices); err != nil {
		return nil, err
	}
	merged := s.last.Keys
	s.last.Keys = nil
	for _, k := range e.of.Keys {
		if !e.reads(e.source(k.Of)) {
			k, merged = merged[0], merged[1:]
		}
		s.last.Keys = append(s.last.Keys, k)
	}
	last, err := s.last.Typed()
	if err != nil {
		return nil, err
	}
	return projected(c, last, e.of.Columns(), s.computed)
}

// groupsOfOthers returns an aggregation of the others, which is made below their joins, too, where that pays.
func groupsOfOthers(c *Context, of *logical.Aggregate) (logical.Node, error) {
	typed, err := of.Typed()
	if err != nil {
		return nil, err
	}
	below, err := groupsBelowJoins(c, collapse(typed))
	if below == nil {
		below = typed
	}
	return below, err
}

// madeColumn is a column that is computed.
type madeColumn struct {
	logical.Column
	of *expr.Expr
}

// choose lets the groups of groups take values of groups by the choices, by the column of the value. It returns the
// arguments that are chosen. Groups have each value once.
func (s *split) choose(c *Context, choices map[expr.ID]*choice) (chosen []madeColumn) {
	values := map[string]logical.Column{} // columns of groups by the function and the value
	var calls []logical.Call              // of first
	for i, call := range s.first.Calls {
		var of *choice
		if len(call.Args) == 1 {
			of = choices[call.Args[0]]
		}
		if of == nil {
			calls = append(calls, call)
			continue
		}
		key := fmt.Sprint(call.Function.Func, of.value.Key())
		value, ok := values[key]
		if !ok {
			call.Column.Name = fmt.Sprintf("%s(%s)", call.Function.Func, of.value)
			value = call.Column
			values[key], calls = value, append(calls, call)
		}
		x := expr.Call("case", of.condition, value.Expr(), of.otherwise)
		column := logical.Column{ID: c.IDs.New(), Name: call.Column.Name}
		s.last.Calls[i].Args = []expr.ID{column.ID}
		chosen = append(chosen, madeColumn{column, x})
	}
	s.first.Calls = calls
	return chosen
}

// joined joins the table with groups, and computes the keys and the arguments that read the table.
func (e *eager) joined(
	c *Context, groups logical.Node, conditions []*expr.Expr, chosen []madeColumn,
) (logical.Node, error) {
	join, err := logical.NewJoin(c, sql.InnerJoin, groups, e.leaf, expr.All(conditions...))
	if err != nil {
		return nil, err
	}
	columns, exprs := slices.Clone(groups.Columns()), []*expr.Expr{}
	for _, column := range columns {
		exprs = append(exprs, column.Expr())
	}
	for _, k := range e.of.Keys {
		isThere := slices.ContainsFunc(columns, func(c logical.Column) bool { return c.ID == k.Of })
		if x := e.source(k.Of); e.reads(x) && !isThere {
			columns = append(columns, e.of.In.Columns()[logical.PlaceOf(e.of.In, k.Of)])
			exprs = append(exprs, x)
		}
	}
	for _, made := range chosen {
		columns, exprs = append(columns, made.Column), append(exprs, made.of)
	}
	return logical.NewProject(c, join, columns, exprs)
}
