package parquet

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/sink/adapt"
	"github.com/mpga/mpga/internal/rowdata"
)

// nestedFile leaves all to the library, which knows how lists and structs become columns. It is
// several times slower than flatFile.
type nestedFile struct {
	ctx           context.Context
	w             *pqarrow.FileWriter
	adapter       *adapt.Adapter
	schema        *arrow.Schema // adapted
	rowsPerGroup  int64
	rowsInGroup   int64
	bytesPerGroup int64
	partBytes     int64 // of the rows that are encoded between two looks at ctx
	bytesInGroup  int64 // of rows as they came
	reserved      rowdata.Reservation
	groupsStarted bool
}

func newNestedFile(ctx context.Context, to io.Writer, schema *arrow.Schema, a *adapt.Adapter,
	props *parquet.WriterProperties, opt *Options,
) (Encoder, error) {
	e := &nestedFile{ctx: ctx, adapter: a, schema: schema, rowsPerGroup: opt.RowGroupRows, bytesPerGroup: opt.GroupBytes,
		partBytes: opt.GroupBytes / partsPerGroup, reserved: rowdata.NewReservation(opt.Budget)}
	if opt.isSlow() {
		e.partBytes = min(e.partBytes, 4*brotliPieceBytes)
	}
	// The Arrow schema beside Parquet's own keeps what Parquet has no type for: the zones.
	arrowProps := pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(opt.Allocator), pqarrow.WithStoreSchema())
	var err error
	e.w, err = pqarrow.NewFileWriter(e.schema, to, props, arrowProps)
	return e, err
}

func (e *nestedFile) Write(batch arrow.RecordBatch) error {
	for row := int64(0); row < batch.NumRows(); {
		rows := e.rowsPerGroup
		if e.groupsStarted && e.rowsInGroup < e.rowsPerGroup {
			rows -= e.rowsInGroup
		}
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		part := partOf(batch, row, rows, e.partBytes)
		err := e.add(part)
		row += part.NumRows()
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// nestedCopies is how many times rows are in memory while the library encodes them: adapted, as
// levels, which take two numbers for each element, encoded, and in pages.
const nestedCopies = 6

// add writes rows that are few.
func (e *nestedFile) add(part arrow.RecordBatch) error {
	bytes := rowdata.BatchBytes(part)
	full := e.rowsInGroup >= e.rowsPerGroup || e.bytesInGroup >= e.bytesPerGroup
	if !full {
		full = e.reserved.Resize(e.bytesInGroup+nestedCopies*bytes) != nil && e.groupsStarted
	}
	if full || !e.groupsStarted {
		if err := e.w.NewBufferedRowGroupChecked(); err != nil {
			return err
		}
		e.groupsStarted, e.rowsInGroup, e.bytesInGroup = true, 0, 0
		if err := e.reserved.Resize(nestedCopies * bytes); err != nil {
			return err
		}
	}
	adapted, err := e.adapter.Batch(e.schema, part)
	if err != nil {
		return err
	}
	defer adapted.Release()
	e.rowsInGroup += part.NumRows()
	e.bytesInGroup += bytes
	return e.w.WriteBuffered(adapted)
}

func (e *nestedFile) Close() error {
	defer e.reserved.Release()
	return e.w.Close()
}
