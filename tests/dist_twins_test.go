package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
)

// gate holds the first request that it picks, until it is opened.
type gate struct {
	pick func(*http.Request) bool
	took atomic.Bool
	held chan struct{} // closed when the request is there
	open chan struct{} // close it to let the request on
}

func newGate(pick func(*http.Request) bool) *gate {
	return &gate{pick: pick, held: make(chan struct{}), open: make(chan struct{})}
}

// wait says whether the gate has held a request.
func (g *gate) wait(r *http.Request) bool {
	if !g.pick(r) || !g.took.CompareAndSwap(false, true) {
		return false
	}
	close(g.held)
	<-g.open
	return true
}

// await returns once the gate holds a request. It fails a test whose process ends without one.
func (g *gate) await(t *testing.T) {
	t.Helper()
	select {
	case <-g.held:
	case <-time.After(time.Minute):
		t.Fatal("no process has made the request that is to be held")
	}
}

// faulty makes a server serve with a function; nil is the server's own.
func (s *s3Server) faulty(f func(w http.ResponseWriter, r *http.Request, serve http.Handler)) {
	if f == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&f)
}

// Two merges that seal at the same time, each having seen other attempts, agree where the store knows
// conditional writes. Where it does not, both go on; the commit finds that, says which partitions are to be
// merged again, and succeeds once they are. Would catch rows that are counted twice, or never.
func TestDistStoreSeals(t *testing.T) {
	for name, conditional := range map[string]bool{"conditional writes": true, "no conditional writes": false} {
		t.Run(name, func(t *testing.T) {
			s := newS3Server(t)
			fsys := newObjects(t, objects.Options{})
			storeInput(t, fsys, "s3://bucket/in", 2, 1000)
			query := fmt.Sprintf(storeQuery, "s3://bucket/in")
			single := wantProcess(t, "sql", query+" ORDER BY ALL", "--format", "csv")
			p := distPlan(t, query, "--work", "s3://bucket/work", "--output", "s3://bucket/out", "--splits", "2", "--partitions", "4", "--merges", "2")
			plan := p.Work + "/plan.json"
			j := &distJob{eng: openEngine(t, 1), fs: fsys, temp: t.TempDir(), plan: p}
			partial := distTask{distributed.StagePartial, 0}
			// An attempt of split 0 after which another one has a name before its name.
			attempts := s.attempt(t, j, partial, func(names []string) bool { return len(names) == 1 && strings.Split(names[0], ".")[1] > "8" })
			if _, err := j.do(t.Context(), distTask{distributed.StagePartial, 1}); err != nil {
				t.Fatal(err)
			}
			sealing := newGate(func(r *http.Request) bool {
				return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/sealed/partial.json")
			})
			s.faulty(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
				if !conditional {
					r.Header.Del("If-None-Match")
				}
				sealing.wait(r)
				serve.ServeHTTP(w, r)
			})
			first := make(chan *distProcess)
			go func() { first <- runProcess(t, taskArgs(plan, distTask{distributed.StageMerge, 0})...) }()
			sealing.await(t)
			s.attempt(t, j, partial, func(names []string) bool { return len(names) >= 2 && names[0] != attempts[0] })
			second := runProcess(t, taskArgs(plan, distTask{distributed.StageMerge, 1})...)
			close(sealing.open)
			for _, p := range []*distProcess{<-first, second} {
				if done := p.done(t); done.State != "done" {
					t.Error(p)
				}
			}
			commit := runProcess(t, taskArgs(plan, distTask{distributed.StageCommit, 0})...)
			if !conditional {
				if commit.code != 1 || !strings.Contains(commit.stderr, "partitions 2, 3 were merged of other attempts than those that are sealed: merge them again") {
					t.Errorf("a commit of merges of two seals: %s", commit)
				}
				if keys := s.keys(t); slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "out/") }) {
					t.Errorf("a commit that failed has left %q", keys)
				}
				for n, want := range []string{"already", "done"} {
					if done := runProcess(t, taskArgs(plan, distTask{distributed.StageMerge, n})...).done(t); done.State != want {
						t.Errorf("merge %d again: %+v, want %s", n, done, want)
					}
				}
				commit = runProcess(t, taskArgs(plan, distTask{distributed.StageCommit, 0})...)
			}
			if done := commit.done(t); done.State != "done" {
				t.Error(commit)
			}
			if got := wantProcess(t, "sql", "SELECT * FROM 's3://bucket/out' ORDER BY ALL", "--format", "csv"); got != single {
				t.Errorf("got\n%.500s\nwant\n%.500s", got, single)
			}
		})
	}
}

// attempt makes attempts of a task that do not know of each other, until the names of the manifests that are
// there please; it drops what has been made before the first.
func (s *s3Server) attempt(t *testing.T, j *distJob, task distTask, enough func(names []string) bool) (names []string) {
	t.Helper()
	prefix := strings.TrimPrefix(j.plan.Work, "s3://bucket/") + "/" + fmt.Sprintf("%s/%05d.", task.stage, task.number)
	manifests := func() (list []string) {
		for _, key := range s.keys(t) {
			if strings.HasPrefix(key, prefix) && strings.HasSuffix(key, ".json") {
				list = append(list, key)
			}
		}
		return list
	}
	for {
		aside := make(map[string][]byte)
		for _, key := range manifests() {
			aside[key] = s.content(t, key)
			s.remove(t, key)
		}
		if _, err := j.do(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		alone := manifests()
		if enough(alone) {
			return alone
		}
		for key, content := range aside {
			s.put(t, key, content)
		}
		if names = manifests(); enough(names) {
			return names
		}
	}
}

// remove removes an object.
func (s *s3Server) remove(t *testing.T, key string) {
	t.Helper()
	if _, err := s.memory.DeleteObject(bucketName, key); err != nil {
		t.Fatal(err)
	}
}

// put writes an object.
func (s *s3Server) put(t *testing.T, key string, content []byte) {
	t.Helper()
	if _, err := s.memory.PutObject(bucketName, key, make(map[string]string), bytes.NewReader(content), int64(len(content)), nil); err != nil {
		t.Fatal(err)
	}
}

// A commit is held at a request, another one makes the output, and the held one goes on, is refused, finds
// nothing to go on with after gc, or is killed: the output is whole, once, and stays what it was. Would catch a
// late commit that takes away, doubles or replaces what is there, and a rest that is in the way.
func TestDistStoreTwins(t *testing.T) {
	s := newS3Server(t)
	fsys := newObjects(t, objects.Options{})
	storeInput(t, fsys, "s3://bucket/in", 2, 1000)
	query := fmt.Sprintf(storeQuery, "s3://bucket/in")
	single := wantProcess(t, "sql", query+" ORDER BY ALL", "--format", "csv")
	eng := openEngine(t, 2)
	for _, out := range []struct{ name, order, path string }{
		{"a directory", "", "dir"}, {"a directory in order", " ORDER BY ALL", "ordered"}, {"a file", " ORDER BY ALL", "file.csv"},
	} {
		for _, at := range []string{"its first object", "its last object"} {
			for _, then := range []string{"goes on", "is refused", "comes after gc", "is killed"} {
				t.Run(out.name+", "+at+", "+then, func(t *testing.T) {
					s.faulty(nil)
					s.clear(t, "work/", out.path)
					j, err := planDist(t.Context(), eng, newObjects(t, objects.Options{}), t.TempDir(), distributed.Request{
						Statement: query + out.order, Work: "s3://bucket/work", Output: "s3://bucket/" + out.path, Splits: 2, Partitions: 4, Merges: 2,
					})
					if err != nil {
						t.Fatal(err)
					}
					tasks := j.all()
					for _, task := range tasks[:len(tasks)-1] {
						if _, err := j.do(t.Context(), task); err != nil {
							t.Fatal(err)
						}
					}
					c := storeTwins{s, j, tasks[len(tasks)-1], out.path}
					c.run(t, at, then)
					if got := wantProcess(t, "sql", "SELECT * FROM '"+j.plan.Output.Path+"' ORDER BY ALL", "--format", "csv"); got != single {
						t.Errorf("got\n%.500s\nwant\n%.500s", got, single)
					}
				})
			}
		}
	}
}

// storeTwins are two commits of a plan.
type storeTwins struct {
	s      *s3Server
	job    *distJob
	commit distTask
	path   string // of the output in the bucket
}

// run holds a commit at a request, lets another one make the output, and looks at what the first does to it.
func (c *storeTwins) run(t *testing.T, at, then string) {
	held := newGate(func(r *http.Request) bool {
		key := strings.TrimPrefix(r.URL.Path, "/bucket/")
		return r.Method == http.MethodPut && strings.HasPrefix(key, c.path) &&
			(at == "its first object" || key == c.path || strings.HasSuffix(key, sink.ManifestName))
	})
	var refuse atomic.Bool
	c.s.faulty(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if held.wait(r) && refuse.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		serve.ServeHTTP(w, r)
	})
	defer c.s.faulty(nil)
	late := exec.Command(buildCommand(t), taskArgs(c.job.plan.Work+"/plan.json", c.commit)...)
	if err := late.Start(); err != nil {
		t.Fatal(err)
	}
	held.await(t)
	killed := then == "is killed"
	refuse.Store(killed || then == "is refused") // what a killed one has not sent is not there
	if killed {
		if err := late.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = late.Wait()
	}
	if done, err := c.job.do(t.Context(), c.commit); err != nil || done.State != "done" {
		t.Errorf("the commit beside it: %+v, %v", done, err)
	}
	before := c.s.below(t, c.path)
	if then == "comes after gc" {
		if _, err := distributed.Collect(c.job.fs, "s3://bucket/work", 0, false); err != nil {
			t.Error(err)
		}
	}
	close(held.open)
	if !killed {
		_ = late.Wait()
		if code := late.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the late commit ends with %d", code)
		}
	}
	if c.job.plan.Output.Directory() {
		c.s.checkManifest(t, c.path+"/", c.s.manifestOf(t, c.path+"/").Rows)
	}
	if after := c.s.below(t, c.path); !maps.Equal(before, after) {
		t.Errorf("the output has %q, and had %q", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
	if done, err := c.job.do(t.Context(), c.commit); err != nil || done.State != "already" {
		t.Errorf("once more: %+v, %v", done, err)
	}
}

// clear removes the objects whose keys begin with prefixes.
func (s *s3Server) clear(t *testing.T, prefixes ...string) {
	t.Helper()
	for _, key := range s.keys(t) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			s.remove(t, key)
		}
	}
}

// below returns the objects whose keys begin with a prefix.
func (s *s3Server) below(t *testing.T, prefix string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, key := range s.keys(t) {
		if strings.HasPrefix(key, prefix) {
			all[key] = string(s.content(t, key))
		}
	}
	return all
}

// manifestOf reads the manifest below a prefix.
func (s *s3Server) manifestOf(t *testing.T, prefix string) (m sink.Manifest) {
	t.Helper()
	if err := json.Unmarshal(s.content(t, prefix+sink.ManifestName), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
