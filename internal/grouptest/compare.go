package grouptest

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// differencesShown bounds the text of Equal's error.
const differencesShown = 5

// Equal reports how an answer differs from the wanted one: in names, types, groups, or cells. The
// order of rows does not matter, nor do the signs of zero and the bits of NaN.
func Equal(want, got *Rows) error {
	if err := equalSchemas(want.Schema, got.Schema); err != nil {
		return err
	}
	var diffs []string
	found := make(map[string][]any, len(got.Cells))
	for _, row := range got.Cells {
		key := keyTexts(row[:want.Keys])
		if found[key] != nil {
			diffs = append(diffs, fmt.Sprintf("group %s: comes twice", key))
		}
		found[key] = row
	}
	for _, row := range want.Cells {
		key := keyTexts(row[:want.Keys])
		other := found[key]
		delete(found, key)
		if other == nil {
			diffs = append(diffs, fmt.Sprintf("group %s: missing", key))
			continue
		}
		for i := want.Keys; i < len(row); i++ {
			if !equalCells(row[i], other[i]) {
				diffs = append(diffs, fmt.Sprintf("group %s: %s is %s, want %s", key, want.Schema.Field(i).Name,
					show(other[i]), show(row[i])))
			}
		}
	}
	for key := range found {
		diffs = append(diffs, fmt.Sprintf("group %s: not wanted", key))
	}
	if len(diffs) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d differences, %d groups, want %d", len(diffs), len(got.Cells), len(want.Cells))
	return errors.New(text + "\n\t" + strings.Join(diffs[:min(len(diffs), differencesShown)], "\n\t"))
}

func equalSchemas(want, got *arrow.Schema) error {
	if want.NumFields() != got.NumFields() {
		return fmt.Errorf("%d columns, want %d", got.NumFields(), want.NumFields())
	}
	for i, w := range want.Fields() {
		g := got.Field(i)
		if g.Name != w.Name {
			return fmt.Errorf("column %d is named %q, want %q", i, g.Name, w.Name)
		}
		if !sameType(w.Type, g.Type) {
			return fmt.Errorf("column %q has type %s, want %s", w.Name, g.Type, w.Type)
		}
	}
	return nil
}

// sameType compares types without the names of list elements.
func sameType(want, got arrow.DataType) bool {
	w, ok := want.(*arrow.ListType)
	if !ok {
		return arrow.TypeEqual(want, got)
	}
	g, ok := got.(*arrow.ListType)
	return ok && arrow.TypeEqual(w.Elem(), g.Elem())
}

func equalCells(want, got any) bool {
	switch w := want.(type) {
	case Unspecified:
		return true
	case nil:
		return got == nil
	case Approx:
		g, ok := got.(float64)
		return ok && (sameFloat(w.Value, g) || math.Abs(w.Value-g) <= w.Tolerance)
	case Near:
		g, ok := got.(int64)
		return ok && uint64(max(g, w.Value))-uint64(min(g, w.Value)) <= uint64(w.Tolerance)
	case float64:
		g, ok := got.(float64)
		return ok && sameFloat(w, g)
	case *big.Int:
		g, ok := got.(*big.Int)
		return ok && w.Cmp(g) == 0
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !equalCells(w[i], g[i]) {
				return false
			}
		}
		return true
	}
	return want == got
}

func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// shownBytes bounds one cell in an error.
const shownBytes = 300

func show(cell any) string {
	text := keyText(cell)
	if len(text) > shownBytes {
		return fmt.Sprintf("%s... (%d bytes)", text[:shownBytes], len(text))
	}
	return text
}
