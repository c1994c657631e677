package dataset

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// learning is a filter that has learned a term, or nothing yet.
type learning struct {
	*scantest.TestFilter
	term scan.Term
}

// Learned implements scan.LearningFilter.
func (l *learning) Learned() (scan.Term, bool) { return l.term, true }

// Would catch row groups that are read after no row of them passes, a row that is lost where a bound is met, and row
// groups that are not read in the order of their promise.
func TestFilterLearns(t *testing.T) {
	batch := scantest.SortedTable(8000)
	path := scantest.WriteFile(t, t.TempDir(), "sorted.parquet", scantest.EncodeParquet(t, 1000, []arrow.RecordBatch{batch}))
	src := mustOpen(t, Options{}, path)
	for _, c := range []struct {
		op     scan.Op
		bound  int64
		first  uint64 // position of the split that is read first
		kept   int64
		tested int64 // once the term is known; all rows before
	}{
		{scan.OpLessOrEqual, 3000, 0, 3001, 4000},
		{scan.OpGreaterOrEqual, 2999, 7000, 5001, 6000},
		{scan.OpGreaterOrEqual, 9000, 7000, 0, 0},
		{scan.OpLessOrEqual, -1, 0, 0, 0},
	} {
		term := scantest.NewTerm(t, 0, c.op, int64Constants(c.bound))
		for _, known := range []bool{true, false} {
			f := &learning{scantest.NewTestFilter([]scantest.TestTerm{term}), scan.Term{Column: 0, Op: c.op}}
			tested := int64(8000)
			if known {
				f.term, tested = term.Term, c.tested
			}
			filtered, err := scan.Filter(context.Background(), src, scan.Predicate{Rows: f})
			if err != nil {
				t.Fatal(err)
			}
			splits, err := filtered.Splits(context.Background(), []int{6})
			if err != nil || len(splits) != 8 || splits[0].Position() != c.first {
				t.Fatalf("%s %d: %d splits, error %v; the first must be at %d", c.op, c.bound, len(splits), err, c.first)
			}
			slices.SortFunc(splits, func(a, b scan.Split) int { return int(a.Position()) - int(b.Position()) })
			for _, s := range splits {
				if _, err := scantest.ReadSplit(s, scan.OpenOptions{}, new([]string)); err != nil {
					t.Fatal(err)
				}
			}
			if p := filtered.Pruning(); p.RowsKept != c.kept || p.RowsTested != tested {
				t.Errorf("%s %d, known %t: %d of %d rows, want %d of %d",
					c.op, c.bound, known, p.RowsKept, p.RowsTested, c.kept, tested)
			}
		}
	}
}
