package kubernetes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

const flights = "../testdata/flights-2001.parquet"

// flightsQuery has keys and aggregates that depend on the order of rows, and states of any size.
const flightsQuery = `SELECT origin, destination, count(*) AS flights, avg(delay) AS mean, stddev_samp(delay) AS deviation, median(delay) AS half,
	first(date) AS since, string_agg(DISTINCT CAST(distance AS VARCHAR), ',' ORDER BY CAST(distance AS VARCHAR)) AS far
	FROM %s GROUP BY origin, destination HAVING count(*) > 3 ORDER BY origin, destination`

const pairsQuery = "SELECT key, count(*) AS n, sum(value) AS s, min(value) AS lo FROM %s GROUP BY key"

// pairs makes a file of keys and values.
func pairs(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.parquet")
	mpga(t, 0, "gen", "pairs", "--rows", "300000", "--groups", "20000", "-o", path)
	return path
}

func newKubelet(t *testing.T, faults func(*corev1.Pod, int) fault) *kubelet {
	t.Helper()
	binary, err := builtCommand()
	if err != nil {
		t.Fatal(err)
	}
	return &kubelet{binary: binary, claims: map[string]bool{claim: true}, temp: t.TempDir(), faults: faults}
}

func noFaults(*corev1.Pod, int) fault { return fault{} }

// stageOf returns the stage of a Job.
func stageOf(job string) string { return job[strings.LastIndexByte(job, '-')+1:] }

// randomFaults has a fault for three quarters of the first pods of each task: one that is an attempt as often as
// the task may be tried again, at most. So a run with it always ends well.
func randomFaults(seed uint64, retries int) func(*corev1.Pod, int) fault {
	return func(pod *corev1.Pod, nth int) fault {
		name := fnv.New64a()
		fmt.Fprint(name, stageOf(pod.Labels[batchv1.JobNameLabel]), pod.Annotations[batchv1.JobCompletionIndexAnnotation], " ", nth)
		rng := rand.New(rand.NewPCG(seed, name.Sum64()))
		kinds := []string{"kill", "kill", "evict", "lose", "twin", "twin", "", ""}
		f := fault{kinds[rng.IntN(len(kinds))], time.Duration(rng.IntN(80)) * time.Millisecond}
		if nth >= retries {
			return fault{}
		}
		return f
	}
}

// checkProcesses fails where a process of a task ended otherwise than a task does, or said something else
// than its line.
func checkProcesses(t *testing.T, k *kubelet) (kinds map[int]int) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, err := range k.errs {
		t.Error(err)
	}
	kinds = make(map[int]int)
	for _, p := range k.ended {
		kinds[p.code]++
		if p.code == killed {
			continue
		}
		var line struct {
			Stage, State string
			Task         int
		}
		err := json.Unmarshal([]byte(p.stdout), &line)
		index, _ := strconv.Atoi(p.index) // "" of a Job without indices, whose task is 0
		if p.code != 0 || err != nil || line.Stage != stageOf(p.job) || line.Task != index || line.State != "done" && line.State != "already" {
			t.Errorf("%s, index %q: ended with %d: %s%s", p.job, p.index, p.code, p.stdout, p.stderr)
		}
	}
	return kinds
}

// runAll applies the YAML of a plan to a new cluster, waits until all Jobs are complete, and returns the
// processes of the tasks by exit code.
func runAll(t *testing.T, p *planned, k *kubelet) map[int]int {
	t.Helper()
	c := newCluster(t, k)
	for i, name := range c.apply(p.yaml) {
		if condition := c.wait(name); condition.Type != batchv1.JobComplete {
			t.Fatalf("%s: %+v\n%s", name, condition, c.podsText())
		}
		if done, want := c.job(name).Status.Succeeded, int32(p.stages[i].Tasks); done != want {
			t.Errorf("%s: %d tasks succeeded, want %d", name, done, want)
		}
	}
	c.close()
	return checkProcesses(t, k)
}

// inOrder fails where a task of a stage begins before all tasks of the stage before are done.
func inOrder(p *planned) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		for i, s := range p.stages {
			if i == 0 || s.Name != stageOf(pod.Labels[batchv1.JobNameLabel]) {
				continue
			}
			done, err := p.done(p.stages[i-1].Name)
			if err == nil && done != p.stages[i-1].Tasks {
				err = fmt.Errorf("%s begins when %d of %d tasks before it are done", pod.Name, done, p.stages[i-1].Tasks)
			}
			return err
		}
		return nil
	}
}

// Would catch Jobs whose tasks lose, double or mix up states when pods are killed, evicted, lost with
// processes that go on, or run twice; a stage that begins before the stage before it is done; and a rerun
// that does again what is done.
func TestKubernetes(t *testing.T) {
	t.Logf("-seed=%d", *seedFlag)
	p := newPlan(t, flightsQuery, flights, "out.csv", []string{"--splits", "5", "--partitions", "8", "--combines", "2", "--merges", "3"})
	if len(p.stages) != 4 {
		t.Fatalf("stages: %+v", p.stages)
	}
	k := newKubelet(t, randomFaults(*seedFlag, 3))
	k.before = inOrder(p)
	t.Logf("processes by exit code: %v", runAll(t, p, k))
	p.check(t, flightsQuery)
	before, err := os.Stat(p.output)
	if err != nil {
		t.Fatal(err)
	}

	again := newKubelet(t, noFaults)
	runAll(t, p, again)
	for _, ended := range again.ended {
		if !strings.Contains(ended.stdout, `"state":"already"`) {
			t.Errorf("a task that was done: %s", ended.stdout)
		}
	}
	if after, err := os.Stat(p.output); err != nil || !os.SameFile(before, after) {
		t.Errorf("the output is another file: %v", err)
	}
}

// Would catch a directory that a commit leaves in part, or that twins of a commit make of files of both.
func TestKubernetesDirectory(t *testing.T) {
	t.Logf("-seed=%d", *seedFlag)
	p := newPlan(t, pairsQuery, pairs(t), "out", []string{"--splits", "3", "--partitions", "16", "--merges", "4"})
	random := randomFaults(*seedFlag, 3)
	k := newKubelet(t, func(pod *corev1.Pod, nth int) fault {
		if stageOf(pod.Labels[batchv1.JobNameLabel]) == "commit" && nth == 0 {
			return fault{kind: "twin"}
		}
		return random(pod, nth)
	})
	k.before = inOrder(p)
	t.Logf("processes by exit code: %v", runAll(t, p, k))
	p.check(t, pairsQuery)
	mpga(t, 0, "dist", "commit", "--plan", p.plan)
}

// Would catch stages that do not wait to be resumed, and a plan without a stage combine.
func TestKubernetesSuspended(t *testing.T) {
	p := newPlan(t, pairsQuery+" ORDER BY key", pairs(t), "out.csv", []string{"--splits", "3", "--partitions", "4", "--merges", "2"}, "--suspend")
	k := newKubelet(t, noFaults)
	c := newCluster(t, k)
	jobs := c.apply(p.yaml)
	if len(jobs) != 3 {
		t.Fatal(jobs)
	}
	for i, name := range jobs {
		if i > 0 {
			c.resume(name)
		}
		if condition := c.wait(name); condition.Type != batchv1.JobComplete {
			t.Fatalf("%s: %+v\n%s", name, condition, c.podsText())
		}
		for _, later := range jobs[i+1:] {
			if pods := c.podsOf(later); len(pods) > 0 {
				t.Errorf("%s has %d pods before it is resumed", later, len(pods))
			}
		}
	}
	c.close()
	p.check(t, pairsQuery+" ORDER BY key")
	checkProcesses(t, k)
}

// Would catch a task that is tried again though no attempt helps, and later stages that do something.
func TestKubernetesInputChanged(t *testing.T) {
	p := newPlan(t, flightsQuery, flights, "out.csv", []string{"--splits", "5", "--merges", "2"}, "--parallelism", "1")
	if err := os.Chtimes(p.input, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	k := newKubelet(t, noFaults)
	c := newCluster(t, k)
	jobs := c.apply(p.yaml)
	condition := c.wait(jobs[0])
	if condition.Type != batchv1.JobFailed || condition.Reason != batchv1.JobReasonPodFailurePolicy {
		t.Errorf("%+v", condition)
	}
	c.delete(jobs)
	c.close()
	if len(k.ended) != 1 || k.ended[0].code != 2 || !strings.Contains(k.ended[0].stderr, "is not what it was when the plan was made") {
		t.Errorf("processes: %+v", k.ended)
	}
	if done, err := p.done("partial"); done != 0 || err != nil {
		t.Errorf("%d tasks are done, %v", done, err)
	}
}

// Would catch a task that is tried more or less often than is said, and a rerun that does more than what
// was left.
func TestKubernetesAttempts(t *testing.T) {
	p := newPlan(t, flightsQuery, flights, "out.csv", []string{"--splits", "3", "--partitions", "4", "--merges", "1"}, "--retries", "2", "--max-failed", "3")
	c := newCluster(t, newKubelet(t, func(pod *corev1.Pod, _ int) fault {
		if stageOf(pod.Labels[batchv1.JobNameLabel]) == "partial" && pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "1" {
			return fault{kind: "kill"}
		}
		return fault{}
	}))
	jobs := c.apply(p.yaml)
	condition := c.wait(jobs[0])
	status := c.job(jobs[0]).Status
	if condition.Type != batchv1.JobFailed || condition.Reason != batchv1.JobReasonFailedIndexes || *status.FailedIndexes != "1" || status.CompletedIndexes != "0,2" || status.Failed != 3 {
		t.Errorf("%+v, %+v", condition, status)
	}
	c.delete(jobs)
	c.close()

	again := newKubelet(t, noFaults)
	runAll(t, p, again)
	p.check(t, flightsQuery)
	for _, ended := range again.ended {
		if done := strings.Contains(ended.stdout, `"state":"done"`); stageOf(ended.job) == "partial" && done != (ended.index == "1") {
			t.Errorf("index %s of the rerun: %s", ended.index, ended.stdout)
		}
	}
}

// Would catch pods of later stages that take more room than the YAML says.
func TestKubernetesRoom(t *testing.T) {
	for _, name := range []string{"objects", "volumes", "clouds"} {
		text := goldenFile(t, name)
		stored, err := validate(text)
		if err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for _, object := range stored {
			if j, ok := object.(*batchv1.Job); ok && len(j.Spec.Template.Spec.InitContainers) > 0 {
				waiting += int(*j.Spec.Parallelism)
			}
		}
		if want := fmt.Sprintf("hold their room: %d pods at\n# most.", waiting); !strings.Contains(string(text), want) {
			t.Errorf("%s: %d pods wait", name, waiting)
		}
	}
}
