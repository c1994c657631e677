package delivery

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Plan says where the columns of a split's batches come from.
type Plan struct {
	Schema  *arrow.Schema
	Columns []Column
}

// Column is a column of the part's batches, or one value for all rows.
type Column struct {
	From     int
	Constant bool
	Value    any // nil is NULL
}

// Deliverer turns batches as formats read them into batches as S1 promises them.
type Deliverer struct {
	plan      *Plan
	mem       memory.Allocator
	constants []arrow.Array // by column of the plan, as long as the longest batch so far
	entries   []noNullEntries
}

func NewDeliverer(p *Plan, mem memory.Allocator) *Deliverer {
	n := len(p.Columns)
	return &Deliverer{plan: p, mem: mem, constants: make([]arrow.Array, n), entries: make([]noNullEntries, n)}
}

func (d *Deliverer) Close() {
	for i, c := range d.constants {
		if c != nil {
			c.Release()
			d.constants[i] = nil
		}
	}
	for i := range d.entries {
		d.entries[i].drop()
	}
}

func (d *Deliverer) Deliver(ctx context.Context, raw arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(d.plan.Columns))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	fields := make([]arrow.Field, len(d.plan.Columns))
	for i, c := range d.plan.Columns {
		fields[i] = d.plan.Schema.Field(i)
		var column arrow.Array
		var err error
		if c.Constant {
			column = d.constant(i, raw.NumRows())
		} else if column, err = plain(ctx, d.mem, raw.Column(c.From), &d.entries[i]); err != nil {
			return nil, fmt.Errorf("column %q: %w", fields[i].Name, err)
		}
		columns = append(columns, column)
		fields[i].Type = column.DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, raw.NumRows()), nil
}

// plain returns an array without extension types and with no dictionary but dictionary<int32, T> that
// MayHaveCodes lets through.
func plain(ctx context.Context, mem memory.Allocator, a arrow.Array, entries *noNullEntries) (arrow.Array, error) {
	switch a := a.(type) {
	case array.ExtensionArray:
		return plain(ctx, mem, a.Storage(), entries)
	case *array.Dictionary:
		var inner noNullEntries
		defer inner.drop()
		values, err := plain(ctx, mem, a.Dictionary(), &inner)
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

// lookUpBools returns the values of a dictionary's rows: truth values or NULLs, the types without codes. The library's
// function for all types comes with a registry of all its functions, 13 MB of every program.
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

// noNullEntries is a dictionary's values without the NULLs among them, kept while batches share the dictionary. S5.
type noNullEntries struct {
	of     arrow.ArrayData
	values arrow.Array
}

func (e *noNullEntries) drop() {
	if e.values != nil {
		e.values.Release()
	}
	*e = noNullEntries{}
}

// set takes the values of a dictionary. What is in place of NULLs is arbitrary, but legal.
func (e *noNullEntries) set(of arrow.ArrayData, values arrow.Array) {
	if e.of == of {
		return
	}
	e.drop()
	from := values.Data()
	data := array.NewData(from.DataType(), from.Len(), append([]*memory.Buffer{nil}, from.Buffers()[1:]...), nil, 0, from.Offset())
	defer data.Release()
	e.of, e.values = of, array.MakeFromData(data)
}

// int32Codes returns a dictionary array of the given values, which may have NULLs, with codes of 32 bits and without
// NULLs among the values: a row whose code names one is NULL itself.
func int32Codes(mem memory.Allocator, a *array.Dictionary, values arrow.Array, entries *noNullEntries) (*array.Dictionary, error) {
	codes, whole := a.Indices(), NullCount(values) == 0
	if whole && codes.DataType().ID() == arrow.INT32 && a.Dictionary().DataType().ID() != arrow.EXTENSION {
		a.Retain()
		return a, nil
	}
	buf := memory.NewResizableBuffer(mem)
	defer buf.Release()
	buf.Resize(arrow.Int32Traits.BytesRequired(codes.Len()))
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
			validity = memory.NewResizableBuffer(mem)
			validity.Resize((codes.Len() + 7) / 8)
			memory.Set(validity.Bytes(), 0xFF)
		}
		nulls += clearNullEntries(validity.Bytes(), out, values)
		entries.set(a.Dictionary().Data(), values)
		values = entries.values
	}
	if validity != nil {
		defer validity.Release()
	}
	data := array.NewDataWithDictionary(DictionaryOf(values.DataType()), codes.Len(), []*memory.Buffer{validity, buf}, nulls, 0, values.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data), nil
}

// lookUpViews returns the views that the codes of an array name, and an empty one for a NULL. The bytes behind them are shared.
func lookUpViews(mem memory.Allocator, a *array.Dictionary) arrow.Array {
	values, codes := a.Dictionary().Data(), a.Indices().(*array.Int32)
	var views []arrow.ViewHeader
	if b := values.Buffers()[1]; b != nil {
		views = arrow.ViewHeaderTraits.CastFromBytes(b.Bytes())[values.Offset():]
	}
	buf := memory.NewResizableBuffer(mem)
	defer buf.Release()
	buf.Resize(arrow.ViewHeaderTraits.BytesRequired(codes.Len()))
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
	return NewArray(values.DataType(), codes.Len(), NullCount(codes), append([]*memory.Buffer{validity, buf}, values.Buffers()[2:]...)...)
}

// clearNullEntries makes NULL the rows whose entry is NULL, and returns how many they are.
func clearNullEntries(validity []byte, codes []int32, values arrow.Array) (nulls int) {
	for row, code := range codes {
		if bitutil.BitIsSet(validity, row) && values.IsNull(int(code)) {
			bitutil.ClearBit(validity, row)
			nulls++
		}
	}
	return nulls
}

// constant returns the value of a constant column, repeated for so many rows.
func (d *Deliverer) constant(column int, rows int64) arrow.Array {
	if c := d.constants[column]; c == nil || int64(c.Len()) < rows {
		if c != nil {
			c.Release()
		}
		d.constants[column] = newConstant(d.mem, d.plan.Schema.Field(column).Type, d.plan.Columns[column].Value, int(rows))
	}
	return array.NewSlice(d.constants[column], 0, rows)
}

// newConstant builds an array of one value; a string becomes a dictionary of one entry.
func newConstant(mem memory.Allocator, typ arrow.DataType, value any, rows int) arrow.Array {
	if value == nil {
		return array.MakeArrayOfNull(mem, typ, rows)
	}
	buf := memory.NewResizableBuffer(mem)
	defer buf.Release()
	switch value := value.(type) {
	case int64:
		buf.Resize(arrow.Int64Traits.BytesRequired(rows))
		Fill(arrow.Int64Traits.CastFromBytes(buf.Bytes()), value)
	case arrow.Date32:
		buf.Resize(arrow.Date32Traits.BytesRequired(rows))
		Fill(arrow.Date32Traits.CastFromBytes(buf.Bytes()), value)
	case string:
		buf.Resize(arrow.Int32Traits.BytesRequired(rows))
		clear(buf.Bytes())
		return newStringConstant(mem, value, rows, buf)
	}
	data := array.NewData(typ, rows, []*memory.Buffer{nil, buf}, nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func newStringConstant(mem memory.Allocator, value string, rows int, codes *memory.Buffer) arrow.Array {
	builder := array.NewStringBuilder(mem)
	defer builder.Release()
	builder.Append(value)
	dictionary := builder.NewArray()
	defer dictionary.Release()
	data := array.NewDataWithDictionary(DictionaryOf(arrow.BinaryTypes.String), rows, []*memory.Buffer{nil, codes}, 0, 0, dictionary.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data)
}

// NewPlan returns the plan of columns whose From count the columns of a file, and the list of these, each of which is
// read once: the From of the plan count that list.
func NewPlan(fields []arrow.Field, columns []Column) (p *Plan, fileColumns []int) {
	for i := range columns {
		c := &columns[i]
		if c.Constant {
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

// Some returns the plan of some of the columns, and the columns of the part that it takes its own from.
func (p *Plan) Some(columns []int) (*Plan, []int) {
	fields, some := make([]arrow.Field, len(columns)), make([]Column, len(columns))
	for i, c := range columns {
		fields[i], some[i] = p.Schema.Field(c), p.Columns[c]
	}
	return NewPlan(fields, some)
}
