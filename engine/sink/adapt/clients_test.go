package adapt

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Columns for clients keep their values in types that drivers know, nested ones too, and what no
// driver knows is refused by the name of its column. D1, D2.
func TestClients(t *testing.T) {
	for _, test := range []struct {
		from         arrow.DataType
		json         string
		want, signed arrow.DataType // signed is nil where it is want
	}{
		{arrow.PrimitiveTypes.Int64, `[1, null]`, arrow.PrimitiveTypes.Int64, nil},
		{arrow.Null, `[null, null]`, arrow.PrimitiveTypes.Int32, nil},
		{arrow.BinaryTypes.StringView, `["a", null, "a text that is longer"]`, arrow.BinaryTypes.String, nil},
		{arrow.BinaryTypes.BinaryView, `["YQ==", null]`, arrow.BinaryTypes.Binary, nil},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, `["1.25", null]`, &arrow.Decimal128Type{Precision: 5, Scale: 2}, nil},
		{&arrow.Decimal64Type{Precision: 12, Scale: 1}, `["-99999999999.5", null]`, &arrow.Decimal128Type{Precision: 12, Scale: 1}, nil},
		{arrow.FixedWidthTypes.Duration_us, `[5, null]`, arrow.FixedWidthTypes.Duration_us, nil},
		{arrow.PrimitiveTypes.Uint8, `[255, null]`, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16},
		{arrow.PrimitiveTypes.Uint16, `[65535, null]`, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32},
		{arrow.PrimitiveTypes.Uint32, `[4294967295, null]`, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64},
		{arrow.PrimitiveTypes.Uint64, fmt.Sprintf(`[%d, null]`, uint64(math.MaxUint64)), arrow.PrimitiveTypes.Uint64, &arrow.Decimal128Type{Precision: 20}},
		{arrow.ListOf(arrow.PrimitiveTypes.Uint8), `[[1, 255], null, []]`, arrow.ListOf(arrow.PrimitiveTypes.Uint8), arrow.ListOf(arrow.PrimitiveTypes.Int16)},
	} {
		from, _, err := array.FromJSON(memory.DefaultAllocator, test.from, strings.NewReader(test.json))
		if err != nil {
			t.Fatal(err)
		}
		for _, signed := range []bool{false, true} {
			want := test.want
			if signed && test.signed != nil {
				want = test.signed
			}
			a := &Adapter{Clients: true, Signed: signed, Allocator: memory.DefaultAllocator}
			schema, err := a.Schema(arrow.NewSchema([]arrow.Field{{Name: "c", Type: test.from, Nullable: true}}, nil))
			if err != nil || !arrow.TypeEqual(schema.Field(0).Type, want) {
				t.Errorf("%s becomes %v, want %s; %v", test.from, schema, want, err)
				continue
			}
			got, err := a.Array(from, want)
			if err != nil {
				t.Errorf("%s: %v", test.from, err)
				continue
			}
			for row := range from.Len() {
				if got.ValueStr(row) != from.ValueStr(row) {
					t.Errorf("%s, row %d: %s, want %s", test.from, row, got.ValueStr(row), from.ValueStr(row))
				}
			}
			got.Release()
		}
		from.Release()
	}
	a := &Adapter{Clients: true, Allocator: memory.DefaultAllocator}
	for _, refused := range []arrow.DataType{
		arrow.ListViewOf(arrow.PrimitiveTypes.Int8), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int8),
		arrow.StructOf(arrow.Field{Name: "x", Type: arrow.ListViewOf(arrow.PrimitiveTypes.Int8)}),
	} {
		if _, err := a.Schema(arrow.NewSchema([]arrow.Field{{Name: "odd", Type: refused}}, nil)); err == nil || !strings.Contains(err.Error(), `"odd"`) {
			t.Errorf("%s: %v", refused, err)
		}
	}
}
