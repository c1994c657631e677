package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/knob"
)

// describeFlags are the flags of mpga describe.
type describeFlags struct {
	each   bool
	format string
	input  inputFlags
}

func newDescribeCommand() *cobra.Command {
	var f describeFlags
	cmd := &cobra.Command{
		Use:   "describe FILE...",
		Short: "Show the columns of files, and what the files say of them",
		Long: `Show the columns of files with their types and, as far as a file says it without its rows being read,
NULLs, sizes, codecs, encodings, whether a GPU decodes their pages, and ranges.

FILE is a file, a folder, a glob pattern (in quotes) or - for the standard input. Several files are one
table, with columns of their folders key=value, and with the differences between their columns. The types
of the columns of CSV and JSON are those that their first rows show.`,
		Example: `  mpga describe tests/testdata/flights-2001.parquet
  mpga describe --format json 'sales/*.parquet'
  mpga describe --type zip=string addresses.csv`,
		SuggestFor: []string{"desc", "describe-file", "schema", "info", "columns", "head", "inspect"},
		Args:       wantSome(inputFiles),
		RunE:       f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.each, "each", false, "show each file by itself")
	flags.StringVar(&f.format, "format", "text", "`WORD` is text, or json for programs")
	cmdflags.Complete(cmd, map[string][]string{"format": {"text", "json"}})
	f.input.register(flags)
	completeInput(cmd)
	return cmd
}

func (f *describeFlags) run(cmd *cobra.Command, files []string) (err error) {
	defer func() { err = f.input.end(err) }()
	if f.format != "text" && f.format != "json" {
		return usagef("describe: --format %q: want text or json", f.format)
	}
	if err := f.input.refuse(cmd, "is of a query: describe does not read the rows"); err != nil {
		return err
	}
	opt, err := f.input.options(cmd)
	if err != nil {
		return err
	}
	summary, err := dataset.Summarize(cmd.Context(), files, opt)
	if err != nil {
		return err
	}
	summary.Table = knob.Reword(summary.Table, flagName)
	isOfPath := func(c dataset.SummaryColumn) bool { return c.Path }
	var text string
	switch {
	case f.format == "json":
		text, err = describeJSON(summary, f.each)
	case f.each || len(summary.Files) == 1 && !slices.ContainsFunc(summary.Columns, isOfPath):
		text, err = describeFiles(cmd.Context(), summary.Files)
	default:
		text, err = describeTable(cmd.Context(), summary)
	}
	if err != nil {
		return err
	}
	return writeText(cmd.OutOrStdout(), text)
}

// describeFiles writes a heading and a table of columns for each file. A file may have a million
// columns, so the end of the context is an error.
func describeFiles(ctx context.Context, infos []dataset.FileInfo) (string, error) {
	var b strings.Builder
	for _, info := range infos {
		fmt.Fprintf(&b, "%s: %s, %s\n", info.Path, info.Format, extent(info))
		columns := make([]describedColumn, len(info.Columns))
		for i, c := range info.Columns {
			columns[i].ColumnInfo = c
		}
		if err := describeColumns(ctx, &b, columns); err != nil {
			return "", err
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// describedColumn is a column of a table of columns.
type describedColumn struct {
	dataset.ColumnInfo
	from string // "path" of a folder's key or a file's name, or how many files have it; "" where all files have it
}

// extent says how much a file holds.
func extent(info dataset.FileInfo) string {
	rows := "rows not counted"
	if info.Rows >= 0 {
		rows = digits.Counted(info.Rows, "row")
	}
	parts := []string{rows}
	switch {
	case info.Parts > 0 && info.Format == dataset.FormatParquet:
		parts = append(parts, digits.Counted(int64(info.Parts), "row group"))
	case info.Parts > 0:
		parts = append(parts, digits.Counted(int64(info.Parts), "part"))
	}
	if info.Bytes >= 0 {
		parts = append(parts, byteSize(info.Bytes))
	}
	return strings.Join(parts, ", ")
}

var describeTitles = []string{"column", "type", "nulls", "size", "unpacked", "codec", "encodings", "gpu", "range", "of"}

// describeCells are the texts of a column below describeTitles; unknown values are empty.
func describeCells(c describedColumn) []string {
	bounds := ""
	if c.HasRange {
		bounds = shorten(c.Min) + " to " + shorten(c.Max)
	}
	return []string{
		plainText(c.Name), c.TypeText(),
		optional(known(c.Nulls), humanize.Comma), optional(known(c.CompressedBytes), byteSize),
		optional(known(c.UncompressedBytes), byteSize),
		strings.ToLower(strings.Join(c.Codecs, ", ")), strings.ToLower(strings.Join(c.Encodings, ", ")),
		string(c.OnDevice), bounds, c.from,
	}
}

// describeColumns writes a table of the columns, without the cells that no column has.
func describeColumns(ctx context.Context, b *strings.Builder, columns []describedColumn) error {
	table := [][]string{describeTitles}
	for _, c := range columns {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		table = append(table, describeCells(c))
	}
	shown := make([]bool, len(describeTitles)) // the cells that some column has
	for i := range shown {
		shown[i] = slices.ContainsFunc(table[1:], func(row []string) bool { return row[i] != "" })
	}
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range table {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var cells []string
		for i, cell := range row {
			if shown[i] {
				cells = append(cells, cell)
			}
		}
		fmt.Fprintf(w, "  %s\n", strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return nil
}

// boundRunesMax keeps a long minimum or maximum from spoiling the table.
const boundRunesMax = 24

func shorten(text string) string {
	runes := []rune(plainText(text))
	if len(runes) <= boundRunesMax {
		return string(runes)
	}
	return string(runes[:boundRunesMax-3]) + "..."
}

// plainText replaces what would move a terminal's cursor or a table's cells.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)
}
