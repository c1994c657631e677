package scaleout

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/mpga/mpga/engine/distributed"
)

var (
	program   = flag.String("mpga", "", "compare the model with this program; absent skips the test")
	rows      = flag.Float64("rows", 1e7, "rows of the table")
	processes = flag.Int("processes", 2, "processes at a time")
	threads   = flag.Int("threads", 1, "threads of a process")
	splits    = flag.Int("splits", 8, "splits of the table")
	repeats   = flag.Int("repeats", 5, "runs, of which the least time of each stage counts")
)

var statements = map[string]string{
	"q1":       "SELECT id1, sum(v1) FROM '%s' GROUP BY id1",
	"q3":       "SELECT id3, sum(v1), avg(v3) FROM '%s' GROUP BY id3",
	"q5":       "SELECT id6, sum(v1), sum(v2), sum(v3) FROM '%s' GROUP BY id6",
	"q10":      "SELECT id1, id2, id3, id4, id5, id6, sum(v3), count(*) FROM '%s' GROUP BY id1, id2, id3, id4, id5, id6",
	"distinct": "SELECT id1, count(DISTINCT id6) FROM '%s' GROUP BY id1",
}

// TestAgainstProgram compares the model's time of each stage with that of processes on this machine, whose
// files lie in its page cache:
//
//	go test ./lab/scaleout -run AgainstProgram -v -args -mpga $PWD/bin/mpga
//
// It compares and fails at nothing: the rates of the model are another machine's.
func TestAgainstProgram(t *testing.T) {
	if *program == "" {
		t.Skip("it takes a program, a minute and an idle machine: -args -mpga PROGRAM")
	}
	dir := t.TempDir()
	name := fmt.Sprintf("G1_%.0f_1e2_0_0", *rows)
	run(t, dir, "gen", "h2o", "--name", name, "--files", "8", "-o", filepath.Join(dir, "h.parquet"))
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "query\tstage\ttasks\ts\tmodel\terror\tCPU s\tmodel\terror\t")
	for _, load := range Standard() {
		statement, ok := statements[load.Name]
		if !ok {
			continue
		}
		load = load.AtRows(*rows)
		compare(t, w, dir, &load, fmt.Sprintf(statement, filepath.Join(dir, "h-*.parquet")))
	}
	w.Flush()
	t.Logf("%g rows, %d processes of %d threads\n%s", *rows, *processes, *threads, &text)
}

// compare runs a workload some times, and writes a line for each stage.
func compare(t *testing.T, w *tabwriter.Writer, dir string, load *Workload, statement string) {
	var p *distributed.Plan
	var start, startCPU float64
	least := make(map[string][2]float64)
	for range *repeats {
		var file string
		p, file = planOf(t, dir, statement)
		for _, stage := range p.Stages {
			wall, cpu := stageOf(t, dir, file, stage)
			if before, again := least[stage.Name]; again {
				wall, cpu = min(wall, before[0]), min(cpu, before[1])
			}
			least[stage.Name] = [2]float64{wall, cpu}
		}
		start, startCPU = startOf(t, dir, file)
		if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
	}
	r := distributed.Request{Splits: len(p.Splits), Partitions: p.Partitions, Merges: len(p.Merges), Combines: p.Combines}
	if p.Combines == 0 {
		r.Combines = -1
	}
	j := newJob(t, *load, Local(*processes, *threads, start), r)
	var total [4]float64
	line := func(name string, tasks int, of [4]float64) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.2f\t%.2f\t%+.0f%%\t%.2f\t%.2f\t%+.0f%%\t\n", load.Name, name, tasks,
			of[0], of[1], 100*(of[1]/of[0]-1), of[2], of[3], 100*(of[3]/of[2]-1))
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		m := least[s.Name]
		of := [4]float64{m[0], j.Seconds(s), m[1], float64(s.Tasks) * (s.Need.CPU + s.Need.Serial + startCPU)}
		line(s.Name, s.Tasks, of)
		for k := range total {
			total[k] += of[k]
		}
	}
	line("all", 0, total)
}

// planOf plans a statement, and returns the plan and its file.
func planOf(t *testing.T, dir, statement string) (*distributed.Plan, string) {
	file := filepath.Join(dir, "plan.json")
	run(t, dir, "dist", "plan", statement, "--output", filepath.Join(dir, "out", "result"), "--splits", strconv.Itoa(*splits), "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := new(distributed.Plan)
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p, file
}

// numberFlags are the flags of the number of a task, by stage.
var numberFlags = map[string]string{distributed.StagePartial: "--split", distributed.StageCombine: "--node", distributed.StageMerge: "--task"}

// stageOf runs the tasks of a stage, some at a time, and returns its time and that of its threads.
func stageOf(t *testing.T, dir, plan string, stage distributed.Stage) (wall, cpu float64) {
	started := time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan bool, *processes)
	for task := range stage.Tasks {
		slots <- true
		group.Go(func() {
			defer func() { <-slots }()
			args := []string{"dist", stage.Name, "--plan", plan, "--threads", strconv.Itoa(*threads)}
			if number := numberFlags[stage.Name]; number != "" {
				args = append(args, number, strconv.Itoa(task))
			}
			seconds := run(t, dir, args...)
			mu.Lock()
			cpu += seconds
			mu.Unlock()
		})
	}
	group.Wait()
	return time.Since(started).Seconds(), cpu
}

// startOf returns the time of a task that is done already, and that of its threads.
func startOf(t *testing.T, dir, plan string) (wall, cpu float64) {
	const times = 7
	var walls, cpus []float64
	for range times {
		started := time.Now()
		cpus = append(cpus, run(t, dir, "dist", "partial", "--plan", plan, "--split", "0"))
		walls = append(walls, time.Since(started).Seconds())
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[times/2], cpus[times/2]
}

// run runs the program, and returns the time of its threads.
func run(t *testing.T, dir string, args ...string) (cpu float64) {
	t.Helper()
	cmd := exec.Command(*program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		return 0
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}
