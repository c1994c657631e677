package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// roomyAllocator returns buffers with room to spare, as the engine's allocators do.
type roomyAllocator struct{ memory.Allocator }

func (a roomyAllocator) Allocate(size int) []byte { return a.Allocator.Allocate(2 * size)[:size] }

func (a roomyAllocator) Reallocate(size int, b []byte) []byte {
	return a.Allocator.Reallocate(2*size, b[:cap(b)])[:size]
}

func (a roomyAllocator) Free(b []byte) { a.Allocator.Free(b[:cap(b)]) }

// Would catch NULLs among a dictionary's entries that make another row NULL, or none; entries whose bytes are lost where
// the allocator gives more than was asked for; entries that are views; and a dictionary that batches no longer share.
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
		got, err := readAll(Batches(schema, batches), []int{0}, OpenOptions{Allocator: roomyAllocator{mem}})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s of %s: %d rows, first %q, want %d, first %q", index, values, len(got), got[:9], len(want), want[:9])
		}
		mem.AssertSize(t, 0)

		var kept noNullEntries
		kept.set(dictionary.Data(), dictionary)
		before := kept.values.Data()
		if kept.set(dictionary.Data(), dictionary); kept.values.Data() != before {
			t.Error("the entries of one dictionary are made twice")
		}
		kept.drop()
	}
}

// largestAllocator notes the largest buffer that was asked for.
type largestAllocator struct {
	memory.Allocator
	bytes int
}

func (a *largestAllocator) Allocate(size int) []byte {
	a.bytes = max(a.bytes, size)
	return a.Allocator.Allocate(size)
}

// Would catch constant columns that take memory for all rows of a batch as it was read: rows of which no other column is
// asked for come in batches of any size.
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
		"f.parquet": encodeParquet(t, rows, []arrow.RecordBatch{batch}), "f.arrow": encodeArrow(t, false, []arrow.RecordBatch{batch}),
	} {
		mem := &largestAllocator{Allocator: memory.DefaultAllocator}
		opt := OpenOptions{BatchRows: 1000, Allocator: mem}
		got, err := readAll(mustOpen(t, Options{}, writeFile(t, dir, name, data)), []int{1}, opt)
		if err != nil || len(got) != rows || got[0] != "2020" || got[rows-1] != "2020" {
			t.Fatalf("%s: %d rows, %v", name, len(got), err)
		}
		if most := 8*opt.BatchRows + 63; mem.bytes > most {
			t.Errorf("%s: a buffer of %d B, where batches of %d rows take %d B", name, mem.bytes, opt.BatchRows, most)
		}
	}
}
