package scan

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestArrowFilesAndStreams(t *testing.T) {
	batches := ipcBatches(t, 5, 100)
	want := batchRowsText(batches...)
	for name, opts := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		for _, ending := range []string{"arrow", "arrows", "bin"} {
			t.Run(name+"/"+ending, func(t *testing.T) {
				data := encodeArrow(t, ending == "arrows", batches, opts...)
				src := mustOpenFiles(t, Options{}, writeFile(t, t.TempDir(), "f."+ending, data))
				for range 2 {
					mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
					rows, err := readAll(src, allColumns(src.Schema()), OpenOptions{Allocator: mem, BatchRows: 64})
					if err != nil {
						t.Fatal(err)
					}
					sameRows(t, rows, want)
					mem.AssertSize(t, 0)
				}
			})
		}
	}
}

// Dictionaries that grow (deltas) or are replaced in a stream give later batches other values.
func TestArrowDictionaryDeltas(t *testing.T) {
	dictionaryBatch := func(values ...string) arrow.RecordBatch {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		d := toDictionary(t, b.NewArray(), arrow.PrimitiveTypes.Int32)
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "d", Type: d.DataType()}}, nil), []arrow.Array{d}, int64(len(values)))
	}
	batches := []arrow.RecordBatch{dictionaryBatch("a", "b"), dictionaryBatch("a", "b", "c"), dictionaryBatch("x", "a")}
	for _, c := range []struct {
		name    string
		batches []arrow.RecordBatch
		opts    []ipc.Option
	}{
		{"replaced", batches, nil},
		{"deltas", batches[:2], []ipc.Option{ipc.WithDictionaryDeltas(true)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := mustOpenFiles(t, Options{}, writeFile(t, t.TempDir(), "f.arrow", encodeArrow(t, true, c.batches, c.opts...)))
			rows, err := readAll(src, []int{0}, OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, rows, batchRowsText(c.batches...))
		})
	}
}

func TestArrowDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	batches := ipcBatches(t, 2, 40)
	for _, stream := range []bool{false, true} {
		data := encodeArrow(t, stream, batches, ipc.WithLZ4())
		step := max(len(data)/300, 1)
		for at := 0; at < len(data); at += step {
			if _, err := readBytes(t, data[:at], "f.arrow"); err == nil && !stream {
				t.Errorf("cut to %d of %d B: no error", at, len(data))
			}
			changed := bytes.Clone(data)
			changed[at] ^= 0xFF
			_, _ = readBytes(t, changed, "f.arrow")
		}
	}
}

func FuzzIPC(f *testing.F) {
	for _, types := range [][]arrow.DataType{{arrow.PrimitiveTypes.Int64}, {arrow.BinaryTypes.String}, {arrow.FixedWidthTypes.Boolean}} {
		batch := typesBatch(f, 10, types...)
		f.Add(encodeArrow(f, false, []arrow.RecordBatch{batch}))
		f.Add(encodeArrow(f, true, []arrow.RecordBatch{batch}))
		f.Add(encodeArrow(f, false, []arrow.RecordBatch{batch}, ipc.WithZstd()))
	}
	all := ipcBatches(f, 1, 10)[0]
	for _, c := range []int{int(all.NumCols()) - 4, int(all.NumCols()) - 3} { // views, a dictionary
		schema := arrow.NewSchema([]arrow.Field{all.Schema().Field(c)}, nil)
		f.Add(encodeArrow(f, false, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{all.Column(c)}, 10)}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = readBytes(t, data, "f.arrow")
	})
}
