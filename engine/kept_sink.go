package engine

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
)

// keptSink is the sink of rows that a step keeps. Maps make them of batches, or devices of the pages of files:
//
//	split --devices have its pages--> RowReader ---\
//	     \-> batches --> a worker's map ------------+--> keep, in the name of a worker
type keptSink struct {
	*mapSink
	decoding *device.RowsQuery // what devices are to decode; nil where none are asked
	reader   *device.RowReader // nil of the CPU
	stats    *device.Stats     // nil where no devices are asked
	keep     func(worker int, batch arrow.RecordBatch) error
	workers  chan int // that keep nothing just now: a batch of devices is kept in the name of any of them
}

var _ aggregator.Aggregator = (*keptSink)(nil)

// newKeptSink returns the sink of readMapped.
func newKeptSink(s *Statement, q *aggregator.Query, opt RowsOptions,
	keep func(worker int, batch arrow.RecordBatch) error, end func(ctx context.Context) error) *keptSink {
	k := &keptSink{keep: keep, workers: make(chan int, q.Workers)}
	for i := range q.Workers {
		k.workers <- i
	}
	k.mapSink = newMapSink(q.Workers, opt.NewMap, func(ctx context.Context, r *aggregator.Rows, m RowMap) error {
		p := r.Piece()
		return scan.UseBatchOf(p.Reader, p.Split.Name(), p.Batch, func() error {
			return eachMade(ctx, m, p.Batch, call, k.take)
		})
	})
	k.end = end
	if d := s.engine.devices; !d.CPU() {
		k.decoding = &device.RowsQuery{Query: q, Devices: s.engine.devices, Allocator: s.Allocator(), Take: k.take}
		k.decoding.Schema, k.decoding.Code = opt.Schema, opt.Code
	}
	return k
}

// take keeps a batch in the name of a worker. There are as many workers as threads, one of which the caller holds.
func (k *keptSink) take(batch arrow.RecordBatch) error {
	worker := <-k.workers
	defer func() { k.workers <- worker }()
	return k.keep(worker, batch)
}

// Begin implements aggregator.Aggregator.
func (k *keptSink) Begin(ctx context.Context) (err error) {
	if k.decoding == nil {
		return nil
	}
	if k.reader, err = device.NewRowReader(ctx, k.decoding); err != nil {
		if k.decoding.Devices.Ready() {
			k.stats = &device.Stats{NotDecoded: err.Error()}
		}
		err = context.Cause(ctx)
	}
	return err
}

// TakeSplit implements aggregator.Aggregator.
func (k *keptSink) TakeSplit(ctx context.Context, r *aggregator.Rows, split scan.Split) (bool, error) {
	if k.reader == nil {
		return false, nil
	}
	return k.reader.TakeSplit(ctx, r, split)
}

// EndInput implements aggregator.Aggregator. Once all rows are here, devices are others'.
func (k *keptSink) EndInput(context.Context) ([]scan.Split, error) {
	if k.reader == nil {
		return nil, nil
	}
	refused, err := k.reader.EndInput()
	return refused, errors.Join(err, k.endDevices(err))
}

func (k *keptSink) endDevices(cause error) (err error) {
	if k.reader != nil {
		k.stats, err = k.reader.Release(cause)
		k.reader = nil
	}
	return err
}

// Release implements aggregator.Aggregator.
func (k *keptSink) Release(cause error) (again bool, err error) {
	err = k.endDevices(cause)
	_, mapErr := k.mapSink.Release(cause)
	return false, errors.Join(err, mapErr)
}
