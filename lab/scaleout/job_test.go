package scaleout

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// small is a workload whose arithmetic is done by hand: 1e9 rows of 10 B, 1,000 groups of 100 B, 50 in a
// pack.
func small() Workload {
	return Workload{
		Rows: 1e9, RowBytes: 10, Columns: 2, FileRow: 10, Groups: 1000, Spread: All,
		StateBytes: 84, PackedBytes: 50, HeaderBytes: 500, ResultBytes: 20,
		Rates: Rates{RowsInCache: 50e6, RowsBeyond: 10e6, StatesWritten: 1e6, StatesMerged: 1e6, RowsMade: 2e6, PairsMerged: 1e6},
	}
}

// still are 10 hosts of 8 threads and 2 tasks on which nothing goes wrong, and whose store asks no time.
func still() Cluster {
	return Cluster{
		Hosts: 10, Threads: 8, TaskThreads: 4, MemoryBytes: 64 << 30, TempBytes: 1e12, Network: 1e9,
		Store: math.Inf(1), Gets: math.Inf(1), Puts: math.Inf(1), Prefixes: 1, Copy: math.Inf(1), Slow: 8,
	}
}

func newJob(t *testing.T, w Workload, c Cluster, r distributed.Request) *Job {
	t.Helper()
	j, err := NewJob(w, c, r)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Would catch arithmetic that is not what hands come to.
func TestJobByHand(t *testing.T) {
	j := newJob(t, small(), still(), distributed.Request{Splits: 40, Partitions: 4, Merges: 2, Combines: -1})
	if want := (distributed.Counts{Splits: 40, Partitions: 4, Merges: 2}); j.Counts != want {
		t.Fatalf("%+v, want %+v", j.Counts, want)
	}
	partial, merge := &j.Stages[0], &j.Stages[1]
	plan := 40*planBytesSplit + 10*planBytesFile // ten files of 1 GiB
	pack := 1000*50 + 4*500.0                    // states, and four headers
	manifest := manifestBytes + 4*(5+1.0)        // four numbers of five digits
	near(t, "plan", j.Plan, plan, 1e-9)
	near(t, "read by a split", partial.Need.In, 25e6*10+plan, 1e-9)
	near(t, "written by a split", partial.Need.Out, pack+manifest, 1e-9)
	near(t, "threads of a split", partial.Need.CPU, 25e6/50e6+1000/1e6, 1e-9)
	near(t, "states", j.States(), 40*1000, 1e-9)
	near(t, "read by a merge", merge.Need.In, 40*pack/2+40*manifest+plan, 1e-9)
	near(t, "packs of a merge", merge.Need.Packs, 40*pack/2, 1e-9)
	near(t, "threads of a merge", merge.Need.CPU, 40*1000/2/1e6+500/2e6+40*2*blobRead, 1e-9)
	near(t, "written by a merge", merge.Need.Out, 500*20, 1e-9)
	// Two tasks a host share its 1 GB/s; each reads 250 MB and computes for 0.5 s over 4 threads.
	near(t, "a split", j.Parts(partial).Sum(), (25e7+plan)*2/1e9+(pack+manifest)*2/1e9+opened+plan/planDecoded+4*blobWritten, 1e-9)
	near(t, "splits", j.Seconds(partial), 2*j.Parts(partial).Sum(), 1e-9)
	if got := j.Parts(partial).Bottleneck(); got != "network" {
		t.Errorf("splits wait for %s", got)
	}
	tr := j.Traffic()
	near(t, "input", tr.Input, 1e10, 1e-9)
	near(t, "states written", tr.States, 40*(pack+manifest), 1e-9)
	near(t, "states read", tr.Moved, 40*pack, 1e-9)
	// A merge lists 40 packs and asks each for one piece, for plan and seal twice, and for six names.
	near(t, "GETs of a merge", merge.Need.Gets, 1+40+2*2+6, 1e-9)
	near(t, "PUTs of a split", partial.Need.Puts, 2, 1e-9)
}

// Would catch requests whose limits or latencies do not count.
func TestRequests(t *testing.T) {
	c := still()
	c.Latency = 0.1
	n := &Need{Gets: 1000, Puts: 10, RoundTrips: 50}
	near(t, "latency", c.asking(n, 20).Requests, 5, 1e-9)
	c.Gets, c.Puts = 1000, 1000
	near(t, "GET limit", c.asking(n, 20).Requests, 20, 1e-9)
	c.Puts = 5
	near(t, "PUT limit", c.asking(n, 20).Requests, 40, 1e-9)
	var ranges Need
	ranges.copyRanges(80, 3<<20, 1200) // 2,400 names are three lists
	near(t, "GETs of ranges", ranges.Gets, 3+80*3, 1e-9)
	near(t, "waits for ranges", ranges.RoundTrips, 3+80*(1.0/8+2.0/32), 1e-9)
	var files Need
	files.openFiles(80, 3<<20)
	near(t, "GETs of files", files.Gets, 80*4, 1e-9)
	near(t, "waits for files", files.RoundTrips, 80*(2.0/8+2.0/32), 1e-9)
	var object Need
	object.upload(20<<20, 1, 1)
	near(t, "PUTs of three parts", object.Puts, 5, 1e-9)
}

// Would catch first tasks that all read the manifests of many attempts, and waits that are not the program's.
func TestLead(t *testing.T) {
	c := StandardCluster() // 400 slots, 0.1 s a request, 5,500 requests a second
	slow := c
	slow.Latency = 1
	const decoded = 1200 * 1000 / sealDecoded
	for _, l := range []struct {
		name            string
		c               Cluster
		tasks, attempts int
		seconds, asked  float64
	}{
		// A list and 64 manifests, 16 at once, of each of ten tasks; and the seal.
		{"few attempts", c, 10, 64, 0.1*(1+4+1) + 64*1000/sealDecoded, 10 * 65},
		// One task has read 1,200 manifests after 8.02 s. Ten looks after 0.1, 0.15, 0.225 s ... end at
		// 0.1*(1.5^10-1)/0.5 = 11.33 s, nine at 7.49.
		{"one sealer", c, 2048, 1200, 11.333, 400*3 + 1200 + 399*10},
		{"one task", c, 1, 1200, 0.1*(3+75+1) + decoded, 3 + 1200},
		// It takes 80 s, and the others wait for 36: thirteen looks end at 38.72 s. Then all read.
		{"patience", slow, 2048, 1200, 38.724 + (400*3+400*1200)/5500.0 + decoded, 400*3 + 1200 + 399*13 + 399*1200},
	} {
		j := &Job{Cluster: l.c}
		seconds, asked := j.lead(l.tasks, float64(l.attempts), 1000)
		near(t, l.name, seconds, l.seconds, 1e-4)
		near(t, l.name+", requests", asked, l.asked, 1e-9)
	}
}

// M3: without stragglers and failures the simulation is the closed form.
func TestSimulateClosedForm(t *testing.T) {
	c := StandardCluster()
	c.Failures, c.Stragglers = 0, 0
	for _, w := range Standard() {
		for _, speculate := range []bool{false, true} {
			c.Speculate = speculate
			j := newJob(t, w, c, distributed.Request{SplitBytes: 1 << 30})
			times := j.Simulate(1, 7)
			for i := range j.Stages {
				near(t, w.Name+" "+j.Stages[i].Name, times.Stages[i].Median, j.Seconds(&j.Stages[i]), 1e-9)
			}
			twins := 0.0 // of the fullest partition, which take as long
			for i := range j.Stages {
				if s := &j.Stages[i]; speculate && j.Hot(s) > j.Parts(s).Sum() {
					twins++
				}
			}
			if times.Twins != twins || times.Failed != 0 || times.Lost != 0 {
				t.Errorf("%s: %+v", w.Name, times)
			}
		}
	}
}

// Would catch more hosts that make a plan slower, and more groups that make bytes fewer. What the first
// tasks ask until they agree grows with the hosts, and is left out.
func TestMonotone(t *testing.T) {
	for _, w := range Standard() {
		r := distributed.Request{Splits: 3000, Partitions: 512, Merges: 512, Combines: -1}
		before := math.Inf(1)
		for hosts := 1; hosts <= 4096; hosts = hosts*3/2 + 1 {
			c := StandardCluster()
			c.Hosts = hosts
			j := newJob(t, w, c, r)
			total := 0.0
			for i := range j.Stages {
				total += j.Seconds(&j.Stages[i]) - j.Stages[i].Lead
			}
			if total > before*(1+1e-9) {
				t.Errorf("%s: %d hosts take %g s, fewer %g", w.Name, hosts, total, before)
			}
			before = total
		}
		w.Pairs, w.Grow = 0, false
		moved := 0.0
		for groups := 1.0; groups <= w.Rows; groups *= 10 {
			w.Groups = groups
			tr := newJob(t, w, StandardCluster(), r).Traffic()
			if tr.Moved+tr.States+tr.Result < moved {
				t.Errorf("%s: %g groups move %g B, fewer groups %g", w.Name, groups, tr.Moved+tr.States+tr.Result, moved)
			}
			moved = tr.Moved + tr.States + tr.Result
		}
	}
}

// M4, and what failures, stragglers and twins do to a stage.
func TestSimulate(t *testing.T) {
	w, c := small(), still()
	r := distributed.Request{Splits: 400, Partitions: 4, Merges: 2, Combines: -1}
	plain := newJob(t, w, c, r).Simulate(11, 1)
	c.Stragglers = 0.02
	slow := newJob(t, w, c, r).Simulate(11, 1)
	if again := newJob(t, w, c, r).Simulate(11, 1); !reflect.DeepEqual(slow, again) {
		t.Error("the same seed gives other times")
	}
	if other := newJob(t, w, c, r).Simulate(11, 2); reflect.DeepEqual(slow, other) {
		t.Error("another seed gives the same times")
	}
	c.Speculate = true
	twins := newJob(t, w, c, r).Simulate(11, 1)
	if !(plain.Total.Median < twins.Total.Median && twins.Total.Median < slow.Total.Median) || twins.Twins == 0 {
		t.Errorf("without stragglers %g s, with %g, with twins %g (%g of them)", plain.Total.Median, slow.Total.Median, twins.Total.Median, twins.Twins)
	}
	if twins.Total.P95 < twins.Total.Median {
		t.Errorf("95th percentile %g, median %g", twins.Total.P95, twins.Total.Median)
	}
	c.Stragglers, c.Speculate, c.Failures = 0, false, 200
	failing := newJob(t, w, c, r).Simulate(11, 1)
	if failing.Failed == 0 || failing.Lost != 0 || math.Abs(failing.Attempts-failing.Failed-403) > 1e-9 {
		t.Errorf("%+v", failing)
	}
	c.Failures = 1e9
	if lost := newJob(t, w, c, r).Simulate(11, 1); lost.Lost != 11 {
		t.Errorf("%d of 11 runs are lost, where each attempt fails", lost.Lost)
	}
}

// A key that has all rows keeps one worker busy. Would catch a merge that shares the values of a group.
func TestHotKey(t *testing.T) {
	w := small()
	w.Pairs, w.PairBytes, w.PackedPairBytes = 1e8, 8, 5
	r := distributed.Request{Splits: 40, Partitions: 64, Merges: 8, Combines: -1}
	even := newJob(t, w, still(), r)
	w.Spread, w.Skew = Zipf, 1.5
	skewed := newJob(t, w, still(), r)
	if got := even.Hot(even.stage(distributed.StageMerge)); got != even.Parts(even.stage(distributed.StageMerge)).Sum() {
		t.Errorf("of equal keys one takes %g s", got)
	}
	// Of 100 equal keys in 64 partitions one has five: by Poisson's distribution of 1.5625 a partition, 64 of
	// them have 1.39 with five or more, and 0.35 with six.
	w.Groups, w.Spread, w.Skew = 100, All, 0
	few := newJob(t, w, still(), distributed.Request{Splits: 40, Partitions: 64, Merges: 64, Combines: -1})
	fullest := few.stage(distributed.StageMerge)
	near(t, "values of five keys", fullest.Hot.Serial-fullest.Need.Serial, few.pairs*5/100/1e6, 1e-9)
	merge := skewed.stage(distributed.StageMerge)
	share := skewed.pairs / harmonic(1000, 1.5)
	near(t, "values of the key", merge.Hot.Serial-merge.Need.Serial, share/1e6, 1e-9)
	near(t, "bytes of the key", merge.Hot.In-merge.Need.In, (share-skewed.pairs/8)*5, 1e-9)
	near(t, "merges", skewed.Seconds(merge), merge.Lead+skewed.Hot(merge), 1e-9)
}

// Would catch a limit that is broken at more rows than it is at, or at fewer.
func TestLimits(t *testing.T) {
	for _, w := range Standard() {
		j := newJob(t, w, StandardCluster(), distributed.Request{})
		limits := j.Limits()
		if len(limits) < 7 {
			t.Errorf("%s: %d limits", w.Name, len(limits))
		}
		for _, l := range limits {
			if l.Value > l.Bound && l.Rows > w.Rows {
				t.Errorf("%s, %s: %g is beyond %g, but not before %g rows", w.Name, l.Name, l.Value, l.Bound, l.Rows)
			}
		}
	}
	// 2,048 partitions that are asked for have 2^26 blobs with 32,768 splits. Others are fewer by then.
	q10 := Standard()[4]
	for partitions, want := range map[int]float64{2048: 32768 * (128 << 20) / q10.RowBytes, 0: math.Inf(1)} {
		r := distributed.Request{SplitBytes: 128 << 20, Partitions: partitions}
		for _, l := range newJob(t, q10, StandardCluster(), r).Limits() {
			if l.Name == "blobs of the splits" && !(l.Rows == want || math.Abs(l.Rows/want-1) < 0.01) {
				t.Errorf("%d partitions are refused from %g rows on, want %g", partitions, l.Rows, want)
			}
		}
	}
}

// Would catch sizes of plan.json that are not what plans have.
func TestPlanBytes(t *testing.T) {
	size := func(splits, files int) float64 {
		p := distributed.Plan{Inputs: make([]distributed.Input, 1)}
		for i := range splits {
			p.Splits = append(p.Splits, distributed.Split{First: 10000 + i, From: 12345678, Last: 10000 + i, Rows: 10_400_000, Bytes: 128 << 20})
		}
		for range files {
			p.Inputs[0].Files = append(p.Inputs[0].Files, dataset.Identity{
				Path: "s3://bucket/table/day=2026-11-26/part-00001-0123456789abcdef.parquet", Bytes: 1 << 30,
				Modified: time.Date(2026, 11, 26, 9, 28, 7, 123456789, time.UTC), ETag: `"0123456789abcdef0123456789abcdef"`,
			})
		}
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return float64(len(text))
	}
	near(t, "a split", (size(2000, 1)-size(1000, 1))/1000, planBytesSplit, 0.1)
	near(t, "a file", (size(1, 2000)-size(1, 1000))/1000, planBytesFile, 0.1)
}

// Would catch fields that are not checked, and results that JSON cannot hold.
func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Workload, *Cluster){
		"hosts":   func(_ *Workload, c *Cluster) { c.Hosts = 0 },
		"threads": func(_ *Workload, c *Cluster) { c.TaskThreads = 17 },
		"store":   func(_ *Workload, c *Cluster) { c.Store = 0 },
		"slow":    func(_ *Workload, c *Cluster) { c.Slow = 2 },
		"rows":    func(w *Workload, _ *Cluster) { w.Rows = 0 },
		"groups":  func(w *Workload, _ *Cluster) { w.Groups = 2e12 },
		"rates":   func(w *Workload, _ *Cluster) { w.RowsMade = 0 },
		"skew":    func(w *Workload, _ *Cluster) { w.Skew = -1 },
	} {
		w, c := Standard()[0], StandardCluster()
		change(&w, &c)
		if _, err := NewJob(w, c, distributed.Request{}); err == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	if _, err := json.Marshal(newJob(t, Standard()[0], StandardCluster(), distributed.Request{}).Simulate(3, 1)); err != nil {
		t.Error(err)
	}
}

// Would catch a machine that reads more from the network than it gives.
func TestInSeconds(t *testing.T) {
	w := Standard()[0]
	one := w.InSeconds(60, 16, 1e9)
	near(t, "rows", one.Rows, 60*16*w.RowsAlone, 1e-9)
	near(t, "from a store", one.FromStore, 60*1e9/w.RowBytes, 1e-9)
	if one.Limit != "network" || !one.Measured || w.InSeconds(60, 64, 1e9).Measured {
		t.Errorf("%+v", one)
	}
}
