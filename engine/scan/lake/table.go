package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/vfs"
)

// Kind is who describes a table.
type Kind string

// The kinds.
const (
	None    Kind = ""
	Delta   Kind = "delta"
	Iceberg Kind = "iceberg"
)

// Options say which state of a table is read. The zero value reads the last one.
type Options struct {
	Version   string // of Delta: a version; of Iceberg: a version of the metadata, or a part of their file's name
	Snapshot  string // of Iceberg: the number of a snapshot
	Timestamp string // the state at a time; UTC where it has no zone
}

// Table is a table at a moment.
type Table struct {
	Kind    Kind
	Root    string  // directory
	State   string  // for people: "version 3", "snapshot 42"
	Pin     Options // read the same state again
	Columns []Column
	Files   []File
}

// Column is a column of a table, or a part of one.
type Column struct {
	Name     string
	Type     arrow.DataType
	Nullable bool
	ID       int      // in Iceberg, and in Delta with mapping by id; 0 of none
	Physical string   // its name in files, in Delta with mapping
	Parts    []Column // fields of a struct; the element of a list; key and value of a map
	Default  any      // of rows of files without the column, as decode.Folder.Values has it; nil is NULL
	isUUID   bool     // read as text, where bounds and partitions have 16 bytes
}

// Schema returns the columns as Arrow has them.
func (t *Table) Schema() *arrow.Schema { return arrow.NewSchema(fieldsOf(t.Columns), nil) }

func fieldsOf(columns []Column) []arrow.Field {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return fields
}

// File is a data file of a table.
type File struct {
	Path  string
	Rows  int64 // deleted ones among them; -1 where the metadata do not tell
	Bytes int64

	// Texts are values of columns that the file does not have, by name, as Delta writes them in its log; nil is NULL.
	Texts map[string]*string

	// Lacking are values of columns, as decode.Folder.Values has them, where the file does not have the column.
	Lacking map[string]any

	Bounds   map[string]predicate.Bounds // of columns, by the names of query.FieldName
	Excludes func(column string, t *predicate.Term) bool
	Naming   parquet.Naming

	deletes []deletes
	live    int64 // rows that are not deleted; -1 where that is not known
}

// Meanings returns, by file, a text that is another where the table takes other rows from the file: with other values
// of some columns (ColumnsMeaning) or of partitions, or without others that are deleted.
func (t *Table) Meanings(columns string) []string {
	list := make([]string, len(t.Files))
	for i := range t.Files {
		list[i] = t.Files[i].meaning(columns)
	}
	return list
}

// ColumnsMeaning returns a text that is another where some columns, by their names, are read from other columns of
// files, or in another way.
func (t *Table) ColumnsMeaning(counts func(name string) bool) string {
	var text strings.Builder
	writeColumns(&text, slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !counts(c.Name) }))
	return text.String()
}

// meaning is one of Meanings.
func (f *File) meaning(columns string) string {
	h := sha256.New()
	fmt.Fprint(h, columns)
	for _, name := range slices.Sorted(maps.Keys(f.Texts)) {
		if text := f.Texts[name]; text != nil {
			fmt.Fprintf(h, "%q %q\n", name, *text)
		} else {
			fmt.Fprintf(h, "%q NULL\n", name)
		}
	}
	for _, d := range f.deletes {
		fmt.Fprintln(h, d)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func writeColumns(to io.Writer, columns []Column) {
	for i := range columns {
		c := &columns[i]
		fmt.Fprintf(to, "%q %s %d %q %v (", c.Name, c.Type, c.ID, c.Physical, c.Default)
		writeColumns(to, c.Parts)
		fmt.Fprintln(to, ")")
	}
}

// Live returns how many rows are not deleted; -1 where the metadata do not tell.
func (f *File) Live() int64 { return f.live }

// Find returns the kind of the table whose directory a name is: by what lies in it.
func Find(fsys vfs.FS, dir string) (Kind, error) {
	for _, of := range []struct {
		kind Kind
		sub  string
	}{{Delta, logDir}, {Iceberg, metadataDir}} {
		found, err := list(fsys, join(dir, of.sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return None, err
		}
		for _, f := range found {
			if of.kind == Iceberg && !isMetadata(f.name) {
				continue
			}
			return of.kind, nil
		}
	}
	return None, nil
}

// FindAmong is Find for a directory whose entries are known.
func FindAmong(fsys vfs.FS, dir string, entries []fs.DirEntry) (Kind, error) {
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == logDir || e.Name() == metadataDir }) {
		return Find(fsys, dir)
	}
	return None, nil
}

// Open reads the metadata of a table.
func Open(ctx context.Context, fsys vfs.FS, kind Kind, dir string, opt Options) (*Table, error) {
	t := &Table{Kind: kind, Root: strings.TrimRight(dir, "/")}
	var err error
	switch kind {
	case Delta:
		err = t.openDelta(ctx, fsys, opt)
	case Iceberg:
		err = t.openIceberg(ctx, fsys, opt)
	default:
		err = fmt.Errorf("no table of Delta or Iceberg")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}
