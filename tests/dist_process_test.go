package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
)

// distProcess is how a process of the command has ended.
type distProcess struct {
	args           []string
	stdout, stderr string
	code           int
}

func (p *distProcess) String() string {
	return fmt.Sprintf("mpga %s: exit code %d\n%s%s", strings.Join(p.args, " "), p.code, p.stdout, p.stderr)
}

// done returns the line of JSON that a task has printed.
func (p *distProcess) done(t *testing.T) (done distributed.Done) {
	t.Helper()
	if err := json.Unmarshal([]byte(p.stdout), &done); err != nil || p.code != 0 || strings.Count(p.stdout, "\n") != 1 {
		t.Fatalf("%v of %s", err, p)
	}
	return done
}

// runProcess runs the command to its end.
func runProcess(t *testing.T, args ...string) *distProcess {
	t.Helper()
	cmd := exec.Command(buildCommand(t), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	p := &distProcess{args, stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	if strings.Contains(p.stderr, "goroutine ") || strings.Contains(p.stderr, "bug of mpga") {
		t.Errorf("a panic: %s", p)
	}
	return p
}

// wantProcess runs the command, which is to end well, and returns its output.
func wantProcess(t *testing.T, args ...string) string {
	t.Helper()
	p := runProcess(t, args...)
	if p.code != 0 {
		t.Fatal(p)
	}
	return p.stdout
}

// distPlan runs mpga dist plan and reads the plan.
func distPlan(t *testing.T, args ...string) *distributed.Plan {
	t.Helper()
	text := wantProcess(t, append([]string{"dist", "plan", "-o", "-"}, args...)...)
	p := new(distributed.Plan)
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// taskArgs returns the command line of a task.
func taskArgs(plan string, task distTask) []string {
	args := []string{"dist", task.stage, "--plan", plan, "--threads", "2"}
	switch task.stage {
	case distributed.StagePartial:
		return append(args, "--split", fmt.Sprint(task.number))
	case distributed.StageCombine:
		return append(args, "--node", fmt.Sprint(task.number))
	case distributed.StageMerge:
		return append(args, "--task", fmt.Sprint(task.number))
	}
	return args
}

// runStages runs all tasks of a plan as processes, two at a time.
func runStages(t *testing.T, plan string, p *distributed.Plan) {
	t.Helper()
	for _, s := range p.Stages {
		var group sync.WaitGroup
		slots := make(chan struct{}, 2)
		for n := range s.Tasks {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				if p := runProcess(t, taskArgs(plan, distTask{s.Name, n})...); p.code != 0 || !strings.Contains(p.stdout, `"state":"done"`) {
					t.Error(p)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
}
