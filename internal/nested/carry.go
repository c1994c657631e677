package nested

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// marshaled are the texts of types, and read the types of texts.
var marshaled, read sync.Map

// Marshal returns a text that Unmarshal reads the type of.
func (t *Type) Marshal() string {
	key := t.Fingerprint() + t.String()
	if text, ok := marshaled.Load(key); ok {
		return text.(string)
	}
	var b bytes.Buffer
	schema := arrow.NewSchema([]arrow.Field{{Type: t.Of, Nullable: true}}, nil)
	_ = ipc.NewWriter(&b, ipc.WithSchema(schema)).Close() // to memory, of types that all have a form
	text := base64.StdEncoding.EncodeToString(b.Bytes())
	marshaled.Store(key, text)
	return text
}

// Unmarshal returns the type of a text of Marshal.
func Unmarshal(text string) (*Type, error) {
	if t, ok := read.Load(text); ok {
		return t.(*Type), nil
	}
	r, err := ipc.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("the text of a nested type: %w", err)
	}
	defer r.Release()
	if r.Schema().NumFields() != 1 || Of(r.Schema().Field(0).Type) == nil {
		return nil, errors.New("the text of a nested type has another type")
	}
	t := NewType(r.Schema().Field(0).Type)
	if t.Of == nil {
		return nil, fmt.Errorf("a nested type of %s", r.Schema().Field(0).Type)
	}
	read.Store(text, t)
	return t, nil
}

// carriedKey is the metadata of a field whose type was Type, or had one within.
const carriedKey = "mpga.nested"

// Carried returns a batch whose columns of Type are binaries for Arrow's formats, and note the type. It returns the
// batch itself, retained, where it has none.
func Carried(batch arrow.RecordBatch) arrow.RecordBatch {
	return replaced(batch, carry)
}

// CarriedSchema is Carried of a schema.
func CarriedSchema(s *arrow.Schema) *arrow.Schema {
	made, _ := replacedSchema(s, carry) // which has no error
	return made
}

// RestoredSchema returns the schema that CarriedSchema was given.
func RestoredSchema(s *arrow.Schema) (*arrow.Schema, error) { return replacedSchema(s, restore) }

func replacedSchema(s *arrow.Schema, change func(*arrow.Field) error) (*arrow.Schema, error) {
	fields := s.Fields()
	for i := range fields {
		if err := change(&fields[i]); err != nil {
			return nil, err
		}
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// carry makes a field of Type one of binaries that notes the type.
func carry(f *arrow.Field) error {
	if t := within(f.Type); t != nil {
		keys, values := f.Metadata.Keys(), f.Metadata.Values()
		f.Metadata = arrow.NewMetadata(append(slices.Clone(keys), carriedKey), append(slices.Clone(values), t.Marshal()))
		f.Type = swap(f.Type, arrow.BinaryTypes.Binary)
	}
	return nil
}

// restore makes a field that carry has made what it was.
func restore(f *arrow.Field) error {
	at := f.Metadata.FindKey(carriedKey)
	if at < 0 {
		return nil
	}
	t, err := Unmarshal(f.Metadata.Values()[at])
	if err != nil {
		return err
	}
	keys, values := slices.Clone(f.Metadata.Keys()), slices.Clone(f.Metadata.Values())
	f.Metadata = arrow.NewMetadata(slices.Delete(keys, at, at+1), slices.Delete(values, at, at+1))
	f.Type = swap(f.Type, t)
	return nil
}

// Restored returns the batch that Carried was given.
func Restored(batch arrow.RecordBatch) (_ arrow.RecordBatch, err error) {
	made := replaced(batch, func(f *arrow.Field) error {
		err = cmp.Or(err, restore(f))
		return err
	})
	if err != nil {
		made.Release()
		return nil, err
	}
	return made, nil
}

// replaced returns a batch with the fields that a function changes.
func replaced(batch arrow.RecordBatch, change func(*arrow.Field) error) arrow.RecordBatch {
	fields, columns, changed := batch.Schema().Fields(), batch.Columns(), false
	for i := range fields {
		before := fields[i].Type
		if change(&fields[i]) != nil || fields[i].Type == before {
			continue
		}
		if !changed {
			columns, changed = append([]arrow.Array(nil), columns...), true
		}
		data := retyped(columns[i].Data(), fields[i].Type)
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	if !changed {
		batch.Retain()
		return batch
	}
	meta := batch.Schema().Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &meta), columns, batch.NumRows())
}

// within returns the Type that a type is, or that the elements of its lists or the entries of its dictionary have.
func within(dt arrow.DataType) *Type {
	switch dt := dt.(type) {
	case *Type:
		return dt
	case *arrow.ListType:
		return within(dt.Elem())
	case *arrow.DictionaryType:
		return within(dt.ValueType)
	}
	return nil
}

// swap returns a type with another in place of the Type within it, or of the binaries.
func swap(dt, to arrow.DataType) arrow.DataType {
	switch dt := dt.(type) {
	case *arrow.ListType:
		return arrow.ListOf(swap(dt.Elem(), to))
	case *arrow.DictionaryType:
		return &arrow.DictionaryType{IndexType: dt.IndexType, ValueType: swap(dt.ValueType, to)}
	}
	return to
}

// retyped returns data with another type of the same layout.
func retyped(from arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	var children []arrow.ArrayData
	if of, ok := to.(arrow.NestedType); ok {
		for i, field := range of.Fields() {
			child := retyped(from.Children()[i], field.Type)
			defer child.Release()
			children = append(children, child)
		}
	}
	data := array.NewData(to, from.Len(), from.Buffers(), children, from.NullN(), from.Offset())
	if of, ok := to.(*arrow.DictionaryType); ok {
		entries := retyped(from.Dictionary(), of.ValueType)
		defer entries.Release()
		data.SetDictionary(entries)
	}
	return data
}
