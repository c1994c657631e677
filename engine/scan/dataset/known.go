package dataset

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/internal/nested"
)

// Known is what all files of a table together say of its columns. By it some of the files, opened
// elsewhere, have the columns, the types and the formats of times that the whole table has. It is made
// for JSON, and for the version of this program that has made it.
type Known struct {
	Schema []byte               `json:"schema"`          // of the table, as a message of Arrow IPC
	Typed  []string             `json:"typed,omitempty"` // columns of text whose types Options give
	CSV    map[string]csv.Guess `json:"csv,omitzero"`
	JSON   []json.Guess         `json:"json,omitzero"`
	Lake   *KnownLake           `json:"lake,omitempty"` // nil where the files are a table by themselves
}

// OpenKnown is Open, and returns what Options.Known takes to open some of the files.
func OpenKnown(ctx context.Context, patterns []string, opt Options) (scan.Source, *Known, error) {
	table, err := opt.lakeTable(ctx, patterns)
	if err != nil {
		return nil, nil, err
	}
	if table != nil {
		return opt.openKnownLake(ctx, table)
	}
	files, err := openAll(ctx, patterns, &opt)
	if err != nil {
		return nil, nil, err
	}
	source, err := files.table(&opt)
	if err != nil {
		return nil, nil, err
	}
	typed := maps.Clone(opt.CSV.Types)
	if typed == nil {
		typed = make(map[string]arrow.DataType)
	}
	maps.Copy(typed, opt.JSON.Types)
	known := &Known{Typed: slices.Sorted(maps.Keys(typed)), CSV: files.guesses.csv, JSON: files.guesses.json}
	known.Schema, err = EncodeSchema(source.Schema())
	return source, known, err
}

// Columns returns the columns of the table.
func (k *Known) Columns() (*arrow.Schema, error) {
	r, err := ipc.NewReader(bytes.NewReader(k.Schema))
	if err != nil {
		return nil, fmt.Errorf("the schema of the table: %w", err)
	}
	defer r.Release()
	return nested.RestoredSchema(r.Schema())
}

// EncodeSchema writes a schema as Known.Schema has it: a stream of Arrow IPC without batches.
func EncodeSchema(schema *arrow.Schema) ([]byte, error) {
	var text bytes.Buffer
	w := ipc.NewWriter(&text, ipc.WithSchema(nested.CarriedSchema(schema)))
	if err := w.Close(); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// guesses are what samples say of columns.
type guesses struct {
	csv  map[string]csv.Guess
	json []json.Guess
}

// table makes the table of the files. By Options.Known it has the columns of the whole table: the
// files are a part of that table.
func (f *openFiles) table(opt *Options) (scan.Source, error) {
	of := scan.Whole{UnionByName: opt.UnionByName}
	var err error
	if of.RowNumber, err = f.rowNumber(opt); err != nil {
		return nil, err
	}
	if opt.Known == nil {
		return scan.NewTable(f.inputs, f.hive, of)
	}
	whole, err := opt.Known.Columns()
	if err != nil {
		return nil, err
	}
	of.Schema = whole
	source, err := scan.NewTable(f.inputs, f.hive, of)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(source.Schema().Fields(), whole.Fields(), func(a, b arrow.Field) bool {
		return a.Name == b.Name && arrow.TypeEqual(a.Type, b.Type)
	}) {
		return nil, fmt.Errorf("%s: its columns are not those of the table any more", f.inputs[0].Name())
	}
	return source, nil
}

// apply gives the columns of text their types that had them given when the whole table was opened.
func (k *Known) apply(opt *Options) error {
	whole, err := k.Columns()
	if err != nil {
		return err
	}
	opt.CSV.Types = make(map[string]arrow.DataType, len(k.Typed))
	for _, name := range k.Typed {
		if f, ok := whole.FieldsByName(name); ok {
			opt.CSV.Types[name] = f[0].Type
		}
	}
	opt.JSON.Types = opt.CSV.Types
	return nil
}

// folderType returns the type that a folder's column has in the whole table; nil where that is not known.
func (k *Known) folderType(name string) (arrow.DataType, error) {
	if k == nil {
		return nil, nil
	}
	whole, err := k.Columns()
	if err != nil {
		return nil, err
	}
	if f, ok := whole.FieldsByName(name); ok {
		return f[len(f)-1].Type, nil // folders come behind the columns of files
	}
	return nil, nil
}

// typeFolders gives columns of folders their types: that of the whole table, where Known has it.
func typeFolders(columns []decode.Folder, known *Known, written manifestTypes) error {
	for i := range columns {
		typ, err := known.folderType(columns[i].Field.Name)
		if err != nil {
			return err
		}
		convert(&columns[i], typ, written[columns[i].Field.Name])
	}
	return nil
}
