package order

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// sieve finds the rows that may come before a bound without making their keys, which is ten times
// the work: column by column, as far as values are words, and of the first column of strings by
// their first eight bytes. Of each column it looks at the rows that are level with the bound: equal
// to it in all columns before.
type sieve struct {
	keys  []Key
	words []uint64 // by row: of the column that is looked at
	level []int32  // rows
	bits  []byte   // of rows
}

// boundValue is the bound's value in a column.
type boundValue struct {
	word  uint64 // of sieveWords
	exact bool   // values with equal words are equal
	null  bool
}

// sieveWords writes words that compare as the values do, anything for NULL: of a string, its first
// bytes. exact says that values with equal words are equal; ok, that the type has words. Of
// dictionaries and views, only the words of some rows are written.
func sieveWords(words []uint64, values arrow.Array, rows []int32) (exact, ok bool) {
	switch values := values.(type) {
	case *array.Dictionary:
		return dictionaryWords(words, values, rows)
	case stringArray[int32]:
		prefixWords(words, values)
		return false, true
	case stringArray[int64]:
		prefixWords(words, values)
		return false, true
	case *array.StringView:
		prefixesOf(words, values, values.Value, rows)
		return false, true
	case *array.BinaryView:
		prefixesOf(words, values, values.Value, rows)
		return false, true
	}
	bytes := orderedWords(words, values)
	return bytes > 0, bytes > 0
}

// dictionaryWords writes the words of the entries that some rows have.
func dictionaryWords(words []uint64, values *array.Dictionary, rows []int32) (exact, ok bool) {
	switch entries := values.Dictionary().(type) {
	case stringArray[int32]:
		entryPrefixes(words, entries, values, rows)
		return false, true
	case stringArray[int64]:
		entryPrefixes(words, entries, values, rows)
		return false, true
	}
	ofEntries := make([]uint64, values.Dictionary().Len())
	bytes := orderedWords(ofEntries, values.Dictionary())
	for _, row := range rows {
		if bytes > 0 && values.IsValid(int(row)) {
			words[row] = ofEntries[values.GetValueIndex(int(row))]
		}
	}
	return bytes > 0, bytes > 0
}

// prefixesOf writes the first eight bytes of the strings of some rows, zeros behind their ends. The
// view of a NULL may be anything.
func prefixesOf[T string | []byte](words []uint64, values arrow.Array, value func(row int) T, rows []int32) {
	nulls := values.NullN() > 0
	for _, row := range rows {
		if nulls && values.IsNull(int(row)) {
			continue
		}
		var prefix [8]byte
		copy(prefix[:], value(int(row)))
		words[row] = binary.BigEndian.Uint64(prefix[:])
	}
}

// entryPrefixes writes the first eight bytes of the strings that some rows have of a dictionary. The
// code of a NULL may be anything.
func entryPrefixes[O int32 | int64](words []uint64, entries stringArray[O], values *array.Dictionary, rows []int32) {
	if entries.Len() == 0 { // all rows are NULL
		return
	}
	offsets, text := entries.ValueOffsets(), entries.ValueBytes()
	nulls := values.NullN() > 0
	index := values.GetValueIndex
	if codes, ok := values.Indices().(*array.Int32); ok {
		index = func(row int) int { return int(codes.Value(row)) }
	}
	for _, row := range rows {
		if nulls && values.IsNull(int(row)) {
			continue
		}
		entry := index(int(row))
		words[row] = prefix(text, int(offsets[entry]-offsets[0]), int(offsets[entry+1]-offsets[entry]))
	}
}

// stringArray is an array of strings or binaries behind each other.
type stringArray[O int32 | int64] interface {
	Len() int
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
		words[i] = prefix(text, int(offsets[i]-first), int(offsets[i+1]-offsets[i]))
	}
}

// prefix returns the first eight of n bytes of a text, zeros behind their end.
func prefix(text []byte, from, n int) uint64 {
	switch {
	case n >= 8:
		return binary.BigEndian.Uint64(text[from:])
	case len(text)-from >= 8:
		return binary.BigEndian.Uint64(text[from:]) &^ (math.MaxUint64 >> (8 * n))
	}
	var b [8]byte
	copy(b[:], text[from:from+n])
	return binary.BigEndian.Uint64(b[:])
}

// valuesOf returns the values of a row in the first columns, as far as these are words, up to the
// first whose words are not exact.
func (s *sieve) valuesOf(batch arrow.RecordBatch, row int) (values []boundValue) {
	for _, k := range s.keys {
		value := array.NewSlice(batch.Column(k.Column), int64(row), int64(row)+1)
		var word [1]uint64
		exact, ok := sieveWords(word[:], value, []int32{0})
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
	columns := make([]arrow.Array, len(s.keys))
	for i, k := range s.keys {
		columns[i] = batch.Column(k.Column)
	}
	n := int(batch.NumRows())
	s.bits = slices.Grow(s.bits[:0], n/8+1)[:n/8+1]
	bitutil.SetBitsTo(s.bits, 0, int64(n), true)
	_, decided = s.sift(columns, 0, n, s.bits, b)
	s.list(s.bits, 0, n)
	for _, row := range s.level {
		entries = append(entries, entry{row: uint32(row)})
	}
	return entries, decided
}

// list makes level the rows whose bits are set, of n bits from a bit on.
func (s *sieve) list(selected []byte, from, n int) {
	s.level = s.level[:0]
	s.level = slices.Grow(s.level, n)
	row := 0
	for ; from%8 == 0 && row+64 <= n; row += 64 {
		for word := binary.LittleEndian.Uint64(selected[(from+row)/8:]); word != 0; word &= word - 1 {
			s.level = append(s.level, int32(row+bits.TrailingZeros64(word)))
		}
	}
	for ; row < n; row++ {
		if bitutil.BitIsSet(selected, from+row) {
			s.level = append(s.level, int32(row))
		}
	}
}

// sift looks at n rows whose bits from a bit on are set, by their values in the columns of the keys, or of the first
// keys.
// It clears the bits of rows that do not come before the bound, and returns how many it has
// cleared. Where decided is false, a row whose bit stays set may come behind the bound.
func (s *sieve) sift(columns []arrow.Array, from, n int, selected []byte, b *bound) (cleared int, decided bool) {
	s.words = slices.Grow(s.words[:0], n)[:n]
	s.list(selected, from, n)
	for i, value := range b.values[:min(len(b.values), len(columns))] {
		sieveWords(s.words, columns[i], s.level)
		cleared += s.look(columns[i], value, s.keys[i], func(row int32) { bitutil.ClearBit(selected, from+int(row)) })
		if len(s.level) == 0 {
			return cleared, true
		}
	}
	if decided = len(b.values) == len(s.keys) && len(columns) == len(s.keys) && b.values[len(b.values)-1].exact; !decided {
		return cleared, false
	}
	for _, row := range s.level { // a row with the bound's key comes behind the bound's row. O2.
		bitutil.ClearBit(selected, from+int(row))
	}
	return cleared + len(s.level), true
}

// look leaves the rows in level that are level with the bound in a column, too. It hands the rows
// behind the bound over, and returns their number.
func (s *sieve) look(column arrow.Array, bound boundValue, k Key, drop func(row int32)) (dropped int) {
	var flip uint64
	if k.Descending {
		flip = math.MaxUint64
	}
	hasNulls, limit := column.NullN() > 0, bound.word^flip
	level := s.level[:0]
	for _, row := range s.level {
		behind := false
		switch word, null := s.words[row]^flip, hasNulls && column.IsNull(int(row)); {
		case null && bound.null, !null && !bound.null && word == limit:
			level = append(level, row)
		case null:
			behind = !k.NullsFirst
		case bound.null:
			behind = k.NullsFirst
		default:
			behind = word > limit
		}
		if behind {
			drop(row)
			dropped++
		}
	}
	s.level = level
	return dropped
}
