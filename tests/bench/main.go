// Command bench measures mpga beside DuckDB 2, and beside ClickHouse and Polars where Python has
// them: group-by from memory and from files, with the same rows and the same threads; mpga and
// DuckDB in turns.
//
//	go run ./bench                        all of it at 1e8 rows: hours, 16 GiB of memory, 10 GB of files
//	go run ./bench -peers=false           beside DuckDB alone: an hour or two
//	go run ./bench -rows 1e7 -times 3     to try
//	go run ./bench -run '^memory: 1e6'    a part; -list shows the names
//	go run ./bench -md bench.md -svg bench.svg -json bench.json
//
// The other engines are a process of Python, which needs the packages duckdb and pyarrow; it times
// itself. All engines read every result to its end, as Arrow batches, and the totals of all columns
// must be the same, in a first run that is not timed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/tests/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// flags are what the command line says.
type flags struct {
	run, dir, command, python string
	markdown, svg, json       string
	rows                      int64
	threads, times            int
	list, cpu, peers          bool
}

const rowsMin = 10_000

func parseFlags(args []string) (*flags, error) {
	f := &flags{rows: 1e8}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.Func("rows", "`number` of rows; H2O's table has a tenth of it (default 1e8)", func(s string) (err error) {
		f.rows, err = gen.ParseCount(s)
		if err == nil && f.rows < rowsMin {
			return fmt.Errorf("%d rows: want at least %d, as H2O's table is a tenth of it", f.rows, rowsMin)
		}
		return err
	})
	set.StringVar(&f.run, "run", "", "measure the cases whose names match `regexp`")
	set.BoolVar(&f.list, "list", false, "print the names of the cases and end")
	set.IntVar(&f.threads, "threads", 2, "threads of each engine")
	set.IntVar(&f.times, "times", 5, "measured runs of each engine and case, of which the median counts")
	set.BoolVar(&f.cpu, "cpu", false, "compare CPU time, which other work on the machine disturbs less than elapsed time")
	set.StringVar(&f.dir, "dir", filepath.Join(os.TempDir(), "mpga-bench"), "`directory` of data files, which are kept")
	set.StringVar(&f.command, "mpga", "../bin/mpga", "`path` of the command, for what runs in a process of its own")
	set.StringVar(&f.python, "python", "python3", "`interpreter` that has duckdb 2 and pyarrow, and chdb and polars for -peers")
	set.BoolVar(&f.peers, "peers", true, "measure ClickHouse and Polars, too, where the interpreter has them")
	set.StringVar(&f.markdown, "md", "", "write the report as Markdown to `file`")
	set.StringVar(&f.svg, "svg", "", "draw the ratios to `file`, and the curves beside it")
	set.StringVar(&f.json, "json", "", "write all samples to `file`")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag", set.Arg(0))
	case f.threads < 1:
		return nil, fmt.Errorf("-threads %d: want at least 1", f.threads)
	case f.times < 1:
		return nil, fmt.Errorf("-times %d: want at least 1", f.times)
	}
	return f, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(f.run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	all := slices.DeleteFunc(cases(f.rows), func(c benchCase) bool { return !wanted.MatchString(c.name) })
	if f.list {
		list(out, all, wanted)
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	b := &bench{rows: f.rows, threads: f.threads, times: f.times, dir: f.dir, command: f.command, python: f.python}
	if b.peers, err = peer.Start(ctx, f.python, f.threads); err != nil {
		return fmt.Errorf("-python: %w", err)
	}
	defer func() { err = errors.Join(err, b.Close(), b.peers.Close()) }()
	if err := b.peers.Run(peer.DuckDB, peer.Settings(f.dir)...); err != nil {
		return err
	}
	if f.peers {
		b.findOthers()
	}
	r := &report{}
	if r.Header, err = newHeader(ctx, b); err != nil {
		return err
	}
	r.Header.CPUTime = f.cpu
	if err := measureAll(ctx, b, r, all, wanted, out); err != nil {
		return err
	}
	if err := r.write(f); err != nil {
		return err
	}
	if r.failed() {
		return errors.New("not every case has a result")
	}
	return nil
}

func list(out io.Writer, all []benchCase, wanted *regexp.Regexp) {
	for _, c := range all {
		fmt.Fprintln(out, c.name)
	}
	for _, name := range []string{byGroupsName, byRowsName} {
		if wanted.MatchString(name) {
			fmt.Fprintln(out, name)
		}
	}
}
