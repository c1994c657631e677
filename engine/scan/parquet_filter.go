package scan

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// setFilter implements groupPart.
func (p *parquetPart) setFilter(f *groupFilter) {
	if f.ranges == nil {
		f.ranges = []rowRange{{to: p.numRows}}
	}
	p.filter = f
	p.numBytes = int64(float64(p.numBytes) * (float64(countRows(f.ranges)) / float64(p.numRows)))
}

// filteredGroup reads the rows of a row group that are needed: the columns that the filter needs, step by
// step; then, of the others, stretches of rows with no long gap between those that passed.
type filteredGroup struct {
	*parquetReader
	filter    *groupFilter
	deliverer *deliverer // of the tested columns
	selection selection
	at        []int64 // rows that each column has read or passed over

	ranges []rowRange    // left to read
	step   rowRange      // being read
	until  int64         // end of the range that step is of
	arrays []arrow.Array // of the step, by column; those tested only
	looked int           // rows of the step up to which those that pass have been returned
	given  int64         // first row of the stretch returned last
	back   int64         // row of the step up to which all that pass have been returned
	all    bool          // there is no filter: the whole step is to be returned
	ended  bool
}

// gapRows is how many rows that are not needed end a stretch: fewer are decoded with the rest.
const gapRows = 4096

func newFilteredGroup(r *parquetReader) *filteredGroup {
	f := r.part.filter
	r.rows = countRows(f.ranges)
	r.left = r.rows
	return &filteredGroup{
		parquetReader: r,
		filter:        f,
		deliverer:     newDeliverer(f.plan, r.mem),
		selection:     selection{test: f.test},
		at:            make([]int64, len(r.columns)),
		ranges:        slices.Clone(f.ranges),
		arrays:        make([]arrow.Array, len(r.columns)),
	}
}

func (g *filteredGroup) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if g.all {
			g.all = false
			return g.stretch(ctx, g.step, nil)
		}
		if from, to := g.selection.rows.stretch(g.looked, gapRows); from < to {
			g.looked = to
			return g.stretch(ctx, rowRange{from: g.step.from + int64(from), to: g.step.from + int64(to)}, g.selection.between(from, to))
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

// begin takes the next step and finds the rows that pass.
func (g *filteredGroup) begin(ctx context.Context) error {
	releaseArrays(g.arrays)
	g.selection.rows.reset(0)
	next := &g.ranges[0]
	g.step, g.until = rowRange{from: next.from, to: min(next.to, next.from+g.batchRows)}, next.to
	if next.from = g.step.to; next.from == next.to {
		g.ranges = g.ranges[1:]
	}
	g.left -= g.step.to - g.step.from
	g.looked, g.back = 0, g.step.from
	defer g.report()
	if g.filter.test.all() {
		g.all = true
		return nil
	}
	if err := g.readTested(ctx); err != nil {
		return err
	}
	return g.test(ctx)
}

// test evaluates the filter for the step.
func (g *filteredGroup) test(ctx context.Context) error {
	arrays := make([]arrow.Array, len(g.filter.tested))
	for i, c := range g.filter.tested {
		arrays[i] = g.arrays[c]
	}
	raw := g.batchOf(g.filter.tested, arrays, g.step.to-g.step.from)
	defer raw.Release()
	batch, err := g.deliverer.deliver(ctx, raw)
	if err != nil {
		return err
	}
	defer batch.Release()
	_, err = g.selection.run(ctx, batch)
	if row, ok := batchRow(err); ok {
		return locate(g.part.rowName(g.step.from+int64(row)), err)
	}
	return err
}

// readTested reads the step of the columns that the filter needs.
func (g *filteredGroup) readTested(ctx context.Context) error {
	columns := g.filter.tested
	return g.each(len(columns), func(i int) (err error) {
		g.arrays[columns[i]], err = g.readRows(ctx, columns[i], g.step, g.until)
		return err
	})
}

// readRows reads rows of a column, which are behind those that it has read.
// Those from until on may not be needed.
func (g *filteredGroup) readRows(ctx context.Context, c int, rows rowRange, until int64) (arrow.Array, error) {
	if g.columns[c] == nil {
		if err := g.reopenColumn(ctx, c); err != nil {
			return nil, err
		}
		g.at[c] = 0
	}
	g.columns[c].skip(rows.from-g.at[c], until)
	g.at[c] = rows.to
	return g.readColumn(ctx, c, rows.to-rows.from)
}

// stretch returns some rows of a stretch of the step, or all where rows is nil, of the columns wanted.
func (g *filteredGroup) stretch(ctx context.Context, of rowRange, rows *rowSet) (arrow.RecordBatch, error) {
	g.given = of.from
	until := of.to
	if until == g.step.to { // the next rows may well be needed too
		until = g.until
	}
	arrays := make([]arrow.Array, len(g.filter.wanted))
	defer func() { releaseArrays(arrays) }()
	err := g.each(len(arrays), func(i int) (err error) {
		c := g.filter.wanted[i]
		values := g.arrays[c]
		if values != nil {
			values = array.NewSlice(values, of.from-g.step.from, of.to-g.step.from)
		} else if values, err = g.readRows(ctx, c, of, until); err != nil {
			return err
		}
		if arrays[i] = values; rows == nil {
			return nil
		}
		defer values.Release()
		arrays[i], err = take(g.mem, values, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	g.back = of.to
	kept := of.to - of.from
	if rows != nil {
		kept = int64(rows.count)
	}
	return g.batchOf(g.filter.wanted, arrays, kept), nil
}

// batchOf makes a batch of columns.
func (g *filteredGroup) batchOf(columns []int, arrays []arrow.Array, rows int64) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: g.columnName(c), Type: arrays[i].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
}

// end counts what was not needed.
func (g *filteredGroup) end() {
	if g.ended {
		return
	}
	g.ended = true
	for _, c := range g.columns {
		if flat, ok := c.(*flatColumn); ok {
			g.filter.test.passed.Add(flat.pages.unused())
		}
	}
}

// spare implements thrifty. What is left of the step is to be done again.
func (g *filteredGroup) spare() {
	releaseArrays(g.arrays)
	g.deliverer.close()
	g.parquetReader.spare()
	if rest := (rowRange{from: g.back, to: g.step.to}); rest.from < rest.to {
		g.selection.retract(int(rest.from - g.step.from))
		g.left += rest.to - rest.from
		if len(g.ranges) > 0 && g.ranges[0].from == rest.to {
			g.ranges[0].from = rest.from
		} else {
			g.ranges = append([]rowRange{rest}, g.ranges...)
		}
	}
	g.step, g.back, g.all = rowRange{}, 0, false
}

// nextPlace implements nextPlacer.
func (g *filteredGroup) nextPlace() string {
	if len(g.ranges) == 0 {
		return g.part.name()
	}
	return g.part.rowName(g.ranges[0].from)
}

// Close implements rowReader.
func (g *filteredGroup) Close() error {
	releaseArrays(g.arrays)
	g.deliverer.close()
	return g.parquetReader.Close()
}

func (g *filteredGroup) placeOf(row int64) string {
	if !g.filter.test.all() {
		row = int64(g.selection.some.nth(int(row)))
	}
	return g.part.rowName(g.given + row)
}
