package scaleout

import (
	"math"

	"github.com/mpga/mpga/engine/distributed"
)

// Limit is something that holds up to a number of rows.
type Limit struct {
	Name   string
	Value  float64 // at the rows of the job
	Bound  float64
	Unit   string  // of both: B, s or a count
	Rows   float64 // from which on the value is beyond the bound; +Inf where it is not with rowsMost
	Effect string  // what happens then
	Fails  bool    // the job fails, or needs other settings; else it is slower
}

// Bounds of stores and of package distributed.
const (
	blobsMost  = 1 << 26            // of all splits, whose sizes a seal has: more are not planned
	objectMost = 10_000 * partBytes // bytes of an upload to S3
	rowsLeast  = 1e6                // of the search
	rowsMost   = 1e18               // of the search
	rowsStep   = 1.25               // of the search
)

// rule tells a limit at the rows of a job; ok is false where the workload has no such limit.
type rule func(j *Job) (l Limit, ok bool)

var rules = []rule{blobsLimit, planLimit, leadLimit, requestsLimit, tempLimit, packLimit, copyLimit, memoryLimit, keyDiskLimit, orderLimit}

// Limits lists the limits of a job, with the number of rows from which on each is broken: groups grow
// with the rows where Workload.Grow says so.
func (j *Job) Limits() []Limit {
	var limits []Limit
	for _, of := range rules {
		l, ok := of(j)
		if !ok {
			continue
		}
		l.Rows = j.breaks(of)
		limits = append(limits, l)
	}
	return limits
}

// breaks returns the fewest rows at which a rule's value is beyond its bound.
func (j *Job) breaks(of rule) float64 {
	beyond := func(rows float64) bool {
		other, err := NewJob(j.Workload.AtRows(rows), j.Cluster, j.Request)
		if err != nil {
			return false // fewer rows than the workload has groups
		}
		l, ok := of(other)
		return ok && l.Value > l.Bound
	}
	low, high := rowsLeast, rowsLeast
	for !beyond(high) {
		if high > rowsMost {
			return math.Inf(1)
		}
		low, high = high, high*rowsStep
	}
	for high/low > 1.001 {
		if middle := math.Sqrt(low * high); beyond(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// stage returns a stage by its name.
func (j *Job) stage(name string) *Stage {
	for i := range j.Stages {
		if j.Stages[i].Name == name {
			return &j.Stages[i]
		}
	}
	return nil
}

// blobsLimit holds for partitions that are asked for: others are fewer where there are many splits.
func blobsLimit(j *Job) (Limit, bool) {
	return Limit{Name: "blobs of the splits", Value: float64(j.Counts.Splits) * float64(j.Counts.Partitions), Bound: blobsMost, Fails: true,
		Effect: "mpga dist plan refuses them: fewer splits (--split-bytes) or partitions"}, true
}

func planLimit(j *Job) (Limit, bool) {
	s := j.stage(distributed.StagePartial)
	return Limit{Name: "plan.json, read by a split", Value: j.Plan / planDecoded, Bound: max(s.Need.CPU/float64(j.Cluster.TaskThreads), 1), Unit: "s",
		Effect: "a split takes longer to read the plan than to compute"}, true
}

func leadLimit(j *Job) (Limit, bool) {
	lead, rest := 0.0, 0.0
	for i := range j.Stages {
		s := &j.Stages[i]
		lead += s.Lead
		rest += j.Seconds(s) - s.Lead
	}
	return Limit{Name: "manifests, read before a stage", Value: lead, Bound: max(rest, minute), Unit: "s",
		Effect: "agreeing on attempts takes longer than all the rest"}, true
}

// Bounds below which waiting is nobody's concern, in s.
const (
	minute = 60
	hour   = 3600
)

func requestsLimit(j *Job) (Limit, bool) {
	s := j.stage(distributed.StageMerge)
	return Limit{Name: "requests of the merges", Value: float64(s.Tasks) * s.Need.Gets, Bound: j.Cluster.Gets * hour,
		Effect: "a prefix of the store answers them in more than an hour: fewer splits or merges, or a tree"}, true
}

func tempLimit(j *Job) (Limit, bool) {
	most := 0.0
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Name != distributed.StageCommit {
			most = max(most, s.Need.Temp)
		}
	}
	return Limit{Name: "disk of a task", Value: most, Bound: j.Cluster.TempBytes / float64(j.Cluster.slotsOfHost()), Unit: "B", Fails: true,
		Effect: "copies of packs and spilled states do not fit: fewer tasks a host, or more merges"}, true
}

func packLimit(j *Job) (Limit, bool) {
	return Limit{Name: "a pack", Value: j.pack, Bound: objectMost, Unit: "B", Fails: true,
		Effect: "an object has 10,000 parts of 8 MiB at most: more splits, or nodes of the tree"}, true
}

func copyLimit(j *Job) (Limit, bool) {
	each := j.Workload.Groups * j.Workload.ResultBytes / float64(j.Counts.Merges)
	return Limit{Name: "a file of the result", Value: each, Bound: copiedMax, Unit: "B",
		Effect: "S3 copies no larger object at once: all rows pass through the commit, or --max-rows-per-file"}, !j.Workload.Ordered
}

func memoryLimit(j *Job) (Limit, bool) {
	bytes := j.pairs * j.Workload.hotShare() * j.Workload.PairBytes
	return Limit{Name: "values of the most frequent key", Value: bytes, Bound: j.Cluster.MemoryBytes / float64(j.Cluster.slotsOfHost()), Unit: "B",
		Effect: "they are sorted on the disk; a list or a string_agg fails"}, j.Workload.Pairs > 0
}

func keyDiskLimit(j *Job) (Limit, bool) {
	s := j.stage(distributed.StageMerge)
	return Limit{Name: "disk of the fullest merge", Value: s.Hot.Temp, Bound: j.Cluster.TempBytes / float64(j.Cluster.slotsOfHost()), Unit: "B", Fails: true,
		Effect: "one task cannot hold the values of its keys: more partitions and merges, which does not help a single key"}, j.Workload.Pairs > 0
}

func orderLimit(j *Job) (Limit, bool) {
	rest := 0.0
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Name != distributed.StageCommit {
			rest += j.Seconds(s)
		}
	}
	return Limit{Name: "ORDER BY in the commit", Value: j.ordering(), Bound: max(rest, minute), Unit: "s",
		Effect: "one process sorts for longer than all others work"}, true
}
