package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/tests/peer"
)

// point is the cost of a row at a number of rows and groups.
type point struct {
	Rows    int64        `json:"rows"`
	Groups  int64        `json:"groups"`
	Samples peer.Samples `json:"samples"`
}

// nanos returns an engine's cost per row.
func (p point) nanos(engine string, cpu bool) float64 {
	return p.Samples.Millis(engine, cpu) * 1e6 / float64(p.Rows)
}

// The curves' names, by which they are chosen like cases.
const (
	byGroupsName = "cost per row by groups"
	byRowsName   = "cost per row by rows"
)

const (
	groupsMax    = 1e8 // of the curve by groups
	groupsPoints = 20
	stepWanted   = 2 // largest ratio between neighbours

	streamedGroups = 1e5 // no rows are kept for a second phase, however many come
	streamedFirst  = 1e6 // rows; all rows of the cases, where the cases have fewer
	streamedHeld   = 1e7 // rows; more than caches hold
)

// groupCounts are points from 1 to groupsMax, or to the number of rows, at equal ratios.
func groupCounts(rows int64) []int64 {
	counts := make([]int64, groupsPoints)
	last := math.Log(float64(min(rows, groupsMax)))
	for i := range counts {
		counts[i] = int64(math.Round(math.Exp(last * float64(i) / (groupsPoints - 1))))
	}
	return counts
}

// byGroups measures both engines at each number of groups, in memory. The key's range is not known,
// so that the hash tables are measured.
func (b *bench) byGroups(ctx context.Context, report func(point)) error {
	for _, groups := range groupCounts(b.rows) {
		l := caseList{rows: b.rows}
		l.add(benchCase{input: input{table: l.table(groups, intKey, "", 1)}}, []query.Aggregate{call(query.Sum, "v1")})
		measured, _, err := b.runHere(ctx, l.cases[0])
		if err != nil {
			return fmt.Errorf("%d groups: %w", groups, err)
		}
		report(point{b.rows, groups, measured})
	}
	return b.Close()
}

// byRows measures mpga at streamedFirst rows and each power of ten up to ten times the rows of the
// cases.
func (b *bench) byRows(ctx context.Context, report func(point)) error {
	if err := b.Close(); err != nil {
		return err
	}
	first := min(streamedFirst, b.rows)
	for rows := first; rows <= 10*b.rows; rows *= 10 {
		p, err := b.streamed(ctx, rows, min(streamedGroups, first))
		if err != nil {
			return fmt.Errorf("%d rows: %w", rows, err)
		}
		report(p)
	}
	return nil
}

// streamed measures mpga at more rows than memory holds: at most streamedHeld rows come again and
// again. Generating rows anew would take ten times as long as the query.
func (b *bench) streamed(ctx context.Context, rows, groups int64) (p point, err error) {
	held := min(rows, streamedHeld)
	l := caseList{rows: held}
	l.add(benchCase{input: input{table: l.table(groups, intKey, "", 1)}}, []query.Aggregate{call(query.CountStar), call(query.Sum, "v1")})
	set, err := l.cases[0].input.table.make(ctx)
	if err != nil {
		return p, err
	}
	defer set.release()
	src := scan.Batches(set.schema, slices.Repeat(set.batches, int(rows/held)))
	m, err := newMPGA(func(context.Context) (scan.Source, error) { return src, nil }, l.cases[0].query, b.threads)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(b.threads))
	measured, a, err := peer.Measure(ctx, []peer.Contender{peer.Timed(mpga, m.run)}, b.times, peer.Answer.Equal)
	if err != nil {
		return p, err
	}
	if counted := a.Totals[1].Whole; counted != rows || a.Rows != groups {
		return p, fmt.Errorf("%d groups of %d rows, where there are %d of all", a.Rows, counted, groups)
	}
	return point{rows, groups, measured}, nil
}

// largestStep returns the largest ratio of an engine's costs at neighbouring points, and the second
// of the two points. Requires: there are at least two points.
func largestStep(points []point, engine string, cpu bool) (step float64, at point) {
	for i := 1; i < len(points); i++ {
		if s := points[i].nanos(engine, cpu) / points[i-1].nanos(engine, cpu); s > step {
			step, at = s, points[i]
		}
	}
	return step, at
}
