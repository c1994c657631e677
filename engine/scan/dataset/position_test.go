package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// Would catch a position that is another row's, and rows at positions that are lost, doubled or
// others': with and without a filter, whatever pages and batches the rows lie in, and where a step
// that had no memory is read again.
func TestPositions(t *testing.T) {
	rng := scantest.NewRand(t)
	types := scantest.FilterTypes()
	files, reads := 6, 15
	if testing.Short() {
		files, reads = 2, 8
	}
	for range files {
		src, rows := randomFiles(t, rng, types)
		id := src.Schema().NumFields() - 1
		for range reads {
			columns := []int{id}
			for range rng.IntN(4) {
				columns = append(columns, rng.IntN(id+1))
			}
			whole, err := scantest.ReadAll(src, columns, scan.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			filter := scantest.NewTestFilter([]scantest.TestTerm{scantest.RandomTerm(t, rng, types)})
			filtered, err := scan.Filter(context.Background(), src, filter.Predicate(true))
			if err != nil {
				t.Fatal(err)
			}
			checkPositions(t, rng, filtered, columns, whole)
			checkPositions(t, rng, src, columns, whole)
			var wanted []uint64
			for p, often := uint64(0), 1<<rng.IntN(10); p < uint64(rows); p++ {
				if rng.IntN(often) == 0 {
					wanted = append(wanted, p)
				}
			}
			if got := checkPositions(t, rng, scan.At(src, wanted), columns, whole); !slices.Equal(got, wanted) {
				t.Fatalf("%d positions were asked for, rows of %d came", len(wanted), len(got))
			}
		}
	}
}

// randomFiles writes two Parquet files of random rows, and opens them as a table.
func randomFiles(t *testing.T, rng *rand.Rand, types []arrow.DataType) (src scan.Source, rows int) {
	t.Helper()
	rows = 1 + rng.IntN(20_000)
	batch := scantest.RandomTable(rng, types, rows)
	dir, cut := t.TempDir(), int64(rng.IntN(rows))
	var paths []string
	for i, part := range []arrow.RecordBatch{batch.NewSlice(0, cut), batch.NewSlice(cut, int64(rows))} {
		data := scantest.EncodeParquet(t, int64(500+rng.IntN(9000)), []arrow.RecordBatch{part}, scantest.RandomWriter(rng, len(types))...)
		paths = append(paths, scantest.WriteFile(t, dir, fmt.Sprintf("%d.parquet", i), data))
	}
	return mustOpen(t, Options{}, paths...), rows
}

// checkPositions reads columns of a source with the positions of its rows, and compares the rows
// with those of the whole table. It returns the positions.
func checkPositions(t *testing.T, rng *rand.Rand, src scan.Source, columns []int, whole []string) (positions []uint64) {
	t.Helper()
	wide, ok := scan.WithPositions(src, "position")
	if !ok {
		t.Fatal("a table of Parquet files does not find rows by their positions")
	}
	all := append(slices.Clone(columns), src.Schema().NumFields())
	opt := scan.OpenOptions{BatchRows: 1 + rng.IntN(5000), Borrow: scantest.Lend(rng.IntN(2))}
	opt.Budget = &scantest.TightBudget{Rng: rng, Limit: 1 << 30, Refusals: rng.IntN(6)}
	rows, err := scantest.ReadAll(wide, all, opt)
	if errors.Is(err, scantest.ErrTight) { // a reader ends where it was refused too often
		opt.Budget = nil
		rows, err = scantest.ReadAll(wide, all, opt)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		end := strings.LastIndexByte(row, '|')
		p, err := strconv.ParseUint(row[end+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if row[:end] != whole[p] {
			t.Fatalf("position %d: got %q, want %q", p, row[:end], whole[p])
		}
		positions = append(positions, p)
	}
	if !slices.IsSorted(positions) {
		t.Error("positions do not ascend")
	}
	return positions
}

// Rows of text are found by reading all of it.
func TestPositionsOfText(t *testing.T) {
	path := scantest.WriteFile(t, t.TempDir(), "x.csv", []byte("a,b\n1,2\n"))
	if _, ok := scan.WithPositions(mustOpen(t, Options{}, path), "position"); ok {
		t.Error("a CSV file finds rows by their positions")
	}
}
