package partial

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"reflect"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/internal/finalize"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Options say where Engine.Partial writes.
type Options struct {
	// Partitions is how many blobs the states are written to, by the hash of their keys: a power of
	// two up to 2,048, and the same for all sources that are to be merged. The default is 64.
	Partitions int

	// Run names the call: no two sources that are merged may have one name. The default is 128 random
	// bits.
	Run string

	// Regroup makes other groups of the groups that are merged. The default, nil, leaves them as they are; it is of
	// MergePartial.
	Regroup *Regroup

	// Create begins the blob of a partition. It is called once for each, before any is written;
	// each is then written by one goroutine at a time, and closed. An error of Close is one of
	// Partial. Dir.Create writes files.
	Create func(partition int) (io.WriteCloser, error)
}

// EnsureDefaults gives fields that are zero their defaults.
func (o *Options) EnsureDefaults() {
	if o.Partitions == 0 {
		o.Partitions = 64
	}
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs knob.Errors
	n := o.Partitions
	errs.If(n < 1 || n > partition.FanOutMax || n&(n-1) != 0,
		"%s (%d) must be a power of two in [1, %d]", knob.Name("partial.Partitions"), n, partition.FanOutMax)
	if o.Create == nil {
		errs = append(errs, errors.New("Create must be set"))
	}
	return errors.Join(errs...)
}

// radix returns the hash bits that name a partition.
func (o *Options) radix() partition.Radix { return partition.Radix(bits.Len(uint(o.Partitions)) - 1) }

// run returns the name of the call.
func (o *Options) run() string {
	if o.Run != "" {
		return o.Run
	}
	var run [16]byte
	rand.Read(run[:]) // never fails
	return fmt.Sprintf("%x", run)
}

// Writer writes the states of a query's groups as blobs, with canonical keys.
type Writer struct {
	blobs
	canonical *rowdata.Bound
	radix     partition.Radix
	header    *header // of all blobs, but for fields that Begin sets
	merged    *Pass   // whose merged states are written; nil for the states of a source
}

// NewWriter returns a writer of the states of a query that is bound canonically. Its blobs take the
// memory of their pages from memory.
func NewWriter(bound *rowdata.Bound, memory rowdata.Memory, opt Options) (w *Writer, err error) {
	w = &Writer{blobs: blobs{what: "partial states", opt: opt, memory: memory}, radix: opt.radix()}
	if w.canonical, err = bound.Canonical(); err != nil {
		return nil, err
	}
	w.layout = w.canonical.StateLayout()
	w.header, err = newHeader(bound, w.canonical, opt.Partitions)
	return w, err
}

// Merges says that the states are the merged states of a pass.
func (w *Writer) Merges(p *Pass) {
	w.merged = p
	for i := range w.header.Columns {
		w.header.Columns[i].Nullable = nullableIn(p.headers, w.canonical.Columns[i].Index)
	}
}

// Begin creates the blobs, once it is known how many rows the source has, and how many positions
// the rows take.
func (w *Writer) Begin(rows int64, positions uint64) error {
	h := *w.header
	h.Run = w.opt.run()
	if m := w.merged; m != nil {
		h.Rows, h.Positions, h.Merged = m.rows, m.positions, m.runs
	} else {
		h.Rows, h.Positions = rows, positions
	}
	return w.begin(func(partition int) ([]byte, error) {
		h.Partition = partition
		return h.encode()
	})
}

// WorkerWriter is one worker's way to the blobs.
type WorkerWriter struct {
	out      *Writer
	exporter *cpuagg.Exporter
	keys     rekeyer
	keep     keeper
	states   [][]uint64 // by fold, of a tile
	written  func(groups int)
}

// Worker returns a worker's way to the blobs, for groups of a run. The finalizer reads their keys.
// written is called with the number of groups that have been written.
func (w *Writer) Worker(run *cpuagg.Run, keys *finalize.Finalizer, written func(groups int)) *WorkerWriter {
	of := &WorkerWriter{
		out:      w,
		exporter: run.NewExporter(w.canonical, w.radix, w.put),
		keys:     rekeyer{from: keys, to: w.canonical, same: reflect.DeepEqual(&keys.Bound.Keys, &w.canonical.Keys)},
		states:   make([][]uint64, len(w.canonical.Folds)),
		written:  written,
	}
	if g := w.opt.Regroup; g != nil {
		of.keys.of, of.keep.by = g.Keys, g.Keep
	}
	return of
}

// Write writes groups, and keeps none of their memory.
func (w *WorkerWriter) Write(ctx context.Context, g *cpuagg.Groups) error {
	for from := 0; from < g.Len; from += rowdata.TileRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(from+rowdata.TileRows, g.Len)
		for i := range w.states {
			words := w.out.canonical.Folds[i].Words
			w.states[i] = g.States[i][from*words : to*words]
		}
		if err := w.keep.choose(ctx, w.keys.from, g, from, to); err != nil {
			return err
		}
		keys := w.keep.kept(w.keys.keys(g, from, to), w.out.canonical.Keys.Words, -1)
		for i := range w.states {
			w.states[i] = w.keep.kept(w.states[i], w.out.canonical.Folds[i].Words, i)
		}
		n := w.keep.count(to - from)
		if err := w.exporter.Add(keys, n, w.states); err != nil {
			return err
		}
		if err := w.writeRuns(ctx, g, from, to); err != nil {
			return err
		}
		w.written(n)
	}
	return nil
}

// writeRuns writes the elements that the states of groups from to to have in runs.
func (w *WorkerWriter) writeRuns(ctx context.Context, g *cpuagg.Groups, from, to int) error {
	if !g.HasRuns(from, to) {
		return nil
	}
	for group := from; group < to; group++ {
		if w.keep.leaves(group - from) {
			continue
		}
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

// Close writes the pages that are still open, after the last groups.
func (w *WorkerWriter) Close() error { return w.exporter.Close() }

// Release drops pages that Close has not written. It does nothing after Close.
func (w *WorkerWriter) Release() { w.exporter.Release() }

// rekeyer packs the keys of groups as another bound of the same query lays them out.
type rekeyer struct {
	from *finalize.Finalizer
	to   *rowdata.Bound
	of   []int    // by key of to: which key of from it is; nil where both have the same keys
	same bool     // the layouts of both are the same
	buf  []uint64 // scratch
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
		if r.of != nil {
			k = r.of[k]
		}
		v := r.from.KeyVector(g, k, from, to)
		encode.PackField(r.buf, l.Words, f, v.Words, v.Valid) // in range: canonical fields have the range of their type
	}
	return r.buf
}
