package ipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// Arrow's metadata is flatbuffers: tables of optional fields, each at a slot that its schema
// (Message.fbs, Schema.fbs, File.fbs) fixes. These are the slots that are looked at here.
const (
	messageHeaderType = 6
	messageHeader     = 8
	messageBodyLength = 10
	messageMetadata   = 12

	schemaFields   = 6
	schemaMetadata = 8

	fieldTypeKind   = 8
	fieldType       = 10
	fieldDictionary = 12
	fieldChildren   = 14
	fieldMetadata   = 16

	encodingID = 4 // of the table in fieldDictionary

	unionTypeIDs = 6 // of the type table of a union

	batchRowCount    = 4
	batchBuffers     = 8
	batchCompression = 10
	batchVariadic    = 12

	dictionaryID      = 4
	dictionaryBatch   = 6
	dictionaryIsDelta = 8

	footerDictionaries = 8
	footerBatches      = 10
)

// The members of the union of message headers, and of the union of types.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3

	kindUnion      = 14
	kindBinaryView = 23
	kindStringView = 24
)

// viewCounts is how many view columns a schema has: a batch has a variadic count for each, and
// arrow-go reads that many without looking how many there are.
type viewCounts struct {
	batch      int
	dictionary map[int64]int // by the dictionary's id
}

// bufferBytes is the struct Buffer: offset and length, of 8 B each.
const bufferBytes = 16

// headerBytesMax bounds the metadata of a message: a schema of a million columns takes less.
const headerBytesMax = 256 << 20

// messages is an ipc.MessageReader that checks the lengths in a message before arrow-go allocates
// by them: the Go runtime ends a process that asks for more memory than there is. S3.
type messages struct {
	r            io.Reader
	mem          *reserve.Allocator
	bodyBytesMax int64
	views        viewCounts // of the schema, which comes first

	current  *ipc.Message   // that Message has returned; nil before
	next     []*ipc.Message // read ahead
	header   []byte         // of the message whose body is to be read next; nil where it has not been read
	body     int64          // bytes of that body
	unpacked int64          // bytes that the buffers of the last message take decompressed, if it is compressed
	ended    error          // of reading: io.EOF, or the error that ends the stream; nil before
	count    int            // messages whose headers have been read
}

// Retain implements ipc.MessageReader. The messages have one holder, the reader that they are for.
func (m *messages) Retain() {}

// Release implements ipc.MessageReader.
func (m *messages) Release() {
	m.drop()
	for _, message := range m.next {
		message.Release()
	}
	m.next = nil
}

// drop releases the message that was returned last.
func (m *messages) drop() {
	if m.current != nil {
		m.current.Release()
		m.current = nil
	}
}

// unpackedGuess is how many bytes a compressed byte is taken for before a body has been read.
const unpackedGuess = 4

// Needed returns how many bytes the next message takes, or its buffers where it has been read.
func (m *messages) Needed() int64 {
	if m.header == nil {
		return m.unpacked
	}
	batch, ok := batchOf(rootTable(m.header))
	if !ok {
		return m.body
	}
	if _, compressed := child(batch, batchCompression); compressed {
		return (1 + unpackedGuess) * m.body
	}
	return m.body
}

// ahead reads the messages up to and including the next record batch: where there is no room for a
// message, arrow-go has not begun with the batch, and another try goes on. Message returns the
// errors of reading.
func (m *messages) ahead() error {
	for m.ended == nil {
		if n := len(m.next); n > 0 && m.next[n-1].Type() == ipc.MessageRecordBatch {
			return m.mem.Ask(m.unpacked)
		}
		var message *ipc.Message
		err := decode.Guard(func() (err error) {
			message, err = m.read()
			return err
		})
		if m.mem.HasRefused(err) {
			return err
		}
		if m.ended = err; err == nil {
			m.next = append(m.next, message)
		}
	}
	return nil
}

// Message implements ipc.MessageReader: a message is valid until the next, and io.EOF is the end.
func (m *messages) Message() (*ipc.Message, error) {
	m.drop()
	switch {
	case len(m.next) > 0:
		m.current, m.next = m.next[0], m.next[1:]
		return m.current, nil
	case m.ended != nil:
		return nil, m.ended
	}
	message, err := m.read()
	m.current = message
	return message, err
}

// read reads the next message, which the caller owns. A record batch without rows is passed over: its buffers may be
// empty, offsets included, as Arrow 0.14 wrote them and arrow-go does not expect.
func (m *messages) read() (*ipc.Message, error) {
	for {
		message, header, err := m.readOne()
		if err != nil || message.Type() != ipc.MessageRecordBatch {
			return message, err
		}
		if batch, ok := batchOf(rootTable(header)); !ok || batch.GetInt64Slot(batchRowCount, 0) != 0 {
			return message, nil
		}
		message.Release()
	}
}

// readOne reads a message, and returns its header, too.
func (m *messages) readOne() (message *ipc.Message, header []byte, err error) {
	if m.header == nil {
		if err := m.readHeader(); err != nil {
			return nil, nil, err
		}
	}
	if m.body > reserve.LargeBytes {
		m.mem.Room(m.body)
	}
	body := memory.NewResizableBuffer(m.mem)
	defer body.Release()
	body.Resize(int(m.body))
	header = m.header
	m.header = nil
	if _, err := io.ReadFull(m.r, body.Bytes()); err != nil {
		return nil, nil, fmt.Errorf("the data ends within a message body of %d B: %w", m.body, noEOF(err))
	}
	err = decode.Guard(func() (err error) {
		m.unpacked, err = checkCompressed(header, body.Bytes())
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("message %d: %w", m.count, err)
	}
	return ipc.NewMessage(memory.NewBufferBytes(header), body), header, nil
}

// readHeader reads the header of the next message.
func (m *messages) readHeader() error {
	header, err := readHeader(m.r)
	if err != nil {
		return err
	}
	m.count++
	bytes, err := checkMessage(header, &m.views)
	if err == nil && bytes > m.bodyBytesMax {
		err = fmt.Errorf("%w: a message body of %d B, where %d B are the most", decode.ErrCorrupt, bytes, m.bodyBytesMax)
	}
	if err != nil {
		return fmt.Errorf("message %d: %w", m.count, err)
	}
	m.header, m.body = header, bytes
	return nil
}

// noEOF keeps an end that comes too early from looking like the end of the stream.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readHeader reads a message's flatbuffer. A length of zero ends a stream, as its plain end does.
func readHeader(r io.Reader) ([]byte, error) {
	var word [4]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(word[:])
	if size == streamMark {
		if _, err := io.ReadFull(r, word[:]); err != nil {
			return nil, noEOF(err)
		}
		size = binary.LittleEndian.Uint32(word[:])
	}
	if size == 0 {
		return nil, io.EOF
	}
	if size > headerBytesMax {
		return nil, fmt.Errorf("%w: a message header of %d B, where %d B are the most",
			decode.ErrCorrupt, size, headerBytesMax)
	}
	header, err := io.ReadAll(io.LimitReader(r, int64(size))) // grows with what is there
	if err == nil && len(header) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("the data ends within a message header of %d B: %w", size, err)
	}
	return header, nil
}

// rootTable returns a flatbuffer's outermost table.
func rootTable(buf []byte) flatbuffers.Table {
	return flatbuffers.Table{Bytes: buf, Pos: flatbuffers.GetUOffsetT(buf)}
}

// child returns the table in a slot, if it is there.
func child(t flatbuffers.Table, slot flatbuffers.VOffsetT) (c flatbuffers.Table, ok bool) {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return c, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + at)}, true
}

// vector returns where the vector in a slot starts and its length, of elements that fit the buffer.
func vector(t flatbuffers.Table, slot flatbuffers.VOffsetT,
	elementBytes int) (start flatbuffers.UOffsetT, n int, err error) {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return 0, 0, nil
	}
	start, n = t.Vector(at), t.VectorLen(at)
	if int(start) > len(t.Bytes) || n < 0 || n > (len(t.Bytes)-int(start))/elementBytes {
		return 0, 0, fmt.Errorf("%w: a vector of %d elements in a header of %d B", decode.ErrCorrupt, n, len(t.Bytes))
	}
	return start, n, nil
}

// checkMessage checks the lengths in a message header and returns the length of the body. A schema
// sets views, and batches are checked against views; views is nil where only the header is looked at.
func checkMessage(header []byte, views *viewCounts) (bodyBytes int64, err error) {
	err = decode.Guard(func() error {
		message := rootTable(header)
		if bodyBytes = message.GetInt64Slot(messageBodyLength, 0); bodyBytes < 0 {
			return fmt.Errorf("%w: a message body of %d B", decode.ErrCorrupt, bodyBytes)
		}
		if _, _, err := vector(message, messageMetadata, 4); err != nil {
			return err
		}
		table, ok := child(message, messageHeader)
		if !ok {
			return fmt.Errorf("%w: a message without a header", decode.ErrCorrupt)
		}
		kind := message.GetByteSlot(messageHeaderType, 0)
		if kind == headerSchema {
			counts, err := checkSchema(table)
			if views != nil {
				*views = counts
			}
			return err
		}
		batch, ok := batchOf(message)
		if !ok {
			return fmt.Errorf("%w: a message of an unknown kind, or a dictionary without values", decode.ErrCorrupt)
		}
		need := 0
		switch {
		case views == nil:
		case kind == headerBatch:
			need = views.batch
		default:
			need = views.dictionary[table.GetInt64Slot(dictionaryID, 0)]
		}
		return checkBatch(batch, need)
	})
	return bodyBytes, err
}

func checkSchema(schema flatbuffers.Table) (viewCounts, error) {
	views := viewCounts{dictionary: make(map[int64]int)}
	if _, _, err := vector(schema, schemaMetadata, 4); err != nil {
		return views, err
	}
	// A schema has fewer fields than bytes; offsets that share tables could count more.
	budget := len(schema.Bytes)
	return views, checkFields(schema, schemaFields, &views, &views.batch, &budget)
}

// checkFields checks the fields in a slot and their children in turn, and counts views in count, or
// in the count of the dictionary that holds them. budget is how many fields there may still be.
func checkFields(parent flatbuffers.Table, slot flatbuffers.VOffsetT, views *viewCounts, count, budget *int) error {
	start, n, err := vector(parent, slot, 4)
	if err != nil {
		return err
	}
	for i := range n {
		if *budget--; *budget < 0 {
			return fmt.Errorf("%w: a schema of more fields than bytes", decode.ErrCorrupt)
		}
		at := start + flatbuffers.UOffsetT(4*i)
		field := flatbuffers.Table{Bytes: parent.Bytes, Pos: parent.Indirect(at)}
		if err := checkField(field, views, count, budget); err != nil {
			return err
		}
	}
	return nil
}

func checkField(field flatbuffers.Table, views *viewCounts, count, budget *int) error {
	if _, _, err := vector(field, fieldMetadata, 4); err != nil {
		return err
	}
	kind := field.GetByteSlot(fieldTypeKind, 0)
	if typ, ok := child(field, fieldType); ok && kind == kindUnion {
		if _, _, err := vector(typ, unionTypeIDs, 4); err != nil {
			return err
		}
	}
	own := 0
	if kind == kindBinaryView || kind == kindStringView {
		own = 1
	}
	if err := checkFields(field, fieldChildren, views, &own, budget); err != nil {
		return err
	}
	if encoding, ok := child(field, fieldDictionary); ok {
		id := encoding.GetInt64Slot(encodingID, 0)
		views.dictionary[id] = max(views.dictionary[id], own)
	} else {
		*count += own
	}
	return nil
}

// batchOf returns the record batch of a message; of a dictionary, the batch of its values.
func batchOf(message flatbuffers.Table) (batch flatbuffers.Table, ok bool) {
	table, ok := child(message, messageHeader)
	switch message.GetByteSlot(messageHeaderType, 0) {
	case headerBatch:
		return table, ok
	case headerDictionary:
		return child(table, dictionaryBatch)
	}
	return batch, false
}

// A compressed buffer starts with its length uncompressed, of 8 B. The codecs make at most
// codecBlockMax bytes of a block, which takes codecBlockMin at least: zstd's run of one byte does.
const (
	codecBlockMax = 128 << 10
	codecBlockMin = 3
)

// checkCompressed makes sure that no buffer claims to be longer than its codec could make it. It
// returns how many bytes the buffers have decompressed, 0 where they are not compressed.
func checkCompressed(header, body []byte) (unpacked int64, err error) {
	batch, ok := batchOf(rootTable(header))
	if !ok {
		return 0, nil
	}
	if _, compressed := child(batch, batchCompression); !compressed {
		return 0, nil
	}
	start, n, err := vector(batch, batchBuffers, bufferBytes)
	if err != nil {
		return 0, err
	}
	for i := range n {
		at := start + flatbuffers.UOffsetT(bufferBytes*i)
		offset, size := batch.GetInt64(at), batch.GetInt64(at+8)
		if size == 0 {
			continue
		}
		if offset < 0 || size < 8 || offset > int64(len(body)) || size > int64(len(body))-offset {
			return 0, fmt.Errorf("%w: a buffer of %d B at offset %d of a body of %d B",
				decode.ErrCorrupt, size, offset, len(body))
		}
		whole := int64(binary.LittleEndian.Uint64(body[offset:]))
		if whole < -1 || whole/codecBlockMax > (size-8)/codecBlockMin {
			return 0, fmt.Errorf("%w: a buffer of %d B claims to be %d B uncompressed", decode.ErrCorrupt, size, whole)
		}
		unpacked += max(whole, 0)
	}
	return unpacked, nil
}

// checkBatch makes sure that there are as many variadic counts as views need, and that none counts
// more buffers than there are.
func checkBatch(batch flatbuffers.Table, views int) error {
	_, buffers, err := vector(batch, batchBuffers, bufferBytes)
	if err != nil {
		return err
	}
	start, n, err := vector(batch, batchVariadic, 8)
	if err != nil {
		return err
	}
	if n < views {
		return fmt.Errorf("%w: buffer counts for %d of %d view columns", decode.ErrCorrupt, n, views)
	}
	for i := range n {
		count := batch.GetInt64(start + flatbuffers.UOffsetT(8*i))
		if count < 0 || count > int64(buffers) {
			return fmt.Errorf("%w: a column of %d buffers in a batch of %d", decode.ErrCorrupt, count, buffers)
		}
	}
	return nil
}

// CheckSchema checks the message of a schema, which Parquet files keep too.
func CheckSchema(message []byte) error {
	header, err := readHeader(bytes.NewReader(message))
	if err != nil {
		return noEOF(err)
	}
	bodyBytes, err := checkMessage(header, nil)
	if err == nil && bodyBytes != 0 {
		err = fmt.Errorf("a body of %d B", bodyBytes)
	}
	return err
}
