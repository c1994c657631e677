package sink

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/mpga/mpga/engine/sink/adapt"
)

// ipcEncoder writes the Arrow file or stream format.
type ipcEncoder struct {
	w       encoder        // of the library
	adapter *adapt.Adapter // nil for streams, which hold every type
	schema  *arrow.Schema
}

func newIPC(to io.Writer, schema *arrow.Schema, opt *Options) (encoder, error) {
	e := &ipcEncoder{schema: schema}
	if opt.Format == Arrow {
		e.adapter = &adapt.Adapter{Allocator: opt.Allocator}
		var err error
		if e.schema, err = e.adapter.Schema(schema); err != nil {
			return nil, err
		}
	}
	options := []ipc.Option{ipc.WithSchema(e.schema), ipc.WithAllocator(opt.Allocator)}
	switch opt.Codec {
	case "lz4":
		options = append(options, ipc.WithLZ4())
	case "zstd":
		options = append(options, ipc.WithZstd())
	}
	if opt.Format == ArrowStream {
		e.w = ipc.NewWriter(to, options...)
		return e, nil
	}
	w, err := ipc.NewFileWriter(to, options...)
	e.w = w
	return e, err
}

func (e *ipcEncoder) Write(batch arrow.RecordBatch) error {
	if e.adapter == nil {
		return e.w.Write(batch)
	}
	adapted, err := e.adapter.Batch(e.schema, batch)
	if err != nil {
		return err
	}
	defer adapted.Release()
	return e.w.Write(adapted)
}

func (e *ipcEncoder) Close() error { return e.w.Close() }
