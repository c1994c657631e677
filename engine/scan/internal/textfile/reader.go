package textfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// reader is the RowReader of a text or a chunk of one. It finds the fields of a block of rows, then
// converts them column by column, until a batch is full.
type reader struct {
	file     *File
	columns  []int            // of the file, that are wanted
	splitter Splitter         // nil where the reader holds nothing, until the next batch
	made     []*fields.Column // by wanted column; nil where splitter is
	opt      decode.Options   // BatchBytes are of text
	held     int64            // bytes reserved for splitter and made; 0 where they are nil
	rowBytes int              // of a row in a batch, without the bytes of strings
	filling  bool             // text is being read for a row that is longer than the buffer

	text      io.Reader // behind buf
	readBytes int       // wanted of one read
	buf       []byte    // what the spans of splitter point into
	pos       int       // of buf, where the next row begins
	before    int64     // bytes of a stream to pass over before the first row
	base      int64     // offset of buf[0] in the text
	limit     int64     // offset from which on rows belong to the next chunk
	batchAt   int64     // offset of the first row of the last batch
	ended     bool      // text has been read to its end
	none      bool      // no row starts in the chunk
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
		if file.Repeats[c] {
			r.rowBytes += delivery.CodeBytes
		} else {
			r.rowBytes += int(delivery.FixedBytesOf(file.Fields.Field(c).Type))
		}
	}
	return r
}

// columnsMany is more columns than most tables have.
const columnsMany = 64

// hold makes what the reader keeps between batches.
func (r *reader) hold() {
	many := len(r.columns) > columnsMany
	held := r.file.Format.SplitterBytes(len(r.columns))
	for _, c := range r.columns {
		held += fields.BytesOf(r.file.Repeats[c], many)
	}
	r.opt.Memory.Hold(held)
	r.held = held
	r.splitter = r.file.Format.NewSplitter(r.columns)
	opt := r.file.Format.Columns()
	opt.Memory, opt.Many = r.opt.Memory, many
	for _, c := range r.columns {
		var format fields.Format
		if r.file.Formats != nil {
			format = r.file.Formats[c]
		}
		r.made = append(r.made, fields.NewColumn(r.file.Fields.Field(c).Type, format, r.file.Repeats[c], &opt))
	}
}

// forget gives back what hold has made, and the dictionaries.
func (r *reader) forget() {
	r.drop()
	for _, c := range r.made {
		c.Forget()
	}
	r.splitter, r.made = nil, nil
	r.opt.Memory.Drop(r.held)
	r.held = 0
}

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
	if r.none {
		r.report()
		return nil, io.EOF
	}
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
		if err == nil && r.ended {
			err = cmp.Or(r.splitter.End(r.buf, r.pos), io.EOF)
			if open := (*Error)(nil); r.file.Lenient && errors.As(err, &open) {
				if err := r.leaveOut(rejected{start: r.pos, end: len(r.buf), reason: open.Reason.Error()}); err != nil {
					return nil, err
				}
				r.pos = len(r.buf)
				continue
			}
		}
		if err == io.EOF { // of a splitter, not of a file
			r.report()
		}
		if err != nil {
			return nil, r.atLine(err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// convert converts the rows that the buffer has, up to a batch: without rows, the buffer has no other
// whole row, however many bytes of rows were left out. Where it returns an error and no
// rows, the first row is at fault, and the converters hold nothing.
func (r *reader) convert() (rows int, err error) {
	limit := int(min(r.limit-r.base, math.MaxInt))
	batchBytes := int(r.opt.BatchBytes)
	room := min(r.opt.BatchRows, (len(r.buf)-r.pos)/r.file.Format.RowBytes()+1)
	room = max(min(room, batchBytes/max(r.rowBytes, 1)), 1)
	begun := false
	defer func() {
		if begun && rows == 0 {
			r.drop()
		}
	}()
	for start := r.pos; rows < room && (rows == 0 || r.pos-start <= batchBytes); {
		next, n, err := r.splitter.Split(r.buf, r.pos, limit, room-rows)
		if n == 0 {
			bad := (*Error)(nil)
			if errors.As(err, &bad) && bad.Next > 0 {
				err = r.leaveOut(rejected{start: next, end: bad.Next, reason: bad.Reason.Error()})
				next = bad.Next
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
		if r.file.Lenient {
			r.countTaken(n, next)
		}
		r.pos = next
		rows += n
	}
	return rows, nil
}

// begin makes room for a batch.
func (r *reader) begin(room int) {
	for _, c := range r.made {
		c.Begin(room, len(r.buf)-r.pos)
	}
}

// add converts the n rows that were split last, and returns how many of them are not left out.
func (r *reader) add(rows, n int) (kept int, err error) {
	text := r.buf[:len(r.buf)+fields.Slack]
	for i, c := range r.made {
		bad := c.Add(text, r.splitter.Fields(i)[:n], rows)
		switch {
		case bad < 0:
		case r.file.Lenient:
			return r.addOthers(rows, n)
		default:
			return 0, r.valueError(i, bad)
		}
	}
	return n, nil
}

// valueError is the error of a field that is no value of its column. The field is one of the fields
// that were split last.
func (r *reader) valueError(column, row int) error {
	c, field, s := r.made[column], r.file.Fields.Field(r.columns[column]), r.splitter.Fields(column)[row]
	reason := r.file.Format.ValueError(field.Name, field.Type, c.Format(), c.Field(row), s.IsQuoted())
	return &Error{At: int(s.Start), Reason: reason}
}

// batch makes a batch of the converted rows.
func (r *reader) batch(rows int) arrow.RecordBatch {
	if len(r.columns) == 0 {
		return delivery.EmptyBatch(int64(rows))
	}
	arrays := make([]arrow.Array, len(r.made))
	all := make([]arrow.Field, len(r.made))
	for i, c := range r.made {
		arrays[i] = c.Finish(rows)
		defer arrays[i].Release()
		all[i] = r.file.Fields.Field(r.columns[i])
		all[i].Type = arrays[i].DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(all, nil), arrays, int64(rows))
}

// drop gives back the memory of the batch that is being converted.
func (r *reader) drop() {
	for _, c := range r.made {
		c.Drop()
	}
}

// room makes room for n more bytes behind the unread text, which moves to the front of the buffer.
func (r *reader) room(n int) {
	if r.chunked == nil || r.file.Lenient {
		r.lines += int64(bytes.Count(r.buf[:r.pos], newline))
	}
	unread := r.buf[r.pos:]
	need := len(unread) + n + 1 + fields.Slack
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

// fill reads more text. At the end it adds the newline that the last row may need.
func (r *reader) fill() error {
	if len(r.buf)-r.pos > r.file.RowLimit {
		return r.atLine(&Error{At: r.splitter.RowStart(r.buf, r.pos), Reason: r.file.Format.LongRow()})
	}
	r.filling = true
	want := max(r.readBytes, (len(r.buf)-r.pos)/4) // a long row is looked at again after each read
	r.room(want)
	n, ended, err := readText(r.text, r.buf[len(r.buf):len(r.buf)+want])
	r.buf = r.buf[:len(r.buf)+n]
	r.readBytes = min(2*r.readBytes, max(r.readBytes, r.file.sizes.Block))
	if err != nil || !ended {
		return err
	}
	r.ended = true
	if r.file.Newline && len(r.buf) > 0 && r.buf[len(r.buf)-1] != '\n' {
		r.buf = append(r.buf, '\n')
	}
	return nil
}

// atLine names the file and the line of an error.
func (r *reader) atLine(err error) error {
	at := (*Error)(nil)
	if !errors.As(err, &at) {
		return err
	}
	return decode.Located(fmt.Errorf("%s: %w", r.placeAt(at.At), err))
}

// placeAt names the file and the line of an offset of the buffer.
func (r *reader) placeAt(at int) string {
	if r.chunked == nil {
		return fmt.Sprintf("%s, line %d", r.file.Path, r.lines+int64(bytes.Count(r.buf[:at], newline))+1)
	}
	offset := r.base + int64(at)
	line, err := countLines(r.chunked, offset)
	if err != nil {
		return fmt.Sprintf("%s, byte %d", r.file.Path, offset)
	}
	return fmt.Sprintf("%s, line %d", r.file.Path, line)
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
		if r.file.Lenient {
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
	length := r.file.Format.RowLength(text)
	return 2*length + length/4 + 2*chunkBytesDefault
}

// NextPlace implements RowPlacer.
func (r *reader) NextPlace() string {
	splitter := r.file.Format.NewSplitter(nil)
	if r.chunked == nil {
		return r.placeAt(splitter.RowStart(r.buf, r.pos))
	}
	buf := make([]byte, tailBytes)
	n, err := r.chunked.ReadAt(buf, r.batchAt)
	if err != nil && !errors.Is(err, io.EOF) {
		return r.file.Path
	}
	line, err := countLines(r.chunked, r.batchAt+int64(splitter.RowStart(buf[:n], 0)))
	if err != nil {
		return r.file.Path
	}
	return fmt.Sprintf("%s, line %d", r.file.Path, line)
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
	splitter := r.file.Format.NewSplitter(nil)
	skipped := r.skipped
	for {
		most := int(row)
		if len(skipped) > 0 { // row by row, so as to find rows that are left out
			most = 1
			if at = splitter.RowStart(r.buf, at); r.base+int64(at) == skipped[0] {
				at, skipped = max(splitter.(Lenient).RowEnd(r.buf, at), at+1), skipped[1:]
				continue
			}
		}
		if row == 0 {
			return r.placeAt(splitter.RowStart(r.buf, at))
		}
		next, n, err := splitter.Split(r.buf, at, limit, most)
		if n == 0 || err != nil {
			return ""
		}
		at, row = next, row-int64(n)
	}
}
