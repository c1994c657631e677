package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// ErrMismatch marks partial states that cannot be merged: of different queries or versions, of a
// source that comes twice, or with a partition missing.
var ErrMismatch = errors.New("partial states do not fit together")

// BlobError is an error of the bytes of a blob, where an error of what is made of them has none.
type BlobError struct {
	Name string // of the blob
	Err  error
}

// Error implements error.
func (e *BlobError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the error without the blob's name.
func (e *BlobError) Unwrap() error { return e.Err }

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
	// Partitions lists the partitions to merge, so that several processes can share the work: a key
	// is in one partition, and the results of all partitions together are the answer. The one group
	// of a query without keys is in partition 0. The default is all partitions.
	Partitions []int

	// Runs are the names that the sources must have, by source (Options.Run). The default, nil, takes
	// any.
	Runs []string
}

// Open reads the headers of all blobs and checks that they belong together.
func Open(ctx context.Context, sources [][]Blob, opt MergeOptions) (*Pass, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("%w: there are none", ErrMismatch)
	}
	p := &Pass{}
	runs := make(map[string]string) // name of a blob, by run
	for s, blobs := range sources {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if len(blobs) == 0 {
			return nil, fmt.Errorf("%w: source %d has no blobs", ErrMismatch, s)
		}
		head, err := p.openSource(blobs, opt)
		if err != nil {
			return nil, err
		}
		if opt.Runs != nil && head.Run != opt.Runs[s] {
			return nil, fmt.Errorf("%w: %s is of the run %s, where %s is asked for", ErrMismatch,
				blobs[0].Name(), head.Run, opt.Runs[s])
		}
		if s > 0 {
			if what := p.headers[0].differs(head); what != "" {
				return nil, fmt.Errorf("%w: %s and %s: %s", ErrMismatch, sources[0][0].Name(), blobs[0].Name(), what)
			}
		}
		for _, run := range append([]string{head.Run}, head.Merged...) {
			if other, twice := runs[run]; twice {
				return nil, fmt.Errorf("%w: %s and %s are of the same run, whose rows would count twice",
					ErrMismatch, other, blobs[0].Name())
			}
			runs[run] = blobs[0].Name()
			p.runs = append(p.runs, run)
		}
		p.headers = append(p.headers, head)
		p.bases = append(p.bases, p.positions)
		var carry uint64
		if p.positions, carry = bits.Add64(p.positions, head.Positions, 0); carry != 0 || head.Rows > math.MaxInt64-p.rows {
			return nil, fmt.Errorf("%w: the sources together hold more rows than 64 bits can number", ErrMismatch)
		}
		p.rows += head.Rows
	}
	return p, nil
}

// openSource reads the headers of one source's blobs, and returns the first.
func (p *Pass) openSource(blobs []Blob, opt MergeOptions) (*header, error) {
	var first *header
	var stored []storedBlob
	for _, blob := range blobs {
		text, rows, size, err := readHeader(blob)
		var h *header
		if err == nil {
			h, err = decodeHeader(text)
		}
		if err != nil {
			return nil, &BlobError{blob.Name(), err}
		}
		if first == nil {
			first, stored = h, make([]storedBlob, h.Partitions)
			if err := p.setPartitions(h, opt); err != nil {
				return nil, fmt.Errorf("%s: %w", blob.Name(), err)
			}
		}
		switch what := first.differs(h); {
		case what != "" || h.Run != first.Run:
			return nil, fmt.Errorf("%w: %s and %s are not of the same run", ErrMismatch, blobs[0].Name(), blob.Name())
		case stored[h.Partition].blob != nil:
			return nil, fmt.Errorf("%w: %s and %s are both partition %d", ErrMismatch,
				stored[h.Partition].blob.Name(), blob.Name(), h.Partition)
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
			return nil, fmt.Errorf("%w: partition %d of %d is missing beside %s", ErrMismatch, i,
				first.Partitions, blobs[0].Name())
		}
	}
	p.sources = append(p.sources, stored)
	return first, nil
}

// setPartitions fixes the partitions with the first header of all.
func (p *Pass) setPartitions(h *header, opt MergeOptions) error {
	if p.sizes != nil {
		return nil
	}
	p.radix = partition.Radix(bits.Len(uint(h.Partitions)) - 1)
	p.sizes, p.wanted = make([]int64, h.Partitions), make([]bool, h.Partitions)
	for _, i := range opt.Partitions {
		if i < 0 || i >= h.Partitions {
			return fmt.Errorf("%w: partition %d of %d is asked for", ErrMismatch, i, h.Partitions)
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
