package order

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/store"
)

// A run is sorted rows on disk: a spool with a page for each batch.
type run struct {
	spool    scatter.Spool
	batchMax int64 // bytes of the largest batch
}

// runWriter writes a run.
type runWriter struct {
	run   *run
	pages *store.BatchEncoder
}

func newRunWriter(of *store.Store, memory rowdata.Memory, mem memory.Allocator) *runWriter {
	return &runWriter{&run{spool: of.NewSpool(&store.BatchLayout)}, store.NewBatchEncoder(memory, mem)}
}

// write adds batches, which it takes over.
func (w *runWriter) write(batches []arrow.RecordBatch) error {
	defer recordreader.ReleaseAll(batches)
	for _, b := range batches {
		w.run.batchMax = max(w.run.batchMax, rowdata.BatchBytes(b))
		page, err := w.pages.Page(b)
		if err != nil {
			return err
		}
		if err := w.run.spool.Put(page); err != nil {
			return err
		}
	}
	return nil
}

// close ends the run.
func (w *runWriter) close() (*run, error) {
	if err := w.run.spool.End(); err != nil {
		w.drop()
		return nil, err
	}
	return w.run, nil
}

// drop takes the run back.
func (w *runWriter) drop() { w.run.spool.Discard() }

// open returns a reader of the run.
func (r *run) open(mem memory.Allocator) *store.BatchReader {
	return store.NewBatchReader(r.spool.Pages(), mem)
}
