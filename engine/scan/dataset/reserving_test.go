package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// tightSources returns sources of all formats, each with its rows.
func tightSources(t *testing.T, rng *rand.Rand) map[string]scan.Source {
	t.Helper()
	dir := t.TempDir()
	types := scantest.FilterTypes()
	batch := scantest.RandomTable(rng, types, 1+rng.IntN(2000))
	table := mustOpen(t, Options{}, scantest.WriteFile(t, dir, "t.parquet", scantest.EncodeParquet(t, int64(1+rng.IntN(1500)), []arrow.RecordBatch{batch}, scantest.RandomWriter(rng, len(types))...)))
	var terms []scantest.TestTerm
	for range 1 + rng.IntN(3) {
		terms = append(terms, scantest.RandomTerm(t, rng, types))
	}
	filtered, err := scan.Filter(context.Background(), table, scantest.NewTestFilter(terms).Predicate(rng.IntN(2) == 0))
	if err != nil {
		t.Fatal(err)
	}
	text := csv.Options{Header: csv.HeaderYes, Delimiter: ',', NullStrings: neverNull}
	sizes := textfile.Sizes{Chunk: int64(100 + rng.IntN(3000)), Block: 1 + rng.IntN(64)<<rng.IntN(6)}
	rows := randomCSV(rng, 1+rng.IntN(1000))
	name := []string{"t.csv", "t.csv.gz", "t.csv.zst"}[rng.IntN(3)]
	document, _ := randomJSON(rng, 1+rng.IntN(1000))
	jsonName := []string{"t.json", "t.ndjson.gz", "t.jsonl.zst"}[rng.IntN(3)]
	batches := 1 + rng.IntN(4)
	stream := batches > 1 || rng.IntN(2) == 0 // a file has one dictionary a column
	return map[string]scan.Source{
		"parquet":  table,
		"filtered": filtered,
		"json":     mustOpen(t, Options{sizes: sizes}, scantest.WriteFile(t, dir, jsonName, pack(t, document, jsonName))),
		"csv":      mustOpen(t, Options{CSV: text, sizes: sizes}, scantest.WriteFile(t, dir, name, pack(t, rows, name))),
		"arrow":    mustOpen(t, Options{}, scantest.WriteFile(t, dir, "t.arrow", scantest.EncodeArrow(t, stream, scantest.IpcBatches(t, batches, 1+rng.IntN(300))))),
	}
}

// However often readers are refused memory, they return the rows that they would return with all of
// it, or some of the first of a split and the refusal; and they give back all that was reserved.
// Would catch rows that are lost, come twice, or are counted twice or never, where a step is tried
// again.
func TestReadersRefused(t *testing.T) {
	rng := scantest.NewRand(t)
	rounds, refused, ended := 40, 0, 0
	if testing.Short() {
		rounds = 8
	}
	for range rounds {
		for format, src := range tightSources(t, rng) {
			columns := scantest.AllColumns(src.Schema())
			rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
			columns = columns[:1+rng.IntN(len(columns))]
			budget := &scantest.TightBudget{Rng: rng, Limit: int64(128+rng.IntN(2000)) << 10, Refusals: rng.IntN(8), Slack: 1 + rng.Int64N(1<<20)*rng.Int64N(2)}
			failed, err := readTight(src, columns, scan.OpenOptions{BatchRows: 1 + rng.IntN(700), Borrow: scantest.Lend(rng.IntN(3)), Budget: budget})
			if err != nil {
				t.Errorf("%s, columns %v, %d KiB: %v", format, columns, budget.Limit>>10, err)
			}
			if f, ok := src.(scan.Filtered); ok && failed == 0 && err == nil {
				checkCounted(t, f, columns)
			}
			if budget.Reserved != 0 {
				t.Errorf("%s: %d B are reserved at the end", format, budget.Reserved)
			}
			refused, ended = refused+budget.Refused, ended+failed
		}
	}
	t.Logf("%d refusals, of which %d readers ended", refused, ended)
	if refused == 0 {
		t.Error("no reader was refused anything")
	}
}

// checkCounted checks that a source which was read twice has counted the rows of its filter twice.
func checkCounted(t *testing.T, src scan.Filtered, columns []int) {
	t.Helper()
	twice := src.Pruning()
	if _, err := scantest.ReadAll(src, columns, scan.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	if all := src.Pruning(); 2*all.RowsTested != 3*twice.RowsTested || 2*all.RowsKept != 3*twice.RowsKept {
		t.Errorf("%d rows tested, %d kept, where two reads before had %d and %d",
			all.RowsTested, all.RowsKept, twice.RowsTested, twice.RowsKept)
	}
}

// readTight reads all splits of a source at once, and compares the rows with those that the source
// has. It returns how many readers have ended with ErrTight.
func readTight(src scan.Source, columns []int, opt scan.OpenOptions) (failed int, err error) {
	splits, err := src.Splits(context.Background(), columns)
	if err != nil {
		return 0, err
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	opt.Allocator = mem
	rows, errs := make([][]string, len(splits)), make([]error, len(splits))
	var readers sync.WaitGroup
	for i, s := range splits {
		readers.Go(func() { _, errs[i] = scantest.ReadSplit(s, opt, &rows[i]) })
	}
	readers.Wait()
	if bytes := mem.CurrentAlloc(); bytes != 0 {
		return 0, fmt.Errorf("%d B are still allocated", bytes)
	}
	for i, s := range splits {
		var want []string
		if _, err := scantest.ReadSplit(s, scan.OpenOptions{BatchRows: opt.BatchRows}, &want); err != nil {
			return 0, err
		}
		got := rows[i]
		switch {
		case errors.Is(errs[i], scantest.ErrTight):
			failed++
			want = want[:min(len(got), len(want))]
		case errs[i] != nil:
			return 0, errs[i]
		}
		if !slices.Equal(got, want) {
			return 0, fmt.Errorf("%s: %d rows, want %d:\n%q\n%q", s.Name(), len(got), len(want), got, want)
		}
	}
	return failed, nil
}
