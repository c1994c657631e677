package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"time"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/encode"
	"github.com/mpga/mpga/engine/finalize"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// PartialOptions say where Engine.Partial writes.
type PartialOptions struct {
	// Partitions is how many blobs the states are written to, by the hash of their keys: a power of
	// two up to 2,048, and the same for all sources that are to be merged. The default is 64.
	Partitions int

	// Create begins the blob of a partition. It is called once for each, before any is written;
	// each is then written by one goroutine at a time, and closed. An error of Close is one of
	// Partial. PartialDir.Create writes files.
	Create func(partition int) (io.WriteCloser, error)
}

// EnsureDefaults fills in what is zero.
func (o *PartialOptions) EnsureDefaults() {
	if o.Partitions == 0 {
		o.Partitions = 64
	}
}

// Validate reports every field that is out of its bounds.
func (o *PartialOptions) Validate() error {
	var errs []error
	if n := o.Partitions; n < 1 || n > partition.FanOutMax || n&(n-1) != 0 {
		errs = append(errs, fmt.Errorf("Partitions (%d) must be a power of two in [1, %d]", n, partition.FanOutMax))
	}
	if o.Create == nil {
		errs = append(errs, errors.New("Create must be set"))
	}
	return errors.Join(errs...)
}

// Partial aggregates a source as Aggregate does, but for the last step: in place of results it
// writes the states of the groups, which Merge takes, here or in another process. Sources that are
// merged give the answer that they give as one.
//
// After an error the blobs are not complete; Merge accepts none of those that are not.
func (e *Engine) Partial(ctx context.Context, src scan.Source, q query.Query, opt PartialOptions) (stats Stats, err error) {
	err = spawn.Call(func() (err error) {
		stats, err = e.partial(ctx, src, q, opt)
		return err
	})
	return stats, spawn.InQuery(err, q.String())
}

func (e *Engine) partial(ctx context.Context, src scan.Source, q query.Query, opt PartialOptions) (Stats, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return Stats{}, err
	}
	started := time.Now()
	bound, splits, err := e.planBy(ctx, src, q, rowdata.BindCanonical)
	if err != nil {
		return Stats{}, err
	}
	out, err := newBlobOutput(bound, opt)
	if err != nil {
		return Stats{}, err
	}
	run := newQuery(e, bound, src.Stats(), splits, started)
	run.source = src
	return e.writeBlobs(ctx, run, out)
}

// writeBlobs runs a query whose output are blobs.
func (e *Engine) writeBlobs(ctx context.Context, run *execution, out *blobOutput) (Stats, error) {
	ctx, cancel, done, err := e.enter(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer done()
	defer cancel(nil)
	out.query, run.output = run, out
	err = errors.Join(run.execute(ctx), out.abandon())
	return run.stats(), err
}

// blobOutput writes groups as blobs of states with canonical keys.
type blobOutput struct {
	query     *execution
	opt       PartialOptions
	canonical *rowdata.Bound
	layout    rowdata.RowLayout // of canonical states
	radix     partition.Radix
	header    *partialHeader
	merged    *blobPass // whose states these are; nil for those of a source
	blobs     []openBlob
}

func newBlobOutput(bound *rowdata.Bound, opt PartialOptions) (o *blobOutput, err error) {
	o = &blobOutput{opt: opt, radix: partition.Radix(bits.Len(uint(opt.Partitions)) - 1)}
	if o.canonical, err = bound.Canonical(); err != nil {
		return nil, err
	}
	o.layout = o.canonical.StateLayout()
	o.header, err = newPartialHeader(bound, o.canonical, opt.Partitions)
	return o, err
}

// openBlob is the blob of a partition while it is written.
type openBlob struct {
	file   io.WriteCloser // nil once it is closed
	writer *store.BlobWriter
}

// begin implements output: how many positions the source takes is known now.
func (o *blobOutput) begin() error {
	var run [16]byte
	rand.Read(run[:]) // never fails
	h := *o.header
	h.Run = fmt.Sprintf("%x", run)
	if m := o.merged; m != nil {
		h.Rows, h.Positions, h.Merged = m.rows, m.positions, m.runs
	} else {
		h.Rows, h.Positions = o.query.progress.rows.Load(), o.query.span.Load()
	}
	o.blobs = make([]openBlob, h.Partitions)
	for i := range o.blobs {
		h.Partition = i
		text, err := h.encode()
		if err != nil {
			return err
		}
		b := &o.blobs[i]
		if b.file, err = o.opt.Create(i); err != nil {
			return fmt.Errorf("partial states, partition %d: %w", i, err)
		}
		if b.writer, err = store.NewBlobWriter(b.file, text, &o.layout, o.query.engine.memory); err != nil {
			return fmt.Errorf("partial states, partition %d: %w", i, err)
		}
	}
	return nil
}

// put writes a page.
func (o *blobOutput) put(partition int, page *rowdata.Page) error {
	defer page.Release()
	if err := o.blobs[partition].writer.Append(page); err != nil {
		return fmt.Errorf("partial states, partition %d: %w", partition, err)
	}
	return nil
}

// blobsClosedAtOnce is how many blobs are closed at the same time: closing a file may wait for the
// disk, which takes several as soon as one.
const blobsClosedAtOnce = 16

// end implements output.
func (o *blobOutput) end() error {
	var group spawn.Group
	group.SetLimit(blobsClosedAtOnce)
	for i := range o.blobs {
		group.Go(func() error {
			b := &o.blobs[i]
			file := b.file
			b.file = nil
			spawn.Step()
			if err := errors.Join(b.writer.Close(), file.Close()); err != nil {
				return fmt.Errorf("partial states, partition %d: %w", i, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// abandon closes the blobs that end has not.
func (o *blobOutput) abandon() error {
	var errs []error
	for i := range o.blobs {
		if file := o.blobs[i].file; file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// writer implements output.
func (o *blobOutput) writer() groupWriter {
	return &stateWriter{
		out:      o,
		exporter: o.query.run.NewExporter(o.canonical, o.radix, o.put),
		keys:     newRekeyer(&o.query.final, o.canonical),
		states:   make([][]uint64, len(o.canonical.Folds)),
	}
}

// stateWriter is one worker's way to the blobs.
type stateWriter struct {
	out      *blobOutput
	exporter *cpuagg.Exporter
	keys     rekeyer
	states   [][]uint64 // by fold, of a tile
}

func (w *stateWriter) write(ctx context.Context, _ *thread, g *cpuagg.Groups) error {
	for from := 0; from < g.Len; from += rowdata.TileRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(from+rowdata.TileRows, g.Len)
		for i := range w.states {
			words := w.out.canonical.Folds[i].Words
			w.states[i] = g.States[i][from*words : to*words]
		}
		if err := w.exporter.Add(w.keys.keys(g, from, to), to-from, w.states); err != nil {
			return err
		}
		if err := w.writeRuns(ctx, g, from, to); err != nil {
			return err
		}
		w.out.query.progress.groups.Add(int64(to - from))
	}
	return nil
}

// writeRuns writes what the states of groups from to to have in runs.
func (w *stateWriter) writeRuns(ctx context.Context, g *cpuagg.Groups, from, to int) error {
	if !g.HasRuns(from, to) {
		return nil
	}
	for group := from; group < to; group++ {
		for fold := range w.states {
			runs := g.Runs(fold, group)
			if runs == nil {
				continue
			}
			if err := w.exporter.AddRuns(ctx, w.keys.keys(g, group, group+1), fold, runs); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *stateWriter) close() error { return w.exporter.Close() }
func (w *stateWriter) release()     { w.exporter.Release() }

// rekeyer packs the keys of groups as another bound of the same query lays them out.
type rekeyer struct {
	from *finalize.Finalizer
	to   *rowdata.Bound
	same bool // the layouts are
	buf  []uint64
}

func newRekeyer(from *finalize.Finalizer, to *rowdata.Bound) rekeyer {
	return rekeyer{from: from, to: to, same: reflect.DeepEqual(&from.Bound.Keys, &to.Keys)}
}

// keys returns the packed keys of groups from to to, until the next call.
func (r *rekeyer) keys(g *cpuagg.Groups, from, to int) []uint64 {
	l := &r.to.Keys
	if r.same {
		return g.Keys[from*l.Words : to*l.Words]
	}
	r.buf = rowdata.Grow(r.buf, (to-from)*l.Words)
	clear(r.buf)
	for k := range l.Fields {
		f := &l.Fields[k]
		v := r.from.KeyVector(g, k, from, to)
		encode.PackField(r.buf, l.Words, f, v.Words, v.Valid) // a value of the column's type is in the range of the type
	}
	return r.buf
}
