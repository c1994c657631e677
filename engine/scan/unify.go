package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nested"
)

// Whole says which columns the table of some inputs has. The zero value has the columns of the first input, which
// the others must have, too, and may have more.
type Whole struct {
	// UnionByName has the columns of all inputs. A column that an input lacks is NULL in its rows.
	UnionByName bool

	// RowNumber is the last column of the table: the number of each row in its input, from 0 on. Without a name
	// there is none. Requires: NumbersRows of all inputs.
	RowNumber arrow.Field

	// Schema has the columns of the table, where the inputs are a part of it; else nil.
	Schema *arrow.Schema

	// Listed says that Schema, not the inputs, decides which columns there are, and their types. A column that an
	// input lacks is NULL in its rows, and columns that Schema lacks are passed over.
	Listed bool

	starts []uint64 // by input: the position of its first row, where inputs between them are left out; else nil
}

// unifier finds the columns of a table.
type unifier struct {
	union     bool
	rowNumber string
	folders   []decode.Folder
	fields    []arrow.Field
	from      []source      // by field: where it was found first
	conflicts map[int]error // by field: why it has no type; a query that reads no such field has no error
}

// source is a column of an input, as that has it.
type source struct {
	file   string
	typ    arrow.DataType
	isText bool // the type follows from a sample, or an option
}

// of returns the source of a column of a type.
func (s source) of(typ arrow.DataType) source {
	s.typ = typ
	return s
}

// sourceOf returns the source of the columns of an input.
func sourceOf(in decode.File) source {
	_, isText := in.Input.(interface{ ReadsRanges() bool })
	return source{file: in.Name(), isText: isText}
}

// unify returns the columns of a table of some inputs: the columns of the first, in its order, and behind them, by
// UnionByName, what later inputs have besides. The column of a folder hides a column of the same name. A column
// has the type that has the values of all inputs (delivery.Common), and is nullable if it is so in any input.
// A column of Arrow's null type, which writers give to a column that has no value in their file, has the type
// that it has in other files, or int32 where no file has a value.
func unify(inputs []decode.File, folders []decode.Folder, whole Whole) (*unifier, error) {
	u := &unifier{conflicts: map[int]error{}, union: whole.UnionByName, rowNumber: whole.RowNumber.Name, folders: folders}
	rest := inputs
	if whole.Schema != nil {
		u.add(source{file: "the table"}, u.columns(whole.Schema))
	} else {
		u.add(sourceOf(inputs[0]), u.columns(inputs[0].Schema()))
		rest = inputs[1:]
	}
	for _, other := range rest {
		if whole.Listed {
			u.suit(sourceOf(other), other.Schema().Fields())
		} else if err := u.merge(sourceOf(other), u.columns(other.Schema())); err != nil {
			return nil, err
		}
	}
	for i := range u.fields {
		if f := &u.fields[i]; f.Type.ID() == arrow.NULL {
			f.Type, f.Nullable = arrow.PrimitiveTypes.Int32, true
		}
	}
	return u, nil
}

// columns returns the columns of a schema that no folder hides.
func (u *unifier) columns(s *arrow.Schema) []arrow.Field {
	return slices.DeleteFunc(slices.Clone(s.Fields()), func(f arrow.Field) bool {
		isFolder := func(h decode.Folder) bool { return h.Field.Name == f.Name }
		return f.Name != "" && f.Name == u.rowNumber || slices.ContainsFunc(u.folders, isFolder)
	})
}

// add adds columns that a file is the first to have.
func (u *unifier) add(file source, columns []arrow.Field) {
	u.fields = append(u.fields, columns...)
	for _, f := range columns {
		u.from = append(u.from, file.of(f.Type))
	}
}

// merge gives the columns types that have the values of a file, too.
func (u *unifier) merge(file source, columns []arrow.Field) error {
	others := MatchColumns(u.fields, columns)
	for i, at := range others {
		f, from := &u.fields[i], &u.from[i]
		if at < 0 {
			if f.Nullable = true; !u.union {
				return knob.Errorf("%s and %s disagree: column %q is missing in %s; read it as NULL there (%s)",
					from.file, file.file, f.Name, file.file, knob.Name("dataset.UnionByName"))
			}
			continue
		}
		other := columns[at]
		f.Nullable = f.Nullable || other.Nullable || other.Type.ID() == arrow.NULL
		if f.Type.ID() == arrow.NULL {
			*from, f.Nullable = file.of(other.Type), true
		}
		common, ok := delivery.Common(f.Type, other.Type)
		switch {
		case ok:
			f.Type = common
		case u.conflicts[i] == nil:
			u.conflicts[i] = disagreement(f.Name, *from, file.of(other.Type))
		}
	}
	if u.union {
		u.add(file, u.unmatched(columns, others))
	}
	return nil
}

// suit notes the columns whose values in a file the table's type does not have.
func (u *unifier) suit(file source, columns []arrow.Field) {
	for i, at := range MatchColumns(u.fields, columns) {
		f := &u.fields[i]
		if at < 0 || u.conflicts[i] != nil {
			continue
		}
		common, ok := delivery.Common(f.Type, columns[at].Type)
		_, isNested := f.Type.(*nested.Type)
		if ok = ok && (isNested || arrow.TypeEqual(common, f.Type)); !ok {
			u.conflicts[i] = fmt.Errorf("%s: column %q is %s in the file, and %s in the table, which does not have "+
				"all of its values", file.file, f.Name, query.TypeName(columns[at].Type), query.TypeName(f.Type))
		}
	}
}

// unmatched returns the columns that are not among others, which the table does not have so far: they are NULL in the
// rows of the files before.
func (u *unifier) unmatched(columns []arrow.Field, others []int) (more []arrow.Field) {
	for i, f := range columns {
		if !slices.Contains(others, i) {
			f.Nullable = true
			more = append(more, f)
		}
	}
	return more
}

// disagreement is the error of a column that has no type for the values of two files.
func disagreement(name string, a, b source) error {
	types := fmt.Sprintf("%s and %s disagree: column %q is %s in %s and %s in %s",
		a.file, b.file, name, query.TypeName(a.typ), a.file, query.TypeName(b.typ), b.file)
	switch {
	case a.isText || b.isText:
		return knob.Errorf("%s; no type has the values of both: set its type (%s)", types, knob.Name("dataset.CSV.Types"))
	case isMoment(a.typ) && isMoment(b.typ):
		return fmt.Errorf("%s; without a time zone a value says no point in time: read the files apart, and cast one", types)
	}
	return fmt.Errorf("%s; no type has the values of both: read the files apart, and cast one", types)
}

func isMoment(t arrow.DataType) bool {
	return t.ID() == arrow.TIMESTAMP || t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64
}

// MatchColumns returns the index of each field among the columns of an input: of the same name, or else of that name
// in another case; -1 where there is none.
func MatchColumns(fields, columns []arrow.Field) []int {
	of, taken := make([]int, len(fields)), make([]bool, len(columns))
	match := func(key func(string) string) {
		places := make(map[string]int, len(columns))
		for i := range slices.Backward(columns) {
			if !taken[i] {
				places[key(columns[i].Name)] = i
			}
		}
		for i, f := range fields {
			if at, ok := places[key(f.Name)]; ok && of[i] < 0 && !taken[at] {
				of[i], taken[at] = at, true
			}
		}
	}
	for i := range of {
		of[i] = -1
	}
	match(func(name string) string { return name })
	if slices.Contains(of, -1) {
		match(strings.ToLower)
	}
	return of
}
