package grouptest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// Suits reports whether a function takes columns of these types.
func Suits(f query.Func, types ...arrow.DataType) bool {
	for _, dt := range types {
		if !suits(f, valueType(dt).ID()) {
			return false
		}
	}
	return len(types) == f.Args()
}

func suits(f query.Func, id arrow.Type) bool {
	integer := arrow.IsInteger(id)
	numeric := integer || arrow.IsFloating(id) || arrow.IsDecimal(id)
	if _, ok := Statistics[f]; ok {
		return numeric
	}
	switch f {
	case query.Sum:
		return numeric || id == arrow.BOOL || id == arrow.DURATION
	case query.Avg:
		return numeric
	case query.BoolAnd, query.BoolOr:
		return id == arrow.BOOL
	case query.BitAnd, query.BitOr, query.BitXor:
		return integer
	case query.Median, query.QuantileCont:
		return numeric || isTemporal(id)
	case query.StringAgg:
		return id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW
	}
	return true
}

func isTemporal(id arrow.Type) bool {
	switch id {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return true
	}
	return false
}

// ResultSchema returns the schema of a query's answer: the keys, then the aggregates. A column of
// dictionary type answers in the type of its values.
func ResultSchema(schema *arrow.Schema, q query.Query) (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, k := range q.Keys {
		i, err := column(schema, k.Column)
		if err != nil {
			return nil, err
		}
		fields = append(fields, arrow.Field{Name: k.ResultName(), Type: valueType(schema.Field(i).Type), Nullable: true})
	}
	for _, a := range q.Aggregates {
		types := make([]arrow.DataType, len(a.Args))
		for j, arg := range a.Args {
			i, err := column(schema, arg)
			if err != nil {
				return nil, err
			}
			types[j] = valueType(schema.Field(i).Type)
		}
		if !Suits(a.Func, types...) {
			return nil, fmt.Errorf("%s does not take %v", a, types)
		}
		fields = append(fields, arrow.Field{Name: a.ResultName(),
			Type: resultType(a.Func, types, q.Overflow), Nullable: true})
	}
	return arrow.NewSchema(fields, nil), nil
}

func column(schema *arrow.Schema, name string) (int, error) {
	indexes := schema.FieldIndices(name)
	if len(indexes) != 1 {
		return 0, fmt.Errorf("%d columns are named %q", len(indexes), name)
	}
	return indexes[0], nil
}

func resultType(f query.Func, args []arrow.DataType, overflow query.Overflow) arrow.DataType {
	if _, ok := Statistics[f]; ok {
		return arrow.PrimitiveTypes.Float64
	}
	switch f {
	case query.CountStar, query.Count, query.CountDistinct, query.ApproxCountDistinct:
		return arrow.PrimitiveTypes.Int64
	case query.Avg:
		return arrow.PrimitiveTypes.Float64
	case query.StringAgg:
		return arrow.BinaryTypes.String
	case query.MinN, query.MaxN, query.List:
		return arrow.ListOf(args[0])
	case query.Sum:
		switch dt := args[0].(type) {
		case arrow.DecimalType:
			return &arrow.Decimal128Type{Precision: 38, Scale: dt.GetScale()}
		case *arrow.DurationType:
			return dt
		}
		if arrow.IsFloating(args[0].ID()) {
			return arrow.PrimitiveTypes.Float64
		}
		if overflow == query.OverflowWiden {
			return &arrow.Decimal128Type{Precision: 38}
		}
		return arrow.PrimitiveTypes.Int64
	case query.Median, query.QuantileCont:
		switch args[0].ID() {
		case arrow.DATE32, arrow.DATE64:
			return &arrow.TimestampType{Unit: arrow.Microsecond}
		}
		if !isTemporal(args[0].ID()) {
			return arrow.PrimitiveTypes.Float64
		}
	}
	return args[0]
}
