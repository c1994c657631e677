package order

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/grouptest"
)

// sieveText returns NULL or a string: short, with the same first bytes as others, or with zeros.
func sieveText(rng *rand.Rand) any {
	switch n := rng.IntN(100); rng.IntN(5) {
	case 0:
		return nil
	case 1:
		return fmt.Sprint("the first bytes are those of others ", n)
	case 2:
		return strings.Repeat("\x00", n%10)
	case 3:
		return "\xff\xff\xff\xff\xff\xff\xff\xff\xff"[:n%10]
	default:
		return fmt.Sprint(n)
	}
}

// Would catch rows that are left out without a look at their keys, though they come before the
// bound: where the bound is NULL or NaN, where the first columns are equal, and where a string
// decides.
func TestSieve(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "k", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		{Name: "u", Type: arrow.PrimitiveTypes.Uint64}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	floats := []any{nil, math.NaN(), math.Inf(1), math.Inf(-1), 0.0, math.Copysign(0, -1), 1.5, -1.5}
	var batches []arrow.RecordBatch
	for _, rows := range []int{36_000, 1, 5_000} {
		columns := make([][]any, schema.NumFields())
		for i := range rows {
			columns[0] = append(columns[0], floats[rng.IntN(len(floats))])
			columns[1] = append(columns[1], int64(rng.IntN(5)-2))
			if rng.IntN(3) == 0 {
				columns[1][i] = nil
			}
			columns[2] = append(columns[2], math.MaxUint64-uint64(rng.IntN(1000)))
			columns[3] = append(columns[3], sieveText(rng))
		}
		arrays := make([]arrow.Array, len(columns))
		for c := range arrays {
			arrays[c] = grouptest.Array(schema.Field(c).Type, columns[c])
		}
		batches = append(batches, grouptest.Batch(schema, arrays...))
	}
	rows := cellsOf(batches)
	for range 12 {
		by := By{Limited: true, Limit: 1 + rng.Int64N(2000)}
		for _, c := range rng.Perm(schema.NumFields())[:1+rng.IntN(schema.NumFields())] {
			by.Keys = append(by.Keys, Key{Column: c, Descending: rng.IntN(2) == 0, NullsFirst: rng.IntN(2) == 0})
		}
		r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 1 << 30})
		got, err := read(r)
		check(t, err)
		if r.sort.bound == nil {
			t.Errorf("%+v: no bound", by)
		}
		r.Release()
		same(t, got, oracle(rows, by))

		by.Bound = NewBound(by.Keys)
		sifted := &sifter{RecordReader: batchReader(t, schema, batches), by: by, sieve: by.Bound.NewSieve(), rng: rng}
		r = newReader(t, sifted, by, Options{Bytes: 1 << 30})
		got, err = read(r)
		check(t, err)
		r.Release()
		same(t, got, oracle(rows, by))
		if sifted.dropped == 0 {
			t.Errorf("%+v: the bound turned no row away", by)
		}
	}
}

// sifter leaves the rows out that a bound turns away.
type sifter struct {
	array.RecordReader
	by      By
	sieve   *Sieve
	rng     *rand.Rand
	batch   arrow.RecordBatch
	dropped int
}

func (s *sifter) RecordBatch() arrow.RecordBatch { return s.batch }

func (s *sifter) Next() bool {
	if !s.RecordReader.Next() {
		return false
	}
	s.batch = s.RecordReader.RecordBatch()
	if !s.by.Bound.Known() {
		return true
	}
	var keys []arrow.Array
	for _, k := range s.by.Keys {
		keys = append(keys, s.recoded(s.batch.Column(k.Column)))
	}
	n := int(s.batch.NumRows())
	bits := make([]byte, n/8+1)
	for i := range n {
		bitutil.SetBit(bits, i)
	}
	from := s.rng.IntN(n)
	for _, part := range [][2]int{{0, from}, {from, n}} {
		columns := make([]arrow.Array, len(keys))
		for i := range keys {
			columns[i] = array.NewSlice(keys[i], int64(part[0]), int64(part[1]))
		}
		if part[0] > 0 { // what the first keys tell alone
			columns = columns[:1+s.rng.IntN(len(columns))]
		}
		s.dropped += s.sieve.Select(columns, part[0], part[1]-part[0], bits)
	}
	mask := array.NewBoolean(n, memory.NewBufferBytes(bits), nil, 0)
	batch, err := compute.FilterRecordBatch(context.Background(), s.batch, mask, compute.DefaultFilterOptions())
	if err != nil {
		panic(err)
	}
	s.batch = batch
	return true
}

// recoded returns a column as it is, as a dictionary, or strings as views.
func (s *sifter) recoded(column arrow.Array) arrow.Array {
	dt := column.DataType()
	how := s.rng.IntN(3)
	if how == 0 || how == 1 && dt.ID() != arrow.STRING {
		return column
	}
	var parts []arrow.Array
	var cells []any
	codes := map[string]int64{}
	for i := range column.Len() {
		var cell any
		if column.IsValid(i) {
			text := column.ValueStr(i)
			if _, known := codes[text]; !known {
				codes[strings.Clone(text)] = int64(len(parts))
				parts = append(parts, array.NewSlice(column, int64(i), int64(i)+1))
			}
			if cell = any(codes[text]); how == 1 {
				cell = text
			}
		}
		cells = append(cells, cell)
	}
	if how == 1 {
		return grouptest.Array(arrow.BinaryTypes.StringView, cells)
	}
	entries := array.NewSlice(column, 0, 0)
	if len(parts) > 0 {
		var err error
		if entries, err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			panic(err)
		}
	}
	indexes := grouptest.Array(arrow.PrimitiveTypes.Int32, cells)
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: dt}, indexes, entries)
}

// Would catch a look at what a NULL has in place of a value: the code or the view may be anything.
func TestSieveOfNulls(t *testing.T) {
	texts := grouptest.Array(arrow.BinaryTypes.String, []any{"a string of some length"})
	none := array.MakeFromData(array.NewData(arrow.BinaryTypes.String, 0, make([]*memory.Buffer, 3), nil, 0, 0))
	null := memory.NewBufferBytes([]byte{0})
	coded := func(entries arrow.Array, code int32) arrow.Array {
		typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
		codes := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{code}))
		return array.MakeFromData(array.NewDataWithDictionary(typ, 1, []*memory.Buffer{null, codes}, 1, 0, entries.Data().(*array.Data)))
	}
	var header arrow.ViewHeader
	header.SetBytes(make([]byte, 34))
	header.SetIndexOffset(77, 99)
	views := memory.NewBufferBytes(arrow.ViewHeaderTraits.CastToBytes([]arrow.ViewHeader{header}))
	for name, values := range map[string]arrow.Array{
		"code beyond the entries": coded(texts, 99),
		"negative code":           coded(texts, -1),
		"no entries":              coded(none, 0),
		"view":                    array.MakeFromData(array.NewData(arrow.BinaryTypes.StringView, 1, []*memory.Buffer{null, views}, nil, 1, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := sieveWords(make([]uint64, 1), values, []int32{0}); !ok {
				t.Error("no words")
			}
		})
	}
}
