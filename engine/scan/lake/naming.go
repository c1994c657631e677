package lake

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/parquet"
)

// passedOver begins the names of columns of files that the table does not have. No column of a table has such a name.
const passedOver = "\x00"

// matcher finds the column that a field of a file is; nil where it is none.
type matcher func(columns []Column, f arrow.Field) *Column

// naming returns names and types of the columns of files, as the table has them.
func naming(columns []Column, match matcher) parquet.Naming {
	return func(fields []arrow.Field) ([]arrow.Field, error) { return named(fields, columns, match), nil }
}

func named(fields []arrow.Field, columns []Column, match matcher) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		c := match(columns, f)
		if c == nil {
			f.Name = passedOver + f.Name
		} else {
			f.Name, f.Type = c.Name, namedType(f.Type, c, match)
		}
		out[i] = f
	}
	return out
}

// namedType returns a type of a file with the names within it, and the zones and kinds of strings, that the table has.
func namedType(t arrow.DataType, c *Column, match matcher) arrow.DataType {
	part := func(i int) *Column {
		if i < len(c.Parts) {
			return &c.Parts[i]
		}
		return &Column{}
	}
	switch t := t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(named(t.Fields(), c.Parts, match)...)
	case *arrow.MapType:
		key, item := t.KeyField(), t.ItemField()
		key.Type, item.Type = namedType(key.Type, part(0), match), namedType(item.Type, part(1), match)
		return arrow.MapOfFields(key, item)
	case *arrow.ListType:
		element := t.ElemField()
		element.Type = namedType(element.Type, part(0), match)
		return arrow.ListOfField(element)
	case *arrow.LargeListType:
		element := t.ElemField()
		element.Type = namedType(element.Type, part(0), match)
		return arrow.ListOfField(element)
	case *arrow.LargeStringType:
		return arrow.BinaryTypes.String
	case *arrow.LargeBinaryType:
		return arrow.BinaryTypes.Binary
	case *arrow.TimestampType:
		if of, ok := c.Type.(*arrow.TimestampType); ok {
			return &arrow.TimestampType{Unit: t.Unit, TimeZone: of.TimeZone}
		}
	}
	return t
}

// byName matches columns that files have by the table's names.
func byName(columns []Column, f arrow.Field) *Column {
	return firstOf(columns, func(c *Column) bool { return strings.EqualFold(c.Name, f.Name) })
}

// byPhysical matches columns that files have by names of their own.
func byPhysical(columns []Column, f arrow.Field) *Column {
	return firstOf(columns, func(c *Column) bool { return c.Physical == f.Name })
}

// byID matches columns that files have by numbers.
func byID(columns []Column, f arrow.Field) *Column {
	id, ok := fieldID(f)
	if !ok {
		return nil
	}
	return firstOf(columns, func(c *Column) bool { return c.ID == id })
}

// fieldIDKey is the metadata of an Arrow field of a Parquet file.
const fieldIDKey = "PARQUET:field_id"

// fieldID returns the number of a field of a file.
func fieldID(f arrow.Field) (id int, ok bool) {
	at := f.Metadata.FindKey(fieldIDKey)
	if at < 0 {
		return 0, false
	}
	id, err := strconv.Atoi(f.Metadata.Values()[at])
	return id, err == nil && id >= 0 // fields without a number have -1
}

func firstOf(columns []Column, is func(*Column) bool) *Column {
	for i := range columns {
		if is(&columns[i]) {
			return &columns[i]
		}
	}
	return nil
}

// eachLeaf calls a function with the columns that are no structs, at any depth, and the name that the table's schema
// has for each.
func eachLeaf(columns []Column, path []string, f func(name string, c *Column)) {
	for i := range columns {
		c := &columns[i]
		at := append(path[:len(path):len(path)], c.Name)
		if c.Type.ID() == arrow.STRUCT {
			eachLeaf(c.Parts, at, f)
			continue
		}
		f(leafName(at), c)
	}
}

// leafName returns the name of the column that a field of structs is.
func leafName(path []string) string {
	if len(path) == 1 {
		return path[0]
	}
	return query.FieldName(path...)
}
