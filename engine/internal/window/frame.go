package window

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
)

// frames are the frames of the rows of a block.
type frames struct {
	rows    *rows
	window  expr.Window
	offsets [2]*array.Int64 // of ROWS and GROUPS; nil of a bound without offset
	keys    *order.Codes    // of RANGE with an offset
	nulls   arrow.Array     // the values of keys
	limits  [2]*order.Codes // the values that keys are compared with
	lacking [2]arrow.Array  // the same as arrays: NULL where the key is, or the offset
}

// framesOf returns the frames of a call.
func framesOf(b *rows, c *Call) (*frames, error) {
	f := &frames{rows: b, window: c.Window}
	for i, bound := range []expr.FrameBound{c.Window.Start, c.Window.End} {
		if !bound.HasOffset() {
			continue
		}
		column, err := b.column(c.Offsets[i])
		if err != nil {
			return nil, err
		}
		if c.Window.Frame == expr.FrameRange {
			if err := f.compare(i, c, column); err != nil {
				return nil, err
			}
			continue
		}
		offset := column.(*array.Int64)
		for row := range offset.Len() {
			if offset.IsNull(row) || offset.Value(row) < 0 {
				const negative = "%w: the offset of a frame of %s is %s; want 0 or more"
				return nil, fmt.Errorf(negative, query.ErrQuery, c.Window.Frame, offset.ValueStr(row))
			}
		}
		f.offsets[i] = offset
	}
	return f, nil
}

// compare notes what a bound of RANGE compares.
func (f *frames) compare(bound int, c *Call, limits arrow.Array) error {
	values, err := f.rows.column(c.Range)
	if err != nil {
		return err
	}
	k := order.Key{Descending: f.rows.opt.Order[0].Descending, NullsFirst: f.rows.opt.Order[0].NullsFirst}
	codes := func(a arrow.Array) *order.Codes {
		schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: a.DataType(), Nullable: true}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))
		defer batch.Release()
		return order.NewCodes(batch, k)
	}
	if f.keys == nil {
		f.keys, f.nulls = codes(values), values
	}
	f.limits[bound], f.lacking[bound] = codes(limits), limits
	return nil
}

// of returns the frame of a row: rows from from up to to.
func (f *frames) of(row int) (from, to int) {
	first, last := f.rows.partition(row)
	if f.window.Frame == "" { // RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
		_, to = f.rows.peers(row)
		return first, to
	}
	from, to = f.start(row, first, last), f.end(row, first, last)
	return from, max(from, to)
}

// start returns the first row of a frame within the partition.
func (f *frames) start(row, first, last int) int {
	switch bound := f.window.Start; {
	case bound == expr.UnboundedPreceding:
		return first
	case bound == expr.CurrentRow && f.window.Frame == expr.FrameRows:
		return row
	case bound == expr.CurrentRow:
		from, _ := f.rows.peers(row)
		return from
	case f.window.Frame == expr.FrameRows:
		return clamp(row, f.distance(0, row), first, last)
	case f.window.Frame == expr.FrameGroups:
		from, _ := f.peersAt(row, f.distance(0, row), first, last)
		return from
	}
	if f.lacking[0].IsNull(row) {
		from, _ := f.rows.peers(row)
		return from
	}
	values, behind := f.values(first, last)
	return values + sort.Search(behind-values, func(i int) bool { return f.keys.Compare(values+i, f.limits[0], row) >= 0 })
}

// end returns the row behind a frame within the partition.
func (f *frames) end(row, first, last int) int {
	switch bound := f.window.End; {
	case bound == expr.UnboundedFollowing:
		return last
	case bound == expr.CurrentRow && f.window.Frame == expr.FrameRows:
		return row + 1
	case bound == expr.CurrentRow:
		_, to := f.rows.peers(row)
		return to
	case f.window.Frame == expr.FrameRows:
		return clamp(row+1, f.distance(1, row), first, last)
	case f.window.Frame == expr.FrameGroups:
		_, to := f.peersAt(row, f.distance(1, row), first, last)
		return to
	}
	if f.lacking[1].IsNull(row) {
		_, to := f.rows.peers(row)
		return to
	}
	values, behind := f.values(first, last)
	return values + sort.Search(behind-values, func(i int) bool { return f.keys.Compare(values+i, f.limits[1], row) > 0 })
}

// values returns the rows of a partition whose key is not NULL.
func (f *frames) values(first, last int) (from, to int) {
	isNull := func(row int) bool { return f.nulls.IsNull(row) }
	if f.rows.opt.Order[0].NullsFirst {
		return first + sort.Search(last-first, func(i int) bool { return !isNull(first + i) }), last
	}
	return first, first + sort.Search(last-first, func(i int) bool { return isNull(first + i) })
}

// distance returns the offset of a bound, negative before the row.
func (f *frames) distance(bound, row int) int64 {
	n := f.offsets[bound].Value(row)
	if []expr.FrameBound{f.window.Start, f.window.End}[bound] == expr.OffsetPreceding {
		return -n
	}
	return n
}

// clamp adds a distance to a row, up to the bounds of its partition.
func clamp(row int, distance int64, first, last int) int {
	switch {
	case distance < int64(first-row):
		return first
	case distance > int64(last-row):
		return last
	}
	return row + int(distance)
}

// peersAt returns the rows of the peers at a distance from a row's; behind the bounds of the partition there are none.
func (f *frames) peersAt(row int, distance int64, first, last int) (from, to int) {
	at := int64(f.rows.peersOf[row]) + max(min(distance, 1<<32), -1<<32)
	switch {
	case at < int64(f.rows.peersOf[first]):
		return first, first
	case at > int64(f.rows.peersOf[last-1]):
		return last, last
	}
	return f.rows.bounds(f.rows.block.peers, int32(at))
}

// parts calls a function with the ranges of rows of a row's frame, without the rows that EXCLUDE names.
func (f *frames) parts(row int, visit func(from, to int)) {
	from, to := f.of(row)
	cut := func(a, b int) {
		if a, b = max(a, from), min(b, to); a < b {
			visit(a, b)
		}
	}
	first, behind := f.rows.peers(row)
	switch f.window.Exclude {
	case expr.ExcludeNone:
		cut(from, to)
	case expr.ExcludeCurrent:
		cut(from, row)
		cut(row+1, to)
	case expr.ExcludeGroup:
		cut(from, first)
		cut(behind, to)
	case expr.ExcludeTies:
		cut(from, first)
		cut(row, row+1)
		cut(behind, to)
	}
}
