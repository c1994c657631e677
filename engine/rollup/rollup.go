package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

var (
	// ErrStatement marks a statement that cannot be rolled up, as it is or from where it reads and writes.
	ErrStatement = errors.New("the statement cannot be rolled up")

	// ErrOther marks a state of another statement, of other columns or of another version, and a directory of
	// something else. The message says what to do.
	ErrOther = errors.New("the state is another one's")

	// ErrDamaged marks files of a state that are not what was written.
	ErrDamaged = errors.New("the state is damaged")

	// ErrBusy marks a state at which another run is at work.
	ErrBusy = errors.New("another run is at work")

	// ErrOvertaken marks a run in whose place another has published the next state.
	ErrOvertaken = errors.New("another run was faster")

	// ErrChanged marks a change of the input that Options.OnChange refuses.
	ErrChanged = errors.New("the input has changed")
)

// OnChange says what a run does where files that did not change would be read again: since a file beside them has
// changed or gone whose part was not kept, or a table that is read whole is another one.
type OnChange string

// The ways. The default is OnChangeRebuild.
const (
	OnChangeRebuild OnChange = "rebuild" // reads them, and says so
	OnChangeFail    OnChange = "fail"    // ErrChanged
)

// Options say what is rolled up.
type Options struct {
	Statement string
	Tables    map[string]plan.Table // files that names behind FROM stand for
	Scan      dataset.Options       // how files are read

	Overflow      query.Overflow
	Deterministic bool
	TimeZone      string // as plan.Options

	State  string       // the directory of the state, or a URL
	Output string       // path or URL; "-" is Layout.Stdout
	Layout sink.Options // of the output

	// OnChange is for files whose parts were not kept.
	OnChange OnChange

	// KeepParts is of how many of the newest files all parts are kept, so that a change of one of them costs that file
	// alone. The default, 0, is all.
	KeepParts int

	// KeepDays leaves out files whose date, the last one in their path, is as many days or more before the newest date
	// of the table's files: they are not read, and their rows do not count. The default, 0, keeps all.
	KeepDays int

	// WholeBytes bounds the files of joined tables, which are read whole for each part that is made. The default is
	// 256 MiB.
	WholeBytes int64

	// FS is where the files, the state and the output are. The default is vfs.OS.
	FS vfs.FS

	// Version is the program's, for people.
	Version string

	bundled   int64         // testing knob: bundleBytes
	fresh     time.Duration // testing knob: freshFor
	saveEvery time.Duration // testing knob: savedEvery
}

const wholeBytesDefault = 256 << 20

// EnsureDefaults gives fields that are zero their defaults.
func (o *Options) EnsureDefaults() {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	o.Scan.FS, o.Layout.FS = o.FS, o.FS
	o.Scan.EnsureDefaults()
	o.OnChange, o.WholeBytes = cmp.Or(o.OnChange, OnChangeRebuild), cmp.Or(o.WholeBytes, wholeBytesDefault)
	o.bundled = cmp.Or(o.bundled, bundleBytes)
	o.fresh, o.saveEvery = cmp.Or(o.fresh, freshFor), cmp.Or(o.saveEvery, savedEvery)
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	check := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrStatement}, args...)...))
		}
	}
	check(o.State != "", "the directory of the state has no name")
	check(o.Output != "", "the output has no name")
	check(o.OnChange == OnChangeRebuild || o.OnChange == OnChangeFail, "on a change: want rebuild or fail, not %q",
		o.OnChange)
	check(o.KeepParts >= 0, "parts of %d files: want 0 or more", o.KeepParts)
	check(o.KeepDays >= 0, "files of %d days: want 0 or more", o.KeepDays)
	check(o.WholeBytes > 0, "whole tables of %d B: want 1 or more", o.WholeBytes)
	return errors.Join(errs...)
}

// Report tells what a run has done.
type Report struct {
	Generation int64 `json:"generation"` // of the state
	Files      int   `json:"files"`      // of the tables that have a part for each file
	Added      int   `json:"added"`
	Changed    int   `json:"changed"`
	Grown      int   `json:"grown"` // by lines that were appended
	Gone       int   `json:"gone"`
	LeftOut    int   `json:"left_out"`   // files that are older than Options.KeepDays
	Again      int   `json:"again"`      // read once more, though they did not change
	FilesRead  int   `json:"files_read"` // to make parts; of a file that has grown, its new lines
	RowsRead   int64 `json:"rows_read"`
	Merged     int   `json:"merged"`  // parts that were made of parts
	Sources    int   `json:"sources"` // parts that the answer is made of
	Rows       int64 `json:"rows"`    // of the answer

	Seconds float64      `json:"seconds"`
	Stats   engine.Stats `json:"-"` // of the merge that the answer was made by
}

// run is a roll-up at work.
type run struct {
	*Options
	eng    *engine.Engine
	dir    stateDir
	report Report

	before      *state // nil where there is none
	generation  int64  // of the newest manifest; 0 where there is none
	meaningHash string
	statement   *sql.Select
	tables      []*table // in the order in which the statement opens them
	asksColumns bool     // what columns tables have is asked of all files, and not of the state
	differences []difference
	stem        int // the number of the first table that has a part for each file
	query       query.Query
	partitions  int

	isNewest map[string]bool // by path: files of which all parts are kept

	leaves  []*node          // of all files, in order
	roots   []*node          // of the tree
	sources []*node          // parts that together are all files, in order: the answer is made of them
	total   int              // how many leaves the first of sources is a total of; 0 where it is none
	tried   int              // how many leaves there were when a total was made last
	have    map[string]*part // by key: parts whose packs are there

	wanted int // parts that are made of files

	// Guarded by mu while the run builds:
	mu      sync.Mutex
	written []*part    // by this run, which no manifest names
	made    []madePart // of files
	saved   time.Time  // when the run began to build, or published parts last
}

// Run makes the output of a statement, of the states of files that the state has, and of the files that are new.
// After an error the state and the output are what they were, or the state is the next, and the output the last.
func Run(ctx context.Context, eng *engine.Engine, o Options) (report Report, err error) {
	started := time.Now()
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return report, err
	}
	r := &run{Options: &o, eng: eng, dir: openDir(o.FS, o.State)}
	r.dir.Budget = eng.Budget()
	if _, remote := r.dir.Objects(); remote {
		r.dir.Copies = &workdir.Copies{Create: eng.CreateTemp}
	}
	err = spawn.Call(func() error { return r.locked(ctx) })
	err = errors.Join(err, r.dir.Copies.Close())
	r.report.Seconds = time.Since(started).Seconds()
	return r.report, err
}

// openDir returns the directory of a state.
func openDir(fsys vfs.FS, path string) stateDir {
	return stateDir{workdir.Dir{FS: fsys, Root: strings.TrimRight(workdir.Absolute(fsys, path), "/"), Damaged: ErrDamaged}}
}

// locked does all while no other run is at work.
func (r *run) locked(ctx context.Context) (err error) {
	unlock, err := r.dir.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	err = r.work(ctx)
	if errors.Is(err, errOutdated) {
		r.asksColumns, r.report, r.written, r.made = true, Report{}, nil, nil
		err = r.work(ctx)
	}
	return err
}

// work makes the parts that the state lacks, the state, and the output.
func (r *run) work(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.build(ctx); err != nil {
		r.takeBack()
		return r.ended(err)
	}
	if err := r.publish(); err != nil {
		if errors.Is(err, errTaken) {
			r.takeBack()
		}
		return err
	}
	return r.ended(r.answer(ctx))
}

// begin reads the state, and finds out which parts there are to be. Nothing is written.
func (r *run) begin(ctx context.Context) error {
	if err := r.openState(); err != nil {
		return err
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	return r.setNodes()
}

// ended returns why a run has failed: parts may be missing since another run has published, and has no use for them.
func (r *run) ended(err error) error {
	if errors.Is(err, ErrDamaged) || workdir.IsDamage(err) {
		if late := r.dir.isNewest(r.generation); errors.Is(late, ErrOvertaken) {
			return late
		}
	}
	return r.explain(err)
}

// explain says what to do about a state that is damaged.
func (r *run) explain(err error) error {
	if !errors.Is(err, ErrDamaged) {
		if !workdir.IsDamage(err) {
			return err
		}
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("%w; %s", err, r.dir.remedy())
}

// openState reads the state that is there, and refuses one of another statement.
func (r *run) openState() (err error) {
	if r.meaningHash, err = r.meaning(); err != nil {
		return err
	}
	r.before, r.generation, err = r.dir.current()
	switch {
	case errors.Is(err, ErrDamaged):
		return r.explain(err)
	case err != nil:
		return err
	case r.generation == 0:
		return r.dir.checkOwn()
	case r.before != nil && r.before.Meaning != r.meaningHash:
		return fmt.Errorf("%w: %s is of another statement, or of other options for reading: %s; give this statement a "+
			"directory of its own (%s), or: %s", ErrOther, r.dir.Root, r.before.Statement, knob.Name("rollup.State"),
			r.dir.remedy())
	}
	return nil
}

// setNodes finds out which parts there are to be, and which are there.
func (r *run) setNodes() error {
	r.have = map[string]*part{}
	r.differences = make([]difference, len(r.tables))
	if r.before != nil {
		same, err := sameQuery(r.query, r.before.Query)
		if err == nil && (!same || len(r.before.Inputs) != len(r.tables)) {
			err = fmt.Errorf("%w: %s was made by mpga %s, whose plan has the aggregation %s, and this one has %s: %s", ErrOther,
				r.dir.Root, r.before.Version, r.before.Query.String(), r.query.String(), r.dir.remedy())
		}
		if err != nil {
			return r.explainColumns(err)
		}
		if err := r.renumber(); err != nil {
			return err
		}
		for i := range r.before.Parts {
			r.have[r.before.Parts[i].Key] = &r.before.Parts[i]
		}
	}
	for i, t := range r.tables {
		var was []file
		if r.before != nil {
			was = r.before.Inputs[i].Files
		}
		d := compare(was, t.Files)
		r.differences[i] = d
		if t.Read == readParts {
			r.report.Files += len(t.Files)
			r.report.Added, r.report.Changed = r.report.Added+len(d.added), r.report.Changed+len(d.changed)
			r.report.Grown, r.report.Gone = r.report.Grown+len(d.grown), r.report.Gone+len(d.gone)
		}
	}
	r.isNewest = r.newest()
	r.leaves = r.makeLeaves()
	r.roots = tree(r.leaves)
	return nil
}

// renumber has what parts say of columns say it of the places that these have now.
func (r *run) renumber() error {
	for i, t := range r.tables {
		before, err := r.columnsBefore(i)
		if err != nil {
			return err
		}
		now := t.source.Schema()
		if before.Equal(now) {
			continue
		}
		for k := range r.before.Parts {
			full := &r.before.Parts[k].Full[i]
			for n, c := range *full {
				places := now.FieldIndices(before.Field(c).Name)
				(*full)[n] = append(places, -1)[0]
			}
			*full = slices.DeleteFunc(*full, func(c int) bool { return c < 0 })
		}
	}
	return nil
}

// newState returns a state of the next generation without parts.
func (r *run) newState() *state {
	return &state{
		Generation: r.generation + 1, Version: r.Version, Statement: r.Statement, Meaning: r.meaningHash, Query: r.query,
		TimeZone:   r.TimeZone,
		Partitions: r.partitions, Tables: slices.Sorted(maps.Keys(r.Tables)),
	}
}

// publish makes the parts the newest state, where they are another one.
func (r *run) publish() error {
	s := r.newState()
	s.Parts = r.kept()
	for _, t := range r.tables {
		s.Inputs = append(s.Inputs, t.input)
	}
	for _, n := range r.sources {
		s.Sources = append(s.Sources, n.key)
	}
	if first := r.sources[0]; first.level == totalLevel {
		s.Total = r.total
	}
	s.Tried = r.tried
	r.report.Sources = len(r.sources)
	if r.before != nil && s.isLike(r.before) {
		r.report.Generation = r.generation
		return nil
	}
	if err := r.dir.publish(s); err != nil {
		return err
	}
	r.dir.removeReplaced(r.generation, r.have, s)
	if _, remote := r.dir.Objects(); !remote { // the lock is held: all else is of runs that were killed
		_, _ = r.dir.collect(s, 0, false) // what cannot be removed is in nobody's way
	}
	r.generation, r.report.Generation = s.Generation, s.Generation
	return nil
}

// answer makes the output of the state.
func (r *run) answer(ctx context.Context) (err error) {
	q, parts, err := r.finishing(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	packs := make([]workdir.Pack, len(r.sources))
	for i, n := range r.sources {
		packs[i] = r.have[n.key].pack()
	}
	p, err := r.dir.OpenPacks(ctx, r.eng.CreateTemp, packs, 0, r.partitions-1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	groups, err := r.eng.Merge(ctx, p.Sources, partial.MergeOptions{Runs: p.Runs})
	if err != nil {
		return err
	}
	rows, err := parts.Finish(ctx, parts.WithNothing(ctx, groups))
	if err != nil {
		return err
	}
	if rows, err = parts.InOrder(ctx, rows); err != nil {
		return err
	}
	if err := workdir.WriteRows(ctx, r.Output, q.Schema(), r.sinkOptions(ctx), r.counted(rows)); err != nil {
		return err
	}
	r.report.Stats = groups.Stats()
	return nil
}

// finishing plans the statement for groups that are there, by what is known of the tables that they were made of.
func (r *run) finishing(ctx context.Context) (*plan.Query, *plan.Parts, error) {
	full := r.fullOf(r.sources)
	var stem scan.Source
	q, err := r.prepare(ctx, func(i int) (scan.Source, error) {
		t := r.tables[i]
		if t.Read == readLate || t.Read == readWhole {
			return r.open(ctx, t, t.Files...)
		}
		columns, err := shapeOf(t)
		if err != nil {
			return nil, err
		}
		of := &shape{columns, columns.Stats()}
		of.stats.Columns = make([]scan.ColumnStats, columns.Schema().NumFields())
		for _, c := range full[i] {
			of.stats.Columns[c].NoNulls = true
		}
		if i == r.stem {
			stem = of
		}
		return of, nil
	})
	if err != nil {
		return nil, nil, err
	}
	parts, err := q.PartsOf(stem)
	if err != nil {
		q.Close()
		return nil, nil, fmt.Errorf("%w: %w", ErrStatement, err)
	}
	return q, parts, nil
}

// sinkOptions returns how the output is written.
func (r *run) sinkOptions(ctx context.Context) sink.Options {
	opt := r.Layout
	opt.Update, opt.Run = opt.Directory(), strconv.FormatInt(r.report.Generation, 10)
	opt.Query = r.Statement
	opt.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return r.eng.Statement(ctx).Collector(ctx, schema, by, purpose)
	}
	opt.BeforePublish = func() error { return r.dir.isNewest(r.generation) } // U3
	return opt
}

// counted takes over rows, and counts them.
func (r *run) counted(rows array.RecordReader) array.RecordReader {
	return recordreader.New(rows.Schema(), func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Owned(rows)
		if batch != nil {
			r.report.Rows += batch.NumRows()
		}
		return batch, err
	}, rows.Release)
}
