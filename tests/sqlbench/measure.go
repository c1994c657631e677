package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/tests/peer"
)

// row is what was measured of a query, medians in milliseconds.
type row struct {
	ours, theirs, plan float64
	read               string
}

// measureQuery asks both engines in turns, and then plans the query as often.
func measureQuery(ctx context.Context, o *options, q query, ours *mpga, theirs *peer.Process) (row, error) {
	path, err := q.table.path(ctx, theirs, o.dir)
	if err != nil {
		return row{}, err
	}
	view := fmt.Sprintf("CREATE OR REPLACE VIEW %s AS FROM read_parquet(%s)", q.table.name, peer.Literal(path))
	if err := theirs.Run(peer.DuckDB, view); err != nil {
		return row{}, err
	}
	same := peer.Answer.Equal
	if q.rowsAlone {
		same = peer.Answer.SameRows
	}
	var stats engine.Stats
	samples, _, err := peer.Measure(ctx, []peer.Contender{
		peer.Timed("mpga", func(ctx context.Context, whole bool) (out peer.Outcome, err error) {
			out.Answer, stats, err = ours.ask(ctx, q, path, whole)
			return out, err
		}),
		theirs.Contender(peer.DuckDB, q.text),
	}, o.times, same)
	if err != nil {
		return row{}, err
	}
	var plans []time.Duration
	for range o.times {
		runtime.GC()
		start := time.Now() // also with -cpu: CPU time would count the collector's sweepers, too
		prepared, err := ours.prepare(ctx, q, path)
		if err != nil {
			return row{}, err
		}
		prepared.Close()
		plans = append(plans, time.Since(start))
	}
	if o.profiles != "" {
		if err := profile(ctx, o, q, ours, path); err != nil {
			return row{}, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return row{}, err
	}
	read := fmt.Sprintf("%.2f%%", 100*float64(stats.BytesRead)/float64(info.Size()))
	return row{samples.Millis("mpga", o.cpu), samples.Millis(peer.DuckDB, o.cpu), peer.Median(plans), read}, nil
}

// profile writes a CPU profile of as many runs as were measured, and of a second at least.
func profile(ctx context.Context, o *options, q query, ours *mpga, path string) (err error) {
	name := strings.NewReplacer(": ", "-", " ", "-").Replace(q.name) + ".pprof"
	file, err := os.Create(filepath.Join(o.profiles, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	start := time.Now()
	for n := 0; n < o.times || time.Since(start) < time.Second; n++ {
		if _, _, err := ours.ask(ctx, q, path, false); err != nil {
			return err
		}
	}
	return nil
}
