package distributed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vfs"
)

// Request is what a plan is made of.
type Request struct {
	Name      string // for people
	Statement string

	// Tables are the files that names behind FROM stand for; a statement reads one. Scan says how
	// files are read.
	Tables map[string]plan.Table
	Scan   dataset.Options

	Overflow      query.Overflow
	Deterministic bool

	Output  string       // path or URL
	Layout  sink.Options // of the output
	Work    string       // directory, or URL, where the plan has a directory of its own
	Copy    string       // file or URL where the caller writes the plan once more; "" and - for none
	Version string       // of the program

	// SplitBytes is about what a split reads. The default is 128 MiB; with Slots, as much as leaves three
	// splits for each, up to 16 GiB; else more where a split would have fewer than eight rows for each
	// expected group, as far as there are 48 splits.
	SplitBytes int64

	// Slots is how many tasks will run at the same time. The default, 0, is not known.
	Slots int

	// Splits is how many splits there are, or fewer where the input has fewer parts. The default, 0, is by
	// SplitBytes.
	Splits int

	// Partitions is how many blobs a pack has, a power of two up to 2,048. The default, 0, is by the
	// groups that a sample lets expect: one for each 16,384, and 64 where it tells nothing.
	Partitions int

	// Merges is how many tasks merge partitions. The default, 0, has one for each 64 MiB of states.
	Merges int

	// Combines is how many nodes the tree between splits and merges has; -1 is no tree. The default, 0,
	// has a tree where there are more than 64 splits and a merge reads less than 64 KiB of each.
	Combines int
}

// validate reports fields that are out of their bounds.
func (r *Request) validate() error {
	var errs []error
	if r.Output == "" {
		errs = append(errs, errors.New("the output has no name"))
	}
	if r.Work == "" {
		errs = append(errs, errors.New("the work directory has no name"))
	}
	return errors.Join(append(errs, r.ValidateCounts())...)
}

// planned is the table of a statement that is planned.
type planned struct {
	files  []string
	scan   dataset.Options
	known  *dataset.Known
	source scan.Source
}

// New plans a request. Files are opened and sampled, and nothing is written.
func New(ctx context.Context, eng *engine.Engine, fsys vfs.FS, r Request) (*Plan, error) {
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	statement, err := sql.Parse(r.Statement)
	if err != nil {
		return nil, err
	}
	if tables := statement.Leaves(); len(tables) > 1 {
		at := tables[1].Place()
		return nil, statement.ErrorAt(at, "not supported: several tables in a distributed statement, which reads one")
	}
	var table *planned
	opt := plan.Options{
		Tables: r.Tables, Scan: r.Scan, Overflow: r.Overflow, Deterministic: r.Deterministic, OneStep: true,
		Open: func(ctx context.Context, files []string, opt dataset.Options) (scan.Source, error) {
			var err error
			table, err = openTable(ctx, fsys, files, opt)
			if err != nil {
				return nil, err
			}
			return table.source, nil
		},
	}
	q, err := plan.Prepare(ctx, eng, statement, opt)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	source, grouping, err := q.Grouping()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	case table == nil:
		return nil, fmt.Errorf("%w: the statement reads no files", ErrPlan)
	}
	p := &Plan{
		Format: planFormat, Version: r.Version, Name: r.Name, Statement: r.Statement,
		Overflow: r.Overflow, Deterministic: r.Deterministic, Query: grouping, Ordered: q.Ordered(),
	}
	p.Table = namedTable(statement, r.Tables)
	if err := p.setInput(ctx, table); err != nil {
		return nil, err
	}
	if err := p.setOutput(&r, q); err != nil {
		return nil, err
	}
	if err := p.setTasks(ctx, eng, &r, table, source); err != nil {
		return nil, err
	}
	if p.ID, err = p.hash(); err != nil {
		return nil, err
	}
	p.Work = (workDir{fs: fsys, root: absolute(fsys, r.Work)}).path(p.ID)
	if err := p.checkPlaces(fsys, r.Copy); err != nil {
		return nil, err
	}
	return p, p.setReplaced(fsys)
}

// openTable opens the files of a table, by names that mean the same on other hosts.
func openTable(ctx context.Context, fsys vfs.FS, files []string, opt dataset.Options) (*planned, error) {
	t := &planned{scan: opt}
	t.scan.CSV.Rejects = nil // which rows are left out nobody keeps
	for _, f := range files {
		if f == "-" {
			return nil, fmt.Errorf("%w: standard input cannot be read in parts: give files", ErrPlan)
		}
		t.files = append(t.files, absolute(fsys, f))
	}
	t.scan.FS = fsys
	var err error
	t.source, t.known, err = dataset.OpenKnown(ctx, t.files, t.scan)
	return t, err
}

// absolute returns a path that means the same in another directory.
func absolute(fsys vfs.FS, path string) string {
	if _, ok := vfs.ObjectsAt(fsys, path); ok {
		return strings.TrimRight(path, "/")
	}
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// namedTable returns the name of the table behind FROM, at any depth: as it is written there, or else one
// that differs in case alone.
func namedTable(s *sql.Select, tables map[string]plan.Table) string {
	leaves := s.Leaves()
	if len(leaves) != 1 {
		return ""
	}
	of, ok := leaves[0].(*sql.Table)
	if !ok {
		return ""
	}
	found := ""
	for name := range tables {
		if name == of.Name {
			return name
		}
		if strings.EqualFold(name, of.Name) && (found == "" || name < found) {
			found = name
		}
	}
	return found
}

// setInput notes which files are read, and how.
func (p *Plan) setInput(ctx context.Context, t *planned) error {
	var err error
	if p.Files, err = dataset.Identities(ctx, t.files, t.scan); err != nil {
		return err
	}
	for _, f := range p.Files {
		if strings.Contains(f.Path, redact.Hidden) {
			return fmt.Errorf("%w: %s has parameters or a user, which do not go into a plan", ErrPlan, f.Path)
		}
	}
	if redact.Text(p.Statement) != p.Statement {
		return fmt.Errorf("%w: a URL in the statement has a secret, which does not go into a plan: %s",
			ErrPlan, redact.Text(p.Statement))
	}
	p.Scan = t.scan
	p.Scan.Known = t.known
	return nil
}

// setOutput notes the columns of the result, and where they go.
func (p *Plan) setOutput(r *Request, q *plan.Query) (err error) {
	schema := q.Schema()
	if p.Result, err = dataset.EncodeSchema(schema); err != nil {
		return err
	}
	for _, f := range schema.Fields() {
		p.Columns = append(p.Columns, Column{Name: f.Name, Type: f.Type.String(), Nullable: f.Nullable})
	}
	layout := r.Layout
	if sink.IsDevice(r.Output) {
		return fmt.Errorf("%w: the output is a file or a directory that other hosts can read, not %s", ErrPlan, r.Output)
	}
	if _, err := sink.FormatOf(r.Output); err != nil || layout.Directory() {
		layout.Manifest = true // a name without a known ending is a directory's, and by its manifest a directory is known
	}
	if err := sink.Check(r.Output, schema, layout); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	settled, err := sink.Settle(r.Output, layout)
	if err != nil {
		return err
	}
	layout.Format = settled.Format
	p.Output = Output{Path: absolute(layout.FS, r.Output), Options: layout}
	return nil
}

// setTasks cuts the input, and decides how many tasks each stage has.
func (p *Plan) setTasks(ctx context.Context, eng *engine.Engine, r *Request, t *planned, source scan.Source) error {
	bound, err := rowdata.BindCanonical(p.Query, source.Schema(), source.Stats().Columns)
	if err != nil {
		return err
	}
	columns := make([]int, len(bound.Columns))
	for i := range bound.Columns {
		columns[i] = bound.Columns[i].Index
	}
	splits, err := source.Splits(ctx, columns)
	if err != nil {
		return err
	}
	starts := scan.FileStarts(t.source)
	if starts == nil {
		return fmt.Errorf("%w: the input is no table of files", ErrPlan)
	}
	forecast, err := eng.Explain(ctx, source, p.Query)
	if err != nil {
		return err
	}
	p.Groups = forecast.Forecast.Groups
	var bytes int64
	for _, s := range splits {
		bytes += s.Bytes()
	}
	expected := Expected{
		Bytes: bytes, Rows: forecast.Forecast.Rows, Groups: p.Groups, State: 8 * int64(bound.StateLayout().Stride),
		Values: slices.ContainsFunc(bound.Folds, func(f rowdata.Fold) bool { return f.Grows() }),
	}
	p.Splits = cut(splits, starts, r.splits(expected))
	n := r.count(len(p.Splits), expected)
	if n.Splits*n.Partitions > blobsMax {
		return fmt.Errorf(
			"%w: %d splits of %d partitions have more than %d blobs: cut the input into fewer splits, or "+
				"the keys into fewer partitions",
			ErrPlan, n.Splits, n.Partitions, blobsMax)
	}
	p.Partitions, p.Combines, p.Merges = n.Partitions, n.Combines, ranges(n.Partitions, n.Merges)
	p.Stages = p.stages()
	return nil
}

// checkPlaces refuses an output that has the plan, or its work directory, in its own place or below it: Commit
// would replace what it works with.
func (p *Plan) checkPlaces(fsys vfs.FS, copied string) error {
	out := resolved(fsys, p.Output.Path)
	for _, place := range []struct{ what, path string }{{"the plan", copied}, {"the work directory", p.Work}} {
		if place.path == "" || place.path == "-" {
			continue
		}
		at := resolved(fsys, place.path)
		if at == out || strings.HasPrefix(at, out+"/") {
			return fmt.Errorf("%w: %s %s is in the place of the output %s, or below it: name another place for one of them",
				ErrPlan, place.what, place.path, p.Output.Path)
		}
	}
	return nil
}

// resolved returns a path with slashes. It follows links as far as the path exists.
func resolved(fsys vfs.FS, path string) string {
	path = absolute(fsys, path)
	if _, ok := vfs.ObjectsAt(fsys, path); ok {
		return path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.ToSlash(filepath.Join(real, rest))
		}
		if filepath.Dir(at) == at {
			return filepath.ToSlash(path)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// setReplaced notes the output that Commit replaces, and refuses one that it would not replace.
func (p *Plan) setReplaced(fsys vfs.FS) error {
	t := Tasks{Plan: p, FS: fsys}.Open()
	before, err := t.remembered()
	if err != nil || before != nil || !p.Output.Directory() {
		return err
	}
	now, err := t.outputNow()
	if err == nil && now != nil && p.Output.Overwrite {
		p.Replaces = now
	} else if err == nil && now != nil {
		err = fmt.Errorf("%w: %s is there: name another directory, or replace it (--overwrite)", ErrPlan, p.Output.Path)
	}
	return err
}

// Write writes a plan to its work directory, where all tasks can read it, and returns its name there.
func (p *Plan) Write(fsys vfs.FS) (string, error) {
	text, err := p.Encode()
	if err != nil {
		return "", err
	}
	return p.File(), (workDir{fs: fsys, root: p.Work}).write(planFile, writerOf(text))
}
