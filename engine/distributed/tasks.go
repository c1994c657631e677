package distributed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
)

// Tasks carries out tasks of a plan in this process.
type Tasks struct {
	Plan   *Plan
	Engine *engine.Engine // its temporary files have states that do not fit the memory, and copies of objects
	FS     vfs.FS         // where input, work directory and output are
	Layout sink.Options   // Plan.Output's, with what suits this process: FS, Threads, memory

	work workDir
}

// Open returns the tasks of a plan. Fields of t are set.
func (t Tasks) Open() *Tasks {
	t.work = workDir{fs: t.FS, root: t.Plan.Work}
	if t.Engine != nil {
		t.work.budget = t.Engine.Budget()
	}
	return &t
}

// Done tells what a task has done. It travels as a line of JSON.
type Done struct {
	Stage        string  `json:"stage"`
	Task         int     `json:"task"`
	State        string  `json:"state"` // "done", or "already" where an earlier attempt had done it
	Rows         int64   `json:"rows"`
	Groups       int64   `json:"groups"`
	BytesRead    int64   `json:"bytes_read"`
	BytesWritten int64   `json:"bytes_written"`
	Seconds      float64 `json:"seconds"`
}

// already tells of a task that an earlier attempt has done.
func (m *manifest) already(task int) Done {
	return Done{Stage: m.Stage, Task: task, State: "already", Rows: m.Rows, Groups: m.Groups,
		BytesWritten: m.Bytes, Seconds: m.Seconds}
}

// checkTask refuses the number of a task that a stage does not have.
func (t *Tasks) checkTask(stage string, task int) error {
	if n := t.Plan.tasks(stage); task < 0 || task >= n {
		return fmt.Errorf("%w: task %d of stage %s, which has %d", ErrPlan, task, stage, n)
	}
	return nil
}

// prepare plans the statement over a source.
func (t *Tasks) prepare(ctx context.Context, source scan.Source) (*plan.Query, error) {
	p := t.Plan
	statement, err := sql.Parse(p.Statement)
	if err != nil {
		return nil, err
	}
	opt := plan.Options{
		Overflow: p.Overflow, Deterministic: p.Deterministic, OneStep: true,
		Open: func(context.Context, []string, dataset.Options) (scan.Source, error) { return source, nil },
	}
	if p.Table != "" {
		opt.Tables = map[string]plan.Table{p.Table: {Files: []string{p.Table}}}
	}
	return plan.Prepare(ctx, t.Engine, statement, opt)
}

// shape plans the statement over the columns of the input. It opens no file of the input.
func (t *Tasks) shape(ctx context.Context) (*plan.Query, error) {
	columns, err := t.Plan.Scan.Known.Columns()
	if err != nil {
		return nil, err
	}
	return t.prepare(ctx, scan.Shape(columns))
}

// Partial writes the states of a split.
func (t *Tasks) Partial(ctx context.Context, split int) (Done, error) {
	if err := t.checkTask(StagePartial, split); err != nil {
		return Done{}, err
	}
	m := &manifest{Plan: t.Plan.ID, Stage: StagePartial, Task: split, Attempt: newAttempt()}
	return t.pack(m, func(opt partial.Options) (engine.Stats, error) {
		table, starts, err := t.open(ctx, &t.Plan.Splits[split])
		if err != nil {
			return engine.Stats{}, err
		}
		q, err := t.prepare(ctx, table)
		if err != nil {
			return engine.Stats{}, err
		}
		defer q.Close()
		source, grouping, err := q.Grouping()
		if err != nil {
			return engine.Stats{}, err
		}
		if starts != nil {
			from, to := t.Plan.Splits[split].span(starts)
			source = scan.Part(source, from, to)
		}
		return t.Engine.Partial(ctx, source, grouping, opt)
	})
}

// open opens the files of a split, as a part of the table. starts has the position of the first row of
// each of them; nil of a split without files. R3.
func (t *Tasks) open(ctx context.Context, s *Split) (table scan.Source, starts []uint64, err error) {
	if s.None {
		columns, err := t.Plan.Scan.Known.Columns()
		if err != nil {
			return nil, nil, err
		}
		return scan.Batches(columns, nil), nil, nil
	}
	var names []string
	for _, then := range t.Plan.Files[s.First : s.Last+1] {
		info, err := t.FS.Stat(then.Path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", ErrPlan, err)
			}
			return nil, nil, fmt.Errorf("an input of the plan: %w", err)
		}
		if now := dataset.NewIdentity(then.Path, info); !now.Same(then) {
			return nil, nil, fmt.Errorf("%w: %s is not what it was when the plan was made (%s): plan again",
				ErrPlan, then.Path, changed(then, now))
		}
		names = append(names, then.Path)
	}
	opt := t.Plan.Scan
	opt.FS, opt.Budget = t.FS, t.Engine.Budget()
	table, err = dataset.Open(ctx, names, opt)
	if err != nil {
		return nil, nil, err
	}
	return table, scan.FileStarts(table), nil
}

// changed says in what a file differs.
func changed(then, now dataset.Identity) string {
	switch {
	case then.Bytes != now.Bytes:
		return fmt.Sprintf("it had %d B, and has %d", then.Bytes, now.Bytes)
	case then.ETag != now.ETag:
		return fmt.Sprintf("its tag was %s, and is %s", then.ETag, now.ETag)
	}
	return fmt.Sprintf("it was changed at %s, and again at %s", then.Modified.Format(time.RFC3339Nano),
		now.Modified.Format(time.RFC3339Nano))
}

// pack runs an attempt of a task whose output is a pack, unless the task is done. R1.
func (t *Tasks) pack(m *manifest, write func(partial.Options) (engine.Stats, error)) (done Done, err error) {
	defer func() { err = t.explainDamage(err) }()
	if before, err := t.remembered(); err != nil || before != nil {
		return Done{Stage: m.Stage, Task: m.Task, State: "already"}, err
	}
	if earlier, err := t.done(m.Stage, m.key()); err != nil || earlier != nil {
		if err != nil {
			return Done{}, err
		}
		return earlier.already(m.Task), nil
	}
	started := time.Now()
	blobs := newSpool(t.Engine.CreateTemp, t.Plan.Partitions)
	defer func() { err = errors.Join(err, blobs.close()) }()
	stats, err := write(partial.Options{Partitions: t.Plan.Partitions, Run: m.run(), Create: blobs.createBlob})
	if err != nil {
		return Done{}, err
	}
	if err := t.work.write(m.name()+packSuffix, func(to io.Writer) error { return blobs.copyTo(to) }); err != nil {
		return Done{}, err
	}
	m.Rows, m.Groups, m.Seconds = stats.RowsRead, stats.Groups, time.Since(started).Seconds()
	m.Blobs, m.Bytes = blobs.sizes()
	if err := t.work.writeJSON(m.name()+manifestSuffix, m); err != nil {
		return Done{}, err
	}
	return Done{Stage: m.Stage, Task: m.Task, State: "done", Rows: m.Rows, Groups: m.Groups,
		BytesRead: stats.BytesRead, BytesWritten: m.Bytes, Seconds: m.Seconds}, nil
}

// Combine merges the packs of neighbouring splits to one pack, for plans with a tree.
func (t *Tasks) Combine(ctx context.Context, node int) (Done, error) {
	if err := t.checkTask(StageCombine, node); err != nil {
		return Done{}, err
	}
	m := &manifest{Plan: t.Plan.ID, Stage: StageCombine, Task: node, Attempt: newAttempt()}
	return t.pack(m, func(opt partial.Options) (stats engine.Stats, err error) {
		s, err := t.sealed(ctx, StagePartial)
		if err != nil {
			return stats, err
		}
		from, to := t.Plan.combined(node)
		p, err := t.openPacks(ctx, s.Attempts[from:to], Range{0, t.Plan.Partitions - 1})
		if err != nil {
			return stats, err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		return t.Engine.MergePartial(ctx, p.sources, opt)
	})
}
