package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/redact"
)

// differencesMax bounds the differences that a person reads.
const differencesMax = 20

// describeTable writes what files tell as one table, and how they differ.
func describeTable(ctx context.Context, s *dataset.Summary) (string, error) {
	var b strings.Builder
	formats := make([]string, len(s.Formats))
	for i, f := range s.Formats {
		formats[i] = string(f)
	}
	total := dataset.FileInfo{Bytes: s.Bytes, Rows: s.Rows, Parts: s.Parts, Format: s.Formats[0]}
	if len(formats) > 1 {
		total.Format = "" // whose parts have no name
	}
	count := digits.Counted(int64(len(s.Files)), "file")
	fmt.Fprintf(&b, "%s: %s, %s\n", count, strings.Join(formats, ", "), extent(total))
	columns := make([]describedColumn, len(s.Columns))
	for i, c := range s.Columns {
		columns[i].ColumnInfo = c.ColumnInfo
		switch {
		case c.Path:
			columns[i].from = "path"
		case c.Files < len(s.Files):
			columns[i].from = digits.Counted(int64(c.Files), "file")
		}
	}
	if err := describeColumns(ctx, &b, columns); err != nil {
		return "", err
	}
	if len(s.Differences) > 0 {
		b.WriteString("\nThe files differ:\n")
	}
	for i, d := range s.Differences {
		if i == differencesMax {
			fmt.Fprintf(&b, "  … %s\n", digits.Counted(int64(len(s.Differences)-i), "more difference"))
			break
		}
		fmt.Fprintf(&b, "  %s: %s\n", redact.URL(d.Path), differenceText(d))
	}
	if s.Table != nil {
		fmt.Fprintf(&b, "\nThey are not read as one table: %s\n", redact.Text(s.Table.Error()))
	}
	return b.String(), nil
}

func differenceText(d dataset.Difference) string {
	if d.Type == nil {
		return fmt.Sprintf("no column %s", plainText(d.Column))
	}
	return fmt.Sprintf("%s is %s, elsewhere %s", plainText(d.Column), query.TypeName(d.Type), query.TypeName(d.Common))
}

// The shapes of `mpga describe --format json`. Names stay; figures that no file tells are null.
type (
	tableJSON struct {
		Files       int              `json:"files"`
		Formats     []dataset.Format `json:"formats"`
		Rows        *int64           `json:"rows"`
		Bytes       *int64           `json:"bytes"`
		RowGroups   int              `json:"row_groups"`
		Columns     []columnJSON     `json:"columns"`
		Differences []differenceJSON `json:"differences"`
		Error       *string          `json:"error"` // why the files are not read as one table
		FileList    []fileJSON       `json:"file_list"`
	}
	fileJSON struct {
		Path      string         `json:"path"`
		Format    dataset.Format `json:"format"`
		Rows      *int64         `json:"rows"`
		Bytes     *int64         `json:"bytes"`
		RowGroups int            `json:"row_groups"`
		Columns   []columnJSON   `json:"columns,omitempty"` // with --each
	}
	columnJSON struct {
		Name      string   `json:"name"`
		Type      string   `json:"type"`     // of Arrow
		SQLType   string   `json:"sql_type"` // as DESCRIBE has it
		From      string   `json:"from"`     // file, or path: a folder key=value, or the name of the file
		Files     int      `json:"files"`    // that have the column
		Nulls     *int64   `json:"nulls"`
		Bytes     *int64   `json:"bytes"`
		Unpacked  *int64   `json:"unpacked_bytes"`
		Codecs    []string `json:"codecs"`
		Encodings []string `json:"encodings"`
		GPU       *string  `json:"gpu"` // who decodes: yes, no, with string keys
		Min       *string  `json:"min"`
		Max       *string  `json:"max"`
	}
	differenceJSON struct {
		Path   string  `json:"path"`
		Column string  `json:"column"`
		Type   *string `json:"type"` // null: the file does not have the column
		Common string  `json:"common_type"`
	}
)

// describeJSON writes what files tell as one object. each adds the columns of every file.
func describeJSON(s *dataset.Summary, each bool) (string, error) {
	t := tableJSON{Files: len(s.Files), Formats: s.Formats, Rows: known(s.Rows), Bytes: known(s.Bytes), RowGroups: s.Parts,
		Columns: []columnJSON{}, Differences: []differenceJSON{}, FileList: []fileJSON{}}
	for _, c := range s.Columns {
		column := newColumnJSON(c.ColumnInfo, c.Files)
		if c.Path {
			column.From = "path"
		}
		t.Columns = append(t.Columns, column)
	}
	for _, d := range s.Differences {
		t.Differences = append(t.Differences,
			differenceJSON{redact.URL(d.Path), d.Column, typeText(d.Type), d.Common.String()})
	}
	if s.Table != nil {
		text := redact.Text(s.Table.Error())
		t.Error = &text
	}
	for _, f := range s.Files {
		file := fileJSON{Path: redact.URL(f.Path), Format: f.Format, Rows: known(f.Rows), Bytes: known(f.Bytes),
			RowGroups: f.Parts}
		if each {
			for _, c := range f.Columns {
				file.Columns = append(file.Columns, newColumnJSON(c, 1))
			}
		}
		t.FileList = append(t.FileList, file)
	}
	text, err := json.MarshalIndent(t, "", "  ")
	return string(text), err
}

func newColumnJSON(c dataset.ColumnInfo, files int) columnJSON {
	column := columnJSON{Name: c.Name, Type: c.Type.String(), SQLType: query.TypeName(c.Type), From: "file", Files: files,
		Nulls: known(c.Nulls), Bytes: known(c.CompressedBytes), Unpacked: known(c.UncompressedBytes),
		Codecs: append([]string{}, c.Codecs...), Encodings: append([]string{}, c.Encodings...)}
	if gpu := string(c.OnDevice); gpu != "" {
		column.GPU = &gpu
	}
	if c.HasRange {
		column.Min, column.Max = &c.Min, &c.Max
	}
	return column
}

// typeText is the name of a type, nil of none.
func typeText(t arrow.DataType) *string {
	if t == nil {
		return nil
	}
	text := t.String()
	return &text
}
