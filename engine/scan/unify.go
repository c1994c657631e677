package scan

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// unify returns the columns that all inputs have, in the order of the first; the column of a folder
// hides a column of the same name. A column is nullable if it is so in any input. A column of
// Arrow's null type, which writers give to a column that has no value in their file, has the type
// that it has in other files, or int32 where no file has a value. Where the inputs are a part of a
// table, whole has the columns of the table, which theirs must be; else it is nil.
func unify(inputs []decode.File, folders []decode.Folder, whole *arrow.Schema) ([]arrow.Field, error) {
	isFolder := func(f arrow.Field) bool {
		return slices.ContainsFunc(folders, func(h decode.Folder) bool { return h.Field.Name == f.Name })
	}
	name, rest, first := inputs[0].Name(), inputs[1:], inputs[0].Schema()
	if whole != nil {
		name, rest, first = "the table", inputs, whole
	}
	fields := slices.DeleteFunc(slices.Clone(first.Fields()), isFolder)
	for _, other := range rest {
		others := slices.DeleteFunc(slices.Clone(other.Schema().Fields()), isFolder)
		if err := unifyTwo(fields, others, name, other.Name()); err != nil {
			return nil, err
		}
	}
	for i := range fields {
		if fields[i].Type.ID() == arrow.NULL {
			fields[i].Type, fields[i].Nullable = arrow.PrimitiveTypes.Int32, true
		}
	}
	return fields, nil
}

// unifyTwo checks that others are the same columns as fields, and notes in fields what may be NULL.
func unifyTwo(fields, others []arrow.Field, first, other string) error {
	byName := make(map[string]arrow.Field, len(others))
	for _, f := range others {
		byName[f.Name] = f
	}
	for i, f := range fields {
		g, ok := byName[f.Name]
		if !ok {
			return fmt.Errorf("%s and %s disagree: column %q is missing in %s", first, other, f.Name, other)
		}
		switch {
		case g.Type.ID() == arrow.NULL:
			g.Nullable = true
		case f.Type.ID() == arrow.NULL:
			fields[i].Type, f.Nullable = g.Type, true
		case !arrow.TypeEqual(f.Type, g.Type):
			return fmt.Errorf("%s and %s disagree: column %q is %s in %s and %s in %s",
				first, other, f.Name, f.Type, first, g.Type, other)
		}
		fields[i].Nullable = f.Nullable || g.Nullable
		delete(byName, f.Name)
	}
	for _, g := range others {
		if _, extra := byName[g.Name]; extra {
			return fmt.Errorf("%s and %s disagree: column %q is missing in %s", first, other, g.Name, first)
		}
	}
	return nil
}

// matchColumns returns the index of each field in an input's schema.
func matchColumns(fields []arrow.Field, s *arrow.Schema) []int {
	columns := make([]int, len(fields))
	for i, f := range fields {
		columns[i] = s.FieldIndices(f.Name)[0]
	}
	return columns
}
