package nested

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Schema returns a schema whose nested columns are as Arrow has them; the schema itself where no column is of Type.
func Schema(s *arrow.Schema) *arrow.Schema {
	made := s
	for i, f := range s.Fields() {
		t := within(f.Type)
		if t == nil {
			continue
		}
		fields := made.Fields() // a copy
		if fields[i].Type = Plain(t.Of); f.Type.ID() == arrow.LIST {
			fields[i].Type = arrow.ListOf(Plain(t.Of))
		}
		meta := s.Metadata()
		made = arrow.NewSchema(fields, &meta)
	}
	return made
}

// InZone returns a schema whose timestamps with a zone are of the given one; the schema itself where all are.
func InZone(s *arrow.Schema, zone string) *arrow.Schema {
	made := s
	for i, f := range s.Fields() {
		if t := inZone(f.Type, zone); !arrow.TypeEqual(t, f.Type) {
			fields := made.Fields() // a copy
			fields[i].Type = t
			meta := s.Metadata()
			made = arrow.NewSchema(fields, &meta)
		}
	}
	return made
}

func inZone(dt arrow.DataType, zone string) arrow.DataType {
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		if dt.TimeZone != "" {
			return &arrow.TimestampType{Unit: dt.Unit, TimeZone: zone}
		}
	case *arrow.ListType:
		field := dt.ElemField()
		field.Type = inZone(field.Type, zone)
		return arrow.ListOfField(field)
	case *arrow.MapType:
		key, item := dt.KeyField(), dt.ItemField()
		key.Type, item.Type = inZone(key.Type, zone), inZone(item.Type, zone)
		made := arrow.MapOfFields(key, item)
		made.KeysSorted = dt.KeysSorted
		return made
	case *arrow.StructType:
		fields := slices.Clone(dt.Fields())
		for i := range fields {
			fields[i].Type = inZone(fields[i].Type, zone)
		}
		return arrow.StructOf(fields...)
	}
	return dt
}

// Batch returns a batch with the columns as a schema has them: columns of Type as Arrow has their values, or as
// binaries, and binaries as columns of Type. It takes over the batch, and the caller owns the result.
func Batch(mem memory.Allocator, schema *arrow.Schema, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	defer batch.Release()
	columns := make([]arrow.Array, batch.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range batch.Columns() {
		var err error
		to := schema.Field(i).Type
		from, binaries := within(c.DataType()), swap(c.DataType(), arrow.BinaryTypes.Binary)
		switch {
		case from != nil && arrow.TypeEqual(to, binaries), from == nil && within(to) != nil:
			data := retyped(c.Data(), swap(c.DataType(), leafOf(to)))
			columns[i] = array.MakeFromData(data)
			data.Release()
		case from != nil && within(to) == nil:
			columns[i], err = plain(mem, c)
		default:
			c.Retain()
			columns[i] = c
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", schema.Field(i).Name, err)
		}
		if c := columns[i]; !arrow.TypeEqual(c.DataType(), to) && arrow.TypeEqual(inZone(c.DataType(), ""), inZone(to, "")) {
			data := retyped(c.Data(), to)
			columns[i] = array.MakeFromData(data)
			data.Release()
			c.Release()
		}
	}
	return array.NewRecordBatch(schema, columns, batch.NumRows()), nil
}

// leafOf returns the type that swap replaces.
func leafOf(dt arrow.DataType) arrow.DataType {
	switch dt := dt.(type) {
	case *arrow.ListType:
		return leafOf(dt.Elem())
	case *arrow.DictionaryType:
		return leafOf(dt.ValueType)
	}
	return dt
}

// plain returns an array as Arrow has its values.
func plain(mem memory.Allocator, a arrow.Array) (arrow.Array, error) {
	if _, ok := a.DataType().(*Type); ok {
		return Decode(mem, a)
	}
	if l, ok := a.(*array.List); ok && within(l.DataType()) != nil {
		return decodeLists(mem, l)
	}
	if d, ok := a.(*array.Dictionary); ok {
		if _, ok := d.Dictionary().DataType().(*Type); ok {
			return decodeCodes(mem, d)
		}
	}
	a.Retain()
	return a, nil
}

// decodeLists is Decode of the elements of lists.
func decodeLists(mem memory.Allocator, l *array.List) (arrow.Array, error) {
	values, err := Decode(mem, l.ListValues())
	if err != nil {
		return nil, err
	}
	defer values.Release()
	from := l.Data()
	data := array.NewData(arrow.ListOf(values.DataType()), from.Len(), from.Buffers(), []arrow.ArrayData{values.Data()},
		from.NullN(), from.Offset())
	defer data.Release()
	return array.NewListData(data), nil
}

// decodeCodes is Decode of an array of codes.
func decodeCodes(mem memory.Allocator, d *array.Dictionary) (arrow.Array, error) {
	t, value := stringsOf(d)
	b := NewBuilder(mem, t, d.Len())
	for row := range d.Len() {
		if s, ok := value(row); ok {
			b.Bytes = append(b.Bytes, s...)
			b.Add()
		} else {
			b.AddNull()
		}
	}
	texts, err := b.Array()
	if err != nil {
		return nil, err
	}
	defer texts.Release()
	return Decode(mem, texts)
}
