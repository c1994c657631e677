package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// randomAblation returns changes of some parts.
func randomAblation(rng *rand.Rand) (a engine.Ablation) {
	a.Bound = []string{"", "", "theorem", "tail"}[rng.IntN(4)]
	a.Oversized = []string{"", "", "feedback", "split", "cpu"}[rng.IntN(5)]
	a.NoMerge = rng.IntN(3) == 0
	a.Streams = rng.IntN(4)
	if rng.IntN(3) == 0 {
		a.LoadFactor = 0.3 + 0.7*rng.Float64()
	}
	if rng.IntN(3) == 0 {
		a.LFMin = 0.05 + 0.5*rng.Float64()
		a.LFMax = a.LFMin + 0.01 + 0.4*rng.Float64()
	}
	return a
}

// foldsOfAll are functions that every algorithm has.
var foldsOfAll = []query.Func{query.CountStar, query.Count, query.Sum, query.Min, query.Max, query.Avg}

// answered counts the queries of an algorithm that it answered, and did not take.
type answered struct{ all, alone, refused int }

// note checks an answer of an algorithm, or that it says that it has no way to answer.
func (n *answered) note(algorithm string, want *grouptest.Rows, got *grouptest.Rows, stats engine.Stats, err error) error {
	if errors.Is(err, engine.ErrAlgorithm) {
		n.refused++
		return nil
	}
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	d := stats.Device
	switch {
	case err != nil:
		return fmt.Errorf("%w: %+v", err, d)
	case stats.RowsRead > 0 && (d.Reason != "" || d.Tiles > 0 && d.Algorithm != algorithm):
		return fmt.Errorf("algorithm %q did it, since %s", d.Algorithm, d.Reason)
	}
	n.all++
	if stats.Route == "device" {
		n.alone++
	}
	return nil
}

// Every algorithm answers the queries that it takes, over memory and over files, whatever part of it is changed.
func TestAlgorithms(t *testing.T) {
	seed := newSeed(t)
	queries := 40 // of each algorithm
	if testing.Short() {
		queries = 8
	}
	numbers := slices.DeleteFunc(slices.Clone(pagedTypes), func(t arrow.DataType) bool { return arrow.IsBaseBinary(t.ID()) })
	for a, algorithm := range engine.Algorithms()[1:] {
		var n, pages answered
		answers := func() bool { return n.all+pages.all > 0 && n.alone+pages.alone > 0 }
		for i := 0; i < queries || !answers(); i++ { // sgb-tr takes keys of one word alone: two in five
			if i == 20*queries {
				t.Fatalf("%s answered %+v over memory and %+v over files", algorithm, n, pages)
			}
			rng := rand.New(rand.NewPCG(seed, uint64(i*100+a)))
			types := pagedTypes
			if i%2 == 0 {
				types = numbers
			}
			schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng)/2, types...)
			q := pagedQuery(rng, schema)
			for k := range q.Aggregates { // every second query is for all algorithms
				if a := &q.Aggregates[k]; i%2 == 0 && !slices.Contains(foldsOfAll, a.Func) {
					a.Func, a.Length, a.Fraction = query.Count, 0, 0
				}
				if a := &q.Aggregates[k]; a.Func == query.Sum || a.Func == query.Avg || a.Func == query.StddevSamp {
					if fields, _ := schema.FieldsByName(a.Args[0]); arrow.IsFloating(fields[0].Type.ID()) {
						a.Func = query.Max // sums of huge doubles are +Inf or -Inf by the order of additions
					}
				}
			}
			want, err := grouptest.Oracle(schema, batches, q)
			if err != nil {
				continue
			}
			opt := engine.Options{
				Device: "host:" + []string{"2MiB", "16MiB", "256MiB"}[rng.IntN(3)], Threads: 1 + rng.IntN(4),
				Algorithm: algorithm, Ablation: randomAblation(rng),
			}
			onDevice(t, &opt)
			eng := openChecked(t, testknobs.With(opt, testknobs.Engine{ResultRows: []int{0, 100}[rng.IntN(2)], Device: testknobs.Device{
				TileRows: []int{0, 1000}[rng.IntN(2)], Groups: []int64{0, 10, 1 << 30}[rng.IntN(3)], Count: 1 + rng.IntN(2),
			}}))
			if i/2%2 == 0 {
				path := writeRandomPages(t, rng, schema, batches, 3000)
				got, stats, err := answerFile(t, eng, path, q)
				err = pages.note(algorithm, want, got, stats, err)
				if err != nil {
					t.Fatalf("%s, query %d, %+v, %v over %v of a file: %v", algorithm, i, opt.Ablation, q.Aggregates, q.Keys, err)
				}
				continue
			}
			got, stats, err := answerWithStats(eng, scan.Batches(schema, batches), q)
			if err = n.note(algorithm, want, got, stats, err); err != nil {
				t.Fatalf("%s, query %d, %+v, %v over %v: %v", algorithm, i, opt.Ablation, q.Aggregates, q.Keys, err)
			}
		}
		t.Logf("%s answered %d queries over memory, %d by itself, and %d over files, %d by itself; %d were not for it",
			algorithm, n.all, n.alone, pages.all, pages.alone, n.refused+pages.refused)
	}
}

// The cases that every part of the engine answers.
func TestAlgorithmCases(t *testing.T) {
	algorithms := engine.Algorithms()[1:]
	n := make([]answered, len(algorithms))
	for i, c := range grouptest.Cases() {
		if testing.Short() && i%4 != 0 {
			continue
		}
		want, err := c.Want()
		if err != nil {
			continue
		}
		for a, algorithm := range algorithms {
			if testing.Short() && (a+i/4)%4 != 0 {
				continue
			}
			opt := engine.Options{Device: "host:16MiB", Threads: 2, Algorithm: algorithm}
			onDevice(t, &opt)
			eng := openChecked(t, opt)
			got, stats, err := answerWithStats(eng, scan.Batches(c.Schema, c.Batches()), c.Query)
			if err = n[a].note(algorithm, want, got, stats, err); err != nil {
				t.Errorf("%s, %s: %v", algorithm, c.Name, err)
			}
		}
	}
	for a, algorithm := range algorithms {
		if t.Logf("%s: %+v", algorithm, n[a]); n[a].all == 0 {
			t.Errorf("%s answered no case", algorithm)
		}
	}
}

// Whatever fails, an algorithm that was asked for answers right, or not at all: nobody else does its work.
func TestAlgorithmFaults(t *testing.T) {
	schema, batches := deviceTable(2000, 1500)
	want, err := grouptest.Oracle(schema, batches, deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"mp-ega", "sp-ega", "sgb-de"} {
		for _, memory := range []int64{2 << 20, 128 << 10} {
			knobs := testknobs.Engine{ResultRows: 100, Device: testknobs.Device{TileRows: 200, Streams: 2}}
			failEach(t, fmt.Sprint(algorithm, "/", memory), knobs, 7, func(t *testing.T, knobs testknobs.Engine) {
				opt := engine.Options{Threads: 2, Device: "host:2MiB", DeviceMemoryLimit: memory, Algorithm: algorithm}
				eng := openChecked(t, testknobs.With(opt, knobs))
				got, stats, err := answerWithStats(eng, scan.Batches(schema, batches), deviceQuery)
				if err != nil {
					return // no leak, no panic
				}
				if err := grouptest.Equal(want, got); err != nil || stats.Device.Reason != "" {
					t.Errorf("%v, on the CPU since %q", err, stats.Device.Reason)
				}
			})
		}
	}
}

// What an algorithm has no way to do is said before anything is read; and so it is where there is no device.
func TestAlgorithmRefuses(t *testing.T) {
	schema, batches := deviceTable(2000, 100)
	by := []query.Key{{Column: "k"}}
	for _, c := range []struct {
		algorithm string
		query     query.Query
		want      string
	}{
		{"mp-ega", query.Query{Keys: by, Aggregates: []query.Aggregate{{Func: query.List, Args: []string{"v"}}}}, "a device has no fold for all values"},
		{"mp-ega", query.Query{Keys: by, Aggregates: []query.Aggregate{{Func: query.StddevPop, Args: []string{"v"}}}}, "states of several values"},
		{"lphga", query.Query{Keys: by, Aggregates: []query.Aggregate{{Func: query.Median, Args: []string{"v"}}}}, "lphga has no values in order"},
		{"hgb", query.Query{Aggregates: []query.Aggregate{{Func: query.CountStar}}}, "there is one group"},
	} {
		eng := openChecked(t, engine.Options{Threads: 2, Device: "host:16MiB", Algorithm: c.algorithm})
		_, _, err := answerWithStats(eng, scan.Batches(schema, batches), c.query)
		if !errors.Is(err, engine.ErrAlgorithm) || !strings.Contains(err.Error(), "algorithm "+c.algorithm+" cannot do it: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.algorithm, err, c.want)
		}
		if _, err := eng.Explain(t.Context(), scan.Batches(schema, batches), c.query); !errors.Is(err, engine.ErrAlgorithm) {
			t.Errorf("%s, a plan: %v", c.algorithm, err)
		}
	}
	for _, c := range []struct {
		opt  engine.Options
		want string
	}{
		{engine.Options{Algorithm: "spega"}, `Algorithm: "spega": want one of auto, mp-ega`},
		{engine.Options{Algorithm: "sp-ega", Device: "cpu"}, `Algorithm: "sp-ega" runs on a device, and Device is "cpu"`},
		{engine.Options{Ablation: engine.Ablation{LFMin: 0.9, LFMax: 0.5}}, "Ablation.LFMin (0.9) and Ablation.LFMax (0.5)"},
		{engine.Options{Ablation: engine.Ablation{NoMerge: true}, Device: "cpu"}, `Ablation.NoMerge changes what devices do, and Device is "cpu"`},
	} {
		eng, err := engine.Open(c.opt)
		if err == nil {
			err = errors.Join(errors.New("it opens"), eng.Close())
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.opt, err, c.want)
		}
	}
}

// Where nothing is left to read, there is nothing that an algorithm could lack.
func TestAlgorithmOfNothing(t *testing.T) {
	schema, _ := deviceTable(10, 10)
	eng := openChecked(t, engine.Options{Threads: 2, Device: "host:16MiB", Algorithm: "mp-ega"})
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.List, Args: []string{"v"}}}}
	if got, _, err := answerWithStats(eng, scan.Batches(schema, nil), q); err != nil || len(got.Cells) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// A plan and the statistics say what was asked for.
func TestAlgorithmNames(t *testing.T) {
	schema, batches := deviceTable(2000, 100)
	opt := engine.Options{Threads: 2, Device: "host:16MiB", Algorithm: "mp-ega", Ablation: engine.Ablation{NoMerge: true, LFMin: 0.3}}
	eng := openChecked(t, opt)
	src := scan.Batches(schema, batches)
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}}}
	plan, err := eng.Explain(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	_, stats, err := answerWithStats(eng, src, q)
	if err != nil {
		t.Fatal(err)
	}
	const method = "tiles aggregated by SP-EGA, their groups partitioned and aggregated by SP-EGA, partitions sized by Theorem 1, partitions not merged, load factors 0.3 to 0.8"
	if got := plan.String(); !strings.Contains(got, "algorithm: mp-ega: "+method) {
		t.Error(got)
	}
	if d := stats.Device; d.Algorithm != "mp-ega" || d.Method != method || !slices.Equal(d.Routes, []string{"partitions of the groups of tiles"}) {
		t.Errorf("%+v", d)
	}
}
