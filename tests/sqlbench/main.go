// Command sqlbench measures mpga's SQL beside that of DuckDB 2: the same statements over the same
// Parquet files, with the same threads and in turns. TPC-H's first query, H2O's ten questions,
// ClickBench's 43 over a table of its shape, functions of strings over the same table, and what a filter
// reads that keeps a hundredth of sorted data.
//
//	go run ./sqlbench                              some 10 minutes on two cores, 1.2 GB of files, which are kept
//	go run ./sqlbench -scale 1 -rows 1e6           to try
//	go run ./sqlbench -cpu -run '^(TPC-H|H2O)'     a part, by CPU time, which other work on the machine disturbs less
//
// DuckDB is a process of Python, which needs the packages duckdb and pyarrow; it times itself. Both
// engines read every result to its end, as Arrow batches, and the totals of all columns must be the
// same, in a first run that is not timed. The result is Markdown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/tests/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sqlbench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	scale          float64
	rows, hits     int64
	threads, times int
	cpu            bool
	dir, python    string
	profiles       string // directory; "" for none
	wanted         *regexp.Regexp
}

func parseOptions(args []string) (*options, error) {
	o := &options{rows: 1e7, hits: 3e6}
	count := func(of *int64) func(string) error {
		return func(s string) (err error) {
			*of, err = gen.ParseCount(s)
			return err
		}
	}
	set := flag.NewFlagSet("sqlbench", flag.ContinueOnError)
	set.Float64Var(&o.scale, "scale", 10, "`factor` of TPC-H's lineitem: 6,000,000 rows each")
	set.Func("rows", "`number` of rows of H2O's table (default 1e7)", count(&o.rows))
	set.Func("hits", "`number` of rows of ClickBench's table (default 3e6)", count(&o.hits))
	set.IntVar(&o.threads, "threads", 2, "threads of each engine")
	set.IntVar(&o.times, "times", 5, "measured runs of each engine and query, of which the median counts")
	set.BoolVar(&o.cpu, "cpu", false, "compare CPU time in place of elapsed time")
	set.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "mpga-sqlbench"), "`directory` of data files")
	set.StringVar(&o.python, "python", "python3", "`interpreter` that has duckdb 2 and pyarrow")
	set.StringVar(&o.profiles, "profiles", "", "write a CPU profile of mpga for each query to `directory`, for go tool pprof")
	run := set.String("run", "", "measure the queries whose names match `regexp`")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if o.wanted, err = regexp.Compile(*run); err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	if set.NArg() > 0 || o.threads < 1 || o.times < 1 {
		return nil, errors.New("want flags alone, and -threads and -times of at least 1")
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return nil, err
		}
	}
	return o, os.MkdirAll(o.dir, 0o755)
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.threads)) // the garbage collector gets no more either
	theirs, err := peer.Start(ctx, o.python, o.threads)
	if err != nil {
		return fmt.Errorf("-python: %w", err)
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()
	if err := theirs.Run(peer.DuckDB, peer.Settings(o.dir)...); err != nil {
		return err
	}
	ours, err := openMPGA(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	return measureAll(ctx, o, ours, theirs, out)
}

// measureAll prints a row for each query that is wanted, and the ratios of each set of queries.
func measureAll(ctx context.Context, o *options, ours *mpga, theirs *peer.Process, out io.Writer) error {
	clock := "elapsed"
	if o.cpu {
		clock = "CPU"
	}
	version, err := theirs.Version(peer.DuckDB)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "DuckDB %s; %d threads each, medians of %d, %s time; TPC-H at scale %v, H2O of %d rows, ClickBench's shape of %d; %s\n\n",
		version, o.threads, o.times, clock, o.scale, o.rows, o.hits, time.Now().Format(time.DateOnly))
	fmt.Fprint(out, "| query | mpga ms | DuckDB ms | ratio | parse and plan ms | bytes read |\n|---|--:|--:|--:|--:|--:|\n")
	var failures []error
	for _, set := range querySets(o) {
		var measured ratios
		for _, q := range set.queries {
			q.name = set.name + ": " + q.name
			if !o.wanted.MatchString(q.name) {
				continue
			}
			row, err := measureQuery(ctx, o, q, ours, theirs)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", q.name, err))
				continue
			}
			fmt.Fprintf(out, "| %s | %.1f | %.1f | %.2f | %.2f | %s |\n", q.name, row.ours, row.theirs, row.theirs/row.ours, row.plan, row.read)
			measured = append(measured, row.theirs/row.ours)
		}
		measured.print(out, set.name)
	}
	return errors.Join(failures...)
}

// ratios are DuckDB's times / mpga's, of the queries of a set.
type ratios []float64

// print writes the rows that stand below a set of several queries.
func (r ratios) print(out io.Writer, set string) {
	if len(r) < 2 {
		return
	}
	logs, behind := 0.0, 0
	for _, ratio := range r {
		logs += math.Log(ratio)
		if ratio < 1 {
			behind++
		}
	}
	fmt.Fprintf(out, "| %s: geometric mean | | | %.2f | | |\n", set, math.Exp(logs/float64(len(r))))
	fmt.Fprintf(out, "| %s: minimum | | | %.2f | | |\n", set, slices.Min(r))
	fmt.Fprintf(out, "| %s: below 1.0 | | | %d of %d | | |\n", set, behind, len(r))
}
