package engine

import (
	"context"
	"errors"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
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

// size is what devices are told of the input.
func (f *Forecast) size() device.Size {
	return device.Size{Rows: f.Rows, Groups: f.Groups, High: f.High}
}

// A sample is sampleRows rows, the first of up to sampleSplits splits.
const (
	sampleRows   = 1 << 16
	sampleSplits = 16
)

// forecaster looks at a sample of the input, and says what a query will do.
type forecaster struct {
	statement *Statement
	query     *aggregator.Query
	splits    []scan.Split
	bytes     int64 // of the input; -1 when it is not known
	sampler   *cpuagg.Sampler
}

func (s *forecaster) forecast(ctx context.Context) (Forecast, error) {
	f := Forecast{Rows: s.query.Rows, MemoryBytes: -1, SpillBytes: -1}
	if !s.query.Once && s.query.Bound.Keys.Words > 0 {
		if err := s.sample(ctx, &f); err != nil {
			return f, err
		}
	}
	f.Forecast = s.sampler.Forecast(f.Rows, s.query.Workers)
	if f.Groups >= 0 {
		f.MemoryBytes = f.TableBytes + f.PageBytes
		f.SpillBytes = s.spillBytes(&f.Forecast)
	}
	return f, nil
}

// spillBytes foretells how much of the pages a store writes to disk: when an eighth of the budget
// is left it begins, and a quarter is left then. Tables, open pages and decoded columns stay.
func (s *forecaster) spillBytes(f *cpuagg.Forecast) int64 {
	words := 0
	for i := range s.query.Bound.Columns {
		words += s.query.Bound.Columns[i].Kind.Words()
	}
	decoded := int64(s.query.Workers) * forecastBatchRows * 8 * int64(words)
	limit := s.statement.memory.Limit()
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
func (s *forecaster) sample(ctx context.Context, f *Forecast) error {
	n := min(len(s.splits), sampleSplits)
	var bytesRead int64
	whole := true
	for i := range n {
		if i > 0 {
			s.sampler.NextPart()
		}
		bytes, end, err := s.sampleSplit(ctx, s.splits[i*len(s.splits)/n], sampleRows/n)
		if err != nil {
			return err
		}
		bytesRead += bytes
		whole = whole && end
	}
	f.RowsSampled, f.SplitsSampled = s.sampler.Rows(), n
	if f.Rows >= 0 {
		return nil
	}
	switch {
	case whole && n == len(s.splits):
		f.Rows = s.sampler.Rows()
	case s.bytes >= 0 && bytesRead > 0:
		f.Rows = max(int64(float64(s.sampler.Rows())*float64(s.bytes)/float64(bytesRead)), s.sampler.Rows())
	}
	return nil
}

// errNoTurn is the error of a sample that would have to wait until readers of the input end, who may
// wait for the forecast.
var errNoTurn = errors.New("the readers of the input leave no memory for a sample")

// sampleBatchRows is how many rows of a sample are decoded at a time.
const sampleBatchRows = 1 << 12

// sampleSplit reads the first rows of a split. It returns the bytes that they took in the input,
// and whether there were no more.
func (s *forecaster) sampleSplit(ctx context.Context, split scan.Split, rows int) (bytes int64, end bool, err error) {
	opt := s.statement.openOptions(ctx)
	opt.BatchRows, opt.Sample = min(rows, sampleBatchRows), true
	opt.Wait = func(context.Context, func()) error { return errNoTurn }
	opt.Progress = func(n int64) { bytes += n }
	batches, err := openSplit(ctx, split, opt)
	if err != nil {
		return bytes, false, errors.Join(err, context.Cause(ctx))
	}
	defer batches.Release()
	way := s.query.NewRows(0, nil)
	for rows > 0 {
		batch, err := batches.next()
		if batch == nil || err != nil {
			return bytes, err == nil, errors.Join(err, context.Cause(ctx))
		}
		n := min(rows, int(batch.NumRows()))
		if err := way.SetPiece(aggregator.Piece{Batch: batch, To: n, Split: split}); err != nil {
			return bytes, false, err
		}
		err = way.Tiles(0, n, func(t *rowdata.Tile) error {
			s.sampler.Add(t)
			return nil
		})
		if err != nil {
			return bytes, false, err
		}
		rows -= n
	}
	return bytes, false, context.Cause(ctx)
}
