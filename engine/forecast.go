package engine

import (
	"context"
	"errors"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/encode"
	"github.com/mpga/mpga/engine/scan"
)

// Forecast is what a query is expected to do, by the statistics of its source and a sample of its
// rows. None of it is a promise but the bounds of the groups.
type Forecast struct {
	cpuagg.Forecast

	RowsSampled   int64 // 0 for a source that can be read once only
	SplitsSampled int   // that the rows are the first of
	Rows          int64 // of the input; estimated where the source does not tell, -1 when not known

	MemoryBytes int64 // of tables and pages, if there were room for all; -1 when not known
	SpillBytes  int64 // of pages that will go to disk, before compression; -1 when not known
}

// A sample is sampleRows rows, the first of up to sampleSplits splits.
const (
	sampleRows   = 1 << 16
	sampleSplits = 16
)

// forecast looks at a sample and says what the query will do.
func (q *execution) forecast(ctx context.Context, stats scan.Stats) (Forecast, error) {
	f := Forecast{Rows: q.progress.rowsTotal, MemoryBytes: -1, SpillBytes: -1}
	sampler := q.run.NewSampler()
	if !stats.Once && q.bound.Keys.Words > 0 {
		if err := q.sample(ctx, sampler, &f); err != nil {
			return f, err
		}
	}
	f.Forecast = sampler.Forecast(f.Rows, q.workers)
	if f.Groups >= 0 {
		f.MemoryBytes = f.TableBytes + f.PageBytes
		f.SpillBytes = q.spillBytes(&f.Forecast)
	}
	return f, nil
}

// spillBytes foretells how much of the pages a store writes to disk: when an eighth of the budget is
// left it begins, and a quarter is left then. Tables, open pages and decoded columns stay.
func (q *execution) spillBytes(f *cpuagg.Forecast) int64 {
	words := 0
	for i := range q.bound.Columns {
		words += q.bound.Columns[i].Kind.Words()
	}
	decoded := int64(q.workers) * forecastBatchRows * 8 * int64(words)
	limit := q.engine.memory.Limit()
	held := f.TableBytes + f.OpenBytes + decoded
	if held+f.PageBytes <= limit-limit/8 {
		return 0
	}
	return min(max(f.PageBytes-(limit-limit/4-held), 0), f.PageBytes)
}

// forecastBatchRows is how many rows of a batch each worker has decoded: scan's default.
const forecastBatchRows = 1 << 16

// sample reads the first rows of splits spread over the input, and estimates the rows of the input
// from their bytes where they are not known.
func (q *execution) sample(ctx context.Context, s *cpuagg.Sampler, f *Forecast) error {
	n := min(len(q.splits), sampleSplits)
	var bytesRead int64
	whole := true
	for i := range n {
		split := q.splits[i*len(q.splits)/n]
		if i > 0 {
			s.NextPart()
		}
		bytes, end, err := q.sampleSplit(ctx, s, split, sampleRows/n)
		if err != nil {
			return err
		}
		bytesRead += bytes
		whole = whole && end
	}
	f.RowsSampled, f.SplitsSampled = s.Rows(), n
	if f.Rows >= 0 {
		return nil
	}
	switch total := q.progress.bytesTotal; {
	case whole && n == len(q.splits):
		f.Rows = s.Rows()
	case total >= 0 && bytesRead > 0:
		f.Rows = max(int64(float64(s.Rows())*float64(total)/float64(bytesRead)), s.Rows())
	}
	return nil
}

// sampleSplit reads the first rows of a split. It returns the bytes that they took in the input, and
// whether there were no more.
func (q *execution) sampleSplit(ctx context.Context, s *cpuagg.Sampler, split scan.Split, rows int) (bytes int64, end bool, err error) {
	r := &reader{query: q, encoder: encode.NewEncoder(q.bound, q.final.Interners)}
	err = q.engine.decode(split, func() error {
		opt := q.engine.readOptions()
		opt.BatchRows = min(rows, sampleBatchRows)
		opt.Progress = func(n int64) { bytes += n }
		batches, err := split.Open(ctx, opt)
		if err != nil {
			return err
		}
		defer batches.Release()
		for rows > 0 {
			if !batches.Next() {
				end = true
				return batches.Err()
			}
			var n int
			r.batch = batches.RecordBatch()
			err := r.encode(split, func() (err error) {
				n, err = r.sampleBatch(s, rows)
				return err
			})
			if err != nil {
				return err
			}
			rows -= n
		}
		return nil
	})
	return bytes, end, errors.Join(err, context.Cause(ctx))
}

// sampleBatchRows is how many rows of a sample are decoded at a time.
const sampleBatchRows = 1 << 12

// sampleBatch adds the first rows of the current batch, and returns how many it had.
func (r *reader) sampleBatch(s *cpuagg.Sampler, rows int) (int, error) {
	rows = min(rows, int(r.batch.NumRows()))
	if err := r.encoder.SetBatch(r.batch, 0); err != nil {
		return 0, err
	}
	for from := 0; from < rows; {
		tile, err := r.encoder.Encode(from, rows)
		if err != nil {
			return 0, err
		}
		s.Add(tile)
		from += tile.Rows
	}
	return rows, nil
}
