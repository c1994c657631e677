package encode

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
)

// internWords returns the words of strings, and which are not NULL (nil).
func internWords(cells []any) (words []uint64, valid []uint8) {
	valid = make([]uint8, len(cells))
	words = make([]uint64, 2*len(cells))
	for i, cell := range cells {
		if cell != nil {
			valid[i] = 1
			copy(words[2*i:2*i+2], grouptest.Words(cell.(string)))
		}
	}
	return words, valid
}

// Would catch one string with two numbers or two strings with one, when many workers meet new
// strings at the same time; a NULL with a number; and strings that keep the batch's memory.
func TestInternConcurrently(t *testing.T) {
	in := new(Interner)
	const workers, rounds, distinct = 8, 60, 20_000 // shards grow, strings take several blocks
	codes := make([]map[string]uint64, workers)
	var wg sync.WaitGroup
	for w := range workers {
		codes[w] = map[string]uint64{}
		wg.Go(func() {
			r := columnReader{interner: in}
			rng := rand.New(rand.NewPCG(3, uint64(w)))
			for range rounds {
				cells := make([]any, rng.IntN(2000))
				for i := range cells {
					if n := rng.IntN(distinct); n > 0 {
						cells[i] = fmt.Sprint(n) + strings.Repeat(" is longer", n%3)
					}
				}
				words, valid := internWords(cells)
				got := make([]uint64, len(cells))
				if err := r.internRows(got, words, valid); err != nil {
					t.Error(err)
				}
				for i, cell := range cells {
					if (cell == nil) != (got[i] == 0) {
						t.Errorf("%v has the number %d", cell, got[i])
					} else if s, ok := cell.(string); ok {
						if before, ok := codes[w][s]; ok && before != got[i] {
							t.Errorf("%q has the numbers %d and %d", s, before, got[i])
						}
						codes[w][s] = got[i]
					}
				}
			}
		})
	}
	wg.Wait()
	all := map[string]bool{}
	for w := range codes {
		for s, code := range codes[w] {
			all[s] = true
			value := in.String(code)
			if got := string(value.Bytes()); got != s {
				t.Errorf("number %d is %q for worker %d, %q in the list", code, s, w, got)
			}
		}
	}
	numbered := 0
	for n := range in.Len() {
		if s := in.String(uint64(n) + 1); s.Len() > 0 {
			numbered++
		}
	}
	if numbered != len(all) || in.Len() > 2*len(all) {
		t.Errorf("%d strings have %d numbers, up to %d", len(all), numbered, in.Len())
	}
}

// internedKey is a query whose key is one interned column.
func internedKey(t *testing.T, dict *arrow.DictionaryType) *rowdata.Bound {
	t.Helper()
	return &rowdata.Bound{
		Columns:    []rowdata.Column{*columnOf(t, dict, true)},
		KeyColumns: []int{0},
		Keys: rowdata.KeyLayout{Words: 1, Bits: 32,
			Fields: []rowdata.KeyField{{Kind: rowdata.Uint64, Interned: true, Bits: 32, Span: math.MaxUint32, NullBit: -1}}},
	}
}

// Would catch a string that has one number in a dictionary and another as it is, or in another
// batch's dictionary: its group would come out twice.
func TestInternedCodesAgree(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	in := new(Interner)
	bound := internedKey(t, dict)
	e := NewEncoder(bound, []*Interner{in})
	cells := []any{"one", nil, "a string of more than twelve bytes", "one", "", nil}
	numbers := map[any]uint64{nil: 0}
	for _, arr := range []arrow.Array{
		grouptest.Array(dict, cells),
		grouptest.Array(dict.ValueType, cells),
		grouptest.DictionaryArray(dict, // values that repeat, that no row has, and a NULL
			[]any{int64(4), int64(1), int64(0), int64(2), int64(5), nil},
			[]any{"a string of more than twelve bytes", nil, "one", "no row has this", "one", ""}),
	} {
		if err := e.SetBatch(grouptest.Batch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arr.DataType()}}, nil), arr), 0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tile, err := e.Encode(0, len(cells))
			if err != nil {
				t.Fatal(err)
			}
			got := tile.Keys
			for i := range cells {
				number, known := numbers[cells[i]]
				if !known {
					number = got[i]
					numbers[cells[i]] = number
				}
				if got[i] != number {
					t.Errorf("%s, row %d: %v has the number %d, had %d before", arr.DataType(), i, cells[i], got[i], number)
				}
			}
		}
	}
	for cell, number := range numbers {
		if cell == nil {
			continue
		}
		if s := in.String(number); string(s.Bytes()) != cell {
			t.Errorf("%d is the number of %q and of %q", number, cell, s.Bytes())
		}
	}
	if in.Len() != len(numbers)-1 {
		t.Errorf("%d strings are numbered, %d occur", in.Len(), len(numbers)-1)
	}
}

// Would catch numbers of one dictionary that are taken for another's, whose memory it has, a number
// that a worker reads before its string is there, and numbers without a string that cannot be asked
// for.
func TestSharedDictionaries(t *testing.T) {
	const workers, rounds, rows = 4, 60, 500
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	in := new(Interner)
	bound := internedKey(t, dict)
	rng := rand.New(rand.NewPCG(11, 1))
	var batches []arrow.RecordBatch
	var texts [][]any
	for d := range 6 {
		values := make([]any, 20+rng.IntN(900))
		for i := range values {
			values[i] = fmt.Sprintf("the entry %d of all", d*300+i) // half are other dictionaries', too
		}
		cells, indexes := make([]any, rows), make([]any, rows)
		for i := range cells {
			if at := rng.IntN(len(values)); rng.IntN(9) > 0 {
				cells[i], indexes[i] = values[at], int64(at)
			}
		}
		arr := grouptest.DictionaryArray(dict, indexes, values)
		arr.(*array.Dictionary).Dictionary() // made when it is first asked for, without a lock
		batches = append(batches, grouptest.Batch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: dict}}, nil), arr))
		texts = append(texts, cells)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(12, uint64(w)))
			e := NewEncoder(bound, []*Interner{in})
			for range rounds {
				d := rng.IntN(len(batches))
				if err := e.SetBatch(batches[d], 0); err != nil {
					t.Error(err)
					return
				}
				from := rng.IntN(rows)
				tile, err := e.Encode(from, from+rng.IntN(rows-from+1))
				if err != nil {
					t.Error(err)
					return
				}
				for i := range tile.Rows {
					got := ""
					if n := tile.Keys[i]; n != 0 {
						text := in.String(n)
						got = string(text.Bytes())
					}
					if want, _ := texts[d][from+i].(string); got != want {
						t.Errorf("dictionary %d, row %d: %q, want %q", d, from+i, got, want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for n := range in.Len() {
		in.String(uint64(n) + 1)
	}
	if len(in.shared) > workers {
		t.Errorf("%d dictionaries are kept for %d workers", len(in.shared), workers)
	}
}

// Would catch strings that are numbered anew though their indexes are numbers, a dictionary that
// has grown whose new strings have none, and an index outside a dictionary that is taken.
func TestNumberedDictionaries(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	column := columnOf(t, dict, true)
	column.Interned, column.Numbered = true, true
	in := new(Interner)
	texts := []any{"a", "", "a string of more than twelve bytes", "b"}
	for _, c := range []struct {
		entries int
		rows    []any
		want    []uint64
	}{
		{3, []any{int64(2), nil, int64(0)}, []uint64{3, 0, 1}},
		{4, []any{int64(3), int64(1)}, []uint64{4, 2}},
		{3, []any{int64(1), int64(2)}, []uint64{2, 3}},
		{3, []any{int64(3)}, nil},
	} {
		arr := grouptest.DictionaryArray(dict, c.rows, texts[:c.entries])
		r := columnReader{col: column, interner: in}
		if err := r.reset(arr); err != nil {
			t.Fatal(err)
		}
		got := make([]uint64, len(c.rows))
		if err := r.numbers(got, 0); (err != nil) != (c.want == nil) {
			t.Errorf("%v: error %v", c.rows, err)
		}
		for row, number := range c.want {
			if number != 0 && got[row] != number {
				t.Errorf("%v of %d strings: row %d has number %d, want %d", c.rows, c.entries, row, got[row], number)
			}
		}
	}
	if in.Len() != len(texts) {
		t.Errorf("%d strings are numbered, %d occur", in.Len(), len(texts))
	}
	for i, text := range texts {
		if s := in.String(uint64(i) + 1); string(s.Bytes()) != text {
			t.Errorf("%d is the number of %q and of %q", i+1, text, s.Bytes())
		}
	}
}
