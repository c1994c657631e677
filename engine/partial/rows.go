package partial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/partition"
)

// rowsHeader is the text at the head of a blob of rows, as JSON: rows that go to another process by the hash of their
// keys.
type rowsHeader struct {
	Run        string `json:"run"` // name of the call that wrote the blob
	Partition  int    `json:"partition"`
	Partitions int    `json:"partitions"`
	RowsHash   int    `json:"rows_hash"` // rowsHashVersion
}

// rowsHashVersion names the hash that rows are scattered by: package partition's hash of the keys, packed as
// rowdata.BindCanonical lays them out, with the seed of RowsDepth.
const rowsHashVersion = 1

// RowsDepth is the depth of the pass that scatters rows to blobs: no pass of an operator is as deep, so that none
// reads the same bits of the same hash (P2).
const RowsDepth = scatter.SplitsMax + 2

// RowWriter writes batches of rows, a page each, as blobs. It is the Partitions of a pass.
type RowWriter struct{ blobs }

var _ scatter.Partitions = (*RowWriter)(nil)

// NewRowWriter begins the blobs.
func NewRowWriter(memory rowdata.Memory, opt Options) (*RowWriter, error) {
	w := &RowWriter{blobs{what: "rows by their keys", opt: opt, memory: memory, layout: store.BatchLayout}}
	h := rowsHeader{Run: opt.run(), Partitions: opt.Partitions, RowsHash: rowsHashVersion}
	return w, w.begin(func(partition int) ([]byte, error) {
		h.Partition = partition
		return json.Marshal(&h)
	})
}

// Radix returns the hash bits that name a partition.
func (w *RowWriter) Radix() partition.Radix { return w.opt.radix() }

// Put implements scatter.Partitions.
func (w *RowWriter) Put(_ scatter.Content, pages []scatter.PartitionPage) (err error) {
	for _, of := range pages {
		if err != nil {
			of.Page.Release()
			continue
		}
		err = w.put(of.Partition, of.Page)
	}
	return err
}

// Sizes implements scatter.Partitions: nobody asks for what has left the process.
func (w *RowWriter) Sizes() []int64 { return make([]int64, w.opt.Partitions) }

// Take implements scatter.Partitions.
func (w *RowWriter) Take(int, scatter.Content) scatter.Pages { return &blobPages{} }

// RowBlob is a blob of rows, and what it must be.
type RowBlob struct {
	Blob
	Run                   string
	Partition, Partitions int
	Bytes                 int64
}

// Pages opens the blob. The pages are taken from memory, and have a batch each.
func (b *RowBlob) Pages(memory rowdata.Memory) (_ scatter.Pages, err error) {
	file, err := b.Open()
	if err != nil {
		return nil, err
	}
	r, err := store.OpenBlob(file, file.Size())
	if err == nil {
		err = b.check(r.Header())
	}
	if err != nil {
		return nil, errors.Join(&BlobError{b.Name(), err}, file.Close())
	}
	return &rowPages{b.Name(), file, r.Pages(&store.BatchLayout, memory)}, nil
}

// check refuses a blob of another run or partition.
func (b *RowBlob) check(text []byte) error {
	var h rowsHeader
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&h); err != nil {
		return fmt.Errorf("header: %w: %w", store.ErrVersion, err)
	}
	switch {
	case h.RowsHash != rowsHashVersion:
		return fmt.Errorf("header: %w: rows by hash version %d, this program has %d", store.ErrVersion, h.RowsHash,
			rowsHashVersion)
	case h.Run != b.Run:
		return fmt.Errorf("%w: the rows are of the run %s, where %s is asked for", ErrMismatch, h.Run, b.Run)
	case h.Partition != b.Partition || h.Partitions != b.Partitions:
		return fmt.Errorf("header: partition %d of %d, where %d of %d is asked for: %w", h.Partition, h.Partitions,
			b.Partition, b.Partitions, scan.ErrCorrupt)
	}
	return nil
}

// rowPages is the pages of an open blob.
type rowPages struct {
	name string
	file BlobReader
	from *store.BlobPages
}

// Next implements scatter.Pages.
func (p *rowPages) Next() (*rowdata.Page, error) {
	page, err := p.from.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = &BlobError{p.name, err}
	}
	return page, err
}

// Close implements scatter.Pages.
func (p *rowPages) Close() { _ = p.file.Close() } // what was read is read
