package mpgabeam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Plan is a plan of mpga dist plan, and how its tasks run. Open makes one.
type Plan struct {
	// Path is the plan's path or URL, which every worker must be able to read: in a cluster the copy
	// in the work directory, WORK/ID/plan.json.
	Path string

	// Stages are in the order in which they run. Each starts when the one before has ended.
	Stages []Stage

	Options Options
}

// Stage is a step of a plan whose tasks run at the same time.
type Stage struct {
	Name  string `json:"name"` // partial, combine, merge or commit
	Tasks int64  `json:"tasks"`
}

// Options says how the tasks of a plan run. The zero value is usable.
type Options struct {
	// Binary is the program mpga on the workers, and where the pipeline is made: a path, or a name
	// that is looked up in PATH. The default is mpga.
	Binary string

	// TasksAtOnce is how many tasks a worker process runs at a time, however many bundles the runner
	// gives it. The default is 1: a task takes all cores and the memory of its machine unless Threads
	// and MemoryLimit say otherwise.
	TasksAtOnce int

	// Attempts is how often a worker tries a task that fails in a way that may pass, before the
	// bundle fails. The default is 1, which leaves further attempts to the runner.
	Attempts int

	// Pause is the time before a worker's second attempt; it doubles with each attempt. The default
	// is a second.
	Pause time.Duration

	// Grace is the time that a cancelled task has to end by itself, before it is killed. The default
	// is 10 seconds.
	Grace time.Duration

	// Threads, MemoryLimit, TempDir and Device are the flags of mpga of these names, for every task:
	// --threads 4, --memory-limit 8GiB, --temp-dir /mnt/ssd, --device cpu. The default of each is
	// mpga's own.
	Threads     int
	MemoryLimit string
	TempDir     string
	Device      string
}

// EnsureDefaults replaces zeros by the defaults.
func (o *Options) EnsureDefaults() {
	if o.Binary == "" {
		o.Binary = "mpga"
	}
	if o.TasksAtOnce == 0 {
		o.TasksAtOnce = 1
	}
	if o.Attempts == 0 {
		o.Attempts = 1
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
}

// Validate returns an error that names every option that is out of its bounds. The flags of mpga
// are checked by mpga.
func (o *Options) Validate() error {
	var errs []error
	for _, count := range []struct {
		name  string
		value int
		least int
	}{{"TasksAtOnce", o.TasksAtOnce, 1}, {"Attempts", o.Attempts, 1}, {"Threads", o.Threads, 0}} {
		if count.value < count.least {
			errs = append(errs, fmt.Errorf("%s (%d) must be at least %d", count.name, count.value, count.least))
		}
	}
	if o.Pause < 0 {
		errs = append(errs, fmt.Errorf("Pause (%v) must not be negative", o.Pause))
	}
	if o.Grace < 0 {
		errs = append(errs, fmt.Errorf("Grace (%v) must not be negative", o.Grace))
	}
	return errors.Join(errs...)
}

// taskFlags names the flag that has a task's number, for each stage of tasks with numbers.
var taskFlags = map[string]string{"partial": "--split", "combine": "--node", "merge": "--task"}

// stageCommit is the last stage of every plan: its one task makes the result appear.
const stageCommit = "commit"

// Validate returns an error unless the plan can be run: its stages are known and end with a commit,
// its options are within their bounds.
func (p *Plan) Validate() error {
	var errs []error
	if p.Path == "" {
		errs = append(errs, errors.New("Path is empty"))
	}
	for i, s := range p.Stages {
		switch last := i == len(p.Stages)-1; {
		case s.Tasks < 0:
			errs = append(errs, fmt.Errorf("stage %s has %d tasks", s.Name, s.Tasks))
		case last != (s.Name == stageCommit):
			errs = append(errs, fmt.Errorf("stage %s is number %d of %d", s.Name, i+1, len(p.Stages)))
		case last && s.Tasks != 1:
			errs = append(errs, fmt.Errorf("stage %s has %d tasks in place of 1", s.Name, s.Tasks))
		case !last && taskFlags[s.Name] == "":
			errs = append(errs, fmt.Errorf("stage %q is not known here: another version of mpga?", s.Name))
		}
	}
	if len(p.Stages) == 0 {
		errs = append(errs, errors.New("there is no stage"))
	}
	return errors.Join(append(errs, p.Options.Validate())...)
}

// status is what mpga dist status prints.
type status struct {
	Committed bool    `json:"committed"`
	Stages    []Stage `json:"stages"`
}

// Open asks mpga for the stages of a plan. mpga reads the plan, and not this package, so that a URL
// needs no more than what the tasks need. It runs where the pipeline is made, with the program that
// the options name.
func Open(ctx context.Context, path string, o Options) (Plan, error) {
	o.EnsureDefaults()
	st, err := readStatus(ctx, path, o)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Path: path, Stages: st.Stages, Options: o}
	if err := p.Validate(); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", path, err)
	}
	return p, nil
}

func readStatus(ctx context.Context, path string, o Options) (status, error) {
	c := child{binary: o.Binary, args: []string{"dist", "status", "--plan", path, "--format", "json"}, grace: o.Grace, log: func(string) {}}
	printed, err := c.run(ctx)
	if err != nil {
		return status{}, err
	}
	var st status
	if err := json.Unmarshal(printed, &st); err != nil {
		return status{}, fmt.Errorf("%s: the answer %.200q: %w", c.command(), printed, err)
	}
	return st, nil
}

// taskArgs returns the arguments of mpga that run a task.
func taskArgs(path, stage string, task int64, o Options) []string {
	args := []string{"dist", stage, "--plan", path}
	if flag := taskFlags[stage]; flag != "" {
		args = append(args, flag, fmt.Sprint(task))
	}
	if o.Threads > 0 {
		args = append(args, "--threads", fmt.Sprint(o.Threads))
	}
	for _, f := range []struct{ flag, value string }{{"--memory-limit", o.MemoryLimit}, {"--temp-dir", o.TempDir}, {"--device", o.Device}} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	return args
}

// commandText is a command as a person would type it, for errors.
func commandText(binary string, args []string) string {
	return strings.Join(append([]string{binary}, args...), " ")
}
