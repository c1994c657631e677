package rules

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/rowdata"
)

// The domain of a subquery is the distinct values that the subquery reads of the rows around it: these are read twice.
// Where the subquery's condition has an equality for each column of the domain, its own rows have all values that
// matter, and it is made for all of them. What is asked of a SEMI or an ANTI join can be asked of its pairs.
func domains(c *Context, n logical.Node) (logical.Node, error) {
	switch n := n.(type) {
	case *logical.Filter:
		return withEqualValues(c, n)
	case *logical.Join:
		if n.IsOneSided() {
			return ofPairs(c, n)
		}
	}
	return nil, nil
}

// ofDomain returns the join of a domain with the rows of a subquery, if a node is one.
func ofDomain(n logical.Node) (join *logical.Join, domain *logical.Aggregate) {
	join, ok := n.(*logical.Join)
	if !ok || !join.IsInner() || join.Keys != nil || join.Condition != nil {
		return nil, nil
	}
	if domain, ok = join.Left.(*logical.Aggregate); !ok || !domain.Domain {
		return nil, nil
	}
	return join, domain
}

// withEqualValues takes a domain out below a condition that has an equality for each of its columns; it returns nil
// where that is not so.
func withEqualValues(c *Context, f *logical.Filter) (logical.Node, error) {
	join, domain := ofDomain(f.In)
	if join == nil {
		return nil, nil
	}
	values := map[expr.ID]*expr.Expr{} // of the subquery's rows, by column of the domain
	var rest, known *expr.Expr
	for _, x := range expr.Conjuncts(nil, f.Condition) {
		id, value := equated(x, domain, join.Right)
		if value == nil || values[id] != nil {
			rest = expr.Conjunction(rest, x)
			continue
		}
		p, err := expr.BindTo(c, logical.ColumnsOf(join.Right), value)
		if err != nil {
			return nil, err
		}
		of := rowdata.ValueType(domain.Columns()[logical.PlaceOf(domain, id)].Type)
		if p.Fallible(nil) || !arrow.TypeEqual(rowdata.ValueType(p.Arrow(0)), of) || nested.HoldsIntervals(of) {
			rest = expr.Conjunction(rest, x)
			continue
		}
		values[id] = value
		known = expr.Conjunction(known, expr.Call("is not null", value))
	}
	if len(values) < len(domain.Columns()) {
		return nil, nil
	}
	condition := known
	if rest != nil {
		condition = expr.Conjunction(condition, replaced(rest, func(id expr.ID) *expr.Expr { return values[id] }))
	}
	columns, exprs := slices.Clone(join.Columns()), make([]*expr.Expr, len(join.Columns()))
	for i := range columns {
		if exprs[i] = values[columns[i].ID]; exprs[i] == nil {
			exprs[i] = columns[i].Expr()
		}
	}
	return logical.NewProject(c, &logical.Filter{In: join.Right, Condition: condition}, columns, exprs)
}

// equated returns the column of a domain and the value of the other rows that a condition says to be equal; the value
// is nil where it does not.
func equated(x *expr.Expr, domain, rows logical.Node) (id expr.ID, value *expr.Expr) {
	if x.Op != expr.OpCall || x.Name != "=" {
		return 0, nil
	}
	for i, side := range x.Args {
		other := x.Args[1-i]
		isOfDomain := side.Op == expr.OpColumn && logical.PlaceOf(domain, side.ID) >= 0
		if isOfDomain && logical.Reads(other, rows) {
			return side.ID, other
		}
	}
	return 0, nil
}

// ofPairs asks the condition of a subquery of the pairs of a SEMI or an ANTI join; it returns nil where there is no
// domain.
func ofPairs(c *Context, n *logical.Join) (logical.Node, error) {
	project, ok := n.Right.(*logical.Project)
	if !ok || n.Nearest != nil {
		return nil, nil
	}
	in, condition := project.In, n.Condition
	below := through(project)
	if condition != nil {
		condition = below(condition)
	}
	if f, ok := in.(*logical.Filter); ok {
		in, condition = f.In, expr.Conjunction(condition, f.Condition)
	}
	join, domain := ofDomain(in)
	if join == nil {
		return nil, nil
	}
	reads := map[expr.ID]*expr.Expr{} // of the rows around, by column of the domain
	for _, k := range n.Keys {
		right := below(k.Right)
		if right.Op == expr.OpColumn && k.NullsEqual && logical.PlaceOf(domain, right.ID) >= 0 {
			reads[right.ID] = k.Left
			continue
		}
		condition = expr.Conjunction(condition, expr.Call("=", k.Left, right))
	}
	if len(reads) < len(domain.Columns()) {
		return nil, nil
	}
	if condition != nil {
		condition = replaced(condition, func(id expr.ID) *expr.Expr { return reads[id] })
	}
	made, err := logical.NewJoin(c, n.Kind, n.Left, join.Right, condition)
	if err != nil {
		return nil, err
	}
	return made, nil
}
