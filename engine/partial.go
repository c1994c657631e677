package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// Partial is Statement.Partial of a statement of one step.
func (e *Engine) Partial(ctx context.Context, src scan.Source, q query.Query, opt partial.Options) (Stats, error) {
	return e.Statement(ctx).Partial(ctx, src, q, opt)
}

// Partial aggregates a source as Aggregate does, but writes the states of the groups in place of
// results. Merge takes the states, here or in another process, and gives the answer that Aggregate
// gives of all sources together.
//
// After an error the blobs are not complete, and Merge refuses them.
func (s *Statement) Partial(ctx context.Context, src scan.Source, q query.Query,
	opt partial.Options) (stats Stats, err error) {
	err = spawn.Call(func() (err error) {
		stats, err = s.partial(ctx, src, q, opt)
		return err
	})
	return stats, spawn.InQuery(err, q.String())
}

func (s *Statement) partial(ctx context.Context, src scan.Source, q query.Query, opt partial.Options) (Stats, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return Stats{}, err
	}
	started := time.Now()
	bound, splits, err := s.engine.planBy(ctx, src, q, rowdata.BindCanonical)
	if err != nil {
		return Stats{}, err
	}
	blobs, err := partial.NewWriter(bound, s.memory, opt)
	if err != nil {
		return Stats{}, err
	}
	return newAggregation(s, bound, src, splits, started).writeBlobs(ctx, blobs)
}

// writeBlobs runs the query, whose output are blobs.
func (q *execution) writeBlobs(ctx context.Context, blobs *partial.Writer) (Stats, error) {
	ctx, _, leave, err := q.enter(ctx)
	if err != nil {
		return Stats{}, errors.Join(err, blobs.Abandon())
	}
	q.setOutput(&blobOutput{query: q, blobs: blobs})
	err = errors.Join(q.execute(ctx), blobs.Abandon())
	err = cmp.Or(err, leave())
	return q.stats(), err
}

// blobOutput writes groups as partial states.
type blobOutput struct {
	query *execution
	blobs *partial.Writer
	begun bool
}

// begin implements output: how many positions the source takes is known now.
func (o *blobOutput) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	return o.blobs.Begin(o.query.progress.rows.Load(), o.query.feed.span.Load())
}

// writer implements output.
func (o *blobOutput) writer() aggregator.Writer {
	groups := &o.query.progress.groups
	return stateWriter{o.blobs.Worker(o.query.cpu.Run(), &o.query.final, func(n int) { groups.Add(int64(n)) })}
}

// end implements output.
func (o *blobOutput) end() error { return o.blobs.End() }

// stateWriter is one worker's way to the blobs, as a aggregator.Writer.
type stateWriter struct{ *partial.WorkerWriter }

// Write implements aggregator.Writer.
func (w stateWriter) Write(ctx context.Context, _ *threads.Thread, g *cpuagg.Groups) error {
	return w.WorkerWriter.Write(ctx, g)
}

// Merge merges the partial states of sources, each given as the blobs that one call of Partial has
// written, in any order. The order of the sources is that of the input. The result is read as
// Aggregate's is.
//
// What does not fit together is ErrPartials, what is damaged store.ErrCorrupt, and what another
// version has written store.ErrVersion.
func (e *Engine) Merge(ctx context.Context, sources [][]partial.Blob,
	opt partial.MergeOptions) (result *Result, err error) {
	err = spawn.Call(func() error {
		run, err := e.newMerge(ctx, sources, opt)
		if err == nil {
			result, err = run.stream(ctx, GroupsOptions{})
		}
		return err
	})
	return result, err
}

// MergePartial merges the partial states of sources to partial states, as of one source: a tree of
// merges gives the answer that one merge gives, or one query of the whole input. The sources' runs
// are noted, so that none of them counts twice further up. Options are as for Partial, but that
// Partitions is by default what the sources have.
func (e *Engine) MergePartial(ctx context.Context, sources [][]partial.Blob,
	opt partial.Options) (stats Stats, err error) {
	err = spawn.Call(func() (err error) {
		stats, err = e.mergePartial(ctx, sources, opt)
		return err
	})
	return stats, err
}

func (e *Engine) mergePartial(ctx context.Context, sources [][]partial.Blob, opt partial.Options) (Stats, error) {
	run, err := e.newMerge(ctx, sources, partial.MergeOptions{})
	if err != nil {
		return Stats{}, err
	}
	if opt.Partitions == 0 {
		opt.Partitions = run.adopted.Partitions()
	}
	if err := opt.Validate(); err != nil {
		return Stats{}, err
	}
	bound := run.shared.Bound
	if opt.Regroup != nil {
		if bound, err = opt.Regroup.Bind(bound); err != nil {
			return Stats{}, err
		}
	}
	blobs, err := partial.NewWriter(bound, e.memory, opt)
	if err != nil {
		return Stats{}, err
	}
	blobs.Merges(run.adopted)
	return run.writeBlobs(ctx, blobs)
}

// newMerge returns the query that merges sources.
func (e *Engine) newMerge(ctx context.Context, sources [][]partial.Blob, opt partial.MergeOptions) (*execution, error) {
	started := time.Now()
	if e.life.isClosed() {
		return nil, ErrClosed
	}
	pass, err := partial.Open(ctx, sources, opt)
	if err != nil {
		return nil, err
	}
	bound, err := pass.Bind(e.memory)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sources[0][0].Name(), err)
	}
	run := newQuery(e.Statement(ctx), bound, scan.Stats{Rows: pass.States(), Bytes: pass.Bytes()}, nil, started)
	run.adopted = pass
	pass.Read = func(states, bytes int64) {
		run.progress.rows.Add(states)
		run.progress.bytes.Add(bytes)
	}
	return run, nil
}
