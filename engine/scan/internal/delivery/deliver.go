package delivery

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
)

// Plan says where the columns of a split's batches come from.
type Plan struct {
	Schema  *arrow.Schema
	Columns []Column
}

// Column is a column of the part's batches, or one value for all rows.
type Column struct {
	From     int  // the column of the part's batches, where not Constant
	Constant bool // all rows have Value
	Row      bool // the number of the row in its file, by Deliverer.Rows
	Convert  bool // to the type of the plan, which Common has found
	Value    any  // string, int64, arrow.Date32, or a scalar.Scalar of another type; nil is NULL
}

// Deliverer turns batches as formats read them into batches as S1 promises them.
type Deliverer struct {
	// Rows returns the numbers of the rows of the batch that is delivered, where a column has them.
	Rows func(rows int64) arrow.Array

	plan      *Plan
	mem       memory.Allocator
	constants []arrow.Array   // by column of the plan, as long as the longest batch so far
	entries   []noNullEntries // by column of the plan
	converted []convertedEntries
}

// NewDeliverer returns a deliverer of a plan, whose constants take memory of mem. Close it.
func NewDeliverer(p *Plan, mem memory.Allocator) *Deliverer {
	n := len(p.Columns)
	return &Deliverer{plan: p, mem: mem, constants: make([]arrow.Array, n), entries: make([]noNullEntries, n),
		converted: make([]convertedEntries, n)}
}

// Close releases the arrays that the deliverer keeps. It can be used again.
func (d *Deliverer) Close() {
	recordreader.ReleaseAll(d.constants)
	for i := range d.entries {
		d.entries[i].drop()
		d.converted[i].drop()
	}
}

// Deliver returns the columns of the plan, of the types of S1. The caller owns the batch.
func (d *Deliverer) Deliver(raw arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(d.plan.Columns))
	defer recordreader.ReleaseAll(columns)
	for i, c := range d.plan.Columns {
		var err error
		switch {
		case c.Constant:
			columns[i] = d.constant(i, raw.NumRows())
		case c.Row:
			columns[i] = d.Rows(raw.NumRows())
		default:
			columns[i], err = d.column(i, raw.Column(c.From))
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", d.plan.Schema.Field(i).Name, err)
		}
	}
	return recordreader.Batch(d.plan.Schema, columns, raw.NumRows()), nil
}

// column returns a column of the plan, whose values are an array's.
func (d *Deliverer) column(i int, from arrow.Array) (arrow.Array, error) {
	values, err := plain(d.mem, from, &d.entries[i])
	t, isNested := d.plan.Schema.Field(i).Type.(*nested.Type)
	if isNested && err == nil {
		defer values.Release()
		return asNested(d.mem, values, t)
	}
	if err != nil || !d.plan.Columns[i].Convert {
		return values, err
	}
	defer values.Release()
	return d.converted[i].convert(d.mem, values, d.plan.Schema.Field(i).Type)
}

// asNested returns an array of nested values as strings of a type.
func asNested(mem memory.Allocator, values arrow.Array, to *nested.Type) (arrow.Array, error) {
	from, isNested := values.DataType().(*nested.Type)
	switch {
	case isNested && arrow.TypeEqual(from.Of, to.Of):
		values.Retain()
		return values, nil
	case isNested:
		return nested.Convert(mem, values, to)
	}
	own := nested.NewType(values.DataType())
	if own.Of == nil || arrow.TypeEqual(own.Of, to.Of) {
		return nested.Encode(mem, values, to)
	}
	encoded, err := nested.Encode(mem, values, own)
	if err != nil {
		return nil, err
	}
	defer encoded.Release()
	return nested.Convert(mem, encoded, to)
}

// plain returns an array without extension types and with no dictionary but dictionary<int32, T>
// that MayHaveCodes lets through.
func plain(mem memory.Allocator, a arrow.Array, entries *noNullEntries) (arrow.Array, error) {
	switch a := a.(type) {
	case array.ExtensionArray:
		storage, err := storageOf(mem, a)
		if err != nil {
			return nil, err
		}
		defer storage.Release()
		return plain(mem, storage, entries)
	case *array.Dictionary:
		var inner noNullEntries
		defer inner.drop()
		values, err := plain(mem, a.Dictionary(), &inner)
		if err != nil {
			return nil, err
		}
		defer values.Release()
		switch id := values.DataType().ID(); {
		case MayHaveCodes(id):
			return int32Codes(mem, a, values, entries)
		case id == arrow.STRING_VIEW || id == arrow.BINARY_VIEW:
			coded, err := int32Codes(mem, a, values, entries)
			if err != nil {
				return nil, err
			}
			defer coded.Release()
			return lookUpViews(mem, coded), nil
		}
		return lookUpBools(mem, values, a)
	}
	a.Retain()
	return a, nil
}

// lookUpBools returns the values of a dictionary's rows: truth values or NULLs, the types without
// codes. The library's function for all types links a registry of all its functions, 13 MB.
func lookUpBools(mem memory.Allocator, values arrow.Array, a *array.Dictionary) (arrow.Array, error) {
	bools, ok := values.(*array.Boolean)
	switch {
	case values.DataType().ID() == arrow.NULL:
		return array.NewNull(a.Len()), nil
	case !ok:
		return nil, fmt.Errorf("a dictionary of %s", values.DataType())
	}
	b := array.NewBooleanBuilder(mem)
	defer b.Release()
	b.Reserve(a.Len())
	for row := range a.Len() {
		if a.IsNull(row) {
			b.AppendNull()
			continue
		}
		switch code := a.GetValueIndex(row); {
		case code < 0 || code >= bools.Len():
			return nil, fmt.Errorf("%w: code %d of a dictionary of %d values", arrow.ErrIndex, code, bools.Len())
		case bools.IsNull(code):
			b.AppendNull()
		default:
			b.Append(bools.Value(code))
		}
	}
	return b.NewArray(), nil
}

// noNullEntries is a dictionary's values without NULLs, kept while batches share the dictionary.
// S5.
type noNullEntries struct {
	of     arrow.ArrayData // of the dictionary
	values arrow.Array     // owned; nil before the first dictionary with NULLs
}

func (e *noNullEntries) drop() {
	if e.values != nil {
		e.values.Release()
	}
	*e = noNullEntries{}
}

// set takes the values of a dictionary. The values in place of NULLs are arbitrary, but legal.
func (e *noNullEntries) set(of arrow.ArrayData, values arrow.Array) {
	if e.of == of {
		return
	}
	e.drop()
	from := values.Data()
	buffers := append([]*memory.Buffer{nil}, from.Buffers()[1:]...)
	data := array.NewData(from.DataType(), from.Len(), buffers, nil, 0, from.Offset())
	defer data.Release()
	e.of, e.values = of, array.MakeFromData(data)
}

// int32Codes returns a dictionary array of the given values, which may have NULLs, with codes of 32
// bits and without NULLs among the values: a row whose code names a NULL is NULL itself.
func int32Codes(
	mem memory.Allocator, a *array.Dictionary, values arrow.Array, entries *noNullEntries,
) (*array.Dictionary, error) {
	codes, whole := a.Indices(), NullCount(values) == 0
	if whole && codes.DataType().ID() == arrow.INT32 && a.Dictionary().DataType().ID() != arrow.EXTENSION {
		a.Retain()
		return a, nil
	}
	buf := NewBuffer(mem, arrow.Int32Traits.BytesRequired(codes.Len()))
	defer buf.Release()
	out := arrow.Int32Traits.CastFromBytes(buf.Bytes())
	switch codes := codes.(type) {
	case *array.Int32:
		copy(out, codes.Int32Values())
	case *array.Int8:
		Narrow(out, codes.Int8Values())
	case *array.Uint8:
		Narrow(out, codes.Uint8Values())
	case *array.Int16:
		Narrow(out, codes.Int16Values())
	case *array.Uint16:
		Narrow(out, codes.Uint16Values())
	case *array.Uint32:
		Narrow(out, codes.Uint32Values())
	case *array.Int64:
		Narrow(out, codes.Int64Values())
	case *array.Uint64:
		Narrow(out, codes.Uint64Values())
	default:
		return nil, fmt.Errorf("dictionary codes of type %s", codes.DataType())
	}
	validity, nulls := copyValidity(mem, codes), NullCount(codes)
	if !whole {
		if validity == nil {
			validity = NewBuffer(mem, (codes.Len()+7)/8)
			memory.Set(validity.Bytes(), 0xFF)
		}
		nulls += clearNullEntries(validity.Bytes(), out, values)
		entries.set(a.Dictionary().Data(), values)
		values = entries.values
	}
	if validity != nil {
		defer validity.Release()
	}
	coded := NewArray(arrow.PrimitiveTypes.Int32, codes.Len(), nulls, validity, buf)
	defer coded.Release()
	return array.NewDictionaryArray(DictionaryOf(values.DataType()), coded, values), nil
}

// lookUpViews returns the views that the codes of an array name, and an empty view for a NULL. The
// bytes behind the views are shared.
func lookUpViews(mem memory.Allocator, a *array.Dictionary) arrow.Array {
	values, codes := a.Dictionary().Data(), a.Indices().(*array.Int32)
	var views []arrow.ViewHeader
	if b := values.Buffers()[1]; b != nil {
		views = arrow.ViewHeaderTraits.CastFromBytes(b.Bytes())[values.Offset():]
	}
	buf := NewBuffer(mem, arrow.ViewHeaderTraits.BytesRequired(codes.Len()))
	defer buf.Release()
	for row, out := 0, arrow.ViewHeaderTraits.CastFromBytes(buf.Bytes()); row < codes.Len(); row++ {
		out[row] = arrow.ViewHeader{}
		if codes.IsValid(row) {
			out[row] = views[codes.Value(row)]
		}
	}
	validity := copyValidity(mem, codes)
	if validity != nil {
		defer validity.Release()
	}
	buffers := append([]*memory.Buffer{validity, buf}, values.Buffers()[2:]...)
	return NewArray(values.DataType(), codes.Len(), NullCount(codes), buffers...)
}

// clearNullEntries makes the rows NULL whose entry is NULL, and returns how many it has made so.
func clearNullEntries(validity []byte, codes []int32, values arrow.Array) (nulls int) {
	for row, code := range codes {
		if bitutil.BitIsSet(validity, row) && values.IsNull(int(code)) {
			bitutil.ClearBit(validity, row)
			nulls++
		}
	}
	return nulls
}

// constant returns the value of a constant column, once for each of `rows` rows.
func (d *Deliverer) constant(column int, rows int64) arrow.Array {
	if c := d.constants[column]; c == nil || int64(c.Len()) < rows {
		if c != nil {
			c.Release()
		}
		typ := d.plan.Schema.Field(column).Type
		d.constants[column] = newConstant(d.mem, typ, d.plan.Columns[column].Value, int(rows))
	}
	return array.NewSlice(d.constants[column], 0, rows)
}

// clearing is an allocator of memory of zeros. arrow-go takes any allocator's memory for that where it makes an
// array of NULLs, whose validity bits are then what the memory had before.
type clearing struct{ memory.Allocator }

func (c clearing) Allocate(size int) []byte {
	b := c.Allocator.Allocate(size)
	clear(b)
	return b
}

func (c clearing) Reallocate(size int, b []byte) []byte {
	kept := len(b)
	b = c.Allocator.Reallocate(size, b)
	clear(b[min(kept, len(b)):])
	return b
}

// newConstant builds an array of one value; a string becomes a dictionary of one entry.
func newConstant(mem memory.Allocator, typ arrow.DataType, value any, rows int) arrow.Array {
	switch value := value.(type) {
	case nil:
		return array.MakeArrayOfNull(clearing{mem}, typ, rows)
	case scalar.Scalar:
		values, err := scalar.MakeArrayFromScalar(value, rows, mem)
		if err != nil {
			panic(fmt.Sprintf("a column of %s: %v", typ, err))
		}
		return values
	}
	buf := NewBuffer(mem, int(FixedBytesOf(typ))*rows)
	defer buf.Release()
	switch value := value.(type) {
	case int64:
		Fill(View[int64](buf.Bytes()), value)
	case arrow.Date32:
		Fill(View[arrow.Date32](buf.Bytes()), value)
	case string:
		buf.Resize(CodeBytes * rows)
		clear(buf.Bytes())
		codes := NewArray(arrow.PrimitiveTypes.Int32, rows, 0, nil, buf)
		defer codes.Release()
		builder := array.NewStringBuilder(mem)
		defer builder.Release()
		builder.Append(value)
		entry := builder.NewArray()
		defer entry.Release()
		return array.NewDictionaryArray(DictionaryOf(entry.DataType()), codes, entry)
	}
	return NewArray(typ, rows, 0, nil, buf)
}

// NewPlan returns the plan of columns whose From are columns of a file, and the list of these, each
// once: the From of the plan are places in that list.
func NewPlan(fields []arrow.Field, columns []Column) (p *Plan, fileColumns []int) {
	for i := range columns {
		c := &columns[i]
		if c.Constant || c.Row {
			continue
		}
		at := slices.Index(fileColumns, c.From)
		if at < 0 {
			at = len(fileColumns)
			fileColumns = append(fileColumns, c.From)
		}
		c.From = at
	}
	return &Plan{Schema: arrow.NewSchema(fields, nil), Columns: columns}, fileColumns
}

// Some returns the plan of some of the columns, and the columns of the part's batches for it.
func (p *Plan) Some(columns []int) (*Plan, []int) {
	fields, some := make([]arrow.Field, len(columns)), make([]Column, len(columns))
	for i, c := range columns {
		fields[i], some[i] = p.Schema.Field(c), p.Columns[c]
	}
	return NewPlan(fields, some)
}
