package dataset

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/vfs"
)

// lateText returns a text whose second column is of numbers but for the last row, behind many blocks of a test. Some
// rows are longer than such a block.
func lateText() string {
	b := &strings.Builder{}
	b.WriteString("k,v,s\n")
	for range 40 {
		b.WriteString("1,2,x\n3,4,\"" + strings.Repeat("\"\"\n, ", 20) + "\"\n")
	}
	b.WriteString("5,six,z")
	return b.String()
}

// Would catch a sample of all rows that ends with a block, or cuts a row in two where a block ends.
func TestCSVSampleOfAllRows(t *testing.T) {
	const typed, text = "k int64, v int64, s utf8", "k int64, v utf8, s utf8"
	for _, c := range []struct {
		rows   int
		schema string
	}{{0, typed}, {20_480, typed}, {-1, text}, {1 << 20, text}} {
		for _, block := range []int{16, 64, 100, 1 << 10} {
			for _, name := range []string{"f.csv", "f.csv.gz"} {
				path := scantest.WriteFile(t, t.TempDir(), name, pack(t, lateText(), name))
				opt := Options{CSV: csv.Options{SampleRows: c.rows}, NoHive: true}
				opt.sizes = textfile.Sizes{Block: block, Chunk: 50}
				src := mustOpen(t, opt, path)
				if got := scantest.SchemaText(src.Schema()); got != c.schema {
					t.Errorf("%s, %d rows, blocks of %d B: got %s, want %s", name, c.rows, block, got, c.schema)
				}
			}
		}
	}
}

// Would catch standard input that is read to its end for the sample and gone when the rows are to be read, and an
// error without the option.
func TestCSVSampleOfStdin(t *testing.T) {
	text := lateText()
	for _, name := range []string{"f.csv", "f.csv.gz"} {
		content := pack(t, text, name)
		opt := Options{Stdin: bytes.NewReader(content), CSV: csv.Options{SampleRows: -1}}
		opt.sizes.Block = 64
		spool := NewSpool(vfs.OS, t.TempDir())
		opt.Spool = spool
		src := mustOpen(t, opt, "-")
		rows, err := scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
		if err != nil || len(rows) != 81 || rows[80] != "5|six" {
			t.Errorf("%s: got %d rows, %v", name, len(rows), err)
		}
		if err := spool.Close(); err != nil {
			t.Error(err)
		}
		opt.Stdin, opt.Spool = bytes.NewReader(content), nil
		_, err = Open(context.Background(), []string{"-"}, opt)
		if err == nil || !strings.Contains(err.Error(), "CSV.SampleRows") {
			t.Errorf("%s, no spool: got %v", name, err)
		}
	}
}

// Would catch an error behind the first block that is told without its line, and a number of rows that is none.
func TestCSVSampleErrors(t *testing.T) {
	for _, rows := range []int{-2, -1} {
		opt, want := csv.Options{SampleRows: rows}, "line 42"
		if rows < -1 {
			want = "CSV.SampleRows (-2) must be at least 1, or -1"
		}
		text := "a,b\n" + strings.Repeat("1,2\n", 40) + "3,x\"y\n4,5\n"
		_, _, err := readSized(t, text, opt, textfile.Sizes{Block: 32}, scan.OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: got %v, want %s", rows, err, want)
		}
	}
}

// Would catch a column that is text for a few values, and is not said to be, and a wrong line, value or type of such a
// column; and columns of text that are said to be something else.
func TestCSVWhyText(t *testing.T) {
	numbers := strings.Repeat("1,2\n", 70)
	for _, c := range []struct {
		name, text string
		opt        csv.Options
		want       string // "" for none
	}{
		{"one of three", "k,v\n1,2\n2,x\n3,4\n", csv.Options{}, `line 3, has "x": CSV.Types v=BIGINT`},
		{"the first", "k,v\n1,x\n2,2\n3,4\n", csv.Options{}, `line 2, has "x": CSV.Types v=BIGINT`},
		{"a row of two lines", "v,s\n1,\"a\nb\"\nx,\"c\nd\"\n2,e\n", csv.Options{}, `line 4, has "x"`},
		{"behind a title and comments", "by me\nk,v\n#\n1,2\n#\n3,x\n4,5\n", csv.Options{Comment: '#'}, `line 6, has "x"`},
		{"no header", "1,2\n2,x\n3,4\n", csv.Options{Header: csv.HeaderNo, Names: []string{"k", "v"}}, `line 2, has "x"`},
		{"a date among numbers", "k,v\n1,2.5\n2,2025-01-01\n3,4\n", csv.Options{}, `line 3, has "2025-01-01": CSV.Types v=DOUBLE`},
		{"dates", "k,v\n1,2025-01-01\n2,?\n3,2025-01-02\n", csv.Options{}, `line 3, has "?": CSV.Types v=DATE`},
		{"a leading zero", "k,v\n1,7\n2,007\n3,8\n", csv.Options{}, `line 3, has "007"`},
		{"behind the first block", "k,v\n" + numbers + "1,x\n" + numbers, csv.Options{SampleRows: -1}, `line 72, has "x"`},
		{"behind long text", "k,v\n1,x\n" + numbers, csv.Options{SampleRows: -1}, `line 2, has "x"`},
		{"decimal commas", "k;v\n1;2,5\n2;3\n", csv.Options{}, `has numbers with CSV.DecimalSeparator ,`},
		{"decimal commas and thousands", "k;v\n1;1.234,50\n2;3\n", csv.Options{}, `has numbers with CSV.DecimalSeparator , and CSV.Thousands .`},
		{"many decimal commas", "k;v\n" + strings.Repeat("1;2,5\n", 100), csv.Options{}, `CSV.DecimalSeparator ,`},
		{"thousands", "k;v\n1;2,500\n2;3\n", csv.Options{}, `has numbers with CSV.Thousands ,`},
		{"decimal commas and points", "k;v\n1;2,5\n2;3.5\n", csv.Options{}, ""},
		{"text", "k,v\n1,x\n2,y\n3,4\n", csv.Options{}, ""},
		{"half", "k,v\n1,x\n2,2\n", csv.Options{}, ""},
		{"numbers", "k,v\n1,2\n2,3\n", csv.Options{}, ""},
		{"NULL alone", "k,v\n1,\n2,\n", csv.Options{}, ""},
		{"a type that is given", "k,v\n1,2\n2,x\n3,4\n", csv.Options{Types: map[string]arrow.DataType{"v": arrow.BinaryTypes.String}}, ""},
		{"all text", "k,v\n1,2\n2,x\n3,4\n", csv.Options{AllText: true}, ""},
	} {
		src, _, err := readSized(t, c.text, c.opt, textfile.Sizes{Block: 64}, scan.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := ""
		if why := src.(scan.Adviser).WhyText("v"); why != nil {
			got = why.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Would catch rejects that a text column hides, a column of text that loses rows because some of its values are
// numbers, and types that follow from the many without the option.
func TestCSVInferMost(t *testing.T) {
	numbers := strings.Repeat("1\n", 9)
	for _, c := range []struct {
		name, text, schema string
		rejected           int
	}{
		{"one of three", "v\n1\nx\n3\n", "v int64", 1},
		{"the first", "v\nx\n1\n3\n", "v int64", 1},
		{"one of two", "v\n1\nx\n", "v utf8", 0},
		{"a tenth", "v\n" + numbers + numbers + "x\ny\n", "v int64", 2},
		{"more than a tenth", "v\n" + numbers + numbers + "x\ny\nz\n", "v utf8", 0},
		{"numbers with fractions", "v\n" + numbers + "1.5\nx\n", "v float64", 1},
		{"dates, in the order of the only day above 12", "v\n31.12.2025\n1.2.2026\n?\n2.2.2026\n", "v date32", 1},
		{"a code", "v\n1\n2\n007\n3\n", "v int64", 1},
	} {
		for _, most := range []bool{true, false} {
			opt, want, wantRejected := csv.Options{InferMost: most}, "v utf8", 0
			if most {
				want, wantRejected = c.schema, c.rejected
			}
			path := scantest.WriteFile(t, t.TempDir(), "f.csv", []byte(c.text))
			opt.IgnoreErrors, opt.Rejects = true, &csv.Rejects{}
			src := mustOpen(t, Options{CSV: opt}, path)
			if got := scantest.SchemaText(src.Schema()); got != want {
				t.Errorf("%s, most %v: got %s, want %s", c.name, most, got, want)
			}
			_, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
			if n := opt.Rejects.Count(); err != nil || n != int64(wantRejected) {
				t.Errorf("%s, most %v: %d rows left out, %v, want %d", c.name, most, n, err, wantRejected)
			}
		}
	}
}
