package csv

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
)

// ParseChar reads one ASCII character. "\t" and "tab" are a tab, an empty text is 0.
func ParseChar(text string) (byte, error) {
	switch {
	case text == "":
		return 0, nil
	case text == `\t`, text == "tab":
		return '\t', nil
	case len(text) > 1:
		return 0, fmt.Errorf("%q: want one ASCII character", text)
	}
	return text[0], nil
}

var headersByName = map[string]Header{"": HeaderAuto, "auto": HeaderAuto, "yes": HeaderYes, "no": HeaderNo}

// ParseHeader reads auto, yes or no; an empty text is auto.
func ParseHeader(word string) (Header, error) {
	if header, ok := headersByName[word]; ok {
		return header, nil
	}
	return 0, fmt.Errorf("%q: want auto, yes or no", word)
}

// encodingsByName are the names of encodings, and other names that people give them.
var encodingsByName = map[string]Encoding{
	"": EncodingAuto, "auto": EncodingAuto, "utf8": EncodingUTF8, "utf16": EncodingUTF16,
	"latin1": EncodingLatin1, "iso-8859-1": EncodingLatin1, "cp1252": EncodingWindows1252,
}

// ParseEncoding reads the name of an encoding, in any case; an empty text is auto.
func ParseEncoding(name string) (Encoding, error) {
	name = strings.ToLower(name)
	if e, ok := encodingsByName[name]; ok {
		return e, nil
	}
	if slices.Contains(encodingNames, name) {
		return Encoding(name), nil
	}
	return "", fmt.Errorf("%q: want auto, %s", name, strings.Join(encodingNames, ", "))
}

// typesByName are the names of Arrow's types and of SQL's.
var typesByName = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "boolean": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "tinyint": arrow.PrimitiveTypes.Int8,
	"int16": arrow.PrimitiveTypes.Int16, "smallint": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int": arrow.PrimitiveTypes.Int32, "integer": arrow.PrimitiveTypes.Int32,
	"int64": arrow.PrimitiveTypes.Int64, "bigint": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "utinyint": arrow.PrimitiveTypes.Uint8,
	"uint16": arrow.PrimitiveTypes.Uint16, "usmallint": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uinteger": arrow.PrimitiveTypes.Uint32,
	"uint64": arrow.PrimitiveTypes.Uint64, "ubigint": arrow.PrimitiveTypes.Uint64,
	"float32": arrow.PrimitiveTypes.Float32, "float": arrow.PrimitiveTypes.Float32,
	"real":    arrow.PrimitiveTypes.Float32,
	"float64": arrow.PrimitiveTypes.Float64, "double": arrow.PrimitiveTypes.Float64,
	"hugeint": &arrow.Decimal128Type{Precision: fields.HugeDigits},
	"string":  arrow.BinaryTypes.String, "utf8": arrow.BinaryTypes.String,
	"text": arrow.BinaryTypes.String, "varchar": arrow.BinaryTypes.String,
	"binary": arrow.BinaryTypes.Binary, "blob": arrow.BinaryTypes.Binary,
	"date": arrow.FixedWidthTypes.Date32, "time": arrow.FixedWidthTypes.Time64us,
	"timestamp":   &arrow.TimestampType{Unit: arrow.Microsecond},
	"timestamptz": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

var decimalType = regexp.MustCompile(`^decimal\( *(\d+) *, *(\d+) *\)$`)

// ParseType reads the name of a type, in any case; decimals are decimal(precision, scale).
func ParseType(name string) (arrow.DataType, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if t, ok := typesByName[name]; ok {
		return t, nil
	}
	if m := decimalType.FindStringSubmatch(name); m != nil {
		precision, errP := strconv.ParseInt(m[1], 10, 32)
		scale, errS := strconv.ParseInt(m[2], 10, 32)
		if errP != nil || errS != nil || precision < 1 || precision > 38 || scale > precision {
			return nil, fmt.Errorf("%s: the precision must be in [1, 38], the scale in [0, precision]", name)
		}
		return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
	}
	return nil, fmt.Errorf("unknown type %q: want bool, int8 to int64, uint8 to uint64, float, double, "+
		"hugeint, string, binary, date, time, timestamp or decimal(p, s)", name)
}
