package ipc_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/internal/opentest"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

func TestArrowFilesAndStreams(t *testing.T) {
	batches := scantest.IpcBatches(t, 5, 100)
	want := scantest.BatchRowsText(batches...)
	for name, opts := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		for _, ending := range []string{"arrow", "arrows", "bin"} {
			t.Run(name+"/"+ending, func(t *testing.T) {
				data := scantest.EncodeArrow(t, ending == "arrows", batches, opts...)
				src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f."+ending, data))
				for range 2 {
					mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
					rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{Allocator: mem, BatchRows: 64})
					if err != nil {
						t.Fatal(err)
					}
					scantest.SameRows(t, rows, want)
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
		d := scantest.ToDictionary(t, b.NewArray(), arrow.PrimitiveTypes.Int32)
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
			src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.arrow", scantest.EncodeArrow(t, true, c.batches, c.opts...)))
			rows, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			scantest.SameRows(t, rows, scantest.BatchRowsText(c.batches...))
		})
	}
}

func TestArrowDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	batches := scantest.IpcBatches(t, 2, 40)
	for _, stream := range []bool{false, true} {
		data := scantest.EncodeArrow(t, stream, batches, ipc.WithLZ4())
		step := max(len(data)/300, 1)
		for at := 0; at < len(data); at += step {
			if _, err := opentest.ReadBytes(t, data[:at], "f.arrow"); err == nil && !stream {
				t.Errorf("cut to %d of %d B: no error", at, len(data))
			}
			changed := bytes.Clone(data)
			changed[at] ^= 0xFF
			_, _ = opentest.ReadBytes(t, changed, "f.arrow")
		}
	}
}

func FuzzIPC(f *testing.F) {
	for _, types := range [][]arrow.DataType{{arrow.PrimitiveTypes.Int64}, {arrow.BinaryTypes.String}, {arrow.FixedWidthTypes.Boolean}} {
		batch := scantest.TypesBatch(f, 10, types...)
		f.Add(scantest.EncodeArrow(f, false, []arrow.RecordBatch{batch}))
		f.Add(scantest.EncodeArrow(f, true, []arrow.RecordBatch{batch}))
		f.Add(scantest.EncodeArrow(f, false, []arrow.RecordBatch{batch}, ipc.WithZstd()))
	}
	all := scantest.IpcBatches(f, 1, 10)[0]
	for _, c := range []int{int(all.NumCols()) - 4, int(all.NumCols()) - 3} { // views, a dictionary
		schema := arrow.NewSchema([]arrow.Field{all.Schema().Field(c)}, nil)
		f.Add(scantest.EncodeArrow(f, false, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{all.Column(c)}, 10)}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = opentest.ReadBytes(t, data, "f.arrow")
	})
}
