package window

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/internal/finalize"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowdata"
)

// aggregates makes a column of an aggregate function over frames.
type aggregates struct {
	opt     *Options
	call    *Call
	bound   *rowdata.Bound
	encoder *encode.Encoder
	final   finalize.Finalizer
	carried *cpuagg.Frames // the last running state of the block before; nil before the first
	rows    uint64         // of blocks before
}

func newAggregates(opt *Options, c *Call) *aggregates {
	a := &aggregates{opt: opt, call: c, bound: c.Aggregate}
	interners := encode.NewInterners(a.bound)
	a.encoder = encode.NewEncoder(a.bound, interners)
	a.final = finalize.Finalizer{Bound: a.bound, Allocator: opt.Allocator, Interners: interners, Room: opt.room}
	return a
}

// room returns an error where there is no room for some bytes.
func (o *Options) room(bytes int64) error {
	if o.Budget == nil {
		return nil
	}
	return o.Budget.Room(bytes)
}

func (a *aggregates) release() {
	if a.carried != nil {
		a.carried.Release()
	}
}

// scan makes running states of states, from the last one of the block before on if the block goes on with a partition.
func (a *aggregates) scan(b *rows, states *cpuagg.Frames, isFirst func(int) bool) {
	if b.goesOn {
		states.Carry(a.carried, 0)
	}
	states.Scan(isFirst)
	a.release()
	a.carried = cpuagg.NewFrames(a.bound, a.opt.Memory, 1)
	a.carried.Carry(states, states.Len()-1)
}

// column implements maker.
func (a *aggregates) column(ctx context.Context, b *rows) (arrow.Array, error) {
	switch w := a.call.Window; {
	case w.Exclude != expr.ExcludeNone:
	case w.Frame == "" && len(a.opt.Order) == 0, w.Start == expr.UnboundedPreceding && w.End == expr.UnboundedFollowing:
		return a.grouped(ctx, b, b.partitionOf, len(b.partitions), nil)
	case w.Frame == "", w.Start == expr.UnboundedPreceding && w.End == expr.CurrentRow && w.Frame != expr.FrameRows:
		return a.grouped(ctx, b, b.peersOf, len(b.block.peers), func(peers int) bool {
			first, _ := b.partition(b.block.peers[peers])
			return b.block.peers[peers] == first
		})
	case w.Start == expr.UnboundedPreceding && w.End == expr.CurrentRow:
		return a.grouped(ctx, b, nil, b.rows, func(row int) bool {
			first, _ := b.partition(row)
			return row == first
		})
	}
	return a.framed(ctx, b)
}

// grouped makes the column of states of groups of rows; of nil each row is a group. Where isFirst is not nil, the
// state of a group has the groups before it, too, up to one that isFirst says yes to.
func (a *aggregates) grouped(
	ctx context.Context, b *rows, groups []int32, n int, isFirst func(int) bool,
) (arrow.Array, error) {
	states := cpuagg.NewFrames(a.bound, a.opt.Memory, n)
	defer states.Release()
	if err := a.fold(b, groups, states); err != nil {
		return nil, err
	}
	if isFirst != nil {
		a.scan(b, states, isFirst)
	}
	made, err := a.results(ctx, states, n)
	if err != nil || groups == nil {
		return made, err
	}
	defer made.Release()
	rows := make([]gather.Row, b.rows)
	for row, group := range groups {
		rows[row].Row = uint32(group)
	}
	return gather.Column(a.opt.Allocator, []arrow.Array{made}, rows)
}

// framed makes the column of any frames.
func (a *aggregates) framed(ctx context.Context, b *rows) (arrow.Array, error) {
	f, err := framesOf(b, a.call)
	if err != nil {
		return nil, err
	}
	leaves := cpuagg.NewFrames(a.bound, a.opt.Memory, b.rows)
	defer leaves.Release()
	if err := a.fold(b, nil, leaves); err != nil {
		return nil, err
	}
	tree := cpuagg.NewTree(leaves, b.rows)
	defer tree.Release()
	for row := range b.rows {
		f.parts(row, func(from, to int) { tree.Add(row, from, to) })
	}
	return a.results(ctx, tree.States(), b.rows)
}

// fold folds the rows of the block into the states of their groups.
func (a *aggregates) fold(b *rows, groups []int32, into *cpuagg.Frames) error {
	columns, fields := make([]arrow.Array, len(a.bound.Columns)), make([]arrow.Field, len(a.bound.Columns))
	for i, c := range a.bound.Columns {
		column, err := b.column(c.Index)
		if err != nil {
			return err
		}
		columns[i], fields[i] = column, arrow.Field{Name: c.Name, Type: column.DataType(), Nullable: true}
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(b.rows))
	defer batch.Release()
	if err := a.encoder.SetBatch(batch, a.rows); err != nil {
		return err
	}
	a.rows += uint64(b.rows)
	var states []uint32
	for from := 0; from < b.rows; {
		tile, err := a.encoder.Encode(from, b.rows)
		if err != nil {
			return err
		}
		states = slices.Grow(states[:0], tile.Rows)[:tile.Rows]
		for i := range states {
			if groups == nil {
				states[i] = uint32(from + i)
			} else {
				states[i] = uint32(groups[from+i])
			}
		}
		into.Add(tile, states)
		from += tile.Rows
	}
	return nil
}

// results returns the results of states.
func (a *aggregates) results(ctx context.Context, states *cpuagg.Frames, n int) (arrow.Array, error) {
	batch, err := a.final.Batch(ctx, states.Groups(), 0, n)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	column := batch.Column(0)
	column.Retain()
	return column, nil
}
