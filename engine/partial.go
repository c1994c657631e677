package engine

import (
	"context"
	"errors"
	"time"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// Partial aggregates a source as Aggregate does, but for the last step: in place of results it
// writes the states of the groups, which Merge takes, here or in another process. Sources that are
// merged give the answer that they give as one.
//
// After an error the blobs are not complete; Merge accepts none of those that are not.
func (e *Engine) Partial(ctx context.Context, src scan.Source, q query.Query, opt partial.Options) (stats Stats, err error) {
	err = spawn.Call(func() (err error) {
		stats, err = e.partial(ctx, src, q, opt)
		return err
	})
	return stats, spawn.InQuery(err, q.String())
}

func (e *Engine) partial(ctx context.Context, src scan.Source, q query.Query, opt partial.Options) (Stats, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return Stats{}, err
	}
	started := time.Now()
	bound, splits, err := e.planBy(ctx, src, q, rowdata.BindCanonical)
	if err != nil {
		return Stats{}, err
	}
	blobs, err := partial.NewWriter(bound, e.memory, opt)
	if err != nil {
		return Stats{}, err
	}
	run := newQuery(e, bound, src.Stats(), splits, started)
	run.source = src
	return e.writeBlobs(ctx, run, blobs)
}

// writeBlobs runs a query whose output are blobs.
func (e *Engine) writeBlobs(ctx context.Context, run *execution, blobs *partial.Writer) (Stats, error) {
	ctx, cancel, done, err := e.enter(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer done()
	defer cancel(nil)
	run.output = &blobOutput{run, blobs}
	err = errors.Join(run.execute(ctx), blobs.Abandon())
	return run.stats(), err
}

// blobOutput writes groups as partial states.
type blobOutput struct {
	query *execution
	blobs *partial.Writer
}

// begin implements output: how many positions the source takes is known now.
func (o *blobOutput) begin() error {
	return o.blobs.Begin(o.query.progress.rows.Load(), o.query.span.Load())
}

// writer implements output.
func (o *blobOutput) writer() device.Writer {
	groups := &o.query.progress.groups
	return stateWriter{o.blobs.Worker(o.query.run, &o.query.final, func(n int) { groups.Add(int64(n)) })}
}

// end implements output.
func (o *blobOutput) end() error { return o.blobs.End() }

// stateWriter is one worker's way to the blobs, as a device.Writer.
type stateWriter struct{ *partial.WorkerWriter }

// Write implements device.Writer.
func (w stateWriter) Write(ctx context.Context, _ *threads.Thread, g *cpuagg.Groups) error {
	return w.WorkerWriter.Write(ctx, g)
}
