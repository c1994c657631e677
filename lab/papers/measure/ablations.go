package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/lab/pairs"
	"github.com/mpga/mpga/lab/papers"
)

// egaMerge shows the quality of merges, and MP-EGA with and without.
func (m *measurer) egaMerge(ctx context.Context, result *papers.Result) error {
	seconds := chart.Panel{Title: "MP-EGA with and without the merge", X: axisGroups, Y: axisSeconds}
	sets := chart.Panel{Title: "Sets of partitions", X: axisGroups, Y: chart.Axis{Name: "sets", Log: 10}}
	rows := m.outOfCoreRows(result, outOfCoreRows)
	for _, part := range []int64{1000, 10, 1} {
		in, err := load(ctx, rows, rows/part)
		if err != nil {
			return err
		}
		noteLimit(result, in)
		for _, c := range []engineCase{
			{name: "merged", options: quarter(in, "mp-ega", engine.Ablation{})},
			{name: "not merged", options: quarter(in, "mp-ega", engine.Ablation{NoMerge: true})},
		} {
			c.times = m.times()
			run, err := m.ask(ctx, in, c)
			if err != nil {
				in.Release()
				return err
			}
			seconds.Add(c.name, float64(rows/part), run.seconds)
			sets.Add(c.name, float64(rows/part), float64(run.device.Merged))
		}
		in.Release()
	}
	result.Panels = []chart.Panel{mergePanel(), seconds, sets}
	return nil
}

// fewBits make two partitions, which are larger than a quarter of the input.
const fewBits = 1

// egaFeedback shows what tables are loaded to, by the load factors between which loads stop, and what becomes of
// partitions that are larger than the memory.
func (m *measurer) egaFeedback(ctx context.Context, result *papers.Result) error {
	rows := m.outOfCoreRows(result, 1e8)
	in, err := load(ctx, rows, rows/20)
	if err != nil {
		return err
	}
	defer in.Release()
	noteLimit(result, in)
	result.Note("Two partitions are forced, so that each is larger than the memory.")
	bounds := [][2]float64{{.3, .5}, {.4, .6}, {.6, .8}, {.7, .9}, {.8, .95}}
	loads := chart.Panel{Title: "Load factors", X: chart.Axis{Name: "LFmin and LFmax"},
		Y: chart.Axis{Name: "load factor"}}
	rounds := chart.Panel{Title: "Feedback rounds", Y: chart.Axis{Name: "rounds"}}
	seconds := chart.Panel{Title: "Time by load factors", Y: axisSeconds}
	for i, b := range bounds {
		loads.X.Names = append(loads.X.Names, fmt.Sprintf("%g to %g", b[0], b[1]))
		run, err := m.ask(ctx, in, engineCase{name: "feedback", bits: fewBits,
			options: quarter(in, "mp-ega", engine.Ablation{LFMin: b[0], LFMax: b[1]})})
		if err != nil {
			return err
		}
		x := float64(i)
		if len(run.device.Loads) > 0 {
			loads.Add("fullest table", x, slices.Max(run.device.Loads))
		}
		loads.Add("LFmin", x, b[0])
		loads.Add("LFmax", x, b[1])
		rounds.Add("rounds", x, float64(run.device.Rounds))
		seconds.Add("time", x, run.seconds)
	}
	rounds.X, seconds.X = loads.X, loads.X
	result.Panels = []chart.Panel{loads, rounds, seconds}
	return m.egaOversized(ctx, result, in)
}

// egaOversized adds what becomes of partitions that are too large: time, and bytes over the link.
func (m *measurer) egaOversized(ctx context.Context, result *papers.Result, in *pairs.Input) error {
	names := device.Oversizeds()
	seconds := chart.Panel{Title: "Time by what becomes of too large a partition",
		X: chart.Axis{Name: "--oversized", Names: names}, Y: axisSeconds}
	bytes := chart.Panel{Title: "Bytes over the link", X: seconds.X, Y: chart.Axis{Name: "bytes", Unit: "MiB"}}
	for i, name := range names {
		run, err := m.ask(ctx, in, engineCase{name: name, bits: fewBits, times: m.times(),
			options: quarter(in, "mp-ega", engine.Ablation{Oversized: name})})
		if err != nil {
			return err
		}
		seconds.Add("time", float64(i), run.seconds)
		bytes.Add("bytes", float64(i), linkMiB(&run))
	}
	result.Panels = append(result.Panels, seconds, bytes)
	return nil
}

// egaCoprocessing shows the bytes over the link by how partitions are processed, and the time of every algorithm.
func (m *measurer) egaCoprocessing(ctx context.Context, result *papers.Result) error {
	rows := m.outOfCoreRows(result, outOfCoreRows)
	in, err := load(ctx, rows, rows/20)
	if err != nil {
		return err
	}
	defer in.Release()
	noteLimit(result, in)
	bytes, err := m.linkBytes(ctx, in)
	if err != nil {
		return err
	}
	seconds := chart.Panel{Title: "Time of every algorithm", X: chart.Axis{Name: "algorithm"}, Y: axisSeconds}
	for _, name := range append([]string{papers.CPU}, engine.Algorithms()...) {
		c := engineCase{name: name, times: m.times(), options: quarter(in, name, engine.Ablation{})}
		if name == papers.CPU {
			c.device, c.options = "cpu", engine.Options{}
		}
		run, err := m.ask(ctx, in, c)
		if errors.Is(err, engine.ErrAlgorithm) {
			result.Note(err.Error())
			continue
		}
		if err != nil {
			return err
		}
		seconds.Add("time", float64(len(seconds.X.Names)), run.seconds)
		seconds.X.Names = append(seconds.X.Names, name)
	}
	result.Panels = []chart.Panel{bytes, seconds}
	result.Note("Static partitioning is taken as: partitions are made once, and one that turns out too large is " +
		"partitioned again. Two partitions are forced in the first series, so that this happens; the second has as " +
		"many as MP-EGA makes by itself.")
	return nil
}

// linkBytes shows the bytes over the link, with two partitions that are too large, and with as many as there would be.
func (m *measurer) linkBytes(ctx context.Context, in *pairs.Input) (chart.Panel, error) {
	p := chart.Panel{Title: "Bytes over the link, both ways", X: chart.Axis{Name: "way"},
		Y: chart.Axis{Name: "bytes", Unit: "MiB"}}
	cases := []engineCase{
		{name: papers.Feedback, options: quarter(in, "mp-ega", engine.Ablation{Oversized: "feedback"})},
		{name: papers.Split, options: quarter(in, "mp-ega", engine.Ablation{Oversized: "split"})},
		{name: "rest on the CPU", options: quarter(in, "mp-ega", engine.Ablation{Oversized: "cpu"})},
		{name: "not merged", options: quarter(in, "mp-ega", engine.Ablation{NoMerge: true})},
		{name: "binomial tail", options: quarter(in, "mp-ega", engine.Ablation{Bound: "tail"})},
		{name: "auto", options: quarter(in, "", engine.Ablation{})},
	}
	for i, c := range cases {
		p.X.Names = append(p.X.Names, c.name)
		for _, series := range []struct {
			name string
			bits int
		}{{"two partitions, too large", fewBits}, {"partitions as estimated", 0}} {
			c.bits = series.bits
			run, err := m.ask(ctx, in, c)
			if err != nil {
				return p, err
			}
			p.Add(series.name, float64(i), linkMiB(&run))
		}
	}
	return p, nil
}
