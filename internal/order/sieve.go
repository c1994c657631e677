package order

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// sieve finds the rows that may come before a bound without making their keys, which is ten times
// the work: column by column, as far as values are words, and of the first column of strings by
// their first eight bytes. Of each column it looks at the rows that are equal to the bound in all
// columns before it.
type sieve struct {
	keys  []Key
	words []uint64 // by row: of the column that is looked at
	sides []side   // by row
}

// side says where a row is, seen from the bound, by the columns that were looked at.
type side uint8

const (
	level side = iota // with the bound
	before
	behind
)

// boundValue is the bound's value in a column.
type boundValue struct {
	word  uint64 // of sieveWords
	exact bool   // values with equal words are equal
	null  bool
}

// sieveWords writes words that compare as the values do, anything for NULL: of a string, its first
// bytes. exact says that values with equal words are equal; ok, that the type has words.
func sieveWords(words []uint64, values arrow.Array) (exact, ok bool) {
	switch values := values.(type) {
	case stringArray[int32]:
		prefixWords(words, values)
		return false, true
	case stringArray[int64]:
		prefixWords(words, values)
		return false, true
	}
	bytes := orderedWords(words, values)
	return bytes > 0, bytes > 0
}

// stringArray is an array of strings or binaries behind each other.
type stringArray[O int32 | int64] interface {
	ValueOffsets() []O
	ValueBytes() []byte
}

// prefixWords writes the first eight bytes of strings, zeros behind their ends.
func prefixWords[O int32 | int64](words []uint64, values stringArray[O]) {
	if len(words) == 0 {
		return
	}
	offsets, text := values.ValueOffsets()[:len(words)+1], values.ValueBytes()
	first := offsets[0]
	for i := range words {
		from, n := int(offsets[i]-first), int(offsets[i+1]-offsets[i])
		switch {
		case n >= 8:
			words[i] = binary.BigEndian.Uint64(text[from:])
		case len(text)-from >= 8:
			words[i] = binary.BigEndian.Uint64(text[from:]) &^ (math.MaxUint64 >> (8 * n))
		default:
			var b [8]byte
			copy(b[:], text[from:from+n])
			words[i] = binary.BigEndian.Uint64(b[:])
		}
	}
}

// valuesOf returns the values of a row in the first columns, as far as these are words, up to the
// first whose words are not exact.
func (s *sieve) valuesOf(batch arrow.RecordBatch, row int) (values []boundValue) {
	for _, k := range s.keys {
		value := array.NewSlice(batch.Column(k.Column), int64(row), int64(row)+1)
		var word [1]uint64
		exact, ok := sieveWords(word[:], value)
		null := value.IsNull(0)
		value.Release()
		if !ok {
			break
		}
		values = append(values, boundValue{word[0], exact, null})
		if !exact {
			break
		}
	}
	return values
}

// rows appends the rows that may come before the bound. decided says that all of these rows do.
func (s *sieve) rows(entries []entry, batch arrow.RecordBatch, b *bound) (_ []entry, decided bool) {
	n := int(batch.NumRows())
	if len(s.words) < n {
		s.words, s.sides = make([]uint64, n), make([]side, n)
	}
	sides := s.sides[:n]
	clear(sides)
	left := n // level with the bound
	for i, value := range b.values {
		k, column := s.keys[i], batch.Column(s.keys[i].Column)
		sieveWords(s.words[:n], column)
		if left = s.look(sides, column, value, k); left == 0 {
			break
		}
	}
	exact := len(b.values) > 0 && b.values[len(b.values)-1].exact
	decided = left == 0 || exact && len(b.values) == len(s.keys)
	for row, where := range sides {
		if where == before || where == level && !decided { // a row with the bound's key comes behind the bound's row. O2.
			entries = append(entries, entry{row: uint32(row)})
		}
	}
	return entries, decided
}

// look moves the rows that are level with the bound to their sides by a column, and returns how
// many stay.
func (s *sieve) look(sides []side, column arrow.Array, bound boundValue, k Key) (left int) {
	var flip uint64
	if k.Descending {
		flip = math.MaxUint64
	}
	nulls, others := before, behind // sides of a NULL beside a value, and of a value beside NULL
	if !k.NullsFirst {
		nulls, others = others, nulls
	}
	hasNulls, limit := column.NullN() > 0, bound.word^flip
	for row, word := range s.words[:len(sides)] {
		if sides[row] != level {
			continue
		}
		null := hasNulls && column.IsNull(row)
		switch word ^= flip; {
		case null && bound.null, !null && !bound.null && word == limit:
			left++
		case null:
			sides[row] = nulls
		case bound.null:
			sides[row] = others
		case word < limit:
			sides[row] = before
		default:
			sides[row] = behind
		}
	}
	return left
}
