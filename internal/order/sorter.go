package order

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/store"
)

// sorter holds rows until they are in order.
type sorter struct {
	opt     Options
	grant   *arbiter.Grant
	schema  *arrow.Schema // of the rows
	encoder *keyEncoder
	workers workers
	stats   Stats

	inMemory
	cutting
	onDisk
}

// inMemory is the rows that a sorter holds.
type inMemory struct {
	batches  []arrow.RecordBatch // owned: the rows that are held
	kept     int64               // their number
	isPacked bool                // entries have packed keys
	packing  *packing            // of the keys of batches; nil with a limit, and where a key is no word
	long     []longKeys          // by batch; without a limit, once the rows are sorted, unless their keys are packed
	entries  []entry             // of all rows of batches; without a limit, once the rows are sorted
	held     int64               // bytes of batches, long and entries
}

// cutting is which rows matter: the others are dropped.
type cutting struct {
	wanted    int64   // how many of the first rows matter
	bound     *bound  // rows behind it do not matter; nil until as many rows are held as are wanted
	shared    *Bound  // is told of bound; may be nil
	cuts      int     // how often rows were dropped
	first     int64   // how many rows matter of rows that are equal in the encoder's first keys; 0 of all
	ties      bool    // rows that are equal to the last of these matter, too
	thinAt    int64   // how many rows are held when the others are dropped
	thinFails bool    // the last time most rows were left: rows are dropped as they are spilled, not before
	sieve     sieve   // of the bound
	looked    []entry // scratch: of the batch that is compared with the bound
}

// onDisk is what a sorter has written.
type onDisk struct {
	rows   int64        // that were held at some time
	bytes  int64        // of these rows, their keys and their entries
	store  *store.Store // of runs; nil before the first run
	runs   []*run
	before int64 // bytes of pages that were written before the rows that are held
}

// Stats tells what a sort did.
type Stats struct {
	Rows          int64 // of the input
	Runs          int   // written to disk, by merges too
	SpilledStored int64 // written to disk
}

const (
	// cutRowsFirst is how many rows are held beyond the wanted rows before they are cut the first
	// time: an early bound spares work. The number doubles with each cut up to cutRowsMost, since
	// sorting fewer rows at a time costs more than holding them.
	cutRowsFirst = 1 << 8
	cutRowsMost  = 1 << 13

	// cutBatchesMax is how many batches are held before they are cut, however few rows they have.
	cutBatchesMax = 1 << 10
)

// add takes a batch, which stays the caller's.
func (s *sorter) add(ctx context.Context, batch arrow.RecordBatch) error {
	s.stats.Rows += batch.NumRows()
	for from, rows := int64(0), batch.NumRows(); from < rows; {
		to := rows
		if extra := s.extraRows(); s.cuts == 0 && extra < rows/4 {
			to = min(from+2*extra, rows) // a sort of these rows makes the bound for the rows behind them
		}
		part := batch.NewSlice(from, to)
		err := s.addPart(ctx, part)
		part.Release()
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// addPart takes rows of a batch, which stay the caller's.
func (s *sorter) addPart(ctx context.Context, batch arrow.RecordBatch) error {
	kept, err := s.admit(batch)
	if err != nil {
		return err
	}
	for _, b := range kept {
		s.hold(b)
	}
	rows := int64(len(s.entries))
	if extra := rows - s.wanted; extra >= s.extraRows() || extra > 0 && len(s.batches) >= cutBatchesMax {
		if err := s.cut(ctx); err != nil {
			return err
		}
	}
	if s.first > 0 && (s.kept >= s.thinAt || s.held > s.room() && !s.thinFails) {
		rows := s.kept
		if err := s.cut(ctx); err != nil {
			return err
		}
		s.thinAt, s.thinFails = max(thinMore*s.kept, int64(s.opt.ThinRows)), s.kept > rows/2
	}
	if s.held > s.room() {
		return s.spill(ctx)
	}
	return nil
}

// thinMore is how many rows are held, for each row that was left the last time, before rows behind the first ones of
// each prefix are dropped again.
const thinMore = 4

// thin leaves of the entries, which are sorted, the first ones of each prefix.
func (s *sorter) thin(ctx context.Context) error {
	marks, err := s.mark(ctx)
	if err != nil {
		return err
	}
	left, ofPrefix, matters := s.entries[:0], int64(0), false
	for i, mark := range marks {
		if mark&NewPrefix != 0 {
			ofPrefix = 0
		}
		ofPrefix++
		if matters = ofPrefix <= s.first || s.ties && matters && mark&NewKey == 0; matters {
			left = append(left, s.entries[i])
		}
	}
	s.entries = left
	return nil
}

// room returns how many bytes of rows and keys the sort may hold at present.
func (s *sorter) room() int64 { return min(s.opt.Bytes, s.grant.Bytes()) }

// extraRows is how many rows are held beyond the wanted rows before they are cut.
func (s *sorter) extraRows() int64 {
	return max(s.wanted, min(int64(cutRowsFirst)<<min(s.cuts, 16), cutRowsMost))
}

// admit returns batches of the rows that may be among the first, which the caller owns.
func (s *sorter) admit(batch arrow.RecordBatch) ([]arrow.RecordBatch, error) {
	if s.bound == nil {
		batch.Retain()
		return []arrow.RecordBatch{batch}, nil
	}
	var decided bool
	s.looked, decided = s.sieve.rows(s.looked[:0], batch, s.bound)
	kept, err := s.some(batch, s.looked)
	if err != nil || decided {
		return kept, err
	}
	defer recordreader.ReleaseAll(kept)
	var all []arrow.RecordBatch
	for _, b := range kept {
		var long longKeys
		s.looked, long = s.encoder.encode(s.looked[:0], b, 0)
		entries := slices.DeleteFunc(s.looked, func(e entry) bool { return !s.bound.admits(&e, &long) })
		of, err := s.some(b, entries)
		if err != nil {
			recordreader.ReleaseAll(all)
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// some returns rows of a batch, in their order, which the caller owns.
func (s *sorter) some(batch arrow.RecordBatch, rows []entry) ([]arrow.RecordBatch, error) {
	switch len(rows) {
	case 0:
		return nil, nil
	case int(batch.NumRows()):
		batch.Retain()
		return []arrow.RecordBatch{batch}, nil
	}
	return s.gather([]arrow.RecordBatch{batch}, rows)
}

// hold takes a batch over.
func (s *sorter) hold(batch arrow.RecordBatch) {
	size := entryBytes * batch.NumRows()
	for _, column := range batch.Columns() {
		gather.Share(column)
		size += rowdata.ArrayBytes(column)
	}
	if s.isLimited() {
		var long longKeys
		s.entries, long = s.encoder.encode(s.entries, batch, len(s.batches))
		s.long = append(s.long, long)
		size += long.size()
	} else {
		if s.packing != nil {
			s.packing.widen(batch)
		}
		if !s.packing.fits() {
			size += s.encoder.longBytes(batch)
		}
	}
	s.batches = append(s.batches, batch)
	s.kept += batch.NumRows()
	s.held += size
	s.rows += batch.NumRows()
	s.bytes += size
}

// isLimited says whether the first rows are wanted alone. Their keys are made as the rows come; the keys of all rows
// are made when they are sorted.
func (s *sorter) isLimited() bool { return s.wanted < math.MaxInt64 }

// encode makes the entries of all rows, and their long keys where there are any.
func (s *sorter) encode(ctx context.Context) (long []longKeys, err error) {
	if s.isLimited() {
		if s.encoder.short {
			return nil, nil
		}
		return s.long, nil
	}
	s.entries = slices.Grow(s.entries[:0], int(s.kept))[:s.kept]
	firsts, first := make([]int, len(s.batches)+1), 0
	for i, b := range s.batches {
		first += int(b.NumRows())
		firsts[i+1] = first
	}
	if s.isPacked = s.packing.fits(); !s.isPacked {
		s.long = make([]longKeys, len(s.batches))
	}
	err = s.workers.each(ctx, len(s.batches), func(i int) error {
		of := s.entries[firsts[i]:firsts[i+1]:firsts[i+1]]
		if s.isPacked {
			s.packing.encode(of, s.batches[i], i)
		} else {
			_, s.long[i] = s.encoder.encode(of[:0], s.batches[i], i)
		}
		return nil
	})
	if s.isPacked || s.encoder.short {
		return nil, err
	}
	return s.long, err
}

// sort puts the entries in order, and leaves out entries that do not matter.
func (s *sorter) sort(ctx context.Context) error {
	long, err := s.encode(ctx)
	if err != nil {
		return err
	}
	err = sortEntries(ctx, s.workers, s.entries, long)
	if err == nil && s.first > 0 {
		err = s.thin(ctx)
	}
	if err == nil && int64(len(s.entries)) >= s.wanted {
		s.entries = s.entries[:s.wanted]
		last := &s.entries[s.wanted-1]
		s.bound = &bound{head: last.head, values: s.sieve.valuesOf(s.batches[last.batch], int(last.row))}
		if !s.encoder.short {
			s.bound.key = slices.Clone(s.long[last.batch].at(last.row))
		}
		if s.shared != nil {
			s.shared.tell(s.bound, s.batches[last.batch].Column(s.encoder.keys[0].Column), int(last.row))
		}
	}
	return err
}

// cut drops the rows that cannot be among the first.
func (s *sorter) cut(ctx context.Context) error {
	s.cuts++
	if err := s.sort(ctx); err != nil {
		return err
	}
	kept, err := s.gatherAll(ctx)
	if err != nil {
		return err
	}
	s.drop()
	for _, b := range kept {
		s.hold(b)
	}
	return nil
}

// gatherAll returns the rows of all entries.
func (s *sorter) gatherAll(ctx context.Context) (all []arrow.RecordBatch, err error) {
	err = s.eachBatch(ctx, s.batchRows(), func(batches []arrow.RecordBatch) error {
		all = append(all, batches...)
		return nil
	})
	if err != nil {
		recordreader.ReleaseAll(all)
		return nil, err
	}
	return all, nil
}

// eachBatch hands over the rows of all entries in batches of at most the given number of rows.
func (s *sorter) eachBatch(ctx context.Context, rows int, f func([]arrow.RecordBatch) error) error {
	for part := range slices.Chunk(s.entries, rows) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batches, err := s.gather(s.batches, part)
		if err != nil {
			return err
		}
		if err := f(batches); err != nil {
			return err
		}
	}
	return nil
}

// gather returns the rows that entries name, in more than one batch where strings do not fit one.
// Columns are gathered in parallel.
func (s *sorter) gather(from []arrow.RecordBatch, at []entry) ([]arrow.RecordBatch, error) {
	columns := make([]arrow.Array, s.schema.NumFields())
	defer recordreader.ReleaseAll(columns)
	rows := make([]gather.Row, len(at))
	for i := range at {
		rows[i] = gather.Row{Batch: at[i].batch, Row: at[i].row}
	}
	err := s.workers.each(context.Background(), len(columns), func(i int) (err error) {
		arrays := make([]arrow.Array, len(from))
		for j, b := range from {
			arrays[j] = b.Column(i)
		}
		columns[i], err = gather.Column(s.opt.Allocator, arrays, rows)
		return err
	})
	if errors.Is(err, gather.ErrTooLarge) && len(at) > 1 {
		low, err := s.gather(from, at[:len(at)/2])
		if err != nil {
			return nil, err
		}
		high, err := s.gather(from, at[len(at)/2:])
		if err != nil {
			recordreader.ReleaseAll(low)
			return nil, err
		}
		return append(low, high...), nil
	}
	if err != nil {
		return nil, err
	}
	return []arrow.RecordBatch{array.NewRecordBatch(s.schema, columns, int64(len(at)))}, nil
}

// batchBytes bounds the bytes of a batch of a run.
func (s *sorter) batchBytes() int64 { return min(max(s.room()/64, 16<<10), 1<<20) }

// rowsOf returns how many rows have about the given number of bytes: one at least, a batch at most.
func (s *sorter) rowsOf(bytes int64) int {
	return int(min(max(bytes/s.rowBytes(), 1), int64(s.opt.BatchRows)))
}

// rowBytes returns how many bytes a row takes without its entry, on average.
func (s *sorter) rowBytes() int64 { return max(s.bytes/max(s.rows, 1)-entryBytes, 1) }

// batchRows is how many rows a batch of the result has at most.
func (s *sorter) batchRows() int { return s.rowsOf(s.room() / 8) }

// spill writes the rows that are held to a run.
func (s *sorter) spill(ctx context.Context) error {
	if len(s.batches) == 0 {
		return nil
	}
	if err := s.sort(ctx); err != nil {
		return err
	}
	w := s.newRun()
	s.before = s.store.Spilled()
	err := s.eachBatch(ctx, s.rowsOf(s.batchBytes()), w.write)
	if err != nil {
		w.drop()
		return err
	}
	r, err := s.endRun(w)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, r)
	s.drop()
	return nil
}

func (s *sorter) newRun() *runWriter {
	if s.store == nil {
		s.store = store.NewStore(store.StoreOptions{
			Memory: s.opt.Memory, Temp: s.opt.Temp, Writers: 1,
		})
	}
	return newRunWriter(s.store, s.opt.Memory, s.opt.RunAllocator)
}

func (s *sorter) endRun(w *runWriter) (*run, error) {
	r, err := w.close()
	s.stats.Runs++
	s.stats.SpilledStored = s.store.Stored()
	return r, err
}

// need estimates the limit of the temp directory that lets the sort end, when that part of its input has been read;
// 0 where nothing tells.
func (s *sorter) need(part float64) int64 {
	if s.store == nil {
		return 0
	}
	unwritten := s.held - entryBytes*s.kept - (s.store.Spilled() - s.before)
	bytes := s.store.Need(part, max(unwritten, 0))
	if runs := float64(len(s.runs)+1) / max(part, 0.001); part < 1 && runs > float64(s.fanIn()) {
		bytes *= 2 // runs that are merged lie beside the run that is made of them
	}
	return s.opt.Temp.Need(s.store, bytes)
}

// fanIn is how many runs are merged at a time.
func (s *sorter) fanIn() int { return int(min(max(s.room()/s.runBytes(), 2), 512)) }

// runBytes returns how many bytes a run that is merged takes: a batch, a page and a buffer.
func (s *sorter) runBytes() int64 {
	batch := s.batchBytes()
	for _, r := range s.runs {
		batch = max(batch, r.batchMax)
	}
	return 2*batch + 192<<10
}

// mergeRuns merges as many neighbouring runs as it takes to have one merge left.
func (s *sorter) mergeRuns(ctx context.Context) error {
	for len(s.runs) > s.fanIn() {
		excess := len(s.runs) - s.fanIn()
		var left []*run
		for len(s.runs) > 0 {
			n := min(s.fanIn(), excess+1, len(s.runs))
			if n == 1 {
				left, s.runs = append(left, s.runs[0]), s.runs[1:]
				continue
			}
			merged, err := s.mergeToRun(ctx, s.runs[:n])
			if err != nil {
				return err
			}
			for _, r := range s.runs[:n] {
				r.spool.Discard()
			}
			left, s.runs, excess = append(left, merged), s.runs[n:], excess-(n-1)
		}
		s.runs = left
	}
	return nil
}

func (s *sorter) mergeToRun(ctx context.Context, runs []*run) (*run, error) {
	m, err := s.newMerger(runs)
	if err != nil {
		return nil, err
	}
	defer m.close()
	w := s.newRun()
	if err := m.copyTo(ctx, w); err != nil {
		w.drop()
		return nil, err
	}
	return s.endRun(w)
}

// drop gives back the rows that are held.
func (s *sorter) drop() {
	recordreader.ReleaseAll(s.batches)
	clear(s.batches)
	clear(s.long)
	s.batches, s.long, s.entries, s.kept, s.held = s.batches[:0], s.long[:0], s.entries[:0], 0, 0
	if s.packing != nil {
		s.packing = newPacking(s.schema, s.encoder.keys)
	}
}

// close gives everything back.
func (s *sorter) close() error {
	s.drop()
	s.entries = nil
	if s.store == nil {
		return nil
	}
	store := s.store
	s.store, s.runs = nil, nil
	return store.Close()
}
