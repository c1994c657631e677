package engine

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/nested"
)

// CodedRowsMost is the most rows of a build side whose strings are the entries of dictionaries: each row of a join has
// the number of a row in place of a string, and what groups or compares strings looks at each entry once.
const CodedRowsMost = 1 << 16

// codes is a column of strings of some batches as a dictionary.
type codes struct {
	values arrow.Array // without NULL, but of nested values: the empty string is none of these
	first  []int32     // by batch: the number of its first row
	isNull arrow.Array // the column; nil where no row of it is NULL
}

// newCodes returns the codes of a column of batches; nil of another type, and where the strings do not fit an array.
func newCodes(mem memory.Allocator, of arrow.DataType, batches []arrow.Array) *codes {
	switch of.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
	default:
		return nil
	}
	if len(batches) == 0 {
		return nil
	}
	c := &codes{}
	rows := 0
	for _, b := range batches {
		c.first = append(c.first, int32(rows))
		rows += b.Len()
	}
	var err error
	if c.values, err = array.Concatenate(batches, mem); err != nil {
		return nil
	}
	if c.values.NullN() > 0 {
		data := c.values.Data()
		if c.isNull = c.values; nested.Of(of) != nil {
			c.values.Retain()
			gather.Share(c.values)
			return c
		}
		plain := array.NewData(of, data.Len(), append([]*memory.Buffer{nil}, data.Buffers()[1:]...), nil, 0, data.Offset())
		c.values = array.MakeFromData(plain)
		plain.Release()
	}
	gather.Share(c.values)
	return c
}

// column returns the values of rows; rows of batch number len(first) are NULL.
func (c *codes) column(mem memory.Allocator, rows []gather.Row) arrow.Array {
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: c.values.DataType()}
	b := array.NewInt32Builder(mem)
	defer b.Release()
	b.Reserve(len(rows))
	for _, r := range rows {
		if int(r.Batch) == len(c.first) {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		code := c.first[r.Batch] + int32(r.Row)
		if c.isNull != nil && c.isNull.IsNull(int(code)) {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		b.UnsafeAppend(code)
	}
	indices := b.NewArray()
	defer indices.Release()
	return array.NewDictionaryArray(t, indices, c.values)
}

func (c *codes) release() {
	c.values.Release()
	if c.isNull != nil {
		c.isNull.Release()
	}
}
