package tests

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/objects"
)

// The kinds of requests that stores count and charge for.
var requestKinds = []string{"LIST", "HEAD", "GET", "PUT", "PUT new", "COPY", "POST", "DELETE"}

// requestKind returns the kind of a request to S3.
func requestKind(r *http.Request) string {
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		return "LIST"
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") != "":
		return "PUT new"
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		return "COPY"
	}
	return r.Method
}

// requestCounts counts requests by kind.
type requestCounts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *requestCounts) serve(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	c.mu.Lock()
	c.of[requestKind(r)]++
	c.mu.Unlock()
	serve.ServeHTTP(w, r)
}

// take returns the counts since the last call.
func (c *requestCounts) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.of
	c.of = make(map[string]int)
	return taken
}

// TestDistStoreCalls counts the requests of each stage. R6 of package distributed: they are linear in splits
// and in merges, but for the reads of packs, of which each merge reads each once, however many partitions
// there are. Would catch a task that lists or opens for each partition, or asks for a manifest of each task
// where a seal tells.
func TestDistStoreCalls(t *testing.T) {
	s := newS3Server(t)
	const splits, partitions = 64, 64
	for i := range splits {
		var b strings.Builder
		b.WriteString("k,v\n")
		for row := range 100 {
			fmt.Fprintf(&b, "%d,%d\n", (i*100+row)*7919%1000, row)
		}
		s.put(t, fmt.Sprintf("in/%02d.csv", i), []byte(b.String()))
	}
	counts := &requestCounts{of: make(map[string]int)}
	s.faulty(counts.serve)
	for _, c := range []struct{ merges, combines int }{{16, -1}, {64, -1}, {16, 8}} {
		t.Run(fmt.Sprintf("%d splits, %d partitions, %d merges, %d nodes", splits, partitions, c.merges, max(c.combines, 0)), func(t *testing.T) {
			checkCalls(t, counts, distributed.Request{
				Statement: "SELECT k, count(*) AS n, sum(v) AS v FROM 's3://bucket/in/*.csv' GROUP BY k", Work: "s3://bucket/work",
				Output: fmt.Sprintf("s3://bucket/out-%d-%d", c.merges, c.combines), Splits: splits, Partitions: partitions, Merges: c.merges, Combines: c.combines,
			})
		})
	}
}

// checkCalls carries a request out with a store that each task meets anew, as a process does, and holds what
// it counts against the bounds.
func checkCalls(t *testing.T, counts *requestCounts, r distributed.Request) {
	eng := openEngine(t, 1)
	counts.take()
	j, err := planDist(t.Context(), eng, newObjects(t, objects.Options{}), t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	byStage := map[string]map[string]int{"plan": counts.take()}
	for _, task := range j.all() {
		fsys, err := objects.New(t.Context(), j.fs.(*objects.FS).FS, objects.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j := &distJob{eng, fsys, j.temp, j.plan}
		if err := j.readPlan(); err != nil {
			t.Fatal(err)
		}
		done, err := j.do(t.Context(), task)
		if err != nil || done.State != "done" {
			t.Fatalf("%s: %+v, %v", task, done, err)
		}
		if err := fsys.Close(); err != nil {
			t.Error(err)
		}
		if byStage[task.stage] == nil {
			byStage[task.stage] = make(map[string]int)
		}
		for kind, n := range counts.take() {
			byStage[task.stage][kind] += n
		}
	}
	stages := append([]distributed.Stage{{Name: "plan", Tasks: 1}}, j.plan.Stages...)
	var table strings.Builder
	fmt.Fprintf(&table, "| stage | tasks |")
	for _, kind := range requestKinds {
		fmt.Fprintf(&table, " %s |", kind)
	}
	for _, stage := range stages {
		fmt.Fprintf(&table, "\n| %s | %d |", stage.Name, stage.Tasks)
		for _, kind := range requestKinds {
			fmt.Fprintf(&table, " %d |", byStage[stage.Name][kind])
		}
	}
	t.Log("\n" + table.String())
	for stage, most := range callBounds(len(j.plan.Splits), max(j.plan.Combines, 0), len(j.plan.Merges)) {
		for _, kind := range requestKinds {
			if n := byStage[stage][kind]; n > most[kind] {
				t.Errorf("%s: %d requests %s, want %d at most", stage, n, kind, most[kind])
			}
		}
	}
}

// callBounds returns how many requests the stages may make of S splits, N nodes and M merges, one task after
// the other. The constants of a task are:
//
//	LIST  the place of the output, where nothing is yet; its own stage; the packs, for their sizes. Of a merge
//	      also the place of its rows. Who seals: the stage before
//	HEAD  the plan, the output, the note of the commit, the seal; of a split also the file, twice
//	GET   the plan, the seal; of a split also the file, in 3 requests; of a merge what it has written
//	PUT   a pack or rows, of rows a manifest of their own, and the task's manifest
//
// Each pack that a task needs costs a GET. Who seals reads a manifest of each task.
func callBounds(splits, nodes, merges int) map[string]map[string]int {
	packs := splits
	bounds := map[string]map[string]int{
		"plan":    {"LIST": 5, "HEAD": splits + 4, "GET": 3 * splits, "PUT": 1},
		"partial": {"LIST": 2 * splits, "HEAD": 6 * splits, "GET": 5 * splits, "PUT": 2 * splits},
	}
	if nodes > 0 {
		packs = nodes
		bounds["combine"] = map[string]int{"LIST": 3*nodes + 1, "HEAD": 4*nodes + 1, "GET": 2*splits + 2*nodes, "PUT": 2 * nodes, "PUT new": 1}
	}
	bounds["merge"] = map[string]int{"LIST": 4*merges + 1, "HEAD": 5*merges + 1, "GET": merges*packs + packs + 3*merges, "PUT": 3 * merges, "PUT new": 1}
	bounds["commit"] = map[string]int{"LIST": 7, "HEAD": 2*merges + 12, "GET": merges + 4, "PUT": 2, "PUT new": 1, "COPY": merges}
	return bounds
}

// readPlan reads the plan as the command does.
func (j *distJob) readPlan() error {
	file, err := j.fs.Open(j.plan.Work + "/plan.json")
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.ReadAll(file)
	return err
}
