package ipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/vfs"
)

// File is an Arrow IPC file whose footer and block headers have been read.
//
// A file is a stream with a table of contents: each block of the footer is one message of a stream.
// A split is a run of record batches, and is read as the stream of schema, dictionaries and that
// run, so that splits share no reader (arrow-go's is not safe for concurrent use where there are
// dictionaries) and files and streams have one code path.
type File struct {
	path         string
	fsys         vfs.FS
	size         int64
	flat         *delivery.Flat
	schemaEnd    int64 // of the schema's message, which starts at arrowStreamStart
	dictionaries []block
	batches      []block
	numRows      int64
}

// block is one message of the file.
type block struct {
	offset, size int64 // with its body
	rows         int64 // of a record batch
}

const (
	// Magic is the first and the last bytes of a file.
	Magic = "ARROW1"
	// arrowStreamStart is where the first message is: after the magic, padded to 8 B.
	arrowStreamStart = 8
	// arrowPartBytes is about the size of a split: smaller batches are read several to a split, so
	// that the dictionaries, which each split reads anew, cost little beside them.
	arrowPartBytes = 16 << 20
)

// OpenFile reads a file's footer, and the header of every record batch for its rows.
func OpenFile(fsys vfs.FS, path string, mem *reserve.Allocator) (*File, error) {
	a := &File{path: path, fsys: fsys}
	return a, decode.ReadFile(fsys, path, func(f vfs.File, size int64) error {
		a.size = size
		return decode.Guard(func() error { return a.readFooter(f, mem) })
	})
}

func (a *File) readFooter(f vfs.File, mem *reserve.Allocator) error {
	footer, err := a.footer(f, mem)
	if err != nil {
		return err
	}
	if a.dictionaries, err = a.blocks(footer, footerDictionaries); err != nil {
		return err
	}
	if a.batches, err = a.blocks(footer, footerBatches); err != nil {
		return err
	}
	// The schema is read from the message at the start: the footer has a copy.
	start := &decode.CountingReader{R: io.NewSectionReader(f, arrowStreamStart, a.size-arrowStreamStart)}
	if a.flat, err = readSchema(start, a.size); err != nil {
		return err
	}
	a.schemaEnd = arrowStreamStart + start.N
	if err := a.checkDictionaries(f); err != nil {
		return err
	}
	for i := range a.batches {
		if err := a.readRows(f, &a.batches[i]); err != nil {
			return fmt.Errorf("record batch %d: %w", i, err)
		}
	}
	return nil
}

// checkDictionaries refuses a file that replaces a dictionary, which only a stream may: every batch
// is read with all dictionaries of the file.
func (a *File) checkDictionaries(f io.ReaderAt) error {
	seen := make(map[int64]bool)
	for i, b := range a.dictionaries {
		table, err := a.blockTable(f, b, headerDictionary)
		if err != nil {
			return fmt.Errorf("dictionary %d: %w", i, err)
		}
		id := table.GetInt64Slot(dictionaryID, 0)
		if seen[id] && !table.GetBoolSlot(dictionaryIsDelta, false) {
			return fmt.Errorf("%w: dictionary %d replaces an earlier one, which only a stream may", decode.ErrCorrupt, i)
		}
		seen[id] = true
	}
	return nil
}

// footer returns the flatbuffer before the last ten bytes of the file: its length and the magic.
func (a *File) footer(f io.ReaderAt, mem *reserve.Allocator) (flatbuffers.Table, error) {
	var tail [4 + len(Magic)]byte
	if a.size < int64(arrowStreamStart+len(tail)) {
		return flatbuffers.Table{}, fmt.Errorf("not a whole Arrow file: it has %d B", a.size)
	}
	if _, err := f.ReadAt(tail[:], a.size-int64(len(tail))); err != nil {
		return flatbuffers.Table{}, err
	}
	if string(tail[4:]) != Magic {
		return flatbuffers.Table{}, fmt.Errorf("not a whole Arrow file: it does not end in %s", Magic)
	}
	size := int64(binary.LittleEndian.Uint32(tail[:]))
	if size > a.size-int64(len(tail)) {
		return flatbuffers.Table{}, fmt.Errorf("%w of %d B in a file of %d B", decode.ErrFooter, size, a.size)
	}
	mem.Hold(decode.FooterCopies * size)
	buf := make([]byte, size)
	if _, err := f.ReadAt(buf, a.size-int64(len(tail))-size); err != nil {
		return flatbuffers.Table{}, err
	}
	return rootTable(buf), nil
}

// blocks reads a vector of the footer's struct Block: offset int64, metadata length int32, 4 B of
// padding, body length int64.
func (a *File) blocks(footer flatbuffers.Table, field flatbuffers.VOffsetT) ([]block, error) {
	const blockBytes = 24
	start, n, err := vector(footer, field, blockBytes)
	if err != nil || n == 0 {
		return nil, err
	}
	blocks := make([]block, n)
	for i := range blocks {
		b := footer.Bytes[int(start)+i*blockBytes:]
		offset := int64(binary.LittleEndian.Uint64(b))
		meta := int64(int32(binary.LittleEndian.Uint32(b[8:])))
		body := int64(binary.LittleEndian.Uint64(b[16:]))
		if offset < 0 || meta < 0 || body < 0 || offset > a.size || body > a.size || meta+body > a.size-offset {
			return nil, fmt.Errorf("%w: a block of %d + %d B at offset %d of a file of %d B",
				decode.ErrFooter, meta, body, offset, a.size)
		}
		blocks[i] = block{offset: offset, size: meta + body}
	}
	return blocks, nil
}

// blockTable reads the header of a block's message, which must be of the given kind.
func (a *File) blockTable(f io.ReaderAt, b block, kind byte) (table flatbuffers.Table, err error) {
	counted := &decode.CountingReader{R: io.NewSectionReader(f, b.offset, b.size)}
	header, err := readHeader(counted)
	if err != nil {
		return table, noEOF(err)
	}
	body, err := checkMessage(header, nil)
	if err != nil {
		return table, err
	}
	if body > b.size-counted.N {
		return table, fmt.Errorf("%w: a body of %d B in a block of %d B", decode.ErrCorrupt, body, b.size)
	}
	message := rootTable(header)
	table, _ = child(message, messageHeader)
	if got := message.GetByteSlot(messageHeaderType, 0); got != kind {
		return table, fmt.Errorf("%w: a message of kind %d, where the footer means %d", decode.ErrCorrupt, got, kind)
	}
	return table, nil
}

// readRows reads how many rows a record batch has from its header.
func (a *File) readRows(f io.ReaderAt, b *block) error {
	table, err := a.blockTable(f, *b, headerBatch)
	if err != nil {
		return err
	}
	b.rows = table.GetInt64Slot(batchRowCount, 0)
	if b.rows < 0 || b.rows > decode.RowsMax-a.numRows {
		return fmt.Errorf("%w: %d rows", decode.ErrCorrupt, b.rows)
	}
	a.numRows += b.rows
	return nil
}

// BatchCount returns how many record batches the file has.
func (a *File) BatchCount() int { return len(a.batches) }

// Name returns the path that the file was opened by.
func (a *File) Name() string { return a.path }

// Schema returns the columns of the file, structs flattened.
func (a *File) Schema() *arrow.Schema { return a.flat.Schema }

// Stats returns how many rows and bytes the file has.
func (a *File) Stats() decode.Stats { return decode.Stats{Rows: a.numRows, Bytes: a.size} }

// Span returns how many positions the rows take: one each.
func (a *File) Span() uint64 { return uint64(a.numRows) }

// Parts returns parts of consecutive batches, each of about arrowPartBytes, that read columns.
func (a *File) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	var parts []decode.Part
	var last *part
	var first uint64
	for i, b := range a.batches {
		if last == nil || last.numBytes+b.size > arrowPartBytes {
			last = &part{file: a, columns: columns, from: i, first: first}
			parts = append(parts, last)
		}
		last.to = i + 1
		last.numBytes += b.size
		last.numRows += b.rows
		first += uint64(b.rows)
	}
	return parts, nil
}

// part is record batches [from, to) of a file.
type part struct {
	file     *File
	columns  []int
	from, to int
	first    uint64
	numRows  int64
	numBytes int64
}

func (p *part) Offset() uint64 { return p.first }
func (p *part) Rows() int64    { return p.numRows }

// Bytes counts the schema and the dictionaries too, which every split reads.
func (p *part) Bytes() int64 {
	n := p.numBytes + p.file.schemaEnd - arrowStreamStart
	for _, b := range p.file.dictionaries {
		n += b.size
	}
	return n
}

func (p *part) Name() string {
	if p.to == p.from+1 {
		return fmt.Sprintf("%s, record batch %d", p.file.path, p.from)
	}
	return fmt.Sprintf("%s, record batches %d to %d", p.file.path, p.from, p.to-1)
}

// RowName implements decode.RowNamer.
func (p *part) RowName(row int64) string { return decode.RowOf(p.file.path, int64(p.first)+row) }

func (p *part) Open(_ context.Context, opt decode.Options) (decode.RowReader, error) {
	if len(p.columns) == 0 {
		return &decode.RowCounter{Left: p.numRows}, nil
	}
	f, err := p.file.fsys.Open(p.file.path)
	if err != nil {
		return nil, err
	}
	section := func(b block) io.Reader { return io.NewSectionReader(f, b.offset, b.size) }
	messages := []io.Reader{io.NewSectionReader(f, arrowStreamStart, p.file.schemaEnd-arrowStreamStart)}
	for _, b := range p.file.dictionaries {
		messages = append(messages, section(b))
	}
	for _, b := range p.file.batches[p.from:p.to] {
		messages = append(messages, section(b))
	}
	r, err := newReader(io.MultiReader(messages...), f, p.file.flat, p.columns, p.file.size, opt)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// reader is the RowReader of an Arrow stream.
type reader struct {
	stream   *ipc.Reader
	messages *messages
	source   io.Closer
	columns  []int          // of the stream
	flat     *delivery.Flat // of columns
	mem      *reserve.Allocator
	progress func(int64)
	bytes    *decode.CountingReader
	reported int64
}

// newReader reads the schema of a stream. columns are the columns of flat that are to be read.
// bodyBytesMax bounds a message. The reader closes the source; where this function fails the caller does.
func newReader(
	from io.Reader, source io.Closer, flat *delivery.Flat, columns []int, bodyBytesMax int64, opt decode.Options,
) (*reader, error) {
	r := &reader{source: source, mem: opt.Memory, progress: opt.Progress, bytes: &decode.CountingReader{R: from}}
	r.flat, r.columns = flat.Some(columns)
	err := decode.Guard(func() (err error) {
		r.messages = &messages{r: r.bytes, mem: opt.Memory, bodyBytesMax: bodyBytesMax}
		r.stream, err = ipc.NewReaderFromMessageReader(r.messages, ipc.WithAllocator(opt.Memory))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("not a readable Arrow stream: %w", err)
	}
	return r, nil
}

// readSchema reads the schema at the start of a stream.
func readSchema(from io.Reader, bodyBytesMax int64) (*delivery.Flat, error) {
	opt := decode.Options{Memory: reserve.New(memory.DefaultAllocator, nil)}
	r, err := newReader(from, io.NopCloser(nil), &delivery.Flat{}, nil, bodyBytesMax, opt)
	if err != nil {
		return nil, err
	}
	return delivery.Flatten(r.stream.Schema()), r.Close()
}

func (r *reader) Next(context.Context) (arrow.RecordBatch, error) {
	if err := r.messages.ahead(); err != nil {
		return nil, err
	}
	if !r.stream.Next() {
		if err := r.stream.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	if r.progress != nil {
		r.progress(r.bytes.N - r.reported)
		r.reported = r.bytes.N
	}
	columns := recordreader.Project(r.stream.RecordBatch(), r.columns)
	defer columns.Release()
	batch, err := r.flat.Take(r.mem, columns)
	if err != nil {
		return nil, decode.Corrupt(err)
	}
	for i, column := range batch.Columns() {
		if err := check(column); err != nil {
			batch.Release()
			return nil, fmt.Errorf("%w: column %q: %w", decode.ErrCorrupt, batch.ColumnName(i), err)
		}
	}
	return batch, nil
}

// check looks at the offsets, codes and views of a column, which arrow-go takes as they are in the
// file (S3), and then at its strings, which arrow-go would check one by one and show as they are.
func check(column arrow.Array) error {
	bytes := delivery.AsBytes(column)
	defer bytes.Release()
	data := withBuffers(bytes.Data())
	defer data.Release()
	checked := array.MakeFromData(data)
	defer checked.Release()
	if err := array.ValidateFull(checked); err != nil {
		return err
	}
	row := delivery.InvalidText(column)
	if row < 0 {
		return nil
	}
	return decode.NewTextError(int64(row), []byte(column.ValueStr(row)))
}

// withBuffers returns data in which each array of type null has a buffer, which arrow-go's check wants and its reader
// does not make.
func withBuffers(from arrow.ArrayData) arrow.ArrayData {
	children := make([]arrow.ArrayData, len(from.Children()))
	for i, c := range from.Children() {
		children[i] = withBuffers(c)
		defer children[i].Release()
	}
	buffers := from.Buffers()
	if from.DataType().ID() == arrow.NULL && len(buffers) == 0 {
		buffers = []*memory.Buffer{nil}
	}
	data := array.NewData(from.DataType(), from.Len(), buffers, children, from.NullN(), from.Offset())
	if entries, ok := from.Dictionary().(*array.Data); ok && entries != nil {
		data.SetDictionary(entries)
	}
	return data
}

// Spare implements thrifty: between steps there is nothing but dictionaries, which would be lost.
func (r *reader) Spare() {}

// Shrink implements thrifty: a record batch is read whole.
func (r *reader) Shrink() bool { return false }

// Needed implements needer.
func (r *reader) Needed() int64 { return r.messages.Needed() }

func (r *reader) Close() error {
	r.stream.Release()
	return r.source.Close()
}

// streamMark is the first four bytes of a message of an Arrow stream, since Arrow 0.15.
const streamMark = 0xFFFFFFFF

// IsStream says whether a file begins as an Arrow stream does. Before Arrow 0.15 a stream began with the
// length of its schema, behind which the offset of the flatbuffer's root stands.
func IsStream(head []byte) bool {
	const lengthMax = 1 << 20
	if bytes.HasPrefix(head, []byte{0xFF, 0xFF, 0xFF, 0xFF}) {
		return true
	}
	if len(head) < 8 {
		return false
	}
	length, root := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	return length%4 == 0 && length < lengthMax && root >= 4 && root < length
}
