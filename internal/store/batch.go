package store

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
)

// BatchLayout is the layout of pages that have a batch each: rows of one word, so that batches are compressed, checked
// and counted as all that is spilled.
var BatchLayout = rowdata.RowLayout{Stride: 1}

// BatchEncoder makes a page of each batch: an Arrow stream of the schema and the batch. One goroutine at a time
// uses it.
type BatchEncoder struct {
	memory rowdata.Memory
	mem    memory.Allocator
	stream bytes.Buffer
}

// NewBatchEncoder returns an encoder whose pages take memory, and its buffers mem.
func NewBatchEncoder(memory rowdata.Memory, mem memory.Allocator) *BatchEncoder {
	return &BatchEncoder{memory: memory, mem: mem}
}

// Page returns the page of a batch, which stays the caller's.
func (e *BatchEncoder) Page(batch arrow.RecordBatch) (*rowdata.Page, error) {
	e.stream.Reset()
	batch = nested.Carried(batch)
	defer batch.Release()
	w := ipc.NewWriter(&e.stream, ipc.WithSchema(batch.Schema()), ipc.WithAllocator(e.mem))
	if err := w.Write(batch); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	words := (e.stream.Len() + 7) / 8
	page := rowdata.NewPage(e.memory, words)
	clear(page.Words[e.stream.Len()/8:])
	copy(arrow.Uint64Traits.CastToBytes(page.Words), e.stream.Bytes())
	page.Rows = words
	return page, nil
}

// BatchReader reads the batches of pages that a BatchEncoder has made.
type BatchReader struct {
	pages scatter.Pages
	mem   memory.Allocator
}

// NewBatchReader returns a reader, which takes the pages over. A failure of mem would be taken for a page that is
// damaged.
func NewBatchReader(pages scatter.Pages, mem memory.Allocator) *BatchReader {
	return &BatchReader{pages, mem}
}

// Next returns the next batch, which the caller owns; nil at the end.
func (r *BatchReader) Next() (arrow.RecordBatch, error) {
	page, err := r.pages.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer page.Release()
	stream := bytes.NewReader(arrow.Uint64Traits.CastToBytes(page.Words[:page.Rows]))
	in, err := ipc.NewReader(stream, ipc.WithAllocator(r.mem))
	if err != nil {
		return nil, err
	}
	defer in.Release()
	batch, err := recordreader.Owned(in)
	if batch == nil {
		return nil, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	defer batch.Release()
	return nested.Restored(batch)
}

// Close drops the pages that were not read.
func (r *BatchReader) Close() { r.pages.Close() }
