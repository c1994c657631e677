package dataset

import (
	"bytes"
	"context"
	"encoding/base64"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowcsv "github.com/apache/arrow-go/v18/arrow/csv"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/invariants"
)

// readSized writes text to a file and reads all of it, so much at a time.
func readSized(t testing.TB, text string, opt csv.Options, sizes textfile.Sizes, read scan.OpenOptions) (scan.Source, []string, error) {
	t.Helper()
	path := scantest.WriteFile(t, t.TempDir(), "f.csv", []byte(text))
	src, err := Open(context.Background(), []string{path}, Options{CSV: opt, NoHive: true, sizes: sizes})
	if err != nil {
		return nil, nil, err
	}
	rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), read)
	return src, rows, err
}

func TestCSVDialects(t *testing.T) {
	int32s := map[string]arrow.DataType{"a": arrow.PrimitiveTypes.Int32}
	cases := []struct {
		name, text string
		opt        csv.Options
		schema     string
		rows       []string
	}{
		{"types", "b,i,d,day,at,z,s\ntrue,1,1.5,2024-02-29,2024-01-01 00:00:01.5,2024-01-01T00:00:00Z,x\nFALSE,-2,2,1969-12-31,2024-01-01T00:00:00,2024-01-01 02:00:00+02:00,y\n", csv.Options{},
			"b bool, i int64, d float64, day date32, at timestamp[us], z timestamp[us, tz=UTC], s utf8",
			[]string{"true|1|1.5|2024-02-29|2024-01-01T00:00:01.5|2024-01-01T00:00:00Z|x", "false|-2|2|1969-12-31|2024-01-01T00:00:00|2024-01-01T00:00:00Z|y"}},
		{"no newline at the end", "a,b\n1,x\n2,y", csv.Options{}, "a int64, b utf8", []string{"1|x", "2|y"}},
		{"CR in a field", "\"a\rb\",c\r", csv.Options{Header: csv.HeaderNo}, "column0 utf8, column1 utf8", []string{"a\rb|c"}},
		{"CRLF", "a,b\r\n1,x\r\n2,\"y\"\r\n", csv.Options{}, "a int64, b utf8", []string{"1|x", "2|y"}},
		{"quotes", "a,b\n1,\"x, \"\"y\"\"\nz\"\n2,\"\"\n3,\n", csv.Options{}, "a int64, b utf8", []string{"1|x, \"y\"\nz", "2|", "3|NULL"}},
		{"byte order mark", "\ufeffa,b\n1,x\n", csv.Options{}, "a int64, b utf8", []string{"1|x"}},
		{"semicolons", "a;b\n1,5;x\n2,5;y\n", csv.Options{}, "a utf8, b utf8", []string{"1,5|x", "2,5|y"}},
		{"tabs", "a\tb\n1\tx\n", csv.Options{}, "a int64, b utf8", []string{"1|x"}},
		{"pipes", "1|x\n2|y\n", csv.Options{}, "column0 int64, column1 utf8", []string{"1|x", "2|y"}},
		{"numbers above, no header", "2019,2020\n1,2\n", csv.Options{}, "column0 int64, column1 int64", []string{"2019|2020", "1|2"}},
		{"numbers as header", "2019,2020\n1,2\n", csv.Options{Header: csv.HeaderYes}, "2019 int64, 2020 int64", []string{"1|2"}},
		{"text only", "name,town\nann,x\n", csv.Options{}, "name utf8, town utf8", []string{"ann|x"}},
		{"text only, no header", "name,town\nann,x\n", csv.Options{Header: csv.HeaderNo}, "column0 utf8, column1 utf8", []string{"name|town", "ann|x"}},
		{"header only", "a,b\n", csv.Options{}, "a utf8, b utf8", nil},
		{"empty lines", "a,b\n\n1,2\n\r\n3,4\n\n", csv.Options{}, "a int64, b int64", []string{"1|2", "3|4"}},
		{"empty lines of one column", "a\n1\n\n2\n", csv.Options{}, "a int64", []string{"1", "NULL", "2"}},
		{"null strings", "a,b\nNA,x\n1,NA\n2,\"NA\"\n,\n", csv.Options{NullStrings: []string{"NA", ""}}, "a int64, b utf8", []string{"NULL|x", "1|NULL", "2|NA", "NULL|NULL"}},
		{"quotes off", "a,b\n1,5\" pipe\n2,\"x\n", csv.Options{NoQuote: true}, "a int64, b utf8", []string{"1|5\" pipe", "2|\"x"}},
		{"another quote", "a,b\n1,'x,''y'\n2,z\n", csv.Options{Quote: '\''}, "a int64, b utf8", []string{"1|x,'y", "2|z"}},
		{"backslashes before quotes", "a,b\n1,\"x \\\"y\\\", \\\\\"\n2,\"p \\n\nq\"\n3,\\u\n", csv.Options{}, "a int64, b utf8",
			[]string{`1|x "y", \`, "2|p n\nq", `3|\u`}},
		{"a newline that is escaped", "a;b\n1;\"x\\\"\\\ny\\\"\"\n2;z\n", csv.Options{}, "a int64, b utf8", []string{"1|x\"\ny\"", "2|z"}},
		{"backslashes that are none", "a,b\n1,\"C:\\\"\n2,\"x \"\"y\"\n", csv.Options{}, "a int64, b utf8", []string{`1|C:\`, `2|x "y`}},
		{"an escape that is given", "a,b\n1,\"C:\\n\"\n", csv.Options{Escape: '\\'}, "a int64, b utf8", []string{"1|C:n"}},
		{"another escape", "a,b\n1,\"x^\"y^^\"\n", csv.Options{Escape: '^'}, "a int64, b utf8", []string{`1|x"y^`}},
		{"type set", "a,b\n1,x\n", csv.Options{Types: int32s}, "a int32, b utf8", []string{"1|x"}},
		{"spaces around numbers", "a,b\n 1 , x\n2, y\n", csv.Options{}, "a int64, b utf8", []string{"1| x", "2| y"}},
		{"integers and floats", "a\n1\n2.5\n-inf\n", csv.Options{}, "a float64", []string{"1", "2.5", "-Inf"}},
		{"beyond 64 bits", "a,b\n9223372036854775808,1\n1,1\n", csv.Options{}, "a decimal(38, 0), b int64", []string{"9223372036854775808|1", "1|1"}},
		{"beyond a double", "a,b\n9007199254740993,12345678901234567890123456789012345678\n1.5,1\n", csv.Options{}, "a utf8, b decimal(38, 0)",
			[]string{"9007199254740993|12345678901234567890123456789012345678", "1.5|1"}},
		{"within a double", "a,b\n9007199254740992,10000000000000000000000\n1.5,1.5\n", csv.Options{}, "a float64, b float64",
			[]string{"9.007199254740992e+15|1e+22", "1.5|1.5"}},
		{"beyond a hugeint", "a\n123456789012345678901234567890123456789\n1\n", csv.Options{}, "a utf8", []string{"123456789012345678901234567890123456789", "1"}},
		{"38 digits", "a\n99999999999999999999999999999999999999\n-12345678901234567890123456789012345678\n", csv.Options{}, "a decimal(38, 0)", []string{"99999999999999999999999999999999999999", "-12345678901234567890123456789012345678"}},
		{"beyond 38 digits", "a,b\n999999999999999999999999999999999999999,1\n1,1\n", csv.Options{}, "a utf8, b int64", []string{"999999999999999999999999999999999999999|1", "1|1"}},
		{"beyond 38 digits, and a fraction", "a\n10000000000000000303786028427003666890752\n0.5\n", csv.Options{}, "a float64", []string{"1e+40", "0.5"}},
		{"beyond 64 bits, and a fraction", "a\n9223372036854775808\n0.5\n", csv.Options{}, "a float64", []string{"9.223372036854776e+18", "0.5"}},
		{"beyond 64 bits, thousands", "a;b\n12,345,678,901,234,567,890;1\n", csv.Options{Thousands: ','}, "a decimal(38, 0), b int64", []string{"12345678901234567890|1"}},
		{"dates and times", "a,b\n2024-01-01,1\n2024-01-01 10:00:00,1\n", csv.Options{}, "a timestamp[us], b int64", []string{"2024-01-01T00:00:00|1", "2024-01-01T10:00:00|1"}},
		{"zones", "a,b,c\n2024-01-01 02:00:00+02," +
			"2024-01-01T02:00:00.5+0230,2024-01-01 02:00:00+2\n2024-01-01 02:00:00-03,2024-01-01 02:00:00Z,x\n", csv.Options{},
			"a timestamp[us, tz=UTC], b timestamp[us, tz=UTC], c utf8",
			[]string{"2024-01-01T00:00:00Z|2023-12-31T23:30:00.5Z|2024-01-01 02:00:00+2", "2024-01-01T05:00:00Z|2024-01-01T02:00:00Z|x"}},
		{"no such zone", "a,b,c\n2024-01-01 02:00:00+24,2024-01-01 02:00:00+02:,2024-01-01 02:00:00+02:60\n", csv.Options{},
			"a utf8, b utf8, c utf8", []string{"2024-01-01 02:00:00+24|2024-01-01 02:00:00+02:|2024-01-01 02:00:00+02:60"}},
		{"rows that end in a delimiter", "a,b\n1,x,\r\n3,\"y\n,\",\n,,\n", csv.Options{}, "a int64, b utf8", []string{"1|x", "3|y\n,", "NULL|NULL"}},
		{"rows that end in a delimiter, of text", "a\tb\nu\tx\t\nv\ty\t", csv.Options{}, "a utf8, b utf8", []string{"u|x", "v|y"}},
		{"a header that ends in a delimiter", "a,b,\n1,x,\n", csv.Options{}, "a int64, b utf8, column2 utf8", []string{"1|x|NULL"}},
		{"no such date", "a,b\n2023-02-29,1\n", csv.Options{}, "a utf8, b int64", []string{"2023-02-29|1"}},
		{"leading zeros", "zip,n,f,g\n01234,0,0.5,1\n12345,10,00.5,-02\n", csv.Options{}, "zip utf8, n int64, f utf8, g utf8", []string{"01234|0|0.5|1", "12345|10|00.5|-02"}},
		{"plus", "a,b,c\n+49,+1.5,-0\n7,2,-0.5\n", csv.Options{}, "a utf8, b utf8, c float64", []string{"+49|+1.5|-0", "7|2|-0.5"}},
		{"leading zeros, a decimal comma", "a;b\n01,5;0,5\n", csv.Options{Delimiter: ';', DecimalSeparator: ','}, "a utf8, b float64", []string{"01,5|0.5"}},
		{"leading zeros as numbers", "n,x\n007,1\n", csv.Options{Types: map[string]arrow.DataType{"n": arrow.PrimitiveTypes.Int64}}, "n int64, x int64", []string{"7|1"}},
		{"a name twice", "a,a,a_1,b,a\n1,2,3,4,5\n", csv.Options{}, "a int64, a_2 int64, a_1 int64, b int64, a_3 int64", []string{"1|2|3|4|5"}},
		{"unnamed column", ",b\n1,2.5\n", csv.Options{}, "column0 int64, b float64", []string{"1|2.5"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, chunk := range []int64{0, 3, 1, 2, 7, 16}[:invariants.Fewer(6, 2)] {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				src, rows, err := readSized(t, c.text, c.opt, textfile.Sizes{Chunk: chunk}, scan.OpenOptions{Allocator: mem, BatchRows: 2})
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

// Each error must say where, and what to set.
func TestCSVErrors(t *testing.T) {
	cases := []struct {
		name, text string
		opt        csv.Options
		want       []string
	}{
		{"value", "a,b\n1,x\n2,y\nthree,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"a"`, `"three"`, "BIGINT", "CSV.Types a=VARCHAR"}},
		{"leading zero behind the sample", "a,b\n1,x\n2,y\n012,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"a"`, `"012"`, "lose its zero", "CSV.Types a=VARCHAR", "a=BIGINT"}},
		{"leading zero among doubles", "a,b\n1.5,x\n2,y\n-00.5,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"-00.5"`, "lose its zero"}},
		{"leading zero among huge integers", "a,b\n12345678901234567890,x\n2,y\n02,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"02"`, "lose its zero"}},
		{"plus behind the sample", "a,b\n1,x\n2,y\n +4,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `+4`, "lose its plus"}},
		{"plus among thousands", "a;b\n1,000;x\n2;y\n+4,000;z\n", csv.Options{SampleRows: 2, Thousands: ','}, []string{"line 4", `+4,000`}},
		{"huge behind the sample", "a,b\n1,x\n2,y\n12345678901234567890,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"a"`, "longer integer", "a=HUGEINT"}},
		{"fraction among huge integers", "a,b\n12345678901234567890,x\n2,y\n2.5,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"2.5"`, "HUGEINT"}},
		{"digits behind the sample", "a,b\n1.5,x\n2,y\n9007199254740993,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"9007199254740993"`, "DOUBLE, which would lose its digits"}},
		{"more than a delimiter at the end", "a,b\n1,2,\n3,4,5\n", csv.Options{SampleRows: 1}, []string{"line 3", "more than the 2 fields"}},
		{"quotes behind the delimiter at the end", "a,b\n1,2,\n3,4,\"\"\n", csv.Options{SampleRows: 1}, []string{"line 3", "more than the 2 fields"}},
		{"more than a delimiter at the end, in a block", "a,b\n" + strings.Repeat("1,2,\n", 5000) + "3,4,5\n" + strings.Repeat("1,2,\n", 5000),
			csv.Options{SampleRows: 1}, []string{"line 5002", "more than the 2 fields"}},
		{"no delimiter at the end", "a,b\n1,2,\n3,4\n", csv.Options{SampleRows: 1}, []string{"line 3", "2 fields"}},
		{"too few fields", "a,b\n1,2\n3\n", csv.Options{}, []string{"line 3", "1 fields", "2"}},
		{"too many fields", "a,b\n1,2\n3,4,5\n", csv.Options{}, []string{"line 3", "more than the 2 fields"}},
		{"open quote", "a,b\n1,2\n3,\"x\n", csv.Options{}, []string{"line 3", "not closed"}},
		{"bare quote", "a,b\n1,x\"y\n", csv.Options{}, []string{"line 2", "CSV.Quote"}},
		{"doubled quotes and an escape", "a,b\n1,\"x\"\"y\"\n", csv.Options{Escape: '\\'}, []string{"line 2", "closing quote"}},
		{"doubled quotes behind escapes", "a,b\n1,\"x\\\"y\"\n" + strings.Repeat("1,\"x\"\n", 50) + "2,\"x\"\"y\"\n" + strings.Repeat("1,\"x\"\n", 50),
			csv.Options{SampleRows: 1, Escape: '\\'}, []string{"line 53", "closing quote"}},
		{"after a quote", "a,b\n1,\"x\"y\n", csv.Options{}, []string{"line 2", "doubled"}},
		{"type of no column", "a,b\n1,2\n", csv.Options{Types: map[string]arrow.DataType{"c": arrow.PrimitiveTypes.Int8}}, []string{`"c"`, "a, b"}},
		{"type that text cannot be", "a,b\n1,2\n", csv.Options{Types: map[string]arrow.DataType{"a": arrow.ListOf(arrow.PrimitiveTypes.Int8)}}, []string{`"a"`, "list"}},
		{"out of a type's range", "a,b\n300,2\n", csv.Options{Types: map[string]arrow.DataType{"a": arrow.PrimitiveTypes.Uint8}}, []string{"line 2", "300", "UTINYINT"}},
		{"a code behind the sample", "a,b\n1,x\n2,y\n01,z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"a"`, `"01"`, "BIGINT, which would lose its zero", "CSV.Types a=VARCHAR"}},
		{"a code among doubles", "a,b\n1.5,x\n2,y\n\"0123\",z\n", csv.Options{SampleRows: 2}, []string{"line 4", `"a"`, `"0123"`, "DOUBLE"}},
		{"UTF-16", "\xff\xfea\x00,\x00", csv.Options{Encoding: csv.EncodingUTF8}, []string{"UTF-16", "CSV.Encoding"}},
		{"not text", "a\x00b\nc", csv.Options{}, []string{"not text"}},
		{"delimiter and quote", "a", csv.Options{Delimiter: '"'}, []string{"Delimiter", "Quote"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, chunk := range []int64{0, 5} {
				if chunk > 0 && len(c.text) > 1000 {
					continue // it is about one chunk
				}
				_, _, err := readSized(t, c.text, c.opt, textfile.Sizes{Chunk: chunk}, scan.OpenOptions{})
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("chunks of %d B: %q says nothing of %q", chunk, err, want)
					}
				}
			}
		})
	}
}

// neverNull is a setting under which every field is text, as it is for encoding/csv.
var neverNull = []string{"\x00"}

// randomCSV writes rows with everything that makes cutting a text hard.
func randomCSV(rng *rand.Rand, rows int) string {
	words := []string{"", "a", "long word", "with, comma", "with \"quotes\"", "two\nlines", "\"", "\n", ",,,", "é"}
	var out bytes.Buffer
	w := stdcsv.NewWriter(&out)
	w.UseCRLF = rng.IntN(2) == 0
	table := [][]string{{"id", "s", "t"}}
	for i := range rows {
		table = append(table, []string{strconv.Itoa(i), words[rng.IntN(len(words))], words[rng.IntN(len(words))]})
	}
	_ = w.WriteAll(table) // a bytes.Buffer takes it all
	if rng.IntN(3) == 0 {
		return strings.TrimRight(out.String(), "\r\n") // a newline in a field is followed by its quote
	}
	return out.String()
}

// oracleRows reads text by encoding/csv, which makes LF of CRLF also within quotes.
func oracleRows(text string) (rows [][]string, err error) {
	return stdcsv.NewReader(strings.NewReader(text)).ReadAll()
}

func joinRows(records [][]string) (rows []string) {
	for _, fields := range records {
		rows = append(rows, strings.Join(fields, "|"))
	}
	return rows
}

func withLF(rows []string) []string {
	for i := range rows {
		rows[i] = strings.ReplaceAll(rows[i], "\r\n", "\n")
	}
	return rows
}

// Metamorphic: neither the chunks, their order, nor compression and standard input change what is
// read; encoding/csv is the oracle.
func TestCSVChunksAndStreams(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = uint64(invariants.Fewer(40, 12))
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		text := randomCSV(rng, rng.IntN(300))
		records, err := oracleRows(text)
		if err != nil {
			t.Fatal(err)
		}
		want := joinRows(records[1:])
		opt := csv.Options{Header: csv.HeaderYes, Delimiter: ',', NullStrings: neverNull,
			Types: map[string]arrow.DataType{"id": arrow.BinaryTypes.String, "s": arrow.BinaryTypes.String, "t": arrow.BinaryTypes.LargeString}}
		sizes := textfile.Sizes{Chunk: int64(1+rng.IntN(80)) << rng.IntN(6), Block: 1 + rng.IntN(64)<<rng.IntN(6)}
		read := scan.OpenOptions{BatchRows: 1 + rng.IntN(200)}
		check := func(what string, rows []string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, what, err)
			}
			scantest.SameRows(t, withLF(rows), want)
		}
		dir := t.TempDir()
		for _, name := range []string{"f.csv", "f.csv.gz", "f.csv.zst", "f.bin"} {
			path := scantest.WriteFile(t, dir, name, pack(t, text, name))
			rows, err := scantest.ReadAll(mustOpen(t, Options{CSV: opt, sizes: sizes}, path), []int{0, 1, 2}, read)
			check(name, rows, err)
			rows, err = readBackwards(mustOpen(t, Options{CSV: opt, sizes: sizes}, path), []int{0, 1, 2}, read)
			check(name+" backwards", rows, err)
		}
		src := mustOpen(t, Options{CSV: opt, sizes: sizes, Stdin: strings.NewReader(text)}, "-")
		rows, err := scantest.ReadAll(src, []int{0, 1, 2}, read)
		check("standard input", rows, err)
		if _, err := scantest.ReadAll(src, []int{0}, read); err == nil {
			t.Error("standard input was read twice")
		}
	}
}

// readBackwards opens the last split first, which must then count the quotes before it itself.
func readBackwards(src scan.Source, columns []int, opt scan.OpenOptions) (rows []string, err error) {
	splits, err := src.Splits(context.Background(), columns)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(splits) {
		var part []string
		if _, err := scantest.ReadSplit(s, opt, &part); err != nil {
			return nil, err
		}
		rows = append(part, rows...)
	}
	return rows, nil
}

// pack compresses a text as its file's name says.
func pack(t testing.TB, text, name string) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	switch {
	case strings.HasSuffix(name, ".gz"):
		w = gzip.NewWriter(&buf)
	case strings.HasSuffix(name, ".zst"):
		encoder, err := zstd.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	default:
		return []byte(text)
	}
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A compressed text that was cut off is an error, wherever the cut is; its first rows are no
// answer.
func TestCSVPackedCutOff(t *testing.T) {
	var text strings.Builder
	rng := rand.New(rand.NewPCG(11, 11))
	text.WriteString("a,b\n")
	for text.Len() < 300<<10 { // more than two blocks of zstd
		fmt.Fprintf(&text, "%d,%x\n", rng.IntN(100), rng.Uint64())
	}
	dir := t.TempDir()
	for _, name := range []string{"f.csv.gz", "f.csv.zst"} {
		packed := pack(t, text.String(), name)
		for cut := 1; cut < len(packed)-headBytes; cut += 1 + cut*cut/invariants.Fewer(200, 20) {
			path := scantest.WriteFile(t, dir, name, packed[:len(packed)-cut])
			src, err := Open(t.Context(), []string{path}, Options{sizes: textfile.Sizes{Block: 16 << 10}})
			if err == nil {
				_, err = scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
			}
			if !errors.Is(err, decode.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Fatalf("%s without its last %d of %d bytes: %v", name, cut, len(packed), err)
			}
		}
	}
}

// arrow/csv is the oracle for values of types.
func TestCSVTypedAgainstArrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var text strings.Builder
	text.WriteString("i,f,b,s\n")
	for range 2000 {
		fields := []string{
			strconv.FormatInt(rng.Int64()>>rng.IntN(64)-1<<10, 10),
			strconv.FormatFloat(math.Float64frombits(rng.Uint64()&^(1<<62)), byte("gef"[rng.IntN(3)]), rng.IntN(20)-1, 64),
			strconv.FormatBool(rng.IntN(2) == 0),
			strings.Repeat("x", rng.IntN(30)),
		}
		for i := range fields {
			if rng.IntN(10) == 0 {
				fields[i] = ""
			}
		}
		fmt.Fprintln(&text, strings.Join(fields, ","))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	oracle := arrowcsv.NewReader(strings.NewReader(text.String()), schema, arrowcsv.WithHeader(true), arrowcsv.WithNullReader(true, ""), arrowcsv.WithChunk(-1))
	defer oracle.Release()
	oracle.Next()
	want := scantest.BatchRowsText(oracle.RecordBatch())
	src, rows, err := readSized(t, text.String(), csv.Options{}, textfile.Sizes{Chunk: 5000}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !src.Schema().Equal(schema) {
		t.Errorf("schema: got %s, want %s", src.Schema(), schema)
	}
	scantest.SameRows(t, rows, want)
}

// encoding/csv has our dialect but for a byte order mark, NUL, and empty lines of one column.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n", uint8(3))
	f.Add("a,\"b\nc\"\r\n\"\"\"\",2", uint8(1))
	f.Add("\n\n,\n\"x\",\r", uint8(2))
	f.Fuzz(func(t *testing.T, text string, chunk uint8) {
		opt := csv.Options{Header: csv.HeaderNo, Delimiter: ',', NullStrings: neverNull}
		sizes := textfile.Sizes{Chunk: int64(chunk)%32 + 1, Block: int(chunk)%7 + 1}
		records, wantErr := oracleRows(text)
		if len(records) > 0 {
			opt.Types = make(map[string]arrow.DataType)
			for i := range records[0] {
				opt.Types[fmt.Sprint("column", i)] = arrow.BinaryTypes.Binary
			}
		}
		src, rows, err := readSized(t, text, opt, sizes, scan.OpenOptions{BatchRows: 3})
		if strings.HasPrefix(text, "\ufeff") || strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") ||
			!strings.Contains(text, "\n") && strings.Contains(text, "\r") || strings.Contains(text, "\x00") || len(records) == 0 || len(records[0]) < 2 || hasMagic(text) {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, encoding/csv has %v", err, wantErr)
		}
		if err != nil {
			return
		}
		for _, fields := range records {
			for i := range fields {
				fields[i] = base64.StdEncoding.EncodeToString([]byte(fields[i]))
			}
		}
		if len(rows) != len(records) || src.Schema().NumFields() != len(records[0]) {
			t.Fatalf("%d rows, want %d", len(rows), len(records))
		}
		if !strings.Contains(text, "\r\n") {
			scantest.SameRows(t, rows, joinRows(records))
		}
	})
}

// hasMagic says whether a text is taken for another format.
func hasMagic(text string) bool {
	format, packed := sniff([]byte(text))
	return format != FormatCSV || packed != ""
}

// A string is UTF-8, or an error that says where it is not; its bytes can be had as they are. It
// does not matter whether the column repeats, or whether two fields together would be valid.
func TestCSVNotUTF8(t *testing.T) {
	var good, repeated strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&good, "%d,grün %d\n", i, i)
		fmt.Fprintf(&repeated, "%d,grün\n", i)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"unique":   good.String() + "3000,gr\xfcn 3000\n",
		"repeated": repeated.String() + "3000,gr\xfcn\n",
		"cut":      good.String() + "3000,gr\xc3\n3001,\xbcn\n",
		"long":     good.String() + "3000," + strings.Repeat("x", 100) + "\xff\n",
		"quoted":   good.String() + "3000,\"gr\xfcn, 3000\"\n",
	} {
		path := scantest.WriteFile(t, dir, name+".csv", []byte("i,s\n"+text))
		for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.Binary} {
			src, err := Open(t.Context(), []string{path}, Options{CSV: csv.Options{Types: map[string]arrow.DataType{"s": typ}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
			if typ == arrow.BinaryTypes.Binary {
				if err != nil {
					t.Errorf("%s: as bytes: %v", name, err)
				}
				continue
			}
			for _, want := range []string{path, "3002", `column "s"`, "UTF-8", "s=BLOB"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v does not say %s", name, err, want)
				}
			}
		}
	}
}

// bzip2Text is "a,b\n" and rows "1,name 1" to "7,name 0", compressed as two streams.
const bzip2Text = "QlpoOTFBWSZTWUYKq4AAAAtZAAAQQAQ8ADIDIAAhKnqHqNqaEDQNCtvnYEbbqkkkiw9YQMh8XckU4UJBGCquAEJaaDkxQVkmU1l80A4J" +
	"AAAF2QAAEEAEQ4AiAyAAMQDTTQR6k9TJmou1h5K4uZhjGM+LuSKcKEg+aAcEgA=="

// The standard library has no writer of bzip2, so the text is given. It is told by the ending and by the
// first bytes, and cut off it is an error.
func TestBzip2(t *testing.T) {
	packed, err := base64.StdEncoding.DecodeString(bzip2Text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"f.csv.bz2", "f.bin", "-"} {
		path := name
		if name != "-" {
			path = scantest.WriteFile(t, dir, name, packed)
		}
		rows, err := scantest.ReadAll(mustOpen(t, Options{Stdin: bytes.NewReader(packed)}, path), []int{0, 1}, scan.OpenOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		scantest.SameRows(t, rows, []string{"1|name 1", "2|name 2", "3|name 3", "4|name 4", "5|name 5", "6|name 6", "7|name 0"})
	}
	for size := headBytes; size < len(packed); size++ {
		if strings.HasPrefix(string(packed[size:]), "BZh") || strings.HasPrefix(string(packed[size-1:]), "BZh") {
			continue // the first stream is whole
		}
		path := scantest.WriteFile(t, dir, "f.csv.bz2", packed[:size])
		src, err := Open(t.Context(), []string{path}, Options{})
		if err == nil {
			_, err = scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
		}
		if !errors.Is(err, decode.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("the first %d of %d bytes: %v", size, len(packed), err)
		}
	}
}
