package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/rollup"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
)

// rollup returns what the roll-up of a step is.
func (s *Step) rollup(q *stepQuery, opt *Options, in dataset.Options, out sink.Options) rollup.Options {
	o := rollup.Options{
		Statement: q.text, Tables: s.tables(opt.FS), Scan: in, Overflow: q.overflow, Deterministic: q.deterministic,
		TimeZone: q.zone,
		State:    s.Rollup.State, Output: s.Output.Path, Layout: out, OnChange: rollup.OnChange(s.Rollup.OnChange),
		KeepParts: s.Rollup.KeepParts, KeepDays: int(s.Rollup.Keep), WholeBytes: int64(s.Rollup.WholeBytes), FS: opt.FS,
		Version: opt.Version,
	}
	if len(s.From) > 0 {
		maps.Copy(o.Tables, map[string]plan.Table{inputTable: {Files: s.From}})
	}
	return o
}

// runRollup answers the query of states that are kept.
func (r *stepRun) runRollup(ctx context.Context, eng *engine.Engine, o rollup.Options) error {
	report, err := rollup.Run(ctx, eng, o)
	if err != nil {
		return err
	}
	r.report.Stats, r.report.Rows = report.Stats, report.Rows
	r.log.Info("roll-up", "generation", report.Generation, "files", report.Files, "new", report.Added,
		"changed", report.Changed, "gone", report.Gone, "files_read", report.FilesRead, "rows_read", report.RowsRead)
	return nil
}

// checkRollup refuses what does not suit a roll-up, as far as it shows without files. The fields of its errors begin
// with a dot.
func (s *Step) checkRollup() error {
	v := validation{}
	if s.Rollup == (Rollup{}) {
		return nil
	}
	if s.Rollup.State == "" {
		v.add(".state", errors.New("name the folder of the states"))
	}
	if s.Rollup.KeepParts < 0 {
		v.add(".keep_parts", fmt.Errorf("%d: want 0 or more", s.Rollup.KeepParts))
	}
	v.add("", s.Input.refuse("not supported by a roll-up"))
	return v.err()
}

// rollups refuses states that two steps of the job would keep in one folder.
func (v *validation) rollups(steps []Step) {
	states := make(map[string]string) // name of the step, by folder
	for i := range steps {
		s := &steps[i]
		if s.Rollup.State == "" {
			continue
		}
		path := filepath.Clean(s.Rollup.State)
		if other, taken := states[path]; taken {
			v.add(fmt.Sprintf("steps[%d].rollup.state", i), fmt.Errorf("step %s keeps its states in %s, too", other, path))
		}
		states[path] = s.Name
	}
}
