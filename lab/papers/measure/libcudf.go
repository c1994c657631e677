package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
)

// libcudfCliff shows the time by number of groups around what a block of libcudf has room for.
func (m *measurer) libcudfCliff(ctx context.Context, result *papers.Result) error {
	rows := m.rows(result, 1e8)
	p := chart.Panel{Title: fmt.Sprintf("%d rows, uniform keys of 4 bytes; libcudf's limit is %d groups", rows,
		papers.LibcudfBlockGroups), X: axisGroups2, Y: axisMillis}
	for _, groups := range []int64{16, 32, 64, 96, 120, 128, 136, 160, 192, 256, 384, 512, 1024, 2048, 4096} {
		c := bench.Case{Rows: rows, Groups: groups, Shape: mustShape("u32")}
		err := m.runPlans(ctx, result, c, append(plansFor(inCliff, groups), m.chosen(&c)),
			func(by kernelPlan, res bench.Result) {
				p.Add(by.name, float64(groups), millis(&res))
			})
		if err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{p}
	return nil
}

// libcudfInit shows libcudf's set of two slots a row, and one of few slots, beside mpga's choice, for three groups.
func (m *measurer) libcudfInit(ctx context.Context, result *papers.Result) error {
	rows := m.rows(result, 1e8)
	c := bench.Case{Rows: rows, Groups: 3, Shape: mustShape("u32")}
	plans := []kernelPlan{m.chosen(&c), {name: papers.SetName, Plan: kernels.Plan{Kernel: kernels.KernelBlockRanks}},
		{name: papers.SmallSetName, Plan: kernels.Plan{Kernel: kernels.KernelBlockRanks, Slots: 64}}}
	axis := chart.Axis{Name: "table"}
	for _, p := range plans {
		axis.Names = append(axis.Names, p.name)
	}
	times := chart.Panel{Title: fmt.Sprintf("%d rows of 3 groups", rows), X: axis, Y: axisMillis}
	memory := chart.Panel{Title: "Scratch memory", X: axis, Y: chart.Axis{Name: "memory", Unit: "MiB"}}
	err := m.runPlans(ctx, result, c, plans, func(by kernelPlan, res bench.Result) {
		x := float64(slices.Index(axis.Names, by.name)) // a plan before it may not have run
		times.Add("time", x, millis(&res))
		memory.Add("memory", x, float64(res.Scratch)/(1<<20))
	})
	result.Panels = []chart.Panel{times, memory}
	result.Note("libcudf's memory is its set, and 8 bytes a row for ranks and for the groups of rows.")
	return err
}
