package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/spawn"
)

// Merge merges the partial states of sources, each given as the blobs that one call of Partial has
// written, in any order. The order of the sources is that of the input. The result is read as
// Aggregate's is.
//
// What does not fit together is ErrPartials, what is damaged store.ErrCorrupt, and what another
// version has written store.ErrVersion.
func (e *Engine) Merge(ctx context.Context, sources [][]partial.Blob, opt partial.MergeOptions) (result *Result, err error) {
	err = spawn.Call(func() error {
		run, err := e.newMerge(ctx, sources, opt)
		if err == nil {
			result, err = e.stream(ctx, run)
		}
		return err
	})
	return result, err
}

// MergePartial merges the partial states of sources to partial states, as of one source: a tree of merges
// gives the answer that one merge gives, or one query of the whole input. The sources' runs are noted, so
// that none of them counts twice further up. Options are as for Partial, but that Partitions is by default
// what the sources have.
func (e *Engine) MergePartial(ctx context.Context, sources [][]partial.Blob, opt partial.Options) (stats Stats, err error) {
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
	blobs, err := partial.NewWriter(run.bound, e.memory, opt)
	if err != nil {
		return Stats{}, err
	}
	blobs.Merges(run.adopted)
	return e.writeBlobs(ctx, run, blobs)
}

// newMerge returns the query that merges sources.
func (e *Engine) newMerge(ctx context.Context, sources [][]partial.Blob, opt partial.MergeOptions) (*execution, error) {
	started := time.Now()
	if e.ctx.Err() != nil {
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
	run := newQuery(e, bound, scan.Stats{Rows: pass.States(), Bytes: pass.Bytes()}, nil, started)
	run.adopted = pass
	pass.Read = func(states, bytes int64) {
		run.progress.rows.Add(states)
		run.progress.bytes.Add(bytes)
	}
	return run, nil
}

// guard calls a function that processes a task. Partial states with right checksums may still be of
// no program of this version: what trips over them becomes an error, as what a decoder trips over
// does. Their references have been checked.
func (q *execution) guard(f func() error) error {
	if q.adopted == nil {
		return f()
	}
	panicked, err := spawn.Catch(f)
	if panicked == nil {
		return err
	}
	q.engine.opt.Logger.Debug("a merge panicked", slog.Any("panic", panicked.Value), slog.String("stack", string(panicked.Stack)))
	return fmt.Errorf("partial states: %w: %v", ErrCorrupt, panicked.Value)
}
