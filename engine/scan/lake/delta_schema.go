package lake

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// deltaTypes are the types of Delta without parts.
var deltaTypes = map[string]arrow.DataType{
	"string": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary, "boolean": arrow.FixedWidthTypes.Boolean,
	"byte": arrow.PrimitiveTypes.Int8, "short": arrow.PrimitiveTypes.Int16, "integer": arrow.PrimitiveTypes.Int32,
	"long": arrow.PrimitiveTypes.Int64, "float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64,
	"date":          arrow.PrimitiveTypes.Date32,
	"timestamp":     &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"timestamp_ntz": &arrow.TimestampType{Unit: arrow.Microsecond},
}

// depthMax bounds how deep types may be nested. L2.
const depthMax = 100

type deltaField struct {
	Name     string          `json:"name"`
	Type     json.RawMessage `json:"type"`
	Nullable bool            `json:"nullable"`
	Metadata struct {
		ID       int    `json:"delta.columnMapping.id"`
		Physical string `json:"delta.columnMapping.physicalName"`
	} `json:"metadata"`
}

// deltaColumns reads the schema of a table.
func deltaColumns(schema string, isMapped bool) ([]Column, error) {
	root, err := deltaColumn(deltaField{Type: json.RawMessage(schema)}, isMapped, 0)
	if err == nil && root.Type.ID() != arrow.STRUCT {
		err = fmt.Errorf("%w: the schema is no struct", errDamaged)
	}
	return root.Parts, err
}

// deltaColumn reads a column, or a part of one.
func deltaColumn(f deltaField, isMapped bool, depth int) (c Column, err error) {
	c = Column{Name: f.Name, Nullable: f.Nullable, ID: f.Metadata.ID, Physical: f.Metadata.Physical}
	if isMapped && depth > 0 && f.Name != "" && c.Physical == "" {
		return c, fmt.Errorf("%w: column %q has no physical name, in a table with column mapping", errDamaged, f.Name)
	}
	if depth > depthMax {
		return c, fmt.Errorf("%w: a type of more than %d types within each other", errDamaged, depthMax)
	}
	var name string
	if json.Unmarshal(f.Type, &name) == nil {
		c.Type, err = deltaType(f.Name, name)
		return c, err
	}
	var t struct {
		Type             string
		Fields           []deltaField
		ElementType      json.RawMessage
		KeyType          json.RawMessage
		ValueType        json.RawMessage
		ContainsNull     bool
		ValueContainsNul bool `json:"valueContainsNull"`
	}
	if err := json.Unmarshal(f.Type, &t); err != nil {
		return c, fmt.Errorf("%w: the schema: %w", errDamaged, err)
	}
	parts := t.Fields
	switch t.Type {
	case "array":
		parts = []deltaField{{Type: t.ElementType, Nullable: t.ContainsNull}}
	case "map":
		parts = []deltaField{{Type: t.KeyType}, {Type: t.ValueType, Nullable: t.ValueContainsNul}}
	}
	for _, of := range parts {
		part, err := deltaColumn(of, isMapped, depth+1)
		if err != nil {
			return c, err
		}
		c.Parts = append(c.Parts, part)
	}
	c.Type, err = typeOfParts(t.Type, c.Parts)
	return c, err
}

// typeOfParts returns the type of a column of parts: a struct, an array or list, or a map.
func typeOfParts(kind string, parts []Column) (arrow.DataType, error) {
	switch kind {
	case "struct":
		return arrow.StructOf(fieldsOf(parts)...), nil
	case "array", "list":
		return arrow.ListOfField(arrow.Field{Name: "element", Type: parts[0].Type, Nullable: parts[0].Nullable}), nil
	case "map":
		value := arrow.Field{Name: "value", Type: parts[1].Type, Nullable: parts[1].Nullable}
		return arrow.MapOfFields(arrow.Field{Name: "key", Type: parts[0].Type}, value), nil
	}
	return nil, fmt.Errorf("not supported: the type %q", kind)
}

// deltaType returns a type without parts.
func deltaType(column, name string) (arrow.DataType, error) {
	if t, ok := deltaTypes[name]; ok {
		return t, nil
	}
	if t, ok := decimalType(name); ok {
		return t, nil
	}
	return nil, fmt.Errorf("not supported: column %q is of the type %s", column, name)
}

// decimalType reads decimal(9,2).
func decimalType(name string) (arrow.DataType, bool) {
	digits, ok := strings.CutPrefix(name, "decimal(")
	precision, scale, hasScale := strings.Cut(strings.TrimSuffix(digits, ")"), ",")
	p, err := strconv.Atoi(strings.TrimSpace(precision))
	s, scaleErr := strconv.Atoi(strings.TrimSpace(scale))
	if !ok || !hasScale || err != nil || scaleErr != nil || p < 1 || p > 38 || s < 0 || s > p {
		return nil, false
	}
	return &arrow.Decimal128Type{Precision: int32(p), Scale: int32(s)}, true
}
