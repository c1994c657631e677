package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// largestAllocator notes the largest buffer that was asked for.
type largestAllocator struct {
	memory.Allocator
	bytes int
}

func (a *largestAllocator) Allocate(size int) []byte {
	a.bytes = max(a.bytes, size)
	return a.Allocator.Allocate(size)
}

// Would catch constant columns that take memory for all rows of a batch as it was read: rows of
// which no other column is asked for come in batches of any size.
func TestConstantRows(t *testing.T) {
	const rows = 1 << 17
	dir := filepath.Join(t.TempDir(), "year=2020")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	values := array.NewInt8Builder(memory.DefaultAllocator)
	values.AppendValues(make([]int8, rows), nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int8}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{values.NewArray()}, rows)
	for name, data := range map[string][]byte{
		"f.parquet": scantest.EncodeParquet(t, rows, []arrow.RecordBatch{batch}), "f.arrow": scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}),
	} {
		mem := &largestAllocator{Allocator: memory.DefaultAllocator}
		opt := scan.OpenOptions{BatchRows: 1000, Allocator: mem}
		got, err := scantest.ReadAll(mustOpen(t, Options{}, scantest.WriteFile(t, dir, name, data)), []int{1}, opt)
		if err != nil || len(got) != rows || got[0] != "2020" || got[rows-1] != "2020" {
			t.Fatalf("%s: %d rows, %v", name, len(got), err)
		}
		if most := 8*opt.BatchRows + 63; mem.bytes > most {
			t.Errorf("%s: a buffer of %d B, where batches of %d rows take %d B", name, mem.bytes, opt.BatchRows, most)
		}
	}
}

// Would catch NULLs among a dictionary's entries that make another row NULL, or none; entries whose
// bytes are lost where the allocator gives more than was asked for; entries that are views; and a
// dictionary that batches no longer share.
func TestNullEntries(t *testing.T) {
	const rows = 3000
	for i, index := range []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32,
	} {
		values := arrow.DataType(arrow.BinaryTypes.String)
		if i > 2 {
			values = arrow.BinaryTypes.StringView
		}
		entries := array.NewBuilder(memory.DefaultAllocator, values).(array.StringLikeBuilder)
		for _, entry := range []string{"cut off", "a", "", strings.Repeat("long", 12), "b", ""} {
			if entry == "" {
				entries.AppendNull()
			} else {
				entries.Append(entry)
			}
		}
		dictionary := array.NewSlice(entries.NewArray(), 1, 6)
		schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.DictionaryType{IndexType: index, ValueType: values}, Nullable: true}}, nil)
		var batches []arrow.RecordBatch
		var want []string
		for from := range 2 {
			codes := array.NewBuilder(memory.DefaultAllocator, index)
			for row := range rows {
				code := []string{"2", "2", "2", "0", "3", "1", "4", ""}[(row*row+from)%8]
				if code == "" {
					codes.AppendNull()
				} else if err := codes.AppendValueFromString(code); err != nil {
					t.Fatal(err)
				}
				if at := strings.Index("023", code); row >= 7 && code != "" && at >= 0 {
					want = append(want, dictionary.ValueStr([]int{0, 2, 3}[at]))
				} else if row >= 7 {
					want = append(want, "NULL")
				}
			}
			column := array.NewDictionaryArray(schema.Field(0).Type, codes.NewArray(), dictionary)
			batches = append(batches, array.NewRecordBatch(schema, []arrow.Array{array.NewSlice(column, 7, rows)}, rows-7))
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		got, err := scantest.ReadAll(scan.Batches(schema, batches), []int{0}, scan.OpenOptions{Allocator: roomyAllocator{mem}})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s of %s: %d rows, first %q, want %d, first %q", index, values, len(got), got[:9], len(want), want[:9])
		}
		mem.AssertSize(t, 0)
	}
}

// roomyAllocator returns buffers with room to spare, as the engine's allocators do.
type roomyAllocator struct{ memory.Allocator }

func (a roomyAllocator) Allocate(size int) []byte { return a.Allocator.Allocate(2 * size)[:size] }

func (a roomyAllocator) Reallocate(size int, b []byte) []byte {
	return a.Allocator.Reallocate(2*size, b[:cap(b)])[:size]
}

func (a roomyAllocator) Free(b []byte) { a.Allocator.Free(b[:cap(b)]) }

// Would catch entries of fixed width that are taken from beside their place in a dictionary, NULL
// by their code or by themselves; and a code that no truth value has.
func TestFixedEntries(t *testing.T) {
	for _, c := range []struct {
		typ     arrow.DataType
		entries [4]string // of which the first is cut off, and the third is followed by NULL
	}{
		{arrow.PrimitiveTypes.Int64, [4]string{"1", "-2", "3", "4"}},
		{arrow.FixedWidthTypes.Boolean, [4]string{"true", "false", "true", "false"}},
		{&arrow.Decimal128Type{Precision: 30, Scale: 2}, [4]string{"1.00", "-22222222222222222222.25", "3.50", "4.00"}},
	} {
		entries := array.NewBuilder(memory.DefaultAllocator, c.typ)
		for i, entry := range c.entries {
			if i == 3 {
				entries.AppendNull()
			}
			if err := entries.AppendValueFromString(entry); err != nil {
				t.Fatal(err)
			}
		}
		dictionary := array.NewSlice(entries.NewArray(), 1, 5)
		codes := array.NewInt16Builder(memory.DefaultAllocator)
		var want []string
		for row := range 1000 {
			code := row * row % 5
			if code == 4 {
				codes.AppendNull()
				want = append(want, "NULL")
				continue
			}
			codes.Append(int16(code))
			text := "NULL"
			if dictionary.IsValid(code) {
				text = dictionary.ValueStr(code)
			}
			want = append(want, text)
		}
		typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: c.typ}
		schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: typ, Nullable: true}}, nil)
		read := func(codes arrow.Array) ([]string, error) {
			rows := int64(codes.Len()) - 3
			column := array.NewSlice(array.NewDictionaryArray(typ, codes, dictionary), 3, rows+3)
			batch := array.NewRecordBatch(schema, []arrow.Array{column}, rows)
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			got, err := scantest.ReadAll(scan.Batches(schema, []arrow.RecordBatch{batch}), []int{0}, scan.OpenOptions{Allocator: roomyAllocator{mem}})
			return got, err
		}
		got, err := read(codes.NewArray())
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want[3:]) {
			t.Errorf("%s: %v, first %q, want %q", c.typ, err, got[:min(9, len(got))], want[3:12])
		}
		codes.AppendValues([]int16{0, 0, 0, 1, 9}, nil)
		if _, err := read(codes.NewArray()); err == nil && c.typ.ID() == arrow.BOOL {
			t.Errorf("%s: a code that no entry has is taken", c.typ)
		}
	}
}
