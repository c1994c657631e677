//go:build cgo

package sql

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nearest"
)

// optional reads an expression that may be missing.
func (p *statements) optional(node *pg.Node) *expr.Expr {
	if node == nil {
		return nil
	}
	return p.expr(node)
}

func (p *statements) exprs(nodes []*pg.Node) []*expr.Expr {
	list := make([]*expr.Expr, len(nodes))
	for i, node := range nodes {
		list[i] = p.expr(node)
	}
	return list
}

// call reads the arguments of a function or operator at a place of the parsed text.
func (p *statements) call(name string, location int32, nodes ...*pg.Node) *expr.Expr {
	return callAt(p.offset(location), name, p.exprs(nodes)...)
}

// callAt returns the call of a function or operator that stands at a byte of the text.
func callAt(at int, name string, args ...*expr.Expr) *expr.Expr {
	return &expr.Expr{Op: expr.OpCall, Name: name, Args: args, At: at}
}

// boolNames are the names of the operators of truth values.
var boolNames = map[pg.BoolExprType]string{
	pg.BoolExprType_AND_EXPR: "and", pg.BoolExprType_OR_EXPR: "or", pg.BoolExprType_NOT_EXPR: "not",
}

// nullNames are the names of the tests for NULL.
var nullNames = map[pg.NullTestType]string{
	pg.NullTestType_IS_NULL: "is null", pg.NullTestType_IS_NOT_NULL: "is not null",
}

// truthNames are the names of the tests of truth values.
var truthNames = map[pg.BoolTestType]string{
	pg.BoolTestType_IS_TRUE: "is true", pg.BoolTestType_IS_NOT_TRUE: "is not true",
	pg.BoolTestType_IS_FALSE: "is false", pg.BoolTestType_IS_NOT_FALSE: "is not false",
	pg.BoolTestType_IS_UNKNOWN: "is null", pg.BoolTestType_IS_NOT_UNKNOWN: "is not null",
}

// extremeNames are the names of the functions of several values that have a syntax of their own.
var extremeNames = map[pg.MinMaxOp]string{pg.MinMaxOp_IS_GREATEST: "greatest", pg.MinMaxOp_IS_LEAST: "least"}

func (p *statements) expr(node *pg.Node) *expr.Expr {
	p.look()
	switch n := node.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return p.columnRef(n.ColumnRef)
	case *pg.Node_AIndirection:
		return p.field(n.AIndirection)
	case *pg.Node_AConst:
		return p.constant(n.AConst)
	case *pg.Node_TypeCast:
		return p.typeCast(n.TypeCast)
	case *pg.Node_AExpr:
		return p.operator(n.AExpr)
	case *pg.Node_BoolExpr:
		p.take(n.BoolExpr, "boolop", "args")
		return p.call(boolNames[n.BoolExpr.GetBoolop()], n.BoolExpr.GetLocation(), n.BoolExpr.GetArgs()...)
	case *pg.Node_NullTest:
		p.take(n.NullTest, "nulltesttype", "arg")
		return p.call(nullNames[n.NullTest.GetNulltesttype()], n.NullTest.GetLocation(), n.NullTest.GetArg())
	case *pg.Node_BooleanTest:
		p.take(n.BooleanTest, "booltesttype", "arg")
		return p.call(truthNames[n.BooleanTest.GetBooltesttype()], n.BooleanTest.GetLocation(), n.BooleanTest.GetArg())
	case *pg.Node_CaseExpr:
		return p.caseExpr(n.CaseExpr)
	case *pg.Node_CoalesceExpr:
		p.take(n.CoalesceExpr, "args")
		return p.call("coalesce", n.CoalesceExpr.GetLocation(), n.CoalesceExpr.GetArgs()...)
	case *pg.Node_MinMaxExpr:
		p.take(n.MinMaxExpr, "op", "args")
		return p.call(extremeNames[n.MinMaxExpr.GetOp()], n.MinMaxExpr.GetLocation(), n.MinMaxExpr.GetArgs()...)
	case *pg.Node_FuncCall:
		return p.funcCall(n.FuncCall)
	case *pg.Node_AArrayExpr:
		return p.list(n.AArrayExpr)
	case *pg.Node_RowExpr:
		return p.row(n.RowExpr)
	case *pg.Node_ParamRef:
		p.take(n.ParamRef, "number")
		return &expr.Expr{Op: expr.OpParameter, Value: int64(n.ParamRef.GetNumber()), At: p.offset(n.ParamRef.GetLocation())}
	case *pg.Node_SubLink:
		return p.subquery(n.SubLink)
	case *pg.Node_SqlvalueFunction:
		return p.momentary(n.SqlvalueFunction)
	case *pg.Node_GroupingFunc:
		p.take(n.GroupingFunc, "args")
		return p.call("grouping", n.GroupingFunc.GetLocation(), n.GroupingFunc.GetArgs()...)
	}
	if x := p.jsonCall(node); x != nil {
		return x
	}
	p.fail(p.offset(locationOf(node)), "not supported: %s", describe(node))
	return nil
}

// locationOf returns the place of a node in the parsed text, or 0 if the node has none.
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

func (p *statements) columnRef(ref *pg.ColumnRef) *expr.Expr {
	names := p.names(ref)
	if x := p.placed(p.offset(ref.GetLocation())); x != nil {
		return x
	}
	return p.column(p.offset(ref.GetLocation()), names, len(names) > 1)
}

// column returns the column that a name in parts leads to, which may begin with a table's name.
func (p *statements) column(at int, path []string, qualified bool) *expr.Expr {
	x := &expr.Expr{Op: expr.OpColumn, Name: strings.Join(path, "."), At: at}
	if len(path) > 1 {
		x.Path, x.Qualified = path, qualified
	}
	return x
}

// names returns the parts of a name, as they are spelled.
func (p *statements) names(ref *pg.ColumnRef) []string {
	p.take(ref, "fields")
	at := p.offset(ref.GetLocation())
	names := make([]string, len(ref.GetFields()))
	for i, field := range ref.GetFields() {
		if field.GetAStar() != nil {
			p.fail(at, "not supported: * here; name the columns")
		}
		names[i] = field.GetString_().GetSval()
	}
	return p.spelledParts(at, names)
}

// field reads the field of a struct that is written as (a).b or a['b'], and characters of a string.
func (p *statements) field(in *pg.A_Indirection) *expr.Expr {
	p.take(in, "arg", "indirection")
	at, steps := p.offset(locationOf(in.GetArg())), in.GetIndirection()
	var x *expr.Expr
	if ref := in.GetArg().GetColumnRef(); ref != nil {
		at = p.offset(ref.GetLocation())
		path := p.names(ref)
		qualified := len(path) > 1
		for ; len(steps) > 0; steps = steps[1:] {
			name := steps[0].GetString_().GetSval()
			if index := steps[0].GetAIndices(); index != nil {
				key := index.GetUidx().GetAConst()
				if key.GetSval() == nil || index.GetIsSlice() {
					break
				}
				p.take(index, "uidx")
				p.take(key, "sval")
				name = key.GetSval().GetSval()
			} else if steps[0].GetAStar() != nil {
				p.fail(at, "not supported: * here; name the columns")
			}
			path = append(path, name)
		}
		x = p.column(at, path, qualified)
	} else {
		x = p.expr(in.GetArg())
	}
	for _, step := range steps {
		switch {
		case step.GetAStar() != nil:
			p.fail(at, "not supported: * here; name the columns")
		case step.GetAIndices() == nil:
			x = fieldsOf(x, []string{step.GetString_().GetSval()})
		default:
			x = p.element(x, step.GetAIndices())
		}
	}
	return x
}

func (p *statements) constant(c *pg.A_Const) *expr.Expr {
	p.take(c, "ival", "fval", "boolval", "sval", "bsval", "isnull")
	at := p.offset(c.GetLocation())
	var x *expr.Expr
	switch v := c.GetVal().(type) {
	case *pg.A_Const_Ival:
		x = expr.Constant(int64(v.Ival.GetIval()))
	case *pg.A_Const_Fval:
		number, err := expr.Number(v.Fval.GetFval())
		if err != nil {
			p.fail(at, "%v", err)
		}
		x = number
	case *pg.A_Const_Boolval:
		x = expr.Constant(v.Boolval.GetBoolval())
	case *pg.A_Const_Sval:
		x = expr.Constant(v.Sval.GetSval())
	case *pg.A_Const_Bsval:
		x = expr.Cast(expr.Constant(p.bytesOf(v.Bsval.GetBsval(), at)), expr.Type{ID: expr.Blob})
	default:
		x = expr.Constant(nil)
	}
	x.At = at
	return x
}

// bytesOf returns the bytes of x'AB' as a text that a cast reads.
func (p *statements) bytesOf(text string, at int) string {
	digits, ok := strings.CutPrefix(text, "x")
	bytes, err := hex.DecodeString(digits)
	if !ok || err != nil {
		p.fail(at, "not supported: a bit string; of bytes want pairs of hexadecimal digits, x'0AFF'")
	}
	var b strings.Builder
	for _, c := range bytes {
		fmt.Fprintf(&b, `\x%02X`, c)
	}
	return b.String()
}

func (p *statements) typeCast(c *pg.TypeCast) *expr.Expr {
	p.take(c, "arg", "type_name")
	if x := p.jsonCast(c); x != nil {
		return x
	}
	arg := p.expr(c.GetArg())
	sizes := arraySizes(c.GetTypeName())
	unit := takeTimeUnit(c.GetTypeName())
	x := &expr.Expr{Op: expr.OpCast, Type: p.typeName(c.GetTypeName()), Args: []*expr.Expr{arg}, At: arg.At}
	if c.GetLocation() >= 0 {
		if at := p.offset(c.GetLocation()); p.marks[at] == markTryCast {
			x.Op, x.At = expr.OpTryCast, at
		}
	}
	if unit > 0 {
		rounded := callAt(x.At, expr.RoundedTime, x, expr.Constant(unit))
		p.noteText(rounded, x.String())
		return rounded
	}
	if sizes == nil {
		return x
	}
	checked := callAt(x.At, expr.ArrayOf, append([]*expr.Expr{x}, sizes...)...)
	if x.Op == expr.OpTryCast {
		checked = callAt(x.At, "try", checked)
	}
	p.noteText(checked, x.String())
	return checked
}

// takeTimeUnit makes TIMESTAMP_S and TIMESTAMP_MS in a cast TIMESTAMP, and returns their unit in microseconds; 0 of
// other types.
func takeTimeUnit(t *pg.TypeName) int64 {
	names := t.GetNames()
	unit := timeUnits[strings.ToLower(lastName(names))]
	if unit == 0 || len(names) > 1 || len(t.GetArrayBounds()) > 0 {
		return 0
	}
	names[0].GetString_().Sval = "timestamp"
	return unit
}

// timeUnits are the units in microseconds of timestamps in others.
var timeUnits = map[string]int64{
	"timestamp_s": 1_000_000, "timestamp_sec": 1_000_000, "timestamp_ms": 1000, "timestamp_msec": 1000,
}

// arraySizes makes lists of a fixed size in a type lists, and returns the sizes, from the outer list on; nil if the
// outer list has none. A list within without a size has a 0.
func arraySizes(t *pg.TypeName) (sizes []*expr.Expr) {
	bounds := t.GetArrayBounds()
	if len(bounds) == 0 || bounds[len(bounds)-1].GetInteger().GetIval() <= 0 {
		return nil
	}
	for _, bound := range slices.Backward(bounds) {
		sizes = append(sizes, expr.Constant(int64(max(bound.GetInteger().GetIval(), 0))))
		bound.GetInteger().Ival = -1
	}
	return sizes
}

// typeName returns a type as it is spelled: float is DuckDB's, of 4 bytes, and not PostgreSQL's.
func (p *statements) typeName(t *pg.TypeName) expr.Type {
	at := p.offset(t.GetLocation())
	p.take(t, "names", "typmods", "array_bounds")
	if typed, ok := p.types[at]; ok {
		return p.listsOf(t, typed.typ)
	}
	if names := t.GetNames(); len(names) > 2 || len(names) == 2 && names[0].GetString_().GetSval() != "pg_catalog" {
		p.fail(at, "not supported: a type's name in parts")
	}
	name := strings.ToLower(lastName(t.GetNames()))
	if i, ok := p.at[int32(at)]; ok {
		switch s := strings.ToLower(p.word(p.tokens[i])); s {
		case "float", "int8", "real", "int1":
			name = s
		}
	}
	if name == "enum" {
		return p.listsOf(t, p.enum(at, t.GetTypmods()))
	}
	var params []int
	if name == "bit" && len(t.GetTypmods()) == 1 && p.expr(t.GetTypmods()[0]).Value == int64(1) {
		t.Typmods = nil // PostgreSQL's BIT is BIT(1)
	}
	for _, m := range t.GetTypmods() {
		n, ok := p.expr(m).Value.(int64)
		if !ok {
			p.fail(at, "%s: the parameters of a type are whole numbers", name)
		}
		params = append(params, int(n))
	}
	typ, err := expr.ParseType(name, params...)
	if err != nil {
		message := err.Error()
		if strings.HasPrefix(message, "no type") {
			message += nearest.Offer(name, expr.TypeNames())
		}
		p.fail(at, "%s", message)
	}
	return p.listsOf(t, typ)
}

// enum returns the type ENUM of words.
func (p *statements) enum(at int, nodes []*pg.Node) expr.Type {
	words := make([]string, len(nodes))
	for i, x := range p.exprs(nodes) {
		word, ok := x.Value.(string)
		if !ok || x.Op != expr.OpConstant {
			p.fail(x.At, "enum: want its values, which are strings: ENUM('a', 'b')")
		}
		words[i] = word
	}
	typ, ok := expr.EnumOf(words)
	if !ok {
		p.fail(at, "enum: want ENUM('a', 'b'), whose values differ")
	}
	return typ
}

// listsOf returns the type of lists, or of lists of lists, that brackets behind a type make.
func (p *statements) listsOf(t *pg.TypeName, typ expr.Type) expr.Type {
	for _, bound := range t.GetArrayBounds() {
		if bound.GetInteger().GetIval() >= 0 {
			p.fail(p.offset(t.GetLocation()), "not supported: lists of a fixed size; want %s[]", typ)
		}
		typ = expr.ListOf(typ)
	}
	return typ
}

// words returns the words that nodes are.
func words(nodes []*pg.Node) []string {
	var list []string
	for _, node := range nodes {
		list = append(list, node.GetString_().GetSval())
	}
	return list
}

// lastName returns the last part of a name in parts.
func lastName(parts []*pg.Node) string { return parts[len(parts)-1].GetString_().GetSval() }

// operatorNames are PostgreSQL's names for operators that have words.
var operatorNames = map[string]string{"~~": "like", "!~~": "not like", "~~*": "ilike", "!~~*": "not ilike", "!=": "<>"}

func (p *statements) operator(e *pg.A_Expr) *expr.Expr {
	p.take(e, "kind", "name", "lexpr", "rexpr")
	if len(e.GetName()) > 1 {
		p.fail(p.offset(e.GetLocation()), "not supported: an operator's name in parts")
	}
	sign := lastName(e.GetName())
	name, nodes := "", []*pg.Node{e.GetLexpr(), e.GetRexpr()}
	negated := false
	switch e.GetKind() {
	case pg.A_Expr_Kind_AEXPR_IN:
		name, negated = "in", sign == "<>"
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		name, negated = "between", e.GetKind() == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN
	case pg.A_Expr_Kind_AEXPR_DISTINCT:
		name = "is distinct from"
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		name = "is not distinct from"
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		name = "nullif"
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return p.like(e, operatorNames[sign])
	case pg.A_Expr_Kind_AEXPR_SIMILAR:
		return p.similar(e, sign)
	case pg.A_Expr_Kind_AEXPR_OP:
		return p.plainOperator(e, sign)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		return p.quantified(e, sign)
	default:
		p.fail(p.offset(e.GetLocation()), "not supported: %s here", strings.TrimSpace(sign))
	}
	if row := e.GetLexpr().GetRowExpr(); row != nil && name == "in" {
		return negatedIf(p.rowIn(e, row, e.GetRexpr().GetList().GetItems()), negated)
	} else if row != nil && strings.HasPrefix(name, "is ") {
		return negatedIf(p.rowIn(e, row, nodes[1:]), name == "is distinct from")
	}
	if name == "in" || name == "between" {
		nodes = append(nodes[:1], e.GetRexpr().GetList().GetItems()...)
	}
	if name == "nullif" {
		return p.call(name, e.GetLocation(), nodes...)
	}
	return negatedIf(callAt(p.offset(e.GetLocation()), name, p.compared(nodes)...), negated)
}

// rowIn reads (a, b) IN ((1, 2), (3, 4)), and (a, b) = (1, 2). To DuckDB a NULL in such a list is a value.
func (p *statements) rowIn(e *pg.A_Expr, row *pg.RowExpr, lists []*pg.Node) *expr.Expr {
	at := p.offset(e.GetLocation())
	left := p.rowOf(row, at)
	found := callAt(at, "or")
	for _, node := range lists {
		other := node.GetRowExpr()
		if len(other.GetArgs()) != len(left) {
			p.fail(at, "a comparison of %d values: want lists of %[1]d values in parentheses behind it", len(left))
		}
		same := callAt(at, "and")
		for i, x := range p.rowOf(other, at) {
			same.Args = append(same.Args, callAt(at, "is not distinct from", left[i], x))
		}
		found.Args = append(found.Args, onlyArg(same))
	}
	return onlyArg(found)
}

// rowOf reads (a, b), without the word ROW.
func (p *statements) rowOf(row *pg.RowExpr, at int) []*expr.Expr {
	if row.GetRowFormat() != pg.CoercionForm_COERCE_IMPLICIT_CAST {
		p.fail(at, "not supported: ROW")
	}
	p.take(row, "args", "row_format")
	return p.exprs(row.GetArgs())
}

// onlyArg returns the argument of a call that has one, and else the call.
func onlyArg(x *expr.Expr) *expr.Expr {
	if len(x.Args) == 1 {
		return x.Args[0]
	}
	return x
}

// quantified reads a comparison with ANY or ALL of the values of a list.
func (p *statements) quantified(e *pg.A_Expr, sign string) *expr.Expr {
	at, list := p.offset(e.GetLocation()), e.GetRexpr().GetAArrayExpr()
	if sign == "!=" {
		sign = "<>"
	}
	if !isComparison(sign) {
		p.fail(at, "not supported: operator %s before ANY and ALL", sign)
	}
	isAll := e.GetKind() == pg.A_Expr_Kind_AEXPR_OP_ALL
	if list == nil {
		left, values := p.expr(e.GetLexpr()), p.expr(e.GetRexpr())
		if isAll { // x < ALL(l) is NOT x >= ANY(l)
			return negatedIf(anyOf(at, negatedSigns[sign], left, values), true)
		}
		return anyOf(at, sign, left, values)
	}
	p.take(list, "elements")
	left, compared := p.expr(e.GetLexpr()), callAt(at, "or")
	if isAll {
		compared.Name = "and"
	}
	for _, x := range p.exprs(list.GetElements()) {
		compared.Args = append(compared.Args, callAt(at, sign, left, x))
	}
	if len(compared.Args) == 0 {
		return expr.Constant(compared.Name == "and")
	}
	return onlyArg(compared)
}

// negatedSigns are the comparisons that are true where others are false.
var negatedSigns = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

// anyOf returns a comparison with ANY of the values of a list that is no list in brackets: FALSE of a list that is NULL
// or empty; TRUE where the least or the greatest value, or for = an element, compares so; NULL beside NULLs.
func anyOf(at int, sign string, left, list *expr.Expr) *expr.Expr {
	least, greatest := callAt(at, "list_min", list), callAt(at, "list_max", list)
	var found *expr.Expr
	switch sign {
	case "=":
		found = callAt(at, "list_contains", list, left)
	case "<>":
		found = callAt(at, "or", callAt(at, sign, left, least), callAt(at, sign, left, greatest))
	case ">", ">=":
		found = callAt(at, sign, left, least)
	default:
		found = callAt(at, sign, left, greatest)
	}
	length := callAt(at, "coalesce", callAt(at, "len", list), expr.Constant(int64(0)))
	hasNulls := callAt(at, "<", callAt(at, "list_count", list), length)
	unknown := callAt(at, "or", callAt(at, "is null", left), hasNulls)
	return callAt(at, "case", callAt(at, "=", length, expr.Constant(int64(0))), expr.Constant(false), found,
		expr.Constant(true), unknown, expr.Constant(nil), expr.Constant(false))
}

func negatedIf(x *expr.Expr, negated bool) *expr.Expr {
	if !negated {
		return x
	}
	return callAt(x.At, "not", x)
}

func (p *statements) plainOperator(e *pg.A_Expr, sign string) *expr.Expr {
	at := p.offset(e.GetLocation())
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
		args := append(p.exprs([]*pg.Node{e.GetLexpr(), e.GetRexpr()}), expr.Constant("i"))
		return negatedIf(callAt(at, "regexp_matches", args...), sign == "!~*")
	case "~~", "!~~", "~~*", "!~~*":
		return p.like(e, operatorNames[sign])
	case "^@":
		sign = "starts_with"
	case "<@":
		return p.call("list_has_all", e.GetLocation(), e.GetRexpr(), e.GetLexpr())
	}
	if row := e.GetLexpr().GetRowExpr(); row != nil && (sign == "=" || sign == "<>") {
		return negatedIf(p.rowIn(e, row, []*pg.Node{e.GetRexpr()}), sign == "<>")
	}
	switch {
	case !expr.IsFunction(sign):
		p.fail(at, "not supported: operator %s", sign)
	case e.GetLexpr() == nil && sign == "~":
		return p.call("~ a", e.GetLocation(), e.GetRexpr())
	case e.GetLexpr() == nil:
		return p.call(sign, e.GetLocation(), e.GetRexpr())
	case e.GetRexpr() == nil:
		p.fail(at, "not supported: operator %s behind its operand", sign)
	}
	nodes := []*pg.Node{e.GetLexpr(), e.GetRexpr()}
	if isComparison(sign) {
		return negatedIf(callAt(at, sign, p.compared(nodes)...), negated)
	}
	return negatedIf(p.call(sign, e.GetLocation(), nodes...), negated)
}

// like reads LIKE and ILIKE, whose escape character comes as a call around the pattern.
func (p *statements) like(e *pg.A_Expr, name string) *expr.Expr {
	plain := strings.TrimPrefix(name, "not ")
	if p.marks[p.offset(e.GetLocation())] == markGlob {
		plain, name = "glob", strings.Replace(name, "like", "glob", 1)
	}
	args := []*pg.Node{e.GetLexpr(), e.GetRexpr()}
	if call := e.GetRexpr().GetFuncCall(); len(call.GetFuncname()) == 2 && lastName(call.GetFuncname()) == "like_escape" {
		p.take(call, "funcname", "args", "funcformat")
		args = append(args[:1], call.GetArgs()...)
	}
	return negatedIf(callAt(p.offset(e.GetLocation()), plain, p.compared(args)...), plain != name)
}

// similar reads SIMILAR TO, which DuckDB has for a regular expression of the whole text; its pattern comes in a call.
func (p *statements) similar(e *pg.A_Expr, sign string) *expr.Expr {
	call := e.GetRexpr().GetFuncCall()
	at := p.offset(e.GetLocation())
	if len(call.GetArgs()) != 1 || len(call.GetFuncname()) != 2 || lastName(call.GetFuncname()) != "similar_to_escape" {
		p.fail(at, "not supported: ESCAPE behind SIMILAR TO")
	}
	p.take(call, "funcname", "args", "funcformat")
	args := p.exprs([]*pg.Node{e.GetLexpr(), call.GetArgs()[0]})
	return negatedIf(callAt(at, "regexp_full_match", args...), sign == "!~")
}

// caseExpr reads CASE. With an operand, its conditions are comparisons with that.
func (p *statements) caseExpr(c *pg.CaseExpr) *expr.Expr {
	p.take(c, "arg", "args", "defresult")
	operand := p.optional(c.GetArg())
	x := callAt(p.offset(c.GetLocation()), "case")
	for _, node := range c.GetArgs() {
		when := node.GetCaseWhen()
		p.take(when, "expr", "result")
		condition := p.expr(when.GetExpr())
		if operand != nil {
			condition = callAt(condition.At, "=", operand, condition)
		}
		x.Args = append(x.Args, condition, p.expr(when.GetResult()))
	}
	if c.GetDefresult() != nil {
		x.Args = append(x.Args, p.expr(c.GetDefresult()))
	}
	return x
}

// syntaxNames are the functions that SQL's own forms of calls are parsed to.
var syntaxNames = map[string]string{"btrim": "trim", "position": "strpos", "extract": "date_part"}

// funcCall reads a call of a function, or of an aggregate function if no function has the name.
// plainNames are the names in parts that the parser gives to calls of one name.
var plainNames = []string{"pg_catalog.json_object"}

func (p *statements) funcCall(call *pg.FuncCall) *expr.Expr {
	at := p.offset(call.GetLocation())
	name := lastName(call.GetFuncname())
	if x := p.nestedCall(call, name); x != nil {
		return x
	}
	isSyntax := call.GetFuncformat() == pg.CoercionForm_COERCE_SQL_SYNTAX
	parts := words(call.GetFuncname())
	if len(parts) > 1 && !isSyntax && !slices.Contains(plainNames, strings.Join(parts, ".")) {
		return p.methodCall(call)
	}
	if known, ok := syntaxNames[name]; ok && isSyntax {
		name = known
	}
	switch {
	case isColumnsName(call):
		return p.columnsCall(call)
	case call.GetOver() != nil:
		return p.windowCall(call, name)
	case isWindowFunction(name) && !expr.IsFunction(name):
		p.fail(at, "%s is a window function: OVER (...) stands behind it", name)
	case p.marks[at] == markIgnoreNulls:
		p.fail(at, "IGNORE NULLS stands in window functions alone")
	case !expr.IsFunction(name) && (call.GetAggStar() || isAggregate(name)):
		return p.composed(p.aggregateCall(call, name))
	case call.GetAggDistinct() || call.GetAggStar() || call.GetAggFilter() != nil || len(call.GetAggOrder()) > 0:
		p.fail(at, "%s is no aggregate function", name)
	}
	p.take(call, "funcname", "args", "funcformat")
	x := p.call(name, call.GetLocation(), p.formatsOf(name, call.GetArgs())...)
	if name == "age" && len(x.Args) == 1 {
		x.Args = []*expr.Expr{p.noteMoment(callAt(x.At, "today")), x.Args[0]}
	}
	p.localsMade++
	if x.Tell(p.localsMade); x.IsDrawn() {
		p.drawn = x.First((*expr.Expr).IsDrawn)
	}
	return p.noteMoment(x)
}

// methodCall reads a.f(b), where a is a column, which is f(a, b).
func (p *statements) methodCall(call *pg.FuncCall) *expr.Expr {
	parts := call.GetFuncname()
	last := len(parts) - 1
	name := lastName(parts)
	isSchema := slices.Contains([]string{"main", "pg_catalog"}, parts[0].GetString_().GetSval())
	if isSchema || !expr.IsCalled(name) && !isAggregate(name) {
		p.fail(p.offset(call.GetLocation()), "not supported: a function's name in parts, but for a.f(b) of a column a")
	}
	of := &pg.FuncCall{Funcname: parts[last:], Location: call.GetLocation(), Funcformat: call.GetFuncformat()}
	first := &pg.ColumnRef{Fields: parts[:last], Location: call.GetLocation()}
	of.Args = append([]*pg.Node{{Node: &pg.Node_ColumnRef{ColumnRef: first}}}, call.GetArgs()...)
	p.take(call, "funcname", "args", "funcformat")
	return p.funcCall(of)
}

// noteMoment notes a call of now or its kin.
func (p *statements) noteMoment(x *expr.Expr) *expr.Expr {
	if x.IsMomentary() {
		p.moment = x
	}
	return x
}

// momentNames are the functions of the time that are words of SQL.
var momentNames = map[pg.SQLValueFunctionOp]string{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:      "current_date",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: "current_timestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME:         "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:    "localtimestamp",
}

// momentary reads current_date and its kin.
func (p *statements) momentary(word *pg.SQLValueFunction) *expr.Expr {
	p.take(word, "op")
	at := p.offset(word.GetLocation())
	name := momentNames[word.GetOp()]
	if name == "" {
		written := strings.ToUpper(p.word(p.tokens[p.at[int32(at)]]))
		p.fail(at, "not supported: %s, a word of SQL (a column of that name is written in double quotes)", written)
	}
	return p.noteMoment(callAt(at, name))
}

// formatsOf returns the arguments of a call, with the elements of a list of formats in its place.
func (p *statements) formatsOf(name string, args []*pg.Node) []*pg.Node {
	if name != "strptime" && name != "try_strptime" || len(args) != 2 {
		return args
	}
	if list := args[1].GetAArrayExpr(); len(list.GetElements()) > 0 {
		p.take(list, "elements")
		return append([]*pg.Node{args[0]}, list.GetElements()...)
	}
	return args
}

func isAggregate(name string) bool {
	if _, ok := orderedSets[name]; ok || compositions[name].args > 0 {
		return true
	}
	_, one := query.LookupFunc(name, false)
	_, two := query.LookupFunc(name, true)
	return one || two
}

// aggregateCall reads a call of an aggregate function. The column of an ordered set comes first.
func (p *statements) aggregateCall(call *pg.FuncCall, name string) *expr.Expr {
	p.take(call, "funcname", "args", "agg_order", "agg_filter", "agg_within_group", "agg_star", "agg_distinct", "over")
	at := p.offset(call.GetLocation())
	args, order := call.GetArgs(), call.GetAggOrder()
	switch {
	case call.GetAggStar() && name != "count":
		p.fail(at, "not supported: %s(*); only count has it", name)
	case call.GetAggWithinGroup():
		f, ok := orderedSets[name]
		switch {
		case !ok:
			p.fail(at, "not supported: %s with WITHIN GROUP", name)
		case len(order) > 1:
			p.fail(p.findToken(pg.Token_ORDER, at), "not supported: this order; want one column")
		}
		name, args = f.String(), append([]*pg.Node{order[0].GetSortBy().GetNode()}, args...)
	case call.GetAggStar() || name == "count" && len(args) == 0:
		name = "count_star"
	}
	x := p.counted(call, name, args)
	x.Op, x.Distinct = expr.OpAggregate, call.GetAggDistinct()
	for _, node := range order {
		x.OrderBy = append(x.OrderBy, p.order(node))
	}
	x.Filter = p.optional(call.GetAggFilter())
	return x
}

// counted reads the arguments of an aggregate function; of count they may be a row: count(DISTINCT (a, b)).
func (p *statements) counted(call *pg.FuncCall, name string, args []*pg.Node) *expr.Expr {
	if len(args) != 1 || args[0].GetRowExpr() == nil || name != query.Count.String() {
		return p.call(name, call.GetLocation(), args...)
	}
	at := p.offset(call.GetLocation())
	return callAt(at, name, callAt(at, expr.RowOf, p.rowOf(args[0].GetRowExpr(), at)...))
}

// findToken returns the place of the first token of a kind from a place on, or the latter place.
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
	case *pg.Node_CollateClause:
		return "COLLATE here; it stands behind an operand of a comparison, of IN, BETWEEN or LIKE, and in ORDER BY"
	case *pg.Node_RowExpr:
		return "a list in parentheses here"
	}
	return "an expression"
}
