package csv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// reader is the RowReader of a text or a chunk of one. It finds the fields of a block of rows, then
// converts them column by column, until a batch is full.
type reader struct {
	file     *File
	columns  []int          // of the file, that are wanted
	splitter *rowSplitter   // nil where the reader holds nothing, until the next batch
	texts    []*textColumn  // by wanted column; nil where splitter is
	opt      decode.Options // BatchBytes are of text
	held     int64          // bytes reserved for splitter and texts; 0 where they are nil
	rowBytes int            // of a row in a batch, without the bytes of strings
	filling  bool           // text is being read for a row that is longer than the buffer

	text      io.Reader // behind buf
	readBytes int       // wanted of one read
	buf       []byte    // what the spans of splitter point into
	pos       int       // of buf, where the next row begins
	before    int64     // bytes of a stream to pass over before the first row
	base      int64     // offset of buf[0] in the text
	limit     int64     // offset from which on rows belong to the next chunk
	batchAt   int64     // offset of the first row of the last batch
	ended     bool      // text has been read to its end
	lines     int64     // newlines before buf[0], where chunked is nil or rows with errors are left out

	chunked  io.ReaderAt  // the file, where it is read by chunks; nil of a stream
	consumed func() int64 // returns the bytes that were read of the file, compressed or not
	reported int64        // bytes that opt.Progress was told of
	closers  []io.Closer

	rejecter // of the rows that are left out
}

func newReader(file *File, columns []int, opt decode.Options, left *leftOut) *reader {
	opt.BatchBytes = min(opt.BatchBytes, math.MaxInt32)
	r := &reader{file: file, columns: columns, opt: opt, readBytes: file.sizes.Block, limit: math.MaxInt64}
	r.left = left
	for _, c := range columns {
		if file.repeats(c) {
			r.rowBytes += delivery.CodeBytes
		} else {
			r.rowBytes += int(delivery.FixedBytesOf(file.fields.Field(c).Type))
		}
	}
	return r
}

// hold makes what the reader keeps between batches.
func (r *reader) hold() {
	slots, many := slotsAtLeast, len(r.columns) > columnsMany
	if many {
		slots = slotsFew
	}
	held := splitterBytes(len(r.file.names), len(r.columns)) + converterBytes*int64(len(r.columns))
	for _, c := range r.columns {
		if r.file.repeats(c) {
			held += codeSlotBytes * int64(slots)
		}
	}
	r.opt.Memory.Hold(held)
	r.held = held
	r.splitter = newRowSplitter(r.file.dialect, len(r.file.names), r.columns)
	nulls := newNullStrings(r.file.opt.NullStrings)
	for _, c := range r.columns {
		typ := r.file.fields.Field(c).Type
		text := &textColumn{
			typ: typ, format: r.file.formats[c], quote: r.file.dialect.quote, nulls: nulls, mem: r.opt.Memory, many: many,
		}
		text.to = newConverter(typ, &text.format)
		if r.file.repeats(c) {
			text.to = newTextCodes(typ, slots)
		}
		r.texts = append(r.texts, text)
	}
}

// forget gives back what hold has made, and the dictionaries.
func (r *reader) forget() {
	r.drop()
	for _, c := range r.texts {
		if codes, ok := c.to.(*textCodes); ok {
			codes.release(c)
		}
	}
	r.splitter, r.texts = nil, nil
	r.opt.Memory.Drop(r.held)
	r.held = 0
}

const (
	// converterBytes is what a column takes beside its buffers and its dictionary, together with
	// its array in a batch.
	converterBytes = 2 << 10

	// columnsMany is more columns than most tables have.
	columnsMany = 64
)

// findStart passes over the bytes before the first row of a stream.
func (r *reader) findStart() error {
	for int64(len(r.buf)) < r.before && !r.ended {
		if err := r.fill(); err != nil {
			return err
		}
	}
	r.pos = min(int(r.before), len(r.buf))
	r.before = 0
	return nil
}

func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.batchAt = r.base + int64(r.pos)
	if r.splitter == nil {
		r.hold()
	}
	if r.before > 0 {
		if err := r.findStart(); err != nil {
			return nil, err
		}
	}
	for {
		r.batchAt = r.base + int64(r.pos)
		r.skipped = r.skipped[:0]
		r.filling = false
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
			if !r.splitter.lenient {
				return nil, r.atLine(&textError{at: r.pos, reason: errOpenQuote})
			}
			if err := r.leaveOut(rejected{start: r.pos, end: len(r.buf), reason: errOpenQuote.Error()}); err != nil {
				return nil, err
			}
			r.pos = len(r.buf)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// convert converts the rows that the buffer has, up to a batch. Where it returns an error and no
// rows, the first row is at fault, and the converters hold nothing.
func (r *reader) convert() (rows int, err error) {
	limit := int(min(r.limit-r.base, math.MaxInt))
	batchBytes := int(r.opt.BatchBytes)
	room := min(r.opt.BatchRows, (len(r.buf)-r.pos)/r.splitter.width+1) // a field takes a byte at least
	room = max(min(room, batchBytes/max(r.rowBytes, 1)), 1)
	begun := false
	defer func() {
		if begun && rows == 0 {
			r.drop()
		}
	}()
	for start := r.pos; rows < room && r.pos-start <= batchBytes; {
		next, n, err := r.splitter.split(r.buf, r.pos, limit, room-rows)
		if n == 0 {
			bad := (*textError)(nil)
			if errors.As(err, &bad) && bad.next > 0 {
				err = r.leaveOut(rejected{start: next, end: bad.next, reason: bad.reason.Error()})
				next = bad.next
			} else if r.pos = next; err == nil {
				return rows, nil
			}
			if err != nil {
				return rows, err
			}
			r.pos = next
			continue
		}
		if !begun {
			r.begin(room)
			begun = true
		}
		if n, err = r.add(rows, n); err != nil {
			return 0, err
		}
		r.pos = next
		rows += n
	}
	return rows, nil
}

// begin makes room for a batch.
func (r *reader) begin(room int) {
	for _, c := range r.texts {
		c.room, c.bytes = room, len(r.buf)-r.pos
		c.to.begin(c)
	}
}

// add converts the n rows that were split last, and returns how many of them are not left out.
func (r *reader) add(rows, n int) (kept int, err error) {
	for _, c := range r.texts {
		c.text = r.buf[:len(r.buf)+fieldSlack]
	}
	for i, c := range r.texts {
		c.fields = r.splitter.spans[i][:n]
		c.rows = rows
		bad := c.to.add(c)
		switch {
		case bad < 0:
		case r.splitter.lenient:
			return r.addOthers(rows, n)
		default:
			return 0, r.valueError(i, bad)
		}
	}
	return n, nil
}

// valueError is the error of a field, of those that were split last, that is no value of its
// column.
func (r *reader) valueError(column, field int) error {
	c := r.texts[column]
	name := r.file.names[r.columns[column]]
	return &textError{at: int(c.fields[field].start), reason: valueError(name, c, c.field(field))}
}

// batch makes a batch of the converted rows.
func (r *reader) batch(rows int) arrow.RecordBatch {
	if len(r.columns) == 0 {
		return delivery.EmptyBatch(int64(rows))
	}
	arrays := make([]arrow.Array, len(r.texts))
	fields := make([]arrow.Field, len(r.texts))
	for i, c := range r.texts {
		c.rows = rows
		arrays[i] = c.to.finish(c)
		defer arrays[i].Release()
		fields[i] = r.file.fields.Field(r.columns[i])
		fields[i].Type = arrays[i].DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(rows))
}

// drop gives back the memory of the batch that is being converted.
func (r *reader) drop() {
	for _, c := range r.texts {
		c.to.drop()
		c.dropValidity()
	}
}

// room makes room for n more bytes behind the unread text, which moves to the front of the buffer.
func (r *reader) room(n int) {
	if r.chunked == nil || r.file.dialect.lenient {
		r.lines += int64(bytes.Count(r.buf[:r.pos], newline))
	}
	unread := r.buf[r.pos:]
	need := len(unread) + n + 1 + fieldSlack
	if cap(r.buf) < need || cap(r.buf) > 4*max(need, reserve.LargeBytes) {
		more := len(unread)
		if more > reserve.LargeBytes { // copying the text costs less than not having the memory
			more /= 4
		}
		moved := r.opt.Memory.Allocate(need + more)
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
func (r *reader) fill() error {
	if len(r.buf)-r.pos > rowBytesMax {
		return r.atLine(&textError{at: r.pos, reason: errLongRow})
	}
	r.filling = true
	r.room(r.readBytes)
	n, ended, err := readText(r.text, r.buf[len(r.buf):len(r.buf)+r.readBytes])
	r.buf = r.buf[:len(r.buf)+n]
	r.readBytes = min(2*r.readBytes, max(r.readBytes, r.file.sizes.Block))
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
func (r *reader) atLine(err error) error {
	at := (*textError)(nil)
	if !errors.As(err, &at) {
		return err
	}
	return decode.Located(fmt.Errorf("%s: %w", r.placeAt(at.at), err))
}

// placeAt names the file and the line of an offset of the buffer.
func (r *reader) placeAt(at int) string {
	if r.chunked == nil {
		return fmt.Sprintf("%s, line %d", r.file.path, r.lines+int64(bytes.Count(r.buf[:at], newline))+1)
	}
	offset := r.base + int64(at)
	line, err := countLines(r.chunked, offset)
	if err != nil {
		return fmt.Sprintf("%s, byte %d", r.file.path, offset)
	}
	return fmt.Sprintf("%s, line %d", r.file.path, line)
}

func (r *reader) report() {
	if r.opt.Progress == nil {
		return
	}
	if n := r.consumed(); n > r.reported {
		r.opt.Progress(n - r.reported)
		r.reported = n
	}
}

func (r *reader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c.Close())
	}
	r.closers = nil
	r.forget()
	r.free()
	return errors.Join(append(errs, r.handOn())...)
}

// Spare implements decode.Thrifty. The text that has been read of a stream stays: nobody else has
// it.
func (r *reader) Spare() {
	r.forget()
	r.pos = int(r.batchAt - r.base)
	if r.chunked != nil {
		if r.file.dialect.lenient {
			r.lines += int64(bytes.Count(r.buf[:r.pos], newline))
		}
		r.free()
		r.base, r.pos, r.ended = r.batchAt, 0, false
		r.text = r.readFrom(r.batchAt)
	}
}

// readFrom returns the text of a file that is read by chunks, from an offset on.
func (r *reader) readFrom(offset int64) io.Reader {
	return io.NewSectionReader(r.chunked, offset, r.file.size-offset)
}

// Shrink implements decode.Thrifty.
func (r *reader) Shrink() bool {
	if r.filling || r.opt.BatchRows == 1 {
		return false
	}
	r.opt.BatchRows = max(r.opt.BatchRows/decode.ShrinkFactor, 1)
	r.opt.BatchBytes /= decode.ShrinkFactor
	return true
}

// Needed implements decode.Needer: the text of the next row, in a buffer that grows and in the
// buffers of its columns. It reads the text: no row can be read after it.
func (r *reader) Needed() int64 {
	text := io.MultiReader(bytes.NewReader(r.buf[r.pos:]), r.text)
	length := rowLength(r.file.dialect, text)
	return 2*length + length/4 + 2*chunkBytesDefault
}

// rowLength returns how many bytes the first row of a text has, at most rowBytesMax.
func rowLength(d *dialect, text io.Reader) (length int64) {
	inside := false
	for buffered := bufio.NewReader(text); length < rowBytesMax; length++ {
		c, err := buffered.ReadByte()
		switch {
		case err != nil:
			return length
		case c == d.quote && !d.noQuote:
			inside = !inside
		case c == '\n' && !inside && length > 0:
			return length
		}
	}
	return length
}

// NextPlace implements RowPlacer.
func (r *reader) NextPlace() string {
	if r.chunked == nil {
		return r.placeAt(r.pos)
	}
	line, err := countLines(r.chunked, r.batchAt)
	if err != nil {
		return r.file.path
	}
	return fmt.Sprintf("%s, line %d", r.file.path, line)
}

// free gives the buffer back.
func (r *reader) free() {
	if cap(r.buf) > 0 {
		r.opt.Memory.Free(r.buf[:cap(r.buf)])
		r.buf = nil
	}
}

// PlaceOf implements decode.RowPlacer. It finds the row in the text of the last batch, which is in
// the buffer until the next batch is read.
func (r *reader) PlaceOf(row int64) string {
	at, limit := int(r.batchAt-r.base), int(min(r.limit-r.base, math.MaxInt))
	splitter := newRowSplitter(r.file.dialect, len(r.file.names), nil)
	skipped := r.skipped
	for {
		at = splitter.skipEmpty(r.buf, at)
		most := int(row)
		if len(skipped) > 0 { // row by row, so as to find those that are left out
			most = 1
			if r.base+int64(at) == skipped[0] {
				at, skipped = max(splitter.rowEnd(r.buf, at), at+1), skipped[1:]
				continue
			}
		}
		if row == 0 {
			return r.placeAt(at)
		}
		next, n, err := splitter.split(r.buf, at, limit, most)
		if n == 0 || err != nil {
			return ""
		}
		at, row = next, row-int64(n)
	}
}
