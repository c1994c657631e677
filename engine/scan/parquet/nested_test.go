package parquet_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/opentest"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// S3: whatever is changed in files with structs, the process lives.
func TestNestedDamaged(t *testing.T) {
	rng := scantest.NewRand(t)
	nested, _ := scantest.Nest(rng, scantest.ParquetBatch(t, 60))
	for name, data := range map[string][]byte{
		"f.parquet": scantest.EncodeParquet(t, 40, []arrow.RecordBatch{nested}),
		"g.parquet": scantest.EncodeParquet(t, 40, []arrow.RecordBatch{nested}, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDictionaryDefault(false)),
		"f.arrow":   scantest.EncodeArrow(t, false, []arrow.RecordBatch{nested}),
	} {
		for range 150 {
			changed := bytes.Clone(data)
			for range 1 + rng.IntN(2) {
				changed[rng.IntN(len(changed))] ^= byte(1 + rng.IntN(255))
			}
			_, _ = opentest.ReadBytes(t, changed, name)
		}
	}
}
