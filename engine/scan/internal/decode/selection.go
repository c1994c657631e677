package decode

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// RowTest is the condition on the rows of a source, and counts of what it has tested so far.
type RowTest struct {
	Filter rowFilter // nil: all rows are needed

	Tested, Kept atomic.Int64 // rows
	Passed       atomic.Int64 // bytes of pages of which no row was needed
}

// For returns the test for a reader of a sample, whose rows do not count, or of others.
func (t *RowTest) For(sample bool) *RowTest {
	if sample {
		return &RowTest{Filter: t.Filter}
	}
	return t
}

// Add counts rows of which the filter was asked, and rows that passed.
func (t *RowTest) Add(asked, kept int64) {
	t.Tested.Add(asked)
	t.Kept.Add(kept)
}

// rowFilter is scan.RowFilter.
type rowFilter interface {
	Columns() []int
	Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error)
}

// All says whether all rows are needed.
func (t *RowTest) All() bool { return t.Filter == nil }

// Columns returns the columns that the condition needs, as indexes in the source's schema.
func (t *RowTest) Columns() []int {
	if t.All() {
		return nil
	}
	return t.Filter.Columns()
}

// Selection runs a filter over one batch after the other.
type Selection struct {
	Test *RowTest
	Rows rowset.Set // of the batch, that pass
	Some rowset.Set // scratch; the part of Rows that Between has taken last, counted from its first row
}

// Run finds the rows of a batch of the filter's columns that pass, and returns how many they are.
func (s *Selection) Run(ctx context.Context, batch arrow.RecordBatch) (int, error) {
	s.Begin(int(batch.NumRows()))
	if err := s.Narrow(ctx, s.Test.Filter, batch); err != nil {
		return 0, err
	}
	s.End()
	return s.Rows.Count, nil
}

// Begin lets all rows of a batch pass, until Narrow has run over them.
func (s *Selection) Begin(rows int) {
	s.Rows.Reset(rows)
	s.Rows.Add(0, rows)
}

// Narrow leaves the rows that also pass a filter. The batch has all rows, or only the rows that have
// passed so far.
func (s *Selection) Narrow(ctx context.Context, filter rowFilter, batch arrow.RecordBatch) error {
	s.Some.Reset(int(batch.NumRows()))
	if _, err := filter.Select(ctx, batch, s.Some.Bytes()); err != nil {
		return fmt.Errorf("the filter: %w", err)
	}
	s.Some.Recount()
	s.Rows.Narrow(&s.Some)
	return nil
}

// End counts the rows of a batch that all filters have run over.
func (s *Selection) End() {
	s.Test.Add(int64(s.Rows.Rows), int64(s.Rows.Count))
}

// Retract forgets the rows of the batch. Those from row from on count as never tested.
func (s *Selection) Retract(from int) {
	if from < s.Rows.Rows {
		s.Some.Part(&s.Rows, from, s.Rows.Rows)
		s.Test.Add(-int64(s.Some.Rows), -int64(s.Some.Count))
	}
	s.Rows.Reset(0)
}

// Between returns the rows that pass from row from on and before row to, counted from row from. The
// set is valid until the next call.
func (s *Selection) Between(from, to int) *rowset.Set {
	s.Some.Part(&s.Rows, from, to)
	return &s.Some
}
