//go:build cgo

package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nearest"
)

// optional reads an expression that may be missing.
func (p *statements) optional(node *pg.Node) (*expr.Expr, error) {
	if node == nil {
		return nil, nil
	}
	return p.expr(node)
}

// exprAt reads an expression that begins at a place, for those whose node does not say.
func (p *statements) exprAt(node *pg.Node, at int) (*expr.Expr, error) {
	x, err := p.expr(node)
	if err == nil && x.At < 0 {
		x.At = at
	}
	return x, err
}

func (p *statements) exprs(nodes []*pg.Node) ([]*expr.Expr, error) {
	list := make([]*expr.Expr, 0, len(nodes))
	for _, node := range nodes {
		x, err := p.expr(node)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// call reads the arguments of a function or operator.
func (p *statements) call(name string, at int, nodes ...*pg.Node) (*expr.Expr, error) {
	args, err := p.exprs(nodes)
	if err != nil {
		return nil, err
	}
	return &expr.Expr{Op: expr.OpCall, Name: name, Args: args, At: at}, nil
}

func (p *statements) expr(node *pg.Node) (*expr.Expr, error) {
	switch n := node.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return p.columnRef(n.ColumnRef)
	case *pg.Node_AConst:
		return p.constant(n.AConst)
	case *pg.Node_TypeCast:
		return p.typeCast(n.TypeCast)
	case *pg.Node_AExpr:
		return p.operator(n.AExpr)
	case *pg.Node_BoolExpr:
		name := map[pg.BoolExprType]string{pg.BoolExprType_AND_EXPR: "and", pg.BoolExprType_OR_EXPR: "or", pg.BoolExprType_NOT_EXPR: "not"}[n.BoolExpr.GetBoolop()]
		return p.call(name, p.offset(n.BoolExpr.GetLocation()), n.BoolExpr.GetArgs()...)
	case *pg.Node_NullTest:
		name := "is null"
		if n.NullTest.GetNulltesttype() == pg.NullTestType_IS_NOT_NULL {
			name = "is not null"
		}
		return p.call(name, p.offset(n.NullTest.GetLocation()), n.NullTest.GetArg())
	case *pg.Node_BooleanTest:
		return p.truthTest(n.BooleanTest)
	case *pg.Node_CaseExpr:
		return p.caseExpr(n.CaseExpr)
	case *pg.Node_CoalesceExpr:
		return p.call("coalesce", p.offset(n.CoalesceExpr.GetLocation()), n.CoalesceExpr.GetArgs()...)
	case *pg.Node_MinMaxExpr:
		name := "greatest"
		if n.MinMaxExpr.GetOp() == pg.MinMaxOp_IS_LEAST {
			name = "least"
		}
		return p.call(name, p.offset(n.MinMaxExpr.GetLocation()), n.MinMaxExpr.GetArgs()...)
	case *pg.Node_FuncCall:
		return p.funcCall(n.FuncCall)
	case *pg.Node_GroupingFunc:
		return p.call("grouping", p.offset(n.GroupingFunc.GetLocation()), n.GroupingFunc.GetArgs()...)
	}
	return nil, p.errorf(p.offset(locationOf(node)), "not supported: %s", describe(node))
}

// locationOf returns the place of a node in the parsed text, or 0 of a node without.
func locationOf(node *pg.Node) int32 {
	if node == nil {
		return 0
	}
	m := node.ProtoReflect()
	if one := m.WhichOneof(m.Descriptor().Oneofs().ByName("node")); one != nil {
		inner := m.Get(one).Message()
		if field := inner.Descriptor().Fields().ByName("location"); field != nil {
			return max(int32(inner.Get(field).Int()), 0)
		}
	}
	return 0
}

// checkQualifier refuses a name in parts whose first is not the table's.
func (p *statements) checkQualifier(ref *pg.ColumnRef) error {
	at := p.offset(ref.GetLocation())
	fields := ref.GetFields()
	switch {
	case len(fields) == 1:
		return nil
	case len(fields) == 2:
		for _, q := range p.qualifiers {
			if strings.EqualFold(q, fields[0].GetString_().GetSval()) {
				return nil
			}
		}
	}
	return p.errorf(at, `not supported: a name in parts; a column with a dot in its name is written "a.b"`)
}

func (p *statements) columnRef(ref *pg.ColumnRef) (*expr.Expr, error) {
	if err := p.checkQualifier(ref); err != nil {
		return nil, err
	}
	at := p.offset(ref.GetLocation())
	fields := ref.GetFields()
	last := fields[len(fields)-1]
	if last.GetAStar() != nil {
		return nil, p.errorf(at, "not supported: * here; name the columns")
	}
	place := at
	if len(fields) == 2 { // table . column
		if i, ok := p.at[int32(at)]; ok {
			place = int(p.token(i + 2).Start)
		}
	}
	return &expr.Expr{Op: expr.OpColumn, Name: p.spelled(place, last.GetString_().GetSval()), At: at}, nil
}

func (p *statements) constant(c *pg.A_Const) (*expr.Expr, error) {
	at := p.offset(c.GetLocation())
	var x *expr.Expr
	switch v := c.GetVal().(type) {
	case *pg.A_Const_Ival:
		x = expr.Constant(int64(v.Ival.GetIval()))
	case *pg.A_Const_Fval:
		number, err := expr.Number(v.Fval.GetFval())
		if err != nil {
			return nil, p.errorf(at, "%s: no number", v.Fval.GetFval())
		}
		x = number
	case *pg.A_Const_Boolval:
		x = expr.Constant(v.Boolval.GetBoolval())
	case *pg.A_Const_Sval:
		x = expr.Constant(v.Sval.GetSval())
	case *pg.A_Const_Bsval:
		return nil, p.errorf(at, "not supported: a bit string")
	default:
		x = expr.Constant(nil)
	}
	x.At = at
	return x, nil
}

func (p *statements) typeCast(c *pg.TypeCast) (*expr.Expr, error) {
	arg, err := p.expr(c.GetArg())
	if err != nil {
		return nil, err
	}
	typ, err := p.typeName(c.GetTypeName())
	if err != nil {
		return nil, err
	}
	x := &expr.Expr{Op: expr.OpCast, Type: typ, Args: []*expr.Expr{arg}, At: arg.At}
	if c.GetLocation() >= 0 {
		if at := p.offset(c.GetLocation()); p.marks[at] == markTryCast {
			x.Op, x.At = expr.OpTryCast, at
		}
	}
	return x, nil
}

// typeName returns a type as it is spelled: float is DuckDB's, of 4 bytes, and not PostgreSQL's.
func (p *statements) typeName(t *pg.TypeName) (expr.Type, error) {
	at := p.offset(t.GetLocation())
	if len(t.GetArrayBounds()) > 0 {
		return expr.Type{}, p.errorf(at, "not supported: a type of lists")
	}
	names := t.GetNames()
	name := strings.ToLower(names[len(names)-1].GetString_().GetSval())
	if i, ok := p.at[int32(at)]; ok {
		switch s := strings.ToLower(p.word(p.tokens[i])); s {
		case "float", "int8", "real", "int1":
			name = s
		}
	}
	var params []int
	for _, m := range t.GetTypmods() {
		params = append(params, int(m.GetAConst().GetIval().GetIval()))
	}
	if name == "interval" {
		params = nil
	}
	typ, err := expr.ParseType(name, params...)
	if err != nil {
		message := err.Error()
		if strings.HasPrefix(message, "no type") {
			message += nearest.Offer(name, expr.TypeNames())
		}
		return typ, p.errorf(at, "%s", message)
	}
	return typ, nil
}

// operatorNames are PostgreSQL's names for operators that have words.
var operatorNames = map[string]string{"~~": "like", "!~~": "not like", "~~*": "ilike", "!~~*": "not ilike", "!=": "<>"}

func (p *statements) operator(e *pg.A_Expr) (*expr.Expr, error) {
	at := p.offset(e.GetLocation())
	sign := e.GetName()[len(e.GetName())-1].GetString_().GetSval()
	switch e.GetKind() {
	case pg.A_Expr_Kind_AEXPR_IN:
		x, err := p.call("in", at, append([]*pg.Node{e.GetLexpr()}, e.GetRexpr().GetList().GetItems()...)...)
		return negatedIf(x, sign == "<>"), err
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		x, err := p.call("between", at, append([]*pg.Node{e.GetLexpr()}, e.GetRexpr().GetList().GetItems()...)...)
		return negatedIf(x, e.GetKind() == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN), err
	case pg.A_Expr_Kind_AEXPR_DISTINCT:
		return p.call("is distinct from", at, e.GetLexpr(), e.GetRexpr())
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return p.call("is not distinct from", at, e.GetLexpr(), e.GetRexpr())
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return p.call("nullif", at, e.GetLexpr(), e.GetRexpr())
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return p.like(e, operatorNames[sign], at)
	case pg.A_Expr_Kind_AEXPR_OP:
		return p.plainOperator(e, sign, at)
	}
	return nil, p.errorf(at, "not supported: %s here", strings.TrimSpace(sign))
}

func negatedIf(x *expr.Expr, negated bool) *expr.Expr {
	if !negated || x == nil {
		return x
	}
	return &expr.Expr{Op: expr.OpCall, Name: "not", Args: []*expr.Expr{x}, At: x.At}
}

func (p *statements) plainOperator(e *pg.A_Expr, sign string, at int) (*expr.Expr, error) {
	if p.marks[at] == markIntDiv && sign == "/" {
		sign = "//"
	}
	negated := false
	switch sign {
	case "!=":
		sign = "<>"
	case "!~":
		sign, negated = "~", true
	case "~*", "!~*":
		x, err := p.call("regexp_matches", at, e.GetLexpr(), e.GetRexpr())
		if x != nil {
			x.Args = append(x.Args, expr.Constant("i"))
		}
		return negatedIf(x, sign == "!~*"), err
	case "~~", "!~~", "~~*", "!~~*":
		return p.like(e, operatorNames[sign], at)
	}
	if !expr.IsFunction(sign) {
		return nil, p.errorf(at, "not supported: operator %s", sign)
	}
	if e.GetLexpr() == nil {
		if sign == "~" {
			return nil, p.errorf(at, "not supported: operator ~ of one operand")
		}
		return p.call(sign, at, e.GetRexpr())
	}
	if e.GetRexpr() == nil {
		return nil, p.errorf(at, "not supported: operator %s behind its operand", sign)
	}
	x, err := p.call(sign, at, e.GetLexpr(), e.GetRexpr())
	return negatedIf(x, negated), err
}

// like reads LIKE and ILIKE, whose escape character comes as a call around the pattern.
func (p *statements) like(e *pg.A_Expr, name string, at int) (*expr.Expr, error) {
	plain := strings.TrimPrefix(name, "not ")
	args := []*pg.Node{e.GetLexpr(), e.GetRexpr()}
	if call := e.GetRexpr().GetFuncCall(); call != nil {
		parts := call.GetFuncname()
		if parts[len(parts)-1].GetString_().GetSval() == "like_escape" && len(parts) == 2 {
			args = append(args[:1:1], call.GetArgs()...)
		}
	}
	x, err := p.call(plain, at, args...)
	return negatedIf(x, plain != name), err
}

func (p *statements) truthTest(t *pg.BooleanTest) (*expr.Expr, error) {
	name := map[pg.BoolTestType]string{
		pg.BoolTestType_IS_TRUE: "is true", pg.BoolTestType_IS_NOT_TRUE: "is not true",
		pg.BoolTestType_IS_FALSE: "is false", pg.BoolTestType_IS_NOT_FALSE: "is not false",
		pg.BoolTestType_IS_UNKNOWN: "is null", pg.BoolTestType_IS_NOT_UNKNOWN: "is not null",
	}[t.GetBooltesttype()]
	return p.call(name, p.offset(t.GetLocation()), t.GetArg())
}

// caseExpr reads CASE. With an operand, its conditions are comparisons with that.
func (p *statements) caseExpr(c *pg.CaseExpr) (*expr.Expr, error) {
	operand, err := p.optional(c.GetArg())
	if err != nil {
		return nil, err
	}
	x := &expr.Expr{Op: expr.OpCall, Name: "case", At: p.offset(c.GetLocation())}
	for _, node := range c.GetArgs() {
		when := node.GetCaseWhen()
		condition, err := p.expr(when.GetExpr())
		if err != nil {
			return nil, err
		}
		if operand != nil {
			condition = &expr.Expr{Op: expr.OpCall, Name: "=", Args: []*expr.Expr{operand, condition}, At: condition.At}
		}
		result, err := p.expr(when.GetResult())
		if err != nil {
			return nil, err
		}
		x.Args = append(x.Args, condition, result)
	}
	if c.GetDefresult() != nil {
		last, err := p.expr(c.GetDefresult())
		if err != nil {
			return nil, err
		}
		x.Args = append(x.Args, last)
	}
	return x, nil
}

// syntaxNames are the functions that SQL's own forms of calls are parsed to.
var syntaxNames = map[string]string{"btrim": "trim", "position": "strpos", "extract": "date_part"}

// funcCall reads a call: of an aggregate function if one has the name, else of a function.
func (p *statements) funcCall(call *pg.FuncCall) (*expr.Expr, error) {
	at := p.offset(call.GetLocation())
	parts := call.GetFuncname()
	name := parts[len(parts)-1].GetString_().GetSval()
	if len(parts) > 1 && call.GetFuncformat() == pg.CoercionForm_COERCE_SQL_SYNTAX {
		if known, ok := syntaxNames[name]; ok {
			name = known
		}
	} else if len(parts) > 1 {
		return nil, p.errorf(at, "not supported: a function's name in parts")
	}
	if name == structCall {
		return nil, p.errorf(at, "not supported: a struct here")
	}
	if !expr.IsFunction(name) {
		if call.GetAggStar() || isAggregate(name) {
			return p.aggregateCall(call, name, at)
		}
	}
	switch {
	case call.GetAggDistinct() || call.GetAggStar() || call.GetAggFilter() != nil || len(call.GetAggOrder()) > 0:
		return nil, p.errorf(at, "%s is no aggregate function", name)
	case call.GetFuncVariadic():
		return nil, p.errorf(at, "not supported: VARIADIC")
	}
	return p.call(name, at, call.GetArgs()...)
}

func isAggregate(name string) bool {
	if _, ok := orderedSets[name]; ok {
		return true
	}
	_, one := query.LookupFunc(name, false)
	_, two := query.LookupFunc(name, true)
	return one || two
}

// aggregateCall reads a call of an aggregate function. The column of an ordered set comes first.
func (p *statements) aggregateCall(call *pg.FuncCall, name string, at int) (*expr.Expr, error) {
	args := call.GetArgs()
	switch {
	case call.GetFuncVariadic():
		return nil, p.errorf(at, "not supported: VARIADIC")
	case call.GetAggStar() && name != "count":
		return nil, p.errorf(at, "not supported: %s(*); only count has it", name)
	case call.GetAggStar() || name == "count" && len(args) == 0:
		name = "count_star"
	case call.GetAggWithinGroup():
		f, ok := orderedSets[name]
		order := call.GetAggOrder()
		by := order[0].GetSortBy()
		switch {
		case !ok:
			return nil, p.errorf(at, "not supported: %s with WITHIN GROUP", name)
		case len(order) > 1 || by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC || by.GetSortbyDir() == pg.SortByDir_SORTBY_USING ||
			by.GetSortbyNulls() != pg.SortByNulls_SORTBY_NULLS_DEFAULT:
			return nil, p.errorf(p.findToken(pg.Token_ORDER, at), "not supported: this order; want one column, ascending")
		}
		name, args = f.String(), append([]*pg.Node{by.GetNode()}, args...)
	}
	x, err := p.call(name, at, args...)
	if err != nil {
		return nil, err
	}
	x.Op, x.Distinct = expr.OpAggregate, call.GetAggDistinct()
	if !call.GetAggWithinGroup() {
		for _, node := range call.GetAggOrder() {
			o, err := p.order(node)
			if err != nil {
				return nil, err
			}
			x.OrderBy = append(x.OrderBy, o)
		}
	}
	x.Filter, err = p.optional(call.GetAggFilter())
	return x, err
}

// findToken returns the place of the first token of a kind from a place on, or that place.
func (p *statements) findToken(kind pg.Token, at int) int {
	for _, t := range p.tokens {
		if int(t.Start) >= at && t.Token == kind {
			return int(t.Start)
		}
	}
	return at
}

// orderedSets are the functions whose column stands in WITHIN GROUP (ORDER BY column).
var orderedSets = map[string]query.Func{
	"percentile_cont": query.QuantileCont,
	"percentile_disc": query.QuantileDisc,
	"mode":            query.Mode,
}

// describe names the form of an expression.
func describe(expr *pg.Node) string {
	switch n := expr.GetNode().(type) {
	case *pg.Node_AConst:
		return "a constant"
	case *pg.Node_FuncCall:
		return "a function here"
	case *pg.Node_ColumnRef:
		return "a column here"
	case *pg.Node_AExpr:
		if name := n.AExpr.GetName(); len(name) == 1 {
			return "operator " + name[0].GetString_().GetSval()
		}
		return "an operator"
	case *pg.Node_TypeCast:
		return "a cast"
	case *pg.Node_CaseExpr:
		return "CASE"
	case *pg.Node_AArrayExpr:
		return "a list here"
	case *pg.Node_SubLink:
		return "a subquery"
	case *pg.Node_SqlvalueFunction:
		return "a word of SQL (a column of that name is written in double quotes)"
	}
	return "an expression"
}
