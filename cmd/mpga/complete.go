package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
)

// completeInput lets the shell complete how files are read.
func completeInput(cmd *cobra.Command) {
	words := map[string][]string{"decimal-separator": {".", ","}}
	for _, o := range options.All() {
		if list := o.Words(); o.Flag != "" && len(list) > 0 {
			words[o.Flag] = list
		}
	}
	cmdflags.Complete(cmd, words)
}

// completeLayout lets the shell complete how files are laid out.
func completeLayout(cmd *cobra.Command) {
	cmdflags.Complete(cmd, map[string][]string{
		"codec":  {"none", "snappy", "zstd", "gzip", "lz4", "brotli"},
		"layout": {sink.LayoutGPU},
	})
}

// completeColumns lets the shell complete the columns of the files that are named before: in lists,
// in calls, and in conditions.
func (f *aggFlags) completeColumns(cmd *cobra.Command) {
	columns := func(cmd *cobra.Command, files []string, text string) ([]string, cobra.ShellCompDirective) {
		return completeLast(text, f.columns(cmd, files)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for _, flag := range []string{"by", "where", "partition-by"} {
		cmdflags.CompleteBy(cmd, flag, columns)
	}
	calls := func(cmd *cobra.Command, files []string, text string) ([]string, cobra.ShellCompDirective) {
		words := f.columns(cmd, files)
		if !strings.Contains(text[strings.LastIndexByte(text, ',')+1:], "(") {
			words = aggregateWords()
		}
		return completeLast(text, words), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmdflags.CompleteBy(cmd, "agg", calls)
	groups := func(cmd *cobra.Command, files []string, text string) ([]string, cobra.ShellCompDirective) {
		return completeLast(text, f.resultColumns()), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmdflags.CompleteBy(cmd, "order-by", groups)
	cmdflags.CompleteBy(cmd, "having", groups)
	cmdflags.CompleteBy(cmd, "type",
		func(cmd *cobra.Command, files []string, text string) ([]string, cobra.ShellCompDirective) {
			words := f.columns(cmd, files)
			for i, word := range words {
				name, about, _ := strings.Cut(word, "\t")
				words[i] = name + "=\t" + about
			}
			return completeLast(text, words), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
}

// completeTimeMax bounds how long a shell waits for the columns of files.
const completeTimeMax = 2 * time.Second

// columns returns the columns of files of this machine with their types, as a shell takes words with
// descriptions; nothing of files that cannot be read.
func (f *aggFlags) columns(cmd *cobra.Command, files []string) []string {
	if len(files) == 0 || slices.ContainsFunc(files, func(name string) bool {
		return name == "-" || strings.Contains(name, "://")
	}) {
		return nil
	}
	opt, err := f.input.options(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeMax)
	defer cancel()
	source, err := dataset.Open(ctx, files, opt)
	if err != nil {
		return nil
	}
	return columnWords(source.Schema())
}

func columnWords(schema *arrow.Schema) []string {
	words := make([]string, schema.NumFields())
	for i, field := range schema.Fields() {
		words[i] = quotedName(field.Name) + "\t" + query.TypeName(field.Type)
	}
	return words
}

// quotedName writes a column's name as SQL takes it.
func quotedName(name string) string {
	plain := func(i int, r rune) bool {
		return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9'
	}
	for i, r := range name {
		if !plain(i, r) {
			return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	return name
}

// aggregateWords are the beginnings of calls of the aggregates.
func aggregateWords() []string {
	var words []string
	for _, f := range query.Funcs() {
		switch f {
		case query.CountStar:
			words = append(words, "count(*)\t"+f.Help())
		case query.CountDistinct:
			words = append(words, "count(distinct \t"+f.Help())
		default:
			words = append(words, f.String()+"(\t"+f.Help())
		}
	}
	return words
}

// resultColumns returns the names of the keys and aggregates that are given before.
func (f *aggFlags) resultColumns() []string {
	s, err := sql.Compose(inputTable, sql.Clauses{By: f.by, Agg: f.agg})
	if err != nil {
		return nil
	}
	var names []string
	for _, item := range s.Items {
		name := quotedName(item.Name)
		switch {
		case item.Expr == nil: // *
			continue
		case item.Name == "":
			name = item.Expr.String()
		}
		if !slices.Contains(names, name) { // cobra reads the flags twice
			names = append(names, name)
		}
	}
	return names
}

// completeLast returns the words that complete the last name of a text, each behind the rest of it.
func completeLast(text string, words []string) []string {
	at := strings.LastIndexAny(text, ",( =<>+-*/") + 1
	before, begun := text[:at], strings.ToLower(text[at:])
	var found []string
	for _, word := range words {
		if strings.HasPrefix(strings.ToLower(word), begun) {
			found = append(found, before+word)
		}
	}
	return found
}
