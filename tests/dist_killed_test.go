package tests

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/internal/vfs"
)

// killedInput is a table whose tasks take long enough to be killed, and what one run makes of it.
type killedInput struct {
	query, single string
	temp          string
}

func newKilledInput(t *testing.T) *killedInput {
	t.Helper()
	return killedInputOf(t, "SELECT key, count(*) AS n, sum(value) AS s, first(value) AS f, avg(value) AS a FROM 'PAIRS' GROUP BY key")
}

// killedInputOf returns the table, and a statement over its files, which it calls PAIRS.
func killedInputOf(t *testing.T, query string) *killedInput {
	t.Helper()
	dir := t.TempDir()
	wantProcess(t, "gen", "pairs", "--rows", "300000", "--groups", "60000", "--files", "4", "-o", filepath.Join(dir, "pairs.parquet"))
	in := &killedInput{query: strings.ReplaceAll(query, "PAIRS", filepath.Join(dir, "*.parquet")), temp: t.TempDir()}
	in.single = wantProcess(t, "sql", in.query+" ORDER BY ALL", "--format", "csv")
	return in
}

// killedJob is a plan whose processes are killed, stopped and doubled.
type killedJob struct {
	*killedInput
	plan   *distributed.Plan
	file   string // the plan's
	output string
}

// killedShapes are the outputs that there are.
var killedShapes = []struct {
	name, order, output string
	args                []string
}{
	{"a directory", "", "out", nil},
	{"a file", " ORDER BY ALL", "out.csv", nil},
	{"folders that replace others", "", "folders", []string{"--overwrite", "--partition-by", "n", "--format", "csv"}},
}

// newJob plans the statement with an output of its own.
func (in *killedInput) newJob(t *testing.T, order, output string, args ...string) *killedJob {
	t.Helper()
	dir := t.TempDir()
	output = filepath.Join(dir, output)
	if slices.Contains(args, "--overwrite") { // there is something to replace
		wantProcess(t, "sql", "SELECT 1 AS n, 2 AS key", "--partition-by", "n", "--manifest", "-o", output)
	}
	args = append([]string{in.query + order, "--work", filepath.Join(dir, "work"), "--output", output, "--splits", "4", "--partitions", "16", "--merges", "3"}, args...)
	p := distPlan(t, args...)
	return &killedJob{in, p, filepath.Join(p.Work, "plan.json"), output}
}

// tasks lists the tasks of the plan.
func (j *killedJob) tasks() []distTask { return (&distJob{plan: j.plan}).all() }

// start starts a process of a task.
func (j *killedJob) start(t *testing.T, task distTask) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = exec.Command(buildCommand(t), append(taskArgs(j.file, task), "--temp-dir", j.temp)...), new(bytes.Buffer)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

// finish runs a task to its end.
func (j *killedJob) finish(t *testing.T, task distTask) {
	t.Helper()
	cmd, stderr := j.start(t, task)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", task, err, stderr)
	}
}

// there returns the files of the output by name, nil where there is none. What is there is whole.
func (j *killedJob) there(t *testing.T) map[string]string {
	t.Helper()
	if _, err := os.Stat(j.output); err != nil {
		return nil
	}
	if j.plan.Output.Directory() {
		checkManifest(t, j.output)
	}
	files := make(map[string]string)
	for _, name := range treeOf(t, j.output) {
		files[name] = string(readFile(t, filepath.Join(j.output, name)))
	}
	return files
}

// check holds the output against one run's, and collects the garbage.
func (j *killedJob) check(t *testing.T) {
	t.Helper()
	if got := wantProcess(t, "sql", "SELECT key, n, s, f, a FROM '"+j.output+"' ORDER BY ALL", "--format", "csv"); got != j.single {
		t.Errorf("got\n%.300s\nwant\n%.300s", got, j.single)
	}
	wantProcess(t, "dist", "gc", filepath.Dir(j.plan.Work), "--older-than", "0s")
	wantLeft(t, j.plan.Work)
	if left := fileNames(t, j.temp); len(left) > 0 {
		t.Errorf("in the temp directory: %q", left)
	}
	vfs.RemoveAbandoned(vfs.OS, j.output) // as the next output there does
	if left := hiddenNames(t, filepath.Dir(j.output)); len(left) > 0 {
		t.Errorf("beside the output: %q", left)
	}
}

// Processes of every stage are killed at any moment, begun again, and run twice at the same time: the output
// is there whole or not at all, equals that of one run, and nothing is left. Would catch an attempt that
// counts though it has not ended, one that another is put together with, and a rest that is in the way.
func TestDistKilled(t *testing.T) {
	in := newKilledInput(t)
	rng := rand.New(rand.NewPCG(*seedFlag, 41))
	took := make(map[string]time.Duration) // by stage
	warm := in.newJob(t, "", "warm", "--combines", "2")
	for _, task := range warm.tasks() {
		start := time.Now()
		warm.finish(t, task)
		took[task.stage] = time.Since(start)
	}
	for i, c := range killedShapes {
		if testing.Short() && uint64(i) != *seedFlag%3 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			j := in.newJob(t, c.order, c.output, append(c.args, "--combines", "2")...)
			before := j.there(t)
			killed, ended := 0, 0
			for _, task := range j.tasks() {
				for range 2 {
					cmds := []*exec.Cmd{nil, nil}[:1+rng.IntN(2)]
					for i := range cmds {
						cmds[i], _ = j.start(t, task)
					}
					time.Sleep(time.Duration(rng.Float64() * 1.3 * float64(took[task.stage])))
					for _, cmd := range cmds {
						_ = cmd.Process.Kill() // it may have ended
						if err := cmd.Wait(); err == nil {
							ended++
						} else if killed++; cmd.ProcessState.ExitCode() >= 0 {
							t.Errorf("-seed=%d: %s: %v", *seedFlag, task, err)
						}
					}
					if there := j.there(t); task.stage != distributed.StageCommit && !maps.Equal(there, before) {
						t.Errorf("-seed=%d: after %s the output has %q", *seedFlag, task, slices.Sorted(maps.Keys(there)))
					}
				}
				// And two that run to their ends.
				first, stderr1 := j.start(t, task)
				second, stderr2 := j.start(t, task)
				if err1, err2 := first.Wait(), second.Wait(); err1 != nil || err2 != nil {
					t.Fatalf("-seed=%d: twins of %s: %v, %v\n%s%s", *seedFlag, task, err1, err2, stderr1, stderr2)
				}
			}
			t.Logf("-seed=%d: %d processes were killed, %d had ended", *seedFlag, killed, ended)
			j.check(t)
		})
	}
}

// A process is stopped at any moment, its task is done by another one, and it goes on once all is committed,
// or once gc has been there, too: the output stays, byte for byte, what it was. Would catch a late attempt
// that counts, or that writes over what does.
func TestDistZombies(t *testing.T) {
	in := newKilledInput(t)
	rng := rand.New(rand.NewPCG(*seedFlag, 42))
	for i, c := range killedShapes {
		if testing.Short() && uint64(i) != *seedFlag%3 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			j := in.newJob(t, c.order, c.output, c.args...)
			gc := i%2 == 1
			type zombie struct {
				cmd    *exec.Cmd
				stderr *bytes.Buffer
				task   distTask
			}
			var zombies []zombie
			asleep := 0
			for _, task := range j.tasks() {
				for range 2 {
					cmd, stderr := j.start(t, task)
					time.Sleep(time.Duration(rng.Float64() * float64(60*time.Millisecond)))
					if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
						t.Fatal(err)
					}
					zombies = append(zombies, zombie{cmd, stderr, task})
					if isAsleep(cmd) {
						asleep++
					}
				}
				j.finish(t, task)
			}
			before := j.there(t)
			if gc {
				wantProcess(t, "dist", "gc", filepath.Dir(j.plan.Work), "--older-than", "0s")
			}
			rng.Shuffle(len(zombies), func(a, b int) { zombies[a], zombies[b] = zombies[b], zombies[a] })
			for _, z := range zombies {
				if err := z.cmd.Process.Signal(syscall.SIGCONT); err != nil && z.cmd.ProcessState == nil {
					t.Fatal(err)
				}
				if err := z.cmd.Wait(); err != nil && !gc {
					t.Errorf("-seed=%d: %s: %v\n%s", *seedFlag, z.task, err, z.stderr)
				} else if err != nil {
					t.Logf("after gc, %s: %v: %s", z.task, err, z.stderr)
				}
				if after := j.there(t); !maps.Equal(before, after) {
					t.Fatalf("-seed=%d: after %s the output has %q, and had %q", *seedFlag, z.task, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
				}
			}
			t.Logf("-seed=%d: of %d processes %d had not ended", *seedFlag, len(zombies), asleep)
			if asleep == 0 {
				t.Error("no process was stopped before its end: the test is too slow")
			}
			for _, task := range j.tasks() {
				if done := runProcess(t, taskArgs(j.file, task)...).done(t); done.State != "already" {
					t.Errorf("%s, when all is done: %+v", task, done)
				}
			}
			j.check(t)
		})
	}
}

// isAsleep says whether a process that was sent SIGSTOP is stopped, and has not ended before.
func isAsleep(cmd *exec.Cmd) bool {
	for range 1000 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			return false
		}
		state := string(text[strings.LastIndexByte(string(text), ')')+1:])
		switch {
		case strings.HasPrefix(state, " T"):
			return true
		case strings.HasPrefix(state, " Z"), strings.HasPrefix(state, " X"):
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
