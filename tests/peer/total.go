package peer

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Kind says what the total of a column is.
type Kind string

const (
	Integers Kind = "integers" // the sum; of decimals without fraction, too
	Floats   Kind = "floats"   // the sum; of other decimals, too
	Texts    Kind = "texts"    // the sum of the lengths in bytes
	Lists    Kind = "lists"    // the sum of the numbers in lists
	Others   Kind = "others"   // the number of values
)

// kindOf returns the kind of the columns of a type. A dictionary is of the kind of its values.
func kindOf(t arrow.DataType) Kind {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return kindOf(t.ValueType)
	case arrow.DecimalType:
		if t.GetScale() == 0 {
			return Integers
		}
		return Floats
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType,
		*arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return Texts
	case arrow.ListLikeType:
		return Lists
	}
	switch {
	case arrow.IsInteger(t.ID()):
		return Integers
	case arrow.IsFloating(t.ID()):
		return Floats
	}
	return Others
}

// add adds the values of a column, or of a part of one. The kind is the column's.
func (t *Total) add(column arrow.Array) error {
	switch c := column.(type) {
	case *array.Dictionary:
		return t.addDictionary(c)
	case *array.Decimal128:
		t.addDecimals(c)
		return nil
	case array.ListLike:
		return t.addLists(c)
	}
	switch t.Kind {
	case Integers:
		return t.addIntegers(column)
	case Floats, Lists:
		return t.addNumbers(column)
	case Texts:
		return t.addTexts(column)
	}
	t.Whole += int64(column.Len() - column.NullN())
	return nil
}

// addIntegers adds integers modulo 2^64.
func (t *Total) addIntegers(column arrow.Array) error {
	switch c := column.(type) {
	case *array.Int8:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Int16:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Int32:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Int64:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Uint8:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Uint16:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Uint32:
		t.Whole += sumValid[int64](c, c.Values())
	case *array.Uint64:
		t.Whole += sumValid[int64](c, c.Values())
	default:
		return fmt.Errorf("no total of %s", column.DataType())
	}
	return nil
}

// addNumbers adds floats, or the integers in lists.
func (t *Total) addNumbers(column arrow.Array) error {
	switch c := column.(type) {
	case *array.Float32:
		t.Float += sumValid[float64](c, c.Values())
		return nil
	case *array.Float64:
		t.Float += sumValid[float64](c, c.Values())
		return nil
	}
	whole := Total{Kind: Integers}
	err := whole.addIntegers(column)
	t.Float += float64(whole.Whole)
	return err
}

// number is a value of a column with a sum.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// sumValid adds the values that are finite and not NULL.
func sumValid[T int64 | float64, V number](column arrow.Array, values []V) (total T) {
	nulls := column.NullN() > 0
	for i, v := range values {
		if v-v == 0 && !(nulls && column.IsNull(i)) {
			total += T(v)
		}
	}
	return total
}

func (t *Total) addDecimals(c *array.Decimal128) {
	scale := c.DataType().(*arrow.Decimal128Type).Scale
	for i, v := range c.Values() {
		switch {
		case c.IsNull(i):
		case t.Kind == Integers:
			t.Whole += int64(v.LowBits())
		default:
			t.Float += v.ToFloat64(scale)
		}
	}
}

func (t *Total) addTexts(column arrow.Array) error {
	texts, ok := column.(interface{ ValueLen(i int) int })
	if !ok {
		return fmt.Errorf("no total of %s", column.DataType())
	}
	for i := range column.Len() {
		if column.IsValid(i) {
			t.Whole += int64(texts.ValueLen(i))
		}
	}
	return nil
}

// addLists adds the elements of all lists at once. A NULL has none.
func (t *Total) addLists(c array.ListLike) error {
	if c.Len() == 0 {
		return nil
	}
	from, _ := c.ValueOffsets(0)
	_, to := c.ValueOffsets(c.Len() - 1)
	values := array.NewSlice(c.ListValues(), from, to)
	defer values.Release()
	return t.add(values)
}

// addDictionary adds each value of a dictionary as often as it occurs.
func (t *Total) addDictionary(c *array.Dictionary) error {
	values := make([]Total, c.Dictionary().Len())
	for i := range values {
		values[i].Kind = t.Kind
		value := array.NewSlice(c.Dictionary(), int64(i), int64(i)+1)
		err := values[i].add(value)
		value.Release()
		if err != nil {
			return err
		}
	}
	for i := range c.Len() {
		if c.IsValid(i) {
			value := values[c.GetValueIndex(i)]
			t.Whole += value.Whole
			t.Float += value.Float
		}
	}
	return nil
}
