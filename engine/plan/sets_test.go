//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
)

// countedSource counts how often its splits are opened, and may fail in its second batch.
type countedSource struct {
	scan.Source
	opened atomic.Int64
	err    error
}

func (c *countedSource) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := c.Source.Splits(ctx, columns)
	for i, s := range splits {
		splits[i] = &countedSplit{s, c}
	}
	return splits, err
}

type countedSplit struct {
	scan.Split
	of *countedSource
}

func (s *countedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	if n := s.of.opened.Add(1); s.of.err != nil && n == 2 {
		return nil, s.of.err
	}
	return s.Split.Open(ctx, opt)
}

// keyedTable has two batches of n rows, of different a.
func keyedTable(n int) scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var batches []arrow.RecordBatch
	for i := range 2 * n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(int32(i % 7))
		if (i+1)%n == 0 {
			batches = append(batches, b.NewRecordBatch())
		}
	}
	return scan.Batches(schema, batches)
}

// statementsOfMany are over keyedTable. None of them reads it more than once.
var statementsOfMany = []string{
	"SELECT a, b, count(*), sum(a) FROM t GROUP BY CUBE (a, b)",
	"SELECT a, b, median(b) FROM t GROUP BY ROLLUP (a, b)",
	"SELECT a, b, sum(DISTINCT b), count(*) FROM t GROUP BY GROUPING SETS ((a), (b), ())",
	"SELECT b, last(a ORDER BY a DESC) FROM t GROUP BY b",
	"SELECT count(*) FROM (SELECT a, count(*) AS n FROM (SELECT a, b, count(*) FROM t GROUP BY a, b ORDER BY b) GROUP BY ROLLUP (a))",
	"SELECT a + b AS s FROM t ORDER BY s",
}

func open(t *testing.T, eng *engine.Engine, src scan.Source, text string) (*plan.Query, *plan.Result) {
	t.Helper()
	s, err := sql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Prepare(t.Context(), eng, s, plan.Options{Tables: map[string]plan.Table{"t": {Source: src}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q, r
}

// Statements of several aggregations read their table once, by any number of threads: would catch a
// reader that holds the thread which the query that it reads needs. Errors come through, and a
// result may be released at any time.
func TestStages(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		eng, err := engine.Open(engine.Options{Threads: threads, MemoryLimit: 1 << 30, Device: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range statementsOfMany {
			src := &countedSource{Source: keyedTable(20_000)}
			want := ""
			for range 2 {
				src.opened.Store(0)
				q, r := open(t, eng, src, text)
				var rows int64
				for r.Next() {
					rows += r.RecordBatch().NumRows()
				}
				if err := r.Err(); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if got := fmt.Sprint(rows); want != "" && got != want {
					t.Errorf("%s: %s rows, then %s", text, want, got)
				} else {
					want = got
				}
				if opened := src.opened.Load(); opened != 2 {
					t.Errorf("%s: 2 splits were opened %d times", text, opened)
				}
				r.Release()
				q.Close()
			}
			for batches := range 3 {
				q, r := open(t, eng, src, text)
				for range batches {
					r.Next()
				}
				r.Release()
				q.Close()
			}
			src = &countedSource{Source: keyedTable(20_000), err: errors.New("the disk is gone")}
			q, r := open(t, eng, src, text)
			for r.Next() {
			}
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
				t.Errorf("%s: got %v, want the source's error", text, err)
			}
			r.Release()
			q.Close()
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}
}
