package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/internal/window"
	"github.com/mpga/mpga/internal/order"
)

// WindowCall is a column of Windows.
type WindowCall = window.Call

// WindowFunc is a function of WindowCall.
type WindowFunc = window.Func

// WindowOptions say what Windows adds to rows.
type WindowOptions struct {
	Schema    *arrow.Schema // of the rows, and of a column for each call
	Partition []order.Key
	Order     []order.Key
	Calls     []WindowCall
}

// windowShare is the part of the memory limit that the blocks of window functions may take, where they need not be
// larger.
const windowShare = 6

// Windows takes over rows in the order of Partition, then of Order, none of which was read, and returns them with a
// further column for each call. A partition is kept in memory, unless each call goes on where it was, as running sums
// do, or looks at rows at constant distances alone, as lag does.
func (s *Statement) Windows(ctx context.Context, rows *order.Reader, opt WindowOptions) array.RecordReader {
	return window.New(ctx, rows, window.Options{
		Schema: opt.Schema, Partition: opt.Partition, Order: opt.Order, Calls: opt.Calls,
		Allocator: s.made, Memory: s.memory, Budget: s.memory, BlockRows: s.engine.opt.testing.BlockRows,
		BlockBytes: s.engine.MemoryLimit() / windowShare, Threads: s.engine.opt.Threads, Units: s.engine.threads,
	})
}
