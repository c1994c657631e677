package encode

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
)

// dictionary is the values of a dictionary-encoded column, in words. Values are packed and encoded
// here, once (N3); a row then takes one load from a valueTable.
type dictionary struct {
	of    arrow.ArrayData // the same data serve many batches of one row group
	words []uint64        // of the values, in their kind's natural encoding
	valid []uint8         // by value; nil when no value is NULL
	len   int             // number of values

	// codes are the values' numbers in the interner, by value, and 0 where no row of this worker has
	// asked for the number: a filter may leave few rows of many values. nil where the column is not
	// interned.
	codes  []uint64
	asked  int               // values with a number
	shared *sharedDictionary // nil where the column is not interned
}

// sharedDictionary is the dictionary of an interned column, decoded by the first worker that meets
// it, and the numbers that any worker has found: the pieces of a row group's batches go to many
// workers.
type sharedDictionary struct {
	of      arrow.ArrayData
	decoded sync.Once
	err     error
	words   []uint64
	valid   []uint8
	numbers []atomic.Uint32 // by value; 0 where nobody has asked yet
	buf     []uint64        // memory of words, where words are no memory of the batch

	users int // workers. Requires: Interner.sharing is held.
}

// share returns what the workers know of a dictionary, in place of what a worker has used before,
// which may be nil.
func (in *Interner) share(of arrow.ArrayData, last *sharedDictionary) *sharedDictionary {
	in.sharing.Lock()
	defer in.sharing.Unlock()
	if last != nil {
		if last.users--; last.users == 0 {
			in.shared = slices.DeleteFunc(in.shared, func(s *sharedDictionary) bool { return s == last })
			in.spare = append(in.spare, last)
		}
	}
	for _, s := range in.shared {
		if s.of == of {
			s.users++
			return s
		}
	}
	s := &sharedDictionary{of: of, users: 1}
	if n := len(in.spare); n > 0 {
		s.buf, s.numbers = in.spare[n-1].buf, in.spare[n-1].numbers
		in.spare = in.spare[:n-1]
	}
	in.shared = append(in.shared, s)
	return s
}

// decode makes the words of a dictionary, once.
func (s *sharedDictionary) decode(col *rowdata.Column, values arrow.Array) error {
	s.decoded.Do(func() {
		s.words, s.valid, s.buf, s.err = dictionaryWords(col, values, s.buf)
		n := values.Len()
		if s.numbers = s.numbers[:min(n, cap(s.numbers))]; len(s.numbers) < n {
			s.numbers = make([]atomic.Uint32, n)
		}
		clear(s.numbers)
	})
	return s.err
}

// dictionaryWords returns the values of a dictionary in words, and which are not NULL. The words are
// in memory that grew from buf, which is returned, too, or are the batch's.
func dictionaryWords(col *rowdata.Column, values arrow.Array, buf []uint64) (
	words []uint64, valid []uint8, grown []uint64, err error,
) {
	column := rowdata.Column{Name: col.Name, Type: col.Type, Kind: col.Kind, Nullable: true}
	reader := columnReader{col: &column, words: buf}
	if err = reader.reset(values); err != nil {
		return nil, nil, buf, err
	}
	words, err = reader.natural(0, values.Len())
	if err == nil {
		valid, err = reader.valid(0, values.Len())
	}
	return words, valid, reader.words, err
}

// valueTable has a word for each entry of a dictionary: what the entry adds to a key, or is as an
// argument.
type valueTable struct {
	of     *dictionary
	usable bool     // what make returned to fill
	words  []uint64 // by entry
	buf    []uint64 // memory for words, kept for the next dictionary
}

// fill makes the table anew where it is of another dictionary than d. It reports whether the table
// is usable, as make said.
func (t *valueTable) fill(d *dictionary, make func() bool) bool {
	if t.of != d {
		t.of, t.usable = d, make()
	}
	return t.usable
}

// pack fills a table with what the entries add to the first word of a packed key. It returns false
// where an entry, which may be an entry that no row has, does not suit the field.
func (d *dictionary) pack(t *valueTable, f *rowdata.KeyField) bool {
	t.buf = rowdata.Grow(t.buf, d.len)
	t.words = t.buf
	clear(t.words)
	alone := *f
	alone.Word = 0
	return PackField(t.words, 1, &alone, d.words, d.valid) < 0
}

// setDictionary turns the reader to a dictionary.
func (r *columnReader) setDictionary(values arrow.Array) error {
	if r.dict != nil && r.dict.of == values.Data() {
		return nil
	}
	d := &dictionary{of: values.Data(), len: values.Len()}
	if r.interner != nil && !r.col.Numbered {
		d.shared = r.interner.share(values.Data(), r.shared)
		r.shared = d.shared
		if err := d.shared.decode(r.col, values); err != nil {
			return err
		}
		d.words, d.valid = d.shared.words, d.shared.valid
		r.dictCodes = rowdata.Grow(r.dictCodes, d.len)
		d.codes = r.dictCodes
		clear(d.codes)
	} else {
		var err error
		if d.words, d.valid, r.dictWords, err = dictionaryWords(r.col, values, r.dictWords); err != nil {
			return err
		}
		if r.interner != nil {
			r.interner.adopt(d)
		}
	}
	r.dict = d
	return nil
}

// numbers writes the numbers that the interner has given the dictionary's values of rows from a row
// on, as many as out has. The number of a NULL is arbitrary.
func (r *columnReader) numbers(out []uint64, from int) error {
	d := r.dict
	if r.col.Numbered {
		return r.ordinals(out, from)
	}
	if err := r.lookUp(out, d.codes, from); err != nil || d.asked == d.len {
		return err
	}
	indexes, err := r.indexes(from, len(out))
	if err != nil {
		return err
	}
	ask := &r.asking
	rows := ask.zeros(out)
	d.collect(ask, rows, indexes)
	if len(ask.values) == 0 {
		d.renumber(out, rows, indexes)
		return nil
	}
	ask.codes = rowdata.Grow(ask.codes, len(ask.values))
	if err := r.interner.intern(ask.codes, ask.words, d.len-d.asked, ask.scratch()); err != nil {
		return err
	}
	for i, index := range ask.values {
		d.codes[index] = ask.codes[i]
		d.shared.numbers[index].Store(uint32(ask.codes[i]))
	}
	d.asked += len(ask.values)
	d.renumber(out, rows, indexes)
	return nil
}

// renumber writes the numbers of rows again.
func (d *dictionary) renumber(out []uint64, rows, indexes []uint32) {
	for _, row := range rows {
		if index := indexes[row]; int(index) < d.len {
			out[row] = d.codes[index]
		}
	}
}

// ordinals is numbers where the interner has adopted the dictionary.
func (r *columnReader) ordinals(out []uint64, from int) error {
	indexes, err := r.indexes(from, len(out))
	if err != nil {
		return err
	}
	for row, index := range indexes {
		if int(index) >= r.dict.len && r.arr.IsValid(from+row) {
			return r.badIndex(index)
		}
		out[row] = uint64(index) + 1
	}
	return nil
}

// collect lists the dictionary's values of rows that have no number yet, and takes over the numbers
// that other workers have found. Rows of NULL may have any index.
func (d *dictionary) collect(ask *asking, rows, indexes []uint32) {
	const pending = math.MaxUint32 // no string's number; of a NULL for good
	ask.values, ask.words = ask.values[:0], ask.words[:0]
	for _, row := range rows {
		index := indexes[row]
		if int(index) >= d.len || d.codes[index] != 0 {
			continue
		}
		if number := d.shared.numbers[index].Load(); number != 0 {
			d.codes[index] = uint64(number)
			d.asked++
			continue
		}
		d.codes[index] = pending
		if d.valid != nil && d.valid[index] == 0 {
			d.asked++
			continue
		}
		ask.values = append(ask.values, index)
		ask.words = append(ask.words, d.words[2*index], d.words[2*index+1])
	}
}

// asking is the scratch of numbers, and of strings that are interned without a dictionary.
type asking struct {
	rows   []uint32 // without a number, or that are not NULL
	values []uint32 // of the dictionary
	words  []uint64 // of values
	codes  []uint64 // of values
	batch  *internBatch
}

// scratch returns the memory of calls of intern.
func (a *asking) scratch() *internBatch {
	if a.batch == nil {
		a.batch = new(internBatch)
	}
	return a.batch
}

// zeros returns the rows whose words are 0. It has no branch: where few rows of a tile are new, a
// branch would be mispredicted for each.
func (a *asking) zeros(words []uint64) []uint32 {
	a.rows = rowdata.Grow(a.rows, len(words)+1)
	n := 0
	for row, w := range words {
		a.rows[n] = uint32(row)
		n += 1 - differ(w, 0)
	}
	return a.rows[:n]
}

// internRows writes the numbers of the strings of rows, of two words each, and 0 for NULL. A nil
// valid means that there is no NULL.
func (r *columnReader) internRows(codes, words []uint64, valid []uint8) error {
	ask := &r.asking
	if valid == nil {
		return r.interner.intern(codes, words, 0, ask.scratch())
	}
	ask.rows, ask.words = ask.rows[:0], ask.words[:0]
	for row, ok := range valid[:len(codes)] {
		if ok != 0 {
			ask.rows = append(ask.rows, uint32(row))
			ask.words = append(ask.words, words[2*row], words[2*row+1])
		}
	}
	ask.codes = rowdata.Grow(ask.codes, len(ask.rows))
	if err := r.interner.intern(ask.codes, ask.words, 0, ask.scratch()); err != nil {
		return err
	}
	clear(codes)
	for i, row := range ask.rows {
		codes[row] = ask.codes[i]
	}
	return nil
}

// lookUp writes a table's words for rows from a row on, as many as out has. The word of a NULL is
// arbitrary.
func (r *columnReader) lookUp(out, table []uint64, from int) error {
	indexes, err := r.indexes(from, len(out))
	if err != nil {
		return err
	}
	for row := 0; ; row++ {
		row += lookUpWords(out[row:], table, indexes[row:])
		if row == len(out) {
			return nil
		}
		if r.arr.IsValid(from + row) {
			return r.badIndex(indexes[row])
		}
		out[row] = 0
	}
}

// lookUpWords writes words of a table up to the first index that the table does not have, and
// returns how many it wrote. Four indexes are compared at once, which takes half the time.
func lookUpWords(out, table []uint64, indexes []uint32) (n int) {
	words := unsafe.Pointer(unsafe.SliceData(table))
	at := func(index uint32) uint64 { return *(*uint64)(unsafe.Add(words, 8*uintptr(index))) }
	out = out[:len(indexes)]
	for n = lookUpSmall(out, table, indexes); len(indexes)-n >= 4; n += 4 {
		from, to := indexes[n:n+4:n+4], out[n:n+4:n+4]
		a, b, c, d := from[0], from[1], from[2], from[3]
		if int(max(a, b, c, d)) >= len(table) {
			break
		}
		to[0], to[1], to[2], to[3] = at(a), at(b), at(c), at(d)
	}
	for i, index := range indexes[n:] {
		if int(index) >= len(table) {
			return n + i
		}
		out[n+i] = table[index]
	}
	return len(indexes)
}

func (r *columnReader) badIndex(index uint32) error {
	return fmt.Errorf("column %q: index %d into a dictionary of %d values: %w",
		r.col.Name, index, r.dict.len, scan.ErrCorrupt)
}

// decode writes the words of n rows from the dictionary.
func (r *columnReader) decode(from, n int) error {
	if r.col.Kind.Words() == 1 {
		return r.lookUp(r.words[:n], r.dict.words, from)
	}
	words := r.dict.words
	indexes, err := r.indexes(from, n)
	if err != nil {
		return err
	}
	for row, index := range indexes {
		switch {
		case int(index) < r.dict.len:
			r.words[2*row], r.words[2*row+1] = words[2*index], words[2*index+1]
		case r.arr.IsValid(from + row):
			return r.badIndex(index)
		default:
			r.words[2*row], r.words[2*row+1] = 0, 0
		}
	}
	return nil
}

// indexes returns the dictionary indexes of n rows. An index that does not fit 32 bits, which no
// dictionary has, becomes the largest.
func (r *columnReader) indexes(from, n int) ([]uint32, error) {
	width := r.arr.DataType().(*arrow.DictionaryType).IndexType.(arrow.FixedWidthDataType).Bytes()
	raw, err := fixedBytes(r.data, width, from, n)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", r.col.Name, err)
	}
	if width == 4 {
		return rowdata.View[uint32](raw), nil
	}
	r.index = rowdata.Grow(r.index, n)
	switch width {
	case 1:
		for i, v := range raw {
			r.index[i] = uint32(v)
		}
	case 2:
		for i, v := range rowdata.View[uint16](raw) {
			r.index[i] = uint32(v)
		}
	default:
		for i, v := range rowdata.View[uint64](raw) {
			r.index[i] = uint32(min(v, math.MaxUint32))
		}
	}
	return r.index, nil
}
