package measure

import (
	"context"
	"fmt"
	"math"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
)

// Rows of the figures of Karnagel et al.
const (
	karnagelRows    = 335e6 // of the paper
	karnagelRowsMax = 1e8   // of the figures here, whatever the scale
)

// karnagelFigure11 shows the placements of tables for few groups.
func (m *measurer) karnagelFigure11(ctx context.Context, result *papers.Result) error {
	rows := m.capped(result, karnagelRows, karnagelRowsMax)
	result.Note("The paper reads its rows over PCIe, which bounds its times; here they are on the device.")
	result.Note("One table in device memory is mpga's, not the paper's: where a table has few slots, a block sums " +
		"the values of its rows by slot in shared memory first, and adds each sum to the table once. The paper's " +
		"table takes an atomic addition for each row, and suffers from their contention; that contention is missing " +
		"here. MAX would not show it either: a row whose value is not greater makes no atomic access.")
	p := chart.Panel{Title: fmt.Sprintf("%d rows, uniform keys of 4 bytes", rows), X: axisGroups2,
		Y: chart.Axis{Name: "time", Unit: "ms", Log: 10}}
	for _, groups := range []int64{1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64} {
		c := bench.Case{Rows: rows, Groups: groups, Shape: mustShape("u32")}
		err := m.runPlans(ctx, result, c, plansFor(inPlacement, groups), func(by kernelPlan, res bench.Result) {
			p.Add(by.name, float64(groups), millis(&res))
		})
		if err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{p}
	return nil
}

// karnagelFigure13 shows a sort, one table half full, and mpga's choice by number of groups.
func (m *measurer) karnagelFigure13(ctx context.Context, result *papers.Result) error {
	rows := m.capped(result, karnagelRows, karnagelRowsMax)
	p := chart.Panel{Title: fmt.Sprintf("%d rows, uniform keys of 4 bytes", rows), X: axisGroups,
		Y: chart.Axis{Name: "time", Unit: "ms", Log: 10}}
	for groups := int64(10); groups <= rows; groups *= 10 {
		c := bench.Case{Rows: rows, Groups: groups, Shape: mustShape("u32")}
		err := m.runPlans(ctx, result, c, append(plansFor(inHashSort, groups), m.chosen(&c)),
			func(by kernelPlan, res bench.Result) {
				p.Add(by.name, float64(groups), millis(&res))
			})
		if err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{p}
	result.Note("The sort in strides of the paper, which lost throughout, does not exist here.")
	return nil
}

// karnagelFill shows one table at several fill factors by number of groups.
func (m *measurer) karnagelFill(ctx context.Context, result *papers.Result) error {
	rows := m.capped(result, karnagelRows, karnagelRowsMax)
	times := chart.Panel{Title: fmt.Sprintf("%d rows", rows), X: axisGroups,
		Y: chart.Axis{Name: "time", Unit: "ms", Log: 10}}
	probes := chart.Panel{Title: "Probes", X: axisGroups, Y: chart.Axis{Name: "probes a row"}}
	for groups := int64(1e3); groups <= rows; groups *= 10 {
		if err := m.tableSizes(ctx, result, rows, groups, fillSizes(), &times, &probes); err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{times, probes}
	return nil
}

// tableSize is a size of a table, in slots for each group.
type tableSize struct {
	name  string
	slots float64
}

func fillSizes() (list []tableSize) {
	for i, fill := range papers.Fills {
		list = append(list, tableSize{papers.FillNames[i], 1 / fill})
	}
	return list
}

// tableSizes aggregates rows in a table of each size, and adds times and probes. A GPU's double counts no probes: they
// are counted in a table of the CPU.
func (m *measurer) tableSizes(ctx context.Context, result *papers.Result, rows, groups int64, sizes []tableSize,
	times, probes *chart.Panel) error {
	var plans []kernelPlan
	for _, size := range sizes {
		slots := int64(math.Ceil(size.slots * float64(groups)))
		plans = append(plans, kernelPlan{name: size.name,
			Plan: kernels.Plan{Kernel: kernels.KernelLinear, Groups: groups, Slots: slots}, lossy: true})
	}
	x := float64(groups)
	c := bench.Case{Rows: rows, Groups: groups, Every: true, Shape: mustShape("u32")}
	return m.runPlans(ctx, result, c, plans, func(by kernelPlan, res bench.Result) {
		times.Add(by.name, x, millis(&res))
		noteLost(result, by.name, float64(groups)/float64(by.Slots), &res)
		if !m.report.Machine.IsGPU {
			result.Note(hostProbes)
			res.Probes = papers.ProbesLinear(groups, by.Slots)
		}
		if res.Probes > 0 {
			probes.Add(by.name, x, res.Probes)
		}
	})
}
