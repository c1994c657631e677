package window

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// Func is a function of the places of rows, or of the values of some of them.
type Func string

// The functions, as SQL has them.
const (
	RowNumber   Func = "row_number"
	Rank        Func = "rank"
	DenseRank   Func = "dense_rank"
	PercentRank Func = "percent_rank"
	CumeDist    Func = "cume_dist"
	Ntile       Func = "ntile"
	Lag         Func = "lag"
	Lead        Func = "lead"
	FirstValue  Func = "first_value"
	LastValue   Func = "last_value"
	NthValue    Func = "nth_value"
)

// Call is a column to be made.
type Call struct {
	Func      Func           // "" of an aggregate function
	Aggregate *rowdata.Bound // of the rows' columns, without keys; else nil
	Args      []int          // columns; of Lag and Lead the value, the distance and the value where there is no row

	Window expr.Window

	// Offsets are columns, of the bounds of the frame that have an offset: a distance, or, of RANGE, the value that
	// the column Range is compared with.
	Offsets [2]int
	Range   int
}

// Options say what is made of the rows.
type Options struct {
	Schema    *arrow.Schema // of the rows, and of a column for each call
	Partition []order.Key
	Order     []order.Key
	Calls     []Call

	Allocator memory.Allocator
	Memory    rowdata.Memory
	Budget    rowdata.Budget

	// BlockRows is after how many rows a block ends, at the next end of a partition. The default is 65,536.
	BlockRows int
}

// blockRows is the default of Options.BlockRows.
const blockRows = 1 << 16

// New takes over a reader of rows in order, and returns it with further columns.
func New(ctx context.Context, from array.RecordReader, opt Options) array.RecordReader {
	if opt.BlockRows <= 0 {
		opt.BlockRows = blockRows
	}
	r := &reader{ctx: ctx, from: from, opt: opt, held: rowdata.NewReservation(opt.Budget)}
	r.cuts, r.cutsPeers = opt.cuts()
	schema := from.Schema()
	r.partition = order.NewPeers(schema, opt.Partition)
	r.peers = order.NewPeers(schema, slices.Concat(opt.Partition, opt.Order))
	for i := range opt.Calls {
		r.makers = append(r.makers, newMaker(&opt, &opt.Calls[i]))
	}
	return recordreader.New(opt.Schema, r.next, r.release)
}

// reader makes the batches.
type reader struct {
	ctx    context.Context
	from   array.RecordReader // owned
	opt    Options
	makers []maker
	held   rowdata.Reservation // of block, and of what is made of it

	partition, peers *order.Peers

	block block // whose batches are returned
	at    int   // the next batch of block
	row   int   // of block: its first row
	made  []arrow.Array

	rest  block // of the partition that has not ended
	ended bool

	cuts, cutsPeers bool // blocks may end within a partition; within peers
}

// cuts says whether blocks may end within a partition, as every function goes on where it was; and within peers.
func (o *Options) cuts() (partition, peers bool) {
	partition, peers = true, true
	for i := range o.Calls {
		c := &o.Calls[i]
		w := &c.Window
		runs := w.Exclude == expr.ExcludeNone && w.Start == expr.UnboundedPreceding && w.End == expr.CurrentRow
		switch {
		case c.Func == RowNumber, c.Aggregate != nil && runs && c.Window.Frame == expr.FrameRows:
		case c.Func == Rank, c.Func == DenseRank, c.Aggregate != nil && (runs || c.Window.Frame == "" && len(o.Order) > 0):
			peers = false
		default:
			return false, false
		}
	}
	return partition, peers
}

// block is rows of one partition or several.
type block struct {
	batches    []arrow.RecordBatch // owned
	rows       int
	partitions []int // first rows
	peers      []int // first rows of peers

	// Of a block that goes on with a partition: how many rows and how many peers of it were in blocks before.
	goesOn                bool
	rowsBefore, peersDone int
}

// next returns an empty block behind a block that ends within a partition.
func (b *block) next() block {
	first := b.partitions[len(b.partitions)-1]
	of := block{goesOn: true, rowsBefore: b.rows - first}
	at, _ := slices.BinarySearch(b.peers, first)
	of.peersDone = len(b.peers) - at
	if len(b.partitions) == 1 {
		of.rowsBefore += b.rowsBefore
		of.peersDone += b.peersDone
	}
	return of
}

// add adds a part of a batch with marks of its first rows of partitions and of peers.
func (b *block) add(batch arrow.RecordBatch, from, to int, partition, peers []bool) {
	if from == to {
		return
	}
	if b.rows == 0 && partition[from] {
		b.goesOn, b.rowsBefore, b.peersDone = false, 0, 0
	}
	part := recordreader.Slice(batch, int64(from), int64(to))
	b.batches = append(b.batches, part)
	for row := from; row < to; row++ {
		isFirst := b.rows == 0 && row == from
		if partition[row] || isFirst {
			b.partitions = append(b.partitions, b.rows+row-from)
		}
		if peers[row] || isFirst {
			b.peers = append(b.peers, b.rows+row-from)
		}
	}
	b.rows += to - from
}

func (b *block) release() {
	for _, batch := range b.batches {
		batch.Release()
	}
	*b = block{}
}

func (b *block) bytes() (bytes int64) {
	for _, batch := range b.batches {
		bytes += rowdata.BatchBytes(batch)
	}
	return bytes
}

func (r *reader) release() {
	r.drop()
	r.rest.release()
	for _, m := range r.makers {
		m.release()
	}
	r.held.Release()
	r.from.Release()
}

// drop ends the use of the block.
func (r *reader) drop() {
	r.block.release()
	for _, column := range r.made {
		column.Release()
	}
	r.made, r.at, r.row = nil, 0, 0
}

func (r *reader) next() (arrow.RecordBatch, error) {
	for r.at == len(r.block.batches) {
		r.drop()
		if err := r.fill(); err != nil {
			return nil, err
		}
		if r.block.rows == 0 {
			return nil, nil
		}
		if err := r.make(); err != nil {
			return nil, err
		}
	}
	in := r.block.batches[r.at]
	from, to := int64(r.row), int64(r.row)+in.NumRows()
	r.at, r.row = r.at+1, int(to)
	columns := slices.Clone(in.Columns())
	for _, column := range r.made {
		part := array.NewSlice(column, from, to)
		defer part.Release()
		columns = append(columns, part)
	}
	return array.NewRecordBatch(r.opt.Schema, columns, in.NumRows()), nil
}

// fill reads a block: whole partitions.
func (r *reader) fill() error {
	for !r.ended {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		spawn.Step()
		batch, err := recordreader.Next(r.from)
		if err != nil {
			return err
		}
		if batch == nil {
			r.ended = true
			break
		}
		rows := int(batch.NumRows())
		partition, peers := make([]bool, rows), make([]bool, rows)
		r.partition.Mark(batch, partition)
		r.peers.Mark(batch, peers)
		last := lastOf(partition)
		if last >= 0 && r.rest.rows+last >= r.opt.BlockRows {
			r.cut(batch, last, partition, peers)
			return nil
		}
		if r.cuts && r.rest.rows+rows > r.opt.BlockRows {
			if last = rows; !r.cutsPeers {
				last = lastOf(peers)
			}
			if last >= 0 && r.rest.rows+last > 0 {
				r.cut(batch, last, partition, peers)
				return nil
			}
		}
		r.rest.add(batch, 0, rows, partition, peers)
		if err := r.reserve(&r.rest); err != nil {
			return err
		}
	}
	r.block = r.rest
	r.rest = block{}
	return nil
}

// lastOf returns the last row that is marked, or -1.
func lastOf(marks []bool) int {
	last := len(marks) - 1
	for ; last >= 0 && !marks[last]; last-- {
	}
	return last
}

// cut ends the block before a row of a batch.
func (r *reader) cut(batch arrow.RecordBatch, row int, partition, peers []bool) {
	r.rest.add(batch, 0, row, partition, peers)
	r.block = r.rest
	r.rest = r.block.next()
	r.rest.add(batch, row, len(partition), partition, peers)
}

// Bytes that a row takes while a block is made: its places, and a result and a state of each call, and their copies.
const (
	rowBytes  = 64
	callBytes = 48
)

// reserve reserves the memory of a block and of what is made of it.
func (r *reader) reserve(b *block) error {
	return r.held.Cover(2*b.bytes() + int64(b.rows)*(rowBytes+int64(len(r.makers))*callBytes))
}

// make makes the further columns of the block.
func (r *reader) make() error {
	if err := r.reserve(&r.block); err != nil {
		return err
	}
	b := &rows{block: &r.block, opt: &r.opt, columns: map[int]arrow.Array{}}
	defer b.release()
	b.place()
	for _, m := range r.makers {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		column, err := m.column(r.ctx, b)
		if err != nil {
			return err
		}
		r.made = append(r.made, column)
	}
	return nil
}

// rows is the rows of a block while columns are made of it. A row, a partition and peers are numbers from 0 on.
type rows struct {
	*block
	opt         *Options
	partitionOf []int32 // by row
	peersOf     []int32 // by row

	columns map[int]arrow.Array // whole columns of the block, as far as they were asked for; owned
}

func (b *rows) release() {
	for _, column := range b.columns {
		column.Release()
	}
}

// place numbers the partitions and the peers of the rows.
func (b *rows) place() {
	numbered := func(firsts []int) []int32 {
		of := make([]int32, b.rows)
		for i, first := range firsts {
			last := b.rows
			if i+1 < len(firsts) {
				last = firsts[i+1]
			}
			for row := first; row < last; row++ {
				of[row] = int32(i)
			}
		}
		return of
	}
	b.partitionOf, b.peersOf = numbered(b.partitions), numbered(b.block.peers)
}

// bounds returns the first row of a range, and the row behind its last one.
func (b *rows) bounds(firsts []int, i int32) (from, to int) {
	if int(i)+1 < len(firsts) {
		return firsts[i], firsts[i+1]
	}
	return firsts[i], b.rows
}

// partition returns the rows of the partition of a row.
func (b *rows) partition(row int) (from, to int) { return b.bounds(b.partitions, b.partitionOf[row]) }

// peers returns the rows that are equal to a row in the order.
func (b *rows) peers(row int) (from, to int) { return b.bounds(b.block.peers, b.peersOf[row]) }

// column returns a whole column of the block, which it keeps.
func (b *rows) column(i int) (arrow.Array, error) {
	if a := b.columns[i]; a != nil {
		return a, nil
	}
	parts := make([]arrow.Array, len(b.batches))
	for at, batch := range b.batches {
		parts[at] = batch.Column(i)
	}
	if len(parts) == 1 {
		parts[0].Retain()
		b.columns[i] = parts[0]
		return parts[0], nil
	}
	whole, err := array.Concatenate(parts, b.opt.Allocator)
	if err != nil {
		return nil, err
	}
	b.columns[i] = whole
	return whole, nil
}

// maker makes a column of the rows of a block.
type maker interface {
	column(ctx context.Context, b *rows) (arrow.Array, error)
	release()
}

// newMaker returns the maker of a call.
func newMaker(opt *Options, c *Call) maker {
	switch {
	case c.Aggregate != nil:
		return newAggregates(opt, c)
	case slices.Contains([]Func{Lag, Lead, FirstValue, LastValue, NthValue}, c.Func):
		return &values{opt, c}
	}
	return &places{opt, c}
}
