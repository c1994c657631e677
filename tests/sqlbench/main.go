// Command sqlbench measures mpga's SQL beside DuckDB's: the same statements over the same Parquet
// files, with the same threads and in turns. TPC-H's first query, H2O's ten questions, queries with
// the needs of ClickBench's, and what a filter reads that keeps a hundredth of sorted data.
//
//	go run ./sqlbench                              some 10 minutes on two cores, 1.2 GB of files, which are kept
//	go run ./sqlbench -scale 1 -rows 1e6           to try
//	go run ./sqlbench -cpu -run '^(TPC-H|H2O)'     a part, by CPU time, which other work on the machine disturbs less
//
// Both engines read every result to its end: DuckDB sums it up by a second aggregation, mpga's
// batches are summed up as they arrive. The sums must be the same. The result is Markdown.
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
	"time"

	"github.com/mpga/mpga/internal/gen"
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
	rows           int64
	threads, times int
	cpu            bool
	dir            string
	wanted         *regexp.Regexp
}

func parseOptions(args []string) (*options, error) {
	o := &options{rows: 1e7}
	set := flag.NewFlagSet("sqlbench", flag.ContinueOnError)
	set.Float64Var(&o.scale, "scale", 10, "`factor` of TPC-H's lineitem: 6,000,000 rows each")
	set.Func("rows", "`number` of rows of H2O's table; ClickBench's has half as many (default 1e7)", func(s string) (err error) {
		o.rows, err = gen.ParseCount(s)
		return err
	})
	set.IntVar(&o.threads, "threads", 2, "threads of each engine")
	set.IntVar(&o.times, "times", 5, "measured runs of each engine and query, of which the median counts")
	set.BoolVar(&o.cpu, "cpu", false, "compare CPU time in place of elapsed time")
	set.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "mpga-sqlbench"), "`directory` of data files")
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
	return o, os.MkdirAll(o.dir, 0o755)
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.threads)) // the garbage collector gets no more either
	theirs, err := peer.OpenDuckDB(ctx, o.threads, o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()
	ours, err := openMPGA(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	return measureAll(ctx, o, ours, theirs, out)
}

// measureAll prints a row for each query that is wanted, and a mean for each set of queries.
func measureAll(ctx context.Context, o *options, ours *mpga, theirs *peer.DuckDB, out io.Writer) error {
	clock := "elapsed"
	if o.cpu {
		clock = "CPU"
	}
	fmt.Fprintf(out, "%d threads each, medians of %d, %s time; TPC-H at scale %v, H2O of %d rows, ClickBench's shape of %d; %s\n\n",
		o.threads, o.times, clock, o.scale, o.rows, o.rows/2, time.Now().Format(time.DateOnly))
	fmt.Fprint(out, "| query | mpga ms | DuckDB ms | ratio | parse and plan ms | bytes read |\n|---|--:|--:|--:|--:|--:|\n")
	var failures []error
	for _, set := range querySets(o) {
		logs, n := 0.0, 0
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
			logs += math.Log(row.theirs / row.ours)
			n++
		}
		if n > 1 {
			fmt.Fprintf(out, "| %s: geometric mean | | | %.2f | | |\n", set.name, math.Exp(logs/float64(n)))
		}
	}
	return errors.Join(failures...)
}
