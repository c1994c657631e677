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

	// Distances are what all rows have as distance: the first one of Lag and Lead, or both as Offsets of ROWS. A distance
	// is nil where rows may have others.
	Distances [2]*int64
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

	// BlockRows is after how many rows a block ends, at the next end of a partition. The default is 65,536, or fewer
	// where all blocks together would take more than BlockBytes; 0 is without such a bound.
	BlockRows  int
	BlockBytes int64
}

// blockRows is the default of Options.BlockRows, and blockRowsMin the fewest rows for Options.BlockBytes.
const (
	blockRows    = 1 << 16
	blockRowsMin = 1 << 11
)

// New takes over rows in order of which none was read, and returns them with further columns.
func New(ctx context.Context, from *order.Reader, opt Options) array.RecordReader {
	if opt.BlockRows <= 0 {
		opt.BlockRows = blockRows
	}
	opt.Threads = max(opt.Threads, 1)
	r := &reader{from: from, opt: opt, held: rowdata.NewReservation(opt.Budget)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.cuts = opt.cuts()
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

	cuts cuts

	mu   sync.Mutex
	idle [][]maker // makers that no job uses
	all  []maker
}

// cuts says where blocks may end.
type cuts struct {
	partition bool   // within a partition: every function goes on where it was, or looks at rows that are near
	peers     bool   // within peers
	carries   bool   // a block that goes on needs the makers of the block before
	near      []bool // by call: it looks at near rows
	reach     [2]int // how many rows before a row, and behind it, these are
}

func (o *Options) cuts() cuts {
	made := cuts{partition: true, peers: true, near: make([]bool, len(o.Calls))}
	for i := range o.Calls {
		c := &o.Calls[i]
		w := &c.Window
		runs := w.Exclude == expr.ExcludeNone && w.Start == expr.UnboundedPreceding && w.End == expr.CurrentRow
		reach, isNear := c.reach()
		switch {
		case c.Func == RowNumber:
		case c.Aggregate != nil && runs && c.Window.Frame == expr.FrameRows:
			made.carries = true
		case c.Func == Rank, c.Func == DenseRank:
			made.peers = false
		case c.Aggregate != nil && (runs || c.Window.Frame == "" && len(o.Order) > 0):
			made.peers, made.carries = false, true
		case isNear && max(reach[0], reach[1]) <= int64(o.BlockRows):
			made.near[i] = true
			made.reach = [2]int{max(made.reach[0], int(reach[0])), max(made.reach[1], int(reach[1]))}
		default:
			return cuts{near: make([]bool, len(o.Calls))}
		}
	}
	return made
}

// reach returns how many rows before a row and behind it the function looks at, at most. ok is false where it may look
// at any row of the partition.
func (c *Call) reach() (reach [2]int64, ok bool) {
	to := func(rows int64) { reach[0], reach[1] = max(reach[0], -rows), max(reach[1], rows) }
	w := &c.Window
	switch {
	case c.Func == Lag || c.Func == Lead:
		if w.IgnoreNulls || c.Distances[0] == nil {
			return reach, false
		}
		if n := *c.Distances[0]; c.Func == Lag {
			to(-n)
		} else {
			to(n)
		}
		return reach, true
	case w.Frame != expr.FrameRows || w.Exclude != expr.ExcludeNone && w.Exclude != expr.ExcludeCurrent:
		return reach, false
	}
	for i, bound := range []expr.FrameBound{w.Start, w.End} {
		switch {
		case bound == expr.CurrentRow:
		case !bound.HasOffset() || c.Distances[i] == nil:
			return reach, false
		case bound == expr.OffsetPreceding:
			to(-*c.Distances[i])
		default:
			to(*c.Distances[i])
		}
	}
	return reach, true
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

	around [2][]*order.Span // owned: rows before and behind the block that functions look at, of partitions that go on
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
		b.leave(0)
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
	b.leave(0)
	b.leave(1)
	*b = block{}
}

// leave gives back the rows around the block on one side.
func (b *block) leave(side int) {
	for _, span := range b.around[side] {
		span.Release()
	}
	b.around[side] = nil
}

// whole returns the block with the rows around it. They have marks of their own, so that it may be of any partitions.
func (b *block) whole() *block {
	all := new(block)
	for _, span := range slices.Concat(b.around[0], b.spans, b.around[1]) {
		all.add(span, 0, len(span.Marks))
	}
	return all
}

// cost is how many bytes it takes to make columns of calls.
func (b *block) cost(calls int) int64 {
	bytes, rows := b.bytes, b.rows
	for _, side := range b.around {
		for _, span := range side {
			bytes, rows = bytes+span.Bytes(), rows+len(span.Marks)
		}
	}
	return 2*bytes + int64(rows)*(rowBytes+int64(calls)*callBytes)
}

// lastRows returns the last rows of spans, or all.
func lastRows(spans []*order.Span, rows int) (last []*order.Span) {
	for i := len(spans) - 1; i >= 0 && rows > 0; i-- {
		n := len(spans[i].Marks)
		last = append(last, spans[i].Slice(max(n-rows, 0), n))
		rows -= n
	}
	slices.Reverse(last)
	return last
}

// firstRows returns the first rows of spans, or all.
func firstRows(spans []*order.Span, rows int) (first []*order.Span) {
	for i := 0; i < len(spans) && rows > 0; i++ {
		n := min(len(spans[i].Marks), rows)
		first = append(first, spans[i].Slice(0, n))
		rows -= n
	}
	return first
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
		if r.held, r.last = rowdata.NewReservation(r.opt.Budget), nil; r.rest.goesOn && r.cuts.carries {
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
		if err := r.held.Cover(b.cost(len(r.opt.Calls))); err != nil {
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

// take adds a span to the rest, and ends a block where the rest has enough rows for one.
func (r *reader) take(span *order.Span) {
	b := &r.rest
	b.add(span, 0, len(span.Marks))
	last := b.partitions[len(b.partitions)-1]
	behind := b.rows - r.cuts.reach[1] // the last row before which there are rows for functions to look at
	enough := r.enough()
	switch {
	case last >= enough:
		r.cut(last)
	case !r.cuts.partition || behind <= enough:
	case last > 0 && last >= enough/2: // a block that goes on waits for the block before
		r.cut(last)
	case r.cuts.peers:
		r.cut(behind)
	default:
		at, isFirst := slices.BinarySearch(b.peers, behind)
		if !isFirst {
			at--
		}
		if b.peers[at] > 0 {
			r.cut(b.peers[at])
		}
	}
}

// enough is how many rows a block has, at least, by the bytes of those in the rest.
func (r *reader) enough() int {
	if r.opt.BlockBytes == 0 {
		return r.opt.BlockRows
	}
	blocks := int64(r.opt.Threads) + 2 // that are computed, waits, and is read
	rows := r.opt.BlockBytes / blocks * int64(r.rest.rows) / r.rest.cost(len(r.opt.Calls))
	return min(r.opt.BlockRows, max(int(rows), blockRowsMin))
}

// cut ends the block before a row of the rest.
func (r *reader) cut(row int) {
	old := r.rest
	full := block{goesOn: old.goesOn, rowsBefore: old.rowsBefore, peersDone: old.peersDone, around: old.around}
	parts := func(visit func(span *order.Span, cut int)) {
		left := row
		for _, span := range old.spans {
			n := min(left, len(span.Marks))
			visit(span, n)
			left -= n
		}
	}
	parts(func(span *order.Span, cut int) { full.add(span, 0, cut) })
	rest := full.next()
	parts(func(span *order.Span, cut int) { rest.add(span, cut, len(span.Marks)) })
	if rest.goesOn {
		rest.around[0] = lastRows(slices.Concat(full.around[0], full.spans), r.cuts.reach[0])
		full.around[1] = firstRows(rest.spans, r.cuts.reach[1])
	}
	old.around = [2][]*order.Span{} // of full
	old.release()
	r.full, r.rest = full, rest
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

// made returns the column of a maker.
func (b *rows) made(ctx context.Context, m maker) (arrow.Array, error) {
	if b.partitionOf == nil {
		b.place()
	}
	return m.column(ctx, b)
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
