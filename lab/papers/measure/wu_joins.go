package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/joins"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
)

// wuJoinRows is the rows of a side of the joins of Wu et al.
const wuJoinRows = 1 << 27

// joinNames are the algorithms as the figures name them.
var joinNames = map[joins.Algorithm]string{joins.PHJTR: papers.PHJTR, joins.PHJUR: papers.PHJUR,
	joins.SMJTR: papers.SMJTR, joins.SMJUR: papers.SMJUR, joins.NPHJ: papers.NPHJ}

// joinTimes are milliseconds by algorithm.
type joinTimes map[joins.Algorithm]float64

var (
	axisRatio = chart.Axis{Name: "match ratio"}
	axisCount = chart.Axis{Name: "rows"}
	axisRows  = chart.Axis{Name: "rows of S", Log: 2}
)

// wideJoin has two payload columns of 4 bytes a side.
func wideJoin(build, probe int64) bench.JoinCase {
	return bench.JoinCase{BuildRows: build, ProbeRows: probe, KeyBytes: 4, MatchRatio: 1,
		BuildColumns: []int{4, 4}, ProbeColumns: []int{4, 4}}
}

// runJoins adds the times of all algorithms for a case to a panel.
func (m *measurer) runJoins(ctx context.Context, result *papers.Result, p *chart.Panel, x float64,
	c bench.JoinCase) error {
	times, err := m.joinTimes(ctx, result, c)
	for _, a := range joins.Algorithms() {
		if ms, ok := times[a]; ok {
			p.Add(joinNames[a], x, ms)
		}
	}
	return err
}

// joinTimes measures a case once for all figures that show it. What cannot be run is noted (M4).
func (m *measurer) joinTimes(
	ctx context.Context, result *papers.Result, c bench.JoinCase,
) (times joinTimes, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%+v", c)
	if times := m.joins[key]; times != nil {
		return times, nil
	}
	data, err := m.runner.PutJoin(c)
	defer func() { err = errors.Join(err, m.runner.Drop()) }()
	if errors.Is(err, kernels.ErrOutOfMemory) {
		result.Note(fmt.Sprintf("%d and %d rows do not fit the device.", c.BuildRows, c.ProbeRows))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	times = joinTimes{}
	for _, a := range joins.Algorithms() {
		res, err := m.runner.RunJoin(data, a, kernels.JoinPartitions{})
		switch {
		case errors.Is(err, bench.ErrWrong):
			return nil, fmt.Errorf("%v, %+v: %w", a, c, err)
		case err != nil:
			result.Note(fmt.Sprintf("%v, %d and %d rows: %v", a, c.BuildRows, c.ProbeRows, err))
		default:
			times[a] = float64(res.Nanos) / 1e6
		}
	}
	m.joins[key] = times
	return times, nil
}

// joinCase is a point of a figure of joins.
type joinCase struct {
	x    float64
	name string // below bars; "" where x is a number
	bench.JoinCase
}

// showJoins measures the points of a figure of one panel.
func (m *measurer) showJoins(ctx context.Context, result *papers.Result, title string, x chart.Axis,
	cases []joinCase) error {
	p := chart.Panel{Title: title, X: x, Y: axisMillis}
	for _, c := range cases {
		if c.name != "" {
			p.X.Names = append(p.X.Names, c.name)
		}
		if err := m.runJoins(ctx, result, &p, c.x, c.JoinCase); err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{p}
	return nil
}

// gathers measures the gathers of table 1 and figure 5.
func (m *measurer) gathers(result *papers.Result) (times bench.GatherTimes, rows int64, err error) {
	rows = m.rows(result, wuJoinRows)
	times, err = m.runner.Gathers(rows)
	return times, rows, err
}

func (m *measurer) wuTable1(_ context.Context, result *papers.Result) error {
	times, rows, err := m.gathers(result)
	if err != nil {
		return err
	}
	p := chart.Panel{Title: fmt.Sprintf("Gather of %d values of 4 bytes", rows), X: axisCount, Y: axisMillis}
	p.Add(papers.Unclustered, float64(rows), float64(times.Unclustered)/1e6)
	p.Add(papers.Clustered, float64(rows), float64(times.Sequential)/1e6)
	result.Panels = []chart.Panel{p}
	return nil
}

func (m *measurer) wuFigure5(_ context.Context, result *papers.Result) error {
	times, rows, err := m.gathers(result)
	if err != nil {
		return err
	}
	p := chart.Panel{Title: fmt.Sprintf("A column of %d values of 4 bytes", rows), X: axisCount, Y: axisRate}
	add := func(name string, nanos int64) { p.Add(name, float64(rows), float64(rows)/float64(max(nanos, 1))) }
	add(papers.Unclustered, times.Unclustered)
	add(papers.ByPartition, times.Partition+times.Clustered)
	add(papers.BySort, times.Sort+times.Sequential)
	result.Panels = []chart.Panel{p}
	return nil
}

// joinsBySize are joins of |S| = 2 |R| with a number of payload columns a side.
func (m *measurer) joinsBySize(ctx context.Context, result *papers.Result, columns []int) error {
	var cases []joinCase
	most := m.rows(result, 2*wuJoinRows)
	for probe := most / 8; probe <= most; probe *= 2 {
		c := wideJoin(probe/2, probe)
		c.BuildColumns, c.ProbeColumns = columns, columns
		cases = append(cases, joinCase{x: float64(probe), JoinCase: c})
	}
	return m.showJoins(ctx, result, fmt.Sprintf("%d payload columns a side, |S| = 2 |R|", len(columns)), axisRows, cases)
}

func (m *measurer) wuFigure6(ctx context.Context, result *papers.Result) error {
	return m.joinsBySize(ctx, result, []int{4})
}

func (m *measurer) wuFigure7(ctx context.Context, result *papers.Result) error {
	return m.joinsBySize(ctx, result, []int{4, 4})
}

func (m *measurer) wuFigure8(ctx context.Context, result *papers.Result) error {
	var cases []joinCase
	probe := m.rows(result, wuJoinRows)
	for _, part := range []int64{64, 16, 4, 1} {
		cases = append(cases, joinCase{x: 1 / float64(part), JoinCase: wideJoin(probe/part, probe)})
	}
	return m.showJoins(ctx, result, fmt.Sprintf("%d rows of S", probe), chart.Axis{Name: "|R| / |S|", Log: 2}, cases)
}

func (m *measurer) wuFigure9(ctx context.Context, result *papers.Result) error {
	var cases []joinCase
	rows := m.rows(result, wuJoinRows)
	for _, columns := range []int{1, 2, 4, 8} {
		c := wideJoin(rows, rows)
		c.BuildColumns, c.ProbeColumns = make([]int, columns), make([]int, columns)
		for i := range columns {
			c.BuildColumns[i], c.ProbeColumns[i] = 4, 4
		}
		cases = append(cases, joinCase{x: float64(columns), JoinCase: c})
	}
	return m.showJoins(ctx, result, fmt.Sprintf("%d rows a side", rows), chart.Axis{Name: "payload columns a side"}, cases)
}

// ratioCases are joins by match ratio.
func (m *measurer) ratioCases(result *papers.Result) (cases []joinCase) {
	rows := m.rows(result, wuJoinRows)
	for _, ratio := range []float64{1, .5, .25, .125, .03125} {
		c := wideJoin(rows, rows)
		c.MatchRatio = ratio
		cases = append(cases, joinCase{x: ratio, JoinCase: c})
	}
	return cases
}

func (m *measurer) wuFigure10(ctx context.Context, result *papers.Result) error {
	bandwidth := m.modelBandwidth(result)
	p := chart.Panel{Title: "Time of PHJ-UR less that of PHJ-TR", X: axisRatio, Y: axisMillis}
	model := &chart.Series{Name: "model", Origin: chart.Model}
	p.Series = append(p.Series, model)
	for _, c := range m.ratioCases(result) {
		pairs := int64(c.x * float64(c.ProbeRows))
		gain := papers.PartitionedColumnsGain(c.ProbeRows, pairs, len(c.ProbeColumns), bandwidth)
		model.Points = append(model.Points, chart.Point{X: c.x, Y: 1e3 * gain})
		times, err := m.joinTimes(ctx, result, c.JoinCase)
		if err != nil {
			return err
		}
		p.Add("measured", c.x, times[joins.PHJUR]-times[joins.PHJTR])
	}
	result.Panels = []chart.Panel{p}
	return nil
}

func (m *measurer) wuFigure11(ctx context.Context, result *papers.Result) error {
	return m.showJoins(ctx, result, "Two payload columns a side", axisRatio, m.ratioCases(result))
}

func (m *measurer) wuFigure12(ctx context.Context, result *papers.Result) error {
	var cases []joinCase
	rows := m.rows(result, wuJoinRows)
	for _, skew := range []float64{0, .5, 1, 1.5} {
		c := wideJoin(rows, rows)
		c.Skew = skew
		cases = append(cases, joinCase{x: skew, JoinCase: c})
	}
	axis := chart.Axis{Name: "exponent of a Zipf distribution"}
	return m.showJoins(ctx, result, "Two payload columns a side", axis, cases)
}

func (m *measurer) wuFigure13(ctx context.Context, result *papers.Result) error {
	var cases []joinCase
	rows := m.rows(result, wuJoinRows)
	for i, bytes := range [][2]int{{4, 4}, {4, 8}, {8, 8}} {
		c := wideJoin(rows, rows)
		c.KeyBytes = bytes[0]
		c.BuildColumns, c.ProbeColumns = []int{bytes[1], bytes[1]}, []int{bytes[1], bytes[1]}
		cases = append(cases, joinCase{x: float64(i), name: fmt.Sprintf("%d B keys, %d B", bytes[0], bytes[1]), JoinCase: c})
	}
	return m.showJoins(ctx, result, "Two payload columns a side", chart.Axis{Name: "bytes of keys and of payloads"}, cases)
}

func (m *measurer) wuFigure14(ctx context.Context, result *papers.Result) error {
	var cases []joinCase
	rows := m.rows(result, wuJoinRows/2)
	for _, part := range []int64{8, 4, 2} {
		c := wideJoin(rows, rows)
		c.Keys = rows / part
		cases = append(cases, joinCase{x: float64(c.Keys), JoinCase: c})
	}
	return m.showJoins(ctx, result, fmt.Sprintf("%d rows a side", rows), chart.Axis{Name: "keys", Log: 2}, cases)
}
