package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowdata"
)

// windowNode sorts rows by partitions and an order, and adds columns of window functions.
type windowNode struct {
	in      readerNode
	options engine.WindowOptions
	first   int64  // how many first rows of each partition are wanted; 0 of all
	ties    bool   // rows with the order of the last of these are wanted, too
	text    string // for people
}

func (n *windowNode) input() node           { return n.in }
func (n *windowNode) schema() *arrow.Schema { return n.options.Schema }

// read implements readerNode.
func (n *windowNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	if r.given == n {
		return r.takeGiven()
	}
	rows, err := n.in.read(ctx, r)
	if err != nil {
		return nil, err
	}
	by := n.by()
	sorted, err := r.statement.Sort(ctx, rows, by)
	rows.Release()
	if err != nil {
		return nil, err
	}
	if len(by.Keys) > 0 {
		sorted.Expect(func(rows int64) float64 { return r.partRead(n.in, rows) })
		r.of(n).sorted = sorted
	}
	return r.statement.Windows(ctx, sorted, n.options), nil
}

// by returns the order in which the functions take the rows.
func (n *windowNode) by() order.By {
	keys := slices.Concat(n.options.Partition, n.options.Order)
	return order.By{Keys: keys, Prefix: len(n.options.Partition), First: n.first, Ties: n.ties}
}

// window makes the node of window functions.
func (p *planner) window(n *logical.Window) (readerNode, error) {
	in, err := p.reader(n.In)
	if err != nil {
		return nil, err
	}
	if rows, ok := in.(*rowsNode); ok {
		rows.inOrder = len(n.Partition)+len(n.Order) == 0
	}
	places := logical.PlacesOf(n.In.Columns())
	made := &windowNode{in: in, first: n.First, ties: n.Ties}
	opt := &made.options
	for _, id := range n.Partition {
		opt.Partition = append(opt.Partition, order.Key{Column: places[id]})
	}
	opt.Order = orderBy(places, n.Order, &logical.Limit{}).Keys
	if err := made.by().Validate(in.schema()); err != nil {
		return nil, err
	}
	taken, names := logical.Names{}, map[expr.ID]string{}
	fields := make([]arrow.Field, 0, len(n.Columns()))
	for i, f := range in.schema().Fields() {
		f.Name = taken.Unique(f.Name)
		names[n.In.Columns()[i].ID] = f.Name
		fields = append(fields, f)
	}
	rows := arrow.NewSchema(fields, nil)
	var texts []string
	for i := range n.Calls {
		c := &n.Calls[i]
		call := engine.WindowCall{Func: engine.WindowFunc(c.Name), Window: c.Frame, Range: places[c.Range]}
		for _, id := range c.Args {
			call.Args = append(call.Args, places[id])
		}
		for i, id := range c.Offsets {
			call.Offsets[i], call.Distances[i] = places[id], distanceOf(n.In, id)
		}
		switch {
		case len(c.Args) > 1:
			call.Distances[0] = distanceOf(n.In, c.Args[1])
		case c.Name == "lag" || c.Name == "lead":
			one := int64(1)
			call.Distances[0] = &one
		}
		typ := c.Column.Type
		switch { // of the rows, whose times may have another unit than columns of files
		case c.Name == "":
			if call.Aggregate, err = rowdata.Bind(n.Query(c, names), rows, nil); err != nil {
				return nil, err
			}
			typ = call.Aggregate.Schema.Field(0).Type
		case expr.HasOtherUnit(typ):
			typ = rowdata.ValueType(rows.Field(places[c.Args[0]]).Type)
		}
		opt.Calls, texts = append(opt.Calls, call), append(texts, c.String())
		fields = append(fields, arrow.Field{Name: taken.Unique(c.Column.Name), Type: typ, Nullable: true})
	}
	opt.Schema, made.text = arrow.NewSchema(fields, nil), strings.Join(texts, ", ")
	return made, nil
}

// distanceOf returns the number that a column has in all rows of a node; nil of others.
func distanceOf(n logical.Node, id expr.ID) *int64 {
	p, ok := n.(*logical.Project)
	if !ok || logical.PlaceOf(p, id) < 0 {
		return nil
	}
	x := p.Exprs[logical.PlaceOf(p, id)]
	for x.Op == expr.OpCast {
		x = x.Args[0]
	}
	if v, ok := x.Value.(int64); ok && x.Op == expr.OpConstant {
		return &v
	}
	return nil
}
