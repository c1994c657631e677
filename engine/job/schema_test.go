package job

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/mpga/mpga/engine/scan/options"
)

var rewrite = flag.Bool("rewrite", false, "write docs/job.schema.json anew")

const schemaPath = "../../docs/job.schema.json"

// Would catch a schema that editors have and the program does not.
func TestSchemaIsCurrent(t *testing.T) {
	if *rewrite {
		if err := os.WriteFile(schemaPath, Schema(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, Schema()) {
		t.Errorf("%s is not what mpga run --schema prints: go test ./engine/job -rewrite", schemaPath)
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("job.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("job.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validates holds the text of a file to the schema.
func validates(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var document any
	if err := yaml.Load([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

// examples returns the jobs of docs/jobs.md.
func examples(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		list = append(list, block[1])
	}
	if len(list) == 0 {
		t.Fatal("docs/jobs.md has no example")
	}
	return list
}

// Would catch a schema that refuses what the program takes, or takes what it refuses.
func TestSchema(t *testing.T) {
	schema := compiledSchema(t)
	for _, text := range append(examples(t), visits, everyField) {
		if err := validates(t, schema, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
		_, err := Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(text), ParseOptions{
			Getenv: func(string) (string, bool) { return "x", true },
		})
		if err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for _, change := range [][2]string{
		{"steps:", "stesp:"}, {"from:", "form:"}, {"threads: 1", "threads: one"}, {"overflow: wrap", "overflow: wrapped"},
		{"deterministic: true", "deterministic: perhaps"}, {"name: one", "label: one"}, {"types: {zip: string}", "types: 5"},
		{"on_change: fail", "on_change: failed"}, {"state: states/one, ", ""},
	} {
		text := strings.Replace(everyField, change[0], change[1], 1)
		if text == everyField {
			t.Fatalf("%q is not there", change[0])
		}
		if validates(t, schema, text) == nil {
			t.Errorf("%s: the schema has nothing against it", change[1])
		}
		if _, err := Parse("job.yaml", []byte(text), ParseOptions{}); err == nil {
			t.Errorf("%s: Parse has nothing against it", change[1])
		}
	}
}

// Would catch a field that the documentation does not name.
func TestFieldsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[Job](), reflect.TypeFor[Step](), reflect.TypeFor[Input](), reflect.TypeFor[Output](),
		reflect.TypeFor[Rollup](), reflect.TypeFor[Limits](), reflect.TypeFor[Retry](),
	} {
		for _, f := range fieldsOf(of) {
			if !strings.Contains(string(text), "`"+f.name+"`") && !strings.Contains(string(text), "`"+f.name+":") {
				t.Errorf("%s: docs/jobs.md does not name %s", of, f.name)
			}
		}
	}
}

// everyField has every field that a file may have.
const everyField = `
name: every
description: every field
variables: {a: x, b: 5, c: }
environment: [HOME]
state: state
limits: {threads: 1, memory: 1GiB, temp_dir: /tmp, temp: 5GB, device: "host:1GiB", algorithm: sp-ega, join_algorithm: phj-tr, recursion: 1000, pairs: 1000, time: 1h}
retry: {attempts: 2, wait: 1s, wait_max: 10s}
steps:
  - name: one
    description: the only one
    from: [a.csv, "${a}.csv"]
    input:
      {format: csv, delimiter: ";", quote: "'", header: yes, nulls: [NA], types: {zip: string}, no_hive: true,
       date_format: "%d.%m.%Y", timestamp_format: "%d.%m.%Y %H:%M", decimal_separator: ",", thousands: ".", encoding: latin-1,
       comment: "#", skip: 2, null_padding: true, ignore_errors: true, filename: true, file_row_number: true, union_by_name: true,
       escape: "\\", trust_statistics: off, sample_rows: 100, row_limit: 1MiB}
    by: [zip, city]
    agg: count(*) as n
    where: n > 0 and zip is not null
    having: count(*) > 1
    order_by: n desc
    limit: 10
    overflow: wrap
    deterministic: true
    timezone: Asia/Tokyo
    output: {path: out, format: parquet, partition_by: zip, max_rows_per_file: 10, manifest: true, codec: zstd, level: 3, row_group_rows: 1000, layout: gpu}
    rollup: {state: states/one, on_change: fail, keep_parts: 30, keep: 400d, whole_bytes: 1GiB}
    limits: {threads: "${b}"}
    retry: {attempts: 1}
  - name: two
    from: out
    input: {rejects: left/rows.csv, max_rejects: 1%, optional: true, table_version: 3, snapshot: 12, as_of: "2026-01-31 12:00:00"}
    sql: SELECT * FROM input
    output: two.csv
`

// everyField is what it says.
func TestEveryField(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[Job](), reflect.TypeFor[Step](), reflect.TypeFor[Input](), reflect.TypeFor[Output](), reflect.TypeFor[Rollup](), reflect.TypeFor[Limits](), reflect.TypeFor[Retry]()} {
		for _, f := range fieldsOf(typ) {
			if !strings.Contains(everyField, f.name+": ") && !strings.Contains(everyField, f.name+":\n") {
				t.Errorf("%s.%s has no example", typ.Name(), f.name)
			}
			if f.doc == "" {
				t.Errorf("%s.%s is not documented", typ.Name(), f.name)
			}
			if _, ok := typ.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(f.name, "_", "")) }); !ok && f.option == nil {
				t.Errorf("%s.%s has another name in Go", typ.Name(), f.name)
			}
		}
	}
}

// Would catch a field of input that docs/jobs.md leaves out.
func TestInputFieldsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| fields of `input` |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, o := range options.All() {
		if name := o.YAML(); name != "" && !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the table of docs/jobs.md has no field %s", name)
		}
	}
}
