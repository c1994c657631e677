package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/sink"
)

// layoutFlags say how a result is laid out in files.
type layoutFlags struct {
	partitionBy    []string
	maxRowsPerFile int64
	manifest       bool
	overwrite      bool
	rowGroupRows   int64
	codec          string
	layout         string
	level          int
}

func (f *layoutFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.partitionBy, "partition-by", nil,
		"write a directory with a folder column=value for each value of `COLUMNS`, which the files in it do not have")
	flags.Int64Var(&f.maxRowsPerFile, "max-rows-per-file", 0, "write a directory of files of at most `N` rows")
	flags.BoolVar(&f.manifest, "manifest", false,
		"write a directory with a file "+sink.ManifestName+
			", written last: names, sizes, rows and SHA-256 of the files, schema and query")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the directory if it is there")
	flags.Int64Var(&f.rowGroupRows, "row-group-rows", 0,
		"of Parquet: `N` rows in a row group (default 262144; fewer with --partition-by and little memory)")
	flags.StringVar(&f.layout, "layout", "",
		"of Parquet: for whom files are laid out: `WORD` is gpu, of smaller pages and larger row groups (default any reader)")
	flags.StringVar(&f.codec, "codec", "",
		"compress with `WORD`: none, snappy (the default), zstd, gzip, lz4 or brotli for parquet; none "+
			"(the default), lz4 or zstd for arrow")
	flags.IntVar(&f.level, "level", 0,
		"how hard the codec works: `N` is 1 to 22 for zstd, 1 to 9 for gzip, 1 to 11 for brotli")
}

// apply completes the options of an output, and checks them where they need no columns.
func (f *layoutFlags) apply(cmd *cobra.Command, output string, opt *sink.Options) error {
	opt.PartitionBy, opt.MaxRowsPerFile, opt.Manifest, opt.Overwrite = f.partitionBy, f.maxRowsPerFile,
		f.manifest, f.overwrite
	opt.RowGroupRows, opt.Codec, opt.Level, opt.Layout = f.rowGroupRows, f.codec, f.level, f.layout
	directory := len(f.partitionBy) > 0 || f.maxRowsPerFile > 0 || f.manifest
	switch {
	case f.maxRowsPerFile < 0 || cmd.Flags().Changed("max-rows-per-file") && f.maxRowsPerFile == 0:
		return usagef("--max-rows-per-file %d: want 1 or more", f.maxRowsPerFile)
	case f.rowGroupRows < 0 || cmd.Flags().Changed("row-group-rows") && f.rowGroupRows == 0:
		return usagef("--row-group-rows %d: want 1 or more", f.rowGroupRows)
	case f.layout != "" && f.layout != sink.LayoutGPU:
		return usagef("--layout %s: want %s", f.layout, sink.LayoutGPU)
	case directory && sink.IsStdout(output):
		return usagef("--partition-by, --max-rows-per-file and --manifest write a directory: name it with -o")
	case f.overwrite && !directory:
		return usagef(
			"--overwrite is for a directory, which --partition-by, --max-rows-per-file and --manifest " +
				"write; a file is replaced anyway")
	}
	return nil
}

// commandLine writes the command as a shell takes it, for a manifest.
func commandLine(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+shellQuote(v))
		}
	})
	for _, a := range args {
		words = append(words, shellQuote(a))
	}
	return strings.Join(words, " ")
}

// shellQuote quotes a word where a shell would take it apart.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
