package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// A condition on keys is asked of the rows that are grouped, too: files, row groups and pages may be
// left out. A condition on ordered rows is asked before the rows are ordered. Only comparisons of columns
// and constants move: they are an error for no row. A condition on the rows of several statements is asked
// of the rows of each. A condition on what windows are partitioned by is asked before they are made.
func pushFilters(c *Context, n logical.Node) (logical.Node, bool, error) {
	changed := false
	if f, ok := n.(*logical.Filter); ok {
		if x := folded(c, f.Condition, logical.ColumnsOf(f.In)); x != f.Condition {
			f = &logical.Filter{In: f.In, Condition: x}
			n, changed = f, true
		}
		switch in := f.In.(type) {
		case *logical.Aggregate:
			if made := pushedToRows(f, in); made != nil {
				n, changed = &logical.Filter{In: made, Condition: f.Condition}, true
			}
		case *logical.Window:
			isOfPartition := func(x *expr.Expr) bool {
				return compares(x) && readsOnly(x, func(id expr.ID) bool { return slices.Contains(in.Partition, id) })
			}
			if moved, rest := divided(f.Condition, isOfPartition); moved != nil {
				n, changed = in.With(collapse(&logical.Filter{In: in.In, Condition: moved})), true
				if rest != nil {
					n = &logical.Filter{In: n, Condition: rest}
				}
			}
		case *logical.Project:
			made, err := pushedBelow(c, f, in)
			if err != nil {
				return nil, false, err
			}
			if made != nil {
				n, changed = made, true
			}
		case *logical.Union:
			n, changed = pushedToInputs(f, in), true
		case *logical.Join: // of a condition that was moved
			made, err := c.conditionsOf(f)
			if err != nil {
				return nil, false, err
			}
			n, changed = made, made != logical.Node(f)
		case *logical.Sort:
			if moved, rest := divided(f.Condition, func(x *expr.Expr) bool { return compares(x) }); moved != nil {
				n, changed = in.With(collapse(&logical.Filter{In: in.In, Condition: moved})), true
				if rest != nil {
					n = &logical.Filter{In: n, Condition: rest}
				}
			}
		}
	}
	n, inner, err := eachInput(n, func(in logical.Node) (logical.Node, bool, error) { return pushFilters(c, in) })
	return n, changed || inner, err
}

// pushedToRows returns an aggregation of the rows for which those parts of a condition are TRUE that
// compare nothing but keys and constants; nil where there is no such part.
func pushedToRows(f *logical.Filter, of *logical.Aggregate) logical.Node {
	in, ok := of.In.(*logical.Project)
	if !ok || of.Sets != nil || len(of.Keys) == 0 {
		return nil
	}
	keys := map[expr.ID]*expr.Expr{}
	rows := through(in)
	for _, k := range of.Keys {
		keys[k.Column.ID] = rows(in.Columns()[logical.PlaceOf(in, k.Of)].Expr())
	}
	isShared := func(x *expr.Expr) bool {
		return compares(x) && readsOnly(x, func(id expr.ID) bool { return keys[id] != nil })
	}
	moved := implied(f.Condition, isShared)
	if moved == nil {
		return nil
	}
	moved = replaced(moved, func(id expr.ID) *expr.Expr { return keys[id] })
	return of.With(in.With(collapse(&logical.Filter{In: in.In, Condition: moved})))
}

// pushedBelow returns columns of the rows for which those parts of a condition are TRUE that read no computed columns,
// and of these the rows for which the rest is TRUE; nil where there are no such parts. A part that may be an error for
// a row stays behind parts that stay, which may have left the row out.
func pushedBelow(c *Context, f *logical.Filter, of *logical.Project) (logical.Node, error) {
	plain := map[expr.ID]*expr.Expr{}
	for i, column := range of.Columns() {
		if x := of.Exprs[i]; x.Op == expr.OpColumn || x.Op == expr.OpConstant {
			plain[column.ID] = x
		}
	}
	var moved, rest *expr.Expr
	for _, x := range expr.Conjuncts(nil, f.Condition) {
		moves := readsOnly(x, func(id expr.ID) bool { return plain[id] != nil })
		if moves && rest != nil {
			p, err := expr.BindCondition(c, logical.ColumnsOf(of), x)
			if err != nil {
				return nil, err
			}
			moves = !p.Fallible(logical.StatsOf(of))
		}
		if moves {
			moved = expr.Conjunction(moved, replaced(x, func(id expr.ID) *expr.Expr { return plain[id] }))
		} else {
			rest = expr.Conjunction(rest, x)
		}
	}
	if moved == nil {
		return nil, nil
	}
	return filtered(of.With(collapse(&logical.Filter{In: of.In, Condition: moved})), rest), nil
}

// pushedToInputs returns a union of the rows for which a condition is TRUE.
func pushedToInputs(f *logical.Filter, of *logical.Union) logical.Node {
	in := make([]logical.Node, len(of.In))
	for i, n := range of.In {
		columns := map[expr.ID]*expr.Expr{}
		for c, column := range of.Columns() {
			columns[column.ID] = n.Columns()[logical.PlaceOf(n, of.Of[i][c])].Expr()
		}
		condition := replaced(f.Condition, func(id expr.ID) *expr.Expr { return columns[id] })
		in[i] = collapse(&logical.Filter{In: n, Condition: condition})
	}
	return of.With(in...)
}

// folded returns a condition that is TRUE for the same rows, without parts of AND and OR that are the same for all
// rows: a column of several statements may be a constant in one of them. NULL is FALSE there: NOT is not entered.
func folded(c *Context, x *expr.Expr, rows expr.Columns) *expr.Expr {
	switch {
	case x.Op == expr.OpConstant:
		return x
	case len(x.Columns()) == 0:
		if p, err := expr.BindCondition(c, rows, x); err == nil {
			if value, ok := p.Constant(0); ok {
				return expr.Constant(value == true)
			}
		}
		return x
	case x.Op != expr.OpCall || x.Name != "and" && x.Name != "or":
		return x
	}
	neutral := x.Name == "and" // the value that changes nothing; the other one is the result whatever is beside it
	var parts []*expr.Expr
	changed := false
	for _, arg := range x.Args {
		part := folded(c, arg, rows)
		changed = changed || part != arg
		switch value, isConstant := part.Value.(bool); {
		case !isConstant:
			parts = append(parts, part)
		case value != neutral:
			return part
		}
	}
	switch {
	case !changed && len(parts) == len(x.Args):
		return x
	case len(parts) == 0:
		return expr.Constant(neutral)
	case len(parts) == 1:
		return parts[0]
	}
	return expr.Call(x.Name, parts...)
}

// divided divides a condition in its parts for which is says true, and the rest; either may be nil.
func divided(condition *expr.Expr, is func(*expr.Expr) bool) (some, rest *expr.Expr) {
	for _, x := range expr.Conjuncts(nil, condition) {
		if is(x) {
			some = expr.Conjunction(some, x)
		} else {
			rest = expr.Conjunction(rest, x)
		}
	}
	return some, rest
}

// implied returns what follows from a condition, of its parts for which is says true; nil where that is nothing. Of an
// OR it is an OR, where something follows from each branch.
func implied(x *expr.Expr, is func(*expr.Expr) bool) *expr.Expr {
	if is(x) {
		return x
	}
	if x.Op != expr.OpCall || x.Name != "and" && x.Name != "or" {
		return nil
	}
	var parts []*expr.Expr
	for _, arg := range x.Args {
		part := implied(arg, is)
		if part == nil && x.Name == "or" {
			return nil
		}
		if part != nil {
			parts = append(parts, part)
		}
	}
	if x.Name == "or" {
		return expr.Call("or", parts...)
	}
	return expr.All(parts...)
}

// comparisons are the operators that are an error for no row.
var comparisons = []string{
	"=", "<>", "<", "<=", ">", ">=", "in", "is null", "is not null", "and", "or", "not", "between",
}

// compares says whether an expression does nothing but compare columns and constants.
func compares(e *expr.Expr) bool {
	switch {
	case len(e.Columns()) == 0, e.Op == expr.OpColumn:
		return true
	case e.Op != expr.OpCall || !slices.Contains(comparisons, e.Name):
		return false
	}
	return !slices.ContainsFunc(e.Args, func(arg *expr.Expr) bool { return !compares(arg) })
}
