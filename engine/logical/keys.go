package logical

import (
	"maps"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// findKeys reads GROUP BY.
func (g *grouping) findKeys() error {
	key := g.key
	if g.several() {
		key = g.keyOfSets
	}
	sets := [][]int{{}}
	for _, e := range g.st.GroupBy {
		lists := [][]*expr.Expr{{e.Expr}}
		if e.Sets != nil {
			lists = e.Sets
		}
		parts := make([][]int, len(lists))
		for i, list := range lists {
			for _, x := range list {
				k, err := key(x)
				if err != nil {
					return err
				}
				parts[i] = append(parts[i], k)
			}
		}
		if len(sets) == 1 && len(parts) == 1 {
			sets[0] = append(sets[0], parts[0]...)
			continue
		}
		var product [][]int
		for _, set := range sets {
			for _, part := range parts {
				product = append(product, slices.Concat(set, part))
			}
		}
		const setsMax = 64
		if sets = product; len(sets) > setsMax {
			return errorAt(e.At, "not supported: %d grouping sets, more than %d", len(sets), setsMax)
		}
	}
	if g.st.GroupAll || g.st.Distinct {
		for _, it := range g.st.items {
			isLeftOut := it.isConst && !g.st.Distinct // GROUP BY ALL leaves constants out
			if firstAggregate(it.expr) == nil && it.expr.FirstWindow() == nil && !isLeftOut {
				sets[0] = append(sets[0], g.addKey(it.expr))
			}
		}
	}
	for _, c := range g.st.domain {
		k := g.addKey(c.Expr())
		for i := range sets {
			sets[i] = append(slices.Clip(sets[i]), k)
		}
	}
	g.sets = sets
	return nil
}

// several says whether GROUP BY has more than one set.
func (g *grouping) several() bool {
	return slices.ContainsFunc(g.st.GroupBy, func(e sql.GroupElement) bool { return len(e.Sets) > 1 })
}

// key looks up an element of GROUP BY: a number, a column, an alias, or an expression.
func (g *grouping) key(e *expr.Expr) (int, error) {
	x, ok, err := g.st.ordinal(e, "GROUP BY")
	if !ok {
		x, err = g.st.scope.resolve(e, g.st.aliases, nil)
	}
	if err == nil {
		err = notOfGroups(x, e)
	}
	if err != nil {
		return 0, err
	}
	return g.addKey(x), nil
}

// notOfGroups refuses an element of GROUP BY that stands for an aggregate.
func notOfGroups(x, element *expr.Expr) error {
	if a := firstAggregate(x); a != nil {
		return errorAt(element.At, "%s: an aggregate function cannot stand in GROUP BY", a)
	}
	if w := x.FirstWindow(); w != nil {
		return errorAt(element.At, "%s: a window function cannot stand in GROUP BY", w)
	}
	return nil
}

func (g *grouping) addKey(x *expr.Expr) int {
	if i, ok := g.places[x.Key()]; ok {
		return i
	}
	return g.appendKey(x)
}

func (g *grouping) appendKey(x *expr.Expr) int {
	key := x.Key()
	g.st.keys[key] = true
	if _, ok := g.places[key]; !ok {
		g.places[key] = len(g.keys)
	}
	g.keys = append(g.keys, x)
	g.made = append(g.made, Column{ID: g.b.ids.New(), Name: x.String()})
	return len(g.keys) - 1
}

// keyOfSets is key where there are several sets, which their keys tell apart. An item that is named
// by its number or its name is a key of its own, other than an expression that reads the same: of
// ROLLUP (x, 1), where x is the first item, the first item is NULL in the groups of x alone. Where
// GROUP BY names the item once more, by its other name, a constant is the key. DuckDB does the
// same.
func (g *grouping) keyOfSets(e *expr.Expr) (int, error) {
	item, ok, err := g.st.itemNamed(e)
	if err != nil {
		return 0, err
	}
	element := e.Key()
	if !ok {
		x, err := g.st.scope.resolve(e, g.st.aliases, nil)
		if err == nil {
			err = notOfGroups(x, e)
		}
		if err != nil {
			return 0, err
		}
		element = "expression " + x.Key()
		if k, known := g.elements[element]; known {
			return k, nil
		}
		g.elements[element] = g.appendKey(x)
		return g.elements[element], nil
	}
	if k, known := g.elements[element]; known {
		return k, nil
	}
	if g.itemOf[item] {
		g.elements[element] = g.appendKey(expr.Constant(int64(item)))
		g.unnamed[g.elements[element]] = true
		return g.elements[element], nil
	}
	x := g.st.items[item].expr
	if err := notOfGroups(x, e); err != nil {
		return 0, err
	}
	k := g.appendKey(x)
	g.elements[element], g.itemOf[item] = k, true
	reference := g.made[k].Expr()
	reference.At = x.At
	g.st.refer(item, reference)
	return k, nil
}

// clone returns a statement whose items and aliases can be changed.
func (st *statement) clone() *statement {
	c := *st
	c.items, c.aliases, c.keys = slices.Clone(st.items), maps.Clone(st.aliases), maps.Clone(st.keys)
	return &c
}

// itemNamed returns the place of the item whose number or name an element of GROUP BY is.
func (st *statement) itemNamed(e *expr.Expr) (at int, ok bool, err error) {
	if _, ok, err := st.ordinal(e, "GROUP BY"); ok || err != nil {
		n, _ := e.Value.(int64)
		return int(n) - 1, ok, err
	}
	if !mayBeAlias(e) || st.aliases[strings.ToLower(e.Name)] == nil {
		return 0, false, nil
	}
	if _, err := st.scope.column(e); err == nil {
		return 0, false, nil
	}
	at = slices.IndexFunc(st.items, func(it item) bool { return strings.EqualFold(it.name, e.Name) })
	return at, at >= 0, nil
}

// refer lets a column stand for an item's expression.
func (st *statement) refer(item int, reference *expr.Expr) {
	it := &st.items[item]
	if alias := strings.ToLower(it.name); st.aliases[alias] == it.expr {
		st.aliases[alias] = reference
	}
	it.expr = reference
}
