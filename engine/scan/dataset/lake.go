package dataset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/lake"
	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// KnownLake is the state of a table of Delta or Iceberg that some files are read of.
type KnownLake struct {
	Kind lake.Kind    `json:"kind"`
	Root string       `json:"root"`
	Pin  lake.Options `json:"pin"`

	table *lake.Table // the state, where this process has read it; else nil
}

// ColumnsMeaning is lake.Table.ColumnsMeaning of a state that this process has read.
func (k *KnownLake) ColumnsMeaning(counts func(name string) bool) string {
	return k.table.ColumnsMeaning(counts)
}

// lakeTable returns the table of Delta or Iceberg that the patterns name; nil where they name files.
func (o *Options) lakeTable(ctx context.Context, patterns []string) (*lake.Table, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Known != nil && o.Known.Lake != nil {
		return o.lakePart(ctx, patterns)
	}
	if o.Known != nil {
		o.isFiles = true
		return nil, nil
	}
	kind, err := o.lakeKind(patterns)
	if err != nil {
		return nil, err
	}
	if kind == lake.None {
		o.isFiles = true
		return nil, nil
	}
	if err := o.checkUse(maps.All(map[string]Format{redact.URL(patterns[0]): Format(kind)})); err != nil {
		return nil, err
	}
	of := lake.Options{Version: o.Version, Snapshot: o.Snapshot, Timestamp: o.AsOf}
	t, err := lake.Open(ctx, o.FS, kind, patterns[0], of)
	return t, redact.Error(err)
}

// lakePart returns the table of some files of a state of a table.
func (o *Options) lakePart(ctx context.Context, names []string) (*lake.Table, error) {
	of := o.Known.Lake
	t := of.table
	if t == nil {
		var err error
		if t, err = lake.Open(ctx, o.FS, of.Kind, of.Root, of.Pin); err != nil {
			return nil, redact.Error(err)
		}
	}
	part := *t
	t = &part
	byPath := make(map[string]lake.File, len(t.Files))
	for _, f := range t.Files {
		byPath[f.Path] = f
	}
	t.Files = nil
	for _, name := range names {
		f, ok := byPath[name]
		if !ok {
			return nil, fmt.Errorf("%s: %s is no file of its %s", redact.URL(of.Root), redact.URL(name), t.State)
		}
		t.Files = append(t.Files, f)
	}
	return t, nil
}

// lakeKind returns who describes the table that the patterns name: None where they name files.
func (o *Options) lakeKind(patterns []string) (lake.Kind, error) {
	kind := lake.None
	if o.Format == FormatDelta || o.Format == FormatIceberg {
		kind = lake.Kind(o.Format)
	}
	for _, dir := range patterns {
		found := kind
		if o.Format == FormatAuto {
			var err error
			if found, err = o.findLake(dir); err != nil {
				return kind, redact.Error(err)
			}
		}
		if found != lake.None && len(patterns) > 1 {
			return kind, fmt.Errorf("%s: a table of %s is read by itself: name it alone, and put tables together by UNION ALL",
				redact.URL(dir), found)
		}
		kind = found
	}
	return kind, nil
}

// KnowLake reads the state of a table of Delta or Iceberg: what Options.Known takes to open some of its files, and
// their identities, in the table's order. known is nil where patterns name files. A data file is touched where the
// metadata do not tell its rows, and no other, since none is ever written twice.
func KnowLake(ctx context.Context, patterns []string, opt Options) (known *Known, files []Identity, err error) {
	table, err := opt.lakeTable(ctx, patterns)
	if err != nil || table == nil {
		return nil, nil, err
	}
	if _, known, err = opt.openKnownLake(ctx, table); err != nil {
		return nil, nil, err
	}
	for i, meaning := range table.Meanings("") {
		f := &table.Files[i]
		files = append(files, Identity{Path: redact.URL(f.Path), Bytes: f.Bytes, Meaning: meaning})
	}
	return known, files, nil
}

// openKnownLake opens a table, and returns what Options.Known takes to open some of its files.
func (o *Options) openKnownLake(ctx context.Context, t *lake.Table) (scan.Source, *Known, error) {
	source, err := o.openLake(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	known := &Known{Lake: &KnownLake{Kind: t.Kind, Root: t.Root, Pin: t.Pin, table: t}}
	known.Schema, err = EncodeSchema(source.Schema())
	return source, known, err
}

// refuseLake refuses a table of Delta or Iceberg where files are wanted.
func (o *Options) refuseLake(patterns []string) error {
	if o.isFiles || o.Known != nil {
		return nil
	}
	kind, err := o.lakeKind(patterns)
	if err == nil && kind != lake.None {
		err = fmt.Errorf("%s: a table of %s is read by SQL, and by what aggregates files, and not here",
			redact.URL(patterns[0]), kind)
	}
	return err
}

// findLake returns what kind of table a directory is.
func (o *Options) findLake(dir string) (lake.Kind, error) {
	_, isStore := vfs.ObjectsAt(o.FS, dir)
	isFile := IsDataFile(dir) || strings.ContainsAny(dir, patternMeta) // by its name, which a store is asked for else
	if dir == decode.StdinName || dir == "" || isWeb(dir) || isStore && isFile {
		return lake.None, nil
	}
	info, err := o.FS.Stat(dir)
	if err != nil || !info.IsDir() {
		return lake.None, nil //nolint:nilerr // reading says what is wrong
	}
	return lake.Find(o.FS, dir)
}

// lakeFile is a file of a table of Delta or Iceberg.
type lakeFile struct {
	lake.File
	opened *decode.File // where the metadata do not tell how many rows there are; else nil
}

// openLake makes the table of the files that a table of Delta or Iceberg has.
func (o *Options) openLake(ctx context.Context, t *lake.Table) (scan.Source, error) {
	whole := scan.Whole{Listed: true, Schema: delivery.Flatten(t.Schema()).Schema}
	if err := delivery.CheckTypes(whole.Schema); err != nil {
		return nil, fmt.Errorf("%s: %w", redact.URL(t.Root), err)
	}
	if err := o.addLakeColumns(t, &whole); err != nil {
		return nil, err
	}
	files, names := make([]lakeFile, len(t.Files)), make([]string, len(t.Files))
	for i, f := range t.Files {
		files[i].File, names[i] = f, f.Path
	}
	names, o.FS = show(o.FS, names)
	workers, openCtx := spawn.WithContext(ctx)
	workers.SetLimit(decode.Askers)
	for i := range files {
		files[i].Path = names[i]
		if files[i].Rows < 0 {
			workers.Go(func() error { return files[i].count(openCtx, o) })
		}
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	all := make([]scan.Listed, len(files))
	for i := range files {
		f := &files[i]
		constants, err := o.lakeConstants(t, f)
		if err != nil {
			return nil, err
		}
		all[i] = scan.Listed{Name: f.Path, Rows: f.Rows, Live: f.Live(), Bytes: f.Bytes, Constants: constants,
			Bounds: f.Bounds, Excludes: f.Excludes,
			Open: func(ctx context.Context) (decode.File, error) { return f.open(ctx, o) }}
		if o.DistrustStatistics {
			all[i].Bounds = nil
		}
	}
	return scan.NewListed(all, whole)
}

// addLakeColumns adds the columns that the options ask for to a table's own.
func (o *Options) addLakeColumns(t *lake.Table, whole *scan.Whole) error {
	has := func(name string) bool { return whole.Schema.HasField(name) }
	root := redact.URL(t.Root)
	switch {
	case o.Filename && has(FilenameColumn):
		return filenameTaken(root, "the table has a column")
	case o.RowNumber && has(RowNumberColumn):
		return knob.Errorf("%s: the table has a column named %q, which is to number rows; read without that (%s)", root,
			RowNumberColumn, knob.Name("dataset.RowNumber"))
	}
	if (o.Filename || o.FilenameHidden) && !has(FilenameColumn) {
		field := arrow.Field{Name: FilenameColumn, Type: arrow.BinaryTypes.String}
		if !o.Filename {
			field = scan.Hidden(field)
		}
		whole.Schema = arrow.NewSchema(append(slices.Clone(whole.Schema.Fields()), field), nil)
	}
	if (o.RowNumber || o.RowNumberHidden) && !has(RowNumberColumn) {
		whole.RowNumber = arrow.Field{Name: RowNumberColumn, Type: arrow.PrimitiveTypes.Int64}
		if !o.RowNumber {
			whole.RowNumber = scan.Hidden(whole.RowNumber)
		}
	}
	return nil
}

// lakeConstants returns the columns of which all rows of a file have one value.
func (o *Options) lakeConstants(t *lake.Table, f *lakeFile) (map[string]any, error) {
	constants := map[string]any{}
	for _, c := range t.Columns {
		text, isText := f.Texts[c.Name]
		switch {
		case !isText:
			continue
		case text == nil:
			constants[c.Name] = nil
			continue
		}
		value, ok := parsePartition(*text, c.Type)
		if !ok {
			return nil, fmt.Errorf("%s: the value %q of the partition %q is no %s", f.Path, *text, c.Name, c.Type)
		}
		constants[c.Name] = value
	}
	if o.Filename || o.FilenameHidden {
		if !utf8.ValidString(f.Path) {
			return nil, fmt.Errorf("%q: the name is not valid UTF-8, and is to be the value of a column", f.Path)
		}
		if !slices.ContainsFunc(t.Columns, func(c lake.Column) bool { return c.Name == FilenameColumn }) {
			constants[FilenameColumn] = f.Path
		}
	}
	return constants, nil
}

// parsePartition returns the value of a partition, as the log of Delta writes it.
func parsePartition(text string, typ arrow.DataType) (any, bool) {
	switch typ.ID() {
	case arrow.BINARY:
		return scalar.NewBinaryScalar(memory.NewBufferBytes([]byte(text)), typ), true
	case arrow.STRING:
		return text, utf8.ValidString(text)
	case arrow.BOOL: // some writers have TRUE
		text = strings.ToLower(text)
	case arrow.DECIMAL128: // and 1.5 where the scale is 2
		whole, part, _ := strings.Cut(text, ".")
		if scale := int(typ.(*arrow.Decimal128Type).Scale); len(part) < scale {
			text = whole + "." + part + strings.Repeat("0", scale-len(part))
		}
	}
	return parseFolder(text, typ)
}

// count opens a file to find out how many rows it has.
func (f *lakeFile) count(ctx context.Context, o *Options) error {
	file, err := f.open(ctx, o)
	if err != nil {
		return err
	}
	f.opened, f.Rows = &file, int64(file.Span())
	return nil
}

// open opens a file: its columns have the names of the table, and its deleted rows are left out.
func (f *lakeFile) open(ctx context.Context, o *Options) (file decode.File, err error) {
	if f.opened != nil {
		return *f.opened, nil
	}
	if err := ctx.Err(); err != nil {
		return file, err
	}
	w, err := newWatch(o.FS, f.Path) // before the file is read
	if err != nil {
		return file, lake.Expired(err, "a data file")
	}
	mem := reserve.New(reserve.GoHeap, o.Budget)
	defer mem.DropAll()
	var in *parquet.File
	err = decode.Guard(func() (err error) {
		if in, err = openNamed(o.FS, f.Path, o, mem, f.Naming); err != nil {
			return lake.Expired(err, "a data file")
		}
		file.Constants = map[string]any{}
		for name, value := range f.Lacking {
			if !in.Schema().HasField(name) {
				file.Constants[name] = value
			}
		}
		return f.OpenFile(ctx, o.FS, in)
	})
	if mem.Refusal() != nil {
		err = decode.Locate(f.Path, err)
	}
	file.Input, file.Changed = in, w.check
	return file, err
}
