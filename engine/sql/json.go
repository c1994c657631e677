//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// jsonCall reads what PostgreSQL's parser has nodes for among the functions of JSON; nil of other nodes.
func (p *statements) jsonCall(node *pg.Node) *expr.Expr {
	switch n := node.GetNode().(type) {
	case *pg.Node_JsonArrayConstructor:
		of := n.JsonArrayConstructor
		p.take(of, "exprs")
		p.refuseAbsent(of.GetLocation())
		x := callAt(p.offset(of.GetLocation()), "json_array")
		for _, e := range of.GetExprs() {
			x.Args = append(x.Args, p.jsonArgument(e.GetJsonValueExpr()))
		}
		return x
	case *pg.Node_JsonObjectConstructor:
		p.take(n.JsonObjectConstructor)
		return callAt(p.offset(n.JsonObjectConstructor.GetLocation()), "json_object")
	case *pg.Node_JsonParseExpr:
		p.take(n.JsonParseExpr, "expr")
		return callAt(p.offset(n.JsonParseExpr.GetLocation()), "json", p.jsonArgument(n.JsonParseExpr.GetExpr()))
	case *pg.Node_JsonFuncExpr:
		of := n.JsonFuncExpr
		p.take(of, "op", "context_item", "pathspec")
		name, ok := jsonNames[of.GetOp()]
		if !ok {
			p.fail(p.offset(of.GetLocation()), "not supported: JSON_QUERY; json_extract is the value at a path")
		}
		return callAt(p.offset(of.GetLocation()), name, p.jsonArgument(of.GetContextItem()), p.expr(of.GetPathspec()))
	}
	return nil
}

var jsonNames = map[pg.JsonExprOp]string{
	pg.JsonExprOp_JSON_EXISTS_OP: "json_exists", pg.JsonExprOp_JSON_VALUE_OP: "json_value",
}

func (p *statements) jsonArgument(v *pg.JsonValueExpr) *expr.Expr {
	p.take(v, "raw_expr", "format")
	p.take(v.GetFormat())
	return p.expr(v.GetRawExpr())
}

// refuseAbsent refuses ABSENT ON NULL in a call, which the parser takes for what json_array does without it.
func (p *statements) refuseAbsent(location int32) {
	depth := 0
	for i := p.at[location]; i < len(p.tokens)-1; i++ {
		switch word := p.word(p.tokens[i]); {
		case word == "(":
			depth++
		case word == ")":
			if depth--; depth == 0 {
				return
			}
		case depth == 1 && strings.EqualFold(word, "absent") && strings.EqualFold(p.word(p.tokens[i+1]), "on"):
			p.fail(p.offset(p.tokens[i].GetStart()), "not supported: ABSENT ON NULL: NULL is null in an array")
		}
	}
}

// jsonCast returns a cast to JSON of another cast; nil where that is to another type.
func (p *statements) jsonCast(c *pg.TypeCast) *expr.Expr {
	t := c.GetTypeName()
	isPlain := len(t.GetNames()) > 0 && len(t.GetArrayBounds())+len(t.GetTypmods()) == 0
	if !isPlain || !strings.EqualFold(lastName(t.GetNames()), "json") {
		return nil
	}
	p.take(t, "names")
	arg := p.expr(c.GetArg())
	x := callAt(arg.At, expr.JSONCast, arg)
	if c.GetLocation() >= 0 {
		if at := p.offset(c.GetLocation()); p.marks[at] == markTryCast {
			x.Name, x.At = expr.TryJSONCast, at
		}
	}
	return x
}

// jsonMade are the functions whose results are JSON.
var jsonMade = []string{"json", "json_object", "json_array", "to_json", "row_to_json", "array_to_json", "json_quote",
	"json_extract", "json_extract_path", "->", "json_structure", "json_merge_patch", expr.JSONCast, expr.TryJSONCast}

// jsonOfList is json_group_array: a list as JSON.
func jsonOfList(of caller, args []*expr.Expr) *expr.Expr {
	return expr.Call(expr.JSONOfList, of(query.List, args...), isJSON(args[0]))
}

// jsonOfPairs is json_group_object: a list of keys and values as JSON.
func jsonOfPairs(of caller, args []*expr.Expr) *expr.Expr {
	pair := expr.Call("row", expr.Cast(args[0], expr.Type{ID: expr.Text}), args[1])
	return expr.Call(expr.JSONOfPairs, of(query.List, pair), isJSON(args[1]))
}

// isJSON returns whether an expression is a call that makes JSON, as a constant.
func isJSON(x *expr.Expr) *expr.Expr {
	return expr.Constant(x.Op == expr.OpCall && slices.Contains(jsonMade, x.Name))
}
