package measure

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
	"github.com/mpga/mpga/partition"
)

// egaRows are the rows, and slots, of the figures that fit a device.
const egaRows = 1e8

// egaTable1 shows the probes of both tables by load factor, with all keys different. The kernels of a GPU count them;
// without a GPU one thread does, which finds as many (papers.ProbesLinear).
func (m *measurer) egaTable1(ctx context.Context, result *papers.Result) error {
	slots := m.rows(result, egaRows)
	if !m.report.Machine.IsGPU {
		slots = max(slots, modelSlots) // the fewer slots, the more chance there is in the number of probes
		result.Scale = float64(slots) / egaRows
	}
	p := chart.Panel{
		Title: fmt.Sprintf("Probes a row, %d slots, all keys different", slots),
		X:     chart.Axis{Name: "load factor"}, Y: chart.Axis{Name: "probes a row", Log: 10},
		Series: []*chart.Series{
			{Name: papers.SPEGA, Origin: chart.Measured, Paper: papers.Table1SPEGA},
			{Name: papers.LPHGA, Origin: chart.Measured, Paper: papers.Table1LPHGA},
			{Name: papers.Third, Origin: chart.Model},
		},
	}
	for _, at := range papers.Table1SPEGA {
		keys := int64(at.X * float64(slots))
		twoPhase, linear, err := m.probes(ctx, result, keys, slots)
		if err != nil {
			return err
		}
		third := papers.ProbesTwoPhase(int64(at.X*modelSlots), modelSlots, 1.0/3)
		for i, y := range []float64{twoPhase, linear, third} {
			p.Series[i].Points = append(p.Series[i].Points, chart.Point{X: at.X, Y: y})
		}
	}
	result.Panels = []chart.Panel{p}
	result.Note("The paper's first phase has a third of the table, since the results take the rest of that memory; " +
		"ours has all of it. The third series counts what a third would cost here.")
	return nil
}

// modelSlots are the slots of a table that one thread fills.
const modelSlots = 1 << 20

// hostProbes is the note of figures whose probes are counted without a GPU.
const hostProbes = "Probes are counted in tables of the CPU: a search in a table does not depend on who makes it."

// probes counts the probes a row of SP-EGA and of LPHGA, in tables of so many slots that take different keys.
func (m *measurer) probes(ctx context.Context, result *papers.Result, keys, slots int64) (twoPhase, linear float64,
	err error) {
	if !m.report.Machine.IsGPU {
		result.Note(hostProbes)
		return papers.ProbesTwoPhase(keys, slots, 1), papers.ProbesLinear(keys, slots), nil
	}
	plans := []kernelPlan{
		{name: papers.SPEGA, Plan: kernels.Plan{Kernel: kernels.KernelTwoPhase, Groups: keys, Slots: slots}},
		{name: papers.LPHGA, Plan: kernels.Plan{Kernel: kernels.KernelLinear, Groups: keys, Slots: slots}, lossy: true},
	}
	c := bench.Case{Rows: keys, Groups: keys, Shape: mustShape("u32")}
	err = m.runPlans(ctx, result, c, plans, func(by kernelPlan, res bench.Result) {
		if by.name == papers.SPEGA {
			twoPhase = res.Probes
			return
		}
		linear = res.Probes
		noteLost(result, by.name, float64(keys)/float64(slots), &res)
	})
	return twoPhase, linear, err
}

// noteLost notes how many rows a table gave up, if any.
func noteLost(result *papers.Result, name string, load float64, res *bench.Result) {
	if res.Lost > 0 {
		result.Note(fmt.Sprintf("%s gave up %d rows at a load factor of %.3g, after 4,096 steps for each.", name,
			res.Lost, load))
	}
}

// egaFigure5 shows the time by load factor of one table.
func (m *measurer) egaFigure5(ctx context.Context, result *papers.Result) error {
	slots := m.rows(result, egaRows)
	p := chart.Panel{Title: fmt.Sprintf("%d rows into as many slots, uniform keys", slots),
		X: chart.Axis{Name: "load factor"}, Y: axisMillis}
	for _, load := range []float64{.01, .1, .3, .5, .7, .8, .85, .9, .92, .94, .96, .98, .99} {
		if err := m.egaLoad(ctx, result, &p, load, 0, load); err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{p}
	return nil
}

// egaFigure6 shows the time by skew at a load factor of .95.
func (m *measurer) egaFigure6(ctx context.Context, result *papers.Result) error {
	p := chart.Panel{Title: "Load factor .95", X: chart.Axis{Name: "exponent of a Zipf distribution, 0 is uniform"},
		Y: axisMillis}
	for _, skew := range []float64{0, .2, .4, .6, .8} {
		if err := m.egaLoad(ctx, result, &p, .95, skew, skew); err != nil {
			return err
		}
	}
	result.Panels = []chart.Panel{p}
	return nil
}

// egaLoad runs both tables at a load factor, with as many slots as rows, and adds their times at x.
func (m *measurer) egaLoad(ctx context.Context, result *papers.Result, p *chart.Panel, load, skew, x float64) error {
	slots := m.rows(result, egaRows)
	groups := int64(load * float64(slots))
	plans := plansFor(inEGA, groups)
	for i := range plans {
		plans[i].Slots, plans[i].lossy = slots, plans[i].Kernel == kernels.KernelLinear
	}
	c := bench.Case{Rows: slots, Groups: groups, Skew: skew, Every: true, Shape: mustShape("u32")}
	return m.runPlans(ctx, result, c, plans, func(by kernelPlan, res bench.Result) {
		p.Add(by.name, x, millis(&res))
		noteLost(result, by.name, load, &res)
	})
}

// egaTheorem1 shows how many partitions the bounds ask for, and what random hashing does to so many.
func (m *measurer) egaTheorem1(_ context.Context, result *papers.Result) error {
	const groups, trials = 20_000, 200
	asked := chart.Panel{
		Title: fmt.Sprintf("Partitions asked for, by the least that there must be (%d groups, p = %g)", groups,
			papers.ThrowsOver),
		X: chart.Axis{Name: "bound of groups in a partition", Log: 10},
		Y: chart.Axis{Name: "partitions / (groups / bound)", Log: 10},
	}
	over := chart.Panel{
		Title: fmt.Sprintf("Share of %d trials with a partition at the bound", trials),
		X:     asked.X, Y: chart.Axis{Name: "share of trials"},
	}
	fullest := chart.Panel{Title: "Fullest partition of all trials", X: asked.X,
		Y: chart.Axis{Name: "groups / bound"}}
	rng := rand.New(rand.NewPCG(4, 1))
	for _, bound := range []int64{5, 10, 20, 50, 100, 200, 500, 1000, 2000} {
		sizing, err := partition.Size(groups, bound, papers.ThrowsOver)
		if err != nil {
			return err
		}
		for _, by := range []struct {
			name  string
			count int64
		}{{"Theorem 1", sizing.Theorem}, {"binomial tail", sizing.Tail}} {
			thrown := papers.Throw(rng, groups, by.count, bound, trials)
			x := float64(bound)
			asked.Add(by.name, x, float64(by.count)/(float64(groups)/x))
			over.Add(by.name, x, thrown.Over)
			fullest.Add(by.name, x, thrown.Fullest)
		}
	}
	result.Panels, result.Scale = []chart.Panel{asked, over, fullest}, 1
	result.Note("Groups are thrown into partitions by random numbers. The bound is reached, not exceeded, where a " +
		"partition has as many groups.")
	return nil
}

// mergePanel shows the quality of both merges by how many partitions a set has room for, on average.
func mergePanel() chart.Panel {
	p := chart.Panel{
		Title: "Sets, by the fewest that there can be (512 partitions of random sizes)",
		X:     chart.Axis{Name: "partitions that a set has room for, on average", Log: 10},
		Y:     chart.Axis{Name: "sets / fewest"},
	}
	rng := rand.New(rand.NewPCG(4, 2))
	for _, room := range []float64{1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 20, 50} {
		greedy, neighbours := 0.0, 0.0
		for range 50 {
			a, b := papers.MergeQuality(randomSizes(rng, int64(room*1000)), int64(room*1000))
			greedy, neighbours = max(greedy, a), max(neighbours, b)
		}
		p.Add("greedy", room, greedy)
		p.Add("neighbours", room, neighbours)
	}
	p.Series = append(p.Series, &chart.Series{Name: "bound of Theorem 2", Origin: chart.Model,
		Points: []chart.Point{{X: 1.2, Y: 2}, {X: 50, Y: 2}}})
	return p
}

// randomSizes draws sizes of a mean of 1000, of an exponential distribution that is cut at a limit.
func randomSizes(rng *rand.Rand, limit int64) []int64 {
	sizes := make([]int64, 512)
	for i := range sizes {
		sizes[i] = min(int64(math.Ceil(1000*rng.ExpFloat64())), limit)
	}
	return sizes
}
