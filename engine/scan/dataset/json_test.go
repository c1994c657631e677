package dataset

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/engine/scan/json"
)

// readJSON writes text to a file and reads all of it, so much at a time.
func readJSON(t testing.TB, text string, opt json.Options, sizes textfile.Sizes, read scan.OpenOptions) (scan.Source, []string, error) {
	t.Helper()
	path := scantest.WriteFile(t, t.TempDir(), "f.json", []byte(text))
	src, err := Open(context.Background(), []string{path}, Options{JSON: opt, NoHive: true, sizes: sizes})
	if err != nil {
		return nil, nil, err
	}
	rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), read)
	return src, rows, err
}

// The types are those of DuckDB's read_json_auto, but for mixed columns, which are text.
func TestJSONTypes(t *testing.T) {
	cases := []struct {
		name, text string
		opt        json.Options
		schema     string
		rows       []string
	}{
		{"scalars", `{"b":true,"i":1,"d":1.5,"day":"2024-02-29","at":"2024-01-01 00:00:01.5","z":"2024-01-01T02:00:00+02:00","t":"10:11:12","s":"x"}` + "\n" +
			`{"b":false,"i":-2,"d":2e3,"day":"1969-12-31","at":"2024-01-01T00:00:00","z":"2024-01-01T00:00:00Z","t":"23:59:59.5","s":""}`, json.Options{},
			"b bool, i int64, d float64, day date32, at timestamp[us], z timestamp[us, tz=UTC], t time64[us], s utf8",
			[]string{"true|1|1.5|2024-02-29|2024-01-01T00:00:01.5|2024-01-01T00:00:00Z|10:11:12.000000|x", "false|-2|2000|1969-12-31|2024-01-01T00:00:00|2024-01-01T00:00:00Z|23:59:59.500000|"}},
		{"absent and null", "{\"a\":1,\"b\":null}\n{\"b\":\"x\"}\n{}\n", json.Options{}, "a int64, b utf8", []string{"1|NULL", "NULL|x", "NULL|NULL"}},
		{"never a value", "{\"a\":null}\n", json.Options{}, "a utf8", []string{"NULL"}},
		{"order of keys", "{\"a\":1,\"b\":2}\n{\"c\":5,\"b\":3,\"a\":4}\n", json.Options{}, "a int64, b int64, c int64", []string{"1|2|NULL", "4|3|5"}},
		{"integers and doubles", "{\"a\":1}\n{\"a\":2.5}\n", json.Options{}, "a float64", []string{"1", "2.5"}},
		{"beyond int64", "{\"a\":18446744073709551615}\n{\"a\":-9223372036854775808}\n", json.Options{}, "a decimal(38, 0)", []string{"18446744073709551615", "-9223372036854775808"}},
		{"beyond uint64", "{\"a\":18446744073709551616}\n{\"a\":-9223372036854775809}\n", json.Options{}, "a decimal(38, 0)", []string{"18446744073709551616", "-9223372036854775809"}},
		{"beyond 38 digits", "{\"a\":100000000000000000000000000000000000000}\n{\"a\":1}\n", json.Options{}, "a utf8", []string{"100000000000000000000000000000000000000", "1"}},
		{"beyond a double", "{\"a\":9007199254740993}\n{\"a\":1.5}\n", json.Options{}, "a utf8", []string{"9007199254740993", "1.5"}},
		{"huge integers and doubles", "{\"a\":100000000000000000000000000000000000000}\n{\"a\":1.5}\n", json.Options{}, "a float64", []string{"1e+38", "1.5"}},
		{"not finite", "{\"a\":NaN}\n{\"a\":-Infinity}\n{\"a\":inf}\n{\"a\":1e999}\n", json.Options{}, "a float64", []string{"NaN", "-Inf", "+Inf", "+Inf"}},
		{"strings of digits", "{\"a\":\"12\"}\n{\"a\":\"true\"}\n", json.Options{}, "a utf8", []string{"12", "true"}},
		{"dates and times", "{\"a\":\"2024-01-01\"}\n{\"a\":\"2024-01-01 10:00:00\"}\n", json.Options{}, "a utf8", []string{"2024-01-01", "2024-01-01 10:00:00"}},
		{"mixed", "{\"a\":1.50}\n{\"a\":true}\n{\"a\":\"x\"}\n", json.Options{}, "a utf8", []string{"1.50", "true", "x"}},
		{"nested", "{\"a\":{\"x\" : [1, {}]}}\n{\"a\":[]}\n{\"a\":\"[]\"}\n", json.Options{}, "a utf8", []string{`{"x" : [1, {}]}`, "[]", "[]"}},
		{"escapes", `{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0041"}`, json.Options{}, "a utf8", []string{"\"\\/\b\f\n\r\té😀A"}},
		{"escaped keys", `{"\u0061b":1}` + "\n" + `{"ab":2}` + "\n" + `{"a\u0062":3}`, json.Options{}, "ab int64", []string{"1", "2", "3"}},
		{"types set", "{\"a\":1,\"b\":\"007\"}\n{\"a\":\"2\"}\n", json.Options{Types: map[string]arrow.DataType{"a": arrow.PrimitiveTypes.Int32, "b": arrow.PrimitiveTypes.Uint8, "c": arrow.BinaryTypes.String}},
			"a int32, b uint8, c utf8", []string{"1|7|NULL", "2|NULL|NULL"}},
		{"a key behind the sample", "{\"a\":1}\n{\"a\":2,\"b\":3}\n", json.Options{SampleRows: 1, Types: map[string]arrow.DataType{"b": arrow.PrimitiveTypes.Int64}}, "a int64, b int64", []string{"1|NULL", "2|3"}},
		{"names", "{\"a\":1,\"b\":[2],\"c\":true}\n{\"z\":0,\"c\":false}\n", json.Options{SampleRows: 1, Names: []string{"c", "d", "a"}}, "c bool, d utf8, a int64", []string{"true|NULL|1", "false|NULL|NULL"}},
		{"names with escapes", "{\"a\":1}\n{\"a\":1,\"b\\n\":2}\n", json.Options{Types: map[string]arrow.DataType{"b\\n": arrow.BinaryTypes.String, "a\":1,\"b": arrow.BinaryTypes.String}},
			"a int64, b\n int64, a\":1,\"b utf8, b\\n utf8", []string{"1|NULL|NULL|NULL", "1|2|NULL|NULL"}},
		{"byte order mark", "\ufeff {\"a\":1}\n", json.Options{}, "a int64", []string{"1"}},
		{"blank lines and CRLF", "\r\n\n{\"a\":1}\r\n\r\n \t\n{\"a\":2}\r\n\n\n", json.Options{}, "a int64", []string{"1", "2"}},
		{"rows of a line", "{\"a\":1}{\"a\":2} {\"a\":3}\n{\"a\":4}", json.Options{}, "a int64", []string{"1", "2", "3", "4"}},
		{"rows of several lines", "{\"a\":\n1\n}\n{\"a\":2,\n\"b\":[\n{\"a\":7}\n]}\n", json.Options{Types: map[string]arrow.DataType{"b": arrow.BinaryTypes.String}}, "a int64, b utf8", []string{"1|NULL", "2|[\n{\"a\":7}\n]"}},
		{"array of lines", "[\n{\"a\":1},\n{\"a\":2},\n{\"a\":3}\n]\n", json.Options{}, "a int64", []string{"1", "2", "3"}},
		{"array with commas in front", "[{\"a\":1}\n,{\"a\":2}\n,\n{\"a\":3}\n\n]\n\n", json.Options{}, "a int64", []string{"1", "2", "3"}},
		{"array on a line", " [ {\"a\":1} , {\"a\":2} ] ", json.Options{}, "a int64", []string{"1", "2"}},
		{"array of blocks", "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]", json.Options{}, "a int64", []string{"1", "2"}},
		{"a string of brackets", "[\n{\"a\":\"]},{\"},\n{\"a\":\"\\\"]\"}\n]", json.Options{}, "a utf8", []string{"]},{", "\"]"}},
		{"spaces", " { \"a\" : 1 , \"b\"\t:\t[ ] } \n", json.Options{Types: map[string]arrow.DataType{"b": arrow.BinaryTypes.String}}, "a int64, b utf8", []string{"1|[ ]"}},
		{"a key twice that nobody reads", "{\"a\":{\"x\":1,\"x\":2}}\n", json.Options{Types: map[string]arrow.DataType{"a": arrow.BinaryTypes.String}}, "a utf8", []string{`{"x":1,"x":2}`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, chunk := range []int64{0, 1, 2, 3, 7, 16} {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				src, rows, err := readJSON(t, c.text, c.opt, textfile.Sizes{Chunk: chunk, Block: 16}, scan.OpenOptions{Allocator: mem, BatchRows: 2})
				if err != nil {
					t.Fatal(err)
				}
				if got := scantest.SchemaText(src.Schema()); got != c.schema {
					t.Fatalf("schema: got %s, want %s", got, c.schema)
				}
				scantest.SameRows(t, rows, c.rows)
				mem.AssertSize(t, 0)
			}
		})
	}
}

// Each error must say where, and what to set where something can be.
func TestJSONErrors(t *testing.T) {
	one := json.Options{SampleRows: 1}
	cases := []struct {
		name, text string
		opt        json.Options
		want       []string
	}{
		{"value", "{\"price\":1.5}\n{\"price\":2}\n{\"price\":\"abc\"}\n", one, []string{`line 3: column "price": "abc" is not a DOUBLE`, "JSON.Types price=VARCHAR"}},
		{"fraction", "{\"a\":1}\n{\"a\":2.5}\n", one, []string{`line 2: column "a": 2.5 is not a BIGINT`, "JSON.Types a=DOUBLE"}},
		{"huge", "{\"a\":1}\n{\"a\":-12345678901234567890}\n", one, []string{`line 2: column "a": -12345678901234567890 is not a BIGINT`, "JSON.Types a=HUGEINT"}},
		{"leading zero in quotes", "{\"a\":1}\n{\"a\":\"01\"}\n", one, []string{`line 2: column "a"`, `"01"`, "lose its zero", "JSON.Types a=VARCHAR"}},
		{"nested", "{\"a\":1}\n{\"a\":[1]}\n", one, []string{`line 2: column "a": [1] is not a BIGINT`}},
		{"later key", "{\"a\":1}\n{\"a\":1,\"z z\":2}\n", one, []string{`line 2: key "z z"`, "JSON.SampleRows", `JSON.Types "z z=VARCHAR"`}},
		{"key twice", "{\"a\":1}\n{\"a\":1,\"a\":2}\n", json.Options{}, []string{`line 2: key "a" is twice`}},
		{"not UTF-8", "{\"a\":\"x\"}\n{\"a\":\"gr\xfcn\"}\n", json.Options{}, []string{"line 2", `column "a": "gr\xfcn" is not valid UTF-8`, "JSON.Types a=BLOB"}},
		{"key not UTF-8", "{\"gr\xfcn\":1}\n", json.Options{}, []string{"line 1", `"gr\xfcn"`}},
		{"lone high surrogate", "{\"a\":\"\"}\n{\"a\":\"\\ud83d\"}\n", json.Options{}, []string{"line 2", "surrogate"}},
		{"lone low surrogate", "{\"a\":\"\\ude00x\"}\n", json.Options{}, []string{"line 1", "surrogate"}},
		{"two high surrogates", "{\"a\":\"\\ud83d\\ud83d\"}\n", json.Options{}, []string{"line 1", "surrogate"}},
		{"escape", "{\"a\":\"\\x41\"}\n", json.Options{}, []string{"line 1", "an escape"}},
		{"short escape", "{\"a\":\"\\u12\"}\n", json.Options{}, []string{"line 1", "an escape"}},
		{"open quote", "{\"a\":\"x\n\"}\n", json.Options{}, []string{"line 1", "quote"}},
		{"leading zero", "{\"a\":01}\n", json.Options{}, []string{"line 1", "leading zero"}},
		{"plus", "{\"a\":+1}\n", json.Options{}, []string{"line 1", "not a value"}},
		{"point", "{\"a\":1.}\n", json.Options{}, []string{"line 1", "without a digit"}},
		{"exponent", "{\"a\":1e}\n", json.Options{}, []string{"line 1", "without a digit"}},
		{"word", "{\"a\":nul}\n", json.Options{}, []string{"line 1", "not a value"}},
		{"behind a word", "{\"a\":truex}\n", json.Options{}, []string{"line 1", "neither a comma nor the closing brace"}},
		{"trailing comma", "{\"a\":1,}\n", json.Options{}, []string{"line 1", "not a key"}},
		{"no colon", "{\"a\" 1}\n", json.Options{}, []string{"line 1", "no colon"}},
		{"nested comma", "{\"a\":[1 2]}\n", json.Options{}, []string{"line 1", "closing bracket"}},
		{"deep", "{\"a\":" + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "}\n", json.Options{}, []string{"line 1", "1000 deep"}},
		{"cut off", "{\"a\":1}\n{\"a\":", json.Options{}, []string{"line 2", "ends within an object"}},
		{"cut off behind the sample", "{\"a\":1}\n{\"a\":[{\"b\":1", one, []string{"line 2", "ends within an object"}},
		{"open array", "[\n{\"a\":1},\n{\"a\":2}\n\n", one, []string{"array", "missing"}},
		{"open array on a line", "[{\"a\":1},{\"a\":2}", json.Options{}, []string{"array", "missing"}},
		{"behind an array", "[\n{\"a\":1}\n]\n{\"a\":2}\n]\n", one, []string{"line 4", "behind the array"}},
		{"no comma in an array", "[\n{\"a\":1},\n{\"a\":2}\n{\"a\":3}\n]", one, []string{"line 4", "no comma"}},
		{"comma at an array's end", "[\n{\"a\":1},\n{\"a\":2},\n]", one, []string{"line 4", "comma"}},
		{"two commas", "[\n{\"a\":1},\n,{\"a\":2}\n]", json.Options{}, []string{"line 3", "comma"}},
		{"comma between lines", "{\"a\":1},\n{\"a\":2}\n", one, []string{"line 1", "a row must be an object"}},
		{"scalar", "1\n2\n", json.Options{}, []string{"line 1", "a row must be an object"}},
		{"scalar below", "{\"a\":1}\nnull\n", one, []string{"line 2", "a row must be an object"}},
		{"scalar in an array", "[{\"a\":1},2]", json.Options{}, []string{"line 1", "a row must be an object"}},
		{"lines, then blocks", "{\"a\":1}\n{\"a\":1}\n{\"a\":\n2}\n", one, []string{"line 3", "JSON.SampleRows"}},
		{"lines, then two on a line", "{\"a\":1}\n{\"a\":1}\n{\"a\":2}{\"a\":3}\n", one, []string{"line 3", "JSON.SampleRows"}},
		{"UTF-16", "\xff\xfe{\x00}\x00", json.Options{}, []string{"UTF-16"}},
		{"syntax at depth", "{\"a\":{\"b\":[1]}}\n{\"a\":{\"b\":[1,{\"c\":]}]}}\n", one, []string{"line 2: at a.b[2].c", "not a value"}},
		{"syntax at depth, of what is not read", "{\"a\":{\"b\":[1]},\"c\":1}\n{\"a\":{\"b\":[01]}}\n", one, []string{"line 2: at a.b[1]", "leading zero"}},
		{"element of another type", "{\"a\":[1]}\n{\"a\":[1,\"x\"]}\n", one, []string{`line 2: column "a", at [2]: "x" is not a BIGINT`, "JSON.Types a=VARCHAR"}},
		{"member of another type", "{\"a\":[{\"b\":true}]}\n{\"a\":[{\"b\":[]}]}\n", one, []string{`line 2: column "a", at [1].b: [] is not a BOOLEAN`}},
		{"fraction of a member", "{\"a\":{\"b\":1}}\n{\"a\":{\"b\":2.5}}\n", one, []string{`line 2: column "a.b": 2.5 is not a BIGINT`, "JSON.Types a.b=DOUBLE"}},
		{"no object", "{\"a\":{\"b\":1}}\n{\"a\":[]}\n", one, []string{"line 2", `"a" is no object`, "JSON.Types a=VARCHAR"}},
		{"later member", "{\"a\":{\"b\":1}}\n{\"a\":{\"c\":1}}\n", one, []string{`line 2: at a: key "a.c"`, "JSON.SampleRows", "JSON.Types a.c=VARCHAR"}},
		{"later member of a list", "{\"a\":[{\"b\":1}]}\n{\"a\":[{\"c\":1}]}\n", one, []string{`line 2: column "a", at [1]: key "c"`, "JSON.SampleRows"}},
		{"member twice", "{\"a\":{\"b\":1}}\n{\"a\":{\"b\":1,\"b\":2}}\n", one, []string{`line 2`, `key "a.b" is twice`}},
		{"object twice", "{\"a\":{\"b\":1}}\n{\"a\":{},\"a\":{\"b\":2}}\n", one, []string{`line 2`, `key "a" is twice`}},
		{"key of a map twice", "{\"a\":{}}\n{\"a\":{\"b\":\"\",\"b\":\"\"}}\n", one, []string{`line 2: column "a"`, `key "b" is twice`}},
		{"too deep", "{\"a\":" + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "}\n", one, []string{"line 1: at a[1][1]", "more than 1000 deep"}},
		{"no keys", "{}\n{}\n", json.Options{}, []string{"no keys"}},
		{"a NUL", "{\"a\":1}\n\x00{\"a\":2}\n", json.Options{}, []string{"line 2", "a row must be an object"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, chunk := range []int64{0, 1, 5} {
				_, _, err := readJSON(t, c.text, c.opt, textfile.Sizes{Chunk: chunk, Block: 1 + int(chunk)*3}, scan.OpenOptions{})
				if err == nil {
					t.Fatalf("chunks of %d B: no error", chunk)
				}
				for _, want := range append(c.want, "f.json") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("chunks of %d B: %q says nothing of %q", chunk, err, want)
					}
				}
			}
		})
	}
}

// Columns of several files are those of all; a file without rows has them, too.
func TestJSONFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.ndjson": "{\"a\":1}\n", "b.jsonl": "", "c.json": "[]", "d.json": "[{\"b\":\"x\",\"a\":2.5}]", "e.ndjson.gz": "{\"c\":true}"} {
		scantest.WriteFile(t, dir, name, pack(t, text, name))
	}
	src := mustOpen(t, Options{}, dir)
	if got := scantest.SchemaText(src.Schema()); got != "a float64, b utf8, c bool" {
		t.Fatal(got)
	}
	rows, err := scantest.ReadAll(src, []int{0, 1, 2}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, []string{"1|NULL|NULL", "2.5|x|NULL", "NULL|NULL|true"})
	for name, text := range map[string]string{"f.txt": " {\"a\":1}", "g": "\n[ {\"a\":1}]", "-": "{\"a\":1}"} {
		if name != "-" {
			name = scantest.WriteFile(t, dir, name, []byte(text))
		}
		rows, err := scantest.ReadAll(mustOpen(t, Options{Stdin: strings.NewReader(text)}, name), []int{0}, scan.OpenOptions{})
		if err != nil || len(rows) != 1 || rows[0] != "1" {
			t.Errorf("%s, whose first bytes say that it is JSON: %q, %v", name, rows, err)
		}
	}
}

// Strings that repeat in the sample come as codes, unless they do not repeat further on in the file.
func TestJSONCodes(t *testing.T) {
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "{\"few\":\"name%d\",\"many\":\"key%d\",\"first\":\"%d\",\"n\":%d}\n", i%90, i, max(i-30_000, 0), i%9)
	}
	src, rows, err := readJSON(t, text.String(), json.Options{}, textfile.Sizes{}, scan.OpenOptions{})
	if err != nil || len(rows) != 60_000 || rows[50_000] != "name50|key50000|20000|5" {
		t.Fatal(len(rows), err)
	}
	for c, want := range []bool{true, false, false, false} {
		if got := src.Stats().Columns[c].Repeats; got != want {
			t.Errorf("column %d: Repeats is %v, want %v", c, got, want)
		}
	}
}

// An object that is longer than the limit is an error at once, not all of memory.
func TestJSONLongRow(t *testing.T) {
	for _, limit := range []int{0, 256 << 20, 1 << 20} {
		const bytes = 100 << 20
		if limit != 1<<20 && testing.Short() {
			continue
		}
		text := io.MultiReader(strings.NewReader("{\"a\":\"short\"}\n{\"a\":\""), &repeated{b: 'x', left: bytes}, strings.NewReader("\"}\n"))
		src := mustOpen(t, Options{Format: FormatJSON, JSON: json.Options{SampleRows: 1, RowLimit: limit}, Stdin: text}, "-")
		rows, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
		if limit > bytes && (err != nil || len(rows) != 2 || len(rows[1]) != bytes) {
			t.Errorf("limit %d: %d rows, %v", limit, len(rows), err)
		}
		if want := fmt.Sprintf("line 2: an object is longer than %d bytes", cmp.Or(limit, 64<<20)); limit < bytes &&
			(err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "JSON.RowLimit")) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// Would catch a limit of one object that the objects of the sample are held to together.
func TestJSONShortLimit(t *testing.T) {
	const rows, limit = 2000, 300
	text := "[" + strings.Repeat("{\"a\":\"short\"},", rows-1) + "{\"a\":\"short\"}]"
	for _, text := range []string{text, strings.NewReplacer("[", "", "]", "\n", "},", "}\n").Replace(text)} {
		for _, block := range []int{64, 100, limit, 1 << 12} {
			_, got, err := readJSON(t, text, json.Options{RowLimit: limit}, textfile.Sizes{Block: block}, scan.OpenOptions{})
			if err != nil || len(got) != rows {
				t.Errorf("blocks of %d B: %d rows, %v", block, len(got), err)
			}
		}
	}
}

// repeated is a text of one byte, many times.
type repeated struct {
	b    byte
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := min(len(p), r.left)
	if r.left -= n; n == 0 {
		return 0, io.EOF
	}
	copy(p, bytes.Repeat([]byte{r.b}, n))
	return n, nil
}

// randomJSON writes rows in a random layout, and what they are as text.
func randomJSON(rng *rand.Rand, n int) (text string, rows []string) {
	gap := func() string { return []string{"", "", "", " ", "\t", " \r"}[rng.IntN(6)] }
	newline := []string{"\n", "\r\n", "\n\n", " \n"}[rng.IntN(4)]
	inside, between, open, end := "", newline, "", ""
	switch rng.IntN(5) {
	case 0: // an array of lines
		open, between, end = "["+newline, ","+newline, newline+"]"
	case 1:
		open, between, end = "[", newline+",", "]"+newline
	case 2: // an array on a line
		open, between, end = "[", ",", "]"
	case 3: // several lines each
		inside = newline
	}
	values := [][2]string{{`1`, "1"}, {`-2.50e3`, "-2.50e3"}, {`true`, "true"}, {`null`, "NULL"}, {`""`, ""}, {`"a"`, "a"}, {`"q\"\\\n"`, "q\"\\\n"}, {`"\ud83d\ude00é{["`, "😀é{["},
		{`[1,{"a":"]"}]`, `[1,{"a":"]"}]`}, {`{"id":1}`, `{"id":1}`}, {`"` + strings.Repeat("long ", 30) + `"`, strings.Repeat("long ", 30)}}
	keys := []string{"id", "s", "t", `"`, "u"}
	var out strings.Builder
	out.WriteString(open)
	for i := range n {
		if i > 0 {
			out.WriteString(between)
		}
		cells := map[string]string{}
		out.WriteString(gap() + "{" + inside)
		for k, key := range rng.Perm(len(keys))[:1+rng.IntN(len(keys))] {
			if rng.IntN(2) == 0 {
				key = k
			}
			name := keys[key]
			if _, twice := cells[name]; twice {
				continue
			}
			if len(cells) > 0 {
				out.WriteString(gap() + "," + inside)
			}
			v := values[rng.IntN(len(values))]
			if name == "id" {
				v = [2]string{fmt.Sprint(i), fmt.Sprint(i)}
			}
			out.WriteString(gap() + strings.ReplaceAll(fmt.Sprintf("%q", name), "u", []string{"u", `\u0075`}[rng.IntN(2)]) + gap() + ":" + gap() + v[0])
			cells[name] = v[1]
		}
		out.WriteString(inside + gap() + "}")
		var row []string
		for _, key := range keys {
			cell, ok := cells[key]
			if !ok {
				cell = "NULL"
			}
			row = append(row, cell)
		}
		rows = append(rows, strings.Join(row, "|"))
	}
	out.WriteString(end)
	if rng.IntN(2) == 0 {
		out.WriteString(newline)
	}
	return out.String(), rows
}

// Metamorphic: neither the layout, the chunks, their order, nor compression and standard input change
// what is read, of any columns.
func TestJSONChunksAndStreams(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 40
	}
	rng := scantest.NewRand(t)
	text := arrow.BinaryTypes.String
	types := map[string]arrow.DataType{"id": text, "s": text, "t": arrow.BinaryTypes.LargeString, `"`: text, "u": text}
	for range rounds {
		document, want := randomJSON(rng, 1+rng.IntN(300))
		opt := Options{Format: FormatJSON, JSON: json.Options{SampleRows: 1 << 20, Types: types}}
		opt.sizes = textfile.Sizes{Chunk: int64(1+rng.IntN(80)) << rng.IntN(6), Block: 1 + rng.IntN(64)<<rng.IntN(6)}
		if rng.IntN(2) == 0 {
			opt.JSON.SampleRows = 1 + rng.IntN(3)
		}
		read := scan.OpenOptions{BatchRows: 1 + rng.IntN(200)}
		check := func(what string, src scan.Source, read func(scan.Source, []int) ([]string, error)) {
			t.Helper()
			var columns []int // in the order of types
			for _, name := range []string{"id", "s", "t", `"`, "u"} {
				columns = append(columns, src.Schema().FieldIndices(name)[0])
			}
			rows, err := read(src, columns)
			if err != nil {
				t.Fatalf("%s: %v\n%.300s", what, err, document)
			}
			scantest.SameRows(t, rows, want)
		}
		forwards := func(src scan.Source, columns []int) ([]string, error) { return scantest.ReadAll(src, columns, read) }
		dir := t.TempDir()
		for _, name := range []string{"f.json", "f.ndjson.gz", "f.jsonl.zst"} {
			path := scantest.WriteFile(t, dir, name, pack(t, document, name))
			check(name, mustOpen(t, opt, path), forwards)
			check(name+" backwards", mustOpen(t, opt, path), func(src scan.Source, columns []int) ([]string, error) { return readBackwards(src, columns, read) })
		}
		opt.Stdin = strings.NewReader(document)
		check("standard input", mustOpen(t, opt, "-"), forwards)
		some, err := scantest.ReadAll(mustOpen(t, opt, dir+"/f.json"), []int{1}, read)
		if err != nil || len(some) != len(want) {
			t.Fatalf("one column: %d rows of %d, %v", len(some), len(want), err)
		}
	}
}

// oracleJSON reads objects by encoding/json. ok is false where the text is no rows.
func oracleJSON(text string) (rows []map[string]stdjson.RawMessage, ok bool) {
	var elements []stdjson.RawMessage
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[") {
		if stdjson.Unmarshal([]byte(text), &elements) != nil {
			return nil, false
		}
	} else {
		decoder := stdjson.NewDecoder(strings.NewReader(text))
		for {
			var element stdjson.RawMessage
			if err := decoder.Decode(&element); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, false
			}
			elements = append(elements, element)
		}
	}
	for _, element := range elements {
		var row map[string]stdjson.RawMessage
		if element[0] != '{' || stdjson.Unmarshal(element, &row) != nil {
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, true
}

// beyondOracle are texts of which encoding/json has another opinion: NaN and infinities, surrogates
// alone, and keys that are written with escapes.
var beyondOracle = regexp.MustCompile(`(?i)nan|inf|\\u`)

// encoding/json is the oracle of which text is JSON, and of its values.
func FuzzJSON(f *testing.F) {
	f.Add("{\"a\":1,\"b\":[\"x\"]}\n{\"b\":null}\n", uint8(3))
	f.Add("[\n{\"a\":\"\\\"\\n\"},\n{\"a\":-1.5e+3}\n]", uint8(1))
	f.Add("[{\"a\":{}},{\"\":true}]", uint8(2))
	f.Add(" {\"a\"\n:0}{\"a\":01}", uint8(9))
	f.Add("{\"a\":1}\n]", uint8(4))
	f.Add("{\"a\":{\"b\":[1,{\"c\":null}],\"d\":\"x\"}}\n{\"a\":{\"d\":\"2\",\"b\":[]}}\n", uint8(4))
	f.Add("{\"a\":[[{}],[{\"x\":true}]]}\n{\"a\":null}\n", uint8(30))
	for seed := range uint64(5) {
		text, _ := randomJSON(rand.New(rand.NewPCG(seed, 5)), 5)
		f.Add(text, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, text string, chunk uint8) {
		want, ok := oracleJSON(text)
		opt, names := json.Options{Types: make(map[string]arrow.DataType)}, map[string]bool{}
		for _, row := range want {
			for name := range row {
				opt.Types[name], names[name] = arrow.BinaryTypes.String, true
			}
		}
		sizes := textfile.Sizes{Chunk: int64(chunk)%32 + 1, Block: int(chunk)%7 + 1}
		src, rows, err := readJSON(t, text, opt, sizes, scan.OpenOptions{BatchRows: 3})
		if beyondOracle.MatchString(text) || !utf8.ValidString(text) || strings.HasPrefix(text, "\ufeff") ||
			err != nil && (strings.Contains(err.Error(), "is twice") || strings.Contains(err.Error(), "deep")) || len(names) == 0 {
			return
		}
		if (err == nil) != ok {
			t.Fatalf("got error %v, encoding/json says %v", err, ok)
		}
		if err != nil {
			return
		}
		var wanted []string
		for _, row := range want {
			var cells []string
			for _, field := range src.Schema().Fields() {
				cell := "NULL"
				if raw, ok := row[field.Name]; ok && string(raw) != "null" {
					cell = string(raw)
					if raw[0] == '"' {
						if err := stdjson.Unmarshal(raw, &cell); err != nil {
							t.Fatal(err)
						}
					}
				}
				cells = append(cells, cell)
			}
			wanted = append(wanted, strings.Join(cells, "|"))
		}
		scantest.SameRows(t, rows, wanted)
		checkInferred(t, text, want, sizes)
	})
}

// checkInferred reads a text by the types that it has itself, and compares with the values of encoding/json.
func checkInferred(t *testing.T, text string, want []map[string]stdjson.RawMessage, sizes textfile.Sizes) {
	var values []map[string]any
	for _, row := range want {
		object := map[string]any{}
		for name, raw := range row {
			v, err := decodeJSON(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			object[name] = v
		}
		values = append(values, object)
	}
	src, _, err := readJSON(t, text, json.Options{SampleRows: textfile.SampleAll}, sizes, scan.OpenOptions{BatchRows: 3})
	if err != nil {
		if !strings.Contains(err.Error(), "is twice") {
			t.Fatal(err)
		}
		return
	}
	checkNested(t, src, values, scan.OpenOptions{BatchRows: 2})
}
