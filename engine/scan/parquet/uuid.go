package parquet

import (
	"encoding/hex"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// isUUID says whether the values of a column are UUIDs.
func isUUID(leaf *schema.Column) bool {
	_, ok := leaf.LogicalType().(schema.UUIDLogicalType)
	return ok && leaf.PhysicalType() == parquet.Types.FixedLenByteArray && leaf.TypeLength() == delivery.UUIDBytes
}

// plainUUID returns the plain value of a text; ok is false for a text that no UUID is delivered as.
func plainUUID(text []byte) (plain []byte, ok bool) {
	if len(text) != delivery.UUIDTextBytes {
		return nil, false
	}
	digits := slices.Concat(text[:8], text[9:13], text[14:18], text[19:23], text[24:])
	plain = make([]byte, delivery.UUIDBytes)
	if _, err := hex.Decode(plain, digits); err != nil {
		return nil, false
	}
	return plain, string(textOfUUID(plain)) == string(text)
}

// textOfUUID is the inverse of plainUUID.
func textOfUUID(plain []byte) []byte {
	var text [1]delivery.UUIDText
	delivery.WriteUUIDs(text[:], plain)
	return text[0][:]
}

// uuidValues decodes UUIDs to strings.
type uuidValues struct {
	*fixedValues[delivery.UUIDText]
}

func newUUIDs(mem memory.Allocator) columnValues {
	return uuidValues{newFixed(arrow.BinaryTypes.String, mem, bytesForm(delivery.UUIDBytes), delivery.WriteUUIDs)}
}

func (v uuidValues) finish(validity *memory.Buffer, nulls int) arrow.Array {
	defer releaseBuffers(&v.out)
	return delivery.UUIDStrings(v.mem, v.out, validity, nulls)
}
