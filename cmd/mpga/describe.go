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

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/digits"
)

func newDescribeCommand() *cobra.Command {
	var input inputFlags
	cmd := &cobra.Command{
		Use:   "describe FILE...",
		Short: "Show the columns of files, and what the files say of them",
		Long: `Show the columns of files with their types and, as far as a file says it without its rows being read,
NULLs, sizes, codecs, encodings, whether a GPU decodes their pages, and ranges.

FILE is a file, a folder, a glob pattern (in quotes) or - for the standard input. The types of CSV
columns are those of its first rows.`,
		Example: `  mpga describe tests/testdata/flights-2001.parquet
  mpga describe --type zip=string addresses.csv`,
		SuggestFor: []string{"desc", "describe-file", "schema", "info", "columns", "head", "inspect"},
		Args:       wantSome(inputFiles),
		RunE: func(cmd *cobra.Command, files []string) error {
			opt, err := input.options(cmd)
			if err != nil {
				return err
			}
			infos, err := dataset.Describe(cmd.Context(), files, opt)
			if err != nil {
				return err
			}
			text, err := describeFiles(cmd.Context(), infos)
			if err != nil {
				return err
			}
			return writeText(cmd.OutOrStdout(), text)
		},
	}
	cmd.Flags().SortFlags = false
	input.register(cmd.Flags())
	return cmd
}

// describeFiles writes a heading and a table of columns for each file, and the sum of several. A
// file may have a million columns, so the end of the context is an error.
func describeFiles(ctx context.Context, infos []dataset.FileInfo) (string, error) {
	var b strings.Builder
	for _, info := range infos {
		fmt.Fprintf(&b, "%s: %s, %s\n", info.Path, info.Format, extent(info))
		if err := describeColumns(ctx, &b, info.Columns); err != nil {
			return "", err
		}
		b.WriteByte('\n')
	}
	if len(infos) > 1 {
		fmt.Fprintf(&b, "%s: %s\n", digits.Counted(int64(len(infos)), "file"), extent(dataset.Total(infos)))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
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

var describeTitles = []string{"column", "type", "nulls", "size", "unpacked", "codec", "encodings", "gpu", "range"}

// describeCells are the texts of a column below describeTitles; unknown values are empty.
func describeCells(c dataset.ColumnInfo) []string {
	bounds := ""
	if c.HasRange {
		bounds = shorten(c.Min) + " to " + shorten(c.Max)
	}
	return []string{
		plainText(c.Name), c.Type.String(),
		optional(known(c.Nulls), humanize.Comma), optional(known(c.CompressedBytes), byteSize), optional(known(c.UncompressedBytes), byteSize),
		strings.ToLower(strings.Join(c.Codecs, ", ")), strings.ToLower(strings.Join(c.Encodings, ", ")), string(c.OnDevice), bounds,
	}
}

// describeColumns writes a table of the columns, without the cells that no column has.
func describeColumns(ctx context.Context, b *strings.Builder, columns []dataset.ColumnInfo) error {
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
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
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
	return w.Flush()
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
