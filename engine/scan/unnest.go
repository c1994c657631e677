package scan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
)

// Unnest returns a source that has a row of src once for every element of one of its columns, a list
// of values that are not nested, and the elements as a further column, the last. A row whose list is
// empty or NULL is left out. Its errors are query.ErrQuery.
func Unnest(src Source, list int, name string) (Source, error) {
	element, err := Element(src.Schema().Field(list))
	if err != nil {
		return nil, err
	}
	element.Name = name
	fields := append(slices.Clone(src.Schema().Fields()), element)
	return &unnested{Source: src, list: list, schema: arrow.NewSchema(fields, nil)}, nil
}

// Element returns the column of the elements of a list of values that are not nested, without a name.
// Its errors are query.ErrQuery.
func Element(list arrow.Field) (arrow.Field, error) {
	element, ok := delivery.Element(list.Type)
	if !ok {
		return list, query.Errorf("column %q is of type %s; only a list of values that are not nested has elements to read",
			list.Name, query.TypeName(list.Type))
	}
	return arrow.Field{Type: element, Nullable: true}, nil
}

// unnested is the Source that Unnest returns.
type unnested struct {
	Source
	list   int
	schema *arrow.Schema // of Source's columns and the elements
}

// Unwrap returns the source of the lists, for what its filter leaves out.
func (u *unnested) Unwrap() Source { return u.Source }

// Schema implements Source.
func (u *unnested) Schema() *arrow.Schema { return u.schema }

// Stats implements Source.
func (u *unnested) Stats() Stats {
	s := u.Source.Stats()
	if s.Rows != 0 {
		s.Rows = -1
	}
	if s.Columns != nil {
		s.Columns = append(slices.Clone(s.Columns), ColumnStats{})
		for i := range s.Columns {
			s.Columns[i].Tight = false
		}
	}
	return s
}

// unnestedSplitsMax keeps the positions of splits apart whose rows nobody has counted.
const unnestedSplitsMax = 1 << 20
const _ = uint64(unnestedSplitsMax * (decode.PositionsUnknown - 1)) // does not compile where positions overflow

// Splits implements Source.
func (u *unnested) Splits(ctx context.Context, columns []int) ([]Split, error) {
	own := u.Source.Schema().NumFields()
	read := []int{u.list}
	plan := &unnestPlan{schema: recordreader.Columns(u.schema, columns)}
	for _, c := range columns {
		if c == own {
			plan.from = append(plan.from, -1)
			continue
		}
		at := slices.Index(read[1:], c) + 1
		if at == 0 {
			at = len(read)
			read = append(read, c)
		}
		plan.from = append(plan.from, at)
	}
	plan.element, _ = delivery.NewPlan([]arrow.Field{u.schema.Field(own)}, []delivery.Column{{Convert: true}})
	splits, err := u.Source.Splits(ctx, read)
	if err != nil {
		return nil, err
	}
	if len(splits) > unnestedSplitsMax {
		return nil, fmt.Errorf("lists in %d parts of files, where %d parts are the most", len(splits), unnestedSplitsMax)
	}
	for i, s := range splits {
		splits[i] = &unnestedSplit{Split: s, number: uint64(i), plan: plan}
	}
	return splits, nil
}

// unnestPlan says how batches of elements are made of batches whose first column is the list.
type unnestPlan struct {
	from    []int          // by column: the column of the batch that is read, or -1 for the elements
	schema  *arrow.Schema  // of the batches that are made
	element *delivery.Plan // of the elements
}

type unnestedSplit struct {
	Split
	number uint64
	plan   *unnestPlan
}

// Position implements Split.
func (s *unnestedSplit) Position() uint64 { return s.number * decode.PositionsUnknown }

// Rows implements Split.
func (s *unnestedSplit) Rows() int64 { return -1 }

// Open implements Split.
func (s *unnestedSplit) Open(ctx context.Context, opt OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	r := &unnestedReader{ctx: ctx, split: s, from: from, opt: opt,
		deliverer: delivery.NewDeliverer(s.plan.element, opt.Allocator)}
	r.Init(s.plan.schema, r.next, func() {
		r.deliverer.Close()
		r.dropLists()
		from.Release()
	})
	return r, nil
}

// unnestedReader makes the batches of elements of another reader's batches of lists.
type unnestedReader struct {
	recordreader.Base
	ctx       context.Context // of Open, as reader's is
	split     *unnestedSplit
	from      array.RecordReader // owned
	opt       OpenOptions
	deliverer *delivery.Deliverer // of elements

	input arrow.RecordBatch // of from; nil before the first batch
	lists arrow.Array       // of input, as Arrow has them; owned
	row   int               // of input, whose elements come next
	taken int64             // elements of that row that have been returned
	rows  []gather.Row      // by row of the current batch: the row of input

	ranges []decode.RowRange // of the elements of the current batch, among all elements of input
}

func (r *unnestedReader) next() (out arrow.RecordBatch, err error) {
	for out == nil {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if r.input == nil || r.row == int(r.input.NumRows()) {
			if r.input, err = recordreader.Next(r.from); r.input == nil {
				return nil, err
			}
			if err := r.takeLists(); err != nil {
				return nil, decode.Locate(r.split.Name(), err)
			}
			r.row, r.taken = 0, 0
		}
		err := UseBatch(r.input, func() (err error) {
			out, err = r.unnest()
			return err
		})
		if err != nil {
			return nil, decode.Locate(r.split.Name(), err)
		}
	}
	return out, nil
}

// takeLists makes the lists of the batch ready.
func (r *unnestedReader) takeLists() (err error) {
	r.dropLists()
	r.lists = r.input.Column(0)
	if _, ok := r.lists.(array.ListLike); !ok {
		r.lists, err = nested.Lists(r.opt.Allocator, r.lists)
		return err
	}
	r.lists.Retain()
	return nil
}

func (r *unnestedReader) dropLists() {
	if r.lists != nil {
		r.lists.Release()
		r.lists = nil
	}
}

// unnest returns the next elements, or nil where the batch of lists has none left.
func (r *unnestedReader) unnest() (arrow.RecordBatch, error) {
	lists, ok := r.lists.(array.ListLike)
	if !ok {
		return nil, fmt.Errorf("%w: %s in place of a list", ErrCorrupt, r.input.Column(0).DataType())
	}
	elements, err := r.takeElements(lists)
	if elements == nil {
		return nil, err
	}
	defer elements.Release()
	columns := make([]arrow.Array, len(r.split.plan.from))
	defer recordreader.ReleaseAll(columns)
	for i, from := range r.split.plan.from {
		if from < 0 {
			columns[i] = elements
			elements.Retain()
		} else if columns[i], err = delivery.Repeat(r.opt.Allocator, r.input.Column(from), r.rows); err != nil {
			return nil, err
		}
	}
	return recordreader.Batch(r.split.plan.schema, columns, int64(len(r.rows))), nil
}

// takeElements returns the next elements, as many as a batch has rows, and notes their rows. It
// returns nil where no row has elements any more.
func (r *unnestedReader) takeElements(lists array.ListLike) (arrow.Array, error) {
	r.rows, r.ranges = r.rows[:0], r.ranges[:0]
	values, end := lists.ListValues(), int64(0)
	for ; r.row < lists.Len() && len(r.rows) < r.opt.BatchRows; r.row, r.taken = r.row+1, 0 {
		if lists.IsNull(r.row) {
			continue
		}
		from, whole := lists.ValueOffsets(r.row)
		from += r.taken
		if from == whole {
			continue
		}
		if from < end || from > whole || whole > int64(values.Len()) {
			return nil, fmt.Errorf("%w: a list of elements %d to %d of %d", ErrCorrupt, from, whole, values.Len())
		}
		to := min(whole, from+int64(r.opt.BatchRows-len(r.rows)))
		if last := len(r.ranges) - 1; last >= 0 && from == end {
			r.ranges[last].To = to
		} else {
			r.ranges = append(r.ranges, decode.RowRange{From: from, To: to})
		}
		end = to
		for range to - from {
			r.rows = append(r.rows, gather.Row{Row: uint32(r.row)})
		}
		if to < whole {
			r.taken += to - from
			break
		}
	}
	if len(r.ranges) == 0 {
		return nil, nil
	}
	return r.deliver(values)
}

// deliver returns the values in the ranges, of S1's types.
func (r *unnestedReader) deliver(values arrow.Array) (arrow.Array, error) {
	first, end := r.ranges[0].From, r.ranges[len(r.ranges)-1].To
	values = array.NewSlice(values, first, end)
	defer values.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "element", Type: values.DataType(), Nullable: true}}, nil)
	raw := array.NewRecordBatch(schema, []arrow.Array{values}, end-first)
	defer raw.Release()
	batch, err := r.deliverer.Deliver(raw)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	var some rowset.Set
	some.Reset(int(end - first))
	for _, of := range r.ranges {
		some.Add(int(of.From-first), int(of.To-first))
	}
	return rowset.Take(r.opt.Allocator, batch.Column(0), &some)
}

// Place implements Placer.
func (r *unnestedReader) Place(i int) string {
	if p, ok := r.from.(Placer); ok {
		return p.Place(int(r.rows[i].Row))
	}
	return ""
}
