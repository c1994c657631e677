package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/internal/vector"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/stream"
)

// RowsQuery is rows that a step keeps as they are, such as the build side of a join.
type RowsQuery struct {
	*aggregator.Query
	Devices *Devices
	Splits  []scan.Split

	// Code adds the columns of Schema to a program, of the columns of Splits; or tells what has no instructions.
	Schema *arrow.Schema
	Code   func(b *rowcode.Builder, columns []rowcode.Value) ([]rowcode.Value, error)

	// Take takes over a batch of Schema. It is called by several goroutines at once, each of which holds a thread.
	Take func(batch arrow.RecordBatch) error

	Passed    func(rows int64) // as Query has it
	Allocator memory.Allocator // of the batches
}

// RowReader has devices decode the pages of splits, filter and join their rows, and brings the rows that are left back
// as record batches:
//
//	split -> pages -> encoded tile -> device -> columns of words -> batches -> RowsQuery.Take
//	     \-> batches by the CPU <- splits of tiles that a device could not decode, or had not when it failed
//
// The rows of a tile are taken all or not at all, so that what a device that fails has left is known by split.
type RowReader struct {
	devices *coprocessor
	stats   Stats
	ended   atomic.Bool // devices take no more splits
	failed  atomic.Bool
}

// rowsBatch is how many rows a batch has at most: few enough that workers share the rows of a tile evenly.
const rowsBatch = 64 << 10

// NewRowReader returns what has devices decode the rows, or why the CPU is to. It must be released.
func NewRowReader(ctx context.Context, q *RowsQuery) (*RowReader, error) {
	d := q.Devices
	if err := d.mayPay(q.Splits); err != nil {
		return nil, err
	}
	switch {
	case d.named():
		return nil, errors.New("the algorithm that is asked for makes groups")
	case q.Code == nil:
		return nil, errors.New("what is made of the rows has no instructions")
	}
	of := &Query{Query: q.Query, Devices: d, Splits: q.Splits, Passed: q.Passed}
	l := newRowsLayout(of, q, nil)
	rows := *q.Query
	if of.Query = &rows; l.decoder != nil {
		rows.Rows = l.decoder.rows
	}
	switch {
	case l.notDecoded != nil:
		return nil, l.notDecoded
	case !(d.isHost() && d.Asked()) && l.decoder.rows < autoRowsMin:
		return nil, fmt.Errorf("about %s rows are too few", humanize.Comma(l.decoder.rows))
	}
	if err := of.paysToDecode(l.decoder); err != nil {
		return nil, err
	}
	if !d.Opened() && !(d.isHost() && d.Asked()) { // the CPU has better to do than to wait
		d.missed(of.decoding(l.decoder).saves(l.decoder.rows))
		return nil, errors.New("devices are not open yet")
	}
	c, err := newCoprocessor(ctx, of, l)
	if err != nil {
		return nil, err
	}
	r := &RowReader{devices: c}
	c.describe(&r.stats)
	return r, nil
}

// autoBytesMin is the least bytes of an input that devices are looked at for which the user has not asked for.
const autoBytesMin = 16 << 20

// mayPay returns why devices that the user has not asked for save no time whatever the splits have.
func (d *Devices) mayPay(splits []scan.Split) error {
	if d.Asked() {
		return nil
	}
	bytes := int64(0)
	for _, s := range splits {
		bytes += s.Bytes()
	}
	switch {
	case bytes < autoBytesMin:
		return fmt.Errorf("%s are too few", humanize.IBytes(uint64(max(bytes, 0))))
	case d.memory < autoMemoryMin:
		return errors.New("the memory limit is too small for a device's driver")
	}
	return d.possible()
}

// isHost says whether the devices are the CPU's double of a GPU, which opens at once and takes any number of rows.
func (d *Devices) isHost() bool { return d.choice.hostBytes > 0 }

// TakeSplit is aggregator.Aggregator's.
func (r *RowReader) TakeSplit(ctx context.Context, rows *aggregator.Rows, split scan.Split) (taken bool, err error) {
	if r.ended.Load() || r.failed.Load() {
		return false, nil
	}
	taken, err = r.devices.decoder.take(ctx, rows, split)
	return taken, r.survive(err)
}

// survive returns an error that is not a device's, and notes one that is: then the CPU reads what is left.
func (r *RowReader) survive(err error) error {
	if !errors.Is(err, stream.ErrDevice) || errors.Is(err, spawn.ErrInternal) {
		return err
	}
	if !r.failed.Swap(true) {
		r.devices.query.Devices.log.Warn("the CPU reads on", slog.Any("reason", err))
	}
	return nil
}

// EndInput waits until the rows of all splits that were taken have come back, and returns the splits that are to be
// read after all. Requires: no reader is left.
func (r *RowReader) EndInput() ([]scan.Split, error) {
	if r.ended.Swap(true) {
		return nil, nil
	}
	d := r.devices.decoder
	refused, err := d.await()
	if err != nil {
		if err = r.survive(err); err != nil {
			return nil, err
		}
		_ = r.devices.run.AwaitDecoded() // whose error is known
	}
	if r.failed.Load() {
		refused = append(refused, d.left()...)
	}
	return refused, nil
}

// taken notes that the rows of a tile were taken.
func (d *decoder) taken(t *stream.Tile) {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(d.sent, t)
}

// left returns the splits whose rows a device has not given. Requires: no tile is under way.
func (d *decoder) left() (splits []scan.Split) {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sent := range d.sent {
		splits = append(splits, sent.splits...)
	}
	if d.open != nil {
		splits = append(splits, d.open.splits...)
	}
	splits = append(append(splits, d.refused...), d.late...)
	d.refused, d.late = nil, nil
	return splits
}

// Release gives back what devices hold, and returns what they have done. cause is why the step ends early; nil where it
// does not. The error is a bug.
func (r *RowReader) Release(cause error) (*Stats, error) {
	r.devices.report(&r.stats)
	return &r.stats, r.devices.release(cause)
}

// rowsLayout says how rows come back.
type rowsLayout struct {
	of    *RowsQuery
	ctx   context.Context // of the step: the one of a run ends where a device fails, in the middle of a tile
	texts []text          // by column of the rows
	taken func(t *stream.Tile)

	why error // the CPU aggregates the rows; nil where nobody does
}

// newRowsLayout returns the layout of rows that come back, for the CPU to aggregate where why says why it does. Its
// notDecoded is why none do.
func newRowsLayout(of *Query, q *RowsQuery, why error) *Layout {
	l := &Layout{bound: &rowdata.Bound{}, rows: &rowsLayout{of: q, why: why}}
	for _, f := range q.Schema.Fields() {
		t := kernels.Int64
		if kind, err := rowdata.KindOf(f.Type); err == nil && kind == rowdata.Float64 {
			t = kernels.Float64
		}
		l.shape.Columns, l.nullable = append(l.shape.Columns, t), append(l.nullable, true)
	}
	l.setDecoder(of)
	return l
}

// begin has the rows of a run go where RowsQuery.Take says, or to the CPU's workers.
func (l *rowsLayout) begin(ctx context.Context, c *coprocessor) {
	l.ctx, l.taken = ctx, c.decoder.taken
	if l.of.Take == nil {
		l.of.Take = func(batch arrow.RecordBatch) error { return c.takeBatch(ctx, batch) }
	}
}

// text is the strings of a column, in place of which numbers come back: of rows of a lookup, or of the strings of
// pages. Columns without strings have the zero value.
type text struct {
	isNull  bool // all of them are
	from    GatheredLookup
	numbers *encode.Interner
	column  int // of from, or of Decoding.Columns
}

func (t *text) isText() bool { return t.isNull || t.from != nil || t.numbers != nil }

// GatheredLookup is a lookup that gives strings of its rows, by their numbers.
type GatheredLookup interface {
	rowcode.Lookup

	// Gather returns the values of a column in some rows; it is NULL where valid is 0.
	Gather(mem memory.Allocator, column int, rows []uint64, valid []uint8) (arrow.Array, error)
}

// decoding is Layout.decoding.
func (l *rowsLayout) decoding(p *scan.Paged) (d *stream.Decoding, columns []int, err error) {
	if l.why != nil && p.Filtered == nil {
		return nil, nil, errors.New("all rows would come back")
	}
	b, filter, of := p.Build()
	outputs, err := l.of.Code(b, of)
	if err != nil {
		return nil, nil, err
	}
	program := b.Program(filter, outputs)
	stored := []rowcode.Op{rowcode.Load, rowcode.Fetch} // what is computed has 64 bits, or is an error
	var numbered []rowcode.Value
	l.texts = make([]text, len(outputs))
	for i, f := range l.of.Schema.Fields() {
		switch kind, err := rowdata.KindOf(f.Type); {
		case err != nil:
			return nil, nil, err
		case kind == rowdata.Int128 && slices.Contains(stored, program.Nodes[outputs[i]].Op):
			return nil, nil, fmt.Errorf("column %q takes more than 64 bits", f.Name)
		case kind != rowdata.Bytes:
			continue
		}
		n := &program.Nodes[outputs[i]]
		of := &l.texts[i]
		switch n.Op {
		case rowcode.Fetch:
			var ok bool
			if of.from, ok = program.Lookups[n.Low].(GatheredLookup); !ok {
				return nil, nil, fmt.Errorf("the strings of %q are not to be had by rows", f.Name)
			}
			of.column, program.Columns[i] = int(n.High), n.A
		case rowcode.Load:
			of.numbers, of.column = new(encode.Interner), int(n.A)
			numbered = append(numbered, outputs[i])
		case rowcode.Null:
			of.isNull = true
		default:
			return nil, nil, fmt.Errorf("the strings of %q are computed", f.Name)
		}
	}
	d = new(stream.Decoding)
	columns, words, err := addInputs(d, p, program, numbered)
	if err != nil {
		return nil, nil, err
	}
	for i := range l.texts {
		if of := &l.texts[i]; of.numbers != nil {
			of.column = columns[of.column]
		}
	}
	if d.Code, err = rowcode.Assemble(program.Renumber(columns, words)); err != nil {
		return nil, nil, err
	}
	return d, columns, nil
}

// take makes batches of the rows of a tile, and returns what takes them.
func (l *rowsLayout) take(_ context.Context, t *stream.Tile) (rest func() error, err error) {
	th := threads.New(l.of.Threads)
	if err := th.Take(l.ctx); err != nil {
		return nil, err
	}
	var taken []takenRows
	for from := 0; from < t.Rows && err == nil; from += rowsBatch {
		spawn.Step()
		var rows takenRows
		if rows, err = l.rows(t, from, min(from+rowsBatch, t.Rows)); err == nil {
			taken, err = append(taken, rows), context.Cause(l.ctx)
		}
	}
	th.Give()
	if err != nil {
		releaseTaken(taken)
		return nil, err
	}
	l.taken(t)
	return func() error { return l.takeBatches(th, taken) }, nil
}

// takeBatches makes batches of rows, and hands them on.
func (l *rowsLayout) takeBatches(th *threads.Thread, taken []takenRows) error {
	defer releaseTaken(taken)
	if err := th.Take(l.ctx); err != nil {
		return err
	}
	defer th.Give()
	for i := range taken {
		spawn.Step()
		batch, err := l.batch(&taken[i])
		if err == nil {
			err = l.of.Take(batch)
		}
		if err = cmp.Or(err, context.Cause(l.ctx)); err != nil {
			return err
		}
	}
	return nil
}

// takenRows are columns of some rows of a tile. Strings are numbers still, which take a while to look up.
type takenRows struct {
	columns []arrow.Array // nil of strings, and once they are a batch's
	numbers []vector.Vector
	rows    int
}

func releaseTaken(taken []takenRows) {
	for i := range taken {
		recordreader.ReleaseAll(taken[i].columns)
	}
}

// rows takes some rows of a tile.
func (l *rowsLayout) rows(t *stream.Tile, from, to int) (r takenRows, err error) {
	fields := l.of.Schema.Fields()
	r = takenRows{make([]arrow.Array, len(fields)), make([]vector.Vector, len(fields)), to - from}
	for i, f := range fields {
		v := vector.Vector{Kind: rowdata.Int64, Words: rowdata.View[uint64](t.Columns[i])[from:to]}
		setNulls(&v, t.Valid[i], from)
		if l.texts[i].isText() {
			v.Words = slices.Clone(v.Words)
			r.numbers[i] = v
			continue
		}
		if r.columns[i], err = v.Array(l.of.Allocator, f.Type); err != nil {
			recordreader.ReleaseAll(r.columns)
			return r, err
		}
	}
	return r, nil
}

// batch makes a batch of rows.
func (l *rowsLayout) batch(r *takenRows) (arrow.RecordBatch, error) {
	defer recordreader.ReleaseAll(r.columns)
	for i, f := range l.of.Schema.Fields() {
		if r.columns[i] != nil {
			continue
		}
		var err error
		if r.columns[i], err = l.strings(i, &r.numbers[i], f.Type); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(l.of.Schema, r.columns, int64(r.rows)), nil
}

// setNulls sets the NULLs of values by their bits in a bitmap, from one on that begins a word.
func setNulls(v *vector.Vector, bitmap []uint32, from int) {
	for first := 0; first < len(v.Words); first += 32 {
		bits := bitmap[(from+first)/32]
		if bits == math.MaxUint32 {
			continue
		}
		for i := first; i < min(first+32, len(v.Words)); i++ {
			if bits>>(i%32)&1 == 0 {
				v.SetNull(i)
			}
		}
	}
}

// strings makes the array of a column of strings of their numbers.
func (l *rowsLayout) strings(i int, v *vector.Vector, t arrow.DataType) (arrow.Array, error) {
	of := &l.texts[i]
	switch {
	case of.from != nil:
		return of.from.Gather(l.of.Allocator, of.column, v.Words, v.Valid)
	case of.isNull:
		return array.MakeArrayOfNull(l.of.Allocator, t, len(v.Words)), nil
	}
	strings := vector.Vector{Kind: rowdata.Bytes, Words: make([]uint64, 2*len(v.Words)), Valid: v.Valid}
	values := rowdata.View[rowdata.Bytes2](strings.Words)
	for row, number := range v.Words {
		if !v.IsNull(row) {
			values[row] = of.numbers.String(number)
		}
	}
	return strings.Array(l.of.Allocator, t)
}

// number says what numbers the strings of pages.
func (l *rowsLayout) number(d *decoder) {
	for i := range l.texts {
		of := &l.texts[i]
		if of.numbers == nil {
			continue
		}
		if known := d.strings[of.column].numbers; known != nil {
			of.numbers = known
		}
		d.strings[of.column].numbers = of.numbers
	}
}
