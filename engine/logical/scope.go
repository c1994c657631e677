package logical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
)

// scope is what names in a statement mean: the columns behind FROM.
type scope struct {
	node    Node
	columns []Column      // of node, with the names that they have here
	schema  *arrow.Schema // of columns
	starred []int         // the columns that * has, and that names without a table's mean
	inStar  *arrow.Schema // of starred
	tables  []scopeTable  // whose names may stand before the names of columns
	outer   *enclosing    // the statement around this one, whose columns may be read; nil of none

	places map[int]int       // of structs in *: the column in whose place they stand; nil where there are none
	hidden []int             // columns that only their names mean, where no other column has the name
	spread map[expr.ID]int64 // structs that unnest makes columns of their fields: how many levels of structs, 0 for all
	others map[string]int    // columns by further names, in lower case: of a set operation, and of range(n) r
}

// setStarred says which columns * has.
func (r *scope) setStarred(columns []int) {
	r.starred, r.inStar = columns, r.schema
	if len(columns) == r.schema.NumFields() {
		return // all, in their order
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = r.schema.Field(c)
	}
	r.inStar = arrow.NewSchema(fields, nil)
}

// starAll lets * have all columns but hidden ones.
func (r *scope) starAll() {
	r.setStarred(r.shown(0, len(r.columns)))
}

// shown returns the columns from from to to that are not hidden.
func (r *scope) shown(from, to int) []int {
	list := slices.DeleteFunc(numbersTo(from, to), func(i int) bool { return slices.Contains(r.hidden, i) })
	if r.places != nil {
		place := func(i int) int {
			if at, ok := r.places[i]; ok {
				return at
			}
			return i
		}
		slices.SortStableFunc(list, func(i, j int) int { return place(i) - place(j) })
	}
	return list
}

// numbersTo returns the numbers from from to to.
func numbersTo(from, to int) []int {
	list := make([]int, to-from)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// scopeTable is the columns of one of the tables behind FROM. Its schema is made once: a statement may
// look up each of thousands of columns.
type scopeTable struct {
	names  [][]string    // of the table: its alias, or its name, perhaps behind a schema
	from   int           // the first of its columns in the scope
	schema *arrow.Schema // of its columns

	implied bool // the name is a file's: other files may have the same
}

// is says whether a table has a name.
func (t *scopeTable) is(of []string) bool {
	return slices.ContainsFunc(t.names, func(name []string) bool { return slices.EqualFunc(name, of, strings.EqualFold) })
}

// qualify names the table of the columns from column from on. A name that is empty is none.
func (r *scope) qualify(from int, names ...[]string) {
	names = slices.DeleteFunc(names, func(name []string) bool { return name[0] == "" })
	schema := r.schema
	if from > 0 {
		schema = arrow.NewSchema(r.schema.Fields()[from:], nil)
	}
	r.tables = append(r.tables, scopeTable{names: names, from: from, schema: schema})
}

// star returns the columns that * stands for, behind a table's name or alone.
func (r *scope) star(it sql.Item) ([]int, error) {
	if it.Of == nil {
		return r.starred, nil
	}
	for i, t := range r.tables {
		if !t.is(it.Of) {
			continue
		}
		if r.isTaken(i+1, it.Of) {
			return nil, errorAt(it.At, sameName, it.Of[0], it.Of[0])
		}
		return r.shown(t.from, t.from+t.schema.NumFields()), nil
	}
	return nil, errorAt(it.At, "not supported: * behind a name other than the table's; name the columns")
}

// scopeOf is the scope of all columns of a node. A column without a name is named by its place: C0 is
// the first.
func scopeOf(n Node) *scope {
	r := &scope{node: n, columns: n.Columns()}
	fields := slices.Clone(ColumnsOf(n).Schema.Fields())
	var taken Names // before the first column without a name: nil
	for i := range fields {
		if fields[i].Name != "" {
			continue
		}
		if taken == nil {
			taken = NamesOf(arrow.NewSchema(fields, nil))
			r.columns = slices.Clone(r.columns)
		}
		fields[i].Name = taken.Unique(fmt.Sprintf("C%d", i))
		r.columns[i].Name = fields[i].Name
	}
	r.schema = arrow.NewSchema(fields, nil)
	r.starAll()
	return r
}

// table is the scope of all columns of a table.
func (b *binder) tableScope(source scan.Source, name string) *scope {
	return b.described(source, name, nil)
}

// described is tableScope of a source, with more that is known of its columns.
func (b *binder) described(source scan.Source, name string, known []scan.ColumnStats) *scope {
	scanned := NewScan(&b.ids, source, name)
	if len(known) == len(scanned.columns) {
		for i, k := range known {
			if c := &scanned.columns[i].Stats; k.HasRange && !c.HasRange {
				c.HasRange, c.Min, c.Max = true, k.Min, k.Max
			}
		}
	}
	r := scopeOf(scanned)
	fields := map[string]int{} // the first column that is a field of a struct, by the struct's name
	for i, f := range source.Schema().Fields() {
		of := scan.StructOf(f)
		if first, ok := fields[of]; ok && f.Name == of {
			if r.places == nil {
				r.places = map[int]int{}
			}
			r.places[i] = first
		} else if of != "" {
			if !ok {
				fields[of] = i
			}
			r.hidden = append(r.hidden, i)
		}
		if scan.IsHidden(f) {
			r.hidden = append(r.hidden, i)
		}
	}
	r.starAll()
	return r
}

// find returns the index of a named column. A name in parts is a field of a struct before it is a
// column with points in its name, which stands in double quotes where both are there; and a column
// of a table before a field of a struct that is named as the table.
func (r *scope) find(e *expr.Expr) (int, error) {
	if n, ok := e.Value.(int64); ok { // #n
		if n > int64(len(r.starred)) {
			return 0, errorAt(e.At, "%s: there are %d columns behind FROM", e.Name, len(r.starred))
		}
		return r.starred[n-1], nil
	}
	if e.Path == nil {
		if len(r.tables) > 1 {
			if err := r.checkAmbiguous(e); err != nil {
				return 0, err
			}
		}
		i, err := expr.FindColumn(r.inStar, e)
		if err == nil {
			return r.starred[i], nil
		}
		if other, ok := r.others[strings.ToLower(e.Name)]; ok {
			return other, nil
		}
		for _, hidden := range r.hidden {
			if strings.EqualFold(r.columns[hidden].Name, e.Name) {
				return hidden, nil
			}
		}
		return 0, err
	}
	missing := e.Path // the part of the path that errors name
	known := false    // a table has that name
	for n, t := range r.tables {
		for _, taken := range t.qualifiers(e) {
			known, missing = true, e.Path[taken:]
			if i, ok := findPath(t.schema, missing); ok {
				if r.isTaken(n+1, e.Path[:taken]) {
					return 0, errorAt(e.At, sameName, e.Path[0], e.Path[0])
				}
				return t.from + i, nil
			}
		}
	}
	if i, ok := findPath(r.schema, e.Path); ok {
		return i, nil
	}
	if i, ok := r.others[strings.ToLower(strings.Join(e.Path, "."))]; ok {
		return i, nil
	}
	if _, err := query.FindColumn(r.schema, e.Path[0]); err != nil && !known && e.Qualified && len(r.tables) > 1 {
		return 0, errorAt(e.At, "there is no table %s here; the tables are %s", e.Path[0], strings.Join(r.tableNames(), ", "))
	}
	if last := len(missing) - 1; last > 0 {
		if i, ok := findPath(r.schema, missing[:last]); ok {
			of := r.schema.Field(i)
			return 0, &expr.Error{At: e.At, Texts: []string{of.Name}, Message: fmt.Sprintf(
				"column %q does not exist: %q is of type %s, which has no fields", columnName(missing), of.Name,
				query.TypeName(of.Type))}
		}
	}
	_, err := query.FindColumn(r.schema, columnName(missing))
	return 0, errorAt(e.At, "%v", err)
}

// isNamed says whether a column has a name, behind the name of its table perhaps.
func (r *scope) isNamed(column int, path []string) bool {
	last := len(path) - 1
	isOf := func(t scopeTable) bool {
		return t.from <= column && column < t.from+t.schema.NumFields() && t.is(path[:last])
	}
	return strings.EqualFold(r.columns[column].Name, path[last]) && (last == 0 || slices.ContainsFunc(r.tables, isOf))
}

// nameOf returns the name of an item without an alias.
func (r *scope) nameOf(x *expr.Expr) string {
	if n, ok := x.Value.(int64); ok && x.Op == expr.OpColumn { // #n
		return r.columns[r.starred[n-1]].Name
	}
	if x.Path != nil {
		return x.Path[len(x.Path)-1]
	}
	return x.String()
}

// sameName is the error of a name that two tables have.
const sameName = "two tables behind FROM have the name %s: give one another name, as in FROM %s AS other"

// isTaken says whether a table from table i on has a name.
func (r *scope) isTaken(i int, name []string) bool {
	return slices.ContainsFunc(r.tables[i:], func(t scopeTable) bool { return t.is(name) })
}

// tableNames returns the names of the tables behind FROM.
func (r *scope) tableNames() (names []string) {
	for _, t := range r.tables {
		if len(t.names) > 0 {
			names = append(names, t.names[0][0])
		}
	}
	return names
}

// only returns the scope of the columns that * stands for, their names apart.
func (r *scope) only(star sql.Item) (*scope, error) {
	list, err := r.star(star)
	if err != nil {
		return nil, err
	}
	columns, fields, written := make([]Column, len(list)), make([]arrow.Field, len(list)), make([]string, len(list))
	for i, c := range list {
		columns[i], fields[i] = r.columns[c], r.schema.Field(c)
		written[i] = fields[i].Name
	}
	for i, name := range apart(written) {
		fields[i].Name, columns[i].Name = name, name
	}
	of := &scope{node: r.node, columns: columns, schema: arrow.NewSchema(fields, nil)}
	of.setStarred(numbersTo(0, len(fields)))
	return of, nil
}

// qualifiers returns how many parts in front of a column's name may be the name of the table, most first.
func (t *scopeTable) qualifiers(e *expr.Expr) (parts []int) {
	for _, name := range t.names {
		if e.Qualified && len(name) < len(e.Path) && slices.EqualFunc(name, e.Path[:len(name)], strings.EqualFold) {
			parts = append(parts, len(name))
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

// column returns the column that a name means.
func (r *scope) column(e *expr.Expr) (*expr.Expr, error) {
	i, err := r.find(e)
	if err != nil {
		if of := r.field(e); of != nil {
			return of, nil
		}
		return nil, err
	}
	return r.value(i, e.At), nil
}

// value returns a column as a value: lists as they are read become values.
func (r *scope) value(i, at int) *expr.Expr {
	x := r.columns[i].Expr()
	if x.At = at; arrow.IsNested(r.columns[i].Type.ID()) {
		x = expr.Call(expr.NestedValue, x)
		x.At = at
	}
	return x
}

// columnOf returns the column that an expression of scope.value is of; nil of other expressions.
func columnOf(x *expr.Expr) *expr.Expr {
	if x.Op == expr.OpCall && x.Name == expr.NestedValue {
		x = x.Args[0]
	}
	if x.Op != expr.OpColumn {
		return nil
	}
	return x
}

// fieldCall is the function that a field is read by.
const fieldCall = "array_extract"

// field returns the field that a name in parts leads to from a column that is a struct or a map; nil of other names.
func (r *scope) field(e *expr.Expr) *expr.Expr {
	for n := len(e.Path) - 1; n > 0; n-- {
		prefix := *e
		if prefix.Path = e.Path[:n]; n == 1 {
			prefix.Path, prefix.Qualified = nil, false
		}
		prefix.Name = strings.Join(e.Path[:n], ".")
		i, err := r.find(&prefix)
		if err != nil {
			continue
		}
		if nested.Of(r.columns[i].Type) == nil {
			return nil
		}
		x := r.value(i, e.At)
		for _, name := range e.Path[n:] {
			x = expr.Call(fieldCall, x, expr.Constant(name))
			x.At = e.At
		}
		return x
	}
	return nil
}

// columnOrOuter returns the column that a name means, perhaps of a statement around.
func (r *scope) columnOrOuter(e *expr.Expr) (*expr.Expr, error) {
	c, err := r.column(e)
	if err == nil || r.outer == nil || e.Path == nil && r.checkAmbiguous(e) != nil {
		return c, err
	}
	if c, failed := r.outer.scope.columnOrOuter(e); failed == nil {
		return r.outer.read(c, e)
	}
	return nil, err
}

// isOuter says whether an aggregate reads columns of the statement around alone: it is one of that statement's groups.
func (r *scope) isOuter(x *expr.Expr) bool {
	if r.outer == nil || r.outer.isLateral {
		return false
	}
	columns, outer := 0, 0
	x.Walk(func(c *expr.Expr) bool {
		if c.Op != expr.OpColumn {
			return true
		}
		columns++
		_, err := r.column(c)
		isLocal := c.ID != 0 || err == nil || c.Path == nil && r.checkAmbiguous(c) != nil
		if _, err = r.outer.scope.columnOrOuter(c); err == nil && !isLocal {
			outer++
		}
		return true
	})
	return columns > 0 && outer == columns
}

// resolve replaces the names in an expression by the columns that they mean. A name that is no
// column may be an alias. So may the name of a column for which behind is true, but not within an
// aggregate function. behind may be nil.
func (r *scope) resolve(e *expr.Expr, aliases map[string]*expr.Expr, behind func(*expr.Expr) bool) (
	*expr.Expr, error,
) {
	var failed error
	x := e.Replace(func(x *expr.Expr) *expr.Expr {
		switch {
		case failed != nil:
			return x
		case x.Op == expr.OpAggregate && r.isOuter(x):
			var of *expr.Expr
			of, failed = r.outer.aggregate(x)
			return of
		case x.Op == expr.OpAggregate && behind != nil:
			var inner *expr.Expr
			inner, failed = r.resolve(x, aliases, nil)
			return inner
		case isColumns(x):
			failed = errorAt(x.At, "not supported: COLUMNS here; it stands behind SELECT, in WHERE and in ORDER BY")
			return x
		case x.Op == expr.OpCall && !expr.IsFunction(x.Name) && x.Name != groupingCall:
			failed = expr.UnknownFunction(x)
			return x
		case x.Op != expr.OpColumn:
			return nil
		case x.ID != 0: // what a subquery reads
			return x
		}
		var alias *expr.Expr
		if mayBeAlias(x) {
			alias = aliases[strings.ToLower(x.Name)]
		}
		c, err := r.column(x)
		isBehind := err == nil && behind != nil && behind(c)
		if alias != nil && (isBehind || err != nil && r.checkAmbiguous(x) == nil) {
			return alias
		}
		if err != nil {
			c, err = r.columnOrOuter(x)
		}
		if row := r.rowOf(x); err != nil && row != nil {
			return row
		}
		if err != nil {
			failed = err
			return x
		}
		return c
	})
	if failed == nil && expr.Exceeds(nodesMax, x) {
		failed = errorAt(e.At, "not supported: an expression of more than %d parts, with what its names stand for", nodesMax)
	}
	return x, failed
}

// rowOf returns the struct of a table's columns that the table's name stands for; nil of other names.
func (r *scope) rowOf(x *expr.Expr) *expr.Expr {
	at := slices.IndexFunc(r.tables, func(t scopeTable) bool { return x.Path == nil && t.is([]string{x.Name}) })
	if at < 0 || r.isTaken(at+1, []string{x.Name}) {
		return nil
	}
	t, row := r.tables[at], expr.Call("struct_pack")
	row.At = x.At
	for _, i := range r.shown(t.from, t.from+t.schema.NumFields()) {
		row.Args = append(row.Args, expr.Constant(r.columns[i].Name), r.columns[i].Expr())
	}
	return row
}

// nodesMax bounds the parts of an expression, and of all expressions that a statement selects. A text has
// half as many at most, but names stand for expressions, which have names of others.
const nodesMax = 1 << 18

// nodesPerColumn more parts may be selected for each column of the table: SUMMARIZE asks for all of them.
const nodesPerColumn = 64

// nodeBytes is what a part of an expression of a statement takes, about, until the statement runs: as it is written,
// over the table and over the groups, bound to types.
const nodeBytes = 5 << 8
