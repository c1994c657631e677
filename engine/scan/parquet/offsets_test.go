package parquet

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
)

// An offset index that puts pages where they are not gives an error or the right rows, not others.
func TestFilterWrongOffsets(t *testing.T) {
	batch := scantest.SortedTable(40_000)
	opts := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(4 << 10)}
	data := scantest.EncodeParquet(t, 40_000, []arrow.RecordBatch{batch}, opts...)
	filter := scantest.OneOf{15, 23_456, 39_999}
	read := func(data []byte) ([]string, error) {
		filtered, err := scan.Filter(context.Background(), openTable(t, scantest.WriteFile(t, t.TempDir(), "f.parquet", data)), scan.Predicate{Rows: filter})
		if err != nil {
			t.Fatal(err)
		}
		return scantest.ReadAll(filtered, []int{3, 6, 0}, scan.OpenOptions{BatchRows: 2048})
	}
	want, err := read(data)
	if err != nil || len(want) != 3 {
		t.Fatalf("%v, %v", want, err)
	}
	file, err := Open(vfs.OS, scantest.WriteFile(t, t.TempDir(), "f.parquet", data), reserve.New(reserve.GoHeap, nil))
	if err != nil {
		t.Fatal(err)
	}
	rng := scantest.NewRand(t)
	refused := 0
	for c := range 7 {
		index := file.chunk(0, c).offsetIndex
		for range 20 {
			changed := bytes.Clone(data)
			changed[index.offset+rng.Int64N(index.bytes)] ^= byte(1 << rng.IntN(8))
			got, err := read(changed)
			if err != nil {
				refused++
			} else {
				scantest.SameRows(t, got, want)
			}
		}
	}
	if refused == 0 {
		t.Error("no changed index was noticed")
	}
	t.Logf("%d of %d changed indexes gave errors", refused, 7*20)
}
