package scan_test

import (
	"context"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
)

// Would catch numbers that are lost or twice between splits and batches, and ends of the range of int64.
func TestSeries(t *testing.T) {
	for _, c := range []struct{ first, step, count int64 }{
		{0, 1, 0}, {5, 1, 1}, {-3, 7, 1000}, {10, -3, 4}, {0, 1, 1<<17 + 1}, {math.MaxInt64, -1 << 40, 300_000},
		{math.MinInt64, math.MaxInt64, 3},
	} {
		splits, err := scan.Series("n", c.first, c.step, c.count).Splits(context.Background(), []int{0})
		if err != nil {
			t.Fatal(err)
		}
		read := int64(0)
		for _, s := range splits {
			if s.Position() != uint64(read) {
				t.Fatalf("%v: a split at %d behind %d rows", c, s.Position(), read)
			}
			r, err := s.Open(context.Background(), scan.OpenOptions{BatchRows: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for r.Next() {
				for _, got := range r.RecordBatch().Column(0).(*array.Int64).Int64Values() {
					if want := c.first + read*c.step; got != want {
						t.Fatalf("%v: row %d is %d, want %d", c, read, got, want)
					}
					read++
				}
			}
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			r.Release()
		}
		if read != c.count {
			t.Errorf("%v: %d rows", c, read)
		}
	}
	splits, err := scan.Series("n", 0, 1, math.MaxInt64).Splits(context.Background(), nil)
	if err != nil || len(splits) == 0 {
		t.Fatal(splits, err)
	}
	if last := splits[len(splits)-1]; last.Position()+uint64(last.Rows()) != math.MaxInt64 {
		t.Errorf("the last split of the longest series ends at %d", last.Position()+uint64(last.Rows()))
	}
}
