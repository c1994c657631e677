package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// csvReader is the rowReader of a text or a chunk of one. It finds the fields of a block of rows, then
// converts them column by column, until a batch is full.
type csvReader struct {
	file       *csvFile
	columns    []int
	splitter   *rowSplitter
	converters []converter
	converted  []*textColumn // by converter
	mem        memory.Allocator
	batchRows  int

	text      io.Reader
	readBytes int    // wanted of one read
	buf       []byte // unread text: buf[pos:], and what the spans of the block point into
	pos       int
	base      int64 // offset of buf[0] in the text
	limit     int64 // offset from which on rows belong to the next chunk
	batchAt   int64 // offset of the first row of the last batch
	ended     bool  // text has been read to its end
	lines     int64 // newlines before buf[0], where lineAt is nil

	lineAt   func(offset int64) (int64, error) // of a file whose start was not read
	progress func(int64)
	consumed func() int64 // bytes, in the input's own form
	reported int64
	closers  []io.Closer
}

func newCSVReader(file *csvFile, columns []int, opt OpenOptions) *csvReader {
	r := &csvReader{
		file:      file,
		columns:   columns,
		splitter:  newRowSplitter(file.dialect, len(file.names), columns),
		mem:       opt.Allocator,
		batchRows: opt.BatchRows,
		readBytes: file.opt.blockBytes,
		limit:     math.MaxInt64,
		progress:  opt.Progress,
	}
	nulls := newNullStrings(file.opt.NullStrings)
	for _, c := range columns {
		typ := file.fields.Field(c).Type
		r.converted = append(r.converted, &textColumn{typ: typ, quote: file.dialect.quote, nulls: nulls, mem: opt.Allocator})
		if file.repeats(c) {
			r.converters = append(r.converters, newTextCodes(typ))
		} else {
			r.converters = append(r.converters, newConverter(typ))
		}
	}
	return r
}

// startStream passes over what is before the first row.
func (r *csvReader) startStream(text io.Reader) error {
	r.text = text
	for r.base = 0; int64(len(r.buf)) < r.file.start && !r.ended; {
		if err := r.fill(); err != nil {
			return err
		}
	}
	r.pos = min(int(r.file.start), len(r.buf))
	return nil
}

func (r *csvReader) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		r.batchAt = r.base + int64(r.pos)
		rows, err := r.convert()
		if rows > 0 {
			// An error in a later row comes up again when the rows before it have been returned.
			r.report()
			return r.batch(rows), nil
		}
		if err != nil {
			return nil, r.atLine(err)
		}
		if r.base+int64(r.pos) >= r.limit || r.ended && r.pos >= len(r.buf) {
			r.report()
			return nil, io.EOF
		}
		if r.ended {
			return nil, r.atLine(&textError{r.pos, errOpenQuote})
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// convert converts the rows that the buffer has, up to a batch of them. With an error and no rows the
// first row is at fault; the converters then hold nothing.
func (r *csvReader) convert() (rows int, err error) {
	limit := int(min(r.limit-r.base, math.MaxInt))
	room := min(r.batchRows, (len(r.buf)-r.pos)/r.splitter.width+1) // a field takes a byte at least
	for rows < room {
		next, n, err := r.splitter.split(r.buf, r.pos, limit, room-rows)
		if n > 0 {
			if rows == 0 {
				r.begin(room)
			}
			err = r.add(rows, n)
		}
		if err != nil && n > 0 {
			r.drop()
			return 0, err
		}
		r.pos = next
		if n == 0 {
			return rows, err
		}
		rows += n
	}
	return rows, nil
}

// begin makes room for a batch.
func (r *csvReader) begin(room int) {
	for i, c := range r.converters {
		r.converted[i].room = room
		c.begin(r.converted[i])
	}
}

// add converts the n rows that were split last.
func (r *csvReader) add(rows, n int) error {
	for i, c := range r.converters {
		column := r.converted[i]
		column.text = r.buf[:len(r.buf)+fieldSlack]
		column.fields = r.splitter.spans[i][:n]
		column.rows = rows
		if bad := c.add(column); bad >= 0 {
			name := r.file.names[r.columns[i]]
			return &textError{int(column.fields[bad].start), valueError(name, column.typ, column.field(bad))}
		}
	}
	return nil
}

// batch makes a batch of the rows converted.
func (r *csvReader) batch(rows int) arrow.RecordBatch {
	if len(r.columns) == 0 {
		return emptyBatch(int64(rows))
	}
	arrays := make([]arrow.Array, len(r.converters))
	fields := make([]arrow.Field, len(r.converters))
	for i, c := range r.converters {
		r.converted[i].rows = rows
		arrays[i] = c.finish(r.converted[i])
		defer arrays[i].Release()
		fields[i] = r.file.fields.Field(r.columns[i])
		fields[i].Type = arrays[i].DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(rows))
}

// drop gives back what the converters hold of a batch.
func (r *csvReader) drop() {
	for i, c := range r.converters {
		c.drop()
		r.converted[i].dropValidity()
	}
}

// room makes space for n more bytes behind the unread text, which moves to the front.
func (r *csvReader) room(n int) {
	if r.lineAt == nil {
		r.lines += int64(bytes.Count(r.buf[:r.pos], newline))
	}
	unread := r.buf[r.pos:]
	if cap(r.buf) < len(unread)+n+1+fieldSlack {
		moved := r.mem.Allocate(2*len(unread) + n + 1 + fieldSlack)
		copy(moved, unread)
		r.free()
		r.buf = moved[:len(unread)]
	} else {
		r.buf = r.buf[:copy(r.buf[:cap(r.buf)], unread)]
	}
	r.base += int64(r.pos)
	r.pos = 0
}

// fill reads more text. At the end it adds the newline that the last row may lack.
func (r *csvReader) fill() error {
	if len(r.buf)-r.pos > rowBytesMax {
		return r.atLine(&textError{r.pos, errLongRow})
	}
	r.room(r.readBytes)
	n, ended, err := readText(r.text, r.buf[len(r.buf):len(r.buf)+r.readBytes])
	r.buf = r.buf[:len(r.buf)+n]
	r.readBytes = min(2*r.readBytes, max(r.readBytes, r.file.opt.blockBytes))
	if err != nil || !ended {
		return err
	}
	r.ended = true
	if len(r.buf) > 0 && r.buf[len(r.buf)-1] != '\n' {
		r.buf = append(r.buf, '\n')
	}
	return nil
}

// atLine names the file and the line of an error.
func (r *csvReader) atLine(err error) error {
	at := (*textError)(nil)
	if !errors.As(err, &at) {
		return err
	}
	return locatedError{fmt.Errorf("%s: %w", r.placeAt(at.at), err)}
}

// placeAt names the file and the line of an offset of the buffer.
func (r *csvReader) placeAt(at int) string {
	if r.lineAt == nil {
		return fmt.Sprintf("%s, line %d", r.file.path, r.lines+int64(bytes.Count(r.buf[:at], newline))+1)
	}
	offset := r.base + int64(at)
	line, err := r.lineAt(offset)
	if err != nil {
		return fmt.Sprintf("%s, byte %d", r.file.path, offset)
	}
	return fmt.Sprintf("%s, line %d", r.file.path, line)
}

func (r *csvReader) report() {
	if r.progress == nil {
		return
	}
	if n := r.consumed(); n > r.reported {
		r.progress(n - r.reported)
		r.reported = n
	}
}

func (r *csvReader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c.Close())
	}
	r.closers = nil
	r.drop()
	for _, c := range r.converters {
		if c, ok := c.(*textCodes); ok {
			c.forget()
		}
	}
	r.free()
	return errors.Join(errs...)
}

// free gives the buffer back.
func (r *csvReader) free() {
	if cap(r.buf) > 0 {
		r.mem.Free(r.buf[:cap(r.buf)])
		r.buf = nil
	}
}
