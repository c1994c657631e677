package distributed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vfs"
)

// Request is what a plan is made of.
type Request struct {
	Name      string // for people
	Statement string

	// Tables are the files that names behind FROM stand for. Scan says how files are read.
	Tables map[string]plan.Table
	Scan   dataset.Options

	Overflow      query.Overflow
	Deterministic bool
	TimeZone      string // as plan.Options

	Output  string       // path or URL
	Layout  sink.Options // of the output
	Work    string       // directory, or URL, where the plan has a directory of its own
	Copy    string       // file or URL where the caller writes the plan once more; "" and - for none
	Version string       // of the program

	// SplitBytes is about what a split reads. The default is 128 MiB; with Slots, as much as leaves three
	// splits for each, up to 16 GiB; else more where a split would have fewer than eight rows for each
	// expected group, as far as there are 48 splits.
	SplitBytes int64

	// BroadcastBytes bounds the files of the tables that each task reads whole: of all tables of a join but the largest.
	// The default is 256 MiB.
	BroadcastBytes int64

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

// planned is a table of a statement that is planned.
type planned struct {
	files  []string
	scan   dataset.Options
	known  *dataset.Known
	source scan.Source
	input  Input
}

// planner makes a plan of a request.
type planner struct {
	*Request
	fs     vfs.FS
	eng    *engine.Engine
	tables []*planned // in the order in which the statement opens them
}

// of returns the table that the statement has opened as a source; nil of none.
func (p *planner) of(source scan.Source) *planned {
	for _, t := range p.tables {
		if t.source == source {
			return t
		}
	}
	return nil
}

// bytes returns the bytes of the files of a source; -1 where it has none.
func (p *planner) bytes(source scan.Source) int64 {
	if t := p.of(source); t != nil {
		return t.input.bytes()
	}
	return -1
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
	made := &planner{Request: &r, fs: fsys, eng: eng}
	q, err := made.prepare(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	division, err := made.divide(q, statement)
	if err != nil {
		return nil, err
	}
	if division.Derived && !r.Deterministic {
		r.Deterministic = true // groups of tables that each task reads whole are equal to the bit
		return New(ctx, eng, fsys, r)
	}
	p := &Plan{
		Format: planFormat, Version: r.Version, Name: r.Name, Statement: r.Statement,
		Overflow: r.Overflow, Deterministic: r.Deterministic, TimeZone: r.TimeZone, Ordered: division.Ordered(),
	}
	p.Tables = namedTables(statement, r.Tables)
	if err := p.setInputs(made, division); err != nil {
		return nil, err
	}
	if err := p.setOutput(&r, q); err != nil {
		return nil, err
	}
	if err := p.setExchange(made, division); err != nil {
		return nil, err
	}
	if err := p.setTasks(ctx, made, division); err != nil {
		return nil, err
	}
	if p.ID, err = p.hash(); err != nil {
		return nil, err
	}
	p.Work = workDir(fsys, workdir.Absolute(fsys, r.Work), nil).Path(p.ID)
	if err := p.checkPlaces(fsys, r.Copy); err != nil {
		return nil, err
	}
	return p, p.setReplaced(fsys)
}

// refuseRollup refuses a roll-up behind FROM.
func refuseRollup(context.Context, *engine.Engine, plan.Rollup, dataset.Options) (scan.Source, error) {
	return nil, fmt.Errorf("%w: a roll-up is read by one process: mpga sql reads it", ErrPlan)
}

// prepare plans the statement, and notes the tables that it opens.
func (p *planner) prepare(ctx context.Context, statement *sql.Select) (*plan.Query, error) {
	return plan.Prepare(ctx, p.eng, statement, plan.Options{
		Tables: p.Tables, Scan: p.Scan, Overflow: p.Overflow, Deterministic: p.Deterministic, OneStep: true,
		TimeZone: p.TimeZone,
		Rollup:   refuseRollup,
		Open: func(ctx context.Context, files []string, opt dataset.Options) (scan.Source, error) {
			table, err := openTable(ctx, p.fs, files, opt)
			if err != nil {
				return nil, err
			}
			p.tables = append(p.tables, table)
			return table.source, nil
		},
	})
}

// divide chooses the tables that have splits. It refuses a statement that has none, and tables that are too large to be
// read whole by each task.
func (p *planner) divide(q *plan.Query, statement *sql.Select) (*plan.Division, error) {
	made, err := q.Divide(p.bytes, p.broadcastBytes())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if err := checkRepeatable(statement); err != nil {
		return nil, err
	}
	var all int64
	var each []string
	for _, whole := range slices.Concat(made.Whole, made.Late) {
		bytes := p.bytes(whole.Table)
		all += bytes
		each = append(each, fmt.Sprintf("%s of %s, since %s", whole.Name, humanize.IBytes(uint64(bytes)), whole.Why))
	}
	if limit := p.broadcastBytes(); all > limit {
		unsent := ""
		if made.Unsent != "" {
			unsent = "; rows are not sent to other tasks, since " + made.Unsent
		}
		return nil, knob.Errorf("%w: tables of %s would be read whole, by each task or by the commit, more than %s allows "+
			"(%s): %s%s; allow more, or join less of them: write what the join needs to a file first", ErrPlan,
			humanize.IBytes(uint64(all)), knob.Name("distributed.BroadcastBytes"), humanize.IBytes(uint64(limit)),
			strings.Join(each, "; "), unsent)
	}
	return made, nil
}

// broadcastBytes returns the most bytes of tables that each task reads whole.
func (r *Request) broadcastBytes() int64 { return cmp.Or(r.BroadcastBytes, broadcastBytesDefault) }

// openTable opens the files of a table, by names that mean the same on other hosts.
func openTable(ctx context.Context, fsys vfs.FS, files []string, opt dataset.Options) (*planned, error) {
	t := &planned{scan: opt}
	t.scan.CSV.Rejects = nil // which rows are left out nobody keeps
	for _, f := range files {
		if f == "-" {
			return nil, fmt.Errorf("%w: standard input cannot be read in parts: give files", ErrPlan)
		}
		t.files = append(t.files, workdir.Absolute(fsys, f))
	}
	t.scan.FS = fsys
	var err error
	if t.source, t.known, err = dataset.OpenKnown(ctx, t.files, t.scan); err != nil {
		return nil, err
	}
	t.input.Files, err = dataset.Identities(ctx, t.files, t.scan)
	t.input.Scan = t.scan
	t.input.Scan.Known = t.known
	return t, err
}

// namedTables returns the names of the tables behind FROM, at any depth: as they are written there, or else such that
// differ in case alone.
func namedTables(s *sql.Select, tables map[string]plan.Table) (names []string) {
	for _, leaf := range s.Leaves() {
		of, ok := leaf.(*sql.Table)
		if !ok {
			continue
		}
		found := ""
		for name := range tables {
			isOther := found != of.Name && strings.EqualFold(name, of.Name) && (found == "" || name < found)
			if name == of.Name || isOther {
				found = name
			}
		}
		if found != "" && !slices.Contains(names, found) {
			names = append(names, found)
		}
	}
	return names
}

// setInputs notes which files are read, and how.
func (p *Plan) setInputs(made *planner, division *plan.Division) error {
	for _, t := range made.tables {
		for _, f := range t.input.Files {
			if strings.Contains(f.Path, redact.Hidden) {
				return fmt.Errorf("%w: %s has parameters or a user, which do not go into a plan", ErrPlan, f.Path)
			}
		}
		t.input.Read = readingOf(t.source, division)
		p.Inputs = append(p.Inputs, t.input)
	}
	if redact.Text(p.Statement) != p.Statement {
		return fmt.Errorf("%w: a URL in the statement has a secret, which does not go into a plan: %s",
			ErrPlan, redact.Text(p.Statement))
	}
	return nil
}

// readingOf returns how a table is read.
func readingOf(table scan.Source, division *plan.Division) Reading {
	switch {
	case slices.ContainsFunc(division.Stems, func(s plan.Stem) bool { return s.Table == table }):
		return ReadSplits
	case slices.ContainsFunc(division.Whole, func(w plan.WholeTable) bool { return w.Table == table }):
		return ReadWhole
	case slices.ContainsFunc(division.Late, func(w plan.WholeTable) bool { return w.Table == table }):
		return ReadLate
	}
	return ReadNone
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
	p.Output = Output{Path: workdir.Absolute(layout.FS, r.Output), Options: layout}
	return nil
}

// stem is the rows of a table that is divided.
type stem struct {
	input  int
	splits []scan.Split
	starts []uint64 // positions of the first rows of the files
	bytes  int64
}

// stems returns the rows of the tables that are divided.
func (p *planner) stems(ctx context.Context, division *plan.Division) (list []stem, err error) {
	for _, of := range division.Stems {
		s := stem{input: slices.Index(p.tables, p.of(of.Table)), starts: scan.FileStarts(of.Table)}
		if s.starts == nil {
			return nil, fmt.Errorf("%w: the input is no table of files", ErrPlan)
		}
		if s.splits, err = of.Rows.Splits(ctx, of.Columns); err != nil {
			return nil, err
		}
		for _, split := range s.splits {
			s.bytes += split.Bytes()
		}
		list = append(list, s)
	}
	return list, nil
}

// setTasks cuts the inputs, and decides how many tasks each stage has.
func (p *Plan) setTasks(ctx context.Context, made *planner, division *plan.Division) error {
	stems, err := made.stems(ctx, division)
	if err != nil {
		return err
	}
	expected, err := p.expected(ctx, made, stems, division)
	if err != nil {
		return err
	}
	p.Groups = expected.Groups
	wanted := made.splits(expected)
	for _, s := range stems {
		if len(s.splits) == 0 && len(stems) > 1 {
			continue
		}
		share := wanted
		if expected.Bytes > 0 {
			share = max(int(float64(wanted)*float64(s.bytes)/float64(expected.Bytes)+0.5), 1)
		}
		for _, split := range cut(s.splits, s.starts, share) {
			split.Input = s.input
			p.Splits = append(p.Splits, split)
		}
	}
	p.addUnread()
	if len(p.Splits) == 0 {
		p.Splits = []Split{{Input: stems[0].input, None: true}}
	}
	n := made.count(len(p.Splits), expected)
	if p.Exchange != nil {
		n = made.exchanged(n, expected.Bytes, p.Exchange.Rows)
		p.Exchange.Partitions = n.Exchanged
	}
	if n.Splits*max(n.Partitions, n.Exchanged) > blobsMax {
		return fmt.Errorf(
			"%w: %d splits of %d partitions have more than %d blobs: cut the input into fewer splits, or "+
				"the keys into fewer partitions",
			ErrPlan, n.Splits, max(n.Partitions, n.Exchanged), blobsMax)
	}
	p.Partitions, p.Combines, p.Merges = n.Partitions, n.Combines, ranges(n.Partitions, n.Merges)
	p.Stages = p.stages()
	return nil
}

// addUnread gives each side of rows that change tasks a split, which reads what has no splits: constants of a union.
func (p *Plan) addUnread() {
	if p.Exchange == nil {
		return
	}
	for side, sent := range p.Exchange.Sides {
		if !slices.ContainsFunc(p.Splits, func(s Split) bool { return p.Exchange.sideOf(s.Input) == side }) {
			p.Splits = append(p.Splits, Split{Input: sent.Inputs[0], None: true})
		}
	}
}

// expected notes the aggregation, and returns what is expected of the inputs and the groups: by a sample of one table,
// or else by the statistics of all.
func (p *Plan) expected(
	ctx context.Context, made *planner, stems []stem, division *plan.Division,
) (e Expected, err error) {
	e.Groups = -1
	var g *plan.Grouping
	if !division.IsRows() {
		g = division.Grouping(ctx, plan.Part{})
		defer g.Close()
		p.Query = g.Query
		bound, err := rowdata.BindCanonical(p.Query, g.Source.Schema(), g.Source.Stats().Columns)
		if err != nil {
			return e, err
		}
		e = Expected{
			Groups: g.Groups, State: 8 * int64(bound.StateLayout().Stride),
			Values: slices.ContainsFunc(bound.Folds, func(f rowdata.Fold) bool { return f.Grows() }),
		}
	}
	for _, s := range stems {
		e.Bytes += s.bytes
		for _, split := range s.splits {
			if e.Rows < 0 || split.Rows() < 0 {
				e.Rows = -1
			} else {
				e.Rows += split.Rows()
			}
		}
	}
	if e.Rows < 0 {
		e.Groups = min(e.Groups, max(e.Bytes/groupBytesLeast, 1))
	}
	if division.IsTable() {
		forecast, err := made.eng.Explain(ctx, g.Source, p.Query)
		if err != nil {
			return e, err
		}
		e.Groups, e.Rows = forecast.Forecast.Groups, forecast.Forecast.Rows
	}
	return e, nil
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
	path = workdir.Absolute(fsys, path)
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
	if err != nil || before != nil {
		return err
	}
	if p.Output.Directory() {
		now, err := t.outputNow()
		switch {
		case err != nil:
			return err
		case now != nil && p.Output.Overwrite:
			p.Replaces = now
			return nil
		case now != nil:
			return fmt.Errorf("%w: %s is there: name another directory, or replace it (--overwrite)", ErrPlan, p.Output.Path)
		}
	}
	layout := p.Output.Options
	layout.FS, layout.Plan = fsys, p.ID
	if err := sink.CheckPlace(p.Output.Path, layout); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return nil
}

// Write writes a plan to its work directory, where all tasks can read it, and returns its name there.
func (p *Plan) Write(fsys vfs.FS) (string, error) {
	text, err := p.Encode()
	if err != nil {
		return "", err
	}
	return p.File(), workDir(fsys, p.Work, nil).Write(planFile, workdir.TextWriter(text))
}

// checkRepeatable refuses a statement whose answer is another one in each attempt of a task.
func checkRepeatable(statement *sql.Select) error {
	if of := statement.Unseeded(); of != nil {
		at := statement.ErrorAt(of.At, "not supported: a sample without REPEATABLE (seed) in a distributed statement, "+
			"whose tasks take one sample each")
		return fmt.Errorf("%w: %w", ErrPlan, at)
	}
	if of := statement.Drawn; of != nil {
		at := statement.ErrorAt(of.At, "not supported: "+of.String()+" in a distributed statement: of a task, another "+
			"attempt has other values; hash(...) of columns is the same")
		return fmt.Errorf("%w: %w", ErrPlan, at)
	}
	if of := statement.Moment; of != nil {
		at := statement.ErrorAt(of.At, "not supported: "+of.String()+" in a distributed statement, whose tasks begin "+
			"at times of "+
			"their own; write the time")
		return fmt.Errorf("%w: %w", ErrPlan, at)
	}
	return nil
}
