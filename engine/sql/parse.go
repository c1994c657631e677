//go:build cgo

package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// Parse reads one statement. Names are not looked up. Errors are of type *Error.
func Parse(text string) (*Select, error) {
	s, err := newScript(text, "")
	if err != nil {
		return nil, err
	}
	stmt, err := s.parse()
	if err != nil {
		return nil, err
	}
	p := &statements{script: s}
	return p.statement(stmt, nil)
}

// ParseItems reads a list of expressions, each with an alias or none, as it stands behind SELECT:
// `a + 1 as b, count(*)`. The Select has nothing but items.
func ParseItems(text string) (*Select, error) {
	return parseClause(text, "SELECT ", func(s *Select) bool {
		return !s.Distinct && s.From == nil && s.Where == nil && s.GroupBy == nil && !s.GroupAll && s.Having == nil &&
			s.OrderBy == nil && s.OrderAll == nil && s.Limit == nil && s.Offset == nil
	})
}

// parseCondition reads a condition, as it stands behind WHERE or HAVING.
func parseCondition(text string) (*expr.Expr, *Select, error) {
	s, err := parseClause(text, "SELECT 1 WHERE ", func(s *Select) bool {
		return s.GroupBy == nil && !s.GroupAll && s.Having == nil && s.OrderBy == nil && s.OrderAll == nil && s.Limit == nil && s.Offset == nil
	})
	if err != nil {
		return nil, nil, err
	}
	return s.Where, s, nil
}

// parseOrder reads what stands behind ORDER BY.
func parseOrder(text string) (*Select, error) {
	return parseClause(text, "SELECT 1 ORDER BY ", func(s *Select) bool { return s.Limit == nil && s.Offset == nil })
}

// parseClause reads a part of a statement, put behind a prefix, beside which nothing may stand.
func parseClause(text, prefix string, alone func(*Select) bool) (*Select, error) {
	s, err := newScript(text, prefix)
	if err != nil {
		return nil, err
	}
	stmt, err := s.parse()
	if err != nil {
		return nil, err
	}
	p := &statements{script: s}
	parsed, err := p.statement(stmt, nil)
	if err == nil && !alone(parsed) {
		err = s.stray()
	}
	return parsed, err
}

// stray points at the word that ends a clause.
func (s *script) stray() error {
	depth := 0
	for i, t := range s.tokens {
		switch t.Token {
		case pg.Token_ASCII_40:
			depth++
		case pg.Token_ASCII_41:
			depth--
		case pg.Token_GROUP_P:
			if depth == 0 && s.token(i-1).Token != pg.Token_WITHIN {
				return errorAt(s.text, int(t.Start), "not supported: %s here", strings.ToUpper(s.word(t)))
			}
		case pg.Token_DISTINCT, pg.Token_FROM, pg.Token_WHERE, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH:
			if depth == 0 {
				return errorAt(s.text, int(t.Start), "not supported: %s here", strings.ToUpper(s.word(t)))
			}
		}
	}
	return errorAt(s.text, 0, "not supported: more than one clause here")
}

// statements turns a parser's tree into a Select.
type statements struct {
	*script
	qualifiers []string          // names by which columns may be qualified, of the statement at hand
	ctes       map[string]*cteOf // by name, in lower case
	depth      int
}

type cteOf struct{ query *Select }

// queriesMax bounds how deep statements are nested.
const queriesMax = 50

func (p *statements) errorf(at int, format string, args ...any) error {
	return errorAt(p.text, at, format, args...)
}

// unsupportedClause points at the first of a word's tokens.
func (p *statements) unsupportedClause(token pg.Token, what string) error {
	for _, t := range p.tokens {
		if t.Token == token {
			return p.errorf(int(t.Start), "not supported: %s", what)
		}
	}
	return p.errorf(0, "not supported: %s", what)
}

func (p *statements) statement(stmt *pg.SelectStmt, outer map[string]*cteOf) (*Select, error) {
	if p.depth++; p.depth > queriesMax {
		return nil, p.errorf(0, "not supported: statements nested more than %d deep", queriesMax)
	}
	defer func() { p.depth-- }()
	saved, savedCTEs := p.qualifiers, p.ctes
	defer func() { p.qualifiers, p.ctes = saved, savedCTEs }()
	p.ctes = outer
	switch {
	case stmt.GetOp() != pg.SetOperation_SETOP_NONE && stmt.GetOp() != pg.SetOperation_SET_OPERATION_UNDEFINED:
		return nil, p.unsupportedClause(pg.Token_UNION, "UNION, INTERSECT and EXCEPT")
	case len(stmt.GetValuesLists()) > 0:
		return nil, p.unsupportedClause(pg.Token_VALUES, "VALUES")
	case stmt.GetIntoClause() != nil:
		return nil, p.unsupportedClause(pg.Token_INTO, "INTO")
	case len(stmt.GetLockingClause()) > 0:
		return nil, p.unsupportedClause(pg.Token_FOR, "FOR")
	case len(stmt.GetWindowClause()) > 0:
		return nil, p.unsupportedClause(pg.Token_WINDOW, "WINDOW")
	}
	if err := p.with(stmt.GetWithClause()); err != nil {
		return nil, err
	}
	s := &Select{Text: p.text}
	var err error
	if s.From, err = p.from(stmt.GetFromClause()); err != nil {
		return nil, err
	}
	if s.Distinct, err = p.distinct(stmt.GetDistinctClause()); err != nil {
		return nil, err
	}
	if s.Items, err = p.items(stmt.GetTargetList()); err != nil {
		return nil, err
	}
	if s.Where, err = p.optional(stmt.GetWhereClause()); err != nil {
		return nil, err
	}
	if err := p.groupBy(s, stmt.GetGroupClause()); err != nil {
		return nil, err
	}
	if s.Having, err = p.optional(stmt.GetHavingClause()); err != nil {
		return nil, err
	}
	if err := p.orderBy(s, stmt.GetSortClause()); err != nil {
		return nil, err
	}
	if stmt.GetLimitOption() == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
		return nil, p.unsupportedClause(pg.Token_TIES, "WITH TIES")
	}
	if s.Limit, err = p.optional(stmt.GetLimitCount()); err != nil {
		return nil, err
	}
	s.Offset, err = p.optional(stmt.GetLimitOffset())
	return s, err
}

// with reads the CTEs of a statement. A CTE may use the CTEs before it.
func (p *statements) with(clause *pg.WithClause) error {
	if clause == nil {
		return nil
	}
	if clause.GetRecursive() {
		return p.unsupportedClause(pg.Token_RECURSIVE, "RECURSIVE")
	}
	known := map[string]*cteOf{}
	for name, c := range p.ctes {
		known[name] = c
	}
	for _, node := range clause.GetCtes() {
		cte := node.GetCommonTableExpr()
		query := cte.GetCtequery().GetSelectStmt()
		if query == nil || len(cte.GetAliascolnames()) > 0 {
			return p.errorf(p.offset(cte.GetLocation()), "not supported: this WITH; want WITH name AS (SELECT ...)")
		}
		parsed, err := p.statement(query, known)
		if err != nil {
			return err
		}
		known[strings.ToLower(cte.GetCtename())] = &cteOf{parsed}
	}
	p.ctes = known
	return nil
}

func (p *statements) distinct(clause []*pg.Node) (bool, error) {
	for _, on := range clause {
		if on.GetNode() != nil {
			return false, p.unsupportedClause(pg.Token_DISTINCT, "DISTINCT ON")
		}
	}
	return len(clause) > 0, nil
}

func (p *statements) from(clause []*pg.Node) (*From, error) {
	p.qualifiers = nil
	if len(clause) == 0 {
		return nil, nil
	}
	if len(clause) > 1 {
		at := 0
		if v := clause[1].GetRangeVar(); v != nil {
			at = p.offset(v.GetLocation())
		}
		return nil, p.errorf(at, "not supported: more than one table")
	}
	var f *From
	var err error
	var alias *pg.Alias
	switch n := clause[0].GetNode().(type) {
	case *pg.Node_RangeVar:
		f, err = p.table(n.RangeVar)
		alias = n.RangeVar.GetAlias()
	case *pg.Node_RangeSubselect:
		f, err = p.derived(n.RangeSubselect)
		alias = n.RangeSubselect.GetAlias()
	case *pg.Node_RangeFunction:
		f, err = p.reader(n.RangeFunction)
		alias = n.RangeFunction.GetAlias()
	default:
		return nil, p.unsupportedClause(pg.Token_FROM, "this FROM")
	}
	if err != nil {
		return nil, err
	}
	if alias != nil {
		if len(alias.GetColnames()) > 0 {
			return nil, p.errorf(f.At, "not supported: names of columns behind a table's")
		}
		f.Alias = alias.GetAliasname()
		p.qualifiers = append(p.qualifiers, f.Alias)
	} else if !f.File {
		p.qualifiers = append(p.qualifiers, f.Name)
	}
	return f, nil
}

// table reads a name, or a pattern of files in quotes.
func (p *statements) table(v *pg.RangeVar) (*From, error) {
	at := p.offset(v.GetLocation())
	if p.marks[at] == markFile {
		name, ok := p.stringToken(at)
		if !ok || name == "" {
			return nil, p.errorf(at, "want the name of a file in quotes")
		}
		return &From{At: at, Name: name, File: true, Files: []string{name}}, nil
	}
	if v.GetSchemaname() != "" || v.GetCatalogname() != "" {
		return nil, p.errorf(at, "not supported: a table's name in parts; a file is written 'folder/name.parquet'")
	}
	name := p.spelled(at, v.GetRelname())
	if cte := p.ctes[strings.ToLower(name)]; cte != nil {
		return &From{At: at, Name: name, Query: cte.query}, nil
	}
	return &From{At: at, Name: name}, nil
}

// stringToken returns the string that begins at a place.
func (p *statements) stringToken(at int) (string, bool) {
	written := p.word(p.tokens[p.at[int32(at)]])
	if !strings.HasPrefix(written, "'") {
		return "", false
	}
	return strings.ReplaceAll(strings.TrimSuffix(written[1:], "'"), "''", "'"), true
}

func (p *statements) derived(r *pg.RangeSubselect) (*From, error) {
	at := 0
	if r.GetLateral() {
		return nil, p.unsupportedClause(pg.Token_LATERAL_P, "LATERAL")
	}
	query, err := p.statement(r.GetSubquery().GetSelectStmt(), p.ctes)
	if err != nil {
		return nil, err
	}
	if len(query.Items) > 0 {
		at = query.Items[0].At
	}
	return &From{At: at, Query: query}, nil
}

// reader reads a call of read_csv or read_parquet.
func (p *statements) reader(r *pg.RangeFunction) (*From, error) {
	var call *pg.FuncCall
	if list := r.GetFunctions(); len(list) == 1 && len(list[0].GetList().GetItems()) > 0 {
		call = list[0].GetList().GetItems()[0].GetFuncCall()
	}
	if call == nil {
		return nil, p.unsupportedClause(pg.Token_FROM, "this FROM")
	}
	at := p.offset(call.GetLocation())
	parts := call.GetFuncname()
	f := &From{At: at, File: true, Function: parts[len(parts)-1].GetString_().GetSval()}
	switch f.Function {
	case "read_csv_auto":
		f.Function = "read_csv"
	case "parquet_scan":
		f.Function = "read_parquet"
	case "read_csv", "read_parquet":
	default:
		return nil, p.errorf(at, "no table function is named %s; there are read_csv and read_parquet", f.Function)
	}
	for i, arg := range call.GetArgs() {
		name, value := "", arg
		if named := arg.GetNamedArgExpr(); named != nil {
			name, value = named.GetName(), named.GetArg()
		} else if e := arg.GetAExpr(); e != nil && e.GetLexpr().GetColumnRef() != nil {
			name, value = e.GetLexpr().GetColumnRef().GetFields()[0].GetString_().GetSval(), e.GetRexpr()
		}
		o, err := p.option(f.Function, name, value)
		switch {
		case i == 0 && name == "":
			if f.Files = o.Texts(); err != nil || len(f.Files) == 0 {
				return nil, p.errorf(at, "%s: the first argument is a file's name in quotes, or a list of them", f.Function)
			}
			f.Name = f.Files[0]
		case err != nil:
			return nil, err
		case name == "":
			return nil, p.errorf(o.At, "%s: want name = constant", f.Function)
		default:
			f.Options = append(f.Options, o)
		}
	}
	if f.Name == "" {
		return nil, p.errorf(at, "%s: the first argument is a file's name in quotes", f.Function)
	}
	return f, nil
}

// option reads an argument of read_csv.
func (p *statements) option(function, name string, value *pg.Node) (Option, error) {
	o := Option{Name: strings.ToLower(name)}
	constant := func(node *pg.Node) (*expr.Expr, error) {
		x, err := p.expr(node)
		if err == nil && x.Op != expr.OpConstant {
			err = p.errorf(x.At, "%s: want name = constant", function)
		}
		return x, err
	}
	var nodes []*pg.Node
	if list := value.GetAArrayExpr(); list != nil {
		o.At, nodes = p.offset(list.GetLocation()), list.GetElements()
	} else if call := value.GetFuncCall(); call != nil && call.GetFuncname()[0].GetString_().GetSval() == structCall {
		o.At = p.offset(call.GetLocation())
		args := call.GetArgs()
		if len(args)%2 != 0 {
			return o, p.errorf(o.At, "%s: want {'name': constant, ...}", function)
		}
		for i := 0; i < len(args); i += 2 {
			key := args[i].GetAConst().GetSval().GetSval()
			if ref := args[i].GetColumnRef(); ref != nil {
				x, err := p.columnRef(ref)
				if err != nil {
					return o, err
				}
				key = x.Name
			}
			o.Names, nodes = append(o.Names, key), append(nodes, args[i+1])
		}
	} else {
		var err error
		o.Value, err = constant(value)
		if err == nil {
			o.At = o.Value.At
		}
		return o, err
	}
	for _, node := range nodes {
		x, err := constant(node)
		if err != nil {
			return o, err
		}
		o.List = append(o.List, x)
	}
	return o, nil
}

func (p *statements) items(list []*pg.Node) ([]Item, error) {
	items := make([]Item, 0, len(list))
	for _, node := range list {
		target := node.GetResTarget()
		it := Item{At: p.offset(target.GetLocation())}
		if ref := target.GetVal().GetColumnRef(); ref != nil && ref.GetFields()[len(ref.GetFields())-1].GetAStar() != nil {
			if err := p.checkQualifier(ref); err != nil {
				return nil, err
			}
			items = append(items, it)
			continue
		}
		var err error
		if it.Expr, err = p.exprAt(target.GetVal(), it.At); err != nil {
			return nil, err
		}
		if target.GetName() != "" {
			it.Name = p.alias(it.At, target.GetName())
		}
		items = append(items, it)
	}
	return items, nil
}

// alias returns the alias of the item that begins at a place, which is its last word, as it is spelled.
func (p *statements) alias(at int, parsed string) string {
	depth := 0
	for i := p.at[int32(at)]; i < len(p.tokens); i++ {
		t := p.tokens[i]
		switch t.Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, pg.Token_CASE:
			depth++
		case pg.Token_ASCII_41, pg.Token_ASCII_93, pg.Token_END_P:
			depth--
		}
		next := p.token(i + 1).Token
		ends := next == 0 || depth == 0 && (next == pg.Token_ASCII_44 || next == pg.Token_FROM || next == pg.Token_WHERE ||
			next == pg.Token_GROUP_P || next == pg.Token_ORDER || next == pg.Token_ASCII_59 || next == pg.Token_ASCII_41 ||
			next == pg.Token_LIMIT || next == pg.Token_HAVING)
		if !ends {
			continue
		}
		if name := p.name(t); t.Token != pg.Token_UIDENT && strings.EqualFold(cutName(name), parsed) {
			return name
		}
		if next == 0 || depth == 0 && next != pg.Token_FROM {
			break
		}
	}
	return parsed
}

// cutName is what PostgreSQL keeps of a long name.
func cutName(name string) string {
	const nameBytesMax = 63
	return strings.ToValidUTF8(name[:min(len(name), nameBytesMax)], "")
}

func (p *statements) groupBy(s *Select, clause []*pg.Node) error {
	for _, node := range clause {
		if set := node.GetGroupingSet(); set != nil {
			at := p.offset(set.GetLocation())
			sets, err := p.groupingSets(set, at)
			if err != nil {
				return err
			}
			s.GroupBy = append(s.GroupBy, GroupElement{Sets: sets, At: at})
			continue
		}
		x, err := p.expr(node)
		if err != nil {
			return err
		}
		if p.marks[x.At] == markGroupAll {
			s.GroupAll = true
			continue
		}
		s.GroupBy = append(s.GroupBy, GroupElement{Expr: x, At: x.At})
	}
	if s.GroupAll && len(s.GroupBy) > 0 {
		return p.errorf(s.GroupBy[0].At, "not supported: GROUP BY ALL beside other keys")
	}
	return nil
}

// setsMax bounds the grouping sets of a statement: each is an aggregation of its own.
const setsMax = 64

// groupingSets returns the sets that GROUPING SETS, ROLLUP or CUBE stand for.
func (p *statements) groupingSets(set *pg.GroupingSet, at int) ([][]*expr.Expr, error) {
	var columns [][]*expr.Expr // one of a parenthesised list
	var sets [][]*expr.Expr
	for _, node := range set.GetContent() {
		if inner := node.GetGroupingSet(); inner != nil {
			nested, err := p.groupingSets(inner, at)
			if err != nil {
				return nil, err
			}
			sets = append(sets, nested...)
			continue
		}
		list := []*pg.Node{node}
		if row := node.GetRowExpr(); row != nil {
			list = row.GetArgs()
		}
		var group []*expr.Expr
		for _, n := range list {
			x, err := p.expr(n)
			if err != nil {
				return nil, err
			}
			group = append(group, x)
		}
		columns = append(columns, group)
		sets = append(sets, group)
	}
	switch set.GetKind() {
	case pg.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]*expr.Expr{{}}, nil
	case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
		sets = nil
		for n := len(columns); n >= 0; n-- {
			sets = append(sets, flatten(columns[:n]))
		}
	case pg.GroupingSetKind_GROUPING_SET_CUBE:
		if len(columns) > 6 {
			return nil, p.errorf(at, "not supported: CUBE of more than 6 columns, which are %d sets at most", setsMax)
		}
		sets = nil
		for mask := 1<<len(columns) - 1; mask >= 0; mask-- {
			var chosen [][]*expr.Expr
			for i := range columns {
				if mask>>(len(columns)-1-i)&1 != 0 {
					chosen = append(chosen, columns[i])
				}
			}
			sets = append(sets, flatten(chosen))
		}
	}
	if len(sets) > setsMax {
		return nil, p.errorf(at, "not supported: %d grouping sets, more than %d", len(sets), setsMax)
	}
	return sets, nil
}

func flatten(lists [][]*expr.Expr) []*expr.Expr {
	flat := []*expr.Expr{}
	for _, list := range lists {
		flat = append(flat, list...)
	}
	return flat
}

func (p *statements) orderBy(s *Select, clause []*pg.Node) error {
	for _, node := range clause {
		o, err := p.order(node)
		if err != nil {
			return err
		}
		if p.marks[o.Expr.At] == markOrderAll {
			s.OrderAll = &o
			continue
		}
		s.OrderBy = append(s.OrderBy, o)
	}
	return nil
}

// order reads an element of ORDER BY.
func (p *statements) order(node *pg.Node) (Order, error) {
	by := node.GetSortBy()
	x, err := p.expr(by.GetNode())
	if err == nil && by.GetSortbyDir() == pg.SortByDir_SORTBY_USING {
		err = p.errorf(x.At, "not supported: USING in ORDER BY")
	}
	return Order{Expr: x, Descending: by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC,
		NullsFirst: by.GetSortbyNulls() == pg.SortByNulls_SORTBY_NULLS_FIRST}, err
}
