package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/vfs"
)

// utf16Text encodes text as UTF-16.
func utf16Text(text string, bigEndian bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if bigEndian {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

// Texts as people have them. Would catch options that only hold for the first chunk, the first row,
// or the sample.
func TestCSVOptions(t *testing.T) {
	european := csv.Options{DecimalSeparator: ',', Thousands: '.'}
	types := func(pairs ...any) map[string]arrow.DataType {
		m := map[string]arrow.DataType{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].(arrow.DataType)
		}
		return m
	}
	date, stamp := arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Second}
	withTypes := func(opt csv.Options, types map[string]arrow.DataType) csv.Options {
		opt.Types = types
		return opt
	}
	comments, padded := csv.Options{Comment: '#'}, csv.Options{NullPadding: true}
	for _, c := range []struct {
		name, text string
		opt        csv.Options
		schema     string
		rows       []string
	}{
		{"days first", "a,b\n31.12.2025,1\n1.2.2025,2\n", csv.Options{}, "a date32, b int64", []string{"2025-12-31|1", "2025-02-01|2"}},
		{"months first", "a\n01/02/2025\n12/31/2025\n", csv.Options{}, "a date32", []string{"2025-01-02", "2025-12-31"}},
		{"days first, slashes", "a\n01/02/2025\n31/12/2025\n", csv.Options{}, "a date32", []string{"2025-02-01", "2025-12-31"}},
		{"days or months first", "a,b\n01/02/2025,1\n", csv.Options{}, "a utf8, b int64", []string{"01/02/2025|1"}},
		{"both", "a,b\n31/12/2025,1\n12/31/2025,1\n", csv.Options{}, "a utf8, b int64", []string{"31/12/2025|1", "12/31/2025|1"}},
		{"times", "a\n31/12/2025 14:05\n30/12/2025 9:05\n", csv.Options{}, "a timestamp[us]", []string{"2025-12-31T14:05:00", "2025-12-30T09:05:00"}},
		{"AM and PM", "a\n12/31/2025 02:05:06 PM\n", csv.Options{}, "a timestamp[us]", []string{"2025-12-31T14:05:06"}},
		{"short ISO", "a\n2025-1-5\n2025-01-06\n", csv.Options{}, "a date32", []string{"2025-01-05", "2025-01-06"}},
		{"versions", "a,b\n1.2.3,1\n", csv.Options{}, "a utf8, b int64", []string{"1.2.3|1"}},
		{"date format", "a,b\n20251231,5\n,6\n", csv.Options{DateFormat: "%Y%m%d"}, "a date32, b int64", []string{"2025-12-31|5", "NULL|6"}},
		{"date format, and ISO", "a,b\n1/2/25,2025-01-02\n", csv.Options{DateFormat: "%m/%d/%y"}, "a date32, b date32", []string{"2025-01-02|2025-01-02"}},
		{"timestamp format", "a\n31.12.2025 14h05\n", csv.Options{TimestampFormat: "%d.%m.%Y %Hh%M"}, "a timestamp[us]", []string{"2025-12-31T14:05:00"}},
		{"timestamp format with a zone", "a\n31.12.2025 14:05 +0200\n", csv.Options{TimestampFormat: "%d.%m.%Y %H:%M %z"}, "a timestamp[us, tz=UTC]", []string{"2025-12-31T12:05:00Z"}},
		{"formats of types", "a,b\n31.12.2025,311225\n", csv.Options{DateFormat: "%d.%m.%Y", TimestampFormat: "%d%m%y", Types: types("a", date, "b", stamp)},
			"a date32, b timestamp[s]", []string{"2025-12-31|2025-12-31T00:00:00"}},

		{"commas and points", "a;b;c\n1.234.567,89;1.234;-0,5\n1,5;3;1e3\n", european, "a float64, b int64, c float64", []string{"1.23456789e+06|1234|-0.5", "1.5|3|1000"}},
		{"dates with points", "a;b\n31.12.2025;1.2\n", european, "a date32, b utf8", []string{"2025-12-31|1.2"}},
		{"types with points", "a;b;c;d\n1.234,56;1.234;1.2;-1.000\n", withTypes(european, types("a", &arrow.Decimal128Type{Precision: 9, Scale: 2}, "b", arrow.PrimitiveTypes.Int16, "c", arrow.PrimitiveTypes.Float32, "d", arrow.PrimitiveTypes.Float64)),
			"a decimal(9, 2), b int16, c float32, d float64", []string{"1234.56|1234|12|-1000"}},
		{"thousands", "a;b\n1,234.5;12,34,567\n", csv.Options{Thousands: ','}, "a float64, b int64", []string{"1234.5|1234567"}},
		{"quoted decimals", "a,b\n\"1,5\",2\n", csv.Options{DecimalSeparator: ','}, "a float64, b int64", []string{"1.5|2"}},
		{"a point as ever", "a;b\n1.5;2,5\n", csv.Options{DecimalSeparator: ','}, "a utf8, b float64", []string{"1.5|2.5"}},

		{"UTF-16 by its mark", "\xff\xfe" + utf16Text("a,b\n1,ä€😀\n", false), csv.Options{}, "a int64, b utf8", []string{"1|ä€😀"}},
		{"UTF-16 by its mark, big end first", "\xfe\xff" + utf16Text("a,b\n1,ä€😀\n", true), csv.Options{Encoding: csv.EncodingUTF16}, "a int64, b utf8", []string{"1|ä€😀"}},
		{"UTF-16LE", utf16Text("a,b\n1,ä\n", false), csv.Options{Encoding: csv.EncodingUTF16LE}, "a int64, b utf8", []string{"1|ä"}},
		{"UTF-16BE", utf16Text("a,b\n1,ä\n", true), csv.Options{Encoding: csv.EncodingUTF16BE}, "a int64, b utf8", []string{"1|ä"}},
		{"UTF-16LE with a mark", "\xff\xfe" + utf16Text("a,b\n1,ä\n", false), csv.Options{Encoding: csv.EncodingUTF16LE}, "a int64, b utf8", []string{"1|ä"}},
		{"Latin 1", "stra\xdfe,b\n1,\xe4\x80\n", csv.Options{Encoding: csv.EncodingLatin1}, "straße int64, b utf8", []string{"1|ä\u0080"}},
		{"Windows 1252", "a,b\n1,\xe4\x80\n", csv.Options{Encoding: csv.EncodingWindows1252}, "a int64, b utf8", []string{"1|ä€"}},

		{"comments", "# \"x\na,b\n#c,d,e\n1,2 # hello \"\n3,\"4#\"\n\n5,\"6\"#,7\n#\n", comments, "a int64, b utf8", []string{"1|2 ", "3|4#", "5|6"}},
		{"comments of one column", "a\n1\n#x\n\n2#\n", comments, "a int64", []string{"1", "NULL", "2"}},
		{"a comment is last", "a,b\n1,2\n# \"end", comments, "a int64, b int64", []string{"1|2"}},
		{"comments and newlines in quotes", "a,b\n1,\"x\n#y\n\"\n#\"\n2,\"\"\"#\"\n", comments, "a int64, b utf8", []string{"1|x\n#y\n", "2|\"#"}},
		{"comments, quotes off", "a,b\n1,\"x#\"\n#\"\n2,y\n", csv.Options{Comment: '#', NoQuote: true}, "a int64, b utf8", []string{"1|\"x", "2|y"}},
		{"lines to skip", "a report\n\nx,y\n1,2\n", csv.Options{SkipLines: 2}, "x int64, y int64", []string{"1|2"}},

		{"CR alone", "a,b\r1,x\r2,y\r", csv.Options{}, "a int64, b utf8", []string{"1|x", "2|y"}},
		{"CR alone, quotes", "\"a\rb\",c\r1,2\r3,\"4\"", csv.Options{}, "a\nb int64, c int64", []string{"1|2", "3|4"}},
		{"a title", "My report\n\na;b\n1;x\n2;y\n", csv.Options{}, "a int64, b utf8", []string{"1|x", "2|y"}},
		{"a title with a comma", "Report, all\nby x\na,b,c\n1,2,3\n4,5,6\n", csv.Options{}, "a int64, b int64, c int64", []string{"1|2|3", "4|5|6"}},
		{"comments found", "# by x\na,b\n1,x\n#2\n3,\"#y\"\n", csv.Options{}, "a int64, b utf8", []string{"1|x", "3|#y"}},
		{"values that begin as comments", "tag,n\n#a,1\n#b,2\n", csv.Options{}, "tag utf8, n int64", []string{"#a|1", "#b|2"}},
		{"single quotes", "a,b\n1,'x,y'\n2,'it''s'\n3,'q\nr'\n", csv.Options{}, "a int64, b utf8", []string{"1|x,y", "2|it's", "3|q\nr"}},
		{"single quotes around names", "'a';'b'\n'1';'x'\n'2';'y;z'\n", csv.Options{}, "a int64, b utf8", []string{"1|x", "2|y;z"}},
		{"apostrophes", "a,b\n1,'tis\n2,it's\n", csv.Options{}, "a int64, b utf8", []string{"1|'tis", "2|it's"}},
		{"quotes that are given", "a,b\n1,'x'\n2,'y'\n", csv.Options{Quote: '"'}, "a int64, b utf8", []string{"1|'x'", "2|'y'"}},
		{"times of day", "a,t\n1,10:11:12\n2,23:59:59.5\n3,\n", csv.Options{}, "a int64, t time64[us]", []string{"1|10:11:12.000000", "2|23:59:59.500000", "3|NULL"}},
		{"spaces around quotes", "a, \"b\" ,c\n1, \"x, y\",3\n2,  \"p\nq \"\"r\" ,4\n3, z ,\"5\" \r\n", csv.Options{},
			"a int64, b utf8, c int64", []string{"1|x, y|3", "2|p\nq \"r|4", "3| z |5"}},
		{"spaces as delimiters", "a b\n1 \"x y\"\n2 \"z\"\n", csv.Options{Delimiter: ' '},
			"a int64, b utf8", []string{"1|x y", "2|z"}},
		{"NUL bytes", "a,b\n1,x\x00y\n2,\"\x00\"\n", csv.Options{}, "a int64, b utf8", []string{"1|x\x00y", "2|\x00"}},
		{"clocks without seconds", "t,z\n10:11,2024-01-02 10:11+02\n23:59:59,2024-01-02T10:11:12Z\n", csv.Options{}, "t time64[us], z timestamp[us, tz=UTC]",
			[]string{"10:11:00.000000|2024-01-02T08:11:00Z", "23:59:59.000000|2024-01-02T10:11:12Z"}},
		{"moments with and without a zone", "t\n2024-01-02 10:11:12+02\n2024-01-02 10:11:12\n", csv.Options{},
			"t timestamp[us, tz=UTC]", []string{"2024-01-02T08:11:12Z", "2024-01-02T10:11:12Z"}},
		{"far years", "d,t\n0044-03-15 (BC),0044-03-15 (BC) 10:00:00\n5877000-01-02,12345-01-02 00:00:01\n", csv.Options{}, "d date32, t timestamp[us]",
			[]string{"-0043-03-15|-63517788000000000", "5877000-01-02|327403468801000000"}},
		{"no far years", "d,t,u\n0000-03-15 (BC),300000-01-02 00:00:01,5877001-01-02\n", csv.Options{Header: csv.HeaderYes},
			"d utf8, t utf8, u utf8", []string{"0000-03-15 (BC)|300000-01-02 00:00:01|5877001-01-02"}},
		{"times of day and others", "t\n10:11:12\n24:00:00\n", csv.Options{}, "t utf8", []string{"10:11:12", "24:00:00"}},
		{"eleven columns without names", "0,1,2,3,4,5,6,7,8,9,10\n", csv.Options{}, "column00 int64, column01 int64, column02 int64, column03 int64, column04 int64, column05 int64, column06 int64, column07 int64, column08 int64, column09 int64, column10 int64", []string{"0|1|2|3|4|5|6|7|8|9|10"}},
		{"short rows", "a,b,c\n1,2\n3,4,x\n\n5\n\"6\",\"\"\n", padded, "a int64, b utf8, c utf8", []string{"1|2|NULL", "3|4|x", "5|NULL|NULL", "6||NULL"}},
		{"a short header", "a,b\n1,2,3\n4\n", padded, "a int64, b int64, column2 int64", []string{"1|2|3", "4|NULL|NULL"}},
		{"more names", "1,2\n3\n", csv.Options{NullPadding: true, Names: []string{"a", "b", "c"}, Header: csv.HeaderNo}, "a int64, b int64, c utf8", []string{"1|2|NULL", "3|NULL|NULL"}},
		{"short rows without empty ones", "a,b,c\n1,\n,2\n", csv.Options{NullPadding: true, NullStrings: []string{"-"}}, "a utf8, b utf8, c utf8", []string{"1||NULL", "|2|NULL"}},
	} {
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

// Each error must say where, and what was expected.
func TestCSVOptionErrors(t *testing.T) {
	sampled := func(opt csv.Options) csv.Options {
		opt.SampleRows = 1
		return opt
	}
	for _, c := range []struct {
		name, text string
		opt        csv.Options
		want       []string
	}{
		{"a day that there is not", "a\n31.12.2025\n31.11.2025\n", sampled(csv.Options{}), []string{"line 3", `"a"`, `"31.11.2025"`, "%d.%m.%Y", "DATE"}},
		{"another format", "a\n20251231\n2025-12-31\n", sampled(csv.Options{DateFormat: "%Y%m%d"}), []string{"line 3", `"2025-12-31"`, "%Y%m%d", "(CSV.DateFormat, CSV.TimestampFormat)"}},
		{"a point", "a;b\n1,5;1\n1.5;1\n", sampled(csv.Options{DecimalSeparator: ','}), []string{"line 3", `"1.5"`, "decimal separator ','"}},
		{"not UTF-8", "a,b\n1,x\n2,gr\xfcn\n", csv.Options{}, []string{"line 3", `"b"`, "UTF-8", "CSV.Encoding latin-1"}},
		{"a name that is not UTF-8", "a,gr\xfcn\n1,x\n", csv.Options{}, []string{"line 1", "column 2", "CSV.Encoding latin-1"}},
		{"too many fields", "a,b\n1\n1,2\n1,2,3\n", csv.Options{NullPadding: true, SampleRows: 2}, []string{"line 4", "more than the 2 fields"}},
		{"a wrong format", "a\n1\n", csv.Options{DateFormat: "%q"}, []string{"DateFormat", "%q"}},
		{"a wrong encoding", "a\n1\n", csv.Options{Encoding: "utf-7"}, []string{"Encoding", "utf-7", "latin-1"}},
		{"separators alike", "a\n1\n", csv.Options{DecimalSeparator: ',', Thousands: ','}, []string{"DecimalSeparator", "Thousands"}},
		{"a comment that is the quote", "a\n1\n", csv.Options{Comment: '"'}, []string{"Comment", "Quote"}},
		{"UTF-16 without a mark", utf16Text("a,b\n1,2\n", false), csv.Options{}, []string{"NUL", "CSV.Encoding utf-16le"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, chunk := range []int64{0, 5} {
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

// readLeniently reads a text without the rows that have errors, and returns the other rows and the
// file of rejects, without the name of the file.
func readLeniently(t *testing.T, text string, opt csv.Options, sizes textfile.Sizes, read scan.OpenOptions) (rows []string, rejects string) {
	t.Helper()
	rows, rejects, err := tryLeniently(t, text, opt, sizes, read)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return rows, rejects
}

func tryLeniently(t *testing.T, text string, opt csv.Options, sizes textfile.Sizes, read scan.OpenOptions) (rows []string, rejects string, err error) {
	t.Helper()
	dir := t.TempDir()
	opt.IgnoreErrors, opt.Rejects = true, csv.NewRejects(vfs.OS, dir)
	told := int64(0)
	read.Rejected = func(n int64) { told += n }
	path := scantest.WriteFile(t, dir, "f.csv", []byte(text))
	src, err := Open(context.Background(), []string{path}, Options{CSV: opt, NoHive: true, sizes: sizes})
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, opt.Rejects.Close()) }()
	if rows, err = scantest.ReadAll(src, scantest.AllColumns(src.Schema()), read); err != nil {
		return nil, "", err
	}
	out := filepath.Join(dir, "rejects.csv")
	if err := opt.Rejects.WriteFile(vfs.OS, out); err != nil {
		return nil, "", err
	}
	content, err := os.ReadFile(out)
	if n := opt.Rejects.Count(); n != told {
		t.Errorf("%d rows were told of, and %d counted", told, n)
	}
	if told > 0 {
		wantLimit(t, opt.Rejects, told, told+int64(len(rows)))
	}
	return rows, strings.ReplaceAll(string(content), path+",", ""), err
}

// wantLimit checks how many of all rows have been counted, and how many may be.
func wantLimit(t *testing.T, rejects *csv.Rejects, rejected, rows int64) {
	t.Helper()
	of := fmt.Sprintf("%s of %s ", humanize.Comma(rejected), digits.Counted(rows, "row"))
	if err := rejects.Check(fmt.Sprint(rejected-1), ""); !errors.Is(err, csv.ErrRejects) || !strings.Contains(err.Error(), of) {
		t.Errorf("want %s: %v", of, err)
	}
	if err := rejects.Check(fmt.Sprint(rejected), ""); err != nil {
		t.Errorf("%d are allowed: %v", rejected, err)
	}
}

// Would catch rows that are counted twice where a split is read once more, as after an error of a device, in batches of
// other sizes, and rows that are not counted because they follow those of a reader that was given up.
func TestCSVRejectsCountedOnce(t *testing.T) {
	text := "a,b\n" + strings.Repeat("1,2\n3\n4,5\n6,7\n", 500)
	path := scantest.WriteFile(t, t.TempDir(), "f.csv", []byte(text))
	rejects := &csv.Rejects{}
	opt := Options{CSV: csv.Options{IgnoreErrors: true, Rejects: rejects}, sizes: textfile.Sizes{Chunk: 1000}}
	src, err := Open(t.Context(), []string{path}, opt)
	if err != nil {
		t.Fatal(err)
	}
	splits, err := src.Splits(t.Context(), []int{0, 1})
	if err != nil || len(splits) < 3 {
		t.Fatalf("%d splits, %v", len(splits), err)
	}
	for _, split := range splits {
		r, err := split.Open(t.Context(), scan.OpenOptions{BatchRows: 7})
		if err != nil {
			t.Fatal(err)
		}
		r.Next()
		r.Release()
		for _, batch := range []int{10, 3, 1000} {
			if _, err := scantest.ReadSplit(split, scan.OpenOptions{BatchRows: batch}, &[]string{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantLimit(t, rejects, 500, 2000)
}

// Would catch a limit that is read as another, and a share that is rounded before it is compared.
func TestCSVRejectsLimit(t *testing.T) {
	text := "a,b\n" + strings.Repeat("1,2\n", 997) + strings.Repeat("3\n", 3)
	path := scantest.WriteFile(t, t.TempDir(), "f.csv", []byte(text))
	rejects := &csv.Rejects{}
	src, err := Open(t.Context(), []string{path}, Options{CSV: csv.Options{IgnoreErrors: true, Rejects: rejects}})
	if err == nil {
		_, err = scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for limit, allowed := range map[string]bool{
		"": true, "0": false, "2": false, "3": true, "0%": false, "0.299999999%": false, "0.3%": true, "100%": true, "999999999999999999": true,
	} {
		if err := rejects.Check(limit, ""); (err == nil) != allowed || !allowed && !errors.Is(err, csv.ErrRejects) {
			t.Errorf("%q: %v", limit, err)
		}
	}
	for _, limit := range []string{"x", "-1", "1 %", "101%", "1.5", "1e3", "1/3", "0x10", "9999999999999999999", "%", "1%%", "\n1"} {
		opt := Options{CSV: csv.Options{MaxRejects: limit}}
		if err := opt.Validate(); err == nil || !strings.Contains(err.Error(), "want a number of rows as 100") {
			t.Errorf("%q: %v", limit, err)
		}
	}
}

// Would catch rows that are left out and not told of, and others than those with errors.
func TestCSVRejects(t *testing.T) {
	text := "a,b,c\n1,2,x\n1,2\n\n1,x,\"2\"\n\"y\n\",5,6\n1,2,3,4\n7,8\"9,z\n1,\"2\"3,4\nu,v,w\n8,9,\"\"\"\"\n5,\"6\n7,8,9\n"
	want := `file,line,byte,column,value,reason,text
3,12,,,"2 fields, where the rows before have 3","1,2"
5,17,b,x,not of type BIGINT,"1,x,""2"""
6,25,a,"y
",not of type BIGINT,"""y
"",5,6"
8,34,,,more than the 3 fields of the rows before,"1,2,3,4"
9,42,,,"a quote ("") within a field that does not start with one; double it and quote the field, or read the file with another quote or none (CSV.Quote)","7,8""9,z"
10,50,,,"text between a closing quote ("") and the next delimiter (','); a quote within a quoted field must be doubled","1,""2""3,4"
11,59,a,u,not of type BIGINT,"u,v,w"
13,74,,,the file ends within a quoted field: a quote is not closed,"5,""6
7,8,9"
`
	opt := csv.Options{SampleRows: 1}
	for _, chunk := range []int64{0, 1, 2, 5, 9, 30} {
		rows, rejects := readLeniently(t, text, opt, textfile.Sizes{Chunk: chunk}, scan.OpenOptions{BatchRows: 2})
		scantest.SameRows(t, rows, []string{"1|2|x", "8|9|\""})
		if rejects != want {
			t.Errorf("chunks of %d B: got\n%s\nwant\n%s", chunk, rejects, want)
		}
	}
}

// Would catch good rows that are left out with a batch of bad ones before them.
func TestCSVRejectsBatches(t *testing.T) {
	const batchBytes, bad = 500, 300
	text := "a,b\n1,2\n" + strings.Repeat("1,2,3\n", bad) + "3,4\n5,6\n"
	for _, stream := range []int{0, 64} {
		rows, rejects := readLeniently(t, text, csv.Options{SampleRows: 1}, textfile.Sizes{Block: stream}, scan.OpenOptions{BatchBytes: batchBytes})
		scantest.SameRows(t, rows, []string{"1|2", "3|4", "5|6"})
		if n := strings.Count(rejects, "\n") - 1; n != bad {
			t.Errorf("%d rows were left out, want %d", n, bad)
		}
	}
}

// randomLines returns lines with all that may go wrong.
func randomLines(rng *rand.Rand, comments, escapes bool) string {
	parts := []string{"1", "22", "x", ",", ",", ",", "\"", "\"\"", "\n", "\n", "\r\n", "\"a\nb\"", " ", "3,4\n", "5,6\n"}
	if comments {
		parts = append(parts, "#", "#\"", "#,\n")
	}
	if escapes {
		parts = append(parts, "\\", "\\\"", "\"\\\"\\\n\"")
	}
	b := &strings.Builder{}
	b.WriteString("a,b\n1,2\n")
	for range rng.IntN(40) {
		b.WriteString(parts[rng.IntN(len(parts))])
	}
	return b.String()
}

// The rows that are left out, and what is told of them, must not depend on where a text is cut.
// Would catch a state at the beginning of a chunk that is not that of the rows before.
func TestCSVRejectsRandom(t *testing.T) {
	for i := range uint64(invariants.Fewer(50, 12)) {
		rng := rand.New(rand.NewPCG(i, 1))
		opt := csv.Options{Delimiter: ',', SampleRows: 1, NullPadding: i%3 == 0}
		if i%2 == 0 {
			opt.Comment = '#'
		}
		if i%5 < 2 {
			opt.Escape = '\\'
		}
		text := randomLines(rng, i%2 == 0, i%5 < 2)
		wantRows, wantRejects := readLeniently(t, text, opt, textfile.Sizes{}, scan.OpenOptions{})
		for _, chunk := range []int64{2, 5, 11} {
			rows, rejects := readLeniently(t, text, opt, textfile.Sizes{Chunk: chunk}, scan.OpenOptions{BatchRows: 1 + rng.IntN(3)})
			if !slices.Equal(rows, wantRows) || rejects != wantRejects {
				t.Fatalf("%q in chunks of %d B: got %q and %s, want %q and %s", text, chunk, rows, rejects, wantRows, wantRejects)
			}
		}
	}
}

// Would catch a count that depends on the width of blocks, and places of errors that count rows
// that were left out.
func TestCSVRejectsLong(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("a,b,c\n")
	var want []string
	for i := range 30_000 {
		switch {
		case i%997 == 5:
			fmt.Fprintf(&b, "%d,x,y\n", i)
		case i%1013 == 7:
			fmt.Fprintf(&b, "%d,1\n", i)
		default:
			fmt.Fprintf(&b, "%d,%d,\"t%d\"\n", i, i%7, i%3)
			want = append(want, fmt.Sprintf("%d|%d|t%d", i, i%7, i%3))
		}
	}
	opt := csv.Options{SampleRows: 4}
	first, of := readLeniently(t, b.String(), opt, textfile.Sizes{}, scan.OpenOptions{})
	scantest.SameRows(t, first, want)
	for _, chunk := range []int64{10_000, 100_000} {
		rows, rejects := readLeniently(t, b.String(), opt, textfile.Sizes{Chunk: chunk}, scan.OpenOptions{BatchRows: 1000})
		if !slices.Equal(rows, want) || rejects != of {
			t.Errorf("chunks of %d B: %d rows, want %d; rejects differ: %t", chunk, len(rows), len(want), rejects != of)
		}
	}
}

// Whatever a text is, and wherever it is cut, the same rows are read and left out.
func FuzzCSVOptions(f *testing.F) {
	f.Add("a,b\n1,2\n3\n#\"\n4,\"5\"\n", uint8(3), uint8(1))
	f.Add("a,b\n1,\"2\n3,4\n5,6\"\n\"\"x,\n", uint8(5), uint8(2))
	f.Add("31.12.2025;1.234,5\n1.1.2026;x\n,\"\"\r\n", uint8(9), uint8(8))
	f.Add("a,\"b#\"#c\n#\n1,2#\n\"\n#\",1\n", uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, text string, chunk, bits uint8) {
		opt := csv.Options{NullPadding: bits&2 != 0, NoQuote: bits&4 != 0, SampleRows: 1 + int(bits>>5)}
		if bits&1 != 0 {
			opt.Comment = '#'
		}
		if bits&8 != 0 {
			opt.DecimalSeparator, opt.Thousands = ',', '.'
		}
		if hasMagic(text) {
			return
		}
		want, wantRejects, wantErr := tryLeniently(t, text, opt, textfile.Sizes{}, scan.OpenOptions{})
		rows, rejects, err := tryLeniently(t, text, opt, textfile.Sizes{Chunk: int64(chunk)%32 + 1}, scan.OpenOptions{BatchRows: 2})
		if (err == nil) != (wantErr == nil) || !slices.Equal(rows, want) || rejects != wantRejects {
			t.Fatalf("got %q, %s, %v; want %q, %s, %v", rows, rejects, err, want, wantRejects, wantErr)
		}
	})
}
