package distributed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
)

// lastPacks is the stage whose packs are merged to rows.
func (p *Plan) lastPacks() string {
	if p.Combines > 0 {
		return StageCombine
	}
	return StagePartial
}

// Merge makes rows of a task's partitions.
func (t *Tasks) Merge(ctx context.Context, task int) (Done, error) {
	if err := t.checkTask(StageMerge, task); err != nil {
		return Done{}, err
	}
	done, err := t.MergeRange(ctx, t.Plan.Merges[task])
	done.Task = task
	return done, err
}

// MergeRange makes rows of some partitions. The ranges of a plan's merges are not the only ones: Commit
// takes any that together are all partitions.
func (t *Tasks) MergeRange(ctx context.Context, of Range) (done Done, err error) {
	defer func() { err = t.explainDamage(err) }()
	if of.First < 0 || of.Last < of.First || of.Last >= t.Plan.Partitions {
		return Done{}, fmt.Errorf("%w: partitions %s of %d", ErrPlan, of, t.Plan.Partitions)
	}
	if before, err := t.remembered(); err != nil || before != nil {
		return Done{Stage: StageMerge, Task: of.First, State: "already"}, err
	}
	s, err := t.sealed(ctx, t.Plan.lastPacks())
	if err != nil {
		return Done{}, err
	}
	earlier, err := t.merged(of.key(), s.hash)
	if err != nil {
		return Done{}, err
	}
	if earlier != nil {
		return earlier.already(of.First), nil
	}
	m := &manifest{Plan: t.Plan.ID, Stage: StageMerge, Task: of.First, Last: of.Last,
		Attempt: newAttempt(), Sealed: s.hash}
	started := time.Now()
	p, err := t.openPacks(ctx, s.Attempts, of)
	if err != nil {
		return Done{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	write := t.writeGroups
	if t.Plan.Exchange != nil && t.Plan.Exchange.Rows {
		write = t.writeRows
	}
	read, err := write(ctx, m, p, of)
	if err != nil {
		return Done{}, err
	}
	m.Seconds = time.Since(started).Seconds()
	if err := t.work.WriteJSON(m.name()+manifestSuffix, m); err != nil {
		return Done{}, err
	}
	return Done{Stage: StageMerge, Task: of.First, State: "done", Rows: m.Rows, Groups: m.Groups,
		BytesRead: read, BytesWritten: m.Bytes, Seconds: m.Seconds}, nil
}

// merged returns the manifest of an attempt that has merged a range of what is sealed; nil where there is
// none.
func (t *Tasks) merged(key, sealed string) (*manifest, error) {
	names, err := t.attempts(StageMerge, key+".")
	for _, name := range names {
		m, err := t.manifest(StageMerge + "/" + name)
		if err != nil || m.Sealed == sealed {
			return m, err
		}
	}
	return nil, err
}

// writeGroups writes the rows that the groups of partitions come to, to the directory of the attempt. It returns the
// bytes of the blobs.
func (t *Tasks) writeGroups(ctx context.Context, m *manifest, p *workdir.Packs, of Range) (read int64, err error) {
	q, err := t.finishing(ctx, t.shapeOf)
	if err != nil {
		return 0, err
	}
	defer q.close()
	numbers := make([]int, 0, of.Last-of.First+1)
	for n := of.First; n <= of.Last; n++ {
		numbers = append(numbers, n)
	}
	result, err := t.Engine.Merge(ctx, p.Sources, partial.MergeOptions{Partitions: numbers, Runs: p.Runs})
	if err != nil {
		return 0, err
	}
	rows, err := q.Finish(ctx, result)
	if err != nil {
		return 0, err
	}
	if err := t.writePart(ctx, m, q.Finished(), rows); err != nil {
		return 0, err
	}
	stats := result.Stats()
	m.Rows = stats.RowsRead
	return stats.BytesRead, nil
}

// writePart writes rows of some partitions, which it takes over, to the directory of the attempt: as files of the
// output, or, where Commit has more to do, as rows of a schema.
func (t *Tasks) writePart(ctx context.Context, m *manifest, schema *arrow.Schema, rows array.RecordReader) error {
	opt := t.intermediate()
	if t.Plan.assembled() {
		var err error
		if schema, err = t.Plan.result(); err != nil {
			rows.Release()
			return err
		}
		opt = t.sinkOptions(ctx)
		opt.Overwrite = false
	}
	if schema.NumFields() == 0 {
		schema, rows = counted(rows)
	}
	made, err := t.writeDir(ctx, m.name(), schema, opt, rows)
	if err == nil {
		m.Groups, m.Bytes, m.Files = made.Rows, made.Bytes, made.Files
	}
	return err
}

// counted returns rows, which it takes over, with a column of NULLs: a file has one, where rows are counted alone, too.
func counted(rows array.RecordReader) (*arrow.Schema, array.RecordReader) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "row", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}}, nil)
	return schema, recordreader.New(schema, func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Next(rows)
		if batch == nil {
			return nil, err
		}
		nulls := array.MakeArrayOfNull(memory.DefaultAllocator, arrow.FixedWidthTypes.Boolean, int(batch.NumRows()))
		defer nulls.Release()
		return recordreader.Batch(schema, []arrow.Array{nulls}, batch.NumRows()), nil
	}, rows.Release)
}

// intermediate is how rows are kept that Commit puts in order.
func (t *Tasks) intermediate() sink.Options {
	return sink.Options{Format: sink.Arrow, Codec: "lz4", Manifest: true, FS: t.FS,
		Allocator: t.Layout.Allocator, Budget: t.Layout.Budget}
}

// assembled says whether the output is made of the files of merges, as they are.
func (p *Plan) assembled() bool { return p.Output.Directory() && !p.Ordered }

// sinkOptions returns how the output is written.
func (t *Tasks) sinkOptions(ctx context.Context) sink.Options {
	opt := t.Layout
	opt.Query = t.Plan.Statement
	opt.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return t.Engine.Statement(ctx).Collector(ctx, schema, by, purpose)
	}
	return opt
}

// writeDir writes rows, which it takes over, to a directory of the work directory, and returns its
// manifest.
func (t *Tasks) writeDir(ctx context.Context, name string, schema *arrow.Schema, opt sink.Options,
	rows array.RecordReader) (*sink.Manifest, error) {
	path := t.work.Path(name)
	if _, remote := t.work.Objects(); !remote {
		if err := t.FS.MkdirAll(t.work.Path(StageMerge), 0o777); err != nil {
			rows.Release()
			return nil, err
		}
	}
	if err := workdir.WriteRows(ctx, path, schema, opt, rows); err != nil {
		return nil, err
	}
	made := new(sink.Manifest)
	return made, t.work.ReadJSON(name+"/"+sink.ManifestName, made)
}

// cover returns attempts of merges of what is sealed whose ranges are all partitions, each once, in
// order; or the partitions that no such attempt begins at.
func cover(attempts []manifest, partitions int) (chosen []manifest, missing []int) {
	from := make(map[int][]int) // attempts, by first partition
	for i := range attempts {
		from[attempts[i].Task] = append(from[attempts[i].Task], i)
	}
	reaches := make([]int, partitions+1) // by partition: the attempt to go on with, or -1
	for at := partitions - 1; at >= 0; at-- {
		reaches[at] = -1
		for _, i := range from[at] {
			if next := attempts[i].Last + 1; next == partitions || reaches[next] >= 0 {
				reaches[at] = i
				break
			}
		}
	}
	if reaches[0] < 0 {
		has := make([]bool, partitions)
		for i := range attempts {
			for n := attempts[i].Task; n <= attempts[i].Last; n++ {
				has[n] = true
			}
		}
		for n := range has {
			if !has[n] {
				missing = append(missing, n)
			}
		}
		return nil, missing
	}
	for at := 0; at < partitions; at = chosen[len(chosen)-1].Last + 1 {
		chosen = append(chosen, attempts[reaches[at]])
	}
	return slices.Clip(chosen), nil
}
