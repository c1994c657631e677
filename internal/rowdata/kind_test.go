package rowdata

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Would catch a fold that is added without a name.
func TestFoldNames(t *testing.T) {
	for k := FoldCount; k <= FoldSketch; k++ {
		if k.String() == "" {
			t.Errorf("fold %d has no name", k)
		}
	}
}

// Would catch a type whose values do not fit the words of its kind.
func TestKindOf(t *testing.T) {
	for dt, want := range map[arrow.DataType]Kind{
		arrow.FixedWidthTypes.Boolean:            Uint64,
		arrow.PrimitiveTypes.Uint8:               Uint64,
		arrow.PrimitiveTypes.Int8:                Int64,
		arrow.FixedWidthTypes.Time32ms:           Int64,
		arrow.FixedWidthTypes.Float16:            Float64,
		&arrow.Decimal128Type{Precision: 18}:     Int64,
		&arrow.Decimal128Type{Precision: 19}:     Int128,
		arrow.BinaryTypes.StringView:             Bytes,
		&arrow.FixedSizeBinaryType{ByteWidth: 3}: Bytes,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.Null}:         255,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: &arrow.Int64Type{}}: Int64,
		&arrow.Decimal256Type{Precision: 50}:                                                       255,
		arrow.ListOf(arrow.PrimitiveTypes.Int8):                                                    255,
	} {
		got, err := KindOf(dt)
		if (err != nil) != (want == 255) || err == nil && got != want {
			t.Errorf("%s: kind %d, %v", dt, got, err)
		}
	}
}
