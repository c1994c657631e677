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

// csvReader is the rowReader of a text or a chunk of one. It first finds the fields of a batch of
// rows, then converts them column by column.
type csvReader struct {
	file       *csvFile
	columns    []int
	splitter   *rowSplitter
	converters []converter
	schema     *arrow.Schema
	mem        memory.Allocator
	batchRows  int

	text      io.Reader
	readBytes int    // wanted of one read
	buf       []byte // unread text: buf[pos:], and what the spans of the batch point into
	pos       int
	base      int64 // offset of buf[0] in the text
	limit     int64 // offset from which on rows belong to the next chunk
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
		splitter:  newRowSplitter(file.dialect, len(file.names), columns, opt.BatchRows),
		mem:       opt.Allocator,
		batchRows: opt.BatchRows,
		readBytes: file.opt.blockBytes,
		limit:     math.MaxInt64,
		progress:  opt.Progress,
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = file.fields.Field(c)
		r.converters = append(r.converters, newConverter(fields[i].Type))
	}
	r.schema = arrow.NewSchema(fields, nil)
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
		limit := int(min(r.limit-r.base, math.MaxInt))
		from := r.pos
		next, rows, err := r.splitter.split(r.buf, r.pos, limit, r.batchRows)
		r.pos = next
		if rows > 0 {
			// An error in a later row comes up again when the rows before it have been returned.
			r.report()
			return r.convert(rows)
		}
		if err != nil {
			return nil, r.atLine(err)
		}
		if r.pos >= limit || r.ended && r.pos >= len(r.buf) {
			r.report()
			return nil, io.EOF
		}
		if r.ended {
			return nil, r.atLine(&textError{from, errOpenQuote})
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// room makes space for n more bytes behind the unread text, which moves to the front.
func (r *csvReader) room(n int) {
	if r.lineAt == nil {
		r.lines += int64(bytes.Count(r.buf[:r.pos], newline))
	}
	unread := r.buf[r.pos:]
	if cap(r.buf) < len(unread)+n+1 {
		r.buf = append(make([]byte, 0, max(2*len(unread), 0)+n+1), unread...)
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
	n, err := io.ReadFull(r.text, r.buf[len(r.buf):len(r.buf)+r.readBytes])
	r.buf = r.buf[:len(r.buf)+n]
	r.readBytes = min(2*r.readBytes, max(r.readBytes, r.file.opt.blockBytes))
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	r.ended = true
	if len(r.buf) > 0 && r.buf[len(r.buf)-1] != '\n' {
		r.buf = append(r.buf, '\n')
	}
	return nil
}

// convert makes a batch of the rows whose fields the splitter has found.
func (r *csvReader) convert(rows int) (arrow.RecordBatch, error) {
	if len(r.columns) == 0 {
		return emptyBatch(int64(rows)), nil
	}
	arrays := make([]arrow.Array, 0, len(r.columns))
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for i, c := range r.converters {
		column := &textColumn{
			buf:   r.buf,
			spans: r.splitter.spans[i][:rows],
			quote: r.file.dialect.quote,
			nulls: r.file.opt.NullStrings,
			mem:   r.mem,
		}
		a, bad := c.convert(column)
		if a == nil {
			field := r.schema.Field(i)
			return nil, r.atLine(&textError{int(column.spans[bad].start), valueError(field.Name, field.Type, column.field(bad))})
		}
		arrays = append(arrays, a)
	}
	return array.NewRecordBatch(r.schema, arrays, int64(rows)), nil
}

// atLine names the file and the line of an error.
func (r *csvReader) atLine(err error) error {
	at := (*textError)(nil)
	if !errors.As(err, &at) {
		return err
	}
	if r.lineAt == nil {
		line := r.lines + int64(bytes.Count(r.buf[:at.at], newline)) + 1
		return locatedError{fmt.Errorf("%s, line %d: %w", r.file.path, line, err)}
	}
	offset := r.base + int64(at.at)
	line, lineErr := r.lineAt(offset)
	if lineErr != nil {
		return locatedError{fmt.Errorf("%s, byte %d: %w", r.file.path, offset, err)}
	}
	return locatedError{fmt.Errorf("%s, line %d: %w", r.file.path, line, err)}
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
	r.buf, r.closers = nil, nil
	return errors.Join(errs...)
}
