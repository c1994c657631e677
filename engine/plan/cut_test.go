//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// cutSource is a table whose readers end with an error after a batch.
type cutSource struct {
	scan.Source
	err error
}

func (s *cutSource) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Source.Splits(ctx, columns)
	for i := range splits {
		splits[i] = &cutSplit{splits[i], s.err}
	}
	return splits, err
}

type cutSplit struct {
	scan.Split
	err error
}

func (s *cutSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	return cut(from, s.err), nil
}

// cut takes over a reader and returns its first batch, then the error.
func cut(from array.RecordReader, err error) array.RecordReader {
	more := true
	return recordreader.New(from.Schema(), func() (arrow.RecordBatch, error) {
		if !more || !from.Next() {
			return nil, err
		}
		more = false
		from.RecordBatch().Retain()
		return from.RecordBatch(), nil
	}, from.Release)
}

// Would catch an error of a source that is taken for the end of its rows because it is io.EOF.
func TestCutOff(t *testing.T) {
	eng := openEngine(t)
	table := keyedTable(1500)
	for _, lost := range []error{io.EOF, fmt.Errorf("cut off: %w", io.EOF)} {
		for _, text := range panicStatements {
			splits, err := table.Splits(t.Context(), []int{0, 1})
			if err != nil {
				t.Fatal(err)
			}
			from, err := splits[0].Open(t.Context(), scan.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reader := cut(from, lost)
			for _, src := range []scan.Source{&cutSource{table, lost}, scan.Reader(reader)} {
				if rows, err := answered(t.Context(), eng, src, text); !errors.Is(err, io.EOF) {
					t.Errorf("%T, %s: %d rows, %v, want %v", src, text, len(rows), err, lost)
				}
			}
			reader.Release()
		}
	}
}
