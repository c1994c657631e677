//go:build cgo

package logical

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/engine/sql"
)

// arguments are a value that options of a kind take, and one that they refuse with an error.
var arguments = map[options.Kind][3]string{
	options.Char:       {"';'", "''", "= '': want one ASCII character in quotes"},
	options.CharOrNone: {"','", "'ab'", "= 'ab': want one ASCII character in quotes"},
	options.Text:       {"'%d'", "1", "= 1: want text in quotes"},
	options.Mark:       {"7", "true", "= true: want a whole number, or text in quotes"},
	options.Texts:      {"['x', 'y']", "[1]", "want text in quotes, or a list of such"},
	options.Word:       {"'latin-1'", "true", "= true: want text in quotes"},
	options.Switch:     {"false", "'no'", "= 'no': want true or false"},
	options.Truth:      {"", "2", "= 2: want true or false"},
	options.Number:     {"3", "-1", "= -1: want a whole number from 0 on"},
	options.Size:       {"3", "0", "= 0: want a whole number from 1 on"},
	options.Rows:       {"-1", "0", "= 0: want a number of rows from 1 on, or -1 for all"},
	options.Types:      {"{'x': 'DATE'}", "'x'", "want {'name': 'TYPE', ...}"},
	options.Fixed:      {"", "5", "which is all that there is"},
}

// Would catch an argument of the table of options that a reader does not take, or takes without an effect, one that
// the documentation leaves out, and an error in other words.
func TestReaderOptions(t *testing.T) {
	docs, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	given := func(reader, argument string) (dataset.Options, error) {
		s, err := sql.Parse("SELECT * FROM " + reader + "('x'" + argument + ")")
		if err != nil {
			t.Fatal(err)
		}
		return new(binder).scanOptions(s, s.From.(*sql.Files))
	}
	for _, format := range []dataset.Format{dataset.FormatCSV, dataset.FormatJSON, dataset.FormatParquet} {
		reader := "read_" + string(format)
		plain, err := given(reader, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range options.All() {
			value := arguments[o.Kind]
			switch {
			case o.Kind == options.Fixed:
				value[0] = o.Words()[0]
			case o.Kind == options.Truth && o.Not:
				value[0] = "false"
			case o.Kind == options.Truth:
				value[0] = "true"
			}
			for i, name := range o.SQL() {
				opt, err := given(reader, `, "`+name+`" = `+value[0])
				if takes := o.IsOf(format); takes != (err == nil) || takes && reflect.DeepEqual(opt, plain) != (o.Kind == options.Fixed) {
					t.Errorf("%s, %s = %s: %v", reader, name, value[0], err)
				} else if _, err = given(reader, `, "`+name+`" = `+value[1]); takes && (err == nil || !strings.Contains(err.Error(), value[2])) {
					t.Errorf("%s, %s = %s: got the error %v, want %s", reader, name, value[1], err, value[2])
				}
				if i == 0 && o.Kind != options.Fixed && !slices.Contains(strings.FieldsFunc(string(docs), isNoName), name) {
					t.Errorf("docs/sql.md has no %s", name)
				}
			}
		}
	}
}

func isNoName(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
