package sink

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// nestedParquet leaves all to the library, which knows how lists and structs become columns. It is several
// times slower than flatParquet.
type nestedParquet struct {
	w             *pqarrow.FileWriter
	adapter       *adapter
	schema        *arrow.Schema // adapted
	rowsPerGroup  int64
	rowsInGroup   int64
	groupsStarted bool
}

func newNestedParquet(to io.Writer, schema *arrow.Schema, a *adapter, props *parquet.WriterProperties, opt *Options) (encoder, error) {
	e := &nestedParquet{adapter: a, schema: schema, rowsPerGroup: opt.RowGroupRows}
	// The Arrow schema beside Parquet's own keeps what Parquet has no type for: the zones.
	arrowProps := pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(opt.Allocator), pqarrow.WithStoreSchema())
	var err error
	e.w, err = pqarrow.NewFileWriter(e.schema, to, props, arrowProps)
	return e, err
}

func (e *nestedParquet) write(batch arrow.RecordBatch) error {
	adapted, err := e.adapter.batch(e.schema, batch)
	if err != nil {
		return err
	}
	defer adapted.Release()
	for row := int64(0); row < adapted.NumRows(); {
		if !e.groupsStarted || e.rowsInGroup == e.rowsPerGroup {
			if err := e.w.NewBufferedRowGroupChecked(); err != nil {
				return err
			}
			e.groupsStarted, e.rowsInGroup = true, 0
		}
		n := min(e.rowsPerGroup-e.rowsInGroup, adapted.NumRows()-row)
		part := adapted.NewSlice(row, row+n)
		err := e.w.WriteBuffered(part)
		part.Release()
		if err != nil {
			return err
		}
		row += n
		e.rowsInGroup += n
	}
	return nil
}

func (e *nestedParquet) close() error { return e.w.Close() }
