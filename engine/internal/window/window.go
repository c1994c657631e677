package window

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/semaphore"

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

	// Threads is how many blocks are computed at once, at most; Units, when set, are the threads that queries share.
	Threads int
	Units   *semaphore.Weighted

	// BlockRows is after how many rows a block ends, at the next end of a partition. The default is 65,536.
	BlockRows int
}

// blockRows is the default of Options.BlockRows.
const blockRows = 1 << 16

// New takes over rows in order of which none was read, and returns them with further columns.
func New(ctx context.Context, from *order.Reader, opt Options) array.RecordReader {
	if opt.BlockRows <= 0 {
		opt.BlockRows = blockRows
	}
	opt.Threads = max(opt.Threads, 1)
	r := &reader{from: from, opt: opt, held: rowdata.NewReservation(opt.Budget)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.cuts, r.cutsPeers = opt.cuts()
	from.MarkPrefix(len(opt.Partition))
	return recordreader.New(opt.Schema, r.next, r.release)
}

// reader makes the batches: it cuts the rows into blocks, which threads compute, and returns these in their order.
type reader struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	from   *order.Reader // owned
	opt    Options

	jobs    []*job // blocks that were begun, and are not returned
	last    *job   // the last one that was begun; nil where the next block needs none of its makers
	at, row int    // of the first job: the next batch, and its next row

	full  block               // waits for memory; may have no rows
	rest  block               // of the partition that has not ended
	held  rowdata.Reservation // of full, else of rest
	ended bool

	cuts, cutsPeers bool // blocks may end within a partition; within peers

	mu   sync.Mutex
	idle [][]maker // makers that no job uses
	all  []maker
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
	spans      []*order.Span // owned
	bytes      int64         // of spans
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

// add adds some rows of a span.
func (b *block) add(span *order.Span, from, to int) {
	if from == to {
		return
	}
	if b.rows == 0 && span.Marks[from]&order.NewPrefix != 0 {
		b.goesOn, b.rowsBefore, b.peersDone = false, 0, 0
	}
	part := span.Slice(from, to)
	b.spans, b.bytes = append(b.spans, part), b.bytes+part.Bytes()
	for i, mark := range span.Marks[from:to] {
		if b.rows == 0 && i == 0 {
			mark = order.NewPrefix | order.NewKey
		}
		if mark&order.NewPrefix != 0 {
			b.partitions = append(b.partitions, b.rows+i)
		}
		if mark != 0 {
			b.peers = append(b.peers, b.rows+i)
		}
	}
	b.rows += to - from
}

func (b *block) release() {
	for _, span := range b.spans {
		span.Release()
	}
	*b = block{}
}

func (r *reader) release() {
	r.cancel(context.Canceled)
	for _, j := range r.jobs {
		<-j.done
		j.release()
	}
	r.full.release()
	r.rest.release()
	for _, m := range r.all {
		m.release()
	}
	r.held.Release()
	r.from.Release()
}

func (r *reader) next() (arrow.RecordBatch, error) {
	for {
		if err := r.begin(); err != nil {
			return nil, err
		}
		if len(r.jobs) == 0 {
			return nil, nil
		}
		j := r.jobs[0]
		<-j.done
		if j.err != nil {
			return nil, j.err
		}
		if r.at < len(j.batches) {
			return r.slice(j), nil
		}
		r.jobs, r.at, r.row = r.jobs[1:], 0, 0
		j.release()
	}
}

// sliceRows is how many rows a batch of the result has at most.
const sliceRows = 1 << 15

// slice returns the next rows of the first job.
func (r *reader) slice(j *job) arrow.RecordBatch {
	batch, first := j.batches[r.at], j.firsts[r.at]
	from, to := r.row, min(r.row+sliceRows, int(batch.NumRows()))
	if r.row = to; to == int(batch.NumRows()) {
		r.at, r.row = r.at+1, 0
	}
	in := recordreader.Slice(batch, int64(from), int64(to))
	defer in.Release()
	columns := slices.Clone(in.Columns())
	for _, column := range j.made {
		part := array.NewSlice(column, int64(first+from), int64(first+to))
		defer part.Release()
		columns = append(columns, part)
	}
	return array.NewRecordBatch(r.opt.Schema, columns, in.NumRows())
}

// begin begins to compute further blocks while there are threads and memory for them.
func (r *reader) begin() error {
	for len(r.jobs) <= r.opt.Threads {
		b, err := r.fill()
		if b == nil || err != nil {
			return err
		}
		j := &job{block: *b, held: r.held, done: make(chan struct{}), before: r.last}
		if r.held, r.last = rowdata.NewReservation(r.opt.Budget), nil; r.rest.goesOn {
			j.keeps, r.last = true, j
		}
		r.jobs = append(r.jobs, j)
		spawn.Go(func() error { return r.run(j) }, func(err error) {
			j.err = err
			close(j.done)
		})
	}
	return nil
}

// fill reads rows until a block is full, and returns it; nil at the end, or where the memory waits for a job.
func (r *reader) fill() (*block, error) {
	for {
		b := &r.rest
		if r.full.rows > 0 {
			b = &r.full
		}
		bytes := 2*b.bytes + int64(b.rows)*(rowBytes+int64(len(r.opt.Calls))*callBytes)
		if err := r.held.Cover(bytes); err != nil {
			if len(r.jobs) > 0 {
				err = nil
			}
			return nil, err
		}
		if r.full.rows > 0 || r.ended && b.rows > 0 {
			full := *b
			*b = block{}
			return &full, nil
		}
		if r.ended {
			return nil, nil
		}
		span, err := r.from.NextSpan()
		if err != nil {
			return nil, err
		}
		if span == nil {
			r.ended = true
			continue
		}
		r.take(span)
		span.Release()
	}
}

// take adds a span to the rest, and ends the block with it, or within it, where the block is full.
func (r *reader) take(span *order.Span) {
	rows := len(span.Marks)
	last := lastOf(span.Marks, order.NewPrefix)
	if last >= 0 && r.rest.rows+last >= r.opt.BlockRows {
		r.cut(span, last)
		return
	}
	if r.cuts && r.rest.rows+rows > r.opt.BlockRows {
		switch {
		case last >= 0 && r.rest.rows+last >= r.opt.BlockRows/2: // a block that goes on waits for the block before
		case r.cutsPeers:
			last = rows
		default:
			last = lastOf(span.Marks, order.NewKey)
		}
		if last >= 0 && r.rest.rows+last > 0 {
			r.cut(span, last)
			return
		}
	}
	r.rest.add(span, 0, rows)
}

// lastOf returns the last row that has a mark, or -1.
func lastOf(marks []uint8, mark uint8) int {
	last := len(marks) - 1
	for ; last >= 0 && marks[last]&mark == 0; last-- {
	}
	return last
}

// cut ends the block before a row of a span.
func (r *reader) cut(span *order.Span, row int) {
	r.rest.add(span, 0, row)
	r.full = r.rest
	r.rest = r.full.next()
	r.rest.add(span, row, len(span.Marks))
}

// Bytes that a row takes while a block is made: its places, and a result and a state of each call, and their copies.
const (
	rowBytes  = 64
	callBytes = 48
)

// rows is the rows of a block while columns are made of it. A row, a partition and peers are numbers from 0 on.
type rows struct {
	*block
	batches     []arrow.RecordBatch // of the block
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
