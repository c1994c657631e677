package scaleout

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mpga/mpga/engine/distributed"
)

// Rules of the engine that schedules, as of Spark 3: a task that has failed four times ends the job; a
// twin is started beside an attempt that has run for 1.5 times the median of the tasks that are done, once
// three quarters are.
const (
	attemptsMax     = 4
	speculateAfter  = 0.75
	speculateBeyond = 1.5
)

// A slow attempt takes slowLeast times as long at least, by a Pareto distribution with the mean
// Cluster.Slow, and slowMost times at most.
const (
	slowLeast = 2
	slowMost  = 50
)

// Times are what a simulation of a job has come to: of the runs that are not lost.
type Times struct {
	Stages   []StageTimes
	Total    Range
	Lost     int // runs of which a task failed too often
	Runs     int
	Failed   float64 // attempts that failed, in a run on average
	Twins    float64 // second attempts beside a running one, in a run on average
	Attempts float64 // in a run on average
}

// StageTimes are the times of a stage.
type StageTimes struct {
	Name string
	Range
}

// Range is the median and the 95th percentile of some runs, in s.
type Range struct {
	Median float64
	P95    float64
}

// Simulate runs a job some times, each with another seed from a first one on. M4.
func (j *Job) Simulate(runs int, seed uint64) Times {
	t := Times{Runs: runs}
	stages := make([][]float64, len(j.Stages))
	var totals []float64
	for run := range runs {
		rng := rand.New(rand.NewPCG(seed, uint64(run)))
		total, lost := 0.0, false
		ended := make([]float64, len(j.Stages))
		for i := range j.Stages {
			r := j.simulateStage(&j.Stages[i], rng)
			ended[i] = r.seconds
			total += r.seconds
			lost = lost || r.lost
			t.Failed += float64(r.failed) / float64(runs)
			t.Twins += float64(r.twins) / float64(runs)
			t.Attempts += float64(r.attempts) / float64(runs)
		}
		if lost {
			t.Lost++
			continue
		}
		totals = append(totals, total)
		for i, seconds := range ended {
			stages[i] = append(stages[i], seconds)
		}
	}
	for i := range j.Stages {
		t.Stages = append(t.Stages, StageTimes{j.Stages[i].Name, rangeOf(stages[i])})
	}
	t.Total = rangeOf(totals)
	return t
}

// rangeOf returns the range of the times of runs; zeros where all runs are lost.
func rangeOf(seconds []float64) Range {
	if len(seconds) == 0 {
		return Range{}
	}
	slices.Sort(seconds)
	return Range{Median: seconds[len(seconds)/2], P95: seconds[min(len(seconds)*95/100, len(seconds)-1)]}
}

// attempt is a task that runs in a slot.
//
//	waiting -> running -> done
//	              |  \-> failed -> waiting, until attemptsMax
//	              +----> dropped, when its twin is done
type attempt struct {
	task    int
	started float64
	ends    float64
	fails   bool // at the end
	dropped bool
}

// queue orders attempts by their ends, and equal ends by task.
type queue []*attempt

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].ends < q[j].ends || q[i].ends == q[j].ends && q[i].task < q[j].task
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*attempt)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// simulation is a stage while it runs.
type simulation struct {
	cluster *Cluster
	rng     *rand.Rand
	need    func(task int) float64 // s of a task on a sound host

	waiting []int // tasks, the next one last
	running queue
	free    int          // slots
	tasks   [][]*attempt // by task: its attempts that run
	tries   []int        // by task: attempts that have failed
	done    []float64    // s of the attempts that are done, in the order in which they ended
	slow    float64      // s from which on an attempt counts as slow; 0 until three quarters are done
	wake    float64      // when the simulation looks for slow attempts again
	result  stageResult
}

// stageResult is what a stage has come to.
type stageResult struct {
	seconds                 float64
	attempts, failed, twins int
	lost                    bool
}

// simulateStage runs a stage.
func (j *Job) simulateStage(stage *Stage, rng *rand.Rand) stageResult {
	even, hot := j.Parts(stage).Sum(), j.Hot(stage)
	s := simulation{
		cluster: &j.Cluster, rng: rng, free: j.Cluster.slots(),
		tasks: make([][]*attempt, stage.Tasks), tries: make([]int, stage.Tasks),
		need: func(task int) float64 {
			if task == stage.Tasks/2 { // where the key lies that is most frequent
				return hot
			}
			return even
		},
	}
	if stage.Name == distributed.StageCommit {
		s.free = 1
	}
	for task := stage.Tasks - 1; task >= 0; task-- {
		s.waiting = append(s.waiting, task)
	}
	s.run(stage.Lead)
	return s.result
}

// run runs the tasks from a time on.
func (s *simulation) run(now float64) {
	s.result.seconds = now
	s.fill(now)
	for len(s.running) > 0 {
		a := heap.Pop(&s.running).(*attempt)
		if a.dropped {
			continue
		}
		now = a.ends
		if a.task != wakes {
			s.free++
			s.end(a, now)
			s.fill(now)
		}
		if len(s.waiting) == 0 && s.cluster.Speculate {
			s.speculate(now)
		}
	}
}

// fill gives free slots tasks that wait.
func (s *simulation) fill(now float64) {
	for s.free > 0 && len(s.waiting) > 0 {
		last := len(s.waiting) - 1
		task := s.waiting[last]
		s.waiting = s.waiting[:last]
		s.start(task, now)
	}
}

// start starts an attempt in a free slot.
func (s *simulation) start(task int, now float64) {
	seconds := s.need(task)
	if s.cluster.Stragglers > 0 && s.rng.Float64() < s.cluster.Stragglers {
		shape := s.cluster.Slow / (s.cluster.Slow - slowLeast)
		seconds *= min(slowLeast*math.Pow(1-s.rng.Float64(), -1/shape), slowMost)
	}
	a := &attempt{task: task, started: now, ends: now + seconds}
	if s.cluster.Failures > 0 {
		if at := s.rng.ExpFloat64() * 3600 / s.cluster.Failures; at < seconds {
			a.ends, a.fails = now+at, true
		}
	}
	s.free--
	s.result.attempts++
	s.tasks[task] = append(s.tasks[task], a)
	heap.Push(&s.running, a)
}

// end ends an attempt: its task is done, waits again, or is lost.
func (s *simulation) end(a *attempt, now float64) {
	s.tasks[a.task] = slices.DeleteFunc(s.tasks[a.task], func(other *attempt) bool { return other == a })
	if a.fails {
		s.result.failed++
		s.tries[a.task]++
		switch {
		case len(s.tasks[a.task]) > 0: // its twin goes on
		case s.tries[a.task] < attemptsMax:
			s.waiting = append(s.waiting, a.task)
		default:
			s.result.lost = true
		}
		return
	}
	for _, twin := range s.tasks[a.task] {
		twin.dropped = true
		s.free++
	}
	s.tasks[a.task] = nil
	s.done = append(s.done, now-a.started)
	s.result.seconds = now
}

// wakes is the task of an attempt that only wakes the simulation.
const wakes = -1

// speculate starts twins of slow attempts in slots that are free, and wakes the simulation when the next
// attempt has become slow.
func (s *simulation) speculate(now float64) {
	if float64(len(s.done)) < speculateAfter*float64(len(s.tasks)) {
		return
	}
	if s.slow == 0 {
		s.slow = speculateBeyond * median(s.done)
	}
	next := math.Inf(1)
	for _, a := range slices.Clone(s.running) {
		switch {
		case a.dropped || a.task == wakes || len(s.tasks[a.task]) > 1:
		case a.started+s.slow > now:
			next = min(next, a.started+s.slow)
		case s.free > 0:
			s.result.twins++
			s.start(a.task, now)
		}
	}
	if next < s.wake || s.wake <= now {
		s.wake = next
		if !math.IsInf(next, 1) {
			heap.Push(&s.running, &attempt{task: wakes, ends: next})
		}
	}
}

func median(seconds []float64) float64 {
	sorted := slices.Clone(seconds)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
