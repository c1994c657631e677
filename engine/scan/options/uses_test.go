package options

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/knob"
)

// users are the formats that use each option, by the flag, or else the argument: what its documentation says.
var users = map[string]string{
	"delimiter": "csv tsv", "header": "csv tsv", "quote": "csv tsv", "null": "csv tsv", "date-format": "csv tsv", "timestamp-format": "csv tsv",
	"decimal-separator": "csv tsv", "thousands": "csv tsv", "encoding": "csv tsv", "comment": "csv tsv", "escape": "csv tsv", "skip": "csv tsv",
	"null-padding": "csv tsv", "ignore-errors": "csv tsv", "rejects": "csv tsv", "max-rejects": "csv tsv", "names": "csv tsv", "all_varchar": "csv tsv",
	"type": "csv tsv json", "columns": "csv tsv json", "sample-rows": "csv tsv json", "row-limit": "json",
	"filename": "csv tsv json parquet arrow delta iceberg", "file-row-number": "parquet arrow delta iceberg",
	"union-by-name": "csv tsv json parquet arrow", "no-hive": "csv tsv json parquet arrow", "trust-statistics": "parquet delta iceberg",
	"table-version": "delta iceberg", "snapshot": "iceberg", "as-of": "delta iceberg",
}

// valuesOf are values that are not the default, of options for which the value of their kind is none.
var valuesOf = map[string]any{"decimal-separator": ",", "trust-statistics": "off", "table-version": "0", "encoding": "latin1",
	"as-of": "2026-11-30 12:00:00"}

// inputs returns a file or a table of each format.
func inputs(t *testing.T) map[string]string {
	const lake = "../../plan/testdata/lake/"
	parquets, err := filepath.Glob(lake + "iceberg_evolved/data/*.parquet")
	if err != nil || len(parquets) == 0 {
		t.Fatal(parquets, err)
	}
	found := map[string]string{"delta": lake + "delta_parts", "iceberg": lake + "iceberg_evolved", "parquet": parquets[0]}
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"x": 1}]`))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := ipc.NewFileWriter(&file, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for format, content := range map[string]string{
		"csv": "x\n1\n", "tsv": "x\ty\n1\t2\n", "json": `{"x": 1}`, "arrow": file.String(),
	} {
		found[format] = filepath.Join(dir, "a."+format)
		if err := os.WriteFile(found[format], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// setOption sets an option to a value that is not its default.
func setOption(t *testing.T, o *Option, name, format string) (opt dataset.Options) {
	if o.Kind == File { // as the command line and jobs do
		opt.CSV.IgnoreErrors, opt.CSV.InferMost = true, true
		return opt
	}
	value, words := cmp.Or(valuesOf[name], values[o.Kind]), o.Words()
	if o.Kind == Switch && valuesOf[name] == nil {
		value = words[len(words)-1]
	}
	of := dataset.FormatAuto
	if name == "columns" { // an argument alone, which sets what its function reads
		if of = dataset.FormatCSV; format == "json" {
			of = dataset.FormatJSON
		}
	}
	if err := o.Set(&opt, of, value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return opt
}

// Would catch an option that is taken and ignored, for files, the standard input or tables of a format, one that is
// refused where it is used, and a new option that does not say what uses it.
func TestUses(t *testing.T) {
	files := inputs(t)
	for _, o := range All() {
		name := o.Flag
		if name == "" {
			name = o.SQL()[0]
		}
		if o.Kind == Fixed || name == "input-format" || name == "file-row-number" { // which has an error of its own
			continue
		}
		of, known := users[name]
		if !known {
			t.Errorf("%s: say which formats use it", name)
		}
		for _, format := range strings.Fields(o.of) {
			if !slices.Contains(strings.Fields(of), format) {
				t.Errorf("%s is an argument of read_%s, which does not use it", name, format)
			}
		}
		for format, file := range files {
			_, err := dataset.Open(t.Context(), []string{file}, setOption(t, o, name, format))
			var text string
			if err != nil {
				text = knob.Reword(err, func(n knob.Name) string {
					if by := For(n); by != nil && by.Flag != "" {
						return by.Flag
					}
					return n.String()
				}).Error()
			}
			isRefused := strings.Contains(text, " is of ") && strings.Contains(text, file+" is ")
			if want := !slices.Contains(strings.Fields(of), format); isRefused != want ||
				want && o.Flag != "" && !strings.HasPrefix(text, name+" ") {
				t.Errorf("%s of %s: %v", name, format, text)
			}
		}
	}
}

// Would catch options of several tables that each table has to use, and options of standard input that are ignored.
func TestUsesTogether(t *testing.T) {
	files := inputs(t)
	opt := dataset.Options{Readers: &dataset.Readers{}}
	opt.CSV.Comment = '#'
	check := func(file string, want bool) {
		t.Helper()
		if _, err := dataset.Open(t.Context(), []string{file}, opt); err != nil {
			t.Fatal(err)
		}
		if err := opt.Readers.Check(&opt); (err != nil) != want {
			t.Errorf("after %s: %v", file, err)
		}
	}
	if err := opt.Readers.Check(&opt); err != nil {
		t.Errorf("without a table: %v", err)
	}
	check(files["parquet"], true)
	check(files["iceberg"], true)
	check(files["csv"], false)

	opt = dataset.Options{Stdin: strings.NewReader(`{"x": 1}`)}
	opt.CSV.SkipLines = 1
	if _, err := dataset.Open(t.Context(), []string{"-"}, opt); err == nil || !strings.Contains(err.Error(), "is of CSV") {
		t.Errorf("JSON of standard input: %v", err)
	}
	opt.UnionByName = true
	if _, err := dataset.Open(t.Context(), []string{files["json"], files["csv"]}, opt); err != nil {
		t.Errorf("JSON beside CSV: %v", err)
	}
}
