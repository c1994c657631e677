package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/lab/papers"
)

// egaFigure7 shows MP-EGA, the algorithm that mpga chooses by itself, its CPU and DuckDB by groups, for 1e9 and 2e9
// rows.
func (m *measurer) egaFigure7(ctx context.Context, result *papers.Result) error {
	for _, rows := range []float64{1e9, 2e9} {
		p := chart.Panel{Title: fmt.Sprintf("%d rows", m.outOfCoreRows(result, rows)), X: axisGroups, Y: axisSeconds}
		for _, groups := range []float64{1e7, 1e8, 1e9} {
			if rows == 2e9 && groups == 1e8 {
				continue // the authors' times, and the paper's claim, are of the others
			}
			if err := m.egaFigure7At(ctx, result, &p, rows, groups); err != nil {
				return err
			}
		}
		if m.report.Scale == 1 {
			p.Series = append(p.Series, &chart.Series{Name: papers.Authors, Origin: chart.Other,
				Points: papers.AuthorsH200[rows]})
			if rows == 1e9 {
				p.Give(papers.MPEGA, papers.Figure7)
			}
		}
		result.Panels = append(result.Panels, p)
	}
	if m.report.Scale != 1 {
		result.Note("The paper's times, of 1e9 rows, are not shown: they are of other numbers of rows than these.")
	}
	result.Note("2e9 rows are measured with 1e7 and 1e9 groups, and without the CPU and DuckDB. A run that is not " +
		"counted comes first, but for the CPU.")
	return nil
}

// groupBytes is what a group of a 4-byte key and a sum of 8 bytes takes over the link.
const groupBytes = 12

func (m *measurer) egaFigure7At(ctx context.Context, result *papers.Result, p *chart.Panel, paperRows,
	paperGroups float64) error {
	rows := m.outOfCoreRows(result, paperRows)
	groups := max(int64(math.Round(paperGroups/paperRows*float64(rows))), 1)
	in, err := load(ctx, rows, groups)
	if err != nil {
		return err
	}
	defer in.Release()
	noteLimit(result, in)
	auto := engineCase{name: papers.Auto, options: quarter(in, "", engine.Ablation{})}
	if m.report.Machine.IsGPU {
		auto.device = "auto"
	}
	cases := []engineCase{{name: papers.MPEGA, options: quarter(in, "mp-ega", engine.Ablation{})}, auto}
	if paperRows == 1e9 {
		cases = append(cases, engineCase{name: papers.CPU, device: "cpu", isCold: true})
	}
	for _, c := range cases {
		run, err := m.ask(ctx, in, c)
		if err != nil {
			return err
		}
		p.Add(c.name, float64(groups), run.seconds)
	}
	if link := m.report.Machine.Link; link > 0 {
		p.Add(papers.LinkFloor, float64(groups), max(float64(in.Bytes), float64(groupBytes*groups))/link)
	}
	if paperRows != 1e9 {
		return nil
	}
	duck, why, err := askDuckDB(ctx, in)
	if why != "" {
		result.Note(why)
		return nil
	}
	if err == nil {
		p.Add(papers.DuckDB, float64(groups), duck)
	}
	return err
}

// egaFigure8 shows where MP-EGA's time goes, with one stream, as the trace of a run tells.
func (m *measurer) egaFigure8(ctx context.Context, result *papers.Result) error {
	rows := m.outOfCoreRows(result, 1e8)
	result.Scale = float64(rows) / 1e10
	p := chart.Panel{Title: fmt.Sprintf("%d rows, one stream", rows),
		X: chart.Axis{Name: "stage", Names: papers.Stages}, Y: axisMillis}
	for _, part := range []int64{10, 2, 1} {
		in, err := load(ctx, rows, rows/part)
		if err != nil {
			return err
		}
		recorder := trace.New()
		_, err = m.ask(ctx, in, engineCase{name: papers.MPEGA,
			options: quarter(in, "mp-ega", engine.Ablation{Streams: 1}), recorder: recorder})
		noteLimit(result, in)
		in.Release()
		if err != nil {
			return err
		}
		timeline := recorder.Timeline()
		if timeline.Dropped > 0 {
			result.Note(fmt.Sprintf("%d spans shorter than %s are not counted.", timeline.Dropped, timeline.Shortest))
		}
		for i, took := range stagesOf(&timeline.Queries[len(timeline.Queries)-1]) {
			p.Add(fmt.Sprintf("%d groups", rows/part), float64(i), float64(took.Nanoseconds())/1e6)
		}
	}
	result.Panels = []chart.Panel{p}
	result.Note("The paper has 1e10 rows. Its stage that collects a partition's pieces on the CPU does not exist here: " +
		"pieces are copied to the device one by one, and are in the copies of phase 2.")
	result.Note("Compaction of the groups of a tile is in SP-EGA; a stage is what the device's clock says, and copies " +
		"of phase 2 run beside kernels.")
	return nil
}

// stagesOf adds up the spans of a query by the stages of papers.Stages.
func stagesOf(q *trace.QueryTimeline) []time.Duration {
	stages := make([]time.Duration, len(papers.Stages))
	second := q.End // when the second phase begins
	for _, row := range q.Rows {
		for _, s := range row.Spans {
			if row.Name == "phase" && s.Name == string(engine.PhaseProcess) {
				second = s.Begin
			}
		}
	}
	first := map[string]int{"copy in": 0, "copy out": 0, "aggregate": 1, "scatter": 2}
	later := map[string]int{"copy in": 3, "copy out": 3, "aggregate": 4, "scatter": 4}
	for _, row := range q.Rows {
		for _, s := range row.Spans {
			of := first
			if s.Begin >= second {
				of = later
			}
			if i, ok := of[s.Name]; ok {
				stages[i] += s.End - s.Begin
			}
		}
	}
	return stages
}
