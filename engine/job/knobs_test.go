package job

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/knob"
)

// fieldless are the options that no field of a step sets: options of programs, and of the command.
var fieldless = []knob.Name{
	"engine.Ablation", "engine.DeviceMemoryLimit", "engine.FS", "engine.Progress", "engine.Logger",
	"engine.Allocator", "engine.Trace", "engine.MeasureLink", "engine.Devices",
	"query.Keys", "query.Aggregates",
	"sink.FS", "sink.Stdout", "sink.KeepExisting", "sink.Query", "sink.Overwrite", "sink.OpenFilesMax",
	"sink.Collect", "sink.Plan", "sink.BeforePublish", "sink.Update", "sink.Run", "sink.Delimiter", "sink.NoHeader", "sink.RowsShown", "sink.RowsLast",
	"sink.TableWidth", "sink.Separators", "sink.CellWidth", "sink.Color", "sink.Threads",
	"sink.Allocator", "sink.Budget", "sink.GroupBytes",
}

// Would catch an option whose errors name no field of a step, and a field of an option that is gone.
func TestFieldNames(t *testing.T) {
	known := make(map[knob.Name]bool)
	for at, typ := range map[string]reflect.Type{
		"engine": reflect.TypeFor[engine.Options](), "query": reflect.TypeFor[query.Query](), "sink": reflect.TypeFor[sink.Options](),
	} {
		for _, f := range reflect.VisibleFields(typ) {
			name := knob.Name(at + "." + f.Name)
			if !f.IsExported() {
				continue
			}
			known[name] = true
			if _, ok := fieldNames[name]; ok == slices.Contains(fieldless, name) {
				t.Errorf("%s has a field in fieldNames: %v; say in either list what sets it", string(name), ok)
			}
		}
	}
	for name, field := range fieldNames {
		if !known[name] {
			t.Errorf("%s (%s) is no option", string(name), field)
		}
		if !hasField(reflect.TypeFor[Step](), field) {
			t.Errorf("%s: a step has no field %s", name, field)
		}
	}
}

// inputs are values of input's fields, by the kinds of options.
var inputs = map[options.Kind]string{options.Char: "';'", options.CharOrNone: "','", options.Text: "'%d'", options.Mark: "'7'", options.Texts: "[x, y]",
	options.Truth: "yes", options.Number: "3", options.Rows: "-1", options.Size: "1MiB", options.Types: "{x: string}", options.File: "left.csv"}

// Would catch a field of input that does not reach the readers, one that a step may change without being run again,
// and an error that does not name it.
func TestInput(t *testing.T) {
	step := func(input string) (*Step, string) {
		j, err := parsed("steps:\n  - {name: a, from: x.csv, agg: count(*), output: a.csv, input: {"+input+"}}\n", nil)
		if err != nil {
			t.Fatalf("%s: %v", input, err)
		}
		fingerprint, err := j.Steps[0].fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return &j.Steps[0], fingerprint
	}
	plain, unchanged := step("")
	without, err := plain.Input.options()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range options.All() {
		if o.YAML() == "" {
			continue
		}
		value, ok := inputs[o.Kind]
		if !ok {
			value = o.Words()[len(o.Words())-1]
		}
		s, fingerprint := step(o.YAML() + ": " + value)
		with, err := s.Input.options()
		if err != nil || reflect.DeepEqual(with, without) || fingerprint == unchanged {
			t.Errorf("%s: %s says nothing, or leaves the step as it was: %v", o.YAML(), value, err)
		}
		for _, name := range o.Fields() {
			if got := reworded(knob.Errorf("%s", name)).Error(); got != "input."+o.YAML() {
				t.Errorf("errors name %s %s, want input.%s", string(name), got, o.YAML())
			}
		}
		if s, fingerprint = step(o.YAML() + ": null"); !reflect.DeepEqual(s.Input, plain.Input) || fingerprint != unchanged {
			t.Errorf("%s: null is not as if the field were not there", o.YAML())
		}
	}
}

// hasField says whether a path, as in input.types, leads to a field.
func hasField(typ reflect.Type, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	for _, f := range fieldsOf(typ) {
		if f.name == name {
			if !nested {
				return true
			}
			of, _ := typ.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, strings.ReplaceAll(name, "_", "")) })
			return hasField(of.Type, rest)
		}
	}
	return false
}
