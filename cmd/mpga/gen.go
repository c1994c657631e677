package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/sink"
)

// genFlags are the flags that all data sets share.
type genFlags struct {
	output  string
	format  string
	codec   string
	files   int
	threads int
	seed    uint64
}

// filesMax bounds --files, which are open all at once, below the usual limit of a process.
const filesMax = 512

func newGenCommand() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen",
		Short: "Generate data sets to try and to measure with",
		Long: `Generate data sets to try and to measure with: H2O.ai's group-by table, pairs of a key and a value
under four distributions, TPC-H's lineitem, a table of the shape of ClickBench's hits.

The same arguments give the same rows, whatever the number of threads or files. Counts are written as
10000000, 10_000_000 or 1e7.`,
		Example: `  mpga gen h2o --name G1_1e7_1e2_0_0 -o G1_1e7_1e2_0_0.parquet
  mpga gen pairs --dist zipf --zipf 0.8 --rows 1e8 --groups 1e6 -o pairs.parquet
  mpga gen lineitem --scale 1 --files 8 -o lineitem.parquet
  mpga gen hits --rows 3e6 -o hits.parquet`,
		Args: wantCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := cmd.PersistentFlags()
	flags.StringVarP(&f.output, "output", "o", "-", "write to `FILE`, whole or not at all; - is the standard output")
	flags.StringVar(&f.format, "format", "",
		"`WORD` is table, vertical, markdown, csv, tsv, json, parquet, arrow or arrows (a stream); by "+
			"the ending of FILE when not given")
	flags.StringVar(&f.codec, "codec", "",
		"compression within parquet (`WORD` is snappy, zstd, gzip, lz4, brotli or none) and arrow (none, lz4 or zstd)")
	flags.IntVar(&f.files, "files", 1, "cut the rows into `N` files: x.parquet becomes x-0001.parquet and so on")
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads; 0 is as many as there are processors")
	flags.Uint64Var(&f.seed, "seed", 1, "other `SEED`s give other rows")
	for _, table := range []*cobra.Command{f.h2oCommand(), f.pairsCommand(), f.lineitemCommand(), f.hitsCommand()} {
		table.Args, table.ValidArgsFunction = wantArgs(cobra.NoArgs), cobra.NoFileCompletions
		cmd.AddCommand(table)
	}
	return cmd
}

func (f *genFlags) h2oCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "h2o --name G1_ROWS_K_NULLS_SORTED",
		Short: "The group-by table of H2O.ai's db-benchmark",
		Long: `Generate the group-by table of H2O.ai's db-benchmark: id1 to id6, v1 to v3.

The name is the benchmark's own: G1_<rows>_<K>_<NULL percent>_<sorted>. id1, id2, id4 and id5 have K
values, id3 and id6 have rows/K; with NULLs, 5 percent of the values of an id are NULL, and of the
rows of v1, v2 and v3. A sorted table is in the order of id1 to id6, NULLs first.`,
		Example: `  mpga gen h2o --name G1_1e7_1e2_0_0 -o G1_1e7_1e2_0_0.parquet
  mpga gen h2o --name G1_1e6_1e2_5_1 --format csv -o - | head`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt, err := gen.ParseH2O(name)
			if err != nil {
				return usagef("--name %w", err)
			}
			opt.Seed = f.seed
			table, err := gen.H2O(opt)
			return f.write(cmd, table, err)
		},
	}
	cmd.Flags().StringVar(&name, "name", "G1_1e7_1e2_0_0", "`NAME` of the table")
	return cmd
}

func (f *genFlags) pairsCommand() *cobra.Command {
	opt := gen.PairsOptions{Rows: 10_000_000, Groups: 1_000_000}
	var dist, key, value string
	cmd := &cobra.Command{
		Use:   "pairs",
		Short: "A key and a value, with an exact number of groups",
		Long: `Generate two columns, key and value. Every one of the groups' keys occurs; the rows beyond the first
of each key follow the distribution:

  uniform       every key as often as another
  zipf          the r-th key in proportion to r^-s, s by --zipf
  selfsimilar   a fraction h of the keys has 1 - h of the rows, h by --h
  heavy         one key has a share of the rows, by --heavy, and the others are uniform`,
		Example: `  mpga gen pairs --rows 1e8 --groups 1e7 -o uniform.parquet
  mpga gen pairs --dist zipf --zipf 0.8 --rows 1e8 --groups 1e6 --key int64 --value int64 -o zipf.parquet
  mpga gen pairs --dist heavy --heavy 0.5 --key utf8 --value float64 --rows 1e6 --groups 1e3 -o heavy.csv.zst`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			opt.Seed = f.seed
			if opt.Dist, err = gen.ParseDist(dist); err != nil {
				return usagef("--dist: %w", err)
			}
			if opt.Key, err = gen.ParseKeyType(key); err != nil {
				return usagef("--key: %w", err)
			}
			if opt.Value, err = gen.ParseValueType(value); err != nil {
				return usagef("--value: %w", err)
			}
			table, err := gen.Pairs(opt)
			return f.write(cmd, table, err)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var((*countFlag)(&opt.Rows), "rows", "`NUMBER` of rows")
	flags.Var((*countFlag)(&opt.Groups), "groups", "`NUMBER` of distinct keys")
	flags.StringVar(&dist, "dist", "uniform", "how often keys occur: `WORD` is uniform, zipf, selfsimilar or heavy")
	flags.Float64Var(&opt.Zipf, "zipf", 1, "exponent `S` of --dist zipf, above 0; 1 and less will do")
	flags.Float64Var(&opt.SelfSimilar, "h", 0.2, "`H` of --dist selfsimilar, between 0 and 0.5")
	flags.Float64Var(&opt.Heavy, "heavy", 0.5, "`SHARE` of the first key in --dist heavy, from 0 to 1")
	flags.StringVar(&key, "key", "int64", "`TYPE` is int32, int64, uint32, uint64 or utf8")
	flags.StringVar(&value, "value", "int64", "`TYPE` is int32, int64, uint32, uint64 or float64")
	flags.BoolVar(&opt.Sparse, "sparse", false,
		"spread integer keys over all of their type; they count from 0 when not given")
	cmdflags.Complete(cmd, map[string][]string{
		"dist":  {"uniform", "zipf", "selfsimilar", "heavy"},
		"key":   {"int32", "int64", "uint32", "uint64", "utf8"},
		"value": {"int32", "int64", "uint32", "uint64", "float64"},
	})
	return cmd
}

func (f *genFlags) lineitemCommand() *cobra.Command {
	var scale float64
	cmd := &cobra.Command{
		Use:   "lineitem",
		Short: "A table like TPC-H's lineitem",
		Long: `Generate a table like TPC-H's lineitem, with the columns and distributions of its specification but
for the comments, which are random words: about 6,000,000 rows at scale 1.`,
		Example: `  mpga gen lineitem --scale 1 -o lineitem.parquet
  mpga gen lineitem --scale 0.01 -o lineitem.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			table, err := gen.Lineitem(scale, f.seed)
			return f.write(cmd, table, err)
		},
	}
	cmd.Flags().Float64Var(&scale, "scale", 1, "`FACTOR`, also below 1")
	return cmd
}

func (f *genFlags) hitsCommand() *cobra.Command {
	rows := int64(1_000_000)
	cmd := &cobra.Command{
		Use:   "hits",
		Short: "A wide table of the shape of ClickBench's hits",
		Long: `Generate a table of the shape of ClickBench's hits: its 105 columns, with texts as a web analytics
system has them. Titles and search phrases are in letters of two bytes; half of the URLs occur once,
there are 30,000 titles, a third of the referrers and seven eighths of the phrases are empty, and few
users have most rows.`,
		Example: `  mpga gen hits --rows 3e6 -o hits.parquet
  mpga gen hits --rows 1e4 --format csv -o - | head`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			table, err := gen.Hits(rows, f.seed)
			return f.write(cmd, table, err)
		},
	}
	cmd.Flags().Var((*countFlag)(&rows), "rows", "`NUMBER` of rows")
	return cmd
}

// write writes a table, unless making it said that the flags make no sense.
func (f *genFlags) write(cmd *cobra.Command, table *gen.Table, err error) error {
	if err != nil {
		return usagef("%s: %w", cmd.Name(), err)
	}
	opt, err := f.sinkOptions(cmd)
	if err != nil {
		return err
	}
	threads := f.threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return writeTable(cmd.Context(), table, f.paths(), opt, threads)
}

func (f *genFlags) sinkOptions(cmd *cobra.Command) (sink.Options, error) {
	opt := sink.Options{Format: sink.Table, FS: filesOf(cmd.Context()), Stdout: cmd.OutOrStdout(), Codec: f.codec}
	var err error
	switch {
	case f.files < 1 || f.files > filesMax:
		return opt, usagef("--files %d: want 1 to %d", f.files, filesMax)
	case f.files > 1 && sink.IsDevice(f.output):
		return opt, usagef("--files %d: %s is one file", f.files, f.output)
	case f.threads < 0:
		return opt, usagef("--threads %d: want a number of threads, or 0 for one per processor", f.threads)
	case f.format != "":
		opt.Format, err = sink.ParseFormat(f.format)
	case !sink.IsStdout(f.output):
		opt.Format, err = sink.FormatOf(f.output)
	}
	if err != nil {
		return opt, usageError{err}
	}
	check := opt
	check.EnsureDefaults()
	if err := check.Validate(); err != nil {
		return opt, usageError{err}
	}
	return opt, nil
}

// paths returns the names of the output's files: dir/x.csv.gz becomes dir/x-0001.csv.gz and so on.
func (f *genFlags) paths() []string {
	if f.files == 1 {
		return []string{f.output}
	}
	dir, name := filepath.Split(f.output)
	ending := filepath.Ext(name)
	if ending == ".gz" || ending == ".zst" {
		ending = filepath.Ext(strings.TrimSuffix(name, ending)) + ending
	}
	paths := make([]string, f.files)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s%s-%04d%s", dir, strings.TrimSuffix(name, ending), i+1, ending)
	}
	return paths
}

// countFlag is a flag that reads 10000000, 10_000_000 and 1e7.
type countFlag int64

func (c *countFlag) String() string { return strconv.FormatInt(int64(*c), 10) }
func (c *countFlag) Type() string   { return "count" }

func (c *countFlag) Set(s string) error {
	n, err := gen.ParseCount(s)
	*c = countFlag(n)
	return err
}
