package fields

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/nested"
)

// Column makes the arrays of one column of batches out of fields. Between Begin and Finish, or Drop,
// it holds buffers of its allocator.
type Column struct {
	typ      arrow.DataType // of the values
	format   Format         // of the fields
	to       converter
	unescape Unescape
	nulls    nullStrings
	mem      *reserve.Allocator
	room     int  // rows that the batch has at most
	bytes    int  // bytes that the text of the batch has at most
	rows     int  // of the batch, that were added before the fields
	many     bool // the batch has many columns: none may take more memory than it needs

	text   []byte // has Slack more bytes behind every field
	fields []Span // of text, that are added next

	validity *memory.Buffer // of the batch; nil while no row is NULL
	nullN    int            // NULLs of the batch
	scratch  []byte         // the last field that had escapes
}

// Options are what the columns of a reader have in common.
type Options struct {
	Memory   *reserve.Allocator
	Unescape Unescape
	Nulls    []string // the unquoted fields that are NULL
	Many     bool     // there are many columns: none may take more memory than it needs

	// Nested makes what reads the values of a nested type. The default, nil, reads no nested values.
	Nested func(t *nested.Type, format *Format) NestedReader
}

// NewColumn returns the column of a type that CanBe, of values that are written by a format. repeats
// says that the values are expected to repeat: then they come as codes of a dictionary.
func NewColumn(typ arrow.DataType, format Format, repeats bool, opt *Options) *Column {
	c := &Column{
		typ: typ, format: format, unescape: opt.Unescape, nulls: newNullStrings(opt.Nulls), mem: opt.Memory, many: opt.Many,
	}
	if t, ok := typ.(*nested.Type); ok {
		c.to = newNestedValues(t, &c.format, opt)
		return c
	}
	c.to = newConverter(typ, &c.format)
	if repeats {
		c.to = newTextCodes(typ, slotsOf(opt.Many))
	}
	return c
}

// BytesOf returns the memory that a column takes beside its buffers, together with its array in a
// batch.
func BytesOf(repeats, many bool) int64 {
	const converterBytes = 2 << 10
	if repeats {
		return converterBytes + codeSlotBytes*int64(slotsOf(many))
	}
	return converterBytes
}

// slotsOf returns the slots that a dictionary begins with.
func slotsOf(many bool) int {
	if many {
		return slotsFew
	}
	return slotsAtLeast
}

// CanBe says whether text can be read as a type, which is not nested.
func CanBe(typ arrow.DataType) bool { return newConverter(typ, &Format{}) != nil }

// Begin makes room for a batch of at most `rows` rows, out of at most `bytes` bytes of text.
func (c *Column) Begin(rows, bytes int) {
	c.room, c.bytes = rows, bytes
	c.to.begin(c)
}

// Add appends the values of some fields of a text, which has Slack more bytes behind each, to the
// rows that the batch has already. It returns -1, or the index of the first field that is no value of
// the type.
func (c *Column) Add(text []byte, fields []Span, rows int) (bad int) {
	c.Point(text, fields, rows)
	return c.to.add(c)
}

// Point turns to some fields of a text, as Add does, without adding their values.
func (c *Column) Point(text []byte, fields []Span, rows int) {
	c.text, c.fields, c.rows = text, fields, rows
}

// Finish returns the array of the batch's rows.
func (c *Column) Finish(rows int) arrow.Array {
	c.rows = rows
	return c.to.finish(c)
}

// Drop gives the buffers of the batch back without making an array.
func (c *Column) Drop() {
	c.to.drop()
	c.dropValidity()
}

// Forget gives back the dictionary, if there is one.
func (c *Column) Forget() {
	if codes, ok := c.to.(*textCodes); ok {
		codes.release(c)
	}
}

// nullStrings are the unquoted fields that are NULL.
type nullStrings struct {
	strings []string
	lengths uint64 // bit n modulo 64 is set if a string has n bytes
}

func newNullStrings(list []string) nullStrings {
	n := nullStrings{strings: list, lengths: missingLength}
	for _, s := range list {
		n.lengths |= 1 << (len(s) & 63)
	}
	return n
}

// Field returns the i-th of the fields that were added last. It is valid until the next call.
func (c *Column) Field(i int) []byte { return c.fields[i].Bytes(c.text, c.unescape, &c.scratch) }

// missingLength is the bit for fields that rows do not have, and for empty ones.
const missingLength = 1 << (Missing & 63)

// of says whether a field of some bytes may be NULL.
func (n *nullStrings) of(bytes uint32) bool { return n.lengths>>(bytes&63)&1 != 0 }

// isNull says whether the i-th field is NULL, and notes it if so.
func (c *Column) isNull(i int) bool {
	s := c.fields[i]
	if !c.nulls.of(s.length()) || s.IsQuoted() {
		return false
	}
	if s.isMissing() {
		c.setNull(c.rows + i)
		return true
	}
	field := c.text[s.Start:s.End]
	for _, null := range c.nulls.strings {
		if string(field) == null {
			c.setNull(c.rows + i)
			return true
		}
	}
	return false
}

func (c *Column) setNull(row int) {
	if c.validity == nil {
		c.validity = memory.NewResizableBuffer(c.mem)
		c.validity.Resize(int(bitutil.BytesForBits(int64(c.room))))
		delivery.Fill(c.validity.Bytes(), 0xFF)
	}
	bitutil.ClearBit(c.validity.Bytes(), row)
	c.nullN++
}

// array makes an array of the validity and other buffers, and releases them.
func (c *Column) array(typ arrow.DataType, dictionary arrow.Array, buffers ...*memory.Buffer) arrow.Array {
	all := append([]*memory.Buffer{c.validity}, buffers...)
	data := array.NewData(typ, c.rows, all, nil, c.nullN, 0)
	if dictionary != nil {
		data.SetDictionary(dictionary.Data())
	}
	defer data.Release()
	for _, b := range buffers {
		b.Release()
	}
	c.dropValidity()
	return array.MakeFromData(data)
}

// Rewind takes back the values from row on, of n rows that may have been added to the batch. It needs
// the fields that were added last.
func (c *Column) Rewind(row, n int) {
	if c.validity != nil {
		valid := bitutil.CountSetBits(c.validity.Bytes(), row, n)
		c.nullN -= n - valid
		bitutil.SetBitsTo(c.validity.Bytes(), int64(row), int64(n), true)
	}
	c.rows = row
	c.to.rewind(c)
}

// Format returns how the fields of the column are written.
func (c *Column) Format() *Format { return &c.format }

// Mismatch says in short why a field is no value of the column.
func (c *Column) Mismatch() string {
	if IsText(c.typ) {
		return "not valid UTF-8"
	}
	return fmt.Sprintf("not of type %s%s", TypeName(c.typ), &c.format)
}

func (c *Column) dropValidity() {
	dropBuffer(&c.validity)
	c.nullN = 0
}

// dropBuffer releases and forgets a buffer, if there is one.
func dropBuffer(b **memory.Buffer) {
	if *b != nil {
		(*b).Release()
		*b = nil
	}
}
