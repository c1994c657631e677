package order

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/store"
)

// A run is sorted rows on disk: an Arrow stream, whose bytes lie in the pages of a spool as rows of
// one word, so that they are compressed, checked and counted as all that is spilled.
type run struct {
	spool    scatter.Spool
	bytes    int64
	batchMax int64 // bytes of the largest batch
}

// pageLayout is the layout of the pages of a run.
var pageLayout = rowdata.RowLayout{Stride: 1}

// runPageWords is how large the pages of a run are: 64 KiB.
const runPageWords = 8 << 10

// runWriter writes a run.
type runWriter struct {
	run     *run
	memory  rowdata.Memory
	page    *rowdata.Page // nil before the first byte of a page
	at      int           // bytes of the page that are written
	batches *ipc.Writer
	err     error // of the store
}

func newRunWriter(store *store.Store, memory rowdata.Memory, schema *arrow.Schema, mem memory.Allocator) *runWriter {
	w := &runWriter{run: &run{spool: store.NewSpool(&pageLayout)}, memory: memory}
	w.batches = ipc.NewWriter(w, ipc.WithSchema(schema), ipc.WithAllocator(mem))
	return w
}

// Write implements io.Writer for the encoder.
func (w *runWriter) Write(b []byte) (int, error) {
	written := 0
	for len(b) > 0 {
		if w.page == nil {
			w.page, w.at = rowdata.NewPage(w.memory, runPageWords), 0
		}
		n := copy(arrow.Uint64Traits.CastToBytes(w.page.Words)[w.at:], b)
		b, w.at, written = b[n:], w.at+n, written+n
		if w.at == 8*runPageWords {
			if w.err = w.flush(); w.err != nil {
				return written, w.err
			}
		}
	}
	return written, nil
}

// flush hands the page over. All messages of an Arrow stream take whole words.
func (w *runWriter) flush() error {
	page := w.page
	w.page = nil
	page.Rows = w.at / 8
	w.run.bytes += int64(w.at)
	return w.run.spool.Put(page)
}

// write adds batches, which it takes over.
func (w *runWriter) write(batches []arrow.RecordBatch) error {
	defer releaseAll(batches)
	for _, b := range batches {
		w.run.batchMax = max(w.run.batchMax, rowdata.BatchBytes(b))
		if err := w.batches.Write(b); err != nil {
			return cmp.Or(w.err, err) // not what the encoder makes of it
		}
	}
	return nil
}

// close ends the run.
func (w *runWriter) close() (*run, error) {
	err := w.batches.Close()
	if err == nil && w.page != nil {
		err = w.flush()
	}
	if err == nil {
		err = w.run.spool.End()
	}
	if err != nil {
		w.drop()
		return nil, cmp.Or(w.err, err)
	}
	return w.run, nil
}

// drop takes the run back.
func (w *runWriter) drop() {
	if w.page != nil {
		w.page.Release()
		w.page = nil
	}
	w.run.spool.Discard()
}

// runReader reads a run.
type runReader struct {
	pages   scatter.Pages
	page    *rowdata.Page
	unread  []byte // of the page
	batches *ipc.Reader
}

func openRun(r *run, mem memory.Allocator) (*runReader, error) {
	in := &runReader{pages: r.spool.Pages()}
	batches, err := ipc.NewReader(in, ipc.WithAllocator(mem))
	if err != nil {
		in.close()
		return nil, err
	}
	in.batches = batches
	return in, nil
}

// Read implements io.Reader for the decoder.
func (r *runReader) Read(b []byte) (int, error) {
	if len(r.unread) == 0 {
		r.release()
		page, err := r.pages.Next()
		if err != nil {
			return 0, err
		}
		r.page = page
		r.unread = arrow.Uint64Traits.CastToBytes(page.Words[:page.Rows])
	}
	n := copy(b, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// next returns the next batch, which the caller owns, or nil at the end.
func (r *runReader) next() (arrow.RecordBatch, error) {
	batch, err := recordreader.Next(r.batches)
	if batch != nil {
		batch.Retain()
	}
	return batch, err
}

func (r *runReader) release() {
	if r.page != nil {
		r.page.Release()
		r.page, r.unread = nil, nil
	}
}

func (r *runReader) close() {
	if r.batches != nil {
		r.batches.Release()
	}
	r.release()
	r.pages.Close()
}
