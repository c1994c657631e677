package job

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/vfs"
)

// link finds the steps before a step whose outputs its statement reads, by their names.
func (j *Job) link(i int) {
	s := &j.Steps[i]
	s.reads = nil
	if s.SQL == "" {
		return
	}
	statement, err := sql.Parse(s.SQL)
	if err != nil {
		return // Validate tells
	}
	for _, of := range statement.Leaves() {
		table, ok := of.(*sql.Table)
		if !ok || len(table.In) > 0 || table.Name == inputTable {
			continue
		}
		for k := range j.Steps[:i] {
			if before := &j.Steps[k]; before.Name == table.Name && !slices.Contains(s.reads, before) {
				s.reads = append(s.reads, before)
			}
		}
	}
}

// checkFrom refuses a statement that reads anything but its step's input and the outputs of steps before it: a job
// could not tell whether that has changed.
func (s *Step) checkFrom(statement *sql.Select) error {
	names := []string{inputTable}
	for _, before := range s.reads {
		names = append(names, before.Name)
	}
	for _, of := range statement.Leaves() {
		table, ok := of.(*sql.Table)
		switch {
		case !ok || !slices.Contains(names, table.Name):
			const why = "a step reads the files of its from field: write FROM input; " +
				"or what a step before it writes, by its name"
			offer := ""
			if ok {
				offer = nearest.Offer(table.Name, names)
			}
			return statement.ErrorAt(of.Place(), why+offer)
		case table.Name == inputTable && len(s.From) == 0:
			return statement.ErrorAt(of.Place(), "input is what the step's from field names, and there is none")
		}
	}
	return nil
}

// options returns how another step reads the output.
func (o *Output) options(fsys vfs.FS) dataset.Options {
	return dataset.Options{FS: fsys, Format: dataset.Format(o.Format)}
}

// readable refuses an output that a step reads by its name, in a format that is for people.
func (s *Step) readable() error {
	for _, before := range s.reads {
		written, err := before.sinkOptions()
		if err == nil && !slices.Contains(dataset.FormatNames(), string(written.Format)) {
			return fmt.Errorf("step %s writes %s, which no step reads", before.Name, written.Format)
		}
	}
	return nil
}

// tables returns the outputs of steps before, by their names in the step's statement.
func (s *Step) tables(fsys vfs.FS) map[string]plan.Table {
	tables := map[string]plan.Table{}
	for _, before := range s.reads {
		opt := before.Output.options(fsys)
		tables[before.Name] = plan.Table{Files: []string{before.Output.Path}, Scan: &opt}
	}
	return tables
}

// inputs lists all files that a step reads.
func (s *Step) inputs(ctx context.Context, opt dataset.Options) (files []dataset.Identity, err error) {
	if len(s.From) > 0 {
		if files, err = dataset.Identities(ctx, s.From, opt); err != nil {
			return nil, err
		}
	}
	for _, before := range s.reads {
		more, err := dataset.Identities(ctx, []string{before.Output.Path}, before.Output.options(opt.FS))
		if err != nil {
			return nil, fmt.Errorf("what step %s writes: %w", before.Name, err)
		}
		files = append(files, more...)
	}
	return files, nil
}

// open opens the files of the step's from field; nil where it has none.
func (s *Step) open(ctx context.Context, opt dataset.Options) (scan.Source, error) {
	if len(s.From) == 0 {
		return nil, nil
	}
	opt.ReadFor(s.SQL)
	return dataset.Open(ctx, s.From, opt)
}

// schemaOfFiles returns the columns of the files of the step's from field: none where it has no such field.
func (s *Step) schemaOfFiles(ctx context.Context, opt dataset.Options) (*arrow.Schema, error) {
	source, err := s.open(ctx, opt)
	if err != nil || source == nil {
		return arrow.NewSchema(nil, nil), err
	}
	return source.Schema(), nil
}

// willReadAll returns what is known of the columns of the files of a step's from field, where steps before it write
// some of what it reads.
func (p *Plan) willReadAll(
	ctx context.Context, s *Step, writers []*StepPlan, opt *dataset.Options,
) (in columnsRead, err error) {
	isNamed := func(w *StepPlan) bool {
		path := filepath.Clean(w.Step.Output.Path)
		return !slices.ContainsFunc(s.From, func(pattern string) bool { return readsFrom(pattern, path) })
	}
	if writers = slices.DeleteFunc(writers, isNamed); len(writers) > 0 {
		return s.willRead(writers, opt), nil
	}
	in.schema, err = s.schemaOfFiles(ctx, *opt)
	return in, err
}

// willTables returns what is known, before a job runs, of the outputs that a step reads by their names; unknown says
// why not all is.
func (p *Plan) willTables(s *Step, fsys vfs.FS) (tables map[string]plan.Table, unknown string) {
	tables = s.tables(fsys)
	for i := range p.Steps {
		from := &p.Steps[i]
		if from.Skip || !slices.Contains(s.reads, from.Step) {
			continue
		}
		binary := from.Format == sink.Parquet || from.Format == sink.Arrow || from.Format == sink.ArrowStream
		if from.Columns == nil || from.Guessed || !binary || len(from.Step.Output.PartitionBy) > 0 {
			return nil, "the columns of " + from.Step.Name + " are known when it is read"
		}
		fields := from.Columns.Fields()
		for k := range fields {
			fields[k].Nullable = true
		}
		tables[from.Step.Name] = plan.Table{Source: scan.Batches(arrow.NewSchema(fields, nil), nil)}
	}
	return tables, ""
}

// names lists what the step reads, for people.
func (s *Step) names() []string {
	list := slices.Clone(s.From)
	for _, before := range s.reads {
		list = append(list, before.Output.Path)
	}
	return list
}

// errNotAlone is the error of distributing a step that reads steps by their names.
var errNotAlone = errors.New("a distributed step reads the files of its from field alone, no step by its name: " +
	"write from: ${steps.NAME.output}")

// checkAlone refuses a step that reads more than its input.
func (s *Step) checkAlone() error {
	if len(s.reads) == 0 {
		return nil
	}
	var names []string
	for _, before := range s.reads {
		names = append(names, before.Name)
	}
	return fmt.Errorf("it reads %s: %w", strings.Join(names, ", "), errNotAlone)
}
