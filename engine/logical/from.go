package logical

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/nearest"
)

// from opens what stands behind a statement's FROM.
func (b *binder) from(ctx context.Context, s *sql.Select, from sql.From) (r *scope, err error) {
	switch f := from.(type) {
	case *sql.Unnest:
		if r, err = b.from(ctx, s, f.Input); err != nil {
			return nil, err
		}
		return b.unnest(ctx, r, f)
	case *sql.Sampled:
		if r, err = b.from(ctx, s, f.Input); err != nil {
			return nil, err
		}
		return r, b.sample(ctx, f.Sample, r)
	case *sql.Join:
		return b.join(ctx, s, f)
	case *sql.About:
		return b.about(ctx, f)
	case *sql.TableList:
		names := [][]string{slices.Sorted(maps.Keys(b.opt.Tables))}
		return b.tableScope(scan.Batches(tablesSchema, []arrow.RecordBatch{TextBatch(tablesSchema, names)}), ""), nil
	case *sql.SetOperation:
		r, hidden, err := b.setOperation(ctx, s, f)
		if err == nil {
			b.hide(r, hidden)
		}
		return r, err
	case *sql.Recursion:
		r, hidden, err := b.recursion(ctx, s, f)
		if err == nil {
			b.hide(r, hidden)
		}
		return r, err
	case *sql.Iteration:
		return b.iteration(f)
	case *sql.Values:
		return b.values(ctx, s, f)
	case *sql.Series:
		if r, err = b.series(ctx, s, f); err != nil {
			return nil, err
		}
		r.qualify(0, []string{cmp.Or(f.Alias.Name, f.Function)})
		if f.Alias.Name != "" && len(f.Alias.Columns) == 0 { // names the column, too
			r.others = map[string]int{f.Function: 0, strings.ToLower(f.Alias.Name) + "." + f.Function: 0}
			names := sql.Alias{Name: f.Alias.Name, Columns: []string{f.Alias.Name}}
			return r, r.rename(names, f.At)
		}
		return r, r.rename(f.Alias, f.At)
	case *sql.Derived:
		if r, err = b.with(ctx, f); err != nil {
			return nil, err
		}
		r.qualify(0, []string{f.Alias.Name})
		return r, r.rename(f.Alias, f.At)
	case *sql.Files:
		if r, err = b.files(ctx, s, f); err != nil {
			return nil, err
		}
		r.qualify(0, []string{cmp.Or(f.Alias.Name, f.Function, stem(f.Patterns[0]))})
		r.tables[0].implied = f.Alias.Name == ""
		return r, r.rename(f.Alias, f.At)
	case *sql.Table:
		if r, err = b.table(ctx, s, f); err != nil {
			return nil, err
		}
		r.qualify(0, tableNames(f)...)
		return r, r.rename(f.Alias, f.At)
	}
	return b.noTable(), nil
}

// noTable is the scope of a statement without FROM.
func (b *binder) noTable() *scope {
	none := arrow.NewSchema(nil, nil)
	return &scope{node: NewScan(&b.ids, oneRow(), ""), schema: none, inStar: none}
}

// rename gives the first columns of a table the names that stand behind its alias.
func (r *scope) rename(alias sql.Alias, at int) error {
	if len(alias.Columns) == 0 {
		return nil
	}
	if len(alias.Columns) > len(r.starred) {
		const many = "table %s has %d names of columns behind it, and %d columns"
		return errorAt(at, many, alias.Name, len(alias.Columns), len(r.starred))
	}
	fields := slices.Clone(r.schema.Fields())
	r.columns = slices.Clone(r.columns)
	for i, name := range alias.Columns {
		at := r.starred[i]
		fields[at].Name, r.columns[at].Name = name, name
	}
	r.schema = arrow.NewSchema(fields, nil)
	r.starAll()
	r.tables[0].schema = r.schema
	return nil
}

// oneRow is what a statement without FROM reads: one row, whose column cannot be named.
func oneRow() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}}, nil)
	column := array.MakeArrayOfNull(memory.DefaultAllocator, arrow.FixedWidthTypes.Boolean, 1)
	defer column.Release()
	return scan.Batches(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{column}, 1)})
}

// tableNames returns the names by which the columns of a table are qualified. The name may be a file's.
func tableNames(f *sql.Table) [][]string {
	if f.Alias.Name != "" {
		return [][]string{{f.Alias.Name}}
	}
	whole := strings.Join(append(slices.Clone(f.In), f.Name), ".")
	names := [][]string{{f.Name}, {whole}}
	if dataset.IsDataFile(whole) {
		names = append(names, []string{stem(whole)})
	}
	for i := range f.In {
		names = append(names, append(slices.Clone(f.In[i:]), f.Name))
	}
	return names
}

// stem returns the name of a file without its folders and its ending.
func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// files opens the files of patterns.
func (b *binder) files(ctx context.Context, s *sql.Select, f *sql.Files) (*scope, error) {
	open, err := b.opener(s, f)
	if err != nil {
		return nil, err
	}
	src, err := open(ctx)
	if err != nil {
		at := s.ErrorAt(f.At, err.Error())
		at.Cause = err
		return nil, at
	}
	return b.tableScope(src, strings.Join(f.Patterns, ", ")), nil
}

// opener returns what opens the files of patterns, or a roll-up.
func (b *binder) opener(s *sql.Select, f *sql.Files) (func(context.Context) (scan.Source, error), error) {
	if f.Function == sql.RollupCall {
		of, err := rollupOf(s, f)
		return func(ctx context.Context) (scan.Source, error) { return b.opt.Rollup(ctx, of, b.opt.Scan) }, err
	}
	opt, err := b.scanOptions(s, f)
	return func(ctx context.Context) (scan.Source, error) { return b.open(ctx, s, f.Patterns, opt) }, err
}

// open opens files. Standard input may be one table of a statement.
func (b *binder) open(ctx context.Context, s *sql.Select, patterns []string, opt dataset.Options) (scan.Source, error) {
	opt.ReadFor(s.Text)
	if slices.Contains(patterns, "-") {
		if b.stdin {
			return nil, errors.New("standard input (-) is read twice by the statement, and can be read once: write it to a file")
		}
		b.stdin = true
	}
	return b.opt.Open(ctx, patterns, opt)
}

// table opens the table of a name, or else a table whose name differs in case alone.
func (b *binder) table(ctx context.Context, s *sql.Select, f *sql.Table) (*scope, error) {
	var names []string
	found := ""
	for name, t := range b.opt.Tables {
		if !t.IsIn(f.In) {
			continue
		}
		if !slices.Contains(b.views, t.View) { // else it is no table to read instead
			names = append(names, name)
		}
		if name == f.Name || found != f.Name && strings.EqualFold(name, f.Name) && (found == "" || name < found) {
			found = name
		}
	}
	if found == "" && f.IsItself {
		const itself = "no table is named %s; the statement of WITH of that name reads itself behind the last UNION " +
			"of WITH RECURSIVE alone"
		return nil, errorAt(f.At, itself, f.Name)
	}
	if found == "" {
		return b.namedFile(ctx, s, f, nearest.Offer(f.Name, names))
	}
	t := b.opt.Tables[found]
	if t.View != nil && b.opt.ViewsAsMade && t.Made != nil {
		return b.tableScope(scan.Batches(t.Made, nil), found), nil
	}
	if t.View != nil {
		return b.view(ctx, found, f, t.View)
	}
	if t.Source != nil {
		if t.Source.Stats().Once {
			if b.once[found] {
				return nil, errorAt(f.At, "table %s is read twice by the statement, and can be read once", found)
			}
			b.once[found] = true
		}
		return b.described(t.Source, found, t.Stats), nil
	}
	opt := b.opt.Scan
	if t.Scan != nil {
		opt = *t.Scan
		opt.Budget = b.opt.Scan.Budget
	}
	src, err := b.openTable(ctx, s, &t, opt)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", found, err)
	}
	return b.described(src, found, t.Stats), nil
}

// openTable opens the files of a table, or its roll-up.
func (b *binder) openTable(ctx context.Context, s *sql.Select, t *Table, opt dataset.Options) (scan.Source, error) {
	if t.Rollup != nil {
		return b.opt.Rollup(ctx, *t.Rollup, opt)
	}
	return b.open(ctx, s, t.Files, opt)
}

// mainSchema is the catalog and the schema that tables without one are in, as DuckDB's of memory are.
var mainSchema = []string{"memory", "main"}

// IsIn says whether a table may be qualified by a schema, or by a catalog and a schema.
func (t *Table) IsIn(qualifiers []string) bool {
	in := t.In
	if len(in) == 0 {
		in = mainSchema
	}
	missing := len(in) - len(qualifiers)
	return missing >= 0 && slices.EqualFunc(qualifiers, in[missing:], strings.EqualFold) || len(qualifiers) == 0
}

// namedFile opens a file whose name stands in no single quotes: FROM flights.parquet. offer has the
// names of tables that may be meant instead.
func (b *binder) namedFile(ctx context.Context, s *sql.Select, f *sql.Table, offer string) (*scope, error) {
	name := strings.Join(append(f.In, f.Name), ".")
	if dataset.IsDataFile(name) {
		src, err := b.open(ctx, s, []string{name}, b.opt.Scan)
		switch {
		case err == nil:
			return b.tableScope(src, name), nil
		case !errors.Is(err, fs.ErrNotExist):
			at := s.ErrorAt(f.At, err.Error())
			at.Cause = err
			return nil, at
		}
		return nil, s.ErrorAt(f.At, "no table and no file is named "+name+offer)
	}
	if offer == "" {
		offer = "; a file is written in single quotes: FROM 'name.parquet'"
	}
	return nil, s.ErrorAt(f.At, "no table is named "+name+offer)
}

// derived binds a statement behind FROM.
func (b *binder) derived(ctx context.Context, s *sql.Select) (*scope, error) {
	n, err := b.inner(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	return derivedScope(n), nil
}

// derivedScope is the scope of a statement behind FROM.
func derivedScope(n Node) *scope {
	if p, ok := n.(*Project); ok {
		of := *p
		of.Derived = true
		n = &of
	}
	return scopeOf(n)
}

// with binds a statement behind FROM, or one of WITH. The latter is bound once if it is used several times and more
// than reading, or if it says so.
func (b *binder) with(ctx context.Context, f *sql.Derived) (*scope, error) {
	w := f.With
	isShared := w != nil && !b.opt.Inline && !w.Inlined && (w.Uses > 1 || w.Materialized)
	if body := b.bodies[w]; isShared && body != nil {
		return scopeOf(NewShared(&b.ids, body)), nil
	}
	r, hidden, err := b.part(ctx, f, f.Query)
	if err != nil {
		return nil, err
	}
	b.hide(r, hidden)
	if !isShared || b.reading[f] || !w.Materialized && !isDear(r.node) {
		return r, nil
	}
	b.bodies[w] = &Body{Root: r.node, Name: w.Name, Number: len(b.bodies)}
	return scopeOf(NewShared(&b.ids, b.bodies[w])), nil
}
