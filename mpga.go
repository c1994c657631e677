// Package mpga answers statements of SQL in one call.
//
//	eng, err := engine.Open(engine.Options{}) // all processors
//	...
//	defer eng.Close()
//	result, err := mpga.Query(ctx, eng, "SELECT origin, avg(delay) AS delay FROM 'flights/*.parquet' GROUP BY ALL", nil)
//	...
//	defer result.Release()
//	for batch, err := range result.All() {
//		...
//	}
//
// The packages below it have the parts: engine answers queries that are no text, plan has what a statement needs beside
// its text and its tables, such as parameters, relation makes statements by calls, and sink writes results.
package mpga

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/recordreader"
)

// Tables are what names behind FROM stand for: files, or a source such as scan.Batches.
type Tables = map[string]plan.Table

// Result is the rows of a statement as an array.RecordReader. One goroutine at a time reads it, and releases it in the
// end.
type Result struct {
	recordreader.Base
	rows *plan.Result
}

// Query plans a statement and begins to answer it. tables may be nil: files may stand behind FROM themselves, in single
// quotes. An error of the statement is an *sql.Error, which points at its place. Without cgo there is no SQL.
func Query(ctx context.Context, eng *engine.Engine, statement string, tables Tables) (*Result, error) {
	parsed, err := sql.Parse(statement)
	if err != nil {
		return nil, err
	}
	query, err := plan.Prepare(ctx, eng, parsed, plan.Options{Tables: tables})
	if err != nil {
		return nil, err
	}
	rows, err := query.Run(ctx)
	if err != nil {
		query.Close()
		return nil, err
	}
	r := &Result{rows: rows}
	r.Init(rows.Schema(), r.next, func() {
		rows.Release()
		query.Close()
	})
	return r, nil
}

// next returns the next batch, nil at the end.
func (r *Result) next() (arrow.RecordBatch, error) {
	if !r.rows.Next() {
		return nil, r.rows.Err()
	}
	batch := r.rows.RecordBatch()
	batch.Retain()
	return batch, nil
}

// All returns the batches for a range loop, as engine.Result.All does.
func (r *Result) All() iter.Seq2[arrow.RecordBatch, error] { return recordreader.All(r) }

// Stats tells what was done, once the rows have been read.
func (r *Result) Stats() engine.Stats { return r.rows.Stats() }
