package scan

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/stream"
)

// parquetReader reads the columns of one row group side by side. pqarrow reads each column apart
// here: its own record reader starts goroutines for columns read in parallel, in which a corrupt page
// could panic out of our reach. S3.
type parquetReader struct {
	part      *parquetPart
	file      stream.File
	arrow     *pqarrow.FileReader // made when a column needs it
	columns   []chunkReader
	rows      int64
	left      int64 // rows
	batchRows int64
	threads   int
	progress  func(int64)
	narrow    bool  // decimals may be of 64 bits
	reported  int64 // bytes
	mem       memory.Allocator
	schema    *arrow.Schema // of the batches, made with the first
}

// chunkReader reads one column chunk.
type chunkReader interface {
	// read returns the next rows of the column, which the caller owns.
	read(ctx context.Context, rows int64) (arrow.Array, error)

	// skip passes over the next rows, before the next that is read. The rows from until on, counted from
	// the first of the row group, may not be needed.
	skip(rows, until int64)

	close() error
}

func (r *parquetReader) open(ctx context.Context) error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != r.part.file.size {
		return fmt.Errorf("the file changed while it was read: %d B, then %d B", r.part.file.size, info.Size())
	}
	for i := range r.part.columns {
		c := &r.part.columns[i]
		column, err := r.openColumn(ctx, c)
		if err != nil {
			return fmt.Errorf("column %q: %w", r.columnName(i), err)
		}
		r.columns = append(r.columns, column)
	}
	return nil
}

func (r *parquetReader) openColumn(ctx context.Context, c *parquetPartColumn) (chunkReader, error) {
	typ := r.part.file.fields.Field(c.field).Type
	if c.flat {
		if r.narrow {
			typ = narrowDecimal(typ, r.part.file.meta.Schema.Column(c.leaf))
		}
		return newFlatColumn(r.file, r.part, c, typ, r.batchRows, r.mem), nil
	}
	reader, err := r.arrowReader()
	if err != nil {
		return nil, err
	}
	column := &parquetColumn{reader: reader, part: c, group: r.part.group, mem: r.mem, typ: typ}
	return column, column.open(ctx)
}

// arrowReader returns the reader of the columns that are not read flat.
func (r *parquetReader) arrowReader() (*pqarrow.FileReader, error) {
	if r.arrow != nil {
		return r.arrow, nil
	}
	all, err := r.part.file.all()
	if err != nil {
		return nil, err
	}
	pages, err := file.NewParquetReader(r.file, file.WithReadProps(parquetProps(r.mem)), file.WithMetadata(all))
	if err != nil {
		return nil, err
	}
	r.arrow, err = pqarrow.NewFileReader(pages, pqarrow.ArrowReadProperties{}, r.mem)
	return r.arrow, err
}

func (r *parquetReader) columnName(i int) string {
	return r.part.file.fields.Field(r.part.columns[i].field).Name
}

func (r *parquetReader) next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	rows := min(r.left, r.batchRows)
	arrays := make([]arrow.Array, len(r.columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	err := r.each(len(arrays), func(i int) (err error) {
		arrays[i], err = r.readColumn(ctx, i, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.left -= rows
	r.report()
	if r.schema == nil {
		fields := make([]arrow.Field, len(arrays))
		for i, a := range arrays {
			fields[i] = arrow.Field{Name: r.columnName(i), Type: a.DataType(), Nullable: true}
		}
		r.schema = arrow.NewSchema(fields, nil)
	}
	return array.NewRecordBatch(r.schema, arrays, rows), nil
}

// each calls a function with 0 to n-1, in parallel if that is allowed. No panic leaves a goroutine. S3.
func (r *parquetReader) each(n int, read func(i int) error) error {
	if r.threads == 1 || n == 1 {
		for i := range n {
			if err := guard(func() error { return read(i) }); err != nil {
				return err
			}
		}
		return nil
	}
	var group spawn.Group
	group.SetLimit(r.threads)
	for i := range n {
		group.Go(func() error { return guard(func() error { return read(i) }) })
	}
	return group.Wait()
}

// readColumn decodes the next rows of a column.
func (r *parquetReader) readColumn(ctx context.Context, i int, rows int64) (values arrow.Array, err error) {
	err = guard(func() (err error) {
		values, err = r.columns[i].read(ctx, rows)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", r.columnName(i), err)
	}
	return values, nil
}

// report tells how far the compressed bytes have been read, taking rows to be equally large.
func (r *parquetReader) report() {
	if r.progress == nil {
		return
	}
	done := r.rows - r.left
	bytes := int64(float64(r.part.numBytes) * (float64(done) / float64(r.rows)))
	r.progress(bytes - r.reported)
	r.reported = bytes
}

func (r *parquetReader) Close() error {
	err := guard(func() (err error) {
		for _, c := range r.columns {
			err = errors.Join(err, c.close())
		}
		return err
	})
	r.columns = nil
	return errors.Join(err, r.file.Close())
}
