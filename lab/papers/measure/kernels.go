package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
)

// measurement fills in the result of a figure.
type measurement func(*measurer, context.Context, *papers.Result) error

// Axes that figures share.
var (
	axisGroups  = chart.Axis{Name: "groups", Log: 10}
	axisGroups2 = chart.Axis{Name: "groups", Log: 2}
	axisRate    = chart.Axis{Name: "throughput", Unit: "G rows/s"}
	axisMillis  = chart.Axis{Name: "time", Unit: "ms"}
	axisSeconds = chart.Axis{Name: "time", Unit: "s"}
)

// rowsMin is the least number of rows of a figure, whatever the scale.
const rowsMin = 1 << 14

// rows scales a paper's number of rows, and says in the result by how much (M3).
func (m *measurer) rows(result *papers.Result, paper float64) int64 {
	rows := max(int64(paper*m.report.Scale), rowsMin)
	result.Scale = float64(rows) / paper
	return rows
}

// capped scales a paper's number of rows like rows, but to at most so many, which it notes.
func (m *measurer) capped(result *papers.Result, paper, most float64) int64 {
	if m.report.Scale*paper > most {
		result.Scale = most / paper
		result.Note(fmt.Sprintf("The figure has at most %s rows.", shortCount(most)))
		return int64(most)
	}
	return m.rows(result, paper)
}

// shortCount writes a count in three digits: 1e8, 6.71e7.
func shortCount(n float64) string {
	return strings.NewReplacer("e+0", "e", "e+", "e").Replace(fmt.Sprintf("%.3g", n))
}

// kernelPlan is how a system is run: a name, and a plan of kernels.
type kernelPlan struct {
	name string
	kernels.Plan
	lossy bool // the table may be too full for all rows, which is no error
}

// plansFor returns the plans of the systems of a use, for so many groups.
func plansFor(u use, groups int64) (list []kernelPlan) {
	for _, s := range systemsFor(u) {
		list = append(list, kernelPlan{name: s.name, Plan: kernels.Plan{Kernel: s.kernel, Groups: groups}})
	}
	return list
}

// chosen is the plan that mpga takes by itself.
func (m *measurer) chosen(c *bench.Case) kernelPlan {
	return kernelPlan{name: papers.Chosen, Plan: kernels.Choose(&c.Shape.Shape,
		kernels.Estimate{Rows: c.Rows, Groups: c.Groups}, m.device.Properties())}
}

// runPlans runs plans on the rows of a case, which it puts on the device, and hands each result over. A plan that
// cannot be run is noted (M4); a wrong answer is an error (M1).
func (m *measurer) runPlans(ctx context.Context, result *papers.Result, c bench.Case, plans []kernelPlan,
	done func(kernelPlan, bench.Result)) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := m.runner.Put(c)
	defer func() { err = errors.Join(err, m.runner.Drop()) }()
	if errors.Is(err, kernels.ErrOutOfMemory) {
		result.Note(fmt.Sprintf("%d rows do not fit the device.", c.Rows))
		return nil
	}
	if err != nil {
		return err
	}
	for _, p := range plans {
		run := m.runner.Run
		if p.lossy {
			run = m.runner.RunLossy
		}
		res, err := run(data, p.Plan)
		switch {
		case errors.Is(err, bench.ErrWrong):
			return fmt.Errorf("%s, %d rows, %d groups, skew %g: %w", p.name, c.Rows, c.Groups, c.Skew, err)
		case err != nil:
			result.Note(fmt.Sprintf("%s, %d groups: %v", p.name, c.Groups, err))
		default:
			done(p, res)
		}
	}
	return nil
}

// rate is the throughput of a run, in G rows/s.
func rate(c *bench.Case, res *bench.Result) float64 {
	return float64(c.Rows) / float64(max(res.Nanos, 1))
}

func millis(res *bench.Result) float64 { return float64(res.Nanos) / 1e6 }

// mustShape returns the shape of bench that has the name.
func mustShape(name string) bench.Shape {
	shape, err := bench.ShapeOf(name)
	if err != nil {
		panic(err)
	}
	return shape
}
