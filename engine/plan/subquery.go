package plan

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
)

// oneRow is what a statement without FROM reads: one row without columns that can be named.
func oneRow() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "", Type: arrow.FixedWidthTypes.Boolean}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.BooleanBuilder).Append(true)
	return scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})
}

// subquery is the result of a statement as a source. It is read whole into memory when its splits are
// asked for, and kept until release.
type subquery struct {
	query *Query

	mu      sync.Mutex
	ran     bool
	batches []arrow.RecordBatch
	dry     bool // only the plan is wanted
}

// Schema implements scan.Source.
func (s *subquery) Schema() *arrow.Schema { return s.query.Schema() }

// Stats implements scan.Source. Once keeps a forecast from sampling what has not run.
func (s *subquery) Stats() scan.Stats { return scan.Stats{Rows: -1, Bytes: -1, Once: true} }

// Splits implements scan.Source.
func (s *subquery) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dry {
		return nil, nil
	}
	if !s.ran {
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		s.ran = true
	}
	return scan.Batches(s.Schema(), s.batches).Splits(ctx, columns)
}

func (s *subquery) run(ctx context.Context) error {
	r, err := s.query.Run(ctx)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		s.batches = append(s.batches, b)
	}
	return r.Err()
}

// release drops the rows.
func (s *subquery) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		b.Release()
	}
	s.batches, s.ran = nil, false
}
