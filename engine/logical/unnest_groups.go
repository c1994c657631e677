package logical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// unnestOfGroups returns a statement that unnests lists of aggregates as one behind whose FROM the groups stand, with
// these lists among their columns; nil of other statements.
func unnestOfGroups(s *sql.Select) (*sql.Select, error) {
	isOfAggregate := func(x *expr.Expr) bool { return isUnnest(x) && firstAggregate(x) != nil }
	isWanted := func(it sql.Item) bool { return it.Expr != nil && it.Expr.First(isOfAggregate) != nil }
	if s.Pivot != nil || !slices.ContainsFunc(s.Items, isWanted) {
		return nil, nil
	}
	groups := *s
	groups.Items, groups.Distinct, groups.OrderBy, groups.OrderAll = nil, false, nil, nil
	groups.Limit, groups.Offset = nil, nil
	g := &groupColumns{groups: &groups, names: map[string]bool{}}
	made := &sql.Select{Text: s.Text, From: &sql.Derived{Query: &groups}, Distinct: s.Distinct, OrderAll: s.OrderAll,
		Limit: s.Limit, Offset: s.Offset, Parameters: s.Parameters}
	for _, it := range s.Items {
		if it.Expr == nil || s.DistinctOn != nil {
			return nil, errorAt(it.At, "not supported: * and DISTINCT ON beside unnest of an aggregate")
		}
		of := it
		if of.Name == "" {
			of.Name = (&scope{}).nameOf(it.Expr)
		}
		if it.Expr.First(isUnnest) == nil {
			of.Expr = g.column(it.Expr, it.Name)
		} else {
			of.Expr = g.around(it.Expr, nil)
		}
		made.Items = append(made.Items, of)
	}
	for _, o := range s.OrderBy {
		isSame := func(it sql.Item) bool { return it.Expr.Key() == o.Expr.Key() }
		if at := slices.IndexFunc(s.Items, isSame); at >= 0 {
			o.Expr = expr.Constant(int64(at + 1))
		} else {
			o.Expr = g.around(o.Expr, made.Items)
		}
		made.OrderBy = append(made.OrderBy, o)
	}
	return made, nil
}

// groupColumns are the items of a statement of groups, which another statement reads as columns.
type groupColumns struct {
	groups *sql.Select
	names  map[string]bool // of the items, in lower case
}

// column returns the column of an item that is an expression, by a name that GROUP BY may know it by; "" is none.
func (g *groupColumns) column(x *expr.Expr, name string) *expr.Expr {
	if name == "" || g.names[strings.ToLower(name)] {
		name = fmt.Sprintf("\x00group%d", len(g.groups.Items))
	}
	g.names[strings.ToLower(name)] = true
	g.groups.Items = append(g.groups.Items, sql.Item{Expr: x, Name: name, At: x.At})
	c := expr.Column(name)
	c.At = x.At
	return c
}

// around returns an expression with columns in place of what it reads of the groups: the lists of unnest, and beside
// them aggregates, window functions and keys, but not the names of items.
func (g *groupColumns) around(e *expr.Expr, items []sql.Item) *expr.Expr {
	return e.Replace(func(x *expr.Expr) *expr.Expr {
		isItem := func(it sql.Item) bool { return mayBeAlias(x) && strings.EqualFold(it.Name, x.Name) }
		switch {
		case isUnnest(x) && len(x.Args) == 1:
			of := *x
			if list := x.Args[0]; list.Op == expr.OpCall && list.Name == expr.Flattened {
				levels := *list
				levels.Args = []*expr.Expr{g.column(list.Args[0], ""), list.Args[1]}
				of.Args = []*expr.Expr{&levels}
			} else {
				of.Args = []*expr.Expr{g.column(list, "")}
			}
			return &of
		case x.Op == expr.OpColumn && slices.ContainsFunc(items, isItem):
			return x
		case x.Op == expr.OpAggregate, x.Op == expr.OpWindow, x.Op == expr.OpColumn, x.Op == expr.OpSubquery:
			return g.column(x, "")
		}
		return nil
	})
}
