package csv

import (
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/query"
)

// Would catch a nested type that is read as another, names of members in another case, and a text behind a type that is
// passed over.
func TestParseType(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{" Int ", "INTEGER"}, {"decimal( 9 ,2)", "DECIMAL(9,2)"}, {"INT[]", "INTEGER[]"}, {"int [] [ ]", "INTEGER[][]"},
		{"struct(Id int, \"a \"\"b\" varchar[])[]", `STRUCT(Id INTEGER, "a ""b" VARCHAR[])[]`},
		{"MAP(varchar, STRUCT(a DECIMAL(4, 1)))", "MAP(VARCHAR, STRUCT(a DECIMAL(4,1)))"},
		{"struct(", "error: unknown type"}, {"struct()", "error: unknown type"}, {"int[", "error: want ]"}, {"int]", "error: nothing can stand"},
		{"map(int)", "error: want ,"}, {"struct(a int, A int)", "error: two members"}, {`struct("a int)`, "error: not closed"},
		{"decimal(39, 1)", "error: the precision"}, {"decimal(9, 10)", "error: the scale"}, {"decimal(x, 1)", "error: two whole numbers"},
		{"int x", "error: nothing can stand"}, {"", "error: unknown type"}, {strings.Repeat("map(int, ", 70), "error: deep"},
	} {
		typ, err := ParseType(c.text)
		want, isError := strings.CutPrefix(c.want, "error: ")
		switch {
		case isError && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want an error of %q", c.text, err, want)
		case !isError && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case !isError && query.TypeName(typ) != want:
			t.Errorf("%s: %s, want %s", c.text, query.TypeName(typ), want)
		}
	}
}
