package measure

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/lab/pairs"
	"github.com/mpga/mpga/lab/papers"
)

// chenFigure3 shows one table by its slots for each group, of 1e6 rows.
func (m *measurer) chenFigure3(ctx context.Context, result *papers.Result) error {
	const rows = 1_000_000 // few enough for any machine
	result.Scale = 1
	sizes := []tableSize{{"1 slot a group", 1}, {"1.3 slots a group", 1.3}, {"2 slots a group", 2},
		{"2.6 slots a group", 2.6}, {"5 slots a group", 5}}
	times := chart.Panel{Title: fmt.Sprintf("%d rows", rows), X: axisGroups,
		Y: chart.Axis{Name: "time", Unit: "ms", Log: 10}}
	probes := chart.Panel{Title: "Probes", X: axisGroups, Y: chart.Axis{Name: "probes a row", Log: 10}}
	for groups := int64(10); groups <= rows/10; groups *= 10 {
		if err := m.tableSizes(ctx, result, rows, groups, sizes, &times, &probes); err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{times, probes}
	return nil
}

// chenFigure4 shows the CPU, a sort and a table by rows, from record batches in memory to the last group, copies
// included.
func (m *measurer) chenFigure4(ctx context.Context, result *papers.Result) error {
	most := 1e7
	if !m.report.Machine.IsGPU {
		most = 1e6
	}
	for _, groups := range []int64{100, 10_000} {
		p := chart.Panel{Title: fmt.Sprintf("%d groups", groups), X: chart.Axis{Name: "rows", Log: 10},
			Y: chart.Axis{Name: "time", Unit: "s", Log: 10}}
		for rows := 1e4; rows <= most; rows *= 10 {
			if err := m.chenRows(ctx, &p, int64(rows), groups); err != nil {
				return err
			}
		}
		result.Panels = append(result.Panels, p)
	}
	result.Scale = 1
	result.Note("Whole queries over record batches in memory, copies included. The CPU is mpga's, with all processors; " +
		"the paper's is one thread.")
	return nil
}

func (m *measurer) chenRows(ctx context.Context, p *chart.Panel, rows, groups int64) error {
	in, err := load(ctx, rows, groups)
	if err != nil {
		return err
	}
	defer in.Release()
	for _, c := range []engineCase{
		{name: papers.CPU, device: "cpu"},
		{name: "sgb-ur", options: engine.Options{Algorithm: "sgb-ur"}},
		{name: "global", options: engine.Options{Algorithm: "global"}},
		{name: papers.Auto},
	} {
		c.times = m.report.Repeats
		run, err := m.ask(ctx, in, c)
		if err != nil {
			return err
		}
		p.Add(c.name, float64(rows), run.seconds)
	}
	return nil
}

// chenFigure5 shows where a device's time goes: two keys and three values, 1e4 groups.
func (m *measurer) chenFigure5(ctx context.Context, result *papers.Result) error {
	const groups = 1e4
	rows := m.rows(result, 1e8)
	in, err := loadKeys(ctx, arrow.PrimitiveTypes.Int32, rows, groups)
	if err != nil {
		return err
	}
	defer in.Release()
	doubleKeys(in)
	run, err := m.ask(ctx, in, engineCase{name: "global", times: m.times(),
		options: engine.Options{Algorithm: "global"}})
	if err != nil {
		return err
	}
	d := &run.device
	p := chart.Panel{Title: fmt.Sprintf("%d rows", rows),
		X: chart.Axis{Name: "work", Names: []string{"copy to the device", "kernels", "copy back"}}, Y: axisMillis}
	for i, took := range []int64{d.CopyIn.Nanoseconds(), d.Kernel.Nanoseconds(), d.CopyOut.Nanoseconds()} {
		p.Add("time", float64(i), float64(took)/1e6)
	}
	result.Panels = []chart.Panel{p}
	result.Note(fmt.Sprintf("Two 4-byte keys, two sums and a minimum of 4-byte values. The pipeline hides %.0f%% of "+
		"the shorter lanes behind others.", 100*d.Overlap))
	return nil
}

// doubleKeys gives rows two keys and three values, and asks for two sums and a minimum.
func doubleKeys(in *pairs.Input) {
	in.Repeat([]string{"key", "key2"}, []string{"value", "v2", "v3"})
	in.Query = query.Query{
		Keys: []query.Key{{Column: "key"}, {Column: "key2"}},
		Aggregates: []query.Aggregate{
			{Func: query.Sum, Args: []string{"value"}}, {Func: query.Sum, Args: []string{"v2"}},
			{Func: query.Min, Args: []string{"v3"}},
		},
	}
}
