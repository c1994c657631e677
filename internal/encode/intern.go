package encode

import (
	"errors"
	"math"
	"sync"

	"github.com/mpga/mpga/internal/rowdata"
)

// Interner numbers the distinct strings of one column of Bound.Columns, from 1, for all keys that
// are the column. All workers of a query share it: each looks up a whole dictionary at a time, so
// that they seldom wait for each other.
type Interner struct {
	mu     sync.RWMutex
	codes  map[string]uint64
	values []rowdata.Bytes2 // by code - 1
	heap   rowdata.Heap
}

var errTooManyStrings = errors.New(
	"a dictionary-encoded key column has more than 2^32-2 distinct strings; store it as plain strings")

// NewInterners returns the interners of a query, by column of b.Columns; nil for a column that is
// no interned key. Keys of the same column share one: a dictionary has one list of codes, whichever
// key it is packed for.
func NewInterners(b *rowdata.Bound) []*Interner {
	list := make([]*Interner, len(b.Columns))
	for k, c := range b.KeyColumns {
		if b.Keys.Fields[k].Interned && list[c] == nil {
			list[c] = &Interner{codes: make(map[string]uint64)}
		}
	}
	return list
}

// intern writes the codes of strings of two words each, and 0 for NULL. A nil valid means that
// there is no NULL.
func (in *Interner) intern(codes, words []uint64, valid []uint8) error {
	if in.lookup(codes, words, valid) {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range codes {
		codes[i] = 0
		if valid != nil && valid[i] == 0 {
			continue
		}
		v := rowdata.AsBytes2(words[2*i : 2*i+2])
		code, ok := in.codes[string(v.Bytes())]
		if !ok {
			if len(in.values) == math.MaxUint32-1 {
				return errTooManyStrings
			}
			in.values = append(in.values, in.heap.Keep(*v))
			code = uint64(len(in.values))
			in.codes[string(v.Bytes())] = code
		}
		codes[i] = code
	}
	return nil
}

// lookup is intern for strings that have codes already. It reports whether all of them have.
func (in *Interner) lookup(codes, words []uint64, valid []uint8) bool {
	in.mu.RLock()
	defer in.mu.RUnlock()
	for i := range codes {
		codes[i] = 0
		if valid != nil && valid[i] == 0 {
			continue
		}
		code, ok := in.codes[string(rowdata.AsBytes2(words[2*i:2*i+2]).Bytes())]
		if !ok {
			return false
		}
		codes[i] = code
	}
	return true
}

// Strings returns the interned strings, by code - 1. Codes given out later are not in it.
func (in *Interner) Strings() []rowdata.Bytes2 {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.values
}
