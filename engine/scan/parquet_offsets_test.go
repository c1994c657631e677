package scan

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/internal/vfs"
)

// An offset index that puts pages where they are not gives an error or the right rows, not others.
func TestFilterWrongOffsets(t *testing.T) {
	batch := sortedTable(40_000)
	opts := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(4 << 10)}
	data := encodeParquet(t, 40_000, []arrow.RecordBatch{batch}, opts...)
	filter := oneOf{15, 23_456, 39_999}
	read := func(data []byte) ([]string, error) {
		filtered, err := Filter(context.Background(), openTable(t, writeFile(t, t.TempDir(), "f.parquet", data)), Predicate{Rows: filter})
		if err != nil {
			t.Fatal(err)
		}
		return readAll(filtered, []int{3, 6, 0}, OpenOptions{BatchRows: 2048})
	}
	want, err := read(data)
	if err != nil || len(want) != 3 {
		t.Fatalf("%v, %v", want, err)
	}
	file, err := openParquet(vfs.OS, writeFile(t, t.TempDir(), "f.parquet", data), newReserving(goHeap, nil))
	if err != nil {
		t.Fatal(err)
	}
	rng := newRand(t)
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
				sameRows(t, got, want)
			}
		}
	}
	if refused == 0 {
		t.Error("no changed index was noticed")
	}
	t.Logf("%d of %d changed indexes gave errors", refused, 7*20)
}
