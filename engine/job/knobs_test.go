package job

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/knob"
)

// fieldless are the options that no field of a step sets: a program's own, those of the command, and
// arguments of SQL's functions.
var fieldless = []knob.Name{
	"engine.Ablation", "engine.DeviceMemoryLimit", "engine.FS", "engine.Progress", "engine.Logger",
	"engine.Allocator", "engine.Trace", "engine.MeasureLink",
	"query.Keys", "query.Aggregates",
	"sink.FS", "sink.Stdout", "sink.KeepExisting", "sink.Query", "sink.Overwrite", "sink.OpenFilesMax",
	"sink.Collect", "sink.Plan", "sink.BeforePublish", "sink.Delimiter", "sink.NoHeader", "sink.RowsShown", "sink.RowsLast",
	"sink.TableWidth", "sink.Separators", "sink.CellWidth", "sink.Color", "sink.Threads",
	"sink.Allocator", "sink.Budget", "sink.GroupBytes",
	"dataset.FS", "dataset.Stdin", "dataset.Spool", "dataset.CSV", "dataset.JSON", "dataset.Known", "dataset.Budget",
	"dataset.CSV.Names", "dataset.CSV.AllText", "dataset.CSV.InferMost", "dataset.JSON.Names",
}

// Would catch an option whose errors name no field of a step, and a field of an option that is gone.
func TestFieldNames(t *testing.T) {
	options := make(map[knob.Name]bool)
	for at, typ := range map[string]reflect.Type{
		"engine": reflect.TypeFor[engine.Options](), "query": reflect.TypeFor[query.Query](), "sink": reflect.TypeFor[sink.Options](),
		"dataset": reflect.TypeFor[dataset.Options](), "dataset.CSV": reflect.TypeFor[csv.Options](), "dataset.JSON": reflect.TypeFor[json.Options](),
	} {
		for _, f := range reflect.VisibleFields(typ) {
			name := knob.Name(at + "." + f.Name)
			if !f.IsExported() {
				continue
			}
			options[name] = true
			if _, ok := fieldNames[name]; ok == slices.Contains(fieldless, name) {
				t.Errorf("%s has a field in fieldNames: %v; say in either list what sets it", string(name), ok)
			}
		}
	}
	for name, field := range fieldNames {
		if !options[name] {
			t.Errorf("%s (%s) is no option", string(name), field)
		}
		if !hasField(reflect.TypeFor[Step](), field) {
			t.Errorf("%s: a step has no field %s", name, field)
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
