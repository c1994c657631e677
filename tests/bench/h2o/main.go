// Command h2o asks H2O.ai's ten group-by questions of mpga and of DuckDB, from one Parquet file,
// and prints their times as a Markdown table.
//
//	go run ./bench/h2o -rows 1e7 -threads 2
//
// Both read the file anew each time. DuckDB materialises its answer as a temporary table; mpga's
// record batches are read to their end and dropped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/tests/h2o"
	"github.com/mpga/mpga/tests/oracle"
)

func main() {
	rows := flag.String("rows", "1e7", "rows of the table")
	rest := flag.String("table", "1e2_0_0", "K, percentage of NULLs and sorted, as in the table's name")
	threads := flag.Int("threads", runtime.GOMAXPROCS(0), "threads of either")
	runs := flag.Int("runs", 5, "runs of each question, of which the median counts")
	dir := flag.String("dir", os.TempDir(), "where the table is kept between calls")
	only := flag.String("question", "", "the one question to ask, such as q3")
	flag.Parse()
	if err := run(*dir, "G1_"+*rows+"_"+*rest, *threads, *runs, *only); err != nil {
		fmt.Fprintln(os.Stderr, "h2o:", err)
		os.Exit(1)
	}
}

func run(dir, name string, threads, runs int, only string) (err error) {
	ctx := context.Background()
	file := filepath.Join(dir, name+".parquet")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := h2o.Write(ctx, name, file); err != nil {
			return err
		}
	}
	db, err := oracle.Open(threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec("CREATE VIEW t AS FROM read_parquet('" + file + "')"); err != nil {
		return err
	}
	eng, err := engine.Open(engine.Options{Threads: threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	src, err := scan.Open(ctx, []string{file}, scan.Options{})
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d threads, median of %d runs, milliseconds\n\n", name, threads, runs)
	fmt.Println("| | groups | mpga | DuckDB | DuckDB / mpga |")
	fmt.Println("|---|---|---|---|---|")
	for _, q := range h2o.Questions() {
		if only != "" && q.Name != only {
			continue
		}
		if err := measure(ctx, eng, src, db, q, runs); err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
	}
	return nil
}

// measure asks one question of both, in turns, and prints its row.
func measure(ctx context.Context, eng *engine.Engine, src scan.Source, db *oracle.DuckDB, q h2o.Question, runs int) error {
	var ours, theirs []time.Duration
	var groups int64
	for range runs {
		runtime.GC() // one run does not pay for the garbage of another
		start := time.Now()
		n, err := drain(ctx, eng, src, q.Query)
		if err != nil {
			return err
		}
		ours, groups = append(ours, time.Since(start)), n
		start = time.Now()
		if err := db.Exec("CREATE OR REPLACE TEMP TABLE ans AS " + q.SQL); err != nil {
			return err
		}
		theirs = append(theirs, time.Since(start))
	}
	m, d := median(ours), median(theirs)
	fmt.Printf("| %s | %d | %.0f | %.0f | %.2f |\n", q.Name, groups, millis(m), millis(d), millis(d)/millis(m))
	return nil
}

func drain(ctx context.Context, eng *engine.Engine, src scan.Source, q spec.Query) (groups int64, err error) {
	res, err := eng.Aggregate(ctx, src, q)
	if err != nil {
		return 0, err
	}
	defer res.Release()
	for res.Next() {
		groups += res.RecordBatch().NumRows()
	}
	return groups, res.Err()
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
