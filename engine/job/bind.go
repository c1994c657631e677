package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
)

// columnsRead is what is known, before a job runs, of the columns that a step will read.
type columnsRead struct {
	schema *arrow.Schema         // nil where nothing is known
	tables map[string]plan.Table // outputs that the statement names

	// guessed has the numbers of the columns whose types follow from text that is not written yet.
	guessed []int

	// unknown says why not all is known; "" where all is.
	unknown string
}

// writers returns the steps before, in their order, whose outputs a step reads.
func (p *Plan) writers(s *Step, written map[string]int) []*StepPlan {
	var found []int
	for path, i := range written {
		if slices.ContainsFunc(s.names(), func(pattern string) bool { return readsFrom(pattern, path) }) {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	steps := make([]*StepPlan, len(found))
	for k, i := range found {
		steps[k] = &p.Steps[i]
	}
	return steps
}

// readsFrom says whether a pattern of files takes an output, or a part of it.
func readsFrom(pattern, output string) bool {
	return dataset.MatchesFile(filepath.Clean(pattern), output) || within(pattern, output) || within(output, pattern)
}

// willRead returns what is known of the columns of a step that reads what steps before it write.
func (s *Step) willRead(writers []*StepPlan, opt *dataset.Options) columnsRead {
	from := writers[0]
	names := make([]string, len(writers))
	for i, w := range writers {
		names[i] = w.Step.Name
	}
	for _, pattern := range s.From {
		if len(writers) > 1 || !readsFrom(pattern, filepath.Clean(from.Step.Output.Path)) {
			return columnsRead{unknown: "it reads what " + strings.Join(names, " and ") + " will write, and other files"}
		}
	}
	switch {
	case from.Columns == nil:
		return columnsRead{unknown: "the columns of " + from.Step.Name + " are not known"}
	case from.Format == sink.Parquet || from.Format == sink.Arrow || from.Format == sink.ArrowStream:
		return s.filesOf(from, opt, func(t arrow.DataType) arrow.DataType { return t })
	case isText(from.Format):
		return s.filesOf(from, opt, typeOfText)
	}
	return columnsRead{unknown: fmt.Sprintf("%s writes %s", from.Step.Name, from.Format)}
}

// filesOf returns the columns of the files of a step's output as they are read again; read says which
// type the values of a type have then. The columns of hive folders follow the columns of the files, and
// the files' names come last.
func (s *Step) filesOf(from *StepPlan, opt *dataset.Options, read func(arrow.DataType) arrow.DataType) columnsRead {
	var c columnsRead
	var fields, folders []arrow.Field
	var guessed, guessedFolders []int
	for _, f := range from.Columns.Fields() {
		if slices.Contains(from.Step.Output.PartitionBy, f.Name) {
			f.Type = typeOfText(f.Type)
			guessedFolders = append(guessedFolders, len(folders))
			folders = append(folders, f)
			continue
		}
		t := read(f.Type)
		given := opt.CSV.Types[f.Name]
		text := isText(from.Format)
		switch {
		case text && given != nil:
			t = given
		case text || from.Guessed:
			guessed = append(guessed, len(fields))
		}
		f.Type, f.Nullable = t, true
		fields = append(fields, f)
	}
	if from.Format == sink.JSON { // has the columns whose types are given, with or without such a key
		for _, name := range slices.Sorted(maps.Keys(opt.JSON.Types)) {
			if !from.Columns.HasField(name) {
				fields = append(fields, arrow.Field{Name: name, Type: opt.JSON.Types[name], Nullable: true})
			}
		}
	}
	if !opt.NoHive {
		for _, i := range guessedFolders {
			guessed = append(guessed, len(fields)+i)
		}
		fields = append(fields, folders...)
	}
	if opt.Filename {
		fields = append(fields, arrow.Field{Name: dataset.FilenameColumn, Type: arrow.BinaryTypes.String})
	}
	c.schema, c.guessed = arrow.NewSchema(fields, nil), guessed
	if len(guessed) > 0 {
		c.unknown = "the types of what " + from.Step.Name + " writes are known when it is read"
	}
	return c
}

// isText says whether the types of what is written in a format follow from its text when it is read.
func isText(f sink.Format) bool { return f == sink.CSV || f == sink.TSV || f == sink.JSON }

// typeOfText returns the type that values have, most likely, when they were written as text and are
// read again.
func typeOfText(t arrow.DataType) arrow.DataType {
	switch {
	case arrow.IsInteger(t.ID()):
		return arrow.PrimitiveTypes.Int64
	case arrow.IsFloating(t.ID()), arrow.IsDecimal(t.ID()):
		return arrow.PrimitiveTypes.Float64
	case t.ID() == arrow.BOOL, t.ID() == arrow.DATE32:
		return t
	case t.ID() == arrow.DATE64:
		return arrow.FixedWidthTypes.Date32
	case t.ID() == arrow.TIMESTAMP:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	}
	return arrow.BinaryTypes.String
}

// others are types that text may turn out to have, in place of the likeliest.
var others = []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64,
	&arrow.TimestampType{Unit: arrow.Microsecond}}

// withTypes returns the columns; the guessed columns get the type t.
func (c *columnsRead) withTypes(t arrow.DataType) *arrow.Schema {
	fields := c.schema.Fields()
	for _, i := range c.guessed {
		fields[i].Type = t
	}
	return arrow.NewSchema(fields, nil)
}

// bind finds the columns of the output, and whether they can be written. Where types are guessed, an
// error is one if it comes whatever the types are.
func (sp *StepPlan) bind(ctx context.Context, q *stepQuery, in columnsRead, out sink.Options) (err error) {
	if in.schema == nil {
		sp.Unchecked = in.unknown
		return nil
	}
	options := sp.Step.engineOptions()
	options.EnsureDefaults()
	eng, err := engine.Open(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	columns, failed := sp.bindTo(ctx, q, eng, in.schema, in.tables, out)
	if failed == nil {
		sp.Columns, sp.Guessed = columns, len(in.guessed) > 0
		return nil
	}
	if len(in.guessed) == 0 {
		return failed
	}
	for _, t := range others {
		if _, other := sp.bindTo(ctx, q, eng, in.withTypes(t), in.tables, out); other == nil || other.Error() != failed.Error() {
			first, _, _ := strings.Cut(failed.Error(), "\n")
			sp.Unchecked = in.unknown + ", and may not suit the query: " + first
			return context.Cause(ctx)
		}
	}
	return failed
}

// bindTo returns the columns of the output for an input of a schema.
func (sp *StepPlan) bindTo(ctx context.Context, q *stepQuery, eng *engine.Engine,
	input *arrow.Schema, tables map[string]plan.Table, out sink.Options) (*arrow.Schema, error) {
	columns, err := q.bind(ctx, eng, input, tables)
	if err == nil {
		err = sink.Check(sp.Step.Output.Path, columns, out)
	}
	return columns, err
}
