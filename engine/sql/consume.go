//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// L4: PostgreSQL's parser accepts more than a Select holds. Whoever reads a message of its tree says by
// take which fields of the message it uses; take refuses a message with any other field. At the end
// checkTaken refuses a tree with a message that nobody has taken.

// plainFields are the fields of messages that nobody takes, with the values that say nothing. Of other
// fields that is the zero value.
var plainFields = map[protoreflect.FullName]protoreflect.Value{
	"pg_query.SelectStmt.op":                       enumValue(pg.SetOperation_SETOP_NONE),
	"pg_query.SelectStmt.limit_option":             enumValue(pg.LimitOption_LIMIT_OPTION_DEFAULT),
	"pg_query.CommonTableExpr.ctematerialized":     enumValue(pg.CTEMaterialize_CTEMaterializeDefault),
	"pg_query.RangeVar.inh":                        protoreflect.ValueOfBool(true), // false with ONLY
	"pg_query.RangeVar.relpersistence":             protoreflect.ValueOfString("p"),
	"pg_query.FuncCall.funcformat":                 enumValue(pg.CoercionForm_COERCE_EXPLICIT_CALL),
	"pg_query.RowExpr.row_format":                  enumValue(pg.CoercionForm_COERCE_IMPLICIT_CAST), // (a, b)
	"pg_query.SQLValueFunction.typmod":             protoreflect.ValueOfInt32(-1),
	"pg_query.TypeName.typemod":                    protoreflect.ValueOfInt32(-1),
	"pg_query.NamedArgExpr.argnumber":              protoreflect.ValueOfInt32(-1),
	"pg_query.DropStmt.behavior":                   enumValue(pg.DropBehavior_DROP_RESTRICT),
	"pg_query.DefElem.defaction":                   enumValue(pg.DefElemAction_DEFELEM_UNSPEC),
	"pg_query.SortBy.sortby_dir":                   enumValue(pg.SortByDir_SORTBY_DEFAULT),
	"pg_query.SortBy.sortby_nulls":                 enumValue(pg.SortByNulls_SORTBY_NULLS_DEFAULT),
	"pg_query.JsonFormat.format_type":              enumValue(pg.JsonFormatType_JS_FORMAT_DEFAULT),
	"pg_query.JsonArrayConstructor.absent_on_null": protoreflect.ValueOfBool(true), // ABSENT ON NULL, or nothing
	"pg_query.JsonFormat.encoding":                 enumValue(pg.JsonEncoding_JS_ENC_DEFAULT),
	"pg_query.JsonFuncExpr.wrapper":                enumValue(pg.JsonWrapper_JSW_UNSPEC),
	"pg_query.JsonFuncExpr.quotes":                 enumValue(pg.JsonQuotes_JS_QUOTES_UNSPEC),
}

func enumValue[E ~int32](e E) protoreflect.Value {
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(e))
}

// clauseNames say in SQL what a field is that is set and not read; of other fields, their names do.
var clauseNames = map[protoreflect.FullName]string{
	"pg_query.SelectStmt.group_distinct":           "GROUP BY DISTINCT",
	"pg_query.CommonTableExpr.search_clause":       "SEARCH",
	"pg_query.CommonTableExpr.cycle_clause":        "CYCLE",
	"pg_query.RangeVar.inh":                        "ONLY",
	"pg_query.RangeFunction.lateral":               "LATERAL",
	"pg_query.RangeFunction.ordinality":            "WITH ORDINALITY",
	"pg_query.RangeFunction.is_rowsfrom":           "ROWS FROM",
	"pg_query.RangeFunction.coldeflist":            "definitions of columns behind a call",
	"pg_query.RangeSubselect.lateral":              "LATERAL",
	"pg_query.FuncCall.agg_order":                  "ORDER BY in this call",
	"pg_query.FuncCall.agg_filter":                 "FILTER behind this call",
	"pg_query.FuncCall.agg_distinct":               "DISTINCT in this call",
	"pg_query.FuncCall.agg_star":                   "* in this call",
	"pg_query.FuncCall.agg_within_group":           "WITHIN GROUP behind this call",
	"pg_query.FuncCall.func_variadic":              "VARIADIC",
	"pg_query.FuncCall.over":                       "OVER",
	"pg_query.FuncCall.funcformat":                 "a function's own syntax here",
	"pg_query.RowExpr.row_format":                  "ROW",
	"pg_query.TypeName.setof":                      "SETOF",
	"pg_query.TypeName.pct_type":                   "%TYPE",
	"pg_query.TypeName.array_bounds":               "a type of lists",
	"pg_query.SQLValueFunction.typmod":             "digits of a second behind the word",
	"pg_query.A_Indices.is_slice":                  "a slice of a list",
	"pg_query.A_Indices.lidx":                      "a slice of a list",
	"pg_query.SortBy.use_op":                       "USING in ORDER BY",
	"pg_query.ResTarget.indirection":               "a part of a column's name here",
	"pg_query.DropStmt.behavior":                   "CASCADE",
	"pg_query.CommonTableExpr.ctematerialized":     "MATERIALIZED",
	"pg_query.CopyStmt.is_program":                 "PROGRAM",
	"pg_query.JsonFormat.format_type":              "FORMAT JSON",
	"pg_query.JsonArrayConstructor.absent_on_null": "NULL ON NULL: NULL is null in an array",
	"pg_query.CopyStmt.where_clause":               "WHERE behind COPY",
}

// take notes that a message is read, and refuses it where it says anything beside the fields that its
// reader uses.
func (p *statements) take(m proto.Message, used ...protoreflect.Name) {
	p.taken[m] = true
	message := m.ProtoReflect()
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if isPlace(f) || slices.Contains(used, f.Name()) {
			continue
		}
		if plain, ok := plainFields[f.FullName()]; ok {
			if !message.Get(f).Equal(plain) {
				p.refuseField(message, f)
			}
		} else if message.Has(f) {
			p.refuseField(message, f)
		}
	}
}

// isPlace says whether a field is a place of the text.
func isPlace(f protoreflect.FieldDescriptor) bool {
	name := string(f.Name())
	return strings.HasSuffix(name, "location") || strings.HasPrefix(name, "rexpr_list_") ||
		strings.HasPrefix(name, "list_")
}

// refuseField fails at a message for one of its fields.
func (p *statements) refuseField(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	what := clauseNames[f.FullName()]
	if what == "" {
		what = strings.ReplaceAll(string(f.Name()), "_", " ") + " of " + string(m.Descriptor().Name())
	}
	p.fail(p.placeOf(m), "not supported: %s", what)
}

// placeOf returns the place of a message in the text: its own, or that of the first message within.
func (p *statements) placeOf(m protoreflect.Message) int {
	at := -1
	eachMessage(m, func(inner protoreflect.Message) bool {
		if f := inner.Descriptor().Fields().ByName("location"); f != nil && at < 0 && inner.Has(f) {
			at = p.offset(int32(inner.Get(f).Int()))
		}
		return at < 0
	})
	return max(at, 0)
}

// parts are the messages that the reader of the message around them reads.
var parts = []protoreflect.Name{"Node", "List", "String", "Integer", "Float", "Boolean", "BitString", "A_Star"}

// checkTaken refuses a tree with a message that nobody has taken.
func (p *statements) checkTaken(root proto.Message) {
	eachMessage(root.ProtoReflect(), func(m protoreflect.Message) bool {
		if !slices.Contains(parts, m.Descriptor().Name()) && !p.taken[m.Interface()] {
			p.fail(p.placeOf(m), "not supported: %s here", strings.ReplaceAll(string(m.Descriptor().Name()), "_", " "))
		}
		return true
	})
}

// eachMessage calls a function with a message and all messages within, in the order of the tree, while it
// returns true.
func eachMessage(m protoreflect.Message, visit func(protoreflect.Message) bool) bool {
	if !visit(m) {
		return false
	}
	ok := true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				ok = ok && eachMessage(v.List().Get(i).Message(), visit)
			}
		default:
			ok = eachMessage(v.Message(), visit)
		}
		return ok
	})
	return ok
}
