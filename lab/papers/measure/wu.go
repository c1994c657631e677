package measure

import (
	"context"
	"fmt"
	"math"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
)

// Rows of the figures of Wu et al.
const (
	wuRows     = 1 << 28
	wuRowsSkew = 1 << 26 // of the figures that draw skewed keys, which takes the CPU long
)

// wuGroupsMax is the most groups of a sweep.
const wuGroupsMax = 1 << 26

// wuSweep returns the throughput of the families by number of groups, for keys of 4 or 8 bytes: measured once for
// all figures that show it.
func (m *measurer) wuSweep(ctx context.Context, result *papers.Result, keyBytes int) (*chart.Panel, error) {
	rows := m.rows(result, wuRows)
	result.Note(fmt.Sprintf("%d rows, uniform keys of %d bytes, maxima of two columns of 4 bytes.", rows, keyBytes))
	if p := m.sweeps[keyBytes]; p != nil {
		return p, nil
	}
	p := &chart.Panel{Title: fmt.Sprintf("Keys of %d bytes", keyBytes), X: axisGroups2, Y: axisRate}
	for groups := int64(4); groups <= min(wuGroupsMax, rows); groups *= 4 {
		c := bench.Case{Rows: rows, Groups: groups, Shape: wuShape(keyBytes)}
		err := m.runPlans(ctx, result, c, append(plansFor(inFamilies, groups), m.chosen(&c)),
			func(by kernelPlan, res bench.Result) {
				p.Add(by.name, float64(groups), rate(&c, &res))
			})
		if err != nil {
			return nil, err
		}
	}
	m.sweeps[keyBytes] = p
	return p, nil
}

func wuShape(keyBytes int) bench.Shape { return mustShape(fmt.Sprintf("2max%d", 8*keyBytes)) }

// wuFigure15 shows HGB beside one table in device memory, which stands for cuDF's.
func (m *measurer) wuFigure15(ctx context.Context, result *papers.Result) error {
	p, err := m.wuSweep(ctx, result, 4)
	if err != nil {
		return err
	}
	result.Note("cuDF is not measured: LPHGA, one table with linear probing, stands for its table in device memory.")
	result.Panels = []chart.Panel{pick(p, papers.HGB, papers.LPHGA)}
	return nil
}

func (m *measurer) wuFigure17(ctx context.Context, result *papers.Result) error {
	return m.wuFamilies(ctx, result, 4)
}

func (m *measurer) wuFigure18(ctx context.Context, result *papers.Result) error {
	return m.wuFamilies(ctx, result, 8)
}

func (m *measurer) wuFamilies(ctx context.Context, result *papers.Result, keyBytes int) error {
	p, err := m.wuSweep(ctx, result, keyBytes)
	if err != nil {
		return err
	}
	result.Panels = []chart.Panel{pick(p, papers.HGB, papers.PGBTR, papers.PGBUR, papers.SGBUR, papers.SGBTR,
		papers.SGBDE, papers.Chosen)}
	return nil
}

// pick returns a panel with some of its series.
func pick(p *chart.Panel, names ...string) chart.Panel {
	picked := *p
	picked.Series = nil
	for _, name := range names {
		for _, s := range p.Series {
			if s.Name == name {
				picked.Series = append(picked.Series, s)
			}
		}
	}
	return picked
}

// a100Bandwidth is the bytes a second of the paper's machine, for models where no GPU is measured.
const a100Bandwidth = 1555e9

// modelBandwidth is what models take for the memory's bandwidth: what the device reaches when it fills its memory.
func (m *measurer) modelBandwidth(result *papers.Result) float64 {
	if b := m.report.Machine.Bandwidth; b > 0 {
		return b
	}
	result.Note("The model has the bandwidth of the paper's A100, 1555 GB/s.")
	return a100Bandwidth
}

// wuFigure16 shows how much less time SGB-TR takes than SGB-UR, with the model of section 4.1.3 for the two columns of
// the query.
func (m *measurer) wuFigure16(ctx context.Context, result *papers.Result) error {
	sweep, err := m.wuSweep(ctx, result, 4)
	if err != nil {
		return err
	}
	rows, bandwidth := m.rows(result, wuRows), m.modelBandwidth(result)
	model := &chart.Series{Name: "model", Origin: chart.Model}
	for groups := int64(2); groups <= min(wuGroupsMax, rows); groups *= 2 {
		model.Points = append(model.Points, chart.Point{X: float64(groups),
			Y: 2e3 * papers.SortedColumnsGain(rows, groups, bandwidth)})
	}
	p := chart.Panel{Title: "Time of SGB-UR less that of SGB-TR", X: axisGroups2, Y: axisMillis,
		Series: []*chart.Series{model}}
	addDifference(&p, "measured", sweep, papers.SGBUR, papers.SGBTR, rows)
	result.Panels = []chart.Panel{p}
	return nil
}

// addDifference adds the milliseconds that one system of a sweep takes more than another, where both were measured.
func addDifference(p *chart.Panel, name string, sweep *chart.Panel, more, less string, rows int64) {
	a, b := pick(sweep, more), pick(sweep, less)
	if len(a.Series) == 0 || len(b.Series) == 0 {
		return
	}
	for _, at := range a.Series[0].Points {
		if other, ok := b.Series[0].At(at.X); ok {
			p.Add(name, at.X, float64(rows)/1e6*(1/at.Y-1/other))
		}
	}
}

// wuFigure19 shows how much less time SGB-DE-TR takes than SGB-TR, with the model of section 4.4.
func (m *measurer) wuFigure19(ctx context.Context, result *papers.Result) error {
	rows, bandwidth := m.rows(result, wuRows), m.modelBandwidth(result)
	p := chart.Panel{Title: "Time of SGB-TR less that of SGB-DE-TR", X: axisGroups2, Y: axisMillis}
	for _, keyBytes := range []int{4, 8} {
		model := &chart.Series{Name: fmt.Sprintf("%d-byte keys, model", keyBytes), Origin: chart.Model}
		for groups := int64(4); groups <= min(wuGroupsMax, rows); groups *= 4 {
			model.Points = append(model.Points, chart.Point{X: float64(groups),
				Y: 1e3 * papers.CodesGain(rows, groups, keyBytes, 2, bandwidth)})
		}
		p.Series = append(p.Series, model)
		sweep, err := m.wuSweep(ctx, result, keyBytes)
		if err != nil {
			return err
		}
		addDifference(&p, fmt.Sprintf("%d-byte keys, measured", keyBytes), sweep, papers.SGBTR, papers.SGBDE, rows)
	}
	result.Panels = []chart.Panel{p}
	return nil
}

// wuTable2 shows from how many columns on codes pay, by the formulas and by the table.
func (m *measurer) wuTable2(_ context.Context, result *papers.Result) error {
	p := chart.Panel{Title: "Least number of payload columns (2^28 rows, A100)", X: axisGroups2,
		Y: chart.Axis{Name: "columns"}}
	for _, keyBytes := range []int{4, 8} {
		s := &chart.Series{Name: fmt.Sprintf("%d-byte keys", keyBytes), Origin: chart.Model,
			Paper: papers.Table2[keyBytes]}
		most := papers.Table2[keyBytes][len(papers.Table2[keyBytes])-1].X
		for groups := 1.0; groups <= most; groups *= 2 {
			s.Points = append(s.Points, chart.Point{X: groups,
				Y: float64(papers.CodesPayFrom(wuRows, int64(groups), keyBytes))})
		}
		p.Series = append(p.Series, s)
	}
	result.Panels, result.Scale = []chart.Panel{p}, 1
	result.Note("The paper's marks stand at the largest number of groups of each row of the table.")
	return nil
}

// wuFigure20 shows the families by skew, with 2^12 and 2^16 groups.
func (m *measurer) wuFigure20(ctx context.Context, result *papers.Result) error {
	rows := m.capped(result, wuRows, wuRowsSkew)
	for _, power := range []int{12, 16} {
		p := chart.Panel{Title: fmt.Sprintf("2^%d groups, %d rows", power, rows),
			X: chart.Axis{Name: "exponent of a Zipf distribution"}, Y: axisRate}
		for _, skew := range []float64{0, .25, .5, .75, 1, 1.25, 1.5} {
			c := bench.Case{Rows: rows, Groups: 1 << power, Skew: skew, Shape: wuShape(4)}
			err := m.runPlans(ctx, result, c, append(plansFor(inFamilies, c.Groups), m.chosen(&c)),
				func(by kernelPlan, res bench.Result) {
					p.Add(by.name, skew, rate(&c, &res))
				})
			if err != nil {
				return err
			}
		}
		result.Panels = append(result.Panels, p)
	}
	return nil
}

// wuFigure21 compares the systems that the decision tree and mpga pick with the fastest, on a grid.
func (m *measurer) wuFigure21(ctx context.Context, result *papers.Result) error {
	rows := m.capped(result, wuRows, wuRowsSkew)
	p := chart.Panel{
		Title: fmt.Sprintf("Time by the fastest's, %d rows", rows),
		X:     chart.Axis{Name: "key bytes, groups, skew"}, Y: chart.Axis{Name: "time", Unit: "times the least"},
	}
	for _, keyBytes := range []int{4, 8} {
		for _, power := range []int{4, 10, 14, 18, 22} {
			for _, skew := range []float64{0, 1.25} {
				c := bench.Case{Rows: rows, Groups: 1 << power, Skew: skew, Shape: wuShape(keyBytes)}
				if c.Groups > rows {
					continue
				}
				name := fmt.Sprintf("%d B, 2^%d, %s", keyBytes, power, skewName(skew))
				if err := m.wuChoice(ctx, result, &p, c, name); err != nil {
					return err
				}
			}
		}
	}
	result.Panels = []chart.Panel{p}
	return nil
}

func skewName(skew float64) string {
	if skew == 0 {
		return "uniform"
	}
	return fmt.Sprintf("Zipf %g", skew)
}

// wuChoice adds a case to figure 21.
func (m *measurer) wuChoice(ctx context.Context, result *papers.Result, p *chart.Panel, c bench.Case,
	name string) error {
	ours := m.chosen(&c)
	took := map[string]float64{}
	err := m.runPlans(ctx, result, c, append(plansFor(inFamilies, c.Groups), ours),
		func(by kernelPlan, res bench.Result) {
			took[by.name] = float64(max(res.Nanos, 1))
		})
	if err != nil || len(took) == 0 {
		return err
	}
	fastest, least := "", math.Inf(1)
	for _, s := range systemsFor(inFamilies) {
		if nanos, ok := took[s.name]; ok && nanos < least {
			fastest, least = s.name, nanos
		}
	}
	x := float64(len(p.X.Names))
	p.X.Names = append(p.X.Names, name)
	tree := papers.Tree(c.Groups <= papers.SharedGroupsMax, c.Skew)
	least = min(least, took[papers.Chosen])
	if nanos, ok := took[tree]; ok {
		p.Add("the tree's", x, nanos/least)
	}
	p.Add(papers.Chosen, x, took[papers.Chosen]/least)
	result.Note(fmt.Sprintf("%s: the tree picks %s, mpga %s; fastest was %s", name, tree, nameOfKernel(ours.Kernel),
		fastest))
	return nil
}
