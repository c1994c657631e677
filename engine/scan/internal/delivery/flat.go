package delivery

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
)

// hiddenKey is the metadata of a field that * does not mean.
const hiddenKey = "mpga.hidden"

// structKey is the metadata of a field that is a struct whose fields are columns, too, and of these: the struct's name.
const structKey = "mpga.struct"

// StructOf returns the name of the struct that a column is or is a field of, where both are columns; "" of others.
func StructOf(f arrow.Field) string {
	if at := f.Metadata.FindKey(structKey); at >= 0 {
		return f.Metadata.Values()[at]
	}
	return ""
}

// IsHidden says whether a field is one of a column that a statement reads where it names it, and * does not have.
func IsHidden(f arrow.Field) bool { return f.Metadata.FindKey(hiddenKey) >= 0 }

// Hidden returns the field of a hidden column.
func Hidden(f arrow.Field) arrow.Field {
	f.Metadata = arrow.NewMetadata([]string{hiddenKey}, []string{""})
	return f
}

// Flat is the columns of a schema with the fields of structs, at any depth, in place of the structs, and behind them
// the structs as hidden columns.
type Flat struct {
	Schema *arrow.Schema // with the types that are delivered
	Paths  [][]int       // by column: the index of the column in the schema, then of the field in each struct
}

const (
	// structDepthMax bounds how deep the fields of structs are looked up; a deeper struct is a column,
	// which cannot be read.
	structDepthMax = 64

	// fieldNameBytesMax bounds the names of fields together: a corrupt schema may repeat a long name
	// for every field. S3.
	fieldNameBytesMax = 16 << 20
)

// Flatten returns the columns of a schema. It drops all metadata: two files need not agree on what
// a format notes of its columns, such as Parquet's field ids.
func Flatten(s *arrow.Schema) *Flat {
	f := &flattener{taken: make(map[string]bool), nameBytes: fieldNameBytesMax}
	for _, field := range s.Fields() {
		if !hasFields(field.Type) {
			f.taken[field.Name] = true
		}
	}
	for i, field := range s.Fields() {
		f.add(field, []int{i}, []string{field.Name})
	}
	if f.nameBytes < 0 {
		f.fields, f.paths = nil, nil
		for i, field := range s.Fields() {
			f.column(field.Name, field, []int{i})
		}
	}
	names := make([]string, len(f.fields))
	for i := range names {
		names[i] = f.fields[i].Name
	}
	NumberRepeated(names)
	for i := range names {
		f.fields[i].Name = names[i]
	}
	f.wholes()
	return &Flat{Schema: arrow.NewSchema(f.fields, nil), Paths: f.paths}
}

// NumberRepeated gives columns that have the name of a column before them names of their own, as DuckDB does:
// the second x is x_1.
func NumberRepeated(names []string) {
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true
	}
	last := make(map[string]int, len(names)) // number of the last column of a name
	for i, name := range names {
		n, again := last[name]
		for again && taken[names[i]] {
			n++
			names[i] = fmt.Sprintf("%s_%d", name, n)
		}
		last[name], taken[names[i]] = n, true
	}
}

// hasFields says whether the fields of a type are columns.
func hasFields(t arrow.DataType) bool {
	of, ok := t.(*arrow.StructType)
	return ok && of.NumFields() > 0
}

// flattener collects the columns of a schema.
type flattener struct {
	fields    []arrow.Field
	paths     [][]int
	taken     map[string]bool // names of columns that are no structs, and of fields so far
	structs   []structAt
	nameBytes int // that the names of fields may take from here on; below 0: too many
}

// add adds the column that a field is, or the columns of its own fields.
func (f *flattener) add(field arrow.Field, path []int, names []string) {
	if f.nameBytes < 0 {
		return
	}
	if hasFields(field.Type) && len(path) <= structDepthMax {
		f.structs = append(f.structs, structAt{field, path, names})
		for i, inner := range field.Type.(*arrow.StructType).Fields() {
			inner.Nullable = inner.Nullable || field.Nullable
			f.add(inner, append(slices.Clone(path), i), append(slices.Clone(names), inner.Name))
		}
		return
	}
	if len(path) == 1 {
		f.column(field.Name, field, path)
		return
	}
	name := query.FieldName(names...)
	if f.taken[name] {
		name = query.HiddenFieldName(names...)
	}
	f.taken[name] = true
	f.nameBytes -= len(name)
	f.column(name, field, path)
}

func (f *flattener) column(name string, field arrow.Field, path []int) {
	f.fields = append(f.fields, arrow.Field{Name: name, Type: columnType(field.Type), Nullable: field.Nullable})
	f.paths = append(f.paths, path)
}

// structAt is a struct whose fields are columns.
type structAt struct {
	field arrow.Field
	path  []int
	names []string
}

// wholes adds the structs as hidden columns, where their names mean no other column.
func (f *flattener) wholes() {
	for _, s := range f.structs {
		name := s.names[0]
		if len(s.names) > 1 {
			name = query.FieldName(s.names...)
		}
		t, ok := columnType(s.field.Type).(*nested.Type)
		if f.taken[name] || !ok || f.nameBytes < 0 {
			continue
		}
		f.taken[name] = true
		whole := Hidden(arrow.Field{Name: name, Type: t, Nullable: s.field.Nullable})
		if len(s.path) == 1 {
			whole.Metadata = arrow.NewMetadata([]string{structKey}, []string{name})
			for i, path := range f.paths {
				if path[0] == s.path[0] {
					f.fields[i].Metadata = whole.Metadata
				}
			}
		}
		f.fields = append(f.fields, whole)
		f.paths = append(f.paths, s.path)
	}
}

// columnType returns the type whose values a column brings: of structs, maps and lists of nested values the type of
// their strings, and lists of other values as they are.
func columnType(t arrow.DataType) arrow.DataType {
	if ext, ok := t.(arrow.ExtensionType); ok && arrow.IsNested(ext.StorageType().ID()) {
		return t // which no query reads
	}
	t = Type(t)
	if _, isList := Element(t); isList || nested.Of(t) == nil && !arrow.IsNested(t.ID()) {
		return t
	}
	if of := nested.NewType(t); of.Of != nil {
		return of
	}
	return t
}

// Some returns some of the columns, and the columns of the schema in which these are: the paths of
// the former begin with a place in the latter.
func (f *Flat) Some(columns []int) (some *Flat, of []int) {
	fields, paths := make([]arrow.Field, len(columns)), make([][]int, len(columns))
	for i, c := range columns {
		at := slices.Index(of, f.Paths[c][0])
		if at < 0 {
			at = len(of)
			of = append(of, f.Paths[c][0])
		}
		fields[i], paths[i] = f.Schema.Field(c), append([]int{at}, f.Paths[c][1:]...)
	}
	return &Flat{Schema: arrow.NewSchema(fields, nil), Paths: paths}, of
}

// Take returns the columns of a batch, which the caller owns.
func (f *Flat) Take(mem memory.Allocator, b arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields, arrays := f.Schema.Fields(), make([]arrow.Array, len(f.Paths))
	defer recordreader.ReleaseAll(arrays)
	for i, path := range f.Paths {
		var err error
		if arrays[i], err = takeField(mem, b.Column(path[0]), path[1:]); err != nil {
			return nil, fmt.Errorf("column %q: %w", fields[i].Name, err)
		}
		fields[i].Type, fields[i].Nullable = arrays[i].DataType(), true
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, b.NumRows()), nil
}

// takeField returns the field of a struct that a path leads to, NULL where a struct on the way is
// NULL. Without a path that is the array itself. The caller owns the array.
func takeField(mem memory.Allocator, a arrow.Array, path []int) (arrow.Array, error) {
	if len(path) == 0 {
		a.Retain()
		return a, nil
	}
	var masks []*array.Struct
	for _, i := range path {
		of, ok := a.(*array.Struct)
		if !ok || i >= of.NumField() {
			return nil, fmt.Errorf("%s where a struct was expected", a.DataType())
		}
		if a = of.Field(i); a.Len() != of.Len() {
			return nil, fmt.Errorf("a field of %d values in a struct of %d", a.Len(), of.Len())
		}
		if NullCount(of) > 0 {
			masks = append(masks, of)
		}
	}
	if ext, ok := a.(array.ExtensionArray); ok {
		storage, err := storageOf(mem, ext)
		if err != nil {
			return nil, err
		}
		defer storage.Release()
		a = storage
	}
	if len(masks) == 0 || a.DataType().ID() == arrow.NULL {
		return array.NewSlice(a, 0, int64(a.Len())), nil // arrays note their NULLs without a lock: not shared
	}
	return masked(mem, a, masks)
}

// masked returns an array that is NULL where the array or one of the structs is. Its buffers begin
// at most seven rows before its first row, as a bitmap does.
func masked(mem memory.Allocator, a arrow.Array, by []*array.Struct) (arrow.Array, error) {
	data, rows := a.Data(), a.Len()
	shift := data.Offset() % 8
	from := data.Offset() - shift
	validity := NewBuffer(mem, (shift+rows+7)/8)
	defer validity.Release()
	mask := make([]byte, validity.Len())
	bitutil.SetBitsTo(validity.Bytes(), 0, int64(8*validity.Len()), true)
	masks := make([]arrow.Array, 0, len(by)+1)
	for _, s := range by {
		masks = append(masks, s)
	}
	for _, m := range append(masks, a) {
		bits, offset := m.NullBitmapBytes(), m.Data().Offset()
		if NullCount(m) == 0 {
			continue
		}
		if len(bits) < (offset+rows+7)/8 {
			return nil, fmt.Errorf("a bitmap of %d B for %d rows", len(bits), offset+rows)
		}
		bitutil.CopyBitmap(bits, offset, rows, mask, shift)
		for i, b := range mask {
			validity.Bytes()[i] &= b
		}
	}
	buffers := []*memory.Buffer{validity}
	layout := data.DataType().Layout().Buffers
	for i, b := range data.Buffers()[1:] {
		skipped := 0
		if i+1 < len(layout) {
			switch spec := layout[i+1]; spec.Kind {
			case arrow.KindFixedWidth:
				skipped = from * spec.ByteWidth
			case arrow.KindBitmap:
				skipped = from / 8
			}
		}
		if b != nil && skipped > 0 {
			b = memory.SliceBuffer(b, skipped, b.Len()-skipped)
			defer b.Release()
		}
		buffers = append(buffers, b)
	}
	nulls := rows - bitutil.CountSetBits(validity.Bytes(), shift, rows)
	children := data.Children()
	if data.DataType().ID() == arrow.STRUCT {
		children = slices.Clone(children)
		for i, c := range children {
			children[i] = array.NewSliceData(c, int64(from), int64(data.Offset()+rows))
			defer children[i].Release()
		}
	}
	if l, ok := data.DataType().(*arrow.FixedSizeListType); ok {
		elements, err := elementsOf(l, children[0], from, data.Offset()+rows)
		if err != nil {
			return nil, err
		}
		defer elements.Release()
		children = []arrow.ArrayData{elements}
	}
	out := array.NewData(data.DataType(), rows, buffers, children, nulls, shift)
	defer out.Release()
	if d, ok := a.(*array.Dictionary); ok {
		out.SetDictionary(d.Data().Dictionary())
	}
	return array.MakeFromData(out), nil
}

// elementsOf returns the elements of the rows [from, to) of a list of a fixed size.
func elementsOf(l *arrow.FixedSizeListType, elements arrow.ArrayData, from, to int) (arrow.ArrayData, error) {
	size := int64(l.Len())
	if int64(to)*size > int64(elements.Len()) {
		return nil, fmt.Errorf("%d elements for %d lists of %d", elements.Len(), to, size)
	}
	return array.NewSliceData(elements, int64(from)*size, int64(to)*size), nil
}
