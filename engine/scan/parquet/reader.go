package parquet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// groupReader reads the columns of one row group side by side. What pqarrow reads, it reads column
// by column: its own record reader starts goroutines for columns read in parallel, where a corrupt
// page could panic out of our reach. S3.
type groupReader struct {
	part      *groupPart
	file      vfs.File
	arrow     *pqarrow.FileReader // nil before the first column that pqarrow reads
	columns   []chunkReader       // by column of part; nil where the column is to be opened again
	held      int64               // bytes reserved for columns beside their buffers
	rows      int64               // of the row group; of a filteredGroup, in the ranges of its filter
	left      int64               // of rows, that are not read yet
	batchRows int64
	window    int            // bytes to read of a column at once
	opt       decode.Options // BatchRows and BatchBytes are what was wanted
	reported  int64          // bytes that opt.Progress was told of
	spared    bool           // columns hold nothing between steps
	schema    *arrow.Schema  // of the batches; nil before the first
}

// chunkReader reads one column chunk.
type chunkReader interface {
	// read returns the next rows of the column, which the caller owns. Only the wanted of these rows
	// need have values, all for nil; a consumer must look at no others. The row of a
	// decode.TextError is counted from the row group's first.
	read(ctx context.Context, rows int64, wanted *rowset.Set) (arrow.Array, error)

	// skip passes over rows before the next read. The rows from until on, an index in the row
	// group, may not be needed.
	skip(rows, until int64)

	close() error
}

func (r *groupReader) open(ctx context.Context) error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != r.part.file.size {
		return fmt.Errorf("the file changed while it was read: %d B, then %d B", r.part.file.size, info.Size())
	}
	held := columnBytes * int64(len(r.part.columns))
	r.opt.Memory.Hold(held)
	r.held = held
	r.columns = make([]chunkReader, len(r.part.columns))
	for i := range r.columns {
		if err := r.reopenColumn(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// columnBytes is what an open column takes beside its buffers, together with its array in a batch.
const columnBytes = 4 << 10

// reopenColumn opens a column at its first row.
func (r *groupReader) reopenColumn(ctx context.Context, i int) (err error) {
	if r.columns[i], err = r.openColumn(ctx, &r.part.columns[i]); err != nil {
		return fmt.Errorf("column %q: %w", r.columnName(i), err)
	}
	return nil
}

func (r *groupReader) closeColumns() (err error) {
	for i := range r.columns {
		err = errors.Join(err, r.closeColumn(i))
	}
	return err
}

func (r *groupReader) closeColumn(i int) (err error) {
	if r.columns[i] != nil {
		if of, flat := r.columns[i].(*flatColumn); flat && r.opt.Pages != nil {
			r.opt.Pages(of.pages.count)
		}
		err = r.columns[i].close()
		r.columns[i] = nil
	}
	return err
}

// Spare implements decode.Thrifty.
func (r *groupReader) Spare() { _ = decode.Guard(r.closeColumns) }

// Shrink implements decode.Thrifty. The first time, it lets only one column at a time hold pages:
// they are read again for the next batch, so batches become larger. After that, it halves the
// batches.
func (r *groupReader) Shrink() bool {
	if !r.spared && len(r.columns) > 1 {
		r.spared = true
		r.batchRows = min(sparedFactor*r.batchRows, max(r.rows, 1))
		return true
	}
	if r.batchRows == 1 {
		return false
	}
	r.batchRows = max(r.batchRows/decode.ShrinkFactor, 1)
	return true
}

// sparedFactor is by how much batches become larger where pages are read again for each batch.
const sparedFactor = 8

func (r *groupReader) openColumn(ctx context.Context, c *partColumn) (chunkReader, error) {
	typ := r.part.file.flat.Schema.Field(c.field).Type
	if c.tree != nil {
		return newNestedColumn(r.file, r.part, c, r.window, r.opt.Memory), nil
	}
	if c.element != nil {
		return newListColumn(r.file, r.part, c, c.element, r.window, r.opt.Memory), nil
	}
	if c.flat {
		if r.opt.NarrowDecimals {
			typ = narrowDecimal(typ, r.part.file.meta.Schema.Column(c.leaf))
		}
		return newFlatColumn(r.file, r.part, c, typ, r.window, r.opt.Memory), nil
	}
	reader, err := r.arrowReader()
	if err != nil {
		return nil, err
	}
	mem := reserve.ForLibrary(r.opt.Memory)
	column := &libraryColumn{reader: reader, part: c, group: r.part.group, mem: mem, typ: typ}
	return column, column.open(ctx)
}

// arrowReader returns the reader of the columns that are not read flat.
func (r *groupReader) arrowReader() (*pqarrow.FileReader, error) {
	if r.arrow != nil {
		return r.arrow, nil
	}
	all, err := r.part.file.all()
	if err != nil {
		return nil, err
	}
	mem := reserve.ForLibrary(r.opt.Memory)
	props := parquet.NewReaderProperties(mem)
	// Pages are read as they are needed, by ReadAt: 2-4 times faster than the whole chunk into
	// fresh memory, and a corrupt chunk length cannot ask for that memory.
	props.BufferedStreamEnabled = true
	pages, err := file.NewParquetReader(r.file, file.WithReadProps(props), file.WithMetadata(all))
	if err != nil {
		return nil, err
	}
	if r.arrow, err = pqarrow.NewFileReader(pages, pqarrow.ArrowReadProperties{}, mem); err != nil {
		return nil, err
	}
	// pqarrow reads a struct with goroutines of its own; a field of it alone is read as any column. S3.
	r.arrow.Manifest.Fields = r.part.file.columnsOf(r.arrow.Manifest)
	return r.arrow, nil
}

func (r *groupReader) columnName(i int) string {
	return r.part.file.flat.Schema.Field(r.part.columns[i].field).Name
}

func (r *groupReader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	rows := min(r.left, r.batchRows)
	arrays := make([]arrow.Array, len(r.columns))
	defer recordreader.ReleaseAll(arrays)
	err := r.each(len(arrays), r.decoded(nil, rows), func(i int) (err error) {
		if r.columns[i] == nil {
			if err := r.reopenColumn(ctx, i); err != nil {
				return err
			}
			r.columns[i].skip(r.rows-r.left, r.rows)
		}
		arrays[i], err = r.readColumn(ctx, i, rows, nil)
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

// helperBytes are decoded in the time for which a thread is worth waking up, and more.
const helperBytes = 1 << 20

// decoded returns about how many bytes are decoded for the next rows of some columns, all for nil:
// the first rows of a column may need all of it, as its page may have all of it.
func (r *groupReader) decoded(columns []int, rows int64) (bytes int64) {
	if r.opt.Borrow == nil {
		return 0
	}
	add := func(c int) {
		of := r.part.file.groups[r.part.group].chunks[r.part.columns[c].leaf].unpacked
		if column, ok := r.columns[c].(*flatColumn); ok && column.pagesRead == 0 {
			bytes += of
			return
		}
		bytes += int64(float64(of) / float64(r.part.numRows) * float64(rows))
	}
	if columns == nil {
		for c := range r.columns {
			add(c)
		}
	}
	for _, c := range columns {
		add(c)
	}
	return bytes
}

// each calls read with 0 to n-1, side by side where threads can be borrowed and the bytes to be
// decoded are many, until a call fails. It returns the error of the least number whose call failed.
// No panic leaves a goroutine. S3.
func (r *groupReader) each(n int, decoded int64, read func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, n)
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			if errs[i] = decode.Guard(func() error { return read(int(i)) }); errs[i] != nil {
				next.Store(int64(n))
			}
		}
	}
	var helpers spawn.Group
	for more := int64(1); more < min(int64(n), decoded/helperBytes) && !r.spared; more++ {
		give, ok := r.opt.Borrow()
		if !ok {
			break
		}
		defer give()
		helpers.Go(func() error {
			work()
			return nil
		})
	}
	work()
	return cmp.Or(helpers.Wait(), cmp.Or(errs...))
}

// readColumn decodes the next rows of a column, and closes the column where columns hold nothing
// between batches.
func (r *groupReader) readColumn(
	ctx context.Context, i int, rows int64, wanted *rowset.Set,
) (values arrow.Array, err error) {
	err = decode.Guard(func() (err error) {
		values, err = r.columns[i].read(ctx, rows, wanted)
		return err
	})
	if err != nil {
		err = fmt.Errorf("column %q: %w", r.columnName(i), err)
		if text := (*decode.TextError)(nil); errors.As(err, &text) {
			err = decode.Locate(r.part.RowName(text.Row), err)
		}
		return nil, err
	}
	if r.spared {
		if err := decode.Guard(func() error { return r.closeColumn(i) }); err != nil {
			values.Release()
			return nil, err
		}
	}
	return values, nil
}

// report tells how many bytes of the file have been read, as if all rows had the same size.
func (r *groupReader) report() {
	if r.opt.Progress == nil {
		return
	}
	done := r.rows - r.left
	bytes := int64(float64(r.part.numBytes) * (float64(done) / float64(r.rows)))
	r.opt.Progress(bytes - r.reported)
	r.reported = bytes
}

func (r *groupReader) Close() error {
	err := decode.Guard(r.closeColumns)
	r.columns = nil
	r.opt.Memory.Drop(r.held)
	r.held = 0
	return errors.Join(err, r.file.Close())
}
