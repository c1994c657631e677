package logical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// RolledUp is what a source that is a roll-up tells of itself.
type RolledUp struct {
	Of        Rollup
	Keys      []string    // names of the keys that it has
	Statement *sql.Select // of the roll-up
}

// rolled is a statement over a roll-up alone that names columns which the result lacks: it groups the rows that the
// roll-up has read.
type rolled struct {
	s     *sql.Select
	names []string          // columns of the result
	of    *RolledUp         // of the source
	items map[string]string // columns of the result, by the expressions that they are
	by    []string          // keys of the statement's groups
}

// coarser returns the statement over coarser groups of a roll-up that a statement asks for, which groups by keys of the
// roll-up and has aggregates as they are written there. It is nil where a statement reads the result of a roll-up, or
// something else.
func coarser(s *sql.Select, r *scope) (*sql.Select, error) {
	table, ok := r.node.(*Scan)
	if !ok || len(s.GroupBy) == 0 && !s.GroupAll && partOf(s, isAggregate) == nil {
		return nil, nil
	}
	source, ok := table.Source.(interface{ RolledUp() *RolledUp })
	if !ok || source.RolledUp() == nil || source.RolledUp().Of.By != nil {
		return nil, nil
	}
	g := &rolled{s: s, of: source.RolledUp(), items: map[string]string{}}
	for _, f := range r.schema.Fields() {
		g.names = append(g.names, f.Name)
	}
	if partOf(s, g.isForeign) == nil {
		return nil, nil
	}
	for i, it := range g.of.Statement.Items {
		if it.Expr != nil && len(g.of.Statement.Items) == len(g.names) {
			g.items[g.text(it.Expr)] = g.names[i]
		}
	}
	return g.statement()
}

// partOf returns the first part of a statement's expressions that a function says yes to; nil where it does so to none.
func partOf(s *sql.Select, is func(*expr.Expr) bool) (found *expr.Expr) {
	s.Replace(func(x *expr.Expr) *expr.Expr {
		if found == nil && is(x) {
			found = x
		}
		return nil
	})
	return found
}

func isAggregate(x *expr.Expr) bool { return x.Op == expr.OpAggregate }

// plainName returns the name of a column without the names of tables before it; "" of another expression.
func plainName(x *expr.Expr) string {
	switch {
	case x.Op != expr.OpColumn:
		return ""
	case len(x.Path) > 0:
		return x.Path[len(x.Path)-1]
	}
	return x.Name
}

// among returns the name of a list that is a name, but for case; "" of none.
func among(list []string, name string) string {
	if i := slices.IndexFunc(list, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		return list[i]
	}
	return ""
}

// text returns an expression as text, without the table and the case of columns: two expressions are compared so.
func (g *rolled) text(x *expr.Expr) string {
	from := g.from("").Alias.Name
	return x.Replace(func(part *expr.Expr) *expr.Expr {
		switch {
		case part.Op != expr.OpColumn:
			return nil
		case len(part.Path) == 2 && strings.EqualFold(part.Path[0], from):
			return expr.Column(strings.ToLower(part.Path[1]))
		}
		return expr.Column(strings.ToLower(part.String()))
	}).String()
}

// isForeign says whether an expression is a column that the result does not have.
func (g *rolled) isForeign(x *expr.Expr) bool {
	name := plainName(x)
	return name != "" && among(g.names, name) == "" && g.item(name) == nil
}

// item returns the expression of an item by its alias; nil where there is none.
func (g *rolled) item(alias string) *expr.Expr {
	for _, it := range g.s.Items {
		if it.Name != "" && strings.EqualFold(it.Name, alias) {
			return it.Expr
		}
	}
	return nil
}

// column returns the column of the result that stands for an expression; nil where it stays.
func (g *rolled) column(x *expr.Expr) *expr.Expr {
	name, ok := g.items[g.text(x)]
	if !ok || x.Op == expr.OpColumn && !g.isForeign(x) {
		return nil
	}
	column := expr.Column(name)
	column.At = x.At
	return column
}

// statement returns the statement over coarser groups.
func (g *rolled) statement() (*sql.Select, error) {
	if err := g.setKeys(); err != nil {
		return nil, err
	}
	made := g.s.Replace(g.column)
	for i := range made.Items {
		if it := &made.Items[i]; it.Name == "" && it.Expr != g.s.Items[i].Expr {
			it.Name = g.s.Items[i].Expr.String()
		}
	}
	filter, err := g.filter(made.Where)
	if err != nil {
		return nil, err
	}
	made.Where, made.Having, made.GroupBy, made.GroupAll = made.Having, nil, nil, false
	if x := partOf(made, func(x *expr.Expr) bool { return isAggregate(x) || g.isForeign(x) }); x != nil {
		return nil, g.refuse(x, "the roll-up has no %s", x)
	}
	lacks := func(x *expr.Expr) bool {
		key := among(g.of.Keys, plainName(x))
		return key != "" && !slices.Contains(g.by, key)
	}
	if x := partOf(made, lacks); x != nil {
		return nil, g.refuse(x, "%s is a key that GROUP BY does not have", x)
	}
	made.From = g.from(filter)
	return made, nil
}

// setKeys finds the keys that GROUP BY has.
func (g *rolled) setKeys() error {
	var keys []*expr.Expr
	for _, e := range g.s.GroupBy {
		x := e.Expr
		if e.Sets != nil {
			return errorAt(e.At, "not supported: grouping sets of a roll-up: put statements together by UNION ALL")
		}
		if n, ok := x.Value.(int64); ok && x.Op == expr.OpConstant && n >= 1 && n <= int64(len(g.s.Items)) {
			x = g.s.Items[n-1].Expr
		}
		keys = append(keys, x)
	}
	for _, it := range g.s.Items {
		if g.s.GroupAll && it.Expr != nil && it.Expr.First(isAggregate) == nil {
			keys = append(keys, it.Expr)
		}
	}
	g.by = []string{}
	for _, x := range keys {
		if x == nil {
			return errorAt(g.s.From.Place(), "not supported: GROUP BY of * of a roll-up: name its keys")
		}
		if of := g.item(plainName(x)); of != nil && among(g.of.Keys, plainName(x)) == "" {
			x = of
		}
		if column := g.column(x); column != nil {
			x = column
		}
		key := among(g.of.Keys, plainName(x))
		if key == "" {
			return g.refuse(x, "%s is no key of the roll-up", x)
		}
		g.by = append(g.by, key)
	}
	return nil
}

// filter returns the condition of keys that WHERE and the roll-up's own filter are together.
func (g *rolled) filter(where *expr.Expr) (string, error) {
	if where == nil {
		return g.of.Of.Filter, nil
	}
	other := where.First(func(x *expr.Expr) bool {
		return x.Op == expr.OpSubquery || x.Op == expr.OpParameter || x.Op == expr.OpWindow ||
			x.Op == expr.OpColumn && among(g.of.Keys, plainName(x)) == ""
	})
	if other != nil {
		return "", g.refuse(other, "WHERE of groups of a roll-up has keys and constants alone, and not %s", other)
	}
	text := where.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.OpColumn {
			return nil
		}
		return expr.Column(`"` + strings.ReplaceAll(among(g.of.Keys, plainName(x)), `"`, `""`) + `"`)
	}).String()
	if g.of.Of.Filter != "" {
		text = "(" + g.of.Of.Filter + ") AND " + text
	}
	return text, nil
}

// from returns the roll-up by the statement's keys.
func (g *rolled) from(filter string) *sql.Files {
	at := g.s.From.Place()
	keys := sql.Option{Name: "by", At: at}
	for _, key := range g.by {
		keys.List = append(keys.List, expr.Constant(key))
	}
	of := &sql.Files{At: at, Function: sql.RollupCall, Patterns: []string{g.of.Of.Dir}, Options: []sql.Option{keys}}
	if filter != "" {
		of.Options = append(of.Options, sql.Option{Name: "filter", Value: expr.Constant(filter), At: at})
	}
	switch from := g.s.From.(type) {
	case *sql.Files:
		of.Alias = from.Alias
	case *sql.Table:
		if of.Alias = from.Alias; of.Alias.Name == "" {
			of.Alias.Name = from.Name
		}
	}
	return of
}

// refuse is an error at a part of the statement that says what the roll-up has.
func (g *rolled) refuse(x *expr.Expr, format string, args ...any) error {
	var aggregates []string
	for text, name := range g.items {
		if among(g.of.Keys, name) == "" {
			aggregates = append(aggregates, text)
		}
	}
	slices.Sort(aggregates)
	return errorAt(max(x.At, 0), "%s: its keys are %s, and it has %s; its columns are %s, of coarser groups by "+
		"rollup('%s', by = ['key', ...])", fmt.Sprintf(format, args...), orNone(g.of.Keys), orNone(aggregates),
		orNone(g.names), g.of.Of.Dir)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
