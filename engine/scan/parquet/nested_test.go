package parquet_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/opentest"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// S3: whatever is changed in files with structs and lists, the process lives.
func TestNestedDamaged(t *testing.T) {
	rng := scantest.NewRand(t)
	nested, _ := scantest.Nest(rng, scantest.ParquetBatch(t, 60))
	nested = withLists(t, nested)
	for name, data := range map[string][]byte{
		"f.parquet": scantest.EncodeParquet(t, 40, []arrow.RecordBatch{nested}),
		"g.parquet": scantest.EncodeParquet(t, 40, []arrow.RecordBatch{nested}, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDictionaryDefault(false)),
		"f.arrow":   scantest.EncodeArrow(t, false, []arrow.RecordBatch{nested}),
	} {
		for range 60 {
			changed := bytes.Clone(data)
			for range 1 + rng.IntN(2) {
				changed[rng.IntN(len(changed))] ^= byte(1 + rng.IntN(255))
			}
			_, _ = opentest.ReadBytes(t, changed, name)
		}
	}
}

// withLists puts lists of numbers and of strings before the columns of a batch.
func withLists(t *testing.T, b arrow.RecordBatch) arrow.RecordBatch {
	t.Helper()
	fields := []arrow.Field{
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true}, {Name: "m", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}
	lists := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for i := range b.NumRows() {
		text := fmt.Sprintf(`{"l": [%d, null, 7], "m": ["a", "a text of more than twelve bytes"]}`, i)
		if i%5 == 0 {
			text = `{"l": null, "m": []}`
		}
		if err := lists.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	with := lists.NewRecordBatch()
	fields = append(fields, b.Schema().Fields()...)
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), append(with.Columns(), b.Columns()...), b.NumRows())
}
