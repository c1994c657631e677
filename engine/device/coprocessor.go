package device

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/table"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/partition"
	"github.com/mpga/mpga/stream"
)

// coprocessor runs the two phases of a query on devices, beside the CPU's workers:
//
//		reader -> filler -> tile -> device -----------------------------> chunks of groups -> output
//		              \-> no tile is free, few groups -> a CPU worker     | of a partition that the CPU
//		                    rows that no table took, groups that may      v has a part of
//		                    come again -------------------------> a CPU worker -> its tasks -> output
//
//	  - C1 (once): a partition is emitted, or merged by the CPU's workers; never both.
//	  - C2 (fallback): when a device fails, the CPU aggregates the input anew, but for the partitions that
//	    were emitted: their rows are left out, and their groups that a table has held back are added.
type coprocessor struct {
	query   *Query
	lease   *lease
	layout  *Layout
	run     *stream.Run
	filler  filler
	decoder *decoder     // nil where devices decode no files
	plain   *plainResult // nil when results are not the devices' bytes

	pool    chan *cpuWorker // each used by one goroutine at a time
	batches batchKeeper     // of tiles that refer to them
	onCPU   atomic.Bool     // some rows or groups are with the CPU's workers
	merged  []bool          // by partition of the devices: emitted groups are merged by the CPU
	emitted atomic.Int64    // partitions that the output has
	worked  atomic.Int64    // rows of partitions whose groups are where they belong

	mu    sync.Mutex
	done  []bool       // by partition: emitted and written
	parts map[*int]int // of partitions that come in parts: how many are written

	back *trace.Rows // of what devices give back to the CPU
}

// cpuWorker is a worker of the CPU, with buffers for the rows and groups that devices give it.
type cpuWorker struct {
	*cpuagg.Worker
	groups  groupBuffers
	tile    *rowdata.Tile
	hashes  []uint64
	encoder *encode.Encoder // of batches; nil before the first
}

// newCoprocessor prepares a query for devices, or says why it does not suit them.
func newCoprocessor(ctx context.Context, q *Query, layout *Layout) (*coprocessor, error) {
	lease, err := q.Devices.lease(ctx, q.need(layout), q.patience())
	if err != nil {
		return nil, err
	}
	c := &coprocessor{query: q, lease: lease, layout: layout, back: q.Trace.Rows("CPU, for devices")}
	opt := q.streamOptions(lease.deviceSet, layout)
	opt.MemoryLimit = lease.limit(opt.MemoryLimit)
	switch {
	case opt.Parts != nil:
		opt.Parts.Take = c.takeParts
	case layout.rows != nil:
		opt.Decoded = layout.rows.take
	default:
		opt.TakeRows, opt.TakeStates = c.takeRows, c.takeStates
		opt.OnCPU = func(partition int) bool { return c.merged[partition] }
		opt.Ranks = func(ctx context.Context, column int) ([]uint32, error) { return q.rank(ctx, layout, column) }
	}
	if layout.notDecoded == nil {
		c.decoder, opt.Decode = layout.decoder, layout.decoder.of
		c.decoder.devices = c
	}
	if layout.rows != nil {
		layout.rows.begin(ctx, c)
	}
	c.run, err = stream.New(ctx, opt)
	if err != nil {
		return nil, cmp.Or(c.release(err), err)
	}
	if c.run.Decoding() == nil && (layout.rows != nil || layout.numbered && !q.Devices.named()) {
		return nil, cmp.Or(c.release(nil), errNoRoom)
	}
	c.filler.devices = c
	if layout.rows == nil {
		c.plain = newPlainResult(q, layout)
	}
	return c, nil
}

// streamOptions returns the options of a run on devices, without the functions that take rows and
// states back.
func (q *Query) streamOptions(set *deviceSet, layout *Layout) stream.Options {
	knobs := &q.Devices.knobs
	groups := knobs.Groups
	if layout.isOneGroup() {
		groups = 1
	}
	ablation := q.Devices.ablation
	ablation.Streams = cmp.Or(knobs.Streams, ablation.Streams)
	ablation.LFMin, ablation.LFMax = cmp.Or(knobs.LFMin, ablation.LFMin), cmp.Or(knobs.LFMax, ablation.LFMax)
	return stream.Options{
		Devices:     set.list,
		Shape:       layout.shape,
		Nullable:    layout.nullable,
		Parts:       q.parts(layout),
		Ranked:      layout.rankedColumns(),
		Rows:        max(q.Rows, 0),
		Seed:        partition.Seed(0),
		MemoryLimit: q.Devices.limit,
		PinnedLimit: q.Devices.pinned,
		TileRows:    knobs.TileRows,
		Algorithm:   q.Devices.algorithm,
		Ablation:    ablation,
		Groups:      groups,
		RadixBits:   knobs.RadixBits,
		Timeout:     knobs.Timeout,
		Trace:       q.streamTrace(),
	}
}

// begin takes workers of the CPU; others may come until the input ends.
func (c *coprocessor) begin(workers []*cpuagg.Worker) {
	c.pool = make(chan *cpuWorker, c.query.Workers)
	for _, w := range workers {
		c.pool <- &cpuWorker{Worker: w}
	}
}

// with calls a function with one of the CPU's workers.
func (c *coprocessor) with(ctx context.Context, f func(*cpuWorker) error) error {
	c.onCPU.Store(true)
	select {
	case w := <-c.pool:
		defer func() { c.pool <- w }()
		return f(w)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeRows aggregates rows that no table of a device took.
func (c *coprocessor) takeRows(ctx context.Context, t *stream.Tile) error {
	row := c.back.Begin("aggregate rows")
	defer c.back.End(row)
	return c.with(ctx, func(w *cpuWorker) error {
		for at := 0; at < t.Rows; at += rowdata.TileRows {
			w.tile = c.layout.unstage(w.tile, t, at)
			if err := w.Add(w.tile); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeBatch takes over a batch of rows that devices have decoded, and aggregates them.
func (c *coprocessor) takeBatch(ctx context.Context, batch arrow.RecordBatch) error {
	defer batch.Release()
	return c.with(ctx, func(w *cpuWorker) error {
		if w.encoder == nil {
			w.encoder = encode.NewEncoder(c.query.Bound, c.query.Interners)
			w.encoder.Dense = c.query.CPU.Run().Dense()
		}
		if err := w.encoder.SetBatch(batch, 0); err != nil {
			return err
		}
		for at := 0; at < int(batch.NumRows()); {
			tile, err := w.encoder.Encode(at, int(batch.NumRows()))
			if err == nil {
				at += tile.Rows
				err = w.Add(tile)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// takeStates has the CPU merge groups whose keys may come again.
func (c *coprocessor) takeStates(ctx context.Context, g *stream.Groups) error {
	row := c.back.Begin("merge groups")
	defer c.back.End(row)
	return c.addGroups(ctx, g, 0, g.Count)
}

// addGroups merges groups from to to with the groups of the CPU's workers.
func (c *coprocessor) addGroups(ctx context.Context, g *stream.Groups, from, to int) error {
	return c.with(ctx, func(w *cpuWorker) error { return c.addGroupsTo(w, g, from, to) })
}

func (c *coprocessor) addGroupsTo(w *cpuWorker, g *stream.Groups, from, to int) error {
	for ; from < to; from += rowdata.TileRows {
		groups := c.layout.groups(&w.groups, g, from, min(from+rowdata.TileRows, to))
		if err := w.AddGroups(groups.Len, groups.Keys, groups.States); err != nil {
			return err
		}
	}
	return nil
}

// endInput submits the tile that is not full, and waits until the rows of all tiles are where their
// route takes them.
func (c *coprocessor) endInput() error {
	if err := c.filler.flush(); err != nil {
		return err
	}
	return c.run.EndInput()
}

// groupChunk is groups from to to of a set of partitions.
type groupChunk struct {
	set      *groupSet
	from, to int
}

// groupSet is groups on their way to the output, cut in chunks.
type groupSet struct {
	*stream.Groups
	merge  bool         // by the CPU
	unsent atomic.Int64 // chunks that the output does not have yet
	users  atomic.Int64 // of the memory: chunks, and batches that share it
}

// process is the partition-processing phase of the devices: their groups go to the output, or to
// the CPU's workers where these have a part of a partition.
func (c *coprocessor) process(ctx context.Context) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	q := c.query
	waiting := c.run.Waiting()
	q.Work.Add(waiting)
	cctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	chunks := make(chan groupChunk, q.Workers)
	var deviceErr error
	processed := make(chan struct{})
	spawn.Go(func() error {
		return c.run.Process(func(_ context.Context, g *stream.Groups) error { return c.emit(cctx, g, chunks) })
	}, func(err error) {
		deviceErr = err
		close(chunks)
		close(processed)
	})
	err := q.Parallel(cctx, func(ctx context.Context, _ int, th *threads.Thread) error {
		return c.write(ctx, th, chunks)
	})
	cancel(err)
	for chunk := range chunks { // the query has failed
		c.put(chunk.set, 1)
	}
	<-processed
	// What the CPU's workers have of it is in their tasks.
	q.WorkDone.Add(waiting - c.worked.Load())
	if errors.Is(deviceErr, spawn.ErrInternal) {
		return deviceErr
	}
	return cmp.Or(err, deviceErr)
}

// settle finds out of which partitions the CPU has rows or groups. Groups in the tables of its
// workers go to the store, where they lie by partition.
func (c *coprocessor) settle(ctx context.Context) error {
	radix := partition.Radix(c.run.RadixBits())
	c.merged, c.done = make([]bool, radix.FanOut()), make([]bool, radix.FanOut())
	if c.layout.isOneGroup() { // which the CPU has, if only of no rows
		c.onCPU.Store(true)
		for p := range c.merged {
			c.merged[p] = true
		}
		return nil
	}
	if !c.onCPU.Load() {
		return nil
	}
	if radix == 0 {
		c.merged[0] = true
		return nil
	}
	err := c.query.Parallel(ctx, func(_ context.Context, i int, t *threads.Thread) error {
		t.Does(threads.WorkScatter)
		return c.query.CPU.Workers()[i].ScatterRest()
	})
	if err != nil {
		return err
	}
	c.merged = c.query.CPU.Run().Occupied(radix)
	if !table.HashesWords(&c.query.Bound.Keys) {
		for p := range c.merged {
			c.merged[p] = true // the CPU's partitions are others
		}
	}
	return nil
}

// plainBatches is how many times larger batches are that share the memory of groups. They take no
// memory of their own, and waking the reader of a batch takes as long as a device needs for a
// hundred thousand groups.
const plainBatches = 16

// emit cuts groups into chunks, of the groups of a result batch.
func (c *coprocessor) emit(ctx context.Context, g *stream.Groups, chunks chan<- groupChunk) error {
	set := &groupSet{Groups: g}
	for _, p := range g.Partitions {
		set.merge = set.merge || c.merged[p]
	}
	if g.Partitions == nil {
		set.merge = c.onCPU.Load()
	}
	rows := c.query.ResultRows
	if c.plain != nil {
		rows *= plainBatches
	}
	left := int64((g.Count + rows - 1) / rows)
	if left == 0 {
		c.sent(set)
		c.put(set, 0)
		return nil
	}
	set.unsent.Store(left)
	set.users.Store(left)
	if g.Rows == 0 {
		c.query.Work.Add(int64(g.Count))
	}
	for from := 0; from < g.Count; from += rows {
		select {
		case chunks <- groupChunk{set, from, min(from+rows, g.Count)}:
			left--
		case <-ctx.Done(): // the query has failed, and with it the set
			c.put(set, left)
			return context.Cause(ctx)
		}
	}
	return nil
}

// put says that users of a set, as many as users says, need its memory no more. Where a device fails
// to take the memory back, the answer stays right: these groups may be a part of it by now.
func (c *coprocessor) put(set *groupSet, users int64) {
	if set.users.Add(-users) > 0 {
		return
	}
	if err := set.Release(); err != nil {
		c.query.Devices.log.Warn("device memory", slog.Any("error", err))
		c.query.Devices.note(err)
	}
}

// write takes chunks to the output, or to the CPU's workers.
func (c *coprocessor) write(ctx context.Context, th *threads.Thread, chunks <-chan groupChunk) error {
	out := c.query.Output.Writer()
	defer out.Release()
	var buf groupBuffers
	for {
		th.Give()
		chunk, ok := <-chunks
		if !ok {
			return out.Close()
		}
		th.WillDo(threads.WorkWrite)
		if chunk.set.merge {
			th.WillDo(threads.WorkMerge)
		}
		if err := c.take(ctx, th, out, &buf, chunk); err != nil {
			return err
		}
	}
}

// take takes a thread, and a chunk to the output or to a worker of the CPU.
func (c *coprocessor) take(ctx context.Context, th *threads.Thread, out aggregator.Writer,
	buf *groupBuffers, chunk groupChunk) error {
	defer c.put(chunk.set, 1)
	spawn.Step()
	if err := th.Take(ctx); err != nil {
		return err
	}
	if err := c.writeChunk(ctx, th, out, buf, chunk); err != nil {
		return err
	}
	if chunk.set.unsent.Add(-1) == 0 {
		c.sent(chunk.set)
	}
	return nil
}

func (c *coprocessor) writeChunk(ctx context.Context, th *threads.Thread, out aggregator.Writer,
	buf *groupBuffers, chunk groupChunk) error {
	var err error
	switch {
	case chunk.set.merge:
		err = c.addGroups(ctx, chunk.set.Groups, chunk.from, chunk.to)
	case c.plain != nil && c.plain.isPlain(chunk):
		err = c.writePlain(ctx, th, chunk)
	default:
		err = out.Write(ctx, th, c.layout.groups(buf, chunk.set.Groups, chunk.from, chunk.to))
	}
	work := int64(chunk.to - chunk.from)
	if g := chunk.set.Groups; g.Rows > 0 {
		work = g.Rows*int64(chunk.to)/int64(g.Count) - g.Rows*int64(chunk.from)/int64(g.Count)
		c.worked.Add(work)
	}
	c.query.WorkDone.Add(work)
	return err
}

// sent notes that all chunks of a set are with the output or with workers of the CPU.
func (c *coprocessor) sent(set *groupSet) {
	if set.merge {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := set.Parts; all != nil {
		if c.parts == nil {
			c.parts = map[*int]int{}
		}
		if c.parts[all]++; c.parts[all] < *all {
			return
		}
	}
	for _, p := range set.Partitions {
		c.done[p] = true
	}
	c.emitted.Add(int64(len(set.Partitions)))
}

// release ends the devices' part. cause is why the query ends early; nil when it does not. What was
// written stays written. An error is a bug.
func (c *coprocessor) release(cause error) error {
	released, err := c.run.Release()
	if err != nil {
		c.query.Devices.log.Warn("device released", slog.Any("error", err))
	}
	var bug error
	if c.decoder != nil {
		bug = c.decoder.endSample()
	}
	for _, t := range slices.Collect(maps.Keys(c.batches.byTile)) {
		c.batches.drop(t)
	}
	c.query.Devices.end(c.lease, errors.Join(cause, err), released)
	if errors.Is(err, spawn.ErrInternal) {
		return err
	}
	return bug
}
