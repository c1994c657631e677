package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// built is the build side of a run, made by the first who asks for the join's rows.
type built struct {
	once  sync.Once
	side  *engine.BuildSide
	tasks []*engine.JoinTask // of a build side that is in partitions
	err   error

	rows       atomic.Int64      // that the join has made
	pairs      atomic.Int64      // that the join has compared, of one that compares all
	filter     *engine.KeyFilter // of the probe side's rows; nil of none
	isReleased bool              // the side
}

// joined is the source of a join.
type joined struct {
	node  *joinNode
	run   *run // nil of the rows of no run
	probe scan.Source
	build scan.Source // nil of no run
	built *built

	kept     *built      // of all iterations of a recursion; nil of other joins
	keptFrom scan.Source // build, as the run around the iterations reads it
}

// Schema implements scan.Source.
func (s *joined) Schema() *arrow.Schema {
	n := s.node
	if len(n.columns) == n.schema.NumFields() {
		return n.schema
	}
	return recordreader.Columns(n.schema, n.columns)
}

// Stats implements scan.Source: nobody knows how many rows there are. Once keeps the engine from reading rows for a
// forecast while a statement is planned, and from reading tasks again, whose rows are handed over, or a probe side that
// marks rows of the build side, which are chosen once.
func (s *joined) Stats() scan.Stats {
	n, known := s.node, s.probe.Stats()
	once := s.run == nil || known.Once || s.built.tasks != nil || n.marksBuild()
	first := 0
	if len(n.columns) > 0 {
		first = n.columns[0]
	}
	return scan.Stats{Rows: -1, Bytes: -1, Columns: n.stats[first : first+len(n.columns)], Once: once}
}

// Splits implements scan.Source: it makes the build side first.
func (s *joined) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	of := &joinedSplits{joined: s, schema: recordreader.Columns(s.Schema(), columns), columns: make([]int, len(columns))}
	for i, c := range columns {
		of.columns[i] = s.node.columns[c]
	}
	of.reads = s.reads(0)
	var list []scan.Split
	if s.run != nil {
		if err := s.checkPairs(); err != nil {
			return nil, err
		}
		if err := s.keepBuild(ctx); err != nil {
			return nil, err
		}
		s.built.once.Do(func() { s.built.err = s.makeBuild(ctx, of.reads) })
		if s.built.err != nil {
			return nil, s.built.err
		}
		for i, t := range s.built.tasks {
			list = append(list, &taskSplit{joinedSplits: of, number: i, task: t})
		}
		if s.built.side.All() == nil {
			return list, nil
		}
		if !s.node.has.probeAlone && s.built.side.Rows() == 0 {
			return nil, nil
		}
		if err := s.narrowProbe(ctx); err != nil {
			return nil, err
		}
	}
	splits, err := s.probe.Splits(ctx, of.reads.Columns)
	if err != nil {
		return nil, err
	}
	for i, split := range splits {
		list = append(list, &probeSplit{Split: split, of: of, number: i})
	}
	of.probed.begin(len(splits))
	if s.run != nil && s.node.marksBuild() {
		list = append(list, of.aloneSplits(len(splits))...)
	}
	return list, nil
}

// reads returns how a side is read: rows that other tasks have sent have its keys and columns already.
func (s *joined) reads(side int) engine.RowsOptions {
	of := s.node.projections()[side]
	if s.isSent(side) {
		return sameRows(of.schema)
	}
	return rowsOptions(of, s.run)
}

// isSent says whether other tasks have sent the rows of a side.
func (s *joined) isSent(side int) bool {
	return s.run != nil && s.run.exchanged[exchangePoint{s.node, side}] != nil
}

// asksKeys says whether the reader of the probe side is asked for the keys of the build side.
func (s *joined) asksKeys() bool { return !s.node.has.probeAlone && !s.isSent(0) }

// keepBuild makes the build side of all iterations, unless it outgrows the memory: then each has its own.
func (s *joined) keepBuild(ctx context.Context) (err error) {
	if s.kept == nil {
		return nil
	}
	s.kept.once.Do(func() {
		if s.kept.side, s.kept.err = s.hash(ctx, s.keptFrom); s.kept.err == nil && s.kept.side.All() == nil {
			s.kept.err, s.kept.isReleased = s.kept.side.Release(), true
		}
	})
	if s.kept.err == nil && !s.kept.isReleased {
		s.built = s.kept
	}
	return s.kept.err
}

// hash makes a build side.
func (s *joined) hash(ctx context.Context, build scan.Source) (*engine.BuildSide, error) {
	n := s.node
	return s.run.statement.Hash(ctx, build, engine.HashedOptions{
		RowsOptions: s.reads(1), Keys: n.keys, NullsEqual: n.nullsEqual, Range: n.between,
		Asks: s.asksKeys(),
	})
}

// makeBuild makes the build side, and tasks where it outgrows the memory. reads is how the probe side is read.
func (s *joined) makeBuild(ctx context.Context, reads engine.RowsOptions) (err error) {
	s.built.side, err = s.hash(ctx, s.build)
	if err != nil || s.built.side.All() != nil {
		return err
	}
	if err := s.narrowProbe(ctx); err != nil {
		return err
	}
	s.built.tasks, err = s.built.side.Tasks(ctx, s.probe, reads)
	return err
}

// joinedSplits is what the splits of a join have in common.
type joinedSplits struct {
	*joined
	schema  *arrow.Schema      // of the columns that are read
	columns []int              // of pairs
	reads   engine.RowsOptions // of the probe side
	probed  countdown          // splits of the probe side that were not read, for more than a sample
}

// positionBits leaves room for the rows of a split, in the position of its first row.
const positionBits = 40

// probeSplit is rows of a join whose build side is in memory: a split of the probe side.
type probeSplit struct {
	scan.Split
	of     *joinedSplits
	number int
	read   sync.Once // marks it in probed: a split may be read again where a device has failed
}

// Position implements scan.Split.
func (s *probeSplit) Position() uint64 { return uint64(s.number) << positionBits }

// Rows implements scan.Split.
func (s *probeSplit) Rows() int64 { return -1 }

// Open implements scan.Split.
func (s *probeSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	r := &probeReader{
		joiner: s.of.newJoiner(ctx, opt), rows: mapReader{ctx: ctx, split: s, from: from, of: s.of.reads.NewMap()},
	}
	r.turn(s.of.built.side.All())
	r.Init(s.of.schema, r.next, func() {
		r.release()
		r.rows.release()
		if !opt.Sample {
			s.read.Do(s.of.probed.done)
		}
	})
	return r, nil
}

// countdown tells when all of a number of things are done. Unlike a sync.WaitGroup's, its wait ends with a context: what
// fails is never done.
type countdown struct {
	left atomic.Int64
	zero chan struct{} // closed when nothing is left
}

func (c *countdown) begin(n int) {
	c.zero = make(chan struct{})
	if c.left.Store(int64(n)); n == 0 {
		close(c.zero)
	}
}

func (c *countdown) done() {
	if c.left.Add(-1) == 0 {
		close(c.zero)
	}
}

func (c *countdown) wait(ctx context.Context) {
	select {
	case <-c.zero:
	case <-ctx.Done():
	}
}

// probeReader joins the batches of a split.
type probeReader struct {
	recordreader.Base
	joiner
	rows mapReader // of keys and columns
}

func (r *probeReader) next() (arrow.RecordBatch, error) {
	for {
		if made, err := r.joiner.next(); made != nil || err != nil {
			return made, err
		}
		made, err := r.rows.next()
		if made == nil || err != nil {
			return nil, err
		}
		r.forget()
		if err := r.begin(made, 0, true); err != nil {
			return nil, err
		}
	}
}

// aloneSplit is the rows of some batches of a build side in memory that are chosen by whether they have a partner.
type aloneSplit struct {
	*joinedSplits
	number   int
	from, to int // batches
}

// aloneRowsMin is how many rows of a build side a split of them has at least, where there are as many.
const aloneRowsMin = 1 << 16

// aloneSplits returns the splits of the rows of the build side, which come behind a number of others.
func (s *joinedSplits) aloneSplits(behind int) (list []scan.Split) {
	side := s.built.side.All()
	rows, from := int64(0), 0
	for i := range side.Batches() {
		if rows += side.BatchRows(i); rows >= aloneRowsMin || i == side.Batches()-1 {
			list = append(list, &aloneSplit{joinedSplits: s, number: behind + len(list), from: from, to: i + 1})
			rows, from = 0, i+1
		}
	}
	return list
}

// Position implements scan.Split.
func (s *aloneSplit) Position() uint64 { return uint64(s.number) << positionBits }

// Rows implements scan.Split.
func (s *aloneSplit) Rows() int64 { return -1 }

// Bytes implements scan.Split.
func (s *aloneSplit) Bytes() int64 { return 0 }

// Name implements scan.Split.
func (s *aloneSplit) Name() string { return "rows of the build side" }

// Open implements scan.Split: it waits for the splits of the probe side.
func (s *aloneSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	err := opt.Wait(ctx, func() { s.probed.wait(ctx) })
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	j := s.newJoiner(ctx, opt)
	j.turn(s.built.side.All())
	j.alone = s.from
	next := func() (arrow.RecordBatch, error) { return j.nextAlone(s.to) }
	return recordreader.New(s.schema, next, j.release), nil
}

// taskSplit is the rows of a task.
type taskSplit struct {
	*joinedSplits
	number int
	task   *engine.JoinTask
}

// Position implements scan.Split.
func (s *taskSplit) Position() uint64 { return uint64(s.number) << positionBits }

// Rows implements scan.Split.
func (s *taskSplit) Rows() int64 { return -1 }

// Bytes implements scan.Split.
func (s *taskSplit) Bytes() int64 { return s.task.Bytes() }

// Name implements scan.Split.
func (s *taskSplit) Name() string { return fmt.Sprintf("task %d of a join", s.number+1) }

// Open implements scan.Split.
func (s *taskSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	r := &taskReader{joiner: s.newJoiner(ctx, opt), from: s.task.Open()}
	r.Init(s.schema, r.next, func() {
		r.release()
		r.from.Release()
	})
	return r, nil
}

// taskReader joins the rows of a task.
type taskReader struct {
	recordreader.Base
	joiner
	from  *engine.TaskReader
	round *engine.Round
	row   int  // of the probe side in this round: the first of the next batch
	ended bool // the probe side of the round
}

func (r *taskReader) next() (arrow.RecordBatch, error) {
	for {
		if made, err := r.joiner.next(); made != nil || err != nil {
			return made, err
		}
		if r.round == nil {
			var err error
			if r.round, err = r.from.Next(r.ctx); r.round == nil {
				return nil, err
			}
			r.turn(r.round.Hashed)
			r.row, r.ended = 0, false
			if r.round.First {
				r.forget()
			}
		}
		if !r.ended {
			batch, err := r.from.Batch()
			if err != nil {
				return nil, err
			}
			if batch != nil {
				first := r.row
				r.row += int(batch.NumRows())
				if err := r.begin(batch, first, r.round.Last); err != nil {
					return nil, err
				}
				continue
			}
			r.ended = true
		}
		if r.split.node.marksBuild() {
			if batch, err := r.nextAlone(r.hashed.Batches()); batch != nil || err != nil {
				return batch, err
			}
		}
		r.round = nil
	}
}

// joiner makes rows of a join. One goroutine at a time uses it.
type joiner struct {
	ctx       context.Context
	split     *joinedSplits
	mem       memory.Allocator
	hashed    *engine.Hashed
	finder    engine.Finder // nil before the first turn
	wait      func(ctx context.Context, f func()) error
	condition *expr.Evaluator // nil for TRUE
	partnered []byte          // a bit for each row of the probe side since forget: it has a partner
	alone     int             // batches of the build side whose rows were returned by nextAlone

	batch  arrow.RecordBatch // of the probe side, that is joined; owned; nil of none
	first  int               // the number of its first row since forget
	isLast bool              // no more partners of these rows are to come
	most   int               // rows that are made of it at a time
}

func (s *joinedSplits) newJoiner(ctx context.Context, opt scan.OpenOptions) joiner {
	j := joiner{ctx: ctx, split: s, mem: opt.Allocator, wait: opt.Wait}
	if s.node.condition != nil {
		j.condition = s.node.condition.NewEvaluator(opt.Allocator)
	}
	return j
}

// release gives back what the joiner holds.
func (j *joiner) release() {
	j.end()
	if j.finder != nil {
		j.finder.Release()
		j.finder = nil
	}
	if j.condition != nil {
		j.condition.Release()
	}
}

// turn makes partners of rows of the build side.
func (j *joiner) turn(h *engine.Hashed) {
	n := j.split.node
	isFirst := (!n.has.pairs && !n.marksBuild() || n.between.Best) && j.condition == nil
	if j.finder != nil {
		j.finder.Release()
	}
	j.hashed, j.alone = h, 0
	j.finder = h.Finder(engine.FinderOptions{First: isFirst, Columns: j.split.bringable(), Wait: j.wait, Memory: j.mem})
}

// bringable returns the columns of pairs that a device may bring, by their places in the rows of the probe side and of
// the build side.
func (s *joinedSplits) bringable() (columns [2][]int) {
	n := s.node
	read := s.columns
	if !n.has.pairs {
		read = nil
	}
	if n.condition != nil {
		read = append(slices.Clone(read), n.condition.Columns()...)
	}
	for _, c := range read {
		side, place := 0, n.probeFirst+c
		if c >= n.probeColumns() {
			side, place = 1, n.ofBuildSide(c)
		}
		if !slices.Contains(columns[side], place) {
			columns[side] = append(columns[side], place)
		}
	}
	return columns
}

// forget forgets which rows of the probe side have a partner.
func (j *joiner) forget() { j.partnered = j.partnered[:0] }

// The rows of a batch that a join makes are bounded, and their bytes by what rows of both sides take on average.
const (
	joinedRowsMost  = 1 << 14
	joinedBytesMost = 4 << 20
)

// begin takes over a batch that has keys and columns of the probe side, and whose first row has that number since
// forget. isLast says that no more partners of these rows are to come.
func (j *joiner) begin(batch arrow.RecordBatch, first int, isLast bool) error {
	j.batch, j.first, j.isLast = batch, first, isLast
	rowBytes := rowdata.BatchBytes(batch)/max(batch.NumRows(), 1) + j.hashed.RowBytes()
	j.most = int(min(max(joinedBytesMost/max(rowBytes, 1), 1), joinedRowsMost))
	if n := (first + int(batch.NumRows()) + 7) / 8; j.notes() && n > len(j.partnered) {
		j.partnered = append(j.partnered, make([]byte, n-len(j.partnered))...)
	}
	return j.finder.Begin(batch)
}

// end ends the use of the batch.
func (j *joiner) end() {
	if j.batch != nil {
		j.finder.End()
		j.batch.Release()
		j.batch = nil
	}
}

// marksBuild says whether the join has rows of the build side that are chosen by whether they have a partner.
func (n *joinNode) marksBuild() bool { return n.has.buildPartnered || n.has.buildAlone }

// marks says whether the join has rows of the probe side that are chosen by whether they have a partner.
func (j *joiner) marks() bool { return j.split.node.has.probeAlone || j.split.node.has.partnered }

// notes says whether it is noted which rows have a partner.
func (j *joiner) notes() bool { return j.marks() || j.split.node.between.Best }

// isPartnered says whether a row of the batch is known to have a partner.
func (j *joiner) isPartnered(row uint32) bool { return bitutil.BitIsSet(j.partnered, j.first+int(row)) }

// next returns the next rows of the join that are made of the batch, which the caller owns; nil at its end.
func (j *joiner) next() (arrow.RecordBatch, error) {
	n := j.split.node
	has := n.has
	var done func(row uint32) bool
	if n.between.Best && j.condition != nil {
		done = j.isPartnered
	}
	for j.batch != nil {
		if j.ctx.Err() != nil {
			return nil, context.Cause(j.ctx)
		}
		spawn.Step()
		p, err := j.finder.Next(j.ctx, j.most, done)
		if err != nil {
			return nil, err
		}
		if p == nil {
			made, err := j.chosen()
			j.end()
			return made, err
		}
		if err := j.countPairs(len(p.Rows)); err != nil {
			return nil, err
		}
		if j.condition != nil {
			if err := j.choose(p); err != nil {
				return nil, err
			}
		}
		if j.notes() {
			j.note(p)
		}
		if j.split.node.marksBuild() {
			j.hashed.Note(p.Found)
		}
		if has.pairs && len(p.Rows) > 0 {
			return j.make(p)
		}
	}
	return nil, nil
}

// note notes which rows have a partner, and leaves one pair of each row, the first, where the best partner is wanted.
func (j *joiner) note(p *engine.Partners) {
	isBest := j.split.node.between.Best
	kept := 0
	for i, row := range p.Rows {
		if isBest {
			if j.isPartnered(row.Row) {
				continue
			}
			p.Rows[kept], p.Found[kept] = row, p.Found[i]
		}
		kept++
		bitutil.SetBit(j.partnered, j.first+int(row.Row))
	}
	p.Rows, p.Found = p.Rows[:kept], p.Found[:kept]
}

// chosen returns the rows of the batch that the join has by whether they have a partner; nil where there are none.
func (j *joiner) chosen() (arrow.RecordBatch, error) {
	if !j.marks() || !j.isLast {
		return nil, nil
	}
	has := j.split.node.has
	var rows, none []gather.Row
	for row := range int(j.batch.NumRows()) {
		if j.isPartnered(uint32(row)) == has.partnered {
			rows = append(rows, gather.Row{Row: uint32(row)})
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	invariants.Sometimes("plan: rows of a join are chosen by whether they have a partner")
	if has.pairs {
		none = slices.Repeat([]gather.Row{j.hashed.None()}, len(rows))
	}
	return j.make(&engine.Partners{Rows: rows, Found: none})
}

// make returns a batch of rows of the join.
func (j *joiner) make(p *engine.Partners) (arrow.RecordBatch, error) {
	columns, err := j.gather(p, j.split.columns)
	if err != nil {
		return nil, err
	}
	defer recordreader.ReleaseAll(columns)
	rows := int64(len(p.Rows))
	j.split.built.rows.Add(rows)
	return recordreader.Batch(j.split.schema, columns, rows), nil
}

// probeColumns returns how many columns of pairs are of the probe side; their places behind probeFirst are the same.
func (n *joinNode) probeColumns() int { return n.ofProbe.schema.NumFields() - n.probeFirst }

// gather makes columns of the pairs of rows.
func (j *joiner) gather(p *engine.Partners, columns []int) (made []arrow.Array, err error) {
	n := j.split.node
	ofProbe := n.probeColumns()
	neighbours := gather.AreNeighbours(p.Rows)
	for _, c := range columns {
		place, isBuild := n.probeFirst+c, c >= ofProbe
		if isBuild {
			place = n.ofBuildSide(c)
		}
		a, isBrought, err := p.Brought(j.mem, isBuild, place)
		switch {
		case isBrought || err != nil:
		case isBuild:
			a, err = j.hashed.Column(j.mem, place, p.Found)
		case neighbours:
			from := int64(p.Rows[0].Row)
			a = array.NewSlice(j.batch.Column(place), from, from+int64(len(p.Rows)))
		default:
			a, err = gather.Column(j.mem, []arrow.Array{j.batch.Column(place)}, p.Rows)
		}
		if err != nil {
			recordreader.ReleaseAll(made)
			return nil, err
		}
		made = append(made, a)
	}
	return made, nil
}

// choose leaves the pairs for which the condition is TRUE.
func (j *joiner) choose(p *engine.Partners) error {
	n := j.split.node
	read := n.condition.Columns()
	if len(p.Rows) == 0 {
		return nil
	}
	columns, err := j.gather(p, read)
	if err != nil {
		return err
	}
	defer recordreader.ReleaseAll(columns)
	rows := len(p.Rows)
	inputs := recordreader.Batch(recordreader.Columns(n.schema, read), columns, int64(rows))
	defer inputs.Release()
	bits := make([]byte, (rows+7)/8)
	if _, err := j.condition.Select(j.ctx, 0, inputs, bits); err != nil {
		return err
	}
	p.Keep(bits)
	return nil
}

// nextAlone returns rows of the batches of the build side before batch `to` that are chosen by whether they have a
// partner, with NULL in the probe side's columns; nil at the end.
func (j *joiner) nextAlone(to int) (arrow.RecordBatch, error) {
	n := j.split.node
	ofProbe := n.probeColumns()
	for j.alone < to {
		rows := j.hashed.Noted(j.alone, n.has.buildPartnered)
		j.alone++
		if len(rows) == 0 {
			continue
		}
		columns := make([]arrow.Array, 0, len(j.split.columns))
		for i, c := range j.split.columns {
			if c < ofProbe {
				// The library takes memory for zero, and the reader's is not.
				of := j.split.schema.Field(i).Type
				columns = append(columns, array.MakeArrayOfNull(memory.DefaultAllocator, of, len(rows)))
				continue
			}
			a, err := j.hashed.Column(j.mem, n.ofBuildSide(c), rows)
			if err != nil {
				recordreader.ReleaseAll(columns)
				return nil, err
			}
			columns = append(columns, a)
		}
		made := recordreader.Batch(j.split.schema, columns, int64(len(rows)))
		recordreader.ReleaseAll(columns)
		j.split.built.rows.Add(int64(len(rows)))
		return made, nil
	}
	return nil, nil
}
