package rules

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// merging are the functions whose result for the whole is the function of their results for the parts.
var merging = []query.Func{
	query.Sum, query.Min, query.Max, query.BoolAnd, query.BoolOr, query.BitAnd, query.BitOr, query.BitXor,
}

// split is an aggregation in two: groups, and groups of these.
type split struct {
	first, last logical.Aggregate
	computed    map[expr.ID]*expr.Expr // columns of the whole, over the columns of last
}

// splitOf divides an aggregation: first groups by its keys and by the columns in distinct, which the
// functions of distinct values and modes take, and last merges these groups. ok is false where a function cannot
// be merged. last has no input and no types yet.
func splitOf(c *Context, of *logical.Aggregate, distinct []expr.ID) (s *split, ok bool) {
	s = &split{computed: map[expr.ID]*expr.Expr{}}
	s.first, s.last = *of, *of
	s.first.Keys, s.first.Calls, s.last.Keys, s.last.Calls = nil, nil, nil, nil
	group := func(from expr.ID, name string) logical.Column {
		made := logical.Column{ID: c.IDs.New(), Name: name}
		s.first.Keys = append(s.first.Keys, logical.Group{Of: from, Column: made})
		return made
	}
	for _, k := range of.Keys {
		s.last.Keys = append(s.last.Keys, logical.Group{Of: group(k.Of, k.Column.Name).ID, Column: k.Column})
	}
	apart := map[expr.ID]expr.ID{} // by column in distinct: the column of the groups
	for i, id := range distinct {
		apart[id] = group(id, fmt.Sprintf("distinct %d", i+1)).ID
		s.first.Counted = append(s.first.Counted, apart[id]) // while no function looks at values
	}
	merge := func(name string, f query.Aggregate, args []expr.ID, by query.Func, to logical.Column) {
		partial := logical.Column{ID: c.IDs.New(), Name: name}
		s.first.Calls = append(s.first.Calls, logical.Call{Function: f, Args: args, Column: partial, At: -1})
		whole := logical.Call{Function: query.Aggregate{Func: by}, Args: []expr.ID{partial.ID}, Column: to, At: -1}
		s.last.Calls = append(s.last.Calls, whole)
	}
	fresh := func(name string) logical.Column { return logical.Column{ID: c.IDs.New(), Name: name} }
	for _, call := range of.Calls {
		name := call.Column.Name
		switch f := call.Function.Func; {
		case call.Distinct && distinct == nil, len(call.Order) > 0:
			return nil, false
		case call.Distinct:
			if f == query.CountDistinct {
				call.Function.Func = query.Count
			} else {
				s.first.Counted = nil
			}
			call.Function.Distinct = f == query.List || f == query.StringAgg // their values come in order
			call.Distinct = false
			call.Args = slices.Clone(call.Args)
			for i, id := range call.Args {
				call.Args[i] = apart[id]
			}
			s.last.Calls = append(s.last.Calls, call)
		case f == query.Mode && distinct != nil: // the value of the group with most rows, and of equals the first
			rows, place := fresh("rows of "+name), fresh("first row of "+name)
			s.first.Calls = append(s.first.Calls,
				logical.Call{Function: query.Aggregate{Func: query.CountStar}, Column: rows, At: -1},
				logical.Call{Function: query.Aggregate{Func: query.FirstPlace}, Column: place, At: -1})
			call.Function.Func, call.Args = query.ArgMax, []expr.ID{apart[call.Args[0]], rows.ID, place.ID}
			s.first.Counted = nil
			s.last.Calls = append(s.last.Calls, call)
		case f == query.CountStar || f == query.Count:
			sum := fresh(name)
			merge(name, call.Function, call.Args, query.Sum, sum)
			s.computed[call.Column.ID] = countOf(&sum)
		case f == query.Avg && isNarrow(of.In, call.Args[0]):
			sum, n := fresh("sum of "+name), fresh("count of "+name)
			merge(sum.Name, query.Aggregate{Func: query.Sum}, call.Args, query.Sum, sum)
			merge(n.Name, query.Aggregate{Func: query.Count}, call.Args, query.Sum, n)
			s.computed[call.Column.ID] = expr.Call(expr.MeanOfParts, sum.Expr(), n.Expr())
		case slices.Contains(merging, f):
			merge(name, call.Function, call.Args, f, call.Column)
		default:
			return nil, false
		}
	}
	return s, true
}

// countOf is the count of a column that sums counts: of no groups, the sum is NULL.
func countOf(sum *logical.Column) *expr.Expr {
	whole := expr.Cast(sum.Expr(), expr.Type{ID: expr.Int64})
	return expr.Call("coalesce", whole, expr.Constant(int64(0)))
}

// isNarrow says whether sums of a column are far from their type's bounds, so that a mean may be
// computed of a sum.
func isNarrow(n logical.Node, column expr.ID) bool {
	const digitsMax = 18
	switch dt := rowdata.ValueType(n.Columns()[logical.PlaceOf(n, column)].Type).(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type,
		*arrow.Float32Type, *arrow.Float64Type:
		return true
	case arrow.DecimalType:
		return dt.GetPrecision() <= digitsMax
	}
	return false
}

// typed returns the two aggregations with the types of their columns, the last one over the first.
func (s *split) typed() (first, last *logical.Aggregate, err error) {
	if first, err = s.first.Typed(); err != nil {
		return nil, nil, err
	}
	s.last.In = first
	last, err = s.last.Typed()
	return first, last, err
}

// whole returns the last aggregation of the groups of the first, with the columns of the aggregation
// that was split.
func (s *split) whole(c *Context, of *logical.Aggregate) (logical.Node, error) {
	_, last, err := s.typed()
	if err != nil {
		return nil, err
	}
	return projected(c, last, of.Columns(), s.computed)
}
