//go:build cgo

package sql

import (
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/expr"
)

// A name in parts keeps its parts and their spelling; a table's name may be the first, and is not
// where parentheses or brackets say that the first part is a column.
func TestPaths(t *testing.T) {
	for _, c := range []struct {
		text      string
		path      []string
		qualified bool
		name      string
	}{
		{"select a.b from t", []string{"a", "b"}, true, "a.b"},
		{"select A . \"x.y\" . b from t", []string{"A", "x.y", "b"}, true, "A.x.y.b"},
		{"select t.a.b from t", []string{"t", "a", "b"}, true, "t.a.b"},
		{"select T.a from t", []string{"T", "a"}, true, "T.a"},
		{"select (t).a from t", []string{"t", "a"}, false, "t.a"},
		{"select (t.a).b from t", []string{"t", "a", "b"}, true, "t.a.b"},
		{"select a['B''c'].d from t", []string{"a", "B'c", "d"}, false, "a.B'c.d"},
		{"select \"a.b\" from t", nil, false, "a.b"},
		{"select a.value from 'x.parquet'", []string{"a", "value"}, true, "a.value"},
		{"select /* here */ a /* and */ . b from t", []string{"a", "b"}, true, "a.b"},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		x := s.Items[0].Expr
		if x.Op != expr.OpColumn || !slices.Equal(x.Path, c.path) || x.Qualified != c.qualified || x.Name != c.name {
			t.Errorf("%s: got %q, qualified %t, named %q", c.text, x.Path, x.Qualified, x.Name)
		}
	}
}

// unnest behind a table has a list, and a name by its own alias, by the table's, or none.
func TestUnnest(t *testing.T) {
	for text, name := range map[string]string{
		"select 1 from t, unnest(a.b) AS u(e)": "e", "select 1 from 'x.parquet', unnest(a.b) u": "u", "select 1 from t, unnest(a.b)": "unnest",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if u, ok := s.From.(*Unnest); !ok || u.Name != name || u.InRow || u.List.Name != "a.b" {
			t.Errorf("%s: got %+v", text, u)
		}
	}
	s, err := Parse("select u.e, t.a from t, unnest(t.l) u(e)")
	if err != nil {
		t.Fatal(err)
	}
	if u := s.From.(*Unnest); s.Items[0].Expr.Name != "u.e" || u.Alias != "u" || u.List.Name != "t.l" {
		t.Errorf("names behind both tables' names: %v", s)
	}
}
