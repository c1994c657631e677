package fields_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/opentest"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// A column that repeats in the sample comes as codes, and its statistics say so.
func TestCSVCodes(t *testing.T) {
	var text strings.Builder
	text.WriteString("few,many,none,number\n")
	var want []string
	for i := range 20_000 {
		few := fmt.Sprint("name", i%90)
		if i%90 == 7 {
			few = `"a ""quoted"", long name"`
		}
		if i%90 == 8 {
			few = ""
		}
		fmt.Fprintf(&text, "%s,key%d,,%d\n", few, i, i%9)
		few = strings.Trim(strings.ReplaceAll(few, `""`, `"`), "") // doubled quotes are one
		few = strings.TrimSuffix(strings.TrimPrefix(few, `"`), `"`)
		if few == "" {
			few = "NULL"
		}
		want = append(want, fmt.Sprintf("%s|key%d|NULL|%d", few, i, i%9))
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	src, rows, err := opentest.ReadCSV(t, text.String(), csv.Options{}, scan.OpenOptions{Allocator: mem, BatchRows: 3000})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, want)
	mem.AssertSize(t, 0)
	for c, want := range []bool{true, false, true, false} {
		if got := src.Stats().Columns[c].Repeats; got != want {
			t.Errorf("column %d: Repeats is %v, want %v", c, got, want)
		}
	}
	dictionaries := make(map[arrow.ArrayData]bool)
	for _, batch := range csvBatches(t, src, []int{0}, scan.OpenOptions{BatchRows: 3000}) {
		dictionaries[batch.Column(0).(*array.Dictionary).Dictionary().Data()] = true
	}
	if len(dictionaries) != 1 {
		t.Errorf("the batches of a split have %d dictionaries, want 1", len(dictionaries))
	}
}

// The start of a file may repeat where the rest does not.
func TestCSVCodesLookFurther(t *testing.T) {
	text := "s\n" + strings.Repeat("same\n", 20_000) + differentLines(50_000)
	src, _, err := opentest.ReadCSV(t, text, csv.Options{}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if src.Stats().Columns[0].Repeats {
		t.Error("the column is held to repeat, as its start does")
	}
}

func differentLines(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintln(&lines, "different", i)
	}
	return lines.String()
}

// A sample that misleads costs time, and memory only for a batch.
func TestCSVCodesWrongGuess(t *testing.T) {
	text := "s\n" + strings.Repeat("same\n", 500_000) + differentLines(22_000)
	const batchRows = 5000
	src, rows, err := opentest.ReadCSV(t, text, csv.Options{}, scan.OpenOptions{BatchRows: batchRows})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, strings.Split(strings.TrimSuffix(text, "\n"), "\n")[1:])
	for _, batch := range csvBatches(t, src, []int{0}, scan.OpenOptions{BatchRows: batchRows}) {
		if n := batch.Column(0).(*array.Dictionary).Dictionary().Len(); n > batchRows+fields.DictionaryLongest {
			t.Fatalf("a dictionary of %d entries for %d rows", n, batch.NumRows())
		}
	}
}

// csvBatches returns the batches of a source of one split.
func csvBatches(t *testing.T, src scan.Source, columns []int, opt scan.OpenOptions) (batches []arrow.RecordBatch) {
	t.Helper()
	splits, err := src.Splits(context.Background(), columns)
	if err != nil || len(splits) != 1 {
		t.Fatalf("%d splits, %v", len(splits), err)
	}
	r, err := splits[0].Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		r.RecordBatch().Retain()
		batches = append(batches, r.RecordBatch())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return batches
}
