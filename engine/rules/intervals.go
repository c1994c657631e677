package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
)

// equalIntervals makes groups, orders and partitions of columns that hold intervals be of expr.EqualIntervals of them:
// intervals of one length, as 1 month and 30 days, are equal, but are added to dates as they are written. A group
// shows the least of its intervals, by their months. It is no rule that a statement may do without.
func equalIntervals(c *Context, root logical.Node) (logical.Node, bool, error) {
	r := &intervals{c: c, exact: ids{}, dropped: map[logical.Node]bool{}}
	return everywhere(r.rewrite)(c, root)
}

type intervals struct {
	c       *Context
	exact   ids                   // columns of domains, whose values are told apart as they are written
	dropped map[logical.Node]bool // projections that leave out the keys of a sort
}

func (r *intervals) rewrite(_ *Context, n logical.Node) (logical.Node, error) {
	switch n := n.(type) {
	case *logical.Recursion:
		return r.recursion(n)
	case *logical.Project:
		for i, x := range n.Exprs {
			if x.Op == expr.OpColumn && r.exact[x.ID] {
				r.exact[n.Columns()[i].ID] = true
			}
		}
	case *logical.Aggregate:
		return r.groups(n)
	case *logical.Sort:
		k := r.keysBeside(n.In)
		if sorted := (&logical.Sort{Keys: k.order(n.Keys)}); k.of != nil {
			return k.below(sorted)
		}
	case *logical.Limit: // stands upon the sort, for the rule of first rows
		if p, ok := n.In.(*logical.Project); ok && r.dropped[p] {
			return p.With(n.With(p.In)), nil
		}
	case *logical.Window:
		k, made := r.keysBeside(n.In), *n
		made.Partition, made.Order, made.Calls = k.all(n.Partition), k.order(n.Order), slices.Clone(n.Calls)
		for i, call := range n.Calls {
			made.Calls[i].Args = k.counted(call.Aggregate.Func, call.Args)
		}
		if k.of != nil {
			return k.below(&made)
		}
	}
	return nil, nil
}

// recursion rewrites what makes the rows of a recursion that are new, or its state by keys.
func (r *intervals) recursion(n *logical.Recursion) (logical.Node, error) {
	made, any := *n, false
	var err error
	within := func(root logical.Node) logical.Node {
		if err != nil {
			return root
		}
		in, changed, failed := everywhere(r.rewrite)(r.c, root)
		if err = failed; err != nil || !changed {
			return root
		}
		any = true
		return in
	}
	freshOf := func(of *logical.Fresh) *logical.Fresh {
		if of == nil {
			return nil
		}
		fresh := *of
		fresh.Root = within(of.Root)
		return &fresh
	}
	made.Fresh = freshOf(n.Fresh)
	if n.Keyed != nil {
		keyed := *n.Keyed
		keyed.State, keyed.Changed = within(keyed.State), freshOf(keyed.Changed)
		made.Keyed = &keyed
	}
	if err != nil || !any {
		return nil, err
	}
	return &made, nil
}

// groups makes groups by equal intervals.
func (r *intervals) groups(n *logical.Aggregate) (logical.Node, error) {
	k, made := r.keysBeside(n.In), *n
	made.Keys, made.Calls = slices.Clone(n.Keys), slices.Clone(n.Calls)
	for i := range made.Calls {
		call := &made.Calls[i]
		call.Order, call.Args = k.order(call.Order), k.counted(call.Function.Func, call.Args)
	}
	computed := map[expr.ID]*expr.Expr{}
	for i, key := range n.Keys {
		if r.exact[key.Of] = r.exact[key.Of] || n.Domain; r.exact[key.Of] {
			r.exact[key.Column.ID] = true
			continue
		}
		of := k.key(key.Of)
		if of == key.Of {
			continue
		}
		column, least := key.Column, logical.Column{ID: r.c.IDs.New(), Name: key.Column.Name}
		column.ID = r.c.IDs.New()
		made.Keys[i] = logical.Group{Of: of, Column: column}
		made.Calls = append(made.Calls, logical.Call{
			Function: query.Aggregate{Func: query.Min}, Args: []expr.ID{key.Of}, Column: least, At: -1})
		shown := least.Expr()
		if i < n.KeysOfSets() { // NULL where the set lacks the key
			shown = expr.Call("case", expr.Call("is not null", column.Expr()), shown)
		}
		computed[key.Column.ID] = shown
	}
	if k.of == nil {
		return nil, nil
	}
	in, err := k.project()
	if err != nil {
		return nil, err
	}
	made.In = in
	typed, err := made.Typed()
	if err != nil {
		return nil, err
	}
	return projected(r.c, typed, n.Columns(), computed)
}

// keysBeside are keys that take the place of columns of a node that hold intervals.
type keysBeside struct {
	r       *intervals
	in      logical.Node
	columns []logical.Column // of in, and the keys
	exprs   []*expr.Expr
	of      map[expr.ID]expr.ID // by column: its key
}

func (r *intervals) keysBeside(in logical.Node) *keysBeside {
	k := &keysBeside{r: r, in: in, columns: slices.Clone(in.Columns())}
	for _, c := range k.columns {
		k.exprs = append(k.exprs, c.Expr())
	}
	return k
}

// key returns the key of a column: the column itself where it holds no intervals.
func (k *keysBeside) key(id expr.ID) expr.ID {
	if key := k.of[id]; key != 0 {
		return key
	}
	at := logical.PlaceOf(k.in, id)
	if at < 0 || k.r.exact[id] || !nested.HoldsIntervals(k.columns[at].Type) {
		return id
	}
	key := logical.Column{ID: k.r.c.IDs.New(), Name: k.columns[at].Name}
	k.columns = append(k.columns, key)
	k.exprs = append(k.exprs, expr.Call(expr.EqualIntervals, k.columns[at].Expr()))
	if k.of == nil {
		k.of = map[expr.ID]expr.ID{}
	}
	k.of[id] = key.ID
	return key.ID
}

func (k *keysBeside) all(columns []expr.ID) []expr.ID {
	keys := slices.Clone(columns)
	for i, id := range columns {
		keys[i] = k.key(id)
	}
	return keys
}

// counted returns the keys of the arguments of a function that counts distinct values, and the arguments of others.
func (k *keysBeside) counted(f query.Func, args []expr.ID) []expr.ID {
	if f == query.CountDistinct || f == query.ApproxCountDistinct {
		return k.all(args)
	}
	return args
}

func (k *keysBeside) order(order []logical.Key) []logical.Key {
	keys := slices.Clone(order)
	for i := range keys {
		keys[i].Column = k.key(keys[i].Column)
	}
	return keys
}

// project returns the rows of the node with the keys.
func (k *keysBeside) project() (logical.Node, error) {
	return logical.NewProject(k.r.c, k.in, k.columns, k.exprs)
}

// below puts the keys below a node of one input, and leaves them out of its columns.
func (k *keysBeside) below(n logical.Node) (logical.Node, error) {
	in, err := k.project()
	if err != nil {
		return nil, err
	}
	n = n.With(in)
	var columns []logical.Column
	var exprs []*expr.Expr
	for _, c := range n.Columns() {
		at := slices.IndexFunc(k.columns, func(of logical.Column) bool { return of.ID == c.ID })
		if at < len(k.in.Columns()) {
			columns, exprs = append(columns, c), append(exprs, c.Expr())
		}
	}
	p, err := logical.NewProject(k.r.c, n, columns, exprs)
	if err != nil {
		return nil, err
	}
	k.r.dropped[p] = true
	return p, nil
}
