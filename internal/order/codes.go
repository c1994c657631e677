package order

import "github.com/apache/arrow-go/v18/arrow"

// Codes are the values of a column in an order.
type Codes struct {
	entries []entry
	long    longKeys
	short   bool
}

// NewCodes returns the codes of the values of a key in a batch.
func NewCodes(batch arrow.RecordBatch, k Key) *Codes {
	e := newKeyEncoder(batch.Schema(), []Key{k})
	c := &Codes{short: e.short}
	c.entries, c.long = e.encode(nil, batch, 0)
	return c
}

// Compare compares a value with a value of other codes, of a column of the same type and order.
func (c *Codes) Compare(i int, other *Codes, j int) int {
	if d := compareHeads(&c.entries[i], &other.entries[j]); d != 0 || c.short {
		return d
	}
	return compareLong(c.long.at(uint32(i)), other.long.at(uint32(j)))
}
