package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nearest"
)

// relation is a table behind FROM: columns that are expressions over the columns of a source.
type relation struct {
	node   sourceNode
	schema *arrow.Schema // of all columns
	exprs  []*expr.Expr  // over the node's columns, by column
	where  *expr.Expr    // over the node's columns; nil for all rows
	inStar *arrow.Schema // the first columns, which * has: all but the elements of a list behind SELECT
	tables []scopeTable  // whose names may stand before the names of columns
}

// scopeTable is the columns of one of the tables behind FROM. Its schema is made once: a statement may
// look up each of thousands of columns.
type scopeTable struct {
	names  [][]string    // of the table: its alias, or its name, perhaps behind a schema
	from   int           // the first of its columns in the relation
	schema *arrow.Schema // of its columns
}

// qualify names the table of the columns from column from on. A name that is empty is none.
func (r *relation) qualify(from int, names ...[]string) {
	names = slices.DeleteFunc(names, func(name []string) bool { return name[0] == "" })
	schema := r.schema
	if from > 0 {
		schema = arrow.NewSchema(r.schema.Fields()[from:], nil)
	}
	r.tables = append(r.tables, scopeTable{names, from, schema})
}

// star returns the columns that * stands for, behind a table's name or alone.
func (r *relation) star(it sql.Item) (from, to int, err error) {
	if it.Of == nil {
		return 0, r.inStar.NumFields(), nil
	}
	for _, t := range r.tables {
		for _, name := range t.names {
			if slices.EqualFunc(name, it.Of, strings.EqualFold) {
				return t.from, min(t.from+t.schema.NumFields(), r.inStar.NumFields()), nil
			}
		}
	}
	return 0, 0, errorAt(it.At, "not supported: * behind a name other than the table's; name the columns")
}

// source returns the rows of the relation's node, to plan by.
func (r *relation) source() scan.Source { return r.node.rows(nil) }

// relationOf is the relation of all columns of a node. A column without a name is named by its
// place: C0 is the first.
func relationOf(n sourceNode) *relation {
	r := &relation{node: n}
	fields := slices.Clone(r.source().Schema().Fields())
	var taken names // before the first column without a name: nil
	for i := range fields {
		r.exprs = append(r.exprs, expr.Column(fields[i].Name))
		if fields[i].Name != "" {
			continue
		}
		if taken == nil {
			taken = namesOf(r.source().Schema())
		}
		fields[i].Name = taken.unique(fmt.Sprintf("C%d", i))
	}
	r.schema = arrow.NewSchema(fields, nil)
	r.inStar = r.schema
	return r
}

// tableRelation is the relation of all columns of a table.
func tableRelation(source scan.Source, name string) *relation {
	return relationOf(&tableNode{source, name})
}

// find returns the index of a named column. A name in parts is a field of a struct before it is a
// column with points in its name, which stands in double quotes where both are there; and a column
// of a table before a field of a struct that is named as the table.
func (r *relation) find(e *expr.Expr) (int, error) {
	if e.Path == nil {
		return expr.FindColumn(r.inStar, e)
	}
	missing := e.Path // the part of the path that errors name
	for _, t := range r.tables {
		for _, taken := range t.qualifiers(e) {
			missing = e.Path[taken:]
			if i, ok := findPath(t.schema, missing); ok {
				return t.from + i, nil
			}
		}
	}
	if i, ok := findPath(r.schema, e.Path); ok {
		return i, nil
	}
	_, err := query.FindColumn(r.schema, columnName(missing))
	return 0, errorAt(e.At, "%v", err)
}

// only returns the relation of the columns that * stands for, their names apart.
func (r *relation) only(star sql.Item) (*relation, error) {
	from, to, err := r.star(star)
	if err != nil {
		return nil, err
	}
	fields := slices.Clone(r.schema.Fields()[from:to])
	written := make([]string, len(fields))
	for i := range fields {
		written[i] = fields[i].Name
	}
	for i, name := range apart(written) {
		fields[i].Name = name
	}
	schema := arrow.NewSchema(fields, nil)
	return &relation{node: r.node, where: r.where, schema: schema, exprs: r.exprs[from:to], inStar: schema}, nil
}

// qualifiers returns how many parts in front of a column's name may be the name of the table, most first.
func (t *scopeTable) qualifiers(e *expr.Expr) (parts []int) {
	for _, name := range t.names {
		if e.Qualified && len(name) < len(e.Path) && slices.EqualFunc(name, e.Path[:len(name)], strings.EqualFold) {
			placeIn(&parts, len(name))
		}
	}
	slices.Sort(parts)
	slices.Reverse(parts)
	return parts
}

// findPath returns which column a name in parts is.
func findPath(schema *arrow.Schema, path []string) (int, bool) {
	if len(path) > 1 {
		if i, err := query.FindColumn(schema, query.HiddenFieldName(path...)); err == nil {
			return i, true
		}
	}
	i, err := query.FindColumn(schema, columnName(path))
	return i, err == nil
}

func columnName(path []string) string {
	if len(path) == 1 {
		return path[0]
	}
	return query.FieldName(path...)
}

// mayBeAlias says whether a column may be the name of an item, which no table qualifies.
func mayBeAlias(e *expr.Expr) bool { return e.Op == expr.OpColumn && e.Path == nil }

// column returns the expression over the source's columns that a named column stands for.
func (r *relation) column(e *expr.Expr) (*expr.Expr, error) {
	i, err := r.find(e)
	if err != nil {
		return nil, err
	}
	x := *r.exprs[i]
	if x.Op == expr.OpConstant && x.Value != nil { // its Key is another than that of the constant in the statement itself
		c := x
		x = expr.Expr{Op: expr.OpCast, Type: c.Type, Args: []*expr.Expr{&c}}
	}
	x.At = e.At
	return &x, nil
}

// resolve replaces the columns that an expression names by what they stand for. A name that is no
// column may be an alias. So may the name of a column for which behind is true, but not within an
// aggregate function. behind may be nil.
func (r *relation) resolve(e *expr.Expr, aliases map[string]*expr.Expr, behind func(*expr.Expr) bool) (
	*expr.Expr, error,
) {
	var failed error
	x := e.Replace(func(x *expr.Expr) *expr.Expr {
		switch {
		case failed != nil:
			return x
		case x.Op == expr.OpAggregate && behind != nil:
			var inner *expr.Expr
			inner, failed = r.resolve(x, aliases, nil)
			return inner
		case x.Op == expr.OpCall && !expr.IsFunction(x.Name) && x.Name != groupingCall:
			failed = expr.UnknownFunction(x)
			return x
		case x.Op != expr.OpColumn:
			return nil
		}
		var alias *expr.Expr
		if mayBeAlias(x) {
			alias = aliases[strings.ToLower(x.Name)]
		}
		c, err := r.column(x)
		if alias != nil && (err != nil || behind != nil && behind(c)) {
			return alias
		}
		if err != nil {
			failed = err
			return x
		}
		return c
	})
	if failed == nil && exceeds(nodesMax, x) {
		failed = errorAt(e.At, "not supported: an expression of more than %d parts, with what its names stand for", nodesMax)
	}
	return x, failed
}

// nodesMax bounds the parts of an expression, and of all expressions that a statement selects. A text has
// half as many at most, but names stand for expressions, which have names of others.
const nodesMax = 1 << 18

// nodesPerColumn more parts may be selected for each column of the table: SUMMARIZE asks for all of them.
const nodesPerColumn = 64

// nodeBytes is what a part of an expression of a statement takes, about, until the statement runs: as it is written,
// over the table and over the groups, bound to types.
const nodeBytes = 5 << 8

// exceeds says whether expressions have more nodes than a number.
func exceeds(nodes int, list ...*expr.Expr) bool {
	for _, x := range list {
		x.Walk(func(*expr.Expr) bool {
			nodes--
			return nodes >= 0
		})
	}
	return nodes < 0
}

// conjunction is the AND of two conditions. Either may be nil.
func conjunction(a, b *expr.Expr) *expr.Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	x := expr.Call("and", a, b)
	x.At = b.At
	return x
}

// from opens what stands behind a statement's FROM.
func (p *planner) from(ctx context.Context, s *sql.Select, from sql.From) (rel *relation, err error) {
	switch f := from.(type) {
	case *sql.Unnest:
		if rel, err = p.from(ctx, s, f.Input); err != nil {
			return nil, err
		}
		return rel.unnest(f)
	case *sql.About:
		return p.about(ctx, f)
	case *sql.Derived:
		if rel, err = p.derived(ctx, f.Query); err != nil {
			return nil, err
		}
		rel.qualify(0, []string{f.Alias})
		return rel, nil
	case *sql.Files:
		if rel, err = p.files(ctx, s, f); err != nil {
			return nil, err
		}
		rel.qualify(0, []string{cmp.Or(f.Alias, f.Function, stem(f.Patterns[0]))})
		return rel, nil
	case *sql.Table:
		if rel, err = p.table(ctx, s, f); err != nil {
			return nil, err
		}
		rel.qualify(0, tableNames(f)...)
		return rel, nil
	}
	none := arrow.NewSchema(nil, nil)
	return &relation{node: &tableNode{source: oneRow()}, schema: none, inStar: none}, nil
}

// tableNames returns the names by which the columns of a table are qualified. The name may be a file's.
func tableNames(f *sql.Table) [][]string {
	if f.Alias != "" {
		return [][]string{{f.Alias}}
	}
	whole := strings.Join(append(slices.Clone(f.In), f.Name), ".")
	names := [][]string{{f.Name}, {whole}}
	if dataset.IsDataFile(whole) {
		names = append(names, []string{stem(whole)})
	}
	for i := range f.In {
		names = append(names, append(slices.Clone(f.In[i:]), f.Name))
	}
	return names
}

// stem returns the name of a file without its folders and its ending.
func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// files opens the files of patterns.
func (p *planner) files(ctx context.Context, s *sql.Select, f *sql.Files) (*relation, error) {
	opt, err := p.scanOptions(s, f)
	if err != nil {
		return nil, err
	}
	src, err := p.opt.Open(ctx, f.Patterns, opt)
	if err != nil {
		at := s.ErrorAt(f.At, err.Error())
		at.Cause = err
		return nil, at
	}
	return tableRelation(src, strings.Join(f.Patterns, ", ")), nil
}

// table opens the table of a name, or else a table whose name differs in case alone.
func (p *planner) table(ctx context.Context, s *sql.Select, f *sql.Table) (*relation, error) {
	var names []string
	found := ""
	for name, t := range p.opt.Tables {
		if !t.IsIn(f.In) {
			continue
		}
		names = append(names, name)
		if name == f.Name || found != f.Name && strings.EqualFold(name, f.Name) && (found == "" || name < found) {
			found = name
		}
	}
	if found == "" {
		return p.namedFile(ctx, s, f, nearest.Offer(f.Name, names))
	}
	t := p.opt.Tables[found]
	if t.Source != nil {
		return tableRelation(t.Source, found), nil
	}
	opt := p.opt.Scan
	if t.Scan != nil {
		opt = *t.Scan
		opt.Budget = p.opt.Scan.Budget
	}
	src, err := p.opt.Open(ctx, t.Files, opt)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", found, err)
	}
	return tableRelation(src, found), nil
}

// IsIn says whether a table may be qualified by a schema, or by a catalog and a schema.
func (t *Table) IsIn(qualifiers []string) bool {
	missing := len(t.In) - len(qualifiers)
	return missing >= 0 && slices.EqualFunc(qualifiers, t.In[missing:], strings.EqualFold) || len(qualifiers) == 0
}

// namedFile opens a file whose name stands in no single quotes: FROM flights.parquet. offer has the
// names of tables that may be meant instead.
func (p *planner) namedFile(ctx context.Context, s *sql.Select, f *sql.Table, offer string) (*relation, error) {
	name := strings.Join(append(f.In, f.Name), ".")
	if dataset.IsDataFile(name) {
		src, err := p.opt.Open(ctx, []string{name}, p.opt.Scan)
		switch {
		case err == nil:
			return tableRelation(src, name), nil
		case !errors.Is(err, fs.ErrNotExist):
			at := s.ErrorAt(f.At, err.Error())
			at.Cause = err
			return nil, at
		}
		return nil, s.ErrorAt(f.At, "no table and no file is named "+name+offer)
	}
	if offer == "" {
		offer = "; a file is written in single quotes: FROM 'name.parquet'"
	}
	return nil, s.ErrorAt(f.At, "no table is named "+name+offer)
}

// derived plans a statement behind FROM: as a part of the statement around it, or to run by itself.
// P4.
func (p *planner) derived(ctx context.Context, s *sql.Select) (*relation, error) {
	inner, err := p.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	if r := inner.asRelation(); r != nil {
		return r, nil
	}
	p.subqueries = append(p.subqueries, inner)
	of := newStream(inner, "derived table")
	of.described.grouped = inner.groups != nil || inner.source().Stats().Groups
	return relationOf(of), nil
}
