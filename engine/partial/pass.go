package partial

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// Pass is the partitions of sources, as a run processes them.
type Pass struct {
	radix   partition.Radix
	headers []*header      // by source: the header of its first blob
	sources [][]storedBlob // by source and partition
	bases   []uint64       // by source: position of its first row
	wanted  []bool         // by partition: it is to be merged
	sizes   []int64        // by partition: states; 0 unless wanted
	bytes   int64          // of the blobs of wanted partitions
	blobs   int            // of wanted partitions

	rows      int64    // of all sources
	positions uint64   // of all sources
	runs      []string // names of all sources, and of the runs that were merged to them

	layout rowdata.RowLayout      // of states; from Bind on
	shift  *rowdata.PositionShift // from Bind on
	memory rowdata.Memory         // of pages; from Bind on

	// Read is called with the numbers of states and of bytes that have been read since the last
	// call.
	Read func(states, bytes int64)
}

// storedBlob is a blob whose header has been read.
type storedBlob struct {
	blob Blob
	text []byte // of the header
}

// Bind returns the bound of the states. The pages of the pass are taken from memory.
func (p *Pass) Bind(memory rowdata.Memory) (*rowdata.Bound, error) {
	bound, err := bindHeaders(p.headers)
	if err != nil {
		return nil, err
	}
	p.layout, p.shift, p.memory = bound.StateLayout(), rowdata.NewPositionShift(bound), memory
	return bound, nil
}

// States returns how many states the pass has.
func (p *Pass) States() (states int64) {
	for _, n := range p.sizes {
		states += n
	}
	return states
}

// Bytes returns the size of the blobs of the pass.
func (p *Pass) Bytes() int64 { return p.bytes }

// Blobs returns how many blobs the pass reads.
func (p *Pass) Blobs() int { return p.blobs }

// Partitions returns how many partitions each source has.
func (p *Pass) Partitions() int { return p.headers[0].Partitions }

// Radix returns the hash bits that name a partition.
func (p *Pass) Radix() partition.Radix { return p.radix }

var _ scatter.Partitions = (*Pass)(nil)

// Put implements scatter.Partitions.
func (p *Pass) Put(_ scatter.Content, pages []scatter.PartitionPage) error {
	for _, f := range pages {
		f.Page.Release()
	}
	return errors.New("partial states are only read")
}

// Sizes implements scatter.Partitions.
func (p *Pass) Sizes() []int64 { return slices.Clone(p.sizes) }

// Take implements scatter.Partitions.
func (p *Pass) Take(partition int, content scatter.Content) scatter.Pages {
	if content != cpuagg.States {
		return &blobPages{}
	}
	return &blobPages{pass: p, partition: partition, left: len(p.sources)}
}

// blobPages is the pages of one partition, source after source.
type blobPages struct {
	pass      *Pass
	partition int
	left      int // sources that have not been opened
	file      BlobReader
	pages     *store.BlobPages
}

// Next implements scatter.Pages.
func (b *blobPages) Next() (*rowdata.Page, error) {
	for {
		if b.file == nil {
			if b.left == 0 {
				return nil, io.EOF
			}
			if err := b.open(); err != nil {
				return nil, b.named(err)
			}
		}
		page, err := b.pages.Next()
		switch {
		case err == nil:
			b.pass.shift.Apply(page, b.pass.bases[b.source()])
			b.pass.Read(int64(page.Rows), 0)
			return page, nil
		case !errors.Is(err, io.EOF):
			return nil, b.named(err)
		}
		b.pass.Read(0, b.file.Size())
		if err := b.closeFile(); err != nil {
			return nil, b.named(err)
		}
	}
}

// source returns the index of the source whose blob is open.
func (b *blobPages) source() int { return len(b.pass.sources) - b.left - 1 }

// named returns an error with the name of the blob that was opened last.
func (b *blobPages) named(err error) error {
	return &BlobError{b.pass.sources[b.source()][b.partition].blob.Name(), err}
}

// open opens the next source's blob.
func (b *blobPages) open() (err error) {
	b.left--
	stored := &b.pass.sources[b.source()][b.partition]
	if b.file, err = stored.blob.Open(); err != nil {
		b.file = nil
		return err
	}
	r, err := store.OpenBlob(b.file, b.file.Size())
	if err != nil {
		return err
	}
	if !bytes.Equal(r.Header(), stored.text) {
		return errors.New("the file has changed since the merge began")
	}
	b.pages = r.Pages(&b.pass.layout, b.pass.memory)
	return nil
}

// closeFile closes the open blob.
func (b *blobPages) closeFile() error {
	file := b.file
	b.file = nil
	return file.Close()
}

// Close implements scatter.Pages.
func (b *blobPages) Close() {
	if b.file != nil {
		_ = b.closeFile() // what was read is read
	}
	b.left = 0
}
