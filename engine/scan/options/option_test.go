package options

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/internal/knob"
)

// programs are the fields that a program sets, and no user.
var programs = []knob.Name{"dataset.FS", "dataset.Stdin", "dataset.Spool", "dataset.Known", "dataset.Ranges", "dataset.Readers", "dataset.SkipMissing", "dataset.Budget", "dataset.FilenameHidden", "dataset.RowNumberHidden",
	"dataset.CSV", "dataset.JSON"}

// Would catch a field of the readers that no entry sets, and an entry of a field that is gone.
func TestFields(t *testing.T) {
	known := map[knob.Name]bool{}
	for at, typ := range map[string]reflect.Type{"dataset.": reflect.TypeFor[dataset.Options](),
		"dataset.CSV.": reflect.TypeFor[csv.Options](), "dataset.JSON.": reflect.TypeFor[json.Options]()} {
		for _, f := range reflect.VisibleFields(typ) {
			name := knob.Name(at + f.Name)
			if known[name] = true; f.IsExported() && (For(name) == nil) != slices.Contains(programs, name) {
				t.Errorf("%s is set by users: %v; say in either list who sets it", string(name), For(name) != nil)
			}
		}
	}
	for _, o := range All() {
		for _, name := range o.Fields() {
			if !known[name] {
				t.Errorf("%v%s%s: there is no field %s", o.SQL(), o.Flag, o.YAML(), string(name))
			}
		}
	}
}

// Would catch an entry that nobody can name, two of one name, names that drift apart, and flags and fields without
// a description.
func TestNames(t *testing.T) {
	taken := map[string]bool{}
	take := func(name string) {
		if taken[name] {
			t.Errorf("%s twice", name)
		}
		taken[name] = true
	}
	for _, o := range All() {
		for _, name := range o.SQL() {
			for _, format := range strings.Fields(o.of) {
				take("read_" + format + " " + name)
			}
		}
		if (o.Flag == "") != (o.Doc == "") || (o.sql == "") != (o.of == "") {
			t.Errorf("%v%s%s is named in part", o.SQL(), o.Flag, o.YAML())
		}
		if o.Flag == "" && o.sql == "" {
			t.Errorf("%v has no name", o.Fields())
		}
		if o.Flag != "" {
			take("--" + o.Flag)
			take("input." + o.YAML())
			if doc := o.YAMLDoc(); !strings.HasSuffix(doc, ".") || strings.Contains(doc, "`") || strings.Contains(doc, "--") {
				t.Errorf("%s: %s", o.YAML(), doc)
			}
		}
	}
}

// values are taken by options of each kind.
var values = map[Kind]any{Char: "x", CharOrNone: ",", Text: "%d", Mark: "7", Texts: []string{"x"}, Truth: true, Number: 3, Rows: 5, Size: 7,
	Types: Columns{[]string{"x"}, map[string]arrow.DataType{"x": arrow.BinaryTypes.String}}}

// Would catch an entry that sets another field than its own, or the field of a format that is not read.
func TestSet(t *testing.T) {
	for _, o := range All() {
		value, words := values[o.Kind], o.Words()
		switch {
		case o.Kind == Fixed, o.Kind == File:
			continue
		case len(words) > 0:
			value = words[len(words)-1]
		}
		for _, format := range []dataset.Format{dataset.FormatAuto, dataset.FormatCSV, dataset.FormatJSON, dataset.FormatParquet} {
			var opt dataset.Options
			if err := o.Set(&opt, format, value); err != nil {
				t.Fatalf("%v: %v", o.Fields(), err)
			}
			var want []knob.Name
			for _, name := range o.Fields() {
				of := map[string]dataset.Format{"CSV": dataset.FormatCSV, "JSON": dataset.FormatJSON}[strings.Split(string(name), ".")[1]]
				if (of == "" || format == "" || of == format || o.set != nil) && name != "dataset.CSV.NoQuote" {
					want = append(want, name)
				}
			}
			if got := changed("dataset.", reflect.ValueOf(opt)); !slices.Equal(got, want) {
				t.Errorf("%v of %s sets %q", want, format, got)
			}
		}
	}
}

// changed returns the names of the fields that are not zero.
func changed(at string, v reflect.Value) (names []knob.Name) {
	for i := range v.NumField() {
		name := at + v.Type().Field(i).Name
		switch {
		case name == "dataset.CSV" || name == "dataset.JSON":
			names = append(names, changed(name+".", v.Field(i))...)
		case !v.Field(i).IsZero():
			names = append(names, knob.Name(name))
		}
	}
	return names
}

// Values that an option does not take, and words for what is no value.
func TestWords(t *testing.T) {
	opt := dataset.Options{DistrustStatistics: true}
	for _, c := range []struct {
		field knob.Name
		value string
		isBad bool
	}{
		{"dataset.CSV.Delimiter", "ab", true}, {"dataset.CSV.Header", "maybe", true}, {"dataset.CSV.Encoding", "koi8", true},
		{"dataset.DistrustStatistics", "perhaps", true}, {"dataset.DistrustStatistics", "on", false},
		{"dataset.Format", "Auto", false}, {"dataset.CSV.Quote", "'", false}, {"dataset.CSV.Quote", "", false},
		{"dataset.CSV.Quote", "auto", false}, {"dataset.CSV.DecimalSeparator", "", false}, {"dataset.CSV.Encoding", "auto", false},
	} {
		if err := For(c.field).Set(&opt, dataset.FormatAuto, c.value); (err != nil) != c.isBad {
			t.Errorf("%s = %q: %v", string(c.field), c.value, err)
		}
		if noQuote := c.field == "dataset.CSV.Quote" && c.value == ""; opt.CSV.NoQuote != noQuote {
			t.Errorf("%s = %q: no quote: %v", string(c.field), c.value, !noQuote)
		}
	}
	if got := changed("dataset.", reflect.ValueOf(opt)); got != nil {
		t.Errorf("%q are not zero", got)
	}
}
