//go:build cgo

package sql

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/sqlscan"
)

// Parse reads a statement. Names are not looked up. A statement behind a Verb comes back as SELECT *
// of what the verb tells. Errors are of type *Error.
func Parse(text string) (*Select, error) { return ParseContext(context.Background(), text) }

// ParseContext is Parse unless the context ends before.
func ParseContext(ctx context.Context, text string) (*Select, error) {
	if isShowTables(text) {
		return &Select{Text: text, Items: []Item{{}}, From: &TableList{}}, nil
	}
	return parseClause(ctx, text, "", func(*Select) bool { return true })
}

// isShowTables says whether a text is SHOW TABLES.
func isShowTables(text string) bool {
	if !isFirst(text, "show") || len(text) > textBytesMax {
		return false
	}
	h := newHead(text)
	return h.takes("show", "tables") && sqlscan.Empty(text[h.place():])
}

// ParseItems reads a list of expressions, each with an alias or none, as it stands behind SELECT:
// `a + 1 as b, count(*)`. The Select has nothing but items.
func ParseItems(text string) (*Select, error) {
	return parseClause(context.Background(), text, "SELECT ", func(s *Select) bool {
		return !s.Distinct && s.From == nil && s.Where == nil && s.endsAtWhere()
	})
}

// parseCondition reads a condition, as it stands behind WHERE or HAVING.
func parseCondition(text string) (*Select, error) {
	return parseClause(context.Background(), text, "SELECT 1 WHERE ", (*Select).endsAtWhere)
}

// parseOrder reads what stands behind ORDER BY.
func parseOrder(text string) (*Select, error) {
	return parseClause(context.Background(), text, "SELECT 1 ORDER BY ", (*Select).endsAtOrder)
}

// endsAtWhere says whether a statement has no clause behind WHERE.
func (s *Select) endsAtWhere() bool {
	return s.GroupBy == nil && !s.GroupAll && s.Having == nil && s.OrderBy == nil && s.OrderAll == nil && s.endsAtOrder()
}

// endsAtOrder says whether a statement has no clause behind ORDER BY.
func (s *Select) endsAtOrder() bool { return s.Limit == nil && s.Offset == nil }

// parseClause reads a text behind a prefix. alone returns false if the text has a clause too many.
func parseClause(ctx context.Context, text, prefix string, alone func(*Select) bool) (read *Select, err error) {
	s, err := newScript(text, prefix)
	if err != nil {
		return nil, err
	}
	stmt, err := s.parse(ctx)
	if err != nil {
		return nil, err
	}
	defer caught(&read, &err)
	p := &statements{ctx: ctx, script: s, taken: map[proto.Message]bool{}}
	read = p.whole(stmt)
	if !alone(read) {
		return nil, s.stray()
	}
	return read, nil
}

// whole reads the statement that the text is.
func (p *statements) whole(stmt *pg.SelectStmt) *Select {
	read := p.statement(stmt, nil)
	p.checkTaken(stmt)
	if p.verb != "" {
		read = &Select{Text: p.text, Items: []Item{{}}, From: &About{Verb: p.verb, Query: read}}
	}
	read.Parameters = max(p.asked, p.numbered)
	return read
}

// clauseTokens are the words that begin a clause, but for GROUP.
var clauseTokens = []pg.Token{pg.Token_DISTINCT, pg.Token_FROM, pg.Token_WHERE, pg.Token_HAVING, pg.Token_ORDER,
	pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH}

// stray points at the word that begins another clause.
func (s *script) stray() error {
	depth := 0
	for i, t := range s.tokens {
		switch {
		case t.Token == pg.Token_ASCII_40:
			depth++
		case t.Token == pg.Token_ASCII_41:
			depth--
		case depth > 0:
		case slices.Contains(clauseTokens, t.Token), t.Token == pg.Token_GROUP_P && s.token(i-1).Token != pg.Token_WITHIN:
			return errorAt(s.text, int(t.Start), "not supported: %s here", strings.ToUpper(s.word(t)))
		}
	}
	return errorAt(s.text, 0, "not supported: more than one clause here")
}

// statements turns a parser's tree into a Select. It ends at the first error: fail panics with an
// *Error, and caught makes that the error of a statement.
type statements struct {
	*script
	ctx   context.Context
	nodes int               // of expressions, that have been read
	ctes  map[string]*named // by name, in lower case
	depth int               // of the statement at hand

	subqueries []*Select                // in the expressions of the statement at hand
	windows    map[string]*pg.WindowDef // of its WINDOW, by name, in lower case
	copied     int                      // expressions that names of windows have stood for
	moment     *expr.Expr               // the last call of now or its kin; nil of none
	drawn      *expr.Expr               // the last call of random or its kin; nil of none

	within []string // names of WITH whose statements are read, in lower case
	itself *named   // of WITH RECURSIVE, whose UNION is read next; nil of others
	taken  map[proto.Message]bool

	localsMade int64 // parameters of lambdas so far

	texts map[*expr.Expr]string // calls that were made expressions of others, as they are written
}

// named is a statement of WITH.
type named struct {
	query   *Select  // nil within its own step of WITH RECURSIVE
	columns []string // names of its first columns
	with    *With
	within  *Recursion // if query is nil
	key     []Item     // of USING KEY; nil of none
}

// queriesMax bounds how deep statements are nested, also through names of WITH: a statement is planned once
// for each statement around it.
const queriesMax = 50

// fail ends the reading with an error at a byte of the text.
func (p *statements) fail(at int, format string, args ...any) {
	panic(errorAt(p.text, at, format, args...))
}

// caught, deferred, returns the error that fail was called with in place of what was read.
func caught[T any](read *T, err *error) {
	switch failed := recover().(type) {
	case nil:
	case *Error:
		*read, *err = *new(T), failed
	case interrupted:
		*read, *err = *new(T), failed.error
	default:
		panic(failed)
	}
}

// interrupted is what look panics with.
type interrupted struct{ error }

// nodesPerLook is after how many nodes of expressions the context is looked at.
const nodesPerLook = 256

// look ends the reading where the context has ended.
func (p *statements) look() {
	if p.nodes%nodesPerLook == 0 && p.ctx.Err() != nil {
		panic(interrupted{context.Cause(p.ctx)})
	}
	p.nodes++
}

// unsupportedClause fails at the first of a word's tokens.
func (p *statements) unsupportedClause(token pg.Token, what string) {
	p.fail(p.findToken(token, 0), "not supported: %s", what)
}

func (p *statements) statement(stmt *pg.SelectStmt, outer map[string]*named) *Select {
	if p.depth++; p.depth > queriesMax {
		p.fail(0, "not supported: statements nested more than %d deep", queriesMax)
	}
	ctes, itself := p.ctes, p.itself
	p.ctes, p.itself = outer, nil
	isSet := stmt.GetOp() != pg.SetOperation_SETOP_NONE && stmt.GetOp() != pg.SetOperation_SET_OPERATION_UNDEFINED
	switch {
	case stmt.GetIntoClause() != nil:
		p.unsupportedClause(pg.Token_INTO, "INTO")
	case len(stmt.GetLockingClause()) > 0:
		p.unsupportedClause(pg.Token_FOR, "FOR")
	}
	p.with(stmt.GetWithClause())
	s := &Select{Text: p.text}
	around, windows := p.subqueries, p.windows
	p.subqueries, p.windows = nil, nil
	switch {
	case isSet && itself != nil && p.recursion(s, stmt, itself):
	case isSet:
		p.setOperation(s, stmt)
	case len(stmt.GetValuesLists()) > 0:
		p.take(stmt, append([]protoreflect.Name{"values_lists"}, endClauses...)...)
		s.From, s.Items = p.values(stmt.GetValuesLists()), []Item{{}}
	default:
		p.core(s, stmt)
	}
	p.checkList("ORDER BY", stmt.GetSortClause())
	p.orderBy(s, stmt.GetSortClause())
	if stmt.GetLimitOption() == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
		p.unsupportedClause(pg.Token_TIES, "WITH TIES")
	}
	s.Limit = p.limit(stmt.GetLimitCount())
	s.Offset = p.optional(stmt.GetLimitOffset())
	s.subqueries, p.subqueries, p.windows = p.subqueries, around, windows
	s.Moment, s.Drawn = p.moment, p.drawn
	place := 0
	if s.From != nil {
		place = s.From.Place()
	}
	for _, below := range s.Below() {
		if s.height = max(s.height, below.height+1); s.height >= queriesMax { // through the names of WITH
			p.fail(place, "not supported: statements nested more than %d deep", queriesMax)
		}
	}
	p.ctes = ctes
	p.depth--
	return s
}

// endClauses are the fields of the clauses that stand around a statement of any kind.
var endClauses = []protoreflect.Name{"with_clause", "sort_clause", "limit_count", "limit_offset", "limit_option"}

// core reads the clauses from SELECT to HAVING.
func (p *statements) core(s *Select, stmt *pg.SelectStmt) {
	p.take(stmt, append([]protoreflect.Name{"from_clause", "distinct_clause", "target_list", "where_clause",
		"group_clause", "having_clause", "window_clause"}, endClauses...)...)
	p.namedWindows(stmt.GetWindowClause())
	s.From = p.from(stmt.GetFromClause())
	p.distinct(s, stmt.GetDistinctClause())
	p.checkList("SELECT", stmt.GetTargetList())
	p.checkList("GROUP BY", stmt.GetGroupClause())
	s.Items = p.items(stmt.GetTargetList())
	if n := len(s.Items) - 1; n > 0 && p.qualified[s.Items[n].At] {
		last := s.Items[n]
		if last.Name != "" || last.Expr == nil {
			p.fail(last.At, "QUALIFY wants a condition")
		}
		s.Items, s.Qualify = s.Items[:n], last.Expr
	}
	p.usingSample(s)
	p.pivot(s)
	p.about(s)
	s.Where = p.optional(stmt.GetWhereClause())
	p.groupBy(s, stmt.GetGroupClause())
	s.Having = p.optional(stmt.GetHavingClause())
}

// checkList refuses a list of too many elements.
func (p *statements) checkList(clause string, list []*pg.Node) {
	if len(list) > ItemsMax {
		p.fail(0, "not supported: %s of %d elements, more than %d", clause, len(list), ItemsMax)
	}
}

// with reads the CTEs of a statement. A CTE may use the CTEs before it.
func (p *statements) with(clause *pg.WithClause) {
	if clause == nil {
		return
	}
	p.take(clause, "ctes", "recursive")
	known, own := map[string]*named{}, map[string]bool{}
	maps.Copy(known, p.ctes)
	for _, node := range clause.GetCtes() {
		cte := node.GetCommonTableExpr()
		query := cte.GetCtequery().GetSelectStmt()
		if query == nil {
			p.fail(p.offset(cte.GetLocation()), "not supported: this WITH; want WITH name AS (SELECT ...)")
		}
		p.take(cte, "ctename", "aliascolnames", "ctequery", "ctematerialized")
		name := strings.ToLower(cte.GetCtename())
		if own[name] {
			p.fail(p.offset(cte.GetLocation()), "WITH has two statements of the name %s", cte.GetCtename())
		}
		made := &With{
			Name:         cte.GetCtename(),
			Materialized: cte.GetCtematerialized() == pg.CTEMaterialize_CTEMaterializeAlways,
			Inlined:      cte.GetCtematerialized() == pg.CTEMaterialize_CTEMaterializeNever,
		}
		of := &named{columns: words(cte.GetAliascolnames()), with: made}
		if of.key = p.keyOf(p.offset(cte.GetLocation())); clause.GetRecursive() {
			p.itself = of
		}
		p.within = append(p.within, name)
		of.query = p.statement(query, known)
		p.within = p.within[:len(p.within)-1]
		if _, ok := of.query.From.(*Recursion); of.key != nil && !ok {
			p.fail(p.offset(cte.GetLocation()), "USING KEY is for WITH RECURSIVE, a UNION whose end reads %s", name)
		}
		own[name], known[name] = true, of
	}
	p.ctes = known
}

// distinct reads DISTINCT, or DISTINCT ON.
func (p *statements) distinct(s *Select, clause []*pg.Node) {
	for _, on := range clause {
		if on.GetNode() != nil {
			s.DistinctOn = append(s.DistinctOn, p.expr(on))
		}
	}
	s.Distinct = len(clause) > 0 && s.DistinctOn == nil
}

// fromOne reads a table, a derived table, a reader of files or a join.
func (p *statements) fromOne(node *pg.Node) From {
	switch n := node.GetNode().(type) {
	case *pg.Node_RangeVar:
		return p.table(n.RangeVar, p.tableAlias(n.RangeVar.GetAlias()))
	case *pg.Node_RangeSubselect:
		return p.derived(n.RangeSubselect, p.tableAlias(n.RangeSubselect.GetAlias()))
	case *pg.Node_RangeFunction:
		return p.reader(n.RangeFunction, p.tableAlias(n.RangeFunction.GetAlias()))
	case *pg.Node_JoinExpr:
		return p.join(n.JoinExpr)
	}
	p.unsupportedClause(pg.Token_FROM, "this FROM")
	return nil
}

// tableAlias returns the names that a table and its columns are given.
func (p *statements) tableAlias(a *pg.Alias) Alias {
	if a != nil {
		p.take(a, "aliasname", "colnames")
	}
	return Alias{a.GetAliasname(), words(a.GetColnames())}
}

// recurringSchema qualifies, in the step of a statement of WITH RECURSIVE with USING KEY, the name of all its rows.
const recurringSchema = "recurring"

// table reads a name, or a pattern of files in quotes.
func (p *statements) table(v *pg.RangeVar, alias Alias) From {
	p.take(v, "catalogname", "schemaname", "relname", "alias")
	at := p.offset(v.GetLocation())
	if p.marks[at] == markFile {
		name := p.stringToken(at)
		if name == "" {
			p.fail(at, "want the name of a file in quotes")
		}
		return &Files{At: at, Patterns: []string{name}, Alias: alias}
	}
	if v.GetSchemaname() == "" {
		name := p.spelled(at, v.GetRelname())
		if cte := p.ctes[strings.ToLower(name)]; cte != nil {
			alias.Name = cmp.Or(alias.Name, name)
			if n := len(alias.Columns); n < len(cte.columns) {
				alias.Columns = append(alias.Columns, cte.columns[n:]...)
			}
			if cte.within != nil {
				cte.within.uses++
				return &Iteration{At: at, Of: cte.within, Alias: alias}
			}
			cte.with.Uses++
			return &Derived{At: at, Query: cte.query, Alias: alias, With: cte.with}
		}
		return &Table{At: at, Name: name, Alias: alias, IsItself: slices.Contains(p.within, strings.ToLower(name))}
	}
	parts := []string{v.GetSchemaname(), v.GetRelname()}
	if catalog := v.GetCatalogname(); catalog != "" {
		parts = slices.Insert(parts, 0, catalog)
	}
	parts = p.spelledParts(at, parts)
	last := len(parts) - 1
	cte := p.ctes[strings.ToLower(parts[last])]
	if strings.EqualFold(parts[0], recurringSchema) && last == 1 && cte != nil {
		if cte.within == nil || cte.key == nil {
			p.fail(at, "recurring.%s stands in the step of WITH RECURSIVE %[1]s ... USING KEY alone", parts[last])
		}
		cte.within.uses++
		alias.Name = cmp.Or(alias.Name, parts[last])
		if n := len(alias.Columns); n < len(cte.columns) {
			alias.Columns = append(alias.Columns, cte.columns[n:]...)
		}
		return &Iteration{At: at, Of: cte.within, Alias: alias, Whole: true}
	}
	return &Table{At: at, Name: parts[last], In: parts[:last], Alias: alias}
}

// stringToken returns the string that begins at a place, or "".
func (p *statements) stringToken(at int) string {
	written, ok := strings.CutPrefix(p.word(p.tokens[p.at[int32(at)]]), "'")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(written, "'"), "''", "'")
}

func (p *statements) derived(r *pg.RangeSubselect, alias Alias) From {
	p.take(r, "subquery", "alias", "lateral") // which is so without the word, too
	f := &Derived{Query: p.statement(r.GetSubquery().GetSelectStmt(), p.ctes), Alias: alias}
	switch of := f.Query.From.(type) {
	case *SetOperation, *Values:
		f.At = of.Place()
	default:
		if len(f.Query.Items) > 0 {
			f.At = f.Query.Items[0].At
		}
	}
	return f
}

// reader reads a call of read_csv, read_json, read_parquet, delta_scan or iceberg_scan, or of range or generate_series.
func (p *statements) reader(r *pg.RangeFunction, alias Alias) From {
	var call *pg.FuncCall
	if list := r.GetFunctions(); len(list) == 1 && len(list[0].GetList().GetItems()) > 0 {
		call = list[0].GetList().GetItems()[0].GetFuncCall()
	}
	if call == nil {
		p.unsupportedClause(pg.Token_FROM, "this FROM")
	}
	p.take(r, "functions", "alias", "lateral") // which is so without the word, too
	p.take(call, "funcname", "args")
	at := p.offset(call.GetLocation())
	if len(call.GetFuncname()) > 1 {
		p.fail(at, "not supported: a function's name in parts")
	}
	f := &Files{At: at, Function: lastName(call.GetFuncname()), Alias: alias}
	switch f.Function {
	case "range", "generate_series":
		return p.series(call, alias)
	case "read_csv_auto":
		f.Function = "read_csv"
	case "parquet_scan":
		f.Function = "read_parquet"
	case "read_json_auto", "read_ndjson", "read_ndjson_auto":
		f.Function = "read_json"
	case "read_csv", "read_json", "read_parquet", "delta_scan", "iceberg_scan", RollupCall:
	default:
		const known = "read_csv, read_json, read_parquet, delta_scan, iceberg_scan, rollup, range, generate_series " +
			"and unnest"
		p.fail(at, "no table function is named %s; there are %s", f.Function, known)
	}
	for i, arg := range call.GetArgs() {
		name, value := "", arg
		if named := arg.GetNamedArgExpr(); named != nil {
			p.take(named, "arg", "name")
			name, value = named.GetName(), named.GetArg()
		} else if e := arg.GetAExpr(); isEquation(e) && e.GetLexpr().GetColumnRef() != nil {
			name, value = p.columnRef(e.GetLexpr().GetColumnRef()).Name, e.GetRexpr()
			p.take(e, "kind", "name", "lexpr", "rexpr")
		}
		o, err := p.option(f.Function, name, value)
		switch {
		case i == 0 && name == "":
			if f.Patterns = o.Texts(); err != nil || len(f.Patterns) == 0 {
				p.fail(at, "%s: the first argument is a file's name in quotes, or a list of them", f.Function)
			}
		case err != nil:
			panic(err)
		case name == "":
			p.fail(o.At, "%s: want name = constant", f.Function)
		default:
			f.Options = append(f.Options, o)
		}
	}
	if len(f.Patterns) == 0 || f.Patterns[0] == "" {
		p.fail(at, "%s: the first argument is a file's name in quotes", f.Function)
	}
	return f
}

// seriesOfRows returns what range stands for of columns of the tables before it: rows of a list.
func (p *statements) seriesOfRows(f *Series) From {
	u := &Unnest{At: f.At, List: callAt(f.At, f.Function, f.Args...), Name: f.Function, Alias: f.Function}
	if f.Alias.Name != "" {
		u.Alias, u.Name = f.Alias.Name, f.Alias.Name
	}
	if len(f.Alias.Columns) > 0 {
		u.Name = f.Alias.Columns[0]
	}
	return u
}

// series reads range(first, stop, step) and generate_series, which has stop, too.
func (p *statements) series(call *pg.FuncCall, alias Alias) From {
	f := &Series{At: p.offset(call.GetLocation()), Function: lastName(call.GetFuncname()), Args: p.exprs(call.GetArgs())}
	f.Alias = alias
	if n := len(f.Args); n < 1 || n > 3 {
		p.fail(f.At, "%s takes 1 to 3 arguments, not %d: %[1]s([first,] stop [, step])", f.Function, n)
	}
	for _, x := range f.Args {
		if x.First(func(x *expr.Expr) bool { return x.Op == expr.OpColumn }) != nil {
			return p.seriesOfRows(f)
		}
		read := x.First(func(x *expr.Expr) bool { return x.Op != expr.OpConstant && x.Op != expr.OpCall })
		if read != nil && read.Op != expr.OpParameter && read.Op != expr.OpCast {
			p.fail(max(read.At, f.At), "not supported: %s in %s, which takes constants and columns", read, f.Function)
		}
	}
	return f
}

// isEquation says whether an expression is a = b.
func isEquation(e *pg.A_Expr) bool {
	return e.GetKind() == pg.A_Expr_Kind_AEXPR_OP && lastName(e.GetName()) == "="
}

// isStruct says whether a call is what a struct is parsed as.
func isStruct(call *pg.FuncCall) bool {
	return len(call.GetFuncname()) == 1 && lastName(call.GetFuncname()) == structCall
}

// option reads an argument of read_csv.
func (p *statements) option(function, name string, value *pg.Node) (o Option, err error) {
	defer caught(&o, &err)
	o.Name = strings.ToLower(name)
	constant := func(node *pg.Node) *expr.Expr {
		x := p.expr(node)
		if x.Op != expr.OpConstant {
			p.fail(x.At, "%s: want name = constant", function)
		}
		return x
	}
	var nodes []*pg.Node
	if list := value.GetAArrayExpr(); list != nil {
		p.take(list, "elements")
		o.At, nodes = p.offset(list.GetLocation()), list.GetElements()
	} else if call := value.GetFuncCall(); isStruct(call) {
		p.take(call, "funcname", "args")
		o.At = p.offset(call.GetLocation())
		args := call.GetArgs()
		if len(args)%2 != 0 {
			p.fail(o.At, "%s: want {'name': constant, ...}", function)
		}
		for i := 0; i < len(args); i += 2 {
			var key string
			if ref := args[i].GetColumnRef(); ref != nil {
				key = p.columnRef(ref).Name
			} else if x := constant(args[i]); x.Type.ID != expr.Text {
				p.fail(o.At, "%s: want {'name': constant, ...}, not %s for a name", function, x)
			} else {
				key, _ = x.Value.(string)
			}
			o.Names, nodes = append(o.Names, key), append(nodes, args[i+1])
		}
	} else {
		o.Value = constant(value)
		o.At = o.Value.At
	}
	for _, node := range nodes {
		o.List = append(o.List, constant(node))
	}
	return o, nil
}

func (p *statements) items(list []*pg.Node) []Item {
	items := make([]Item, len(list))
	stars := map[int]*starred{} // by the place of the item
	for i, node := range list {
		target := node.GetResTarget()
		it := &items[i]
		p.take(target, "name", "val")
		it.At = p.offset(target.GetLocation())
		if f := target.GetVal().GetColumnRef().GetFields(); len(f) > 0 && f[len(f)-1].GetAStar() != nil {
			it.Of = words(f[:len(f)-1])
			p.take(target.GetVal().GetColumnRef(), "fields")
			if target.GetName() != "" {
				p.fail(it.At, "not supported: a name behind *")
			}
			if of := p.starOf(it.At); of != nil {
				stars[i] = of
			}
			continue
		}
		if it.Expr = p.expr(target.GetVal()); it.Expr.At < 0 {
			it.Expr.At = it.At
		}
		if it.Name = p.texts[it.Expr]; target.GetName() != "" {
			it.Name = p.alias(it.At, target.GetName())
		}
	}
	if len(stars) == 0 {
		return items
	}
	var kept []Item
	for i := 0; i < len(items); i++ {
		it := items[i]
		if of := stars[i]; of != nil {
			p.takeReplaced(&it, of, items[i+1:i+1+of.replaced])
			i += of.replaced
		}
		kept = append(kept, it)
	}
	return kept
}

// itemEnds are the tokens that may stand behind an item.
var itemEnds = []pg.Token{pg.Token_ASCII_44, pg.Token_ASCII_59, pg.Token_ASCII_41, pg.Token_FROM, pg.Token_WHERE,
	pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT, pg.Token_UNION, pg.Token_INTERSECT,
	pg.Token_EXCEPT}

// alias returns the alias, as it is spelled, of the item that begins at a place: its last word.
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
		if mark := p.marks[int(p.token(i+1).Start)]; mark == markQualify || mark == markSample ||
			p.inserted[int(p.token(i+1).Start)] != "" {
			next = pg.Token_ASCII_44
		}
		if next != 0 && (depth != 0 || !slices.Contains(itemEnds, next)) {
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

func (p *statements) groupBy(s *Select, clause []*pg.Node) {
	for _, node := range clause {
		if set := node.GetGroupingSet(); set != nil {
			at := p.offset(set.GetLocation())
			s.GroupBy = append(s.GroupBy, GroupElement{Sets: p.groupingSets(set, at), At: at})
			continue
		}
		x := p.expr(node)
		if p.marks[x.At] == markGroupAll {
			s.GroupAll = true
			continue
		}
		s.GroupBy = append(s.GroupBy, GroupElement{Expr: x, At: x.At})
	}
	if s.GroupAll && len(s.GroupBy) > 0 {
		p.fail(s.GroupBy[0].At, "not supported: GROUP BY ALL beside other keys")
	}
}

// setsMax bounds the grouping sets of a statement: each is an aggregation of its own.
const setsMax = 64

// groupingSets returns the sets that GROUPING SETS, ROLLUP or CUBE stand for.
func (p *statements) groupingSets(set *pg.GroupingSet, at int) [][]*expr.Expr {
	p.take(set, "kind", "content")
	var columns [][]*expr.Expr // an element may be a list in parentheses
	var sets [][]*expr.Expr
	for _, node := range set.GetContent() {
		if inner := node.GetGroupingSet(); inner != nil {
			sets = append(sets, p.groupingSets(inner, at)...)
			continue
		}
		list := []*pg.Node{node}
		if row := node.GetRowExpr(); row != nil {
			p.take(row, "args")
			list = row.GetArgs()
		}
		group := p.exprs(list)
		columns = append(columns, group)
		sets = append(sets, group)
	}
	switch set.GetKind() {
	case pg.GroupingSetKind_GROUPING_SET_SETS:
	case pg.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]*expr.Expr{{}}
	case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
		if len(columns) >= setsMax {
			p.fail(at, "not supported: ROLLUP of more than %d columns, which are %d sets", setsMax-1, setsMax)
		}
		sets = nil
		for n := len(columns); n >= 0; n-- {
			sets = append(sets, slices.Concat(columns[:n]...))
		}
	case pg.GroupingSetKind_GROUPING_SET_CUBE:
		if len(columns) > 6 {
			p.fail(at, "not supported: CUBE of more than 6 columns, which are %d sets at most", setsMax)
		}
		sets = nil
		for mask := 1<<len(columns) - 1; mask >= 0; mask-- {
			var chosen [][]*expr.Expr
			for i := range columns {
				if mask>>(len(columns)-1-i)&1 != 0 {
					chosen = append(chosen, columns[i])
				}
			}
			sets = append(sets, slices.Concat(chosen...))
		}
	default:
		p.fail(at, "not supported: these grouping sets")
	}
	if len(sets) > setsMax {
		p.fail(at, "not supported: %d grouping sets, more than %d", len(sets), setsMax)
	}
	return sets
}

func (p *statements) orderBy(s *Select, clause []*pg.Node) {
	for _, node := range clause {
		o := p.order(node)
		if p.marks[o.Expr.At] == markOrderAll {
			s.OrderAll = &o
		} else {
			s.OrderBy = append(s.OrderBy, o)
		}
	}
}

// order reads an element of ORDER BY.
func (p *statements) order(node *pg.Node) Order {
	by := node.GetSortBy()
	p.take(by, "node", "sortby_dir", "sortby_nulls")
	x := p.compared([]*pg.Node{by.GetNode()})[0]
	return Order{Expr: x, Descending: by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC,
		NullsFirst: by.GetSortbyNulls() == pg.SortByNulls_SORTBY_NULLS_FIRST}
}
