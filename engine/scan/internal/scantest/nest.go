package scantest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Nest puts the columns of a batch but the last into structs, some within others, required and
// nullable ones. It returns the batch of structs, and the columns as they are to be read: with the
// names of fields, and NULL where a struct is. The order of the columns stays.
func Nest(rng *rand.Rand, b arrow.RecordBatch) (nested, flat arrow.RecordBatch) {
	n := nester{rng: rng, rows: int(b.NumRows())}
	last := int(b.NumCols()) - 1
	fields, columns := n.structs("", nil, false, b.Schema().Fields()[:last], b.Columns()[:last])
	fields, columns = append(fields, b.Schema().Field(last)), append(columns, b.Column(last))
	n.fields, n.columns = append(n.fields, b.Schema().Field(last)), append(n.columns, b.Column(last))
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows()),
		array.NewRecordBatch(arrow.NewSchema(n.fields, nil), n.columns, b.NumRows())
}

// nester collects the columns as they are to be read.
type nester struct {
	rng     *rand.Rand
	rows    int
	fields  []arrow.Field
	columns []arrow.Array
}

// structs puts columns into structs, which are fields of a struct that is NULL in some rows.
func (n *nester) structs(
	prefix string, outside []bool, nullable bool, fields []arrow.Field, columns []arrow.Array,
) (outer []arrow.Field, arrays []arrow.Array) {
	depth := strings.Count(prefix, ".")
	for len(fields) > 0 {
		take := 1 + n.rng.IntN(min(4, len(fields)))
		if depth == 4 || n.rng.IntN(1+depth) > 0 {
			field, column := fields[0], columns[0]
			if id := field.Type.ID(); outside != nil && (arrow.IsDecimal(id) || id == arrow.FLOAT16) {
				// pqarrow misplaces such values where the structs have NULLs and the column has none.
				field.Nullable, column = true, Masked(column, outside)
			}
			n.fields = append(n.fields, arrow.Field{Name: prefix + field.Name, Type: field.Type,
				Nullable: nullable || field.Nullable})
			n.columns = append(n.columns, Masked(column, outside))
			outer, arrays = append(outer, field), append(arrays, column)
			fields, columns = fields[1:], columns[1:]
			continue
		}
		name, optional := fmt.Sprint("s", len(n.fields)), n.rng.IntN(3) > 0
		isNull, hidden := make([]bool, n.rows), make([]bool, n.rows)
		bitmap, density := make([]byte, n.rows/8+1), n.rng.IntN(4)
		for i := range isNull {
			isNull[i] = optional && n.rng.IntN(8) < density
			bitutil.SetBitTo(bitmap, i, !isNull[i])
			hidden[i] = isNull[i] || outside != nil && outside[i]
		}
		inner, values := n.structs(prefix+name+".", hidden, nullable || optional, fields[:take], columns[:take])
		of := arrow.StructOf(inner...)
		children := make([]arrow.ArrayData, len(values))
		for i, v := range values {
			children[i] = v.Data()
		}
		data := array.NewData(of, n.rows, []*memory.Buffer{memory.NewBufferBytes(bitmap)}, children,
			array.UnknownNullCount, 0)
		outer = append(outer, arrow.Field{Name: name, Type: of, Nullable: optional})
		arrays = append(arrays, array.NewStructData(data))
		fields, columns = fields[take:], columns[take:]
	}
	return outer, arrays
}

// Masked returns an array with more NULLs. Without any, hidden is nil.
// Requires: the array begins with its buffers.
func Masked(a arrow.Array, hidden []bool) arrow.Array {
	bitmap := make([]byte, a.Len()/8+1)
	for i := range a.Len() {
		bitutil.SetBitTo(bitmap, i, a.IsValid(i) && (hidden == nil || !hidden[i]))
	}
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(bitmap)}, a.Data().Buffers()[1:]...)
	data := array.NewData(a.DataType(), a.Len(), buffers, a.Data().Children(), array.UnknownNullCount, 0)
	if d, ok := a.(*array.Dictionary); ok {
		data.SetDictionary(d.Data().Dictionary())
	}
	return array.MakeFromData(data)
}

// LeafPaths returns the paths of the Parquet columns of a schema's columns and fields.
func LeafPaths(s *arrow.Schema) (paths []string) { return leafPaths("", s.Fields()) }

func leafPaths(prefix string, fields []arrow.Field) (paths []string) {
	for _, f := range fields {
		if of, ok := f.Type.(*arrow.StructType); ok {
			paths = append(paths, leafPaths(prefix+f.Name+".", of.Fields())...)
		} else {
			paths = append(paths, prefix+f.Name)
		}
	}
	return paths
}
