package dataset

import (
	"bytes"
	"context"
	"strings"
	"testing"

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
				opt := Options{CSV: csv.Options{SampleRows: c.rows}, NoHive: true, sizes: textfile.Sizes{Block: block, Chunk: 50}}
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
		opt := Options{Stdin: bytes.NewReader(content), CSV: csv.Options{SampleRows: -1}, sizes: textfile.Sizes{Block: 64}}
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
		if _, err := Open(context.Background(), []string{"-"}, opt); err == nil || !strings.Contains(err.Error(), "CSV.SampleRows") {
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
