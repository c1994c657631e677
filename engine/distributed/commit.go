package distributed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/vfs"
)

// Commit makes the output of what the merges have written. R4.
func (t *Tasks) Commit(ctx context.Context) (done Done, err error) {
	defer func() { err = t.explainDamage(err) }()
	started := time.Now()
	before, err := t.remembered()
	if err != nil {
		return Done{}, err
	}
	if before != nil {
		return t.committedBefore(before)
	}
	if err := t.checkOutput(); err != nil {
		return Done{}, err
	}
	s, err := t.sealed(ctx, t.Plan.lastPacks())
	if err != nil {
		return Done{}, err
	}
	merges, err := t.sealedMerges(ctx, s)
	if err != nil {
		return Done{}, err
	}
	if err := t.checkRows(ctx, merges); err != nil {
		return Done{}, err
	}
	var rows, bytes int64
	for i := range merges {
		rows, bytes = rows+merges[i].Groups, bytes+merges[i].Bytes
	}
	write := t.gather
	if t.Plan.assembled() {
		write = t.assemble
	}
	if err := write(ctx, merges); err != nil {
		twin, twinErr := t.remembered()
		if twinErr == nil && twin != nil && (!twin.unnoted || errors.Is(err, fs.ErrExist)) { // which was faster
			return t.committedBefore(twin)
		}
		if errors.Is(err, ErrReplaced) || errors.Is(err, errOvertaken) {
			return Done{}, errors.Join(err, t.removeOwn())
		}
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: %w", ErrPlan, err) // the output is another's, and is not to be replaced
		}
		return Done{}, err
	}
	made, err := t.outputNow()
	if err == nil && made == nil {
		err = fmt.Errorf("%s: it was written, and is not there: %w", t.marker(), fs.ErrNotExist)
	}
	if err != nil {
		return Done{}, err
	}
	if !t.Plan.assembled() {
		bytes = made.Bytes
	}
	after := committed{Plan: t.Plan.ID, Output: *made, Rows: rows, Bytes: bytes}
	if !t.Plan.Output.Directory() && made.ETag == "" {
		if after.SHA256, err = fileSum(t.FS, t.Plan.Output.Path); err != nil {
			return Done{}, err
		}
	}
	if err := t.work.WriteJSON(committedName, after); err != nil {
		return Done{}, err
	}
	return Done{Stage: StageCommit, State: "done", Rows: rows, Groups: rows, BytesWritten: bytes,
		Seconds: time.Since(started).Seconds()}, nil
}

// sealedMerges returns the merges that the output is made of: of several commits at once, all take the
// same. R2.
func (t *Tasks) sealedMerges(ctx context.Context, s *seal) ([]manifest, error) {
	name := "sealed/merge-" + s.hash[:16] + ".json" // what was merged of other packs has another seal
	made, err := t.readSeal(StageMerge, name)
	if err == nil {
		return made.Attempts, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	chosen, err := t.chooseMerges(ctx, s)
	if err != nil {
		return nil, err
	}
	if made, err = t.putSeal(name, &seal{Plan: t.Plan.ID, Stage: StageMerge, Attempts: chosen}); err != nil {
		return nil, err
	}
	return made.Attempts, nil
}

// chooseMerges returns the merges that the output is made of.
func (t *Tasks) chooseMerges(ctx context.Context, s *seal) ([]manifest, error) {
	names, err := t.attempts(StageMerge, "")
	if err != nil {
		return nil, err
	}
	all, err := t.manifests(ctx, StageMerge, names)
	if err != nil {
		return nil, err
	}
	var same []manifest
	for i := range all {
		if all[i].Sealed == s.hash {
			same = append(same, all[i])
		}
	}
	chosen, missing := cover(same, t.Plan.Partitions)
	switch {
	case len(missing) > 0 && len(same) < len(all):
		return nil, fmt.Errorf(
			"%w: merge: partitions %s were merged of other attempts than those that are sealed: merge them again",
			ErrNotDone, listed(missing))
	case len(missing) > 0:
		return nil, fmt.Errorf("%w: merge: %d of %d partitions are not merged: %s", ErrNotDone,
			len(missing), t.Plan.Partitions, listed(missing))
	case chosen == nil:
		return nil, fmt.Errorf(
			"%w: merge: the ranges that are merged overlap, and no choice of them is all partitions",
			ErrNotDone)
	}
	return chosen, nil
}

// assemble makes a directory of the files of merges.
func (t *Tasks) assemble(ctx context.Context, merges []manifest) error {
	schema, err := t.Plan.result()
	if err != nil {
		return err
	}
	var files []sink.Made
	for i := range merges {
		m := &merges[i]
		for n, f := range m.Files {
			from := t.work.Path(m.name() + "/" + f.Path)
			f.Path = t.finalName(m, f.Path, n)
			files = append(files, sink.Made{From: from, File: f})
		}
	}
	return sink.Assemble(t.Plan.Output.Path, schema, files, t.outputOptions(ctx))
}

// finalName returns the name in the output of the n-th file of a merge: the folders of columns, and a name
// that tells partition and plan, which no other plan writes.
func (t *Tasks) finalName(m *manifest, path string, n int) string {
	folder, file := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		folder, file = path[:i+1], path[i+1:]
	}
	return fmt.Sprintf("%spart-%05d-%05d-%s%s", folder, m.Task, n, t.Plan.ID, filepath.Ext(file))
}

// outputOptions returns how Commit writes the output.
func (t *Tasks) outputOptions(ctx context.Context) sink.Options {
	opt := t.sinkOptions(ctx)
	opt.Plan = t.Plan.ID
	opt.BeforePublish = t.checkOutput
	return opt
}

// errOvertaken marks a plan whose output another plan has made in the meantime.
var errOvertaken = fmt.Errorf("%w: its output is not what it was when the plan was made: plan again", ErrPlan)

// checkOutput refuses to publish where the output has become another's: a commit that slept for long does not
// replace the output of a later plan. A file does not tell whose it is: it is another's where a commit of this
// plan has noted what it wrote.
func (t *Tasks) checkOutput() error {
	before, err := t.remembered()
	if err != nil || before != nil || !t.Plan.Output.Overwrite || !t.Plan.Output.Directory() {
		return err
	}
	now, err := t.outputNow()
	if err != nil || now == nil || t.Plan.Replaces != nil && now.Same(*t.Plan.Replaces) {
		return err
	}
	if twin, err := t.remembered(); err != nil || twin != nil { // which has published since it was asked for
		return err
	}
	return fmt.Errorf("%w: %s", errOvertaken, t.Plan.Output.Path)
}

// removeOwn removes the objects that a commit of this plan has put below an output that is another's.
func (t *Tasks) removeOwn() error {
	objects, remote := vfs.ObjectsAt(t.FS, t.Plan.Output.Path)
	if !remote || !t.Plan.Output.Directory() {
		return nil
	}
	list, err := objects.List(strings.TrimRight(t.Plan.Output.Path, "/") + "/")
	errs := []error{err}
	for _, o := range list {
		if strings.Contains(workdir.BaseName(o.Name), "-"+t.Plan.ID+".") {
			errs = append(errs, t.FS.Remove(o.Name))
		}
	}
	return errors.Join(errs...)
}

// gather makes the output of the rows of merges, in the statement's order.
func (t *Tasks) gather(ctx context.Context, merges []manifest) error {
	q, err := t.finishing(ctx, func(input int) (scan.Source, error) {
		if of := &t.Plan.Inputs[input]; of.Read == ReadLate {
			return t.openFiles(ctx, of, of.Files)
		}
		return t.shapeOf(input)
	})
	if err != nil {
		return err
	}
	defer q.close()
	schema, err := t.Plan.result()
	if err != nil {
		return err
	}
	rows, err := q.InOrder(ctx, t.rowsOf(ctx, merges, q.Finished()))
	if err != nil {
		return err
	}
	if _, remote := vfs.ObjectsAt(t.FS, t.Plan.Output.Path); !remote {
		if err := t.FS.MkdirAll(filepath.Dir(t.Plan.Output.Path), 0o777); err != nil {
			rows.Release()
			return err
		}
	}
	return workdir.WriteRows(ctx, t.Plan.Output.Path, schema, t.outputOptions(ctx), rows)
}

// rowsOf reads the rows of merges, one after the other.
func (t *Tasks) rowsOf(ctx context.Context, merges []manifest, schema *arrow.Schema) array.RecordReader {
	var files []string
	for i := range merges {
		for _, f := range merges[i].Files {
			files = append(files, t.work.Path(merges[i].name()+"/"+f.Path))
		}
	}
	opt := scan.OpenOptions{Allocator: t.Engine.Allocator(), Budget: t.Engine.Budget()}
	rows := scan.InOrder(ctx, nested.CarriedSchema(schema), opt, func() (scan.Source, error) {
		if len(files) == 0 {
			return nil, nil
		}
		src, err := dataset.Open(ctx, files[:1],
			dataset.Options{FS: t.FS, NoHive: true, Format: dataset.FormatArrow, Budget: t.Engine.Budget()})
		if err != nil {
			return nil, fmt.Errorf("rows of a merge: %w", err)
		}
		files = files[1:]
		return src, nil
	})
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Owned(rows)
		if batch == nil {
			return nil, err
		}
		return nested.Batch(opt.Allocator, typedAs(schema, batch), batch)
	}, rows.Release)
}

// typedAs returns a schema with the types of a batch's columns, but of nested values: readers may return strings as
// dictionaries.
func typedAs(schema *arrow.Schema, batch arrow.RecordBatch) *arrow.Schema {
	fields := batch.Schema().Fields()
	for i, f := range schema.Fields() {
		if nested.Schema(arrow.NewSchema([]arrow.Field{f}, nil)).Field(0).Type != f.Type {
			fields[i].Type = f.Type
		}
	}
	return arrow.NewSchema(fields, nil)
}
