package logical

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nearest"
)

// match is a column that COLUMNS stands for.
type match struct {
	expr   *expr.Expr
	name   string
	groups []string // what the groups of the regular expression match; nil without one
}

// expandColumns returns the statement with an item for each column that COLUMNS stands for in an item, a condition
// for each one in WHERE, and an element of ORDER BY for each one there.
func (r *scope) expandColumns(s *sql.Select) (*sql.Select, error) {
	s, err := r.unpacked(s)
	if err != nil {
		return nil, err
	}
	of := *s
	of.Items, of.OrderBy = nil, nil
	for _, it := range s.Items {
		list, err := r.matches(it.Expr)
		if err != nil {
			return nil, err
		}
		if list == nil {
			of.Items = append(of.Items, it)
			continue
		}
		if columns := len(of.Items) + len(list); columns > sql.ItemsMax {
			return nil, errorAt(it.At, "not supported: a result of %d columns, more than %d", columns, sql.ItemsMax)
		}
		for _, m := range list {
			made := it
			made.Expr = m.in(it.Expr)
			if made.Name, err = m.named(it); err != nil {
				return nil, err
			}
			of.Items = append(of.Items, made)
		}
	}
	list, err := r.matches(s.Where)
	if err != nil {
		return nil, err
	}
	for i, m := range list {
		if x := m.in(s.Where); i == 0 {
			of.Where = x
		} else {
			of.Where = expr.Call("and", of.Where, x)
			of.Where.At = s.Where.At
		}
	}
	for _, o := range s.OrderBy {
		list, err := r.matches(o.Expr)
		if err != nil {
			return nil, err
		}
		if list == nil {
			of.OrderBy = append(of.OrderBy, o)
		}
		for _, m := range list {
			made := o
			made.Expr = m.in(o.Expr)
			of.OrderBy = append(of.OrderBy, made)
		}
	}
	return &of, nil
}

// unpacked returns the statement with the columns of *COLUMNS(...) as arguments of the calls that it stands in.
func (r *scope) unpacked(s *sql.Select) (made *sql.Select, err error) {
	isUnpacked := func(x *expr.Expr) bool { return isColumns(x) && x.Value.(*sql.Columns).Unpacked }
	made = s.Replace(func(x *expr.Expr) *expr.Expr {
		if err != nil || !slices.ContainsFunc(x.Args, isUnpacked) {
			return nil
		}
		of := *x
		of.Args = nil
		for _, arg := range x.Args {
			if !isUnpacked(arg) {
				of.Args = append(of.Args, arg)
				continue
			}
			var list []match
			if list, err = r.matches(arg); err != nil {
				return nil
			}
			for _, m := range list {
				of.Args = append(of.Args, m.expr)
			}
		}
		return &of
	})
	return made, err
}

func isColumns(x *expr.Expr) bool { return x.Op == expr.OpCall && x.Name == sql.ColumnsCall }

// in returns an expression with the column in place of COLUMNS.
func (m *match) in(e *expr.Expr) *expr.Expr {
	return e.Replace(func(x *expr.Expr) *expr.Expr {
		if !isColumns(x) {
			return nil
		}
		column := *m.expr
		column.At = x.At
		return &column
	})
}

// matches returns the columns that COLUMNS stands for in an expression; nil where it is not there.
func (r *scope) matches(e *expr.Expr) (list []match, err error) {
	first := e.First(isColumns)
	if first == nil {
		return nil, nil
	}
	of := first.Value.(*sql.Columns)
	other := e.First(func(x *expr.Expr) bool { return isColumns(x) && !of.Equal(x.Value.(*sql.Columns)) })
	if other != nil {
		return nil, errorAt(other.At, "not supported: two COLUMNS in an expression that differ")
	}
	isFiltered := func(x *expr.Expr) bool { return x.Filter != nil && x.Filter.First(isColumns) != nil }
	if call := e.First(isFiltered); call != nil { // where DuckDB has a condition of all columns
		return nil, errorAt(call.At, "not supported: COLUMNS in FILTER")
	}
	columns, err := r.star(of.Star)
	if err != nil {
		return nil, err
	}
	if of.IsStar {
		st := &statement{Select: &sql.Select{}, scope: r, aliases: map[string]*expr.Expr{}}
		if err := st.star(of.Star, columns); err != nil {
			return nil, err
		}
		for _, it := range st.items {
			list = append(list, match{expr: it.expr, name: it.name})
		}
	} else if list, err = r.chosen(of, columns, first.At); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errorAt(first.At, "COLUMNS stands for no column")
	}
	return list, nil
}

// chosen returns columns whose names match the regular expression of COLUMNS, or are in its list.
func (r *scope) chosen(of *sql.Columns, columns []int, at int) (list []match, err error) {
	var names []string
	var pattern *regexp.Regexp
	if of.Condition == nil && of.Names == nil {
		if pattern, err = regexp.Compile(of.Pattern); err != nil {
			return nil, errorAt(at, "COLUMNS: %v", err)
		}
	}
	found := make([]bool, len(of.Names))
	for _, i := range columns {
		c := r.columns[i]
		names = append(names, c.Name)
		if of.Condition != nil {
			if ok, err := isChosen(of, c.Name); err != nil {
				return nil, err
			} else if ok {
				list = append(list, match{expr: c.Expr(), name: c.Name})
			}
			continue
		}
		if pattern != nil {
			if groups := pattern.FindStringSubmatch(c.Name); groups != nil {
				list = append(list, match{c.Expr(), c.Name, groups})
			}
			continue
		}
		if at := slices.IndexFunc(of.Names, func(name string) bool { return strings.EqualFold(name, c.Name) }); at >= 0 {
			found[at] = true
			list = append(list, match{expr: c.Expr(), name: c.Name})
		}
	}
	for i, name := range of.Names {
		isSame := func(before string) bool { return strings.EqualFold(before, name) }
		if !found[i] && !slices.ContainsFunc(of.Names[:i], isSame) {
			return nil, errorAt(at, "COLUMNS: there is no column %q%s", name, nearest.Offer(name, names))
		}
	}
	switch {
	case len(list) > 0:
	case of.Condition != nil:
		const none = "COLUMNS: the condition is TRUE for no column's name; the columns are %s"
		return nil, errorAt(at, none, strings.Join(names, ", "))
	default:
		return nil, errorAt(at, "COLUMNS: no column's name matches '%s'%s", of.Pattern, nearest.Offer(of.Pattern, names))
	}
	return list, nil
}

// isChosen says whether the condition of COLUMNS is TRUE for a column's name.
func isChosen(of *sql.Columns, name string) (bool, error) {
	x := of.Condition.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op == expr.OpColumn && x.Path == nil && strings.EqualFold(x.Name, of.Parameter) {
			return expr.Constant(name)
		}
		return nil
	})
	p, err := expr.BindCondition(context.Background(), expr.Columns{Schema: arrow.NewSchema(nil, nil)}, x)
	if err != nil {
		return false, err
	}
	value, _ := p.Constant(0)
	return value == true, nil
}

// named returns the name of an item: the column's, or the alias, whose \0 stands for the column's name, and \1 for
// the first group of the regular expression.
func (m *match) named(it sql.Item) (string, error) {
	if !strings.Contains(it.Name, `\`) {
		if it.Name == "" {
			return m.name, nil
		}
		return it.Name, nil
	}
	var name strings.Builder
	for rest := it.Name; rest != ""; {
		plain, code, ok := strings.Cut(rest, `\`)
		name.WriteString(plain)
		switch {
		case !ok:
		case code != "" && code[0] == '\\':
			name.WriteByte('\\')
		case code != "" && code[0] == '0':
			name.WriteString(m.name)
		case code == "" || code[0] < '1' || code[0] > '9':
			return "", errorAt(it.At, `a name behind COLUMNS has \0 for the column's name, \1 to \9 for groups, and \\ for \`)
		case m.groups == nil:
			return "", errorAt(it.At, `the name behind COLUMNS has \%c, and no regular expression has groups`, code[0])
		case int(code[0]-'0') < len(m.groups):
			name.WriteString(m.groups[code[0]-'0'])
		}
		if rest = ""; ok {
			rest = code[1:]
		}
	}
	if name.Len() == 0 {
		return m.name, nil
	}
	return name.String(), nil
}
