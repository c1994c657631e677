package logical

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// Parameter is the value of a parameter of a statement: a text that is cast to a type, as CAST does.
type Parameter struct {
	Type arrow.DataType // of the value
	Text string         // as SQL writes the value
	Null bool           // the value is NULL, which suits every place, whatever the type
}

// ParametersOf returns the values of a row of a batch, whose columns are the parameters in their
// order.
func ParametersOf(batch arrow.RecordBatch, row int) []Parameter {
	values := make([]Parameter, batch.NumCols())
	for i, column := range batch.Columns() {
		p := &values[i]
		p.Type, p.Null = column.DataType(), column.IsNull(row)
		if !p.Null {
			p.Text = column.ValueStr(row)
		}
		if b, ok := column.(arrowBytes); ok && !p.Null { // which ValueStr encodes
			p.Text = blobText(b.Value(row))
		}
		if d, ok := column.(arrowDictionary); ok {
			p.Type = d.Dictionary().DataType()
			if !p.Null {
				p.Text = d.Dictionary().ValueStr(d.GetValueIndex(row))
			}
		}
		p.Text = strings.Clone(p.Text) // which may be a part of the batch
	}
	return values
}

// arrowBytes is an array of binary values.
type arrowBytes interface{ Value(row int) []byte }

// blobText writes bytes as a cast to BLOB reads them.
func blobText(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c >= utf8.RuneSelf || c == '\\' {
			fmt.Fprintf(&s, `\x%02X`, c)
		} else {
			s.WriteByte(c)
		}
	}
	return s.String()
}

// arrowDictionary is an array of codes of values.
type arrowDictionary interface {
	Dictionary() arrow.Array
	GetValueIndex(i int) int
}

// placeholders are the parameters of a statement while it is planned.
type placeholders struct {
	at     time.Time        // when the statement is bound, which now() is
	values []*expr.Expr     // nil where only the result's columns are asked for: then parameters are NULL
	types  []arrow.DataType // as their places let expect them; nil of a parameter without such a place
}

// newPlaceholders returns the parameters of a statement with their values, or, where none are given,
// without.
func newPlaceholders(ctx context.Context, s *sql.Select, given []Parameter) (*placeholders, error) {
	p := &placeholders{at: time.Now().In(expr.ZoneOf(ctx)), types: make([]arrow.DataType, s.Parameters)}
	if given == nil {
		return p, nil
	}
	if len(given) != s.Parameters {
		return nil, fmt.Errorf("%w: parameters of the statement: %d; values that are given: %d",
			query.ErrQuery, s.Parameters, len(given))
	}
	for i, g := range given {
		x, err := g.expr()
		if err != nil {
			return nil, fmt.Errorf("parameter $%d: %w", i+1, err)
		}
		p.values = append(p.values, x)
	}
	return p, nil
}

// expr returns the value as an expression.
func (p *Parameter) expr() (*expr.Expr, error) {
	if p.Null {
		return expr.Constant(nil), nil
	}
	t, err := expr.TypeOf(p.Type)
	if err != nil {
		return nil, err
	}
	value := expr.Constant(p.Text)
	switch t.ID {
	case expr.Text:
		return value, nil
	case expr.Int64, expr.Int32, expr.Float64:
		if number, err := expr.Number(p.Text); err == nil && number.Type.ID == t.ID {
			return number, nil
		}
	}
	return expr.Cast(value, t), nil
}

// bind returns the statement with values in place of its parameters and of now() and its kin, and notes the types that
// parameters without values have by their places.
func (p *placeholders) bind(ctx context.Context, s *sql.Select, r *scope) *sql.Select {
	if len(p.types) == 0 && s.Moment == nil {
		return s
	}
	if p.values == nil {
		s.Replace(func(x *expr.Expr) *expr.Expr {
			p.expect(ctx, x, r)
			return nil
		})
		p.count(s.Limit)
		p.count(s.Offset)
	}
	bound := s.Replace(func(x *expr.Expr) *expr.Expr {
		if x.IsMomentary() {
			return x.Moment(p.at)
		} else if x.Op != expr.OpParameter {
			return nil
		}
		value := expr.Constant(nil)
		if p.values != nil {
			c := *p.values[x.Value.(int64)-1]
			value = &c
		}
		value.At = x.At
		return value
	})
	p.finish(bound.Items, s.Items)
	return bound
}

// moments returns a condition of ON with the value of now() and its kin in their place.
func (p *placeholders) moments(on *expr.Expr) *expr.Expr {
	return on.Replace(func(x *expr.Expr) *expr.Expr {
		if x.IsMomentary() {
			return x.Moment(p.at)
		}
		return nil
	})
}

// finish lets columns of the result be what they are whatever values the parameters have: a column
// keeps its name, and a parameter that is a column by itself has its type before it has a value.
func (p *placeholders) finish(bound, items []sql.Item) {
	keepNames(bound, items)
	for i, item := range items {
		if item.Expr != nil && item.Expr.Op == expr.OpParameter && p.values == nil {
			bound[i].Expr = expr.Cast(bound[i].Expr, expr.Type{ID: expr.Text})
		}
	}
}

// keepNames names items that have become other expressions as they were.
func keepNames(made, items []sql.Item) {
	for i, item := range items {
		if item.Expr == nil {
			continue
		}
		if text := item.Expr.String(); item.Name == "" && text != made[i].Expr.String() {
			made[i].Name = text
		}
	}
}

// count notes that a parameter is a number of rows.
func (p *placeholders) count(x *expr.Expr) {
	if x != nil && x.Op == expr.OpParameter {
		p.types[x.Value.(int64)-1] = arrow.PrimitiveTypes.Int64
	}
}

// expect notes the type of parameters that are arguments of an expression: the type that a cast
// leads to, or the type of another argument.
func (p *placeholders) expect(ctx context.Context, x *expr.Expr, r *scope) {
	if x.Op != expr.OpCall && x.Op != expr.OpCast && x.Op != expr.OpTryCast {
		return
	}
	var by arrow.DataType
	if x.Op != expr.OpCall {
		by = x.Type.Arrow()
	}
	for i := 0; i < len(x.Args) && by == nil; i++ {
		by = r.typeOf(ctx, x.Args[i])
	}
	for _, a := range x.Args {
		if a.Op == expr.OpParameter && by != nil {
			p.types[a.Value.(int64)-1] = by
		}
	}
}

// typeOf returns the type of an expression over the columns of the scope, or nil where it has none
// before its parameters have values.
func (r *scope) typeOf(ctx context.Context, x *expr.Expr) arrow.DataType {
	if x.Op == expr.OpParameter || x.Op == expr.OpAggregate {
		return nil
	}
	x, err := r.resolve(x, nil, nil)
	if err != nil {
		return nil
	}
	program, err := expr.BindTo(ctx, ColumnsOf(r.node), x)
	if err != nil {
		return nil
	}
	return program.Arrow(0)
}

// expected returns the types of Statement.Parameters.
func (p *placeholders) expected() []arrow.DataType {
	types := make([]arrow.DataType, len(p.types))
	for i, t := range p.types {
		if types[i] = t; t == nil {
			types[i] = arrow.BinaryTypes.String
		}
	}
	return types
}
