package flightsql

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// rowWriter writes record batches to a stream, without a copy: gRPC sends the bytes from where the
// arrays have them. One goroutine uses it.
type rowWriter struct {
	to     grpc.ServerStream
	writer *ipc.Writer
	batch  arrow.RecordBatch // that is written; nil for the schema
}

func newRowWriter(to grpc.ServerStream, schema *arrow.Schema) *rowWriter {
	w := &rowWriter{to: to}
	w.writer = ipc.NewWriterWithPayloadWriter(w, ipc.WithSchema(schema))
	return w
}

// write writes a batch.
func (w *rowWriter) write(batch arrow.RecordBatch) error {
	w.batch = batch
	defer func() { w.batch = nil }()
	return w.writer.Write(batch)
}

// end writes the schema if there was no batch.
func (w *rowWriter) end() error { return w.writer.Close() }

// Start implements ipc.PayloadWriter.
func (w *rowWriter) Start() error { return nil }

// Close implements ipc.PayloadWriter.
func (w *rowWriter) Close() error { return nil }

// WritePayload implements ipc.PayloadWriter: it sends a payload as a FlightData.
func (w *rowWriter) WritePayload(payload ipc.Payload) error {
	meta := payload.Meta()
	defer meta.Release()
	var body pieces
	if err := payload.SerializeBody(&body); err != nil {
		return err
	}
	head := make([]byte, 0, meta.Len()+headBytesMax)
	head = protowire.AppendTag(head, fieldHeader, protowire.BytesType)
	head = protowire.AppendBytes(head, meta.Bytes())
	if body.bytes > 0 {
		head = protowire.AppendTag(head, fieldBody, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(body.bytes))
	}
	return w.to.SendMsg(&outgoing{append(mem.BufferSlice{mem.SliceBuffer(head)}, body.buffers(w.batch)...)})
}

// headBytesMax is what the tags and lengths of a FlightData take at most.
const headBytesMax = 32

// pieces are the bytes of a message's body, where they lie.
type pieces struct {
	list  [][]byte
	bytes int
}

// Write implements io.Writer. It keeps p.
func (b *pieces) Write(p []byte) (int, error) {
	b.list = append(b.list, p)
	b.bytes += len(p)
	return len(p), nil
}

// copiedBytesMax is the longest piece that is copied: it costs less than to be counted. gRPC itself does
// not count buffers of up to 1 KiB.
const copiedBytesMax = 4 << 10

// buffers returns the pieces as buffers that hold a batch until all have been sent. Pieces that are not
// the batch's are memory of Go's.
func (b *pieces) buffers(batch arrow.RecordBatch) (list mem.BufferSlice) {
	hold := &held{batch: batch}
	hold.left.Store(1)
	if batch != nil {
		batch.Retain()
	}
	for _, p := range b.list {
		if len(p) <= copiedBytesMax {
			list = append(list, mem.SliceBuffer(append([]byte(nil), p...)))
			continue
		}
		hold.left.Add(1)
		list = append(list, mem.NewBuffer(&p, hold))
	}
	hold.Put(nil)
	return list
}

// held is the pool that gRPC gives buffers back to: with the last the batch is released.
type held struct {
	batch arrow.RecordBatch
	left  atomic.Int64
}

var _ mem.BufferPool = (*held)(nil)

// Get implements mem.BufferPool. Nobody gets a buffer from it.
func (h *held) Get(int) *[]byte { panic("rows are not a pool of memory") }

// Put implements mem.BufferPool.
func (h *held) Put(*[]byte) {
	if h.left.Add(-1) == 0 && h.batch != nil {
		h.batch.Release()
	}
}
