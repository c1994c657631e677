package order

import (
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// packing is how the keys of rows that are all known fit their entries, as numbers of up to 128 bits: each column takes
// the bits that the range of its values needs, above the bits of the columns behind it.
//
//	a bit for NULL or a value, of a column with NULLs | value - least, or most - value where the order is descending
type packing struct {
	columns []packedColumn
	words   []uint64 // scratch
}

// packedColumn is the part of a packed key that has the values of a column.
type packedColumn struct {
	Key
	least, most uint64 // words of values; least > most where there are none
	nulls       bool   // some values are NULL
}

// isWord says whether values of a type have words, as orderedWords makes them.
func isWord(dt arrow.DataType) bool {
	none := array.MakeArrayOfNull(memory.DefaultAllocator, dt, 0)
	defer none.Release()
	return orderedWords(nil, none) > 0
}

// width returns the bits of a value.
func (c *packedColumn) width() int {
	if c.least > c.most {
		return 0
	}
	return bits.Len64(c.most - c.least)
}

// widen notes the values of an array. words is scratch.
func (c *packedColumn) widen(words []uint64, values arrow.Array) {
	orderedWords(words, values)
	if values.NullN() == 0 {
		for _, w := range words {
			c.least, c.most = min(c.least, w), max(c.most, w)
		}
		return
	}
	c.nulls = true
	for row, w := range words {
		if values.IsValid(row) {
			c.least, c.most = min(c.least, w), max(c.most, w)
		}
	}
}

// newPacking returns the packing of no rows; nil where a key is no word.
func newPacking(schema *arrow.Schema, keys []Key) *packing {
	p := &packing{}
	for _, k := range keys {
		if !isWord(schema.Field(k.Column).Type) {
			return nil
		}
		p.columns = append(p.columns, packedColumn{Key: k, least: ^uint64(0)})
	}
	return p
}

// widen notes the keys of a batch.
func (p *packing) widen(batch arrow.RecordBatch) {
	rows := int(batch.NumRows())
	p.words = slices.Grow(p.words[:0], rows)[:rows]
	for i := range p.columns {
		p.columns[i].widen(p.words, batch.Column(p.columns[i].Column))
	}
}

// fits says whether the keys of all rows fit their entries.
func (p *packing) fits() bool { return p != nil && p.bitsOf(len(p.columns)) <= 8*headBytes }

// bitsOf returns the bits of the first n columns.
func (p *packing) bitsOf(n int) (bits int) {
	for i := range p.columns[:n] {
		bits += p.columns[i].width()
		if p.columns[i].nulls {
			bits++
		}
	}
	return bits
}

// encode writes the entries of the rows of a batch.
func (p *packing) encode(entries []entry, batch arrow.RecordBatch, number int) {
	for row := range entries {
		entries[row] = entry{batch: uint32(number), row: uint32(row)}
	}
	words := make([]uint64, len(entries))
	for i := range p.columns {
		c := &p.columns[i]
		values := batch.Column(c.Column)
		orderedWords(words, values)
		if c.nulls {
			c.mark(entries, words, values)
		}
		width := c.width()
		base, sign := c.least, uint64(0)
		if c.Descending {
			base, sign = c.most, ^uint64(0)
		}
		for row := range entries {
			v := ((words[row] - base) ^ sign) - sign
			entries[row].push(v, width)
		}
	}
}

// mark adds the bit that says whether a value is NULL, and gives the words of NULL a value.
func (c *packedColumn) mark(entries []entry, words []uint64, values arrow.Array) {
	null, some := uint64(1), uint64(0)
	if c.NullsFirst {
		null, some = 0, 1
	}
	for row := range entries {
		if values.IsValid(row) {
			entries[row].push(some, 1)
			continue
		}
		entries[row].push(null, 1)
		if words[row] = c.least; c.Descending {
			words[row] = c.most
		}
	}
}

// push adds bits to the low end of the key of an entry.
func (e *entry) push(v uint64, bits int) {
	e.head[0] = e.head[0]<<bits | e.head[1]>>(64-bits)
	e.head[1] = e.head[1]<<bits | v
}
