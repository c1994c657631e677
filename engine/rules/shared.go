package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// A statement of WITH that several places read makes its rows once: the columns that any of the places asks for, and
// the rows that a filter of any of them leaves. The other rules rewrite it like a statement by itself.
func sharedStatements(c *Context, root logical.Node) (logical.Node, []Name, error) {
	trees, made := []logical.Node{root}, map[*logical.Body]logical.Node{}
	var bodies []*logical.Body
	used := []Name{SharedStatements}
	for { // a body is asked for by the statement, and by bodies with greater numbers
		var body *logical.Body
		for _, tree := range trees {
			eachShared(tree, func(of *logical.Shared, _ *expr.Expr) {
				if made[of.Body] == nil && (body == nil || of.Body.Number > body.Number) {
					body = of.Body
				}
			})
		}
		if body == nil {
			break
		}
		asked, err := askedOf(c, body, trees)
		if err != nil {
			return nil, nil, err
		}
		of, names, err := applyAll(c, asked)
		if err != nil {
			return nil, nil, err
		}
		used, made[body] = append(used, names...), of
		bodies, trees = append(bodies, body), append(trees, of)
	}
	slices.Reverse(bodies)
	final := map[*logical.Body]*logical.Body{}
	for _, body := range bodies {
		final[body] = &logical.Body{Root: withBodies(made[body], final), Name: body.Name, Number: body.Number}
	}
	return withBodies(root, final), used, nil
}

// hasShared says whether a statement reads a statement of WITH that several places read.
func hasShared(root logical.Node) bool {
	has := false
	eachShared(root, func(*logical.Shared, *expr.Expr) { has = true })
	return has
}

// eachShared calls a function with each place in a tree that reads a body, and the filter over it; nil of none.
func eachShared(n logical.Node, f func(of *logical.Shared, filter *expr.Expr)) {
	switch of := n.(type) {
	case *logical.Shared:
		f(of, nil)
	case *logical.Filter:
		if in, ok := of.In.(*logical.Shared); ok {
			f(in, of.Condition)
			return
		}
	}
	for _, in := range n.Inputs() {
		eachShared(in, f)
	}
}

// askedOf returns the columns and the rows of a body that the places in trees ask for.
func askedOf(c *Context, body *logical.Body, trees []logical.Node) (logical.Node, error) {
	asked := ids{}
	var filters []*expr.Expr
	all := false // rows
	for _, tree := range trees {
		eachShared(tree, func(of *logical.Shared, filter *expr.Expr) {
			if of.Body != body {
				return
			}
			own := map[expr.ID]logical.Column{}
			for i, column := range of.Columns() {
				asked[of.Of[i]] = true
				own[column.ID] = body.Root.Columns()[logical.PlaceOf(body.Root, of.Of[i])]
			}
			var moved *expr.Expr
			if filter != nil {
				moved, _ = divided(filter, compares)
			}
			if moved == nil {
				all = true
				return
			}
			filters = append(filters, over(moved, own))
		})
	}
	of := body.Root
	if !all {
		condition := filters[0]
		if len(filters) > 1 {
			condition = expr.Call("or", filters...)
		}
		of = &logical.Filter{In: of, Condition: condition}
	}
	if len(asked) == len(of.Columns()) {
		return of, nil
	}
	return projectedTo(c, of, asked)
}

// withBodies returns a tree that reads other bodies.
func withBodies(n logical.Node, final map[*logical.Body]*logical.Body) logical.Node {
	if of, ok := n.(*logical.Shared); ok {
		return of.In(final[of.Body])
	}
	n, _, _ = eachInput(n, func(in logical.Node) (logical.Node, bool, error) { return withBodies(in, final), true, nil })
	return n
}
