// Command outofcore measures mpga with a GPU beside DuckDB on the CPUs of the same machine: the sum of
// a uint32 by a uint32 key, over rows in memory, with the device limited to a quarter of them.
//
//	go run ./outofcore -mpga ../bin/mpga -rows 1e9 -md outofcore.md -svg outofcore.svg
//
// mpga's part is `mpga bench outofcore`, which checks every answer. DuckDB has a table of its own with as many
// rows and groups, and sums its result up by a second aggregation, which must give the sum of all values.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
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
	command, device string
	markdown, svg   string
	rows            float64
	groups          []float64
	times, peer     int
}

func parse(args []string) (*options, error) {
	o := &options{}
	set := flag.NewFlagSet("outofcore", flag.ContinueOnError)
	groups := set.String("groups", "1e3,1e7,1e8,1e9", "`list` of numbers of groups: powers of ten")
	set.Float64Var(&o.rows, "rows", 1e9, "`number` of rows")
	set.IntVar(&o.times, "times", 3, "measured runs, of which the median counts, after one that does not")
	set.IntVar(&o.peer, "duckdb-times", 3, "the same of DuckDB, which takes longer")
	set.StringVar(&o.command, "mpga", "../bin/mpga", "`path` of the command")
	set.StringVar(&o.device, "device", "cuda", "mpga's `device`")
	set.StringVar(&o.markdown, "md", "", "write the table as Markdown to `file`")
	set.StringVar(&o.svg, "svg", "", "draw the table to `file`")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	for _, text := range strings.Split(*groups, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 1 || n > o.rows {
			return nil, fmt.Errorf("-groups: %q is no number from 1 to -rows", text)
		}
		o.groups = append(o.groups, n)
	}
	if o.times < 1 || o.peer < 1 {
		return nil, fmt.Errorf("-times %d, -duckdb-times %d: want at least 1", o.times, o.peer)
	}
	return o, nil
}

// line is what one number of groups took, in seconds.
type line struct {
	groups              float64
	mpga, duckDB, floor float64
	route               string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var lines []line
	for _, groups := range o.groups {
		l := line{groups: groups}
		if err := l.runMpga(ctx, o); err != nil {
			return fmt.Errorf("mpga, %g groups: %w", groups, err)
		}
		if l.duckDB, err = runDuckDB(ctx, o, groups); err != nil {
			return fmt.Errorf("DuckDB, %g groups: %w", groups, err)
		}
		lines = append(lines, l)
		fmt.Fprintf(out, "%g groups: DuckDB %.3f s, mpga %.3f s (%.1f times), floor %.3f s, %s\n", groups, l.duckDB, l.mpga, l.duckDB/l.mpga, l.floor, l.route)
	}
	table := markdown(o, lines)
	fmt.Fprint(out, "\n", table)
	if o.markdown != "" {
		if err := os.WriteFile(o.markdown, []byte(table), 0o644); err != nil {
			return err
		}
	}
	if o.svg != "" {
		return draw(o.svg, lines)
	}
	return nil
}

func (l *line) runMpga(ctx context.Context, o *options) error {
	cmd := exec.CommandContext(ctx, o.command, "bench", "outofcore", "--json", "--device", o.device,
		"--rows", fmt.Sprint(o.rows), "--groups", fmt.Sprint(l.groups), "--times", fmt.Sprint(o.times))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	var result struct {
		Groups         int64
		Seconds, Floor float64
		Stats          struct{ Route string }
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&result); err != nil {
		return err
	}
	if float64(result.Groups) != l.groups {
		return fmt.Errorf("%d groups came out", result.Groups)
	}
	l.mpga, l.floor, l.route = result.Seconds, result.Floor, result.Stats.Route
	return nil
}

// runDuckDB returns the median time of a query on DuckDB. Its keys are a permutation of the rows' numbers,
// modulo the groups; its values are those numbers modulo 1000.
func runDuckDB(ctx context.Context, o *options, groups float64) (seconds float64, err error) {
	db, err := sql.Open("duckdb", fmt.Sprintf("?threads=%d", runtime.NumCPU()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const prime = 2654435761
	_, err = db.ExecContext(ctx, fmt.Sprintf(
		"create table t as select (i * %d %% %.0f)::uinteger as k, (i %% 1000)::uinteger as v from range(%.0f) r(i)", prime, groups, o.rows))
	if err != nil {
		return 0, err
	}
	var want int64
	if err := db.QueryRowContext(ctx, "select sum(v)::bigint from t").Scan(&want); err != nil {
		return 0, err
	}
	var times []float64
	for i := range o.peer + 1 {
		start := time.Now()
		var count, sum int64
		err := db.QueryRowContext(ctx, "select count(*), sum(s)::bigint from (select k, sum(v) as s from t group by k)").Scan(&count, &sum)
		if err != nil {
			return 0, err
		}
		if float64(count) != groups || sum != want {
			return 0, fmt.Errorf("%d groups with a sum of %d, want %g and %d", count, sum, groups, want)
		}
		if i > 0 {
			times = append(times, time.Since(start).Seconds())
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// markdown returns the table.
func markdown(o *options, lines []line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %g rows | DuckDB, %d threads | mpga, with a GPU | times | floor of the link |\n|---|---|---|---|---|\n", o.rows, runtime.NumCPU())
	for _, l := range lines {
		fmt.Fprintf(&b, "| %g groups | %.2f s | %.3f s | %.1f | %.3f s |\n", l.groups, l.duckDB, l.mpga, l.duckDB/l.mpga, l.floor)
	}
	return b.String()
}
