package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// roundTripColumn is a type, two of its values as SQL, and whether its values name folders.
type roundTripColumn struct {
	typ, a, b string
	folders   bool
}

// roundTripColumns have values of each type, texts among them that look like values of others.
var roundTripColumns = []roundTripColumn{
	{"BOOLEAN", "true", "false", true},
	{"TINYINT", "-128", "127", true},
	{"SMALLINT", "-32768", "32767", true},
	{"INTEGER", "-2147483648", "2147483647", true},
	{"BIGINT", "-9223372036854775807", "9223372036854775807", true},
	{"UTINYINT", "0", "255", true},
	{"USMALLINT", "0", "65535", true},
	{"UINTEGER", "0", "4294967295", true},
	{"UBIGINT", "0", "18446744073709551615", true},
	{"HUGEINT", "-12345678901234567890123456789012345678", "12345678901234567890", true},
	{"DECIMAL(9,2)", "-1234567.50", "0.01", true},
	{"DECIMAL(38,10)", "1234567890123456789012345678.0123456789", "1", true},
	{"FLOAT", "0.1", "-1e30", false},
	{"DOUBLE", "0.1", "1.7976931348623157e308", false},
	{"VARCHAR", "'01'", "'1e5'", true},
	{"VARCHAR", "'2024-01-01'", "'true'", true},
	{"VARCHAR", "' a \"b\",c'", "'+5'", true},
	{"VARCHAR", "'NULL'", "'-0'", true},
	{"BLOB", "'ab'", "'cd'", false},
	{"DATE", "'2024-02-29'", "'1969-12-31'", true},
	{"TIME", "'23:59:59.123456'", "'00:00:00'", false},
	{"TIMESTAMP", "'2024-02-29 12:34:56.789'", "'1969-12-31 23:59:59'", true},
}

// Would catch a type or a digit that is lost on the way through a file, or through the names of folders, whose
// manifest has their types.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	var first, second, names, types, folders []string
	for i, c := range roundTripColumns {
		name := fmt.Sprintf("c%02d", i)
		names = append(names, name)
		first = append(first, fmt.Sprintf("CAST(%s AS %s) AS %s", c.a, c.typ, name))
		second = append(second, fmt.Sprintf("CAST(%s AS %s) AS %s", c.b, c.typ, name))
		types = append(types, fmt.Sprintf("%s=%s", name, c.typ))
		if c.folders {
			folders = append(folders, name)
		}
	}
	list := strings.Join(names, ", ")
	blob := names[slices.IndexFunc(roundTripColumns, func(c roundTripColumn) bool { return c.typ == "BLOB" })]
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("mpga", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("mpga %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for row, items := range [][]string{first, second} {
		query := "SELECT " + strings.Join(items, ", ") + ", 1 AS n"
		want := run("sql", query, "--format", "csv")
		wantTypes := run("sql", "DESCRIBE "+query, "--format", "csv")
		for _, sink := range []string{"x.parquet", "x.arrow", "x.arrows", "x.csv", "x.tsv", "x.json", "folders"} {
			path := filepath.Join(dir, fmt.Sprintf("%d-%s", row, sink))
			write := []string{"sql", query, "-o", path}
			var read []string
			isText := strings.HasSuffix(sink, "sv") || strings.HasSuffix(sink, "json")
			switch {
			case isText:
				for _, typ := range types {
					read = append(read, "--type", typ)
				}
			case sink == "folders":
				write = append(write, "--partition-by", strings.Join(folders, ","))
			}
			run(write...)
			from := fmt.Sprintf("SELECT %s, n::INTEGER AS n FROM '%s'", list, path)
			if strings.HasSuffix(sink, "json") { // which has bytes as Base64, and reads them as they are
				from = strings.Replace(from, blob, items[slices.Index(names, blob)], 1)
			}
			if got := run(append([]string{"sql", from, "--format", "csv"}, read...)...); got != want {
				t.Errorf("%s:\n%swant\n%s", sink, got, want)
			}
			if got := run(append([]string{"sql", "DESCRIBE " + from, "--format", "csv"}, read...)...); got != wantTypes {
				t.Errorf("%s:\n%swant\n%s", sink, got, wantTypes)
			}
		}
	}
}
