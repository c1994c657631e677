package query

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/nearest"
)

// columnsShown bounds the columns that an error lists.
const columnsShown = 20

// FindColumn returns the index of the column of a name, or, where there is none, of the only column
// that has the name in another case. Its errors are ErrQuery, and offer names that are near.
func FindColumn(schema *arrow.Schema, name string) (int, error) {
	found := schema.FieldIndices(name)
	if len(found) == 0 {
		for i, f := range schema.Fields() {
			if strings.EqualFold(f.Name, name) {
				found = append(found, i)
			}
		}
	}
	switch len(found) {
	case 0:
		return 0, unknownColumn(schema, name)
	case 1:
		return found[0], nil
	}
	return 0, Errorf("column %q: %d columns have this name", name, len(found))
}

func unknownColumn(schema *arrow.Schema, name string) error {
	known := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		known[i] = f.Name
	}
	if fields := fieldsOf(name, known); len(fields) > 0 {
		return Errorf("column %q does not exist; its fields are columns: %s", name, shown(fields))
	}
	if offer := nearest.Offer(name, known); offer != "" {
		return Errorf("column %q does not exist%s", name, offer)
	}
	if len(known) == 0 {
		return Errorf("column %q does not exist: only constants can stand here", name)
	}
	return Errorf("column %q does not exist; the columns are %s", name, shown(known))
}

// fieldsOf returns the names of a struct's fields.
func fieldsOf(name string, known []string) (fields []string) {
	prefixes := []string{name + ".", FieldName(name) + ".", "(" + FieldName(name) + ")."}
	for _, k := range known {
		begins := func(prefix string) bool { return len(k) > len(prefix) && strings.EqualFold(k[:len(prefix)], prefix) }
		if slices.ContainsFunc(prefixes, begins) {
			fields = append(fields, k)
		}
	}
	return fields
}

// shown lists names, and leaves out what is too much for an error.
func shown(names []string) string {
	if len(names) > columnsShown {
		names = append(names[:columnsShown:columnsShown], "...")
	}
	return strings.Join(names, ", ")
}
