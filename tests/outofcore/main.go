// Command outofcore measures mpga with a GPU beside DuckDB on the CPUs of the same machine: the sum
// of a uint32 by a uint32 key, over rows in memory, with the device limited to a quarter of them;
// then over Parquet files, which both read from the page cache.
//
//	go run ./outofcore -mpga ../bin/mpga -lab ../bin/mpga-lab -rows 1e9 -parquet-rows 3e8 -md outofcore.md -svg outofcore.svg
//
// mpga's part is `mpga-lab outofcore`, which checks every answer. DuckDB 2 is a process of Python,
// which times itself. It has a table of its own with as many rows and groups, and sums its result
// up by a second aggregation, which must give the sum of all values.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/tests/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "outofcore:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	command, lab    string // paths of mpga, which generates files, and of mpga-lab
	device          string
	python          string
	markdown, svg   string
	rows, files     float64 // of tables in memory, and of Parquet files
	groups, inFiles []float64
	times, peer     int
}

func parse(args []string) (*options, error) {
	o := &options{}
	set := flag.NewFlagSet("outofcore", flag.ContinueOnError)
	groups := set.String("groups", "1e3,1e7,1e8,1e9", "`list` of numbers of groups: powers of ten")
	inFiles := set.String("parquet-groups", "1e3,1e7,1e8", "the same `list` of Parquet files")
	set.Float64Var(&o.rows, "rows", 1e9, "`number` of rows in memory; 0 measures Parquet alone")
	set.Float64Var(&o.files, "parquet-rows", 0, "`number` of rows of Parquet files; 0 measures none")
	set.IntVar(&o.times, "times", 3, "measured runs, of which the median counts, after one that does not")
	set.IntVar(&o.peer, "duckdb-times", 3, "the same of DuckDB, which takes longer")
	set.StringVar(&o.command, "mpga", "../bin/mpga", "`path` of the command")
	set.StringVar(&o.lab, "lab", "../bin/mpga-lab", "`path` of the laboratory's command")
	set.StringVar(&o.python, "python", "python3", "`interpreter` that has duckdb 2 and pyarrow")
	set.StringVar(&o.device, "device", "cuda", "mpga's `device`")
	set.StringVar(&o.markdown, "md", "", "write the table as Markdown to `file`")
	set.StringVar(&o.svg, "svg", "", "draw the table to `file`")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if o.rows > 0 {
		if o.groups, err = numbers(*groups, o.rows); err != nil {
			return nil, fmt.Errorf("-groups: %w", err)
		}
	}
	if o.files > 0 {
		if o.inFiles, err = numbers(*inFiles, o.files); err != nil {
			return nil, fmt.Errorf("-parquet-groups: %w", err)
		}
	}
	if o.times < 1 || o.peer < 1 {
		return nil, fmt.Errorf("-times %d, -duckdb-times %d: want at least 1", o.times, o.peer)
	}
	return o, nil
}

// numbers reads a list of numbers of groups of so many rows.
func numbers(list string, rows float64) (out []float64, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 1 || n > rows {
			return nil, fmt.Errorf("%q is no number from 1 to %g", text, rows)
		}
		out = append(out, n)
	}
	return out, nil
}

// line is what one number of groups took.
type line struct {
	groups float64
	mpga   measured
	duckDB float64 // seconds
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var lines []line
	for _, groups := range o.groups {
		l := line{groups: groups}
		l.mpga, err = runMpga(ctx, o, groups, "--device", o.device, "--rows", fmt.Sprint(o.rows), "--groups", fmt.Sprint(groups))
		if err != nil {
			return fmt.Errorf("mpga, %g groups: %w", groups, err)
		}
		if l.duckDB, err = runDuckDB(ctx, o, groups, fmt.Sprintf(tableSQL, groups, o.rows)); err != nil {
			return fmt.Errorf("DuckDB, %g groups: %w", groups, err)
		}
		lines = append(lines, l)
		m := &l.mpga
		fmt.Fprintf(out, "%g groups: DuckDB %.3f s, mpga %.3f s (%.1f times; first %.3f s), floor %.3f s, %s, %.2f GB resident of %.2f GB of input and result\n",
			groups, l.duckDB, m.Seconds, l.duckDB/m.Seconds, m.First, m.Floor, m.Stats.Route, m.resident(), m.needed())
	}
	inFiles, err := runFiles(ctx, o, out)
	if err != nil {
		return err
	}
	table := markdown(o, lines, inFiles)
	fmt.Fprint(out, "\n", table)
	if o.markdown != "" {
		if err := os.WriteFile(o.markdown, []byte(table), 0o644); err != nil {
			return err
		}
	}
	if o.svg != "" && len(lines) > 0 {
		return draw(o.svg, lines)
	}
	return nil
}

// tableSQL makes a table whose keys are a permutation of the rows' numbers, modulo the groups; the
// values are the rows' numbers modulo 1000.
const tableSQL = "create table t as select (i * 2654435761 %% %.0f)::uinteger as k, (i %% 1000)::uinteger as v from range(%.0f) r(i)"

// runDuckDB returns the median time of the query on DuckDB, over what a statement makes t: a table
// or a view of k and v.
func runDuckDB(ctx context.Context, o *options, groups float64, statement string) (seconds float64, err error) {
	db, err := peer.Start(ctx, o.python, runtime.NumCPU())
	if err != nil {
		return 0, fmt.Errorf("-python: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Run(peer.DuckDB, statement); err != nil {
		return 0, err
	}
	_, all, err := askSums(db, "select count(*), sum(v)::bigint from t")
	if err != nil {
		return 0, err
	}
	var times []time.Duration
	for i := range o.peer + 1 {
		took, got, err := askSums(db, sumsSQL)
		if err != nil {
			return 0, err
		}
		if want := (sums{int64(groups), all.sum}); got != want {
			return 0, fmt.Errorf("groups and sum %v, want %v", got, want)
		}
		if i > 0 {
			times = append(times, took)
		}
	}
	return peer.Median(times) / 1e3, nil
}

// sumsSQL is the query that is measured, and what sums its result up.
const sumsSQL = "select count(*), sum(s)::bigint from (select k, sum(v) as s from t group by k)"

// sums are the one row of a query: how many rows or groups there are, and their sum.
type sums struct{ count, sum int64 }

// askSums asks DuckDB, and returns the time that it took.
func askSums(db *peer.Process, query string) (took time.Duration, out sums, err error) {
	reply, err := db.Ask(peer.Request{Engine: peer.DuckDB, Query: query}, func(r array.RecordReader) error {
		for r.Next() {
			row := r.RecordBatch()
			out = sums{row.Column(0).(*array.Int64).Value(0), row.Column(1).(*array.Int64).Value(0)}
		}
		return r.Err()
	})
	return reply.Wall, out, err
}
