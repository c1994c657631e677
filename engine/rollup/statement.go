package rollup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/sqlscan"
	"github.com/mpga/mpga/partition"
)

// meaning hashes what statement and options ask for. White space, comments and the case of words without quotes do not
// count.
func (o *Options) meaning() (string, error) {
	var tokens []string
	for _, t := range sqlscan.Scan(o.Statement) {
		text := t.Text(o.Statement)
		switch t.Kind {
		case sqlscan.Comment:
			continue
		case sqlscan.Word:
			text = strings.ToLower(text)
		}
		tokens = append(tokens, text)
	}
	for len(tokens) > 0 && tokens[len(tokens)-1] == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	files := make(map[string][]string)
	own := make(map[string]*dataset.Options) // of tables that are read in another way
	for name, t := range o.Tables {
		if files[name] = t.Files; t.Scan != nil {
			own[name] = t.Scan
		}
	}
	values := []any{tokens, files, o.Scan, fmt.Sprint(o.Scan.CSV.Types), o.Overflow, o.Deterministic}
	if o.TimeZone != "" {
		values = append(values, o.TimeZone)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		values = append(values, name, own[name], fmt.Sprint(own[name].CSV.Types))
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// unread is a table while the statement is planned: a plan that depends on rows would be another one each time.
type unread struct{ scan.Source }

// Splits implements scan.Source.
func (unread) Splits(context.Context, []int) ([]scan.Split, error) {
	return nil, fmt.Errorf("%w: its columns depend on the rows of a table, as those of PIVOT do: name them",
		ErrStatement)
}

// prepare plans the statement over its tables, which a function opens by their numbers.
func (r *run) prepare(ctx context.Context, open func(table int) (scan.Source, error)) (*plan.Query, error) {
	next := 0
	return r.prepareBy(ctx, func(context.Context, []string, dataset.Options) (scan.Source, error) {
		if next++; next > len(r.tables) {
			return nil, fmt.Errorf("%w: it reads other tables each time", ErrStatement)
		}
		return open(next - 1)
	})
}

func (r *run) prepareBy(
	ctx context.Context, open func(context.Context, []string, dataset.Options) (scan.Source, error),
) (*plan.Query, error) {
	return plan.Prepare(ctx, r.eng, r.statement, plan.Options{
		Tables: r.Tables, Scan: r.Scan, Overflow: r.Overflow, Deterministic: r.Deterministic, OneStep: true, Open: open,
		TimeZone:    r.TimeZone,
		SetsInParts: true,
		Rollup: func(context.Context, *engine.Engine, plan.Rollup, dataset.Options) (scan.Source, error) {
			return nil, fmt.Errorf("%w: it reads another roll-up, of which nothing tells what is new", ErrStatement)
		},
	})
}

// plan lists the files of the statement's tables, and divides it into groups of each file, and what comes after them.
func (r *run) plan(ctx context.Context) (err error) {
	if r.statement, err = sql.Parse(r.Statement); err != nil {
		return err
	}
	if err := r.checkStatement(); err != nil {
		return err
	}
	r.tables, r.report.LeftOut = nil, 0
	q, err := r.prepareBy(ctx, r.addTable)
	if err != nil {
		return r.explainColumns(err)
	}
	defer q.Close()
	if err := r.setColumns(q); err != nil {
		return err
	}
	if err := r.checkOutput(q.Schema()); err != nil {
		return err
	}
	division, err := q.Divide(r.sizeOf, r.WholeBytes)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrStatement, err)
	case division.IsRows():
		return fmt.Errorf("%w: it makes no groups: it has neither GROUP BY nor an aggregate", ErrStatement)
	case division.Sides != nil:
		return fmt.Errorf("%w: rows of large tables would have to meet by their keys; a table that is joined is read whole, "+
			"up to %d B", ErrStatement, r.WholeBytes)
	case division.Derived && !r.Deterministic:
		r.Deterministic = true // groups of tables that are read whole are equal to the bit each time
		return r.plan(ctx)
	}
	r.setReadings(division)
	if err := r.checkPlaces(); err != nil {
		return err
	}
	g := division.Grouping(ctx, plan.Part{})
	defer g.Close()
	r.query = g.Query
	return r.setPartitions(ctx, g, division.IsTable())
}

// checkStatement refuses a statement whose answer is another one each time.
func (r *run) checkStatement() error {
	s := r.statement
	switch {
	case s.Unseeded() != nil:
		return fmt.Errorf("%w: %w", ErrStatement, s.ErrorAt(s.Unseeded().At,
			"not supported: a sample without REPEATABLE (seed) in a roll-up, whose files are sampled at different times"))
	case s.Moment != nil:
		return fmt.Errorf("%w: %w", ErrStatement, s.ErrorAt(s.Moment.At,
			"not supported: "+s.Moment.String()+" in a roll-up, whose files are read at different times; write the time"))
	case s.Drawn != nil:
		return fmt.Errorf("%w: %w", ErrStatement, s.ErrorAt(s.Drawn.At, "not supported: "+s.Drawn.String()+
			" in a roll-up, whose parts are made again from time to time, with other values; "+
			"hash(...) of columns is the same"))
	case redact.Text(r.Statement) != r.Statement:
		return fmt.Errorf("%w: a URL in it has a secret, which does not go into a state: %s", ErrStatement,
			redact.Text(r.Statement))
	}
	return nil
}

// addTable lists the files of a table that the statement opens. No file is opened where the state knows the columns.
func (r *run) addTable(ctx context.Context, patterns []string, opt dataset.Options) (scan.Source, error) {
	number := len(r.tables)
	t := &table{scan: opt, named: patterns}
	t.scan.CSV.Rejects, t.scan.FS, t.scan.Budget = nil, r.FS, r.eng.Budget()
	names, err := r.namesOf(patterns)
	if err != nil {
		return nil, err
	}
	if t.Known, t.Files, err = list(ctx, names, t.scan); err != nil {
		return nil, err
	}
	isLake := t.Known != nil
	switch {
	case r.KeepDays > 0 && isLake:
		return nil, fmt.Errorf("%w: --keep goes by the dates in the names of files, and %s is a table of %s: leave rows "+
			"out by WHERE, or delete them there", ErrStatement, redact.URL(names[0]), t.Known.Lake.Kind)
	case r.KeepDays > 0:
		var left int
		if t.Files, left, err = keptFiles(t.Files, r.KeepDays); err != nil {
			return nil, err
		}
		if r.report.LeftOut += left; left > 0 {
			names = names[:0] // the patterns name more
			for _, f := range t.Files {
				names = append(names, f.Path)
			}
		}
	}
	var was *input
	if r.before != nil && number < len(r.before.Inputs) {
		was = &r.before.Inputs[number]
	}
	var before []file
	if was != nil {
		before = was.Files
	}
	if err := r.setSegments(t, before); err != nil {
		return nil, err
	}
	if was != nil && !isLake && !r.asksColumns && t.keepsColumns(ctx, was) {
		t.Known = was.Known
		if opt.Readers != nil { // else these are options of this table alone
			opt.Readers.AddUnopened()
		}
	}
	if t.Known == nil {
		if _, t.Known, err = dataset.OpenKnown(ctx, names, t.scan); err != nil {
			return nil, err
		}
	}
	t.scan.Known = t.Known
	columns, err := t.Known.Columns()
	if err != nil {
		return nil, err
	}
	t.source = &unread{scan.Shape(columns)}
	r.tables = append(r.tables, t)
	return t.source, nil
}

// namesOf returns the absolute names of the files of a table.
func (r *run) namesOf(patterns []string) (names []string, err error) {
	for _, p := range patterns {
		if p == "-" {
			return nil, fmt.Errorf("%w: standard input is another one each time: give files", ErrStatement)
		}
		name := workdir.Absolute(r.FS, p)
		if err := r.checkPattern(name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// keepsColumns says whether a table has the columns that it had, as far as that shows without all files being opened:
// to its files some were added that neither come first, whose columns the table has, nor give it columns by
// UnionByName. Where they are of other types, opening them tells.
func (t *table) keepsColumns(ctx context.Context, was *input) bool {
	d := compare(was.Files, t.Files)
	switch {
	case len(d.changed)+len(d.grown)+len(d.gone) > 0:
		return false
	case len(d.added) == 0:
		return true
	case d.added[0] == t.Files[0].Path:
		return false
	case !t.scan.UnionByName:
		return true
	}
	before, err := was.Known.Columns()
	if err != nil {
		return false
	}
	added, _, err := dataset.OpenKnown(ctx, d.added, t.scan)
	return err == nil && !slices.ContainsFunc(added.Schema().Fields(), func(f arrow.Field) bool {
		return !before.HasField(f.Name)
	})
}

// setColumns notes which columns the statement reads, and refuses a table in which one of them is not what it was.
func (r *run) setColumns(q *plan.Query) error {
	for i, t := range r.tables {
		now := t.source.Schema()
		t.reads = nil
		for _, c := range q.ColumnsRead(t.source) {
			t.reads = append(t.reads, now.Field(c))
		}
		before, err := r.columnsBefore(i)
		if err != nil {
			return err
		}
		if before == nil {
			continue
		}
		if what := differenceOf(before, now, t.reads); what != "" {
			return r.errColumns(t, what)
		}
	}
	return nil
}

// columnsBefore returns the columns that a table had in the state; nil where there is no state.
func (r *run) columnsBefore(table int) (*arrow.Schema, error) {
	if r.before == nil || table >= len(r.before.Inputs) {
		return nil, nil
	}
	return r.before.Inputs[table].Known.Columns()
}

// differenceOf says what the columns that a statement reads were before, where they were others; "" where they were
// not.
func differenceOf(before, now *arrow.Schema, reads []arrow.Field) string {
	for _, f := range reads {
		was, _ := before.FieldsByName(f.Name)
		is, _ := now.FieldsByName(f.Name)
		switch {
		case len(was) == 0:
			return f.Name + " is new"
		case len(was) != len(is):
			return fmt.Sprintf("%d are named %s, where %d were", len(is), f.Name, len(was))
		case slices.EqualFunc(was, is, func(a, b arrow.Field) bool { return sameColumn(a, b) }):
		case !arrow.TypeEqual(was[0].Type, f.Type):
			return fmt.Sprintf("%s was of the type %s, and is of the type %s", f.Name, was[0].Type, f.Type)
		default:
			return fmt.Sprintf("whether %s may be NULL", f.Name)
		}
	}
	return ""
}

// sameColumn says whether two columns of one name have the same values.
func sameColumn(a, b arrow.Field) bool {
	return arrow.TypeEqual(a.Type, b.Type) && a.Nullable == b.Nullable
}

// errColumns refuses a table with other columns.
func (r *run) errColumns(t *table, what string) error {
	return fmt.Errorf("%w: the columns of %s are not what they were: %s; %s", ErrOther,
		strings.Join(redact.Names(t.named), ", "), what, r.dir.remedy())
}

// explainColumns returns why a statement that the state has been made for cannot be planned, or has another plan: a
// column has gone or come, if one has.
func (r *run) explainColumns(err error) error {
	for i, t := range r.tables {
		before, otherErr := r.columnsBefore(i)
		if otherErr != nil || before == nil {
			return errors.Join(err, otherErr)
		}
		now := t.source.Schema()
		for _, f := range before.Fields() {
			if !now.HasField(f.Name) {
				return fmt.Errorf("%w: %w", r.errColumns(t, f.Name+" has gone"), err)
			}
		}
		if what := differenceOf(before, now, now.Fields()); what != "" {
			return fmt.Errorf("%w: %w", r.errColumns(t, what), err)
		}
	}
	return err
}

// checkOutput refuses an output that could not be written, before anything is done.
func (r *run) checkOutput(schema *arrow.Schema) error {
	opt := r.Layout
	opt.Update = opt.Directory()
	if err := sink.Check(r.Output, schema, opt); err != nil {
		return err
	}
	return sink.CheckPlace(r.Output, opt)
}

// divided is added to the size of a table that had a part for each file: a table that grows beside it is not divided
// in its place.
const divided = 1 << 50

// sizeOf returns the bytes of the files of a table; -1 of rows without files.
func (r *run) sizeOf(source scan.Source) int64 {
	for i, t := range r.tables {
		switch {
		case t.source != source:
		case r.before != nil && i < len(r.before.Inputs) && r.before.Inputs[i].Read == readParts:
			return divided + t.bytes()
		default:
			return t.bytes()
		}
	}
	return -1
}

// setReadings notes how tables are read.
func (r *run) setReadings(division *plan.Division) {
	among := func(list []plan.WholeTable, t *table) bool {
		return slices.ContainsFunc(list, func(w plan.WholeTable) bool { return w.Table == t.source })
	}
	for _, t := range r.tables {
		switch {
		case slices.ContainsFunc(division.Stems, func(s plan.Stem) bool { return s.Table == t.source }):
			t.Read = readParts
		case among(division.Whole, t):
			t.Read = readWhole
		case among(division.Late, t):
			t.Read = readLate
		default:
			t.Read = readNone
		}
	}
	r.stem = slices.IndexFunc(r.tables, func(t *table) bool { return t.Read == readParts })
}

// within says whether a path is a place, or lies in it.
func within(path, place string) bool {
	return path == place || strings.HasPrefix(path, strings.TrimRight(place, "/")+"/")
}

// checkPattern refuses an output that the next run would read: one that a pattern of an input names.
func (r *run) checkPattern(pattern string) error {
	output := workdir.Absolute(r.FS, r.Output)
	if r.Output != "" && r.Output != "-" && (dataset.MatchesFile(pattern, output) || within(output, pattern)) {
		return fmt.Errorf("%w: the output %s is among the inputs, %s, and the next run would read it; name another place",
			ErrStatement, r.Output, pattern)
	}
	return nil
}

// checkPlaces refuses an input that lies in the state or in the output, and an output in the state.
func (r *run) checkPlaces() error {
	output := workdir.Absolute(r.FS, r.Output)
	for _, t := range r.tables {
		for _, f := range t.Files {
			switch {
			case within(f.Path, r.dir.Root):
				return fmt.Errorf("%w: the input %s lies in the directory of the state", ErrStatement, f.Path)
			case r.Output != "-" && within(f.Path, output):
				return fmt.Errorf("%w: the input %s is the output, or lies in it", ErrStatement, f.Path)
			}
		}
	}
	if r.Output != "-" && (within(output, r.dir.Root) || within(r.dir.Root, output)) {
		return fmt.Errorf("%w: the output %s and the state %s lie in one another", ErrStatement, r.Output, r.State)
	}
	return nil
}

const (
	partitionsUnknown  = 16      // nothing tells how many groups there are
	partitionsValues   = 16      // states keep values of rows, which several threads merge
	groupsPerPartition = 1 << 14 // of a file; as many files have more
)

// setPartitions chooses how many blobs a pack has: what the state has, or else by a sample of one file.
func (r *run) setPartitions(ctx context.Context, g *plan.Grouping, isTable bool) error {
	if r.before != nil {
		r.partitions = r.before.Partitions
		return nil
	}
	bound, err := rowdata.BindCanonical(r.query, g.Source.Schema(), nil)
	if err != nil {
		return err
	}
	r.partitions = partitionsUnknown
	switch {
	case len(r.query.Keys) == 0:
		r.partitions = 1
		return nil
	case isTable:
		groups, err := r.sampleGroups(ctx)
		if err != nil {
			return err
		}
		if groups >= 0 {
			r.partitions = 1
			for int64(r.partitions)*groupsPerPartition < groups && r.partitions < partition.FanOutMax {
				r.partitions *= 2
			}
		}
	}
	if slices.ContainsFunc(bound.Folds, func(f rowdata.Fold) bool { return f.Grows() }) {
		r.partitions = max(r.partitions, partitionsValues)
	}
	return nil
}

// sampleGroups returns how many groups a sample of the largest file lets expect; -1 where it tells nothing.
func (r *run) sampleGroups(ctx context.Context) (int64, error) {
	t := r.tables[r.stem]
	if len(t.Files) == 0 {
		return -1, nil
	}
	largest := slices.MaxFunc(t.Files, func(a, b file) int { return int(min(max(a.Bytes-b.Bytes, -1), 1)) })
	var of scan.Source
	q, err := r.prepare(ctx, func(i int) (source scan.Source, err error) {
		if i != r.stem {
			return shapeOf(r.tables[i])
		}
		of, err = dataset.Open(ctx, []string{largest.Path}, t.scan)
		return of, err
	})
	if err != nil {
		return 0, err
	}
	defer q.Close()
	parts, err := q.PartsOf(of)
	if err != nil {
		return 0, err
	}
	g := parts.Grouping(ctx, plan.Part{})
	defer g.Close()
	expected, err := r.eng.Explain(ctx, g.Source, g.Query)
	if err != nil {
		return 0, err
	}
	return expected.Forecast.Groups, nil
}

// sameQuery says whether two aggregations have the same states.
func sameQuery(a, b query.Query) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	other, err := json.Marshal(b)
	return bytes.Equal(one, other), err
}
