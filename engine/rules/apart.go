package rules

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// Aggregates of the distinct values of several columns, and aggregates beside them that do not merge, are made
// of the rows apart, where groups are few: distinct values of one column are groups, which take a fifth of the
// time of sets and can be written to disk. Groups of the same keys then meet, one of each of the aggregations.
// Columns of a file are read by the aggregations that take them; rows that take more than reading are kept.
func distinctApart(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || of.Again || of.Expanded != 0 || groupedFirst(of) != nil {
		return nil, nil
	}
	parts := callsApart(of)
	if len(parts) < 2 || len(parts) > partsMost || !hasFewGroups(of) || haveOtherUnits(of) ||
		slices.ContainsFunc(of.Calls, takesFirstDistinct) {
		return nil, nil
	}
	if of.Sets == nil {
		if alone, err := c.OnDevices(of); alone || err != nil {
			return nil, err
		}
	}
	var body *logical.Body
	if !isReadAgain(of.In) {
		if slices.ContainsFunc(of.Calls, dependsOnOrder) || readsKept(of.In) {
			return nil, nil
		}
		c.bodies++
		body = &logical.Body{Root: of.In, Name: "rows of several aggregations", Number: -c.bodies}
	}
	made := &apart{c: c, of: of}
	for _, calls := range parts {
		if ok, err := made.add(body, calls); err != nil || !ok {
			return nil, err
		}
	}
	return made.together()
}

// takesFirstDistinct says whether a function of distinct values depends on which of them came first, which groups of
// them do not tell.
func takesFirstDistinct(call logical.Call) bool {
	return call.Distinct && (dependsOnOrder(call) || call.Function.Func == query.Mode)
}

// partsMost bounds the aggregations that are made of one, which run at once.
const partsMost = 32

// hasFewGroups says whether groups have as many rows that sets of their values are large: small sets lie in a
// cache, and keys of long strings are not written for each value.
func hasFewGroups(of *logical.Aggregate) bool {
	const rowsMin = 16
	e := NewEstimator()
	return e.Rows(of)*rowsMin <= e.Rows(of.In)*float64(max(len(of.Sets), 1)) || len(of.Keys) == 0
}

// callsApart returns the calls by the columns whose distinct values they take, and the others.
func callsApart(of *logical.Aggregate) (parts [][]logical.Call) {
	for _, call := range of.Calls {
		i := slices.IndexFunc(parts, func(part []logical.Call) bool {
			return slices.Equal(valuesOf(&part[0]), valuesOf(&call))
		})
		if i < 0 {
			i, parts = len(parts), append(parts, nil)
		}
		parts[i] = append(parts[i], call)
	}
	return parts
}

// isReadAgain says whether rows are columns of a file that says how many rows it has, or rows that are kept:
// another reading of some of the columns takes little.
func isReadAgain(n logical.Node) bool {
	switch of := n.(type) {
	case *logical.Scan:
		known := of.Source.Stats()
		return known.Rows >= 0 && !known.Once
	case *logical.Shared:
		return true
	case *logical.Project:
		return of.Groups() == nil && isReadAgain(of.In) &&
			!slices.ContainsFunc(of.Exprs, func(x *expr.Expr) bool { return x.Op != expr.OpColumn })
	}
	return false
}

// readsKept says whether a node reads rows that are kept, for a statement or for an iteration.
func readsKept(n logical.Node) bool {
	switch n.(type) {
	case *logical.Shared, *logical.Iteration:
		return true
	}
	return slices.ContainsFunc(n.Inputs(), readsKept)
}

// dependsOnOrder says whether a function depends on the order of rows, which rows that are kept do not have.
func dependsOnOrder(call logical.Call) bool {
	return len(call.Order) > 0 || slices.Contains(logical.OfOrder, call.Function.Func)
}

// apart is an aggregation that is made of several, by the same keys, of the same rows.
type apart struct {
	c     *Context
	of    *logical.Aggregate
	parts []*logical.Aggregate
	calls map[expr.ID]logical.Column // by column of of: the column of a part
}

// add adds a part with some calls, of rows that are kept in body or, where it is nil, read again. ok is
// false where a result has a type that NULL cannot be cast to.
func (a *apart) add(body *logical.Body, calls []logical.Call) (ok bool, err error) {
	part := *a.of
	at := func(id expr.ID) expr.ID { return id }
	if body != nil {
		in := logical.NewShared(a.c.IDs, body)
		part.In = in
		at = func(id expr.ID) expr.ID { return in.Columns()[slices.Index(in.Of, id)].ID }
	}
	part.Keys, part.Calls = slices.Clone(part.Keys), slices.Clone(calls)
	for i, k := range part.Keys {
		part.Keys[i].Of, part.Keys[i].Column.ID = at(k.Of), a.c.IDs.New()
	}
	for i, call := range part.Calls {
		call.Column.ID, call.Args, call.Order = a.c.IDs.New(), slices.Clone(call.Args), slices.Clone(call.Order)
		for j, id := range call.Args {
			call.Args[j] = at(id)
		}
		for j, k := range call.Order {
			call.Order[j].Column = at(k.Column)
		}
		part.Calls[i] = call
	}
	if part.Sets != nil {
		part.Set = logical.SetColumn(a.c.IDs, a.of.Set.Name, len(part.Sets))
	}
	made, err := part.Typed()
	if err != nil {
		return false, err
	}
	if a.calls == nil {
		a.calls = map[expr.ID]logical.Column{}
	}
	keys := len(made.Columns()) - len(calls)
	for i, call := range calls {
		column := made.Columns()[keys+i]
		if _, err := expr.TypeOf(column.Type); err != nil || arrow.IsNested(column.Type.ID()) {
			return false, nil
		}
		a.calls[call.Column.ID] = column
	}
	a.parts = append(a.parts, made)
	return true, nil
}

// together returns the groups of all parts, merged by their keys.
func (a *apart) together() (logical.Node, error) {
	var inputs []logical.Node
	var places [][]int
	for _, part := range a.parts {
		in, err := a.padded(part)
		if err != nil {
			return nil, err
		}
		all := make([]int, len(in.Columns()))
		for i := range all {
			all[i] = i
		}
		inputs, places = append(inputs, in), append(places, all)
	}
	names := make([]string, len(a.of.Columns()))
	for i, c := range a.of.Columns() {
		names[i] = c.Name
	}
	union := logical.NewUnion(a.c.IDs, inputs, places, names)
	last := *a.of
	last.In, last.Apart = union, true
	columns := union.Columns()
	if sets := last.KeysOfSets(); last.Sets != nil {
		last.Expanded = columns[sets].ID
		columns = slices.Delete(slices.Clone(columns), sets, sets+1)
	}
	last.Keys, last.Calls = slices.Clone(last.Keys), slices.Clone(last.Calls)
	for i := range last.Keys {
		last.Keys[i].Of = columns[i].ID
	}
	for i, call := range last.Calls {
		of := columns[len(last.Keys)+i].ID
		last.Calls[i] = logical.Call{
			Function: query.Aggregate{Func: query.AnyValue}, Args: []expr.ID{of}, Column: call.Column, At: -1,
		}
	}
	return last.Typed()
}

// padded returns the groups of a part with the columns of all parts, NULL in columns of the others.
func (a *apart) padded(part *logical.Aggregate) (logical.Node, error) {
	own := part.Columns()
	keys := len(own) - len(part.Calls)
	var columns []logical.Column
	var exprs []*expr.Expr
	for i, c := range a.of.Columns() {
		made := logical.Column{ID: a.c.IDs.New(), Name: c.Name}
		from := a.calls[c.ID]
		if i < keys {
			from = own[i]
		}
		x := from.Expr()
		if i >= keys {
			t, err := expr.TypeOf(from.Type)
			switch isOwn := slices.ContainsFunc(own, func(c logical.Column) bool { return c.ID == from.ID }); {
			case err != nil:
				return nil, err
			case !isOwn:
				x = expr.Cast(expr.Constant(nil), t)
			case !arrow.TypeEqual(from.Type, t.Arrow()): // as NULL has it
				x = expr.Cast(x, t)
			}
		}
		columns, exprs = append(columns, made), append(exprs, x)
	}
	return logical.NewProject(a.c, part, columns, exprs)
}
