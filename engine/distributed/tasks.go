package distributed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vfs"
)

// Tasks carries out tasks of a plan in this process.
type Tasks struct {
	Plan   *Plan
	Engine *engine.Engine // its temporary files have states that do not fit the memory, and copies of objects
	FS     vfs.FS         // where input, work directory and output are
	Layout sink.Options   // Plan.Output's, with what suits this process: FS, Threads, memory

	work workdir.Dir
}

// workDir returns a directory of tasks' files. What is read is reserved of a budget; nil has no limit.
func workDir(fsys vfs.FS, root string, budget rowdata.Budget) workdir.Dir {
	return workdir.Dir{FS: fsys, Root: root, Budget: budget, Damaged: ErrDamaged}
}

// Open returns the tasks of a plan. Fields of t are set.
func (t Tasks) Open() *Tasks {
	t.work = workDir(t.FS, t.Plan.Work, nil)
	if t.Engine != nil {
		t.work.Budget = t.Engine.Budget()
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

// prepare plans the statement over its inputs, which a function opens by their numbers.
func (t *Tasks) prepare(ctx context.Context, open func(input int) (scan.Source, error)) (*plan.Query, error) {
	p := t.Plan
	statement, err := sql.Parse(p.Statement)
	if err != nil {
		return nil, err
	}
	opened := 0
	opt := plan.Options{
		Overflow: p.Overflow, Deterministic: p.Deterministic, TimeZone: p.TimeZone, OneStep: true,
		Tables: map[string]plan.Table{},
		Rollup: refuseRollup,
		Open: func(context.Context, []string, dataset.Options) (scan.Source, error) {
			if opened++; opened > len(p.Inputs) {
				return nil, fmt.Errorf("%w: it has %d inputs, and the statement reads more", ErrPlan, len(p.Inputs))
			}
			return open(opened - 1)
		},
	}
	for _, name := range p.Tables {
		opt.Tables[name] = plan.Table{Files: []string{name}}
	}
	return plan.Prepare(ctx, t.Engine, statement, opt)
}

// finishing is the plan of the statement where its groups are there: no input is read that they are made of.
type finishing struct {
	*plan.Parts
	close func()
}

// finishing plans the statement over its inputs.
func (t *Tasks) finishing(ctx context.Context, open func(int) (scan.Source, error)) (*finishing, error) {
	if e := t.Plan.Exchange; e != nil && e.Rows {
		d, err := t.divide(ctx)
		if err != nil {
			return nil, err
		}
		return &finishing{d.Parts, d.close}, nil
	}
	var divided scan.Source
	q, err := t.prepare(ctx, func(input int) (scan.Source, error) {
		source, err := open(input)
		if input == t.Plan.Splits[0].Input {
			divided = source
		}
		return source, err
	})
	if err != nil {
		return nil, err
	}
	parts, err := q.PartsOf(divided)
	if err != nil {
		q.Close()
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return &finishing{parts, q.Close}, nil
}

// shapeOf returns the columns of an input.
func (t *Tasks) shapeOf(input int) (scan.Source, error) {
	columns, err := t.Plan.Inputs[input].Scan.Known.Columns()
	if err != nil {
		return nil, err
	}
	return scan.Shape(columns), nil
}

// Partial writes the states of a split.
func (t *Tasks) Partial(ctx context.Context, split int) (Done, error) {
	if err := t.checkTask(StagePartial, split); err != nil {
		return Done{}, err
	}
	m := &manifest{Plan: t.Plan.ID, Stage: StagePartial, Task: split, Attempt: newAttempt()}
	write := t.writeStates
	if t.Plan.Exchange != nil {
		write = t.writeSent
	}
	return t.pack(m, func(opt partial.Options) (engine.Stats, error) { return write(ctx, split, opt) })
}

// writeStates writes the states of the rows of a split, joined with inputs that are read whole.
func (t *Tasks) writeStates(ctx context.Context, split int, opt partial.Options) (engine.Stats, error) {
	s := &t.Plan.Splits[split]
	part := plan.Part{First: split == 0}
	q, err := t.prepare(ctx, func(input int) (source scan.Source, err error) {
		of := &t.Plan.Inputs[input]
		switch {
		case input == s.Input:
			part.Table, part.Of, err = t.openSplit(ctx, s)
			return part.Table, err
		case of.Read == ReadWhole:
			return t.openFiles(ctx, of, of.Files)
		}
		if source, err = t.shapeOf(input); of.Read == ReadSplits {
			part.Others = append(part.Others, source)
		}
		return source, err
	})
	if err != nil {
		return engine.Stats{}, err
	}
	defer q.Close()
	parts, err := q.PartsOf(part.Table)
	if err != nil {
		return engine.Stats{}, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	g := parts.Grouping(ctx, part)
	defer g.Close()
	if err := t.checkQuery(g.Query); err != nil {
		return engine.Stats{}, err
	}
	return g.Partial(ctx, opt)
}

// checkQuery refuses states of another aggregation than the plan's, which merges do not fit together.
func (t *Tasks) checkQuery(made query.Query) error {
	want, err := json.Marshal(t.Plan.Query)
	if err != nil {
		return err
	}
	got, err := json.Marshal(made)
	if err == nil && !bytes.Equal(want, got) {
		err = fmt.Errorf("%w: its aggregation is %s, and a task's is %s", ErrPlan, t.Plan.Query.String(), made.String())
	}
	return err
}

// openSplit opens the files of a split, as a part of their table, and returns what takes the rows of the split of
// rows made of the table.
func (t *Tasks) openSplit(ctx context.Context, s *Split) (scan.Source, func(scan.Source) scan.Source, error) {
	of := &t.Plan.Inputs[s.Input]
	if s.None {
		columns, err := of.Scan.Known.Columns()
		if err != nil {
			return nil, nil, err
		}
		return scan.Batches(columns, nil), nil, nil
	}
	table, err := t.openFiles(ctx, of, of.Files[s.First:s.Last+1])
	if err != nil {
		return nil, nil, err
	}
	from, to := s.span(scan.FileStarts(table))
	return table, func(rows scan.Source) scan.Source { return scan.Part(rows, from, to) }, nil
}

// openFiles opens some files of an input. R3.
func (t *Tasks) openFiles(ctx context.Context, of *Input, files []dataset.Identity) (scan.Source, error) {
	var names []string
	for _, then := range files {
		info, err := t.FS.Stat(then.Path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", ErrPlan, err)
			}
			return nil, fmt.Errorf("an input of the plan: %w", err)
		}
		now := dataset.NewIdentity(then.Path, info)
		if now.Meaning = then.Meaning; !now.Same(then) { // which rows it has, the state of the table says that is read
			return nil, fmt.Errorf("%w: %s is not what it was when the plan was made (%s): plan again",
				ErrPlan, then.Path, changed(then, now))
		}
		names = append(names, then.Path)
	}
	opt := of.Scan
	opt.FS, opt.Budget = t.FS, t.Engine.Budget()
	return dataset.Open(ctx, names, opt)
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
	blobs := workdir.NewSpool(t.Engine.CreateTemp, t.Plan.blobs(m.Stage))
	defer func() { err = errors.Join(err, blobs.Close()) }()
	stats, err := write(partial.Options{Partitions: t.Plan.blobs(m.Stage), Run: m.run(), Create: blobs.Create})
	if err != nil {
		return Done{}, err
	}
	if err := t.work.Write(m.name()+packSuffix, func(to io.Writer) error { return blobs.CopyTo(to) }); err != nil {
		return Done{}, err
	}
	m.Rows, m.Groups, m.Seconds = stats.RowsRead, stats.Groups, time.Since(started).Seconds()
	m.Blobs, m.Bytes = blobs.Sizes()
	if err := t.work.WriteJSON(m.name()+manifestSuffix, m); err != nil {
		return Done{}, err
	}
	return Done{Stage: m.Stage, Task: m.Task, State: "done", Rows: m.Rows, Groups: m.Groups,
		BytesRead: stats.BytesRead, BytesWritten: m.Bytes, Seconds: m.Seconds}, nil
}

// Combine merges the packs of neighbouring splits to one pack, for plans with a tree. In a plan with an exchange it
// makes the states of the rows of some partitions.
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
		if t.Plan.Exchange != nil {
			return t.writeJoined(ctx, s, node, opt)
		}
		from, to := t.Plan.combined(node)
		p, err := t.openPacks(ctx, s.Attempts[from:to], Range{0, t.Plan.Partitions - 1})
		if err != nil {
			return stats, err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		return t.Engine.MergePartial(ctx, p.Sources, opt)
	})
}
