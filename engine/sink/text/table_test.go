package text

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Would catch a table of all rows that holds them until its end, rows that are lost or doubled
// where it is drawn in parts, and a column that stays too narrow for cells that come late.
func TestLongTable(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	const batches, rows = 60, 5000
	for _, shown := range []int{-1, batches*rows - 3, 7} {
		var out bytes.Buffer
		w, err := NewTable(&out, schema, TableOptions{RowsShown: shown, CellWidth: 48})
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for i := range batches {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			for j := range rows {
				n := i*rows + j
				b.Field(0).(*array.Int64Builder).Append(int64(n))
				b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", n/10000)) // wider and wider
			}
			batch := b.NewRecordBatch()
			if err := w.Write(batch); err != nil {
				t.Fatal(err)
			}
			held = max(held, w.bytes)
			batch.Release()
			b.Release()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if held > tableBytesMax {
			t.Errorf("%d shown: %d B of cells are held", shown, held)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		want := batches * rows
		if shown > 0 {
			want = shown
		}
		tail := 2 // the last rule, the number of rows
		if shown > 0 {
			tail++ // those that are not shown
		}
		if len(lines) != 4+want+tail || lines[len(lines)-1] != "300,000 rows" {
			t.Fatalf("%d shown: %d lines, the last is %q", shown, len(lines), lines[len(lines)-1])
		}
		for n, line := range lines[4 : 4+want] {
			cells := strings.Split(strings.Trim(line, "│"), "│")
			if len(cells) != 2 || strings.TrimSpace(cells[0]) != fmt.Sprint(n) || strings.TrimSpace(cells[1]) != strings.Repeat("x", n/10000) {
				t.Fatalf("%d shown: row %d is %q", shown, n, line)
			}
		}
	}
}

// Would catch a long value that differs from a short one in how it is quoted, where it is written
// in pieces.
func TestLongValues(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.BinaryTypes.Binary}}, nil)
	for _, unit := range []string{"x", "xä€😀", `a"b`, "a,b", "line\nline\r", "\x00\\", "\xff\xfe"} {
		value := strings.Repeat(unit, 200_000)
		for format, short := range map[string]func([]byte) string{
			"csv": func(b []byte) string {
				e := &CSVEncoder{delimiter: ','}
				for _, c := range []byte{',', '"', '\r', '\n'} {
					e.special[c] = true
				}
				blob := appendBlob(nil, b)
				return string(e.quote(bytes.Clone(b), 0)) + "," + string(e.quote(blob, 0)) + "\n"
			},
			"json": func(b []byte) string {
				c := blobColumn(func(int) []byte { return b })
				return string(appendJSONString([]byte(`{"s":`), b)) + `,"b":` + string(c.appendJSON(nil, 0)) + "}\n"
			},
		} {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			b.Field(0).(*array.StringBuilder).Append(value)
			b.Field(1).(*array.BinaryBuilder).Append([]byte(value))
			batch := b.NewRecordBatch()
			var got string
			if format == "csv" {
				got = csvText(t, ',', false, schema, batch)
			} else {
				got = jsonText(t, schema, batch)
			}
			batch.Release()
			b.Release()
			if want := short([]byte(value)); got != want {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Errorf("%s of %q: %d B, want %d; they differ from byte %d on", format, unit, len(got), len(want), at)
			}
		}
	}
}
