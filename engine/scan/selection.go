package scan

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
)

// rowTest is the condition on the rows of a source, and what it has done so far.
type rowTest struct {
	filter selector // nil: all rows are needed

	tested, kept atomic.Int64 // rows
	passed       atomic.Int64 // bytes of pages that no row was needed of
}

// selector is a RowFilter: Select sets the bits of the rows for which it is TRUE.
type selector interface {
	Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error)
}

// all says whether all rows are needed.
func (t *rowTest) all() bool { return t.filter == nil }

// selection runs a filter over one batch after the other.
type selection struct {
	test *rowTest
	rows rowSet // of the batch, that pass
	some rowSet
}

// run finds the rows of a batch of the filter's columns that pass, and returns how many they are.
func (s *selection) run(ctx context.Context, batch arrow.RecordBatch) (int, error) {
	s.rows.reset(int(batch.NumRows()))
	if _, err := s.test.filter.Select(ctx, batch, s.rows.bytes()); err != nil {
		return 0, fmt.Errorf("the filter: %w", err)
	}
	s.rows.recount()
	s.test.tested.Add(int64(s.rows.rows))
	s.test.kept.Add(int64(s.rows.count))
	return s.rows.count, nil
}

// retract forgets the rows of the batch, those from one row on as if they had never been tested.
func (s *selection) retract(from int) {
	if from < s.rows.rows {
		s.some.part(&s.rows, from, s.rows.rows)
		s.test.tested.Add(-int64(s.some.rows))
		s.test.kept.Add(-int64(s.some.count))
	}
	s.rows.reset(0)
}

// between returns the rows that pass from one row on, counted from there. They are valid until the next call.
func (s *selection) between(from, to int) *rowSet {
	s.some.part(&s.rows, from, to)
	return &s.some
}
