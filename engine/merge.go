package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/bits"
	"time"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// ErrPartials marks partial states that cannot be merged: of different queries or versions, of a
// source that comes twice, or with a partition missing.
var ErrPartials = errors.New("partial states do not fit together")

// Blob is the partial states of one partition of a source. It may be opened several times, also at
// once.
type Blob interface {
	Name() string // for errors: a file's path
	Open() (BlobReader, error)
}

// BlobReader is an open blob.
type BlobReader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// MergeOptions say what Engine.Merge merges.
type MergeOptions struct {
	// Partitions lists those to be merged, so that several processes can share the work: keys are in
	// one partition, and the results of all partitions together are the answer. The one group of a
	// query without keys is in partition 0. The default is all.
	Partitions []int
}

// Merge merges the partial states of sources, each given as the blobs that one call of Partial has
// written, in any order. The order of the sources is that of the input. The result is read as
// Aggregate's is.
//
// What does not fit together is ErrPartials, what is damaged store.ErrCorrupt, and what another
// version has written store.ErrVersion.
func (e *Engine) Merge(ctx context.Context, sources [][]Blob, opt MergeOptions) (result *Result, err error) {
	err = spawn.Call(func() error {
		run, _, err := e.newMerge(ctx, sources, opt)
		if err == nil {
			result, err = e.stream(ctx, run)
		}
		return err
	})
	return result, err
}

// MergePartial merges the partial states of sources to partial states, as of one source: a tree of merges
// gives the answer that one merge gives, or one query of the whole input. The sources' runs are noted, so
// that none of them counts twice further up. Options are as for Partial, but that Partitions is by default
// what the sources have.
func (e *Engine) MergePartial(ctx context.Context, sources [][]Blob, opt PartialOptions) (stats Stats, err error) {
	err = spawn.Call(func() (err error) {
		stats, err = e.mergePartial(ctx, sources, opt)
		return err
	})
	return stats, err
}

func (e *Engine) mergePartial(ctx context.Context, sources [][]Blob, opt PartialOptions) (Stats, error) {
	run, headers, err := e.newMerge(ctx, sources, MergeOptions{})
	if err != nil {
		return Stats{}, err
	}
	if opt.Partitions == 0 {
		opt.Partitions = headers[0].Partitions
	}
	if err := opt.Validate(); err != nil {
		return Stats{}, err
	}
	out, err := newBlobOutput(run.bound, opt)
	if err != nil {
		return Stats{}, err
	}
	for i := range out.header.Columns {
		out.header.Columns[i].Nullable = nullableIn(headers, i)
	}
	out.merged = run.adopted
	return e.writeBlobs(ctx, run, out)
}

// newMerge returns the query that merges sources, and a header of each.
func (e *Engine) newMerge(ctx context.Context, sources [][]Blob, opt MergeOptions) (*execution, []*partialHeader, error) {
	started := time.Now()
	if e.ctx.Err() != nil {
		return nil, nil, ErrClosed
	}
	pass, headers, err := openPartials(ctx, sources, opt)
	if err != nil {
		return nil, nil, err
	}
	bound, err := bindPartials(headers)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", sources[0][0].Name(), err)
	}
	pass.layout = bound.StateLayout()
	pass.shift = rowdata.NewPositionShift(bound)
	pass.memory = e.memory
	var states int64
	for _, n := range pass.sizes {
		states += n
	}
	run := newQuery(e, bound, scan.Stats{Rows: states, Bytes: pass.bytes}, nil, started)
	run.adopted, pass.progress = pass, run.progress
	return run, headers, nil
}

// guard calls a function that processes a task. Partial states with right checksums may still be of
// no program of this version: what trips over them becomes an error, as what a decoder trips over
// does. Their references have been checked.
func (q *execution) guard(f func() error) error {
	if q.adopted == nil {
		return f()
	}
	panicked, err := spawn.Catch(f)
	if panicked == nil {
		return err
	}
	q.engine.opt.Logger.Debug("a merge panicked", slog.Any("panic", panicked.Value), slog.String("stack", string(panicked.Stack)))
	return fmt.Errorf("partial states: %w: %v", ErrCorrupt, panicked.Value)
}

// openPartials reads the headers of all blobs and checks that they belong together. It returns one
// header of each source.
func openPartials(ctx context.Context, sources [][]Blob, opt MergeOptions) (*blobPass, []*partialHeader, error) {
	if len(sources) == 0 {
		return nil, nil, fmt.Errorf("%w: there are none", ErrPartials)
	}
	p := &blobPass{}
	var headers []*partialHeader
	runs := make(map[string]string) // name of a blob, by run
	for s, blobs := range sources {
		if err := ctx.Err(); err != nil {
			return nil, nil, context.Cause(ctx)
		}
		if len(blobs) == 0 {
			return nil, nil, fmt.Errorf("%w: source %d has no blobs", ErrPartials, s)
		}
		head, err := p.openSource(blobs, opt)
		if err != nil {
			return nil, nil, err
		}
		if s > 0 {
			if what := headers[0].differs(head); what != "" {
				return nil, nil, fmt.Errorf("%w: %s and %s: %s", ErrPartials, sources[0][0].Name(), blobs[0].Name(), what)
			}
		}
		for _, run := range append([]string{head.Run}, head.Merged...) {
			if other, twice := runs[run]; twice {
				return nil, nil, fmt.Errorf("%w: %s and %s are of the same run, whose rows would count twice", ErrPartials, other, blobs[0].Name())
			}
			runs[run] = blobs[0].Name()
			p.runs = append(p.runs, run)
		}
		headers = append(headers, head)
		p.bases = append(p.bases, p.positions)
		var carry uint64
		if p.positions, carry = bits.Add64(p.positions, head.Positions, 0); carry != 0 || head.Rows > math.MaxInt64-p.rows {
			return nil, nil, fmt.Errorf("%w: the sources together hold more rows than 64 bits can number", ErrPartials)
		}
		p.rows += head.Rows
	}
	return p, headers, nil
}

// openSource reads the headers of one source's blobs, and returns the first.
func (p *blobPass) openSource(blobs []Blob, opt MergeOptions) (*partialHeader, error) {
	var first *partialHeader
	var stored []storedBlob
	for _, blob := range blobs {
		text, rows, size, err := readHeader(blob)
		var h *partialHeader
		if err == nil {
			h, err = decodePartialHeader(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", blob.Name(), err)
		}
		if first == nil {
			first, stored = h, make([]storedBlob, h.Partitions)
			if err := p.setPartitions(h, opt); err != nil {
				return nil, fmt.Errorf("%s: %w", blob.Name(), err)
			}
		}
		switch what := first.differs(h); {
		case what != "" || h.Run != first.Run:
			return nil, fmt.Errorf("%w: %s and %s are not of the same run", ErrPartials, blobs[0].Name(), blob.Name())
		case stored[h.Partition].blob != nil:
			return nil, fmt.Errorf("%w: %s and %s are both partition %d", ErrPartials, stored[h.Partition].blob.Name(), blob.Name(), h.Partition)
		}
		stored[h.Partition] = storedBlob{blob, text}
		if h.Partition < len(p.sizes) && p.wanted[h.Partition] {
			p.sizes[h.Partition] += rows
			p.bytes += size
			p.blobs++
		}
	}
	for i := range stored {
		if stored[i].blob == nil && i < len(p.wanted) && p.wanted[i] {
			return nil, fmt.Errorf("%w: partition %d of %d is missing beside %s", ErrPartials, i, first.Partitions, blobs[0].Name())
		}
	}
	p.sources = append(p.sources, stored)
	return first, nil
}

// setPartitions fixes the partitions with the first header of all.
func (p *blobPass) setPartitions(h *partialHeader, opt MergeOptions) error {
	if p.sizes != nil {
		return nil
	}
	p.radix = partition.Radix(bits.Len(uint(h.Partitions)) - 1)
	p.sizes, p.wanted = make([]int64, h.Partitions), make([]bool, h.Partitions)
	for _, i := range opt.Partitions {
		if i < 0 || i >= h.Partitions {
			return fmt.Errorf("%w: partition %d of %d is asked for", ErrPartials, i, h.Partitions)
		}
		p.wanted[i] = true
	}
	for i := range p.wanted {
		p.wanted[i] = p.wanted[i] || opt.Partitions == nil
	}
	return nil
}

// readHeader reads the text of a blob's header, and its sizes in states and bytes.
func readHeader(blob Blob) (text []byte, rows, size int64, err error) {
	file, err := blob.Open()
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r, err := store.OpenBlob(file, file.Size())
	if err != nil {
		return nil, 0, 0, err
	}
	return r.Header(), r.Rows(), file.Size(), nil
}
