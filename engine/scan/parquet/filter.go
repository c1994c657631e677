package parquet

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/recordreader"
)

// SetFilter implements decode.GroupPart.
func (p *groupPart) SetFilter(f *decode.GroupFilter) {
	if f.Ranges == nil {
		f.Ranges = []decode.RowRange{{To: p.numRows}}
	}
	p.filter = f
	p.numBytes = int64(float64(p.numBytes) * (float64(decode.CountRows(f.Ranges)) / float64(p.numRows)))
}

// filteredGroup reads the needed rows of a row group, one step of rows after the other: first the
// columns that the filter tests; then, of the wanted columns, stretches of the step. The rows of a
// stretch that pass have no long gap between them.
type filteredGroup struct {
	*groupReader
	filter     *decode.GroupFilter
	deliverers []*delivery.Deliverer // by stage of filter: of the tested columns
	selection  decode.Selection      // the rows of the step that pass
	at         []int64               // by column: the row of the group that the column reads next

	ranges []decode.RowRange // rows of the group that no step has taken
	taken  []decode.RowRange // rows of the step that are needed, as far as ranges tell
	step   decode.RowRange   // rows of the group that are being read
	until  int64             // end of the range that the step ends in
	arrays []arrow.Array     // of the step, by column, of the rows at least that pass; nil where a column is not tested
	looked int               // index in the step behind the stretch that was begun last
	given  int64             // index in the group of the first row of the stretch that was begun last
	some   *rowset.Set       // rows of the stretch that was begun last; nil: all
	back   int64             // index in the group behind the stretch that was returned last
	ended  bool              // what was not needed has been counted
}

// gapRows not needed rows in a row end a stretch: fewer are decoded with the rows around them.
const gapRows = 4096

func newFilteredGroup(r *groupReader) *filteredGroup {
	f := r.part.filter
	r.rows = decode.CountRows(f.Ranges)
	r.left = r.rows
	g := &filteredGroup{
		groupReader: r,
		filter:      f,
		selection:   decode.Selection{Test: f.Test.For(r.opt.Sample)},
		at:          make([]int64, len(r.columns)),
		ranges:      slices.Clone(f.Ranges),
		arrays:      make([]arrow.Array, len(r.columns)),
	}
	for i := range f.Stages {
		g.deliverers = append(g.deliverers, delivery.NewDeliverer(f.Stages[i].Plan, r.opt.Memory))
	}
	return g
}

func (g *filteredGroup) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if from, to := g.selection.Rows.Stretch(g.looked, gapRows); from < to {
			g.looked = to
			of := decode.RowRange{From: g.step.From + int64(from), To: g.step.From + int64(to)}
			return g.stretch(ctx, of, g.selection.Between(from, to))
		}
		if len(g.ranges) == 0 {
			g.end()
			return nil, io.EOF
		}
		if err := g.begin(ctx); err != nil {
			return nil, err
		}
	}
}

// begin takes the next step, and finds the rows of it that are needed.
func (g *filteredGroup) begin(ctx context.Context) error {
	recordreader.ReleaseAll(g.arrays)
	g.selection.Rows.Reset(0)
	g.takeStep()
	g.left -= decode.CountRows(g.taken)
	g.looked, g.back = 0, g.step.From
	defer g.report()
	if g.filter.Test.All() {
		g.selection.Rows.Reset(int(g.step.To - g.step.From))
		for _, r := range g.taken {
			g.selection.Rows.Add(int(r.From-g.step.From), int(r.To-g.step.From))
		}
		return nil
	}
	return g.test(ctx)
}

// takeStep takes the ranges of the next step: where a filter is to be run, rows of one range; else
// all needed rows of a batch's rows of the group.
func (g *filteredGroup) takeStep() {
	g.taken = g.taken[:0]
	for end := g.ranges[0].From + g.batchRows; len(g.ranges) > 0 && g.ranges[0].From < end; {
		next := &g.ranges[0]
		g.until = next.To
		g.taken = append(g.taken, decode.RowRange{From: next.From, To: min(next.To, end)})
		if next.From = min(next.To, end); next.From == next.To {
			g.ranges = g.ranges[1:]
		}
		if !g.filter.Test.All() {
			break
		}
	}
	g.step = decode.RowRange{From: g.taken[0].From, To: g.taken[len(g.taken)-1].To}
}

// test finds the rows of the step that pass the filter.
func (g *filteredGroup) test(ctx context.Context) error {
	g.selection.Begin(int(g.step.To - g.step.From))
	for i := range g.filter.Stages {
		if g.selection.Rows.Count == 0 {
			break
		}
		if err := g.narrow(ctx, i); err != nil {
			g.selection.Rows.Reset(0) // of no row was it found out
			return err
		}
	}
	g.selection.End()
	return nil
}

// narrow reads the columns of a stage of the filter, and evaluates the stage: for all rows of the
// step, or, where few are left, for these alone.
func (g *filteredGroup) narrow(ctx context.Context, i int) error {
	stage, some := &g.filter.Stages[i], &g.selection.Rows
	if some.Count > some.Rows/fewShare {
		some = nil
	}
	arrays := make([]arrow.Array, len(stage.Tested))
	defer recordreader.ReleaseAll(arrays)
	err := g.each(len(arrays), g.decoded(stage.Tested, g.step.To-g.step.From), func(k int) (err error) {
		c := stage.Tested[k]
		if g.arrays[c] == nil {
			if g.arrays[c], err = g.readRows(ctx, c, g.step, g.until, some); err != nil {
				return err
			}
		}
		if some != nil {
			arrays[k], err = rowset.Take(g.opt.Memory, g.arrays[c], some)
			return err
		}
		arrays[k] = g.arrays[c]
		arrays[k].Retain()
		return nil
	})
	if err != nil {
		return err
	}
	rows := g.selection.Rows.Rows
	if some != nil {
		rows = some.Count
	}
	raw := g.batchOf(stage.Tested, arrays, int64(rows))
	defer raw.Release()
	batch, err := g.deliverers[i].Deliver(raw)
	if err == nil {
		defer batch.Release()
		err = g.selection.Narrow(ctx, stage.Filter, batch)
	}
	if row, ok := decode.BatchRow(err); ok {
		if some != nil {
			row = some.Nth(row)
		}
		return decode.Locate(g.part.RowName(g.step.From+int64(row)), err)
	}
	return err
}

// fewShare is the part of a step's rows below which a stage is evaluated for the rows alone that
// are left: it costs a copy of them.
const fewShare = 2

// readRows reads rows of a column that lie behind the rows that it has read, as chunkReader.read
// does. The rows from until on may not be needed.
func (g *filteredGroup) readRows(
	ctx context.Context, c int, rows decode.RowRange, until int64, wanted *rowset.Set,
) (arrow.Array, error) {
	if g.columns[c] == nil {
		if err := g.reopenColumn(ctx, c); err != nil {
			return nil, err
		}
		g.at[c] = 0
	}
	g.columns[c].skip(rows.From-g.at[c], until)
	g.at[c] = rows.To
	return g.readColumn(ctx, c, rows.To-rows.From, wanted)
}

// stretch returns the wanted columns of some rows of a stretch.
func (g *filteredGroup) stretch(ctx context.Context, of decode.RowRange, rows *rowset.Set) (arrow.RecordBatch, error) {
	if g.given, g.some = of.From, rows; rows.Count == rows.Rows {
		g.some = nil
	}
	until := of.To
	if until == g.step.To { // the next rows may well be needed too
		until = g.until
	}
	arrays := make([]arrow.Array, len(g.filter.Wanted))
	defer recordreader.ReleaseAll(arrays)
	err := g.each(len(arrays), g.decoded(g.filter.Wanted, of.To-of.From), func(i int) (err error) {
		c := g.filter.Wanted[i]
		values := g.arrays[c]
		if values != nil {
			values = array.NewSlice(values, of.From-g.step.From, of.To-g.step.From)
		} else if values, err = g.readRows(ctx, c, of, until, g.some); err != nil {
			return err
		}
		defer values.Release()
		arrays[i], err = rowset.Take(g.opt.Memory, values, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	g.back = of.To
	return g.batchOf(g.filter.Wanted, arrays, int64(rows.Count)), nil
}

// batchOf makes a batch of the arrays of some columns.
func (g *filteredGroup) batchOf(columns []int, arrays []arrow.Array, rows int64) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: g.columnName(c), Type: arrays[i].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
}

// end counts, once, the bytes of pages that no row was needed of.
func (g *filteredGroup) end() {
	if g.ended {
		return
	}
	g.ended = true
	for _, c := range g.columns {
		if flat, ok := c.(*flatColumn); ok {
			g.selection.Test.Passed.Add(flat.pages.unused())
		}
	}
}

// Spare implements decode.Thrifty. The rows of the step that were not returned are put back.
func (g *filteredGroup) Spare() {
	g.releaseStep()
	g.groupReader.Spare()
	if !g.filter.Test.All() {
		g.selection.Retract(int(g.back - g.step.From))
	}
	g.selection.Rows.Reset(0)
	rest := decode.Intersect(g.taken, []decode.RowRange{{From: g.back, To: g.step.To}})
	g.left += decode.CountRows(rest)
	if last := len(rest) - 1; last >= 0 && len(g.ranges) > 0 && g.ranges[0].From == rest[last].To {
		g.ranges[0].From = rest[last].From
		rest = rest[:last]
	}
	g.ranges = slices.Concat(rest, g.ranges)
	g.taken, g.step, g.back = nil, decode.RowRange{}, 0
}

// NextPlace implements RowPlacer.
func (g *filteredGroup) NextPlace() string {
	if len(g.ranges) == 0 {
		return g.part.Name()
	}
	return g.part.RowName(g.ranges[0].From)
}

// Close implements decode.RowReader.
func (g *filteredGroup) Close() error {
	g.releaseStep()
	return g.groupReader.Close()
}

// releaseStep releases what is held of the step, and for the next.
func (g *filteredGroup) releaseStep() {
	recordreader.ReleaseAll(g.arrays)
	for _, d := range g.deliverers {
		d.Close()
	}
}

// RowNumbers implements decode.RowNumberer.
func (g *filteredGroup) RowNumbers(from int64, to []int) {
	if g.some != nil {
		g.some.List(int(from), to)
	} else {
		for i := range to {
			to[i] = int(from) + i
		}
	}
	for i := range to {
		to[i] += int(g.given)
	}
}

// PlaceOf implements decode.RowPlacer.
func (g *filteredGroup) PlaceOf(row int64) string {
	var number [1]int
	g.RowNumbers(row, number[:])
	return g.part.RowName(int64(number[0]))
}
