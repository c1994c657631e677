package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/threads"
)

// HashedOptions say what Engine.Hash makes of the rows of a source.
type HashedOptions struct {
	RowsOptions // the first columns of the batches are the keys, the next ones what Range has

	// Keys is how keys are packed: a query of the keys over the first columns alone. Both sides of a join pack
	// them alike.
	Keys *rowdata.Bound

	NullsEqual []bool // by key: a NULL is equal to NULL, not to nothing

	// Asks says that Predicate will be called: the rows' keys are described for it.
	Asks bool

	Range Range // of values behind the keys; its zero is none
}

// BuildSide is the rows of one side of a join, to be found by their keys: in memory, or, where they outgrow it, in
// partitions of the keys' hashes, to which Tasks brings the other side's rows, too.
//
//	rows -> held, by their keys ------------------------------------------------> Hashed
//	          | more than half of the grant
//	          +-> by hash, in pages -+-> tasks -> a Hashed for each, in rounds where one key has most rows
//	other side -> by hash, in pages -+
//
// The partitioning is the GRACE hash join of Kitsuregawa, Tanaka and Moto-oka (1983); rows go to disk only where the
// memory has no room for their pages.
type BuildSide struct {
	statement *Statement
	opt       HashedOptions
	query     *aggregator.Query
	all       *Hashed // nil where rows are in parts
	grant     *arbiter.Grant
	store     *store.Store
	stats     Stats
	probed    Stats // of the reading of the other side, by Tasks

	rows    atomic.Int64
	held    atomic.Int64  // bytes of rows in memory, with their tables
	batches atomic.Uint32 // in memory

	splits, rounds atomic.Int64 // tasks that were scattered again; rounds of tasks beyond their first

	// Of a join that a device makes; joinBytes is 0 of others.
	joinBytes     int64        // of both sides that a device takes at once
	joined, pairs atomic.Int64 // sides that devices have joined, and their pairs
	leftRows      atomic.Int64 // of the probe side, that had too many pairs

	mu    sync.Mutex                    // of the making of parts
	parts atomic.Pointer[cpujoin.Parts] // nil while rows are in memory
	sets  []*keySet                     // of the rows in parts
}

// Hash reads a source by all of the engine's threads, and keeps its rows, to be found by their keys. Rows with a key
// that is NULL are kept, and are not found.
func (s *Statement) Hash(ctx context.Context, src scan.Source, opt HashedOptions) (side *BuildSide, err error) {
	err = spawn.Call(func() (err error) {
		side, err = s.hash(ctx, src, opt)
		return err
	})
	return side, store.NeedTemp(err, 0, 0)
}

func (s *Statement) hash(ctx context.Context, src scan.Source, opt HashedOptions) (*BuildSide, error) {
	b := &BuildSide{statement: s, opt: opt, query: s.newQuery(s.engine.opt.Threads)}
	b.store = s.newBatchStore(b.query.Workers)
	b.grant = s.share.Join(int64(b.query.Workers)*joinBytesMin, arbiter.All, b.store)
	b.all = newHashed(s.memory, &opt, b.query.Workers)
	b.all.asks = opt.Asks
	workers := make([]*hashWorker, b.query.Workers)
	var err error
	if b.joinBytes, err = s.joinBytes(ctx, &opt); err != nil {
		return nil, errors.Join(err, b.Release())
	}
	if s.engine.opt.testing.SpillAll || b.joinBytes > 0 {
		b.spill()
	}
	b.stats, err = b.statement.readMapped(ctx, b.query, src, opt.RowsOptions, func(i int, batch arrow.RecordBatch) error {
		if workers[i] == nil {
			workers[i] = &hashWorker{of: b, hashAdder: b.all.newAdder()}
		}
		return workers[i].keep(batch)
	}, func(ctx context.Context) error { return b.finish(ctx, workers) })
	if err != nil {
		for _, w := range workers {
			w.release()
		}
		return nil, errors.Join(err, b.Release())
	}
	return b, nil
}

// joinBytes returns how many bytes of both sides of a join a device takes at once; 0 where the CPU makes the pairs.
func (s *Statement) joinBytes(ctx context.Context, opt *HashedOptions) (int64, error) {
	if !s.engine.JoinsOnDevice(len(opt.NullsEqual), opt.Range) {
		return 0, nil
	}
	return s.engine.devices.JoinBytes(ctx)
}

// JoinsOnDevice reports whether a device makes the pairs of a join of some keys, since its algorithm was asked for.
func (e *Engine) JoinsOnDevice(keys int, of Range) bool {
	return keys > 0 && of.values() == 0 && e.devices.JoinAlgorithm() != ""
}

// JoinAlgorithm returns the join that was asked for; "" where none was.
func (e *Engine) JoinAlgorithm() string { return e.devices.JoinAlgorithm() }

// partsBits makes a task of 1/256 of the rows, at the least.
const partsBits = 8

// workerBytes returns one worker's share of the memory.
func (b *BuildSide) workerBytes() int64 { return b.grant.Bytes() / int64(b.query.Workers) }

// joinBytesMin is the least memory that a worker of a join goes on with.
const joinBytesMin = 256 << 10

// taskBytes returns how many bytes the build side of a task may take: a half of a worker's share, since what is made of
// the rows lies in the Go heap, beside garbage.
func (b *BuildSide) taskBytes() int64 {
	bytes := max(b.workerBytes()/2, joinBytesMin/2)
	if b.joinBytes > 0 {
		bytes = min(bytes, b.joinBytes/2)
	}
	return bytes
}

// scatterBytes returns how many bytes of rows a worker holds before it scatters them.
func (b *BuildSide) scatterBytes() int64 { return min(max(b.workerBytes()/8, 64<<10), 8<<20) }

// Stats tells how the rows were read, and what was spilled. Where both sides went to partitions, bytes and rejected
// rows are of both.
func (b *BuildSide) Stats() Stats {
	s := b.stats
	s.BytesRead += b.probed.BytesRead
	s.RowsRejected += b.probed.RowsRejected
	s.SpilledBytes, s.SpilledStored, s.SpillFiles = b.store.Spilled(), b.store.Stored(), b.store.Files()
	return s
}

// Reading tells how the rows of the build side were read.
func (b *BuildSide) Reading() Stats { return b.stats }

// Ran adds to the operator of the join what was done. The time includes the time of the build side's inputs.
func (b *BuildSide) Ran(o *Operator) {
	o.Property("ran, build side: %s kept in %s", digits.Counted(b.Rows(), "row"), rounded(b.stats.Elapsed))
	o.decoded("decode of the build side", b.stats.Device)
	if text := b.tasked(); text != "" {
		o.Property("ran: %s", text)
	}
	s := b.Stats()
	o.Spilled(&s)
}

// Rows returns how many rows there are.
func (b *BuildSide) Rows() int64 { return b.rows.Load() }

// tasked describes the tasks that were begun; "" of rows in memory.
func (b *BuildSide) tasked() string {
	if b.parts.Load() == nil {
		return ""
	}
	text := "both sides in partitions by hash"
	if b.joinBytes > 0 {
		text += fmt.Sprintf(", %s: %s on the device, of %s", b.statement.engine.devices.JoinAlgorithm(),
			digits.Counted(b.joined.Load(), "join"), digits.Counted(b.pairs.Load(), "pair"))
		if n := b.leftRows.Load(); n > 0 {
			text += fmt.Sprintf(", and %s with too many pairs by the CPU", digits.Counted(n, "row"))
		}
	}
	if n := b.splits.Load(); n > 0 {
		text += fmt.Sprintf(", %s scattered again", digits.Counted(n, "task"))
	}
	if n := b.rounds.Load(); n > 0 {
		text += fmt.Sprintf(", %s more for keys of many rows", digits.Counted(n, "round"))
	}
	return text
}

// All returns all rows; nil where they are in partitions.
func (b *BuildSide) All() *Hashed { return b.all }

// Predicate is Hashed.Predicate of all rows: where they are in partitions, it is of the keys that have sets.
func (b *BuildSide) Predicate(columns []int) (p scan.Predicate, filter *KeyFilter, ok bool) {
	if b.all != nil {
		return b.all.Predicate(columns)
	}
	filter = new(KeyFilter)
	filter.ask(slices.DeleteFunc(slices.Clone(b.sets), (*keySet).isDense), columns)
	p.Rows = filter
	return p, filter, len(filter.sets) > 0
}

// Release gives back what the rows take. No reader of a task is open.
func (b *BuildSide) Release() error {
	if b.all != nil {
		b.all.release()
	}
	for _, s := range b.sets {
		s.release()
	}
	b.grant.Leave()
	return b.store.Close()
}

// isSpilling reports whether rows go to partitions, which it begins where the rows that are held outgrow the memory.
func (b *BuildSide) isSpilling(held, growth int64) bool {
	if b.parts.Load() != nil {
		return true
	}
	if held <= b.grant.Bytes()/2 && b.statement.memory.Room(growth) == nil {
		return false
	}
	b.spill()
	return true
}

// spill makes the partitions: from now on rows are moved to them.
func (b *BuildSide) spill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parts.Load() != nil {
		return
	}
	of := scatter.Options{Memory: b.statement.memory, Store: b.store, WorkerBytes: b.workerBytes}
	for i, c := range b.opt.Keys.Columns {
		if !b.opt.Asks || !c.HasRange {
			continue
		}
		if s := emptyKeySet(b.statement.memory, i, c.Min, c.Max, b.statement.memory.Left()/keySetShare); s != nil {
			s.nullsEqual = b.opt.NullsEqual[i]
			b.sets = append(b.sets, s)
		}
	}
	pass := 0
	if b.joinBytes > 0 { // a device takes the hash of pass 0 to divide them further
		pass = 1
	}
	bits := cmp.Or(b.statement.engine.opt.testing.RadixBits, partsBits)
	b.parts.Store(cpujoin.NewParts(of, bits, pass))
}

// hashWorker is what one worker keeps.
type hashWorker struct {
	*hashAdder
	of   *BuildSide
	held []heldBatch
	out  *scatterer // nil before the first batch that is scattered
}

// heldBatch is a batch and its number.
type heldBatch struct {
	arrow.RecordBatch
	number uint32
}

// keep takes over a batch.
func (w *hashWorker) keep(batch arrow.RecordBatch) error {
	b := w.of
	b.rows.Add(batch.NumRows())
	if !b.isSpilling(b.held.Add(b.opt.bytesOf(batch)), w.to.Growth(int(batch.NumRows()))) {
		w.held = append(w.held, heldBatch{batch, b.batches.Add(1) - 1})
		return w.add(w.held[len(w.held)-1].number, batch)
	}
	if err := w.scatterHeld(); err != nil {
		batch.Release()
		return err
	}
	return w.scatter(batch)
}

// scatter takes over a batch, whose rows go to the partitions, and its keys to the sets.
func (w *hashWorker) scatter(batch arrow.RecordBatch) error {
	for _, s := range w.of.sets {
		s.add(batch.Column(s.column))
	}
	return w.out.add(batch)
}

// scatterHeld moves the batches that are held to the partitions.
func (w *hashWorker) scatterHeld() error {
	if w.out == nil {
		w.out = w.of.newScatterer(w.keys, w.of.parts.Load(), cpujoin.BuildSide)
		w.to.Release()
	}
	for len(w.held) > 0 {
		batch := w.held[0].RecordBatch
		w.held = w.held[1:]
		if err := w.scatter(batch); err != nil {
			return err
		}
	}
	return nil
}

func (w *hashWorker) release() {
	if w == nil {
		return
	}
	for _, held := range w.held {
		held.Release()
	}
	if w.out != nil {
		w.out.Release()
	}
}

// newScatterer returns a way to partitions.
func (b *BuildSide) newScatterer(keys *keyPacker, to *cpujoin.Parts, side scatter.Content) *scatterer {
	out := to.NewScatterer(side, b.scatterBytes(), b.statement.memory, b.statement.engine.opt.Allocator)
	return &scatterer{out, &b.opt.Keys.Keys, keys}
}

// finish ends the reading of the build side.
func (b *BuildSide) finish(ctx context.Context, workers []*hashWorker) error {
	if b.parts.Load() == nil && b.statement.memory.Room(b.all.build.TableBytes()) != nil {
		b.spill()
	}
	if b.parts.Load() == nil {
		b.all.batches = make([]arrow.RecordBatch, b.batches.Load())
		for _, w := range workers {
			if w == nil {
				continue
			}
			for _, held := range w.held {
				b.all.batches[held.number] = held.RecordBatch
			}
			w.held = nil
		}
		held := b.held.Load()
		b.grant.Ask(held, held) // until Release
		if err := b.all.finish(ctx, b.eachTable); err != nil {
			return err
		}
		b.all.code(b.statement.engine.opt.Allocator)
		return nil
	}
	b.all.release()
	b.all = nil
	return b.query.Parallel(ctx, func(_ context.Context, i int, _ *threads.Thread) error {
		w := workers[i]
		if w == nil {
			return nil
		}
		if err := w.scatterHeld(); err != nil {
			return err
		}
		return w.out.Flush()
	})
}

// eachTable calls a function for each of a number of tables, by all threads.
func (b *BuildSide) eachTable(ctx context.Context, n int, f func(i int) error) error {
	var next atomic.Int64
	return b.query.Parallel(ctx, func(ctx context.Context, _ int, th *threads.Thread) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return nil
			}
			if err := th.Yield(ctx); err != nil {
				return err
			}
			if err := f(i); err != nil {
				return err
			}
		}
	})
}

// Tasks reads the other side of the join by all threads, and returns tasks with rows of both sides, which are
// joined one by one. opt is as Hash has it. It is called once, where All is nil.
func (b *BuildSide) Tasks(ctx context.Context, src scan.Source, opt RowsOptions) (tasks []*JoinTask, err error) {
	workers := make(scatterers, b.query.Workers)
	defer workers.release()
	err = spawn.Call(func() (err error) {
		b.probed, err = b.statement.readMapped(ctx, b.query, src, opt, func(i int, batch arrow.RecordBatch) error {
			if workers[i] == nil {
				workers[i] = b.newScatterer(newKeyPacker(b.opt.Keys), b.parts.Load(), cpujoin.ProbeSide)
			}
			return workers[i].add(batch)
		}, func(ctx context.Context) error { return workers.flush(ctx, b.query) })
		return err
	})
	if err != nil {
		return nil, store.NeedTemp(err, 0, 0)
	}
	for _, t := range b.parts.Load().Tasks(b.taskBytes()/4, b.opt.rowBytes()) {
		tasks = append(tasks, &JoinTask{b, t})
	}
	return tasks, nil
}
