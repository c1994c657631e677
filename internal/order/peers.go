package order

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
)

// Peers tells which rows, of rows that are in an order, differ from the row before by the order. It is not safe for
// concurrent use.
type Peers struct {
	encoder *keyEncoder
	any     bool   // a row was seen
	last    entry  // of the last row
	long    []byte // its key, where it does not fit
	entries []entry
}

// NewPeers returns the peers of rows in the order of some keys. Without keys all rows are peers.
func NewPeers(schema *arrow.Schema, keys []Key) *Peers {
	return &Peers{encoder: newKeyEncoder(schema, keys)}
}

// Mark sets differs for the rows of a batch that differ from the row before; the first row of all does.
func (p *Peers) Mark(batch arrow.RecordBatch, differs []bool) {
	var long longKeys
	p.entries, long = p.encoder.encode(p.entries[:0], batch, 0)
	for row := range p.entries {
		e := &p.entries[row]
		isSame := p.any && e.head == p.last.head
		if isSame && !p.encoder.short {
			isSame = bytes.Equal(long.at(uint32(row)), p.long)
		}
		if differs[row] = !isSame; differs[row] && !p.encoder.short {
			p.long = append(p.long[:0], long.at(uint32(row))...)
		}
		p.last, p.any = *e, true
	}
}

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
