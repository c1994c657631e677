//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/engine/spec"
)

// ParseKeys reads a list of columns, each with an alias or none: `origin, destination as dest`.
// Names keep their spelling; whether the columns exist is not known here. Errors are of type *Error.
func ParseKeys(text string) ([]spec.Key, error) {
	l, err := parseList(text)
	if err != nil {
		return nil, err
	}
	keys := make([]spec.Key, 0, len(l.items))
	for _, it := range l.items {
		column, err := l.column(it.expr, it.at)
		if err != nil {
			return nil, err
		}
		keys = append(keys, spec.Key{Column: column, Name: it.name})
	}
	return keys, nil
}

// column returns the name of the column that an expression is; at is where the expression begins, for
// those whose node does not say.
func (l *list) column(expr *pg.Node, at int) (string, error) {
	ref := expr.GetColumnRef()
	if ref == nil {
		return "", l.unsupported(expr, at, "want a column")
	}
	start := l.offset(ref.GetLocation(), at)
	switch {
	case len(ref.GetFields()) > 1:
		return "", errorAt(l.text, start, `not supported: a name in parts; a column with a dot in its name is written "a.b"`)
	case ref.GetFields()[0].GetAStar() != nil:
		return "", errorAt(l.text, start, "not supported: *; name the columns")
	}
	return l.spelling(l.tokens[int32(start)], ref.GetFields()[0].GetString_().GetSval()), nil
}

// unsupported is the error for an expression that is none of the forms a query has.
func (l *list) unsupported(expr *pg.Node, at int, want string) error {
	location := int32(-1)
	node := expr.ProtoReflect()
	if one := node.WhichOneof(node.Descriptor().Oneofs().ByName("node")); one != nil {
		inner := node.Get(one).Message()
		if field := inner.Descriptor().Fields().ByName("location"); field != nil {
			location = int32(inner.Get(field).Int())
		}
	}
	return errorAt(l.text, l.offset(location, at), "not supported: %s; %s", describe(expr), want)
}

// offset turns a node's location into a byte of the text; nodes without one have -1.
func (l *list) offset(location int32, at int) int {
	if location < int32(len(selectPrefix)) {
		return at
	}
	return int(location) - len(selectPrefix)
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
	case *pg.Node_SubLink:
		return "a subquery"
	case *pg.Node_SqlvalueFunction:
		return "a word of SQL (a column of that name is written in double quotes)"
	}
	return "an expression"
}
