package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/nested"
)

// TypeID is a type of SQL without its parameters.
type TypeID uint8

// The types. Integers are in the order of their width.
const (
	Null TypeID = iota // of NULL alone
	Bool
	Int8
	Int16
	Int32
	Int64
	Huge // 128 bits; as a column decimal(38, 0)
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Decimal
	Text
	Blob
	Date        // days
	Time        // microseconds of a day
	TimeNS      // nanoseconds of a day
	Timestamp   // microseconds, without a zone
	TimestampNS // nanoseconds, without a zone
	TimestampTZ // microseconds, UTC
	Duration    // microseconds between two timestamps
	Interval    // months, days and microseconds; constants, and numbers of a unit
	Period      // an interval as a value: of a column, or of a part of a nested value
	Named       // a UUID, BIT, TIME WITH TIME ZONE or ENUM, as its shape says
	List        // of values of one type
	Struct      // fields, by name or, of a tuple, by place
	Map         // keys and values, in the order in which they came
	typeIDEnd
)

// Type is a type of SQL.
type Type struct {
	ID               TypeID
	Precision, Scale uint8 // of Decimal

	*shape // of List, Struct and Map, one for all equal types; nil of others
}

// decimalOf returns the type of decimals of precision digits, scale of them after the point.
func decimalOf(precision, scale int) Type {
	return Type{ID: Decimal, Precision: uint8(precision), Scale: uint8(scale)}
}

func typeOf(id TypeID) Type { return Type{ID: id} }

// kind is how a vector holds values.
type kind uint8

const (
	bitKind   kind = iota // a bit each: booleans
	intKind               // int64
	floatKind             // float64
	wideKind              // 128 bits
	textKind              // string headers
)

// digitsInt64 is how many decimal digits every int64 can hold.
const digitsInt64 = 18

func (t Type) kind() kind {
	if t.ID == Decimal && t.Precision > digitsInt64 {
		return wideKind
	}
	return types[t.ID].kind
}

// types are the properties of the types.
var types = [typeIDEnd]struct {
	name  string // in SQL
	kind  kind
	arrow arrow.DataType // of a column of results; nil of decimals and of nested types
}{
	Null:        {`"NULL"`, bitKind, arrow.PrimitiveTypes.Int32},
	Bool:        {"BOOLEAN", bitKind, arrow.FixedWidthTypes.Boolean},
	Int8:        {"TINYINT", intKind, arrow.PrimitiveTypes.Int8},
	Int16:       {"SMALLINT", intKind, arrow.PrimitiveTypes.Int16},
	Int32:       {"INTEGER", intKind, arrow.PrimitiveTypes.Int32},
	Int64:       {"BIGINT", intKind, arrow.PrimitiveTypes.Int64},
	Huge:        {"HUGEINT", wideKind, &arrow.Decimal128Type{Precision: digitsMax}},
	Uint8:       {"UTINYINT", intKind, arrow.PrimitiveTypes.Uint8},
	Uint16:      {"USMALLINT", intKind, arrow.PrimitiveTypes.Uint16},
	Uint32:      {"UINTEGER", intKind, arrow.PrimitiveTypes.Uint32},
	Uint64:      {"UBIGINT", wideKind, arrow.PrimitiveTypes.Uint64},
	Float32:     {"FLOAT", floatKind, arrow.PrimitiveTypes.Float32},
	Float64:     {"DOUBLE", floatKind, arrow.PrimitiveTypes.Float64},
	Decimal:     {"DECIMAL", intKind, nil},
	Text:        {"VARCHAR", textKind, arrow.BinaryTypes.String},
	Blob:        {"BLOB", textKind, arrow.BinaryTypes.Binary},
	Date:        {"DATE", intKind, arrow.FixedWidthTypes.Date32},
	Time:        {"TIME", intKind, arrow.FixedWidthTypes.Time64us},
	TimeNS:      {"TIME_NS", intKind, arrow.FixedWidthTypes.Time64ns},
	Timestamp:   {"TIMESTAMP", intKind, &arrow.TimestampType{Unit: arrow.Microsecond}},
	TimestampNS: {"TIMESTAMP_NS", intKind, &arrow.TimestampType{Unit: arrow.Nanosecond}},
	TimestampTZ: {"TIMESTAMP WITH TIME ZONE", intKind, arrow.FixedWidthTypes.Timestamp_us},
	Duration:    {"DURATION", intKind, arrow.FixedWidthTypes.Duration_us},
	Interval:    {"INTERVAL", intKind, arrow.BinaryTypes.String},
	Period:      {"INTERVAL", textKind, nil},
	Named:       {"", textKind, nil},
	List:        {"LIST", textKind, nil},
	Struct:      {"STRUCT", textKind, nil},
	Map:         {"MAP", textKind, nil},
}

// String returns the type's name in SQL.
func (t Type) String() string {
	if t.ID == Decimal {
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	}
	if t.nested() {
		return t.text
	}
	return types[t.ID].name
}

var typesByName = map[string]TypeID{
	"bool": Bool, "boolean": Bool, "logical": Bool,
	"int1": Int8, "tinyint": Int8, "int2": Int16, "int16": Int16, "smallint": Int16, "short": Int16,
	"int4": Int32, "int32": Int32, "int": Int32, "integer": Int32, "signed": Int32,
	"int8": Int64, "int64": Int64, "bigint": Int64, "long": Int64, "hugeint": Huge, "int128": Huge,
	"utinyint": Uint8, "uint8": Uint8, "usmallint": Uint16, "uint16": Uint16,
	"uinteger": Uint32, "uint32": Uint32, "ubigint": Uint64, "uint64": Uint64,
	"float4": Float32, "float": Float32, "real": Float32, "float8": Float64, "double": Float64,
	"decimal": Decimal, "numeric": Decimal, "dec": Decimal,
	"text": Text, "varchar": Text, "string": Text, "char": Text, "bpchar": Text, "utf8": Text,
	"blob": Blob, "bytea": Blob, "binary": Blob, "varbinary": Blob,
	"date": Date, "time": Time, "time_ns": TimeNS, "timestamp": Timestamp, "datetime": Timestamp,
	"timestamp_us": Timestamp,
	"timestamp_ns": TimestampNS, "timestamptz": TimestampTZ, "interval": Interval,
}

// TypeNames lists the names that ParseType knows; for "did you mean".
func TypeNames() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(typesByName)), maps.Keys(namedByName))
}

// ParseType returns the type of a name, in any case, and of its parameters: decimal(15, 2). A
// decimal without parameters has 18 digits, 3 of them after the decimal point.
func ParseType(name string, params ...int) (Type, error) {
	id, ok := typesByName[strings.ToLower(name)]
	named, isNamed := namedByName[strings.ToLower(name)]
	switch {
	case isNamed && len(params) > 0:
		return Type{}, fmt.Errorf("type %s takes no parameters", named)
	case isNamed:
		return named, nil
	case !ok:
		return Type{}, fmt.Errorf("no type is named %s", name)
	case id != Decimal && id != Text && len(params) > 0:
		return Type{}, fmt.Errorf("type %s takes no parameters", typeOf(id))
	case id != Decimal:
		return typeOf(id), nil
	case len(params) == 0:
		return decimalOf(18, 3), nil
	}
	precision, scale := params[0], 0
	if len(params) > 1 {
		scale = params[1]
	}
	if len(params) > 2 || precision < 1 || precision > digitsMax || scale < 0 || scale > precision {
		return Type{}, fmt.Errorf("%s: the precision must be in [1, %d], the scale in [0, precision]", name, digitsMax)
	}
	return decimalOf(precision, scale), nil
}

// digitsMax is the most digits of a decimal.
const digitsMax = 38

// TypeOf returns the type of the values of an Arrow type.
func TypeOf(dt arrow.DataType) (Type, error) { return fromArrow(dt) }

// HasOtherUnit says whether expressions have the times of a column in another unit than the column.
func HasOtherUnit(dt arrow.DataType) bool {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		dt = d.ValueType
	}
	of, ok := dt.(arrow.TemporalWithUnit)
	if !ok {
		return dt.ID() == arrow.DATE64
	}
	t, err := fromArrow(dt)
	if err != nil {
		return false
	}
	other, ok := t.Arrow().(arrow.TemporalWithUnit)
	return !ok || other.TimeUnit() != of.TimeUnit()
}

// fromArrow returns the type of a column; the type of a dictionary is the type of its values.
func fromArrow(dt arrow.DataType) (Type, error) {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		dt = d.ValueType
	}
	if of := nested.Of(dt); of != nil {
		return ofNested(of), nil
	}
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		switch {
		case dt.TimeZone != "":
			return typeOf(TimestampTZ), nil
		case dt.Unit == arrow.Nanosecond:
			return typeOf(TimestampNS), nil
		}
		return typeOf(Timestamp), nil
	case *arrow.Time64Type:
		if dt.Unit == arrow.Nanosecond {
			return typeOf(TimeNS), nil
		}
	case arrow.DecimalType:
		if dt.GetPrecision() <= digitsMax && dt.GetScale() >= 0 && dt.GetScale() <= dt.GetPrecision() {
			return decimalOf(int(dt.GetPrecision()), int(dt.GetScale())), nil
		}
	}
	if id, ok := typesByArrow[dt.ID()]; ok {
		return typeOf(id), nil
	}
	return Type{}, fmt.Errorf("type %s is not supported in expressions", dt)
}

var typesByArrow = map[arrow.Type]TypeID{
	arrow.NULL: Null, arrow.BOOL: Bool,
	arrow.INT8: Int8, arrow.INT16: Int16, arrow.INT32: Int32, arrow.INT64: Int64,
	arrow.UINT8: Uint8, arrow.UINT16: Uint16, arrow.UINT32: Uint32, arrow.UINT64: Uint64,
	arrow.FLOAT16: Float32, arrow.FLOAT32: Float32, arrow.FLOAT64: Float64,
	arrow.STRING: Text, arrow.LARGE_STRING: Text, arrow.STRING_VIEW: Text,
	arrow.BINARY: Blob, arrow.LARGE_BINARY: Blob, arrow.BINARY_VIEW: Blob, arrow.FIXED_SIZE_BINARY: Blob,
	arrow.DATE32: Date, arrow.DATE64: Date, arrow.TIME32: Time, arrow.TIME64: Time, arrow.DURATION: Duration,
}

// Arrow returns the type of a column of results.
func (t Type) Arrow() arrow.DataType {
	switch {
	case t.nested():
		return t.arrow
	case t.ID == Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	}
	return types[t.ID].arrow
}

// arrowOf is Arrow, but for narrow decimals, which have 64 bits.
func (t Type) arrowOf(narrow bool) arrow.DataType {
	if narrow {
		return &arrow.Decimal64Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	}
	return t.Arrow()
}

func (t Type) signed() bool   { return t.ID >= Int8 && t.ID <= Huge }
func (t Type) unsigned() bool { return t.ID >= Uint8 && t.ID <= Uint64 }
func (t Type) integer() bool  { return t.signed() || t.unsigned() }
func (t Type) float() bool    { return t.ID == Float32 || t.ID == Float64 }
func (t Type) numeric() bool  { return t.integer() || t.float() || t.ID == Decimal }

// temporal says whether values are points in time that compare with each other.
func (t Type) temporal() bool {
	return t.ID == Date || t.ID == Timestamp || t.ID == TimestampNS || t.ID == TimestampTZ
}

// span says whether values are lengths of time.
func (t Type) span() bool { return t.ID == Duration || t.ID == Interval || t.ID == Period }

// clock says whether values are times of a day.
func (t Type) clock() bool { return t.ID == Time || t.ID == TimeNS }

// digits is the precision of the decimals that hold every value of an integer type.
func (t Type) digits() int {
	return [...]int{Int8: 3, Int16: 5, Int32: 10, Int64: 19, Huge: 38, Uint8: 3, Uint16: 5, Uint32: 10, Uint64: 20}[t.ID]
}

// asDecimal returns the type that an integer is cast to beside decimals.
func (t Type) asDecimal() Type {
	if t.integer() {
		return decimalOf(t.digits(), 0)
	}
	return t
}

// common returns the type in which values of two types are compared, or chosen from. It returns
// false if the types have none in common.
func common(a, b Type) (Type, bool) {
	switch {
	case a == b:
		return a, true
	case a.ID == Null:
		return b, true
	case b.ID == Null:
		return a, true
	case a.numeric() && b.numeric():
		return commonNumber(a, b), true
	case a.temporal() && b.temporal(), a.clock() && b.clock():
		return typeOf(max(a.ID, b.ID)), true
	case a.ID == Bool && b.numeric():
		return b, true
	case b.ID == Bool && a.numeric():
		return a, true
	case a.span() && b.span():
		return period, true
	case a.isEnum() && (b.isEnum() || b.ID == Text), a.ID == Text && b.isEnum():
		return typeOf(Text), true
	case a.nested() && b.nested():
		return commonNested(a, b)
	}
	return Type{}, false
}

func commonNumber(a, b Type) Type {
	switch {
	case a.float() || b.float():
		if a.ID == Float64 || b.ID == Float64 {
			return typeOf(Float64)
		}
		return typeOf(Float32)
	case a.ID == Decimal || b.ID == Decimal:
		a, b = a.asDecimal(), b.asDecimal()
		scale := max(a.Scale, b.Scale)
		precision := max(a.Precision-a.Scale, b.Precision-b.Scale) + scale
		return decimalOf(min(int(precision), digitsMax), int(scale))
	case a.signed() == b.signed():
		return typeOf(max(a.ID, b.ID))
	}
	signed, unsigned := a, b
	if b.signed() {
		signed, unsigned = b, a
	}
	// The narrowest signed type that holds both: one step above the unsigned one.
	return typeOf(max(signed.ID, unsigned.ID-Uint8+Int16))
}
