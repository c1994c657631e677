package text

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// peopleTable has rows of numbers and of texts, some of them with wide runes.
func peopleTable(rng *rand.Rand, rows, columns int) arrow.RecordBatch {
	var fields []arrow.Field
	for i := range columns {
		f := arrow.Field{Name: "n" + strings.Repeat("x", rng.IntN(20)), Type: arrow.PrimitiveTypes.Int64, Nullable: true}
		if i%2 == 1 {
			f = arrow.Field{Name: fmt.Sprintf("text %d", i), Type: arrow.BinaryTypes.String, Nullable: true}
		}
		fields = append(fields, f)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for row := range rows {
		for i := range columns {
			switch f := b.Field(i).(type) {
			case *array.Int64Builder:
				f.Append(int64(row) * 1_000_003)
			case *array.StringBuilder:
				f.Append(strings.Repeat([]string{"a", "ä", "日", "😀"}[rng.IntN(4)], rng.IntN(30)))
			}
		}
	}
	return b.NewRecordBatch()
}

// Would catch a table that is wider than its terminal, a box whose lines differ in width, a number
// that is cut, and columns that are left out where there is room for them.
func TestTableFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		columns, width := 1+rng.IntN(12), 24+rng.IntN(150)
		batch := peopleTable(rng, 1+rng.IntN(40), columns)
		text := tableText(t, TableOptions{RowsShown: 10, Tail: 5, CellWidth: 48, Width: width}, batch.Schema(), batch)
		whole := tableText(t, TableOptions{RowsShown: 10, Tail: 5, CellWidth: 48}, batch.Schema(), batch)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		first := widths.StringWidth(lines[0])
		for _, line := range lines[:len(lines)-1] {
			if w := widths.StringWidth(line); w > width || w != first {
				t.Fatalf("a line has %d columns, the first %d, the terminal %d:\n%s", w, first, width, text)
			}
		}
		if widths.StringWidth(strings.SplitN(whole, "\n", 2)[0]) <= width && text != whole {
			t.Fatalf("a table that fits %d columns is cut:\n%s", width, text)
		}
		if digit := strings.IndexAny(text, "0123456789"); digit >= 0 && strings.Contains(text, "3…") {
			t.Fatalf("a number is cut:\n%s", text)
		}
	}
}

// Would catch rows at the end that are not the last, however they come in batches, a row of dots for
// nothing, and rows that are shown twice.
func TestTableTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{0, 1, 9, 10, 11, 12, 40} {
		for _, sizes := range []int{1, 3, 100} {
			batch := peopleTable(rng, rows, 1)
			var parts []arrow.RecordBatch
			for at := 0; at < rows || at == 0; at += sizes {
				parts = append(parts, batch.NewSlice(int64(at), int64(min(at+sizes, rows))))
			}
			lines := strings.Split(tableText(t, TableOptions{RowsShown: 10, Tail: 4, CellWidth: 48}, batch.Schema(), parts...), "\n")
			var want []string
			for i := range rows {
				switch {
				case rows <= 10 || i < 6 || i >= rows-4:
					want = append(want, fmt.Sprint(i*1_000_003))
				case i == 6:
					want = append(want, "·")
				}
			}
			var got []string
			for _, line := range lines[4 : 4+len(want)] {
				got = append(got, strings.Trim(line, "│ "))
			}
			footer := fmt.Sprintf("%d rows", rows)
			switch {
			case rows == 1:
				footer = "1 row"
			case rows > 10:
				footer += " (10 shown)"
			}
			if !slices.Equal(got, want) || lines[len(lines)-2] != footer {
				t.Errorf("%d rows by %d: got %v, %q, want %v, %q", rows, sizes, got, lines[len(lines)-2], want, footer)
			}
		}
	}
}

func TestSeparators(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "999": "999", "1000": "1,000", "-1000": "-1,000", "-999": "-999", "123456789": "123,456,789",
		"1234.5678": "1,234.5678", "0.12345": "0.12345", "1e+30": "1e+30", "12345e10": "12345e10", "NaN": "NaN", "-Infinity": "-Infinity", "": "",
	} {
		if got := string(separateThousands([]byte(number))); got != want {
			t.Errorf("%s: got %s, want %s", number, got, want)
		}
	}
}

// Would catch a cell that breaks out of its column, or that a terminal takes for a command.
func TestMarkdownAndVertical(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n|m", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1234, 0}, []bool{true, false})
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"a|b\n\x1b[31m", "*日本*"}, nil)
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out bytes.Buffer
	check := func(e encoder, err error, want string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Write(batch); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
		out.Reset()
	}
	markdown, err := NewMarkdown(&out, schema, true)
	check(markdown, err, "| n\\|m | text |\n|--:|---|\n| 1,234 | a\\|b\\\\n\\\\u001B[31m |\n|  | \\*日本\\* |\n")
	vertical, err := NewVertical(&out, schema, TableOptions{RowsShown: -1})
	check(vertical, err, "── row 1 ──\n n|m = 1234\ntext = a|b\\n\\u001B[31m\n── row 2 ──\n n|m = NULL\ntext = *日本*\n2 rows\n")
	vertical, err = NewVertical(&out, schema, TableOptions{RowsShown: 1, Separators: true, Color: true})
	check(vertical, err, "── row 1 ──\n n|m = 1,234\ntext = a|b\\n\\u001B[31m\n… 1 more row\n2 rows\n")
}
