package grouptest

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/rowdata"
)

// A cell is nil for NULL, or one of
//
//	bool       booleans
//	int64      signed integers; dates, times, timestamps, durations in their unit
//	uint64     unsigned integers
//	float64    floats of every width
//	*big.Int   decimals, without their scale
//	string     strings and binary
//	[]any      lists
//
// or, in an Oracle's answer only, Approx, Near or Unspecified.

// Approx is a float64 that rounding may move by Tolerance.
type Approx struct {
	Value, Tolerance float64

	// Condition is how many times larger the values of a group are than their spread: DuckDB's
	// skewness and kurtosis lose its fourth power. It is 0 for other functions.
	Condition float64
}

func approx(value, tolerance float64) Approx { return Approx{Value: value, Tolerance: tolerance} }

// Near is an int64 that rounding may move by Tolerance.
type Near struct{ Value, Tolerance int64 }

// NearCount is what approx_count_distinct may answer for n distinct values: six standard errors of
// 16,384 registers, and two where there are few.
func NearCount(n int64) Near { return Near{n, max(n/20, 2)} }

// Unspecified is any value or NULL: intermediate results pass the range of a double.
type Unspecified struct{}

// Value returns the cell at row i of an array. It panics for types that mpga does not read.
func Value(arr arrow.Array, i int) any {
	if arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return uint64(a.Value(i))
	case *array.Uint16:
		return uint64(a.Value(i))
	case *array.Uint32:
		return uint64(a.Value(i))
	case *array.Uint64:
		return a.Value(i)
	case *array.Float16:
		return float64(rowdata.FromHalf(a.Value(i).Uint16()))
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Date64:
		return int64(a.Value(i))
	case *array.Time32:
		return int64(a.Value(i))
	case *array.Time64:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Duration:
		return int64(a.Value(i))
	case *array.Decimal32:
		return big.NewInt(int64(a.Value(i)))
	case *array.Decimal64:
		return big.NewInt(int64(a.Value(i)))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case interface{ Value(int) string }:
		return strings.Clone(a.Value(i))
	case interface{ Value(int) []byte }:
		return string(a.Value(i))
	case *array.Dictionary:
		return Value(a.Dictionary(), a.GetValueIndex(i))
	case *array.List:
		start, end := a.ValueOffsets(i)
		list := make([]any, 0, end-start)
		for j := start; j < end; j++ {
			list = append(list, Value(a.ListValues(), int(j)))
		}
		return list
	}
	panic(fmt.Sprintf("no cell for the type %s", arr.DataType()))
}

// keyText writes a cell so that equal cells, and only those, have equal texts: NaN of any bits is
// one value, -0.0 is 0.0. It is also how cells are shown.
func keyText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		if v == 0 {
			v = 0 // drops the sign
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *big.Int:
		return v.String()
	case string:
		return strconv.Quote(v)
	case []any:
		return "[" + joined(v) + "]"
	case Approx:
		return fmt.Sprintf("%v (within %.3g)", v.Value, v.Tolerance)
	case Near:
		return fmt.Sprintf("%d (within %d)", v.Value, v.Tolerance)
	case Unspecified:
		return "anything"
	}
	panic(fmt.Sprintf("no text for a cell of type %T", v))
}

func keyTexts(key []any) string { return "(" + joined(key) + ")" }

func joined(cells []any) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = keyText(c)
	}
	return strings.Join(texts, ", ")
}

// CompareValues orders two cells of the same type: false before true, NaN after everything.
func CompareValues(a, b any) int {
	switch a := a.(type) {
	case bool:
		return boolRank(a) - boolRank(b.(bool))
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		b := b.(float64)
		if math.IsNaN(a) || math.IsNaN(b) {
			return boolRank(math.IsNaN(a)) - boolRank(math.IsNaN(b))
		}
		return cmp.Compare(a, b)
	case *big.Int:
		return a.Cmp(b.(*big.Int))
	case string:
		return strings.Compare(a, b.(string))
	}
	panic(fmt.Sprintf("no order for cells of type %T", a))
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// valueType returns the type of a dictionary's values, and any other type itself.
func valueType(dt arrow.DataType) arrow.DataType {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return dt
}

// scaleOf returns how many digits of a type's cells follow the decimal point.
func scaleOf(dt arrow.DataType) int32 {
	if d, ok := valueType(dt).(arrow.DecimalType); ok {
		return d.GetScale()
	}
	return 0
}

// Words returns the two words by which a column of strings holds a string.
func Words(s string) []uint64 {
	v := rowdata.ToBytes2([]byte(s))
	return v[:]
}
