package rules

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// shiftMax bounds the constant n of a shifted sum, so that no sum of fewer than 2^32 rows passes 64 bits.
const shiftMax = 1 << 20

// sum(c + n), of a column and a constant, is sum(c) + n * count(c): nothing is computed for a row, and
// several such sums share sum(c). Where c + n could pass its type's bounds, which is an error, the sum
// stays.
func shiftedSums(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || of.Overflow != query.OverflowError {
		return nil, nil
	}
	in, ok := of.In.(*logical.Project)
	if !ok {
		return nil, nil
	}
	s := &shifting{c: c, made: *of, at: logical.PlacesOf(in.Columns()), calls: map[plainCall]int{}}
	below := logical.PlacesOf(in.In.Columns())
	isShifted := func(call logical.Call) bool {
		column, _ := s.shift(in, below, call)
		return column != nil
	}
	if !slices.ContainsFunc(of.Calls, isShifted) {
		return nil, nil
	}
	s.columns, s.exprs, s.made.Calls = slices.Clone(in.Columns()), slices.Clone(in.Exprs), nil
	computed := map[expr.ID]*expr.Expr{}
	for _, call := range of.Calls {
		plain, isPlain := plainOf(call)
		same, isKnown := s.calls[plain]
		column, n := s.shift(in, below, call)
		switch {
		case column != nil:
			sum, count := s.call(query.Sum, column, call), s.call(query.Count, column, call)
			computed[call.Column.ID] = expr.Call("+", sum, expr.Call("*", expr.Constant(n), count))
		case isPlain && isKnown: // a part of a sum before it
			computed[call.Column.ID] = s.made.Calls[same].Column.Expr()
		default:
			if isPlain {
				s.calls[plain] = len(s.made.Calls)
			}
			s.made.Calls = append(s.made.Calls, call)
		}
	}
	project, err := logical.NewProject(c, in.In, s.columns, s.exprs)
	if err != nil {
		return nil, err
	}
	return rewritten(c, &s.made, of, project, computed)
}

// shifting is an aggregation whose sums are shifted.
type shifting struct {
	c       *Context
	made    logical.Aggregate
	columns []logical.Column // below the aggregation
	exprs   []*expr.Expr     // by column
	at      map[expr.ID]int  // places in columns
	calls   map[plainCall]int
}

// plainCall is the sum or the count of a column.
type plainCall struct {
	f   query.Func
	arg expr.ID
}

// plainOf says whether a call is a sum or a count of a column.
func plainOf(c logical.Call) (plainCall, bool) {
	f := c.Function.Func
	if f != query.Sum && f != query.Count || c.Distinct {
		return plainCall{}, false
	}
	return plainCall{f, c.Args[0]}, true
}

// call returns the column of the sum or the count of a column, which is aggregated once.
func (s *shifting) call(f query.Func, of *expr.Expr, instead logical.Call) *expr.Expr {
	if _, ok := s.at[of.ID]; !ok {
		s.at[of.ID] = len(s.columns)
		s.columns, s.exprs = append(s.columns, logical.Column{ID: of.ID, Name: of.Name}), append(s.exprs, of)
	}
	plain := plainCall{f, of.ID}
	same, ok := s.calls[plain]
	if !ok {
		same = len(s.made.Calls)
		s.calls[plain] = same
		column := logical.Column{ID: s.c.IDs.New(), Name: f.String() + "(" + of.Name + ")"}
		s.made.Calls = append(s.made.Calls, logical.Call{
			Function: query.Aggregate{Func: f}, Args: []expr.ID{of.ID}, Column: column, At: instead.At,
		})
	}
	return s.made.Calls[same].Column.Expr()
}

// shift returns the column and the constant of sum(c + n). The column is nil of other calls. places has
// the places of columns in the input of in.
func (s *shifting) shift(in *logical.Project, places map[expr.ID]int, call logical.Call) (column *expr.Expr, n int64) {
	if call.Function.Func != query.Sum || call.Distinct {
		return nil, 0
	}
	at := s.at[call.Args[0]]
	sum := in.Exprs[at]
	if sum.Op != expr.OpCall || sum.Name != "+" && sum.Name != "-" || len(sum.Args) != 2 {
		return nil, 0
	}
	column, constant := sum.Args[0], sum.Args[1]
	if column.Op != expr.OpColumn && sum.Name == "+" {
		column, constant = constant, column
	}
	n, ok := constant.Value.(int64)
	if column.Op != expr.OpColumn || constant.Op != expr.OpConstant || !ok || constant.Type.ID == expr.Decimal ||
		n < -shiftMax || n > shiftMax {
		return nil, 0
	}
	if sum.Name == "-" {
		n = -n
	}
	if !fits(in.In.Columns()[places[column.ID]], in.Columns()[at].Type, n) {
		return nil, 0
	}
	return column, n
}

// fits says whether the sum of a column and n fits a type, for every value of the column, which has
// integers.
func fits(column logical.Column, made arrow.DataType, n int64) bool {
	low, high, ok := integerRange(rowdata.ValueType(column.Type))
	if !ok {
		return false
	}
	if s := column.Stats; s.HasRange {
		low, high = max(low, s.Min), min(high, s.Max)
	}
	least, most, ok := integerRange(made)
	return made.ID() == arrow.INT64 || ok && low+n >= least && high+n <= most
}

// integerRange returns the least and the greatest value of an integer type of at most 32 bits.
func integerRange(dt arrow.DataType) (low, high int64, ok bool) {
	if !arrow.IsInteger(dt.ID()) || dt.(arrow.FixedWidthDataType).BitWidth() > 32 {
		return 0, 0, false
	}
	return scan.TypeRange(dt)
}
