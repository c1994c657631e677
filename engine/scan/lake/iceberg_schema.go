package lake

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

type icebergSchema struct {
	ID     int             `json:"schema-id"`
	Fields []icebergColumn `json:"fields"`
}

type icebergColumn struct {
	ID       int             `json:"id"`
	Name     string          `json:"name"`
	Required bool            `json:"required"`
	Type     json.RawMessage `json:"type"`
	Default  json.RawMessage `json:"initial-default"`
}

// icebergTypes are the types of Iceberg without parts and parameters.
var icebergTypes = map[string]arrow.DataType{
	"boolean": arrow.FixedWidthTypes.Boolean, "int": arrow.PrimitiveTypes.Int32, "long": arrow.PrimitiveTypes.Int64,
	"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64, "date": arrow.PrimitiveTypes.Date32,
	"time": arrow.FixedWidthTypes.Time64us, "string": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary,
	"uuid":           arrow.BinaryTypes.String,
	"timestamp":      &arrow.TimestampType{Unit: arrow.Microsecond},
	"timestamptz":    &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"timestamp_ns":   &arrow.TimestampType{Unit: arrow.Nanosecond},
	"timestamptz_ns": &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
}

// icebergColumns reads the columns of a schema.
func icebergColumns(fields []icebergColumn, depth int) (columns []Column, err error) {
	for _, f := range fields {
		c, err := icebergPart(f, depth)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// icebergPart reads a column, or a part of one.
func icebergPart(f icebergColumn, depth int) (c Column, err error) {
	c = Column{Name: f.Name, Nullable: !f.Required, ID: f.ID}
	if depth > depthMax {
		return c, fmt.Errorf("%w: a type of more than %d types within each other", errDamaged, depthMax)
	}
	var name string
	if json.Unmarshal(f.Type, &name) == nil {
		c.isUUID = name == "uuid"
		if c.Type, err = icebergType(f.Name, name); err == nil && len(f.Default) > 0 && string(f.Default) != "null" {
			if c.Default, err = icebergDefault(f.Default, c.Type); err != nil {
				err = fmt.Errorf("column %q: %w", f.Name, err)
			}
		}
		return c, err
	}
	var t struct {
		Type          string          `json:"type"`
		Fields        []icebergColumn `json:"fields"`
		ElementID     int             `json:"element-id"`
		Element       json.RawMessage `json:"element"`
		ElementNeeded bool            `json:"element-required"`
		KeyID         int             `json:"key-id"`
		Key           json.RawMessage `json:"key"`
		ValueID       int             `json:"value-id"`
		Value         json.RawMessage `json:"value"`
		ValueNeeded   bool            `json:"value-required"`
	}
	if err := json.Unmarshal(f.Type, &t); err != nil {
		return c, fmt.Errorf("%w: the schema: %w", errDamaged, err)
	}
	parts := t.Fields
	switch t.Type {
	case "list":
		parts = []icebergColumn{{ID: t.ElementID, Type: t.Element, Required: t.ElementNeeded}}
	case "map":
		parts = []icebergColumn{{ID: t.KeyID, Type: t.Key, Required: true},
			{ID: t.ValueID, Type: t.Value, Required: t.ValueNeeded}}
	}
	if c.Parts, err = icebergColumns(parts, depth+1); err != nil {
		return c, err
	}
	for _, part := range c.Parts {
		if part.Default != nil {
			return c, fmt.Errorf("not supported: a default of field %q of column %q", part.Name, f.Name)
		}
	}
	if len(f.Default) > 0 && string(f.Default) != "null" {
		return c, fmt.Errorf("not supported: a default of column %q, which is a %s", f.Name, t.Type)
	}
	c.Type, err = typeOfParts(t.Type, c.Parts)
	return c, err
}

// icebergType returns a type without parts.
func icebergType(column, name string) (arrow.DataType, error) {
	if t, ok := icebergTypes[name]; ok {
		return t, nil
	}
	if t, ok := decimalType(name); ok {
		return t, nil
	}
	if size, ok := strings.CutPrefix(name, "fixed["); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(size, "]")); err == nil && n > 0 {
			return &arrow.FixedSizeBinaryType{ByteWidth: n}, nil
		}
	}
	return nil, fmt.Errorf("not supported: column %q is of the type %s", column, name)
}

// icebergDefault returns the value that rows of older files have, as decode.Folder.Values has it.
func icebergDefault(text json.RawMessage, t arrow.DataType) (any, error) {
	var s string
	isText := json.Unmarshal(text, &s) == nil
	switch v := jsonValue(text, t, false); {
	case t.ID() == arrow.STRING && isText:
		return s, nil
	case t.ID() == arrow.BOOL && (string(text) == "true" || string(text) == "false"):
		return scalar.NewBooleanScalar(string(text) == "true"), nil
	case t.ID() == arrow.DECIMAL128 && isText:
		of := t.(*arrow.Decimal128Type)
		if n, err := decimal128.FromString(s, of.Precision, of.Scale); err == nil {
			return scalar.NewDecimal128Scalar(n, t), nil
		}
	case v != nil:
		if value, ok := constantOf(v, t); ok {
			return value, nil
		}
	}
	return nil, fmt.Errorf("not supported: the default %s of the type %s", text, t)
}

// constantOf returns a value as decode.Folder.Values has it.
func constantOf(v *predicate.Value, t arrow.DataType) (any, bool) {
	switch t := t.(type) {
	case *arrow.Int64Type:
		return v.Integer, true
	case *arrow.Int32Type:
		return scalar.NewInt32Scalar(int32(v.Integer)), true
	case *arrow.Date32Type:
		return arrow.Date32(v.Integer), true
	case *arrow.Float32Type:
		return scalar.NewFloat32Scalar(float32(v.Float)), true
	case *arrow.Float64Type:
		return scalar.NewFloat64Scalar(v.Float), true
	case *arrow.BooleanType:
		return scalar.NewBooleanScalar(v.Integer != 0), true
	case *arrow.TimestampType:
		return scalar.NewTimestampScalar(arrow.Timestamp(v.Integer), t), true
	case *arrow.Time64Type:
		return scalar.NewTime64Scalar(arrow.Time64(v.Integer), t), true
	case *arrow.StringType:
		return string(v.Bytes), true
	case *arrow.BinaryType:
		return scalar.NewBinaryScalar(memory.NewBufferBytes(v.Bytes), t), true
	case *arrow.Decimal128Type:
		if v.Wide != nil {
			return scalar.NewDecimal128Scalar(decimal128.FromBigInt(v.Wide), t), true
		}
		return scalar.NewDecimal128Scalar(decimal128.FromI64(v.Integer), t), true
	}
	return nil, false
}
