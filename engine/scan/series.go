package scan

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// seriesPartsMax bounds the splits of a series.
const seriesPartsMax = 1 << 12

// Series returns a source of one column of int64 values: count numbers from first on, each step more than the one
// before. All of them fit int64.
func Series(column string, first, step, count int64) Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: column, Type: arrow.PrimitiveTypes.Int64}}, nil)
	return mustTable(&seriesInput{schema: schema, first: first, step: step, count: count})
}

// seriesInput is the Input of a series.
type seriesInput struct {
	schema             *arrow.Schema
	first, step, count int64
}

func (s *seriesInput) Name() string          { return s.schema.Field(0).Name }
func (s *seriesInput) Schema() *arrow.Schema { return s.schema }
func (s *seriesInput) Span() uint64          { return uint64(s.count) }

func (s *seriesInput) Stats() decode.Stats {
	column := ColumnStats{NoNulls: true}
	if s.count > 0 {
		last := s.first + (s.count-1)*s.step
		column.HasRange, column.Min, column.Max = true, min(s.first, last), max(s.first, last)
	}
	return decode.Stats{Rows: s.count, Columns: []ColumnStats{column}}
}

func (s *seriesInput) Parts(_ context.Context, columns []int) (parts []decode.Part, err error) {
	rows := max(partRows, s.count/seriesPartsMax)
	for from := int64(0); from < s.count; from += rows {
		parts = append(parts, &seriesPart{of: s, isRead: len(columns) > 0, from: from, to: min(s.count-rows, from) + rows})
		if from > s.count-rows {
			break // from may pass the range of its type
		}
	}
	return parts, nil
}

// seriesPart is numbers [from, to) of a series.
type seriesPart struct {
	of       *seriesInput
	isRead   bool // else the rows are counted alone
	from, to int64
}

func (p *seriesPart) Offset() uint64 { return uint64(p.from) }
func (p *seriesPart) Rows() int64    { return p.to - p.from }
func (p *seriesPart) Bytes() int64   { return 0 }
func (p *seriesPart) Name() string {
	return fmt.Sprintf("%s, rows %d to %d", p.of.Name(), p.from, p.to)
}

func (p *seriesPart) Open(_ context.Context, opt decode.Options) (decode.RowReader, error) {
	return &seriesReader{part: p, at: p.from, opt: opt}, nil
}

// seriesReader is the RowReader of a part of a series.
type seriesReader struct {
	part *seriesPart
	at   int64 // of the next number
	opt  decode.Options
}

func (r *seriesReader) Next(context.Context) (arrow.RecordBatch, error) {
	n := min(r.part.to-r.at, int64(r.opt.BatchRows))
	if n == 0 {
		return nil, io.EOF
	}
	of := r.part.of
	from := r.at
	r.at += n
	if !r.part.isRead {
		return array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, n), nil
	}
	b := array.NewInt64Builder(r.opt.Memory)
	defer b.Release()
	b.Reserve(int(n))
	for i := range n {
		b.UnsafeAppend(of.first + (from+i)*of.step)
	}
	column := b.NewArray()
	defer column.Release()
	return array.NewRecordBatch(of.schema, []arrow.Array{column}, n), nil
}

func (r *seriesReader) Close() error { return nil }
