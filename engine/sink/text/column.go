package text

import (
	"fmt"
	"math/big"
	"strconv"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/timeformat"
)

// form says what the text of a value looks like, and so how a format must quote it.
type form uint8

const (
	formNull   form = iota // every value is NULL
	formNumber             // digits, sign, point, exponent
	formFloat              // a number, or NaN, Infinity, -Infinity
	formBool               // true, false
	formTime               // dates, times, durations: never a quote or a delimiter
	formString             // any bytes, meant as UTF-8
	formBlob               // any bytes
	formNested             // list, struct, map
)

// column appends the values of an array as text.
type column struct {
	form   form
	append func(dst []byte, row int) []byte // Requires: the row is not NULL.
	null   func(row int) bool               // nil when no row is NULL
	bytes  func(row int) []byte             // of a string or a blob, without copying; nil of others

	json func(dst []byte, row int) []byte // of a list, a struct or a map, beside append's text of SQL; nil of others
}

// checkText refuses the types that newColumn does not know, before there are rows.
func checkText(schema *arrow.Schema) error {
	for _, field := range schema.Fields() {
		if err := checkTextType(field.Type); err != nil {
			return fmt.Errorf("column %q: %w", field.Name, err)
		}
	}
	return nil
}

func checkTextType(t arrow.DataType) error {
	switch t.ID() {
	case arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED, arrow.EXTENSION:
		return fmt.Errorf("%s has no text form: write arrow", t)
	case arrow.DICTIONARY:
		return checkTextType(t.(*arrow.DictionaryType).ValueType)
	}
	if parent, ok := t.(arrow.NestedType); ok {
		for _, f := range parent.Fields() {
			if err := checkTextType(f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// newColumns returns the columns of a batch.
func newColumns(batch arrow.RecordBatch) []column {
	columns := make([]column, batch.NumCols())
	for i, arr := range batch.Columns() {
		columns[i] = newColumn(arr)
	}
	return columns
}

// newColumn returns a column of a type that checkText has let pass. X3.
func newColumn(arr arrow.Array) (c column) {
	switch a := arr.(type) {
	case *array.Null:
		return column{null: func(int) bool { return true }}
	case *array.Dictionary:
		return dictionaryColumn(a)
	case *array.Struct:
		c = nestedColumn(arr, structJSON(a))
	case *array.Map:
		c = nestedColumn(arr, mapJSON(a))
	case array.ListLike:
		c = nestedColumn(arr, listJSON(a))
	default:
		if c = bytesColumn(arr); c.append == nil {
			c.form, c.append = appenderOf(arr)
		}
	}
	if c.append == nil {
		panic(fmt.Sprintf("text: a column of type %s", arr.DataType()))
	}
	if arr.NullN() > 0 {
		c.null = arr.IsNull
	}
	return c
}

// appendSpaced appends the value of a row, a timestamp with a space in place of the T. Requires:
// the row is not NULL.
func (c *column) appendSpaced(dst []byte, row int) []byte {
	start := len(dst)
	dst = c.append(dst, row)
	if c.form == formTime {
		for i, b := range dst[start:] {
			if b == 'T' {
				dst[start+i] = ' '
			}
		}
	}
	return dst
}

// Appender returns a function that appends the text of a row's value as a table shows it, and
// reports false for a NULL, which has no text.
//
// Requires: checkText lets the type pass.
func Appender(values arrow.Array) func(dst []byte, row int) (text []byte, valid bool) {
	c := newColumn(values)
	return func(dst []byte, row int) ([]byte, bool) {
		if c.null != nil && c.null(row) {
			return dst, false
		}
		return c.appendSpaced(dst, row), true
	}
}

func dictionaryColumn(arr *array.Dictionary) column {
	values := newColumn(arr.Dictionary())
	c := column{form: values.form}
	c.append = func(dst []byte, row int) []byte { return values.append(dst, arr.GetValueIndex(row)) }
	if values.bytes != nil {
		c.bytes = func(row int) []byte { return values.bytes(arr.GetValueIndex(row)) }
	}
	if arr.NullN() > 0 || values.null != nil {
		c.null = func(row int) bool {
			return arr.IsNull(row) || values.null != nil && values.null(arr.GetValueIndex(row))
		}
	}
	return c
}

// appenderOf returns what appends the values of an array that are neither nested nor bytes, nil
// where there is no way.
func appenderOf(arr arrow.Array) (form, func([]byte, int) []byte) {
	switch a := arr.(type) {
	case *array.Int8:
		return formNumber, signed(a.Int8Values())
	case *array.Int16:
		return formNumber, signed(a.Int16Values())
	case *array.Int32:
		return formNumber, signed(a.Int32Values())
	case *array.Int64:
		return formNumber, signed(a.Int64Values())
	case *array.Uint8:
		return formNumber, unsigned(a.Uint8Values())
	case *array.Uint16:
		return formNumber, unsigned(a.Uint16Values())
	case *array.Uint32:
		return formNumber, unsigned(a.Uint32Values())
	case *array.Uint64:
		return formNumber, unsigned(a.Uint64Values())
	case *array.Float16:
		return formFloat, func(dst []byte, i int) []byte {
			return appendFloat(dst, float64(rowdata.FromHalf(a.Value(i).Uint16())), 32)
		}
	case *array.Float32:
		return formFloat, func(dst []byte, i int) []byte { return appendFloat(dst, float64(a.Value(i)), 32) }
	case *array.Float64:
		return formFloat, func(dst []byte, i int) []byte { return appendFloat(dst, a.Value(i), 64) }
	case *array.Boolean:
		return formBool, func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }
	case *array.Date32:
		return formTime, func(dst []byte, i int) []byte { return timeformat.AppendDate(dst, int64(a.Value(i))) }
	case *array.Date64:
		return formTime, func(dst []byte, i int) []byte {
			return timeformat.AppendDate(dst, digits.FloorDiv(int64(a.Value(i)), 86_400_000))
		}
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit
		return formTime, func(dst []byte, i int) []byte { return appendTime(dst, int64(a.Value(i)), unit) }
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		return formTime, func(dst []byte, i int) []byte { return appendTime(dst, int64(a.Value(i)), unit) }
	case *array.Duration:
		unit := a.DataType().(*arrow.DurationType).Unit
		return formTime, func(dst []byte, i int) []byte { return appendDuration(dst, int64(a.Value(i)), unit) }
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		zone := zoneOf(t)
		return formTime, func(dst []byte, i int) []byte {
			return appendTimestamp(dst, int64(a.Value(i)), t.Unit, zone)
		}
	case *array.MonthDayNanoInterval:
		return formTime, func(dst []byte, i int) []byte {
			v := a.Value(i)
			return timeformat.AppendInterval(dst, int64(v.Months), int64(v.Days), v.Nanoseconds/1000)
		}
	case *array.MonthInterval, *array.DayTimeInterval:
		return formString, func(dst []byte, i int) []byte { return append(dst, a.ValueStr(i)...) }
	}
	return formNumber, decimalAppender(arr)
}

func decimalAppender(arr arrow.Array) func([]byte, int) []byte {
	t, ok := arr.DataType().(arrow.DecimalType)
	if !ok {
		return nil
	}
	scale := int(t.GetScale())
	narrow := func(dst []byte, v int64) []byte { return appendDecimal(dst, v>>63, uint64(v), scale) }
	switch a := arr.(type) {
	case *array.Decimal32:
		return func(dst []byte, i int) []byte { return narrow(dst, int64(a.Value(i))) }
	case *array.Decimal64:
		return func(dst []byte, i int) []byte { return narrow(dst, int64(a.Value(i))) }
	case *array.Decimal128:
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return appendDecimal(dst, v.HighBits(), v.LowBits(), scale)
		}
	case *array.Decimal256:
		return func(dst []byte, i int) []byte { return appendBig(dst, a.Value(i).BigInt(), scale) }
	}
	return nil
}

// appendBig appends v divided by 10^scale.
func appendBig(dst []byte, v *big.Int, scale int) []byte {
	if v.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := v.Abs(v).Append(nil, 10)
	for n := len(digits); n < scale+1; n++ {
		dst = append(dst, '0')
	}
	return movePoint(append(dst, digits...), scale)
}

func signed[T int8 | int16 | int32 | int64](values []T) func([]byte, int) []byte {
	return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(values[i]), 10) }
}

func unsigned[T uint8 | uint16 | uint32 | uint64](values []T) func([]byte, int) []byte {
	return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(values[i]), 10) }
}

// zoneOf returns the zone to write timestamps in, or nil for timestamps without a zone.
func zoneOf(t *arrow.TimestampType) *time.Location {
	if t.TimeZone == "" {
		return nil
	}
	zone, err := t.GetZone()
	if err != nil {
		return time.UTC
	}
	return zone
}

func bytesColumn(arr arrow.Array) column {
	switch a := arr.(type) {
	case *array.String:
		return stringColumn(a.Value)
	case *array.LargeString:
		return stringColumn(a.Value)
	case *array.StringView:
		return stringColumn(a.Value)
	case *array.Binary:
		return blobColumn(a.Value)
	case *array.LargeBinary:
		return blobColumn(a.Value)
	case *array.BinaryView:
		return blobColumn(a.Value)
	case *array.FixedSizeBinary:
		return blobColumn(a.Value)
	}
	return column{}
}

func stringColumn(value func(int) string) column {
	return column{
		form:   formString,
		append: func(dst []byte, i int) []byte { return append(dst, value(i)...) },
		bytes: func(i int) []byte {
			v := value(i)
			return unsafe.Slice(unsafe.StringData(v), len(v))
		},
	}
}

func blobColumn(value func(int) []byte) column {
	return column{
		form:   formBlob,
		append: func(dst []byte, i int) []byte { return appendBlob(dst, value(i)) },
		bytes:  value,
	}
}

// nestedColumn appends the text that SQL casts nested values to, or JSON where they have parts of types that SQL does
// not have.
func nestedColumn(arr arrow.Array, json func([]byte, int) []byte) column {
	c := column{form: formNested, append: expr.NestedTexts(arr), json: json}
	if c.append == nil {
		c.append = json
	}
	return c
}

// mapJSON appends JSON: an object whose names are the keys as text.
func mapJSON(arr *array.Map) func(dst []byte, row int) []byte {
	keys, items := newColumn(arr.Keys()), newColumn(arr.Items())
	var key []byte
	return func(dst []byte, row int) []byte {
		start, end := arr.ValueOffsets(row)
		dst = append(dst, '{')
		for i := start; i < end; i++ {
			if i > start {
				dst = append(dst, ',')
			}
			key = keys.append(key[:0], int(i))
			dst = append(appendJSONString(dst, key), ':')
			dst = items.appendJSON(dst, int(i))
		}
		return append(dst, '}')
	}
}

// listJSON appends JSON: the elements in brackets.
func listJSON(arr array.ListLike) func(dst []byte, row int) []byte {
	elements := newColumn(arr.ListValues())
	return func(dst []byte, row int) []byte {
		start, end := arr.ValueOffsets(row)
		dst = append(dst, '[')
		for i := start; i < end; i++ {
			if i > start {
				dst = append(dst, ',')
			}
			dst = elements.appendJSON(dst, int(i))
		}
		return append(dst, ']')
	}
}

// structJSON appends JSON: the fields in braces, or, without names, in brackets.
func structJSON(arr *array.Struct) func(dst []byte, row int) []byte {
	t := arr.DataType().(*arrow.StructType)
	opened, closed := byte('{'), byte('}')
	if nested.IsTuple(t) {
		opened, closed = '[', ']'
	}
	keys := make([][]byte, arr.NumField())
	fields := make([]column, arr.NumField())
	for i := range fields {
		fields[i] = newColumn(arr.Field(i))
		if opened != '[' {
			keys[i] = append(appendJSONString(nil, []byte(t.Field(i).Name)), ':')
		}
	}
	return func(dst []byte, row int) []byte {
		dst = append(dst, opened)
		for i := range fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, keys[i]...)
			dst = fields[i].appendJSON(dst, row)
		}
		return append(dst, closed)
	}
}
