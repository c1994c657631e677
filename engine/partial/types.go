package partial

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/nested"
)

// columnType is an Arrow type in the header of partial states: the type's name and its parameters.
type columnType struct {
	Name      string `json:"name"`
	Precision int32  `json:"precision,omitzero"`
	Scale     int32  `json:"scale,omitzero"`
	Unit      string `json:"unit,omitzero"` // s, ms, us or ns
	Zone      string `json:"zone,omitzero"`
	Width     int    `json:"width,omitzero"` // bytes
	Of        string `json:"of,omitzero"`    // a nested type, as nested.Type writes it
}

// plainTypes are the types without parameters, by name.
var plainTypes = func() map[string]arrow.DataType {
	types := make(map[string]arrow.DataType)
	for _, dt := range []arrow.DataType{
		arrow.FixedWidthTypes.Boolean,
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
	} {
		types[dt.Name()] = dt
	}
	return types
}()

// newColumnType describes a type that a query can read.
func newColumnType(dt arrow.DataType) (columnType, error) {
	t := columnType{Name: dt.Name()}
	switch dt := dt.(type) {
	case *nested.Type:
		t.Name, t.Of = nestedName, dt.Marshal()
	case arrow.DecimalType:
		t.Name, t.Precision, t.Scale = fmt.Sprintf("decimal%d", dt.BitWidth()), dt.GetPrecision(), dt.GetScale()
	case *arrow.TimestampType:
		t.Unit, t.Zone = dt.Unit.String(), dt.TimeZone
	case *arrow.DurationType:
		t.Unit = dt.Unit.String()
	case *arrow.Time32Type:
		t.Unit = dt.Unit.String()
	case *arrow.Time64Type:
		t.Unit = dt.Unit.String()
	case *arrow.FixedSizeBinaryType:
		t.Width = dt.ByteWidth
	}
	if back, err := t.dataType(); err != nil || !arrow.TypeEqual(back, dt) {
		return t, fmt.Errorf("type %s has no form in partial states", dt)
	}
	return t, nil
}

// nestedName is the name of nested types.
const nestedName = "nested"

// fixedSizeMax bounds the width of fixed-size binary values: a reader takes memory for them.
const fixedSizeMax = 1 << 30

// decimalTypes are the types of decimals, by name, with their most digits.
var decimalTypes = map[string]struct {
	id     arrow.Type
	digits int32
}{"decimal32": {arrow.DECIMAL32, 9}, "decimal64": {arrow.DECIMAL64, 18}, "decimal128": {arrow.DECIMAL128, 38}}

// dataType returns the type that t describes.
func (t columnType) dataType() (arrow.DataType, error) {
	if dt, ok := plainTypes[t.Name]; ok {
		return dt, nil
	}
	if t.Name == nestedName {
		return nested.Unmarshal(t.Of)
	}
	if decimal, ok := decimalTypes[t.Name]; ok {
		if t.Precision < 1 || t.Precision > decimal.digits {
			return nil, fmt.Errorf("type %s of %d digits: the precision must be in [1, %d]", t.Name, t.Precision, decimal.digits)
		}
		return arrow.NewDecimalType(decimal.id, t.Precision, t.Scale)
	}
	if t.Name == "fixed_size_binary" && t.Width >= 0 && t.Width <= fixedSizeMax {
		return &arrow.FixedSizeBinaryType{ByteWidth: t.Width}, nil
	}
	unit, ok := map[string]arrow.TimeUnit{"s": arrow.Second, "ms": arrow.Millisecond,
		"us": arrow.Microsecond, "ns": arrow.Nanosecond}[t.Unit]
	if ok {
		switch t.Name {
		case "timestamp":
			return &arrow.TimestampType{Unit: unit, TimeZone: t.Zone}, nil
		case "duration":
			return &arrow.DurationType{Unit: unit}, nil
		case "time32":
			return &arrow.Time32Type{Unit: unit}, nil
		case "time64":
			return &arrow.Time64Type{Unit: unit}, nil
		}
	}
	return nil, fmt.Errorf("unknown type %q of unit %q, width %d", t.Name, t.Unit, t.Width)
}

func (t columnType) String() string {
	if dt, err := t.dataType(); err == nil {
		return dt.String()
	}
	return t.Name
}
