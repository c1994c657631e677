package tests

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
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

// storeDoubles starts the doubles of the three stores, and returns what each has, by the beginning of URLs.
func storeDoubles(t *testing.T) map[string]func() []string {
	t.Helper()
	amazon := newS3Server(t)
	google := &googleStore{objects: make(map[string]string), sessions: make(map[string]string)}
	azure := &azureStore{blobs: make(map[string]string), blocks: make(map[string]string)}
	googleServer, azureServer := httptest.NewServer(google), httptest.NewServer(azure)
	t.Cleanup(googleServer.Close)
	t.Cleanup(azureServer.Close)
	for name, value := range map[string]string{
		"STORAGE_EMULATOR_HOST": googleServer.Listener.Addr().String(),
		"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte("key")), "AZURE_STORAGE_PROTOCOL": "http",
		"AZURE_STORAGE_DOMAIN": azureServer.Listener.Addr().String(), "AZURE_STORAGE_IS_LOCAL_EMULATOR": "true",
	} {
		t.Setenv(name, value)
	}
	names := func(objects map[string]string, mu *sync.Mutex) []string {
		mu.Lock()
		defer mu.Unlock()
		var list []string
		for name := range objects {
			list = append(list, name)
		}
		slices.Sort(list)
		return list
	}
	return map[string]func() []string{
		"s3://bucket/":    func() []string { return amazon.keys(t) },
		"gs://bucket/":    func() []string { return names(google.objects, &google.mu) },
		"az://container/": func() []string { return names(azure.blobs, &azure.mu) },
	}
}

// storeInput writes a table as objects below a URL.
func storeInput(t *testing.T, fsys *objects.FS, url string, files, rows int) {
	t.Helper()
	_, batch := salesTable(files * rows)
	for i := range files {
		part := batch.NewSlice(int64(i*rows), int64((i+1)*rows))
		if err := write(fmt.Sprintf("%s/%d.parquet", url, i), sink.Options{FS: fsys, RowGroupRows: 500}, part); err != nil {
			t.Fatal(err)
		}
	}
}

const storeQuery = "SELECT city, year, n %% 50 AS m, count(*) AS c, sum(n) AS s, first(note) AS f, max(note) AS x FROM '%s/*.parquet' WHERE n %% 7 > 0 GROUP BY ALL"

// Processes that meet in a store alone answer as one process does, from objects to objects, of every store,
// and leave the output, the plan and the note of its commit. Would catch URLs that are not carried, objects
// that are taken for another plan's, and a task that needs a file of another.
func TestDistStore(t *testing.T) {
	for store, keys := range storeDoubles(t) {
		t.Run(store[:2], func(t *testing.T) {
			fsys := newObjects(t, objects.Options{})
			storeInput(t, fsys, store+"in", 3, 2000)
			query := fmt.Sprintf(storeQuery, store+"in")
			ordered := query + " ORDER BY ALL"
			single := wantProcess(t, "sql", ordered, "--format", "csv")
			for _, c := range []struct {
				name, query string
				args        []string
				read        string // the output, as FROM has it
			}{
				{"a directory", query, []string{"--output", store + "dir", "--combines", "2"}, store + "dir"},
				{"folders", query, []string{"--output", store + "folders/", "--partition-by", "year", "--format", "csv"}, store + "folders/year=*/*.csv"},
				{"a file", ordered, []string{"--output", store + "file.csv"}, store + "file.csv"},
				{"a directory in order", ordered, []string{"--output", store + "ordered"}, store + "ordered"},
			} {
				t.Run(c.name, func(t *testing.T) {
					before := keys()
					args := append([]string{c.query, "--work", store + "work", "--splits", "5", "--partitions", "8", "--merges", "3"}, c.args...)
					p := distPlan(t, args...)
					plan := store + "work/" + p.ID + "/plan.json"
					runStages(t, plan, p)
					status := wantProcess(t, "dist", "status", "--plan", plan, "--format", "json")
					if !strings.Contains(status, `"committed":true`) {
						t.Error(status)
					}
					got := wantProcess(t, "sql", "SELECT city, year, m, c, s, f, x FROM '"+c.read+"' ORDER BY ALL", "--format", "csv")
					if got != single {
						t.Errorf("got\n%.500s\nwant\n%.500s", got, single)
					}
					wantProcess(t, "dist", "gc", store+"work", "--older-than", "0s")
					var left []string
					for _, key := range keys() {
						if !slices.Contains(before, key) && strings.HasPrefix(key, "work/") {
							left = append(left, strings.TrimPrefix(key, "work/"+p.ID+"/"))
						}
					}
					if !slices.Equal(left, []string{"committed.json", "plan.json"}) {
						t.Errorf("left: %q", left)
					}
					for _, task := range []distTask{{distributed.StagePartial, 0}, {distributed.StageMerge, 0}, {distributed.StageCommit, 0}} {
						if done := runProcess(t, taskArgs(plan, task)...).done(t); done.State != "already" {
							t.Errorf("%s after gc: %+v", task, done)
						}
					}
				})
			}
		})
	}
}

// Work directory and output may be at different places. Would catch files that are linked, or copied within
// a store, where they cannot be.
func TestDistStoreMixed(t *testing.T) {
	newS3Server(t)
	fsys := newObjects(t, objects.Options{})
	storeInput(t, fsys, "s3://bucket/in", 2, 1000)
	query := fmt.Sprintf(storeQuery, "s3://bucket/in")
	single := wantProcess(t, "sql", query+" ORDER BY ALL", "--format", "csv")
	dir := t.TempDir()
	for name, c := range map[string]struct{ work, output string }{
		"work in a store":   {"s3://bucket/work", filepath.Join(dir, "a")},
		"output in a store": {filepath.Join(dir, "work"), "s3://bucket/b"},
		"input in a store":  {filepath.Join(dir, "work"), filepath.Join(dir, "c")},
	} {
		t.Run(name, func(t *testing.T) {
			p := distPlan(t, query, "--work", c.work, "--output", c.output, "--splits", "2", "--partitions", "4", "--merges", "2")
			runStages(t, p.Work+"/plan.json", p)
			if got := wantProcess(t, "sql", "SELECT * FROM '"+c.output+"' ORDER BY ALL", "--format", "csv"); got != single {
				t.Errorf("got\n%.500s\nwant\n%.500s", got, single)
			}
		})
	}
}

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
			<-sealing.held
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
	if _, err := s.memory.PutObject(bucketName, key, nil, bytes.NewReader(content), int64(len(content)), nil); err != nil {
		t.Fatal(err)
	}
}

// A commit is held at a request, another one makes the output, and the held one goes on, is refused, finds
// nothing to go on with after gc, or is killed and made again: the output is whole, once, and stays what it
// was. Would catch a late commit that takes away, doubles or replaces what is there.
func TestDistStoreTwins(t *testing.T) {
	s := newS3Server(t)
	s.Config.ErrorLog = nil
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
					url := "s3://bucket/" + out.path
					j, err := planDist(t.Context(), eng, fsys, t.TempDir(), distributed.Request{Statement: query + out.order, Work: "s3://bucket/work", Output: url, Splits: 2, Partitions: 4, Merges: 2})
					if err != nil {
						t.Fatal(err)
					}
					tasks := j.all()
					commit := tasks[len(tasks)-1]
					for _, task := range tasks[:len(tasks)-1] {
						if _, err := j.do(t.Context(), task); err != nil {
							t.Fatal(err)
						}
					}
					held := newGate(func(r *http.Request) bool {
						key := strings.TrimPrefix(r.URL.Path, "/bucket/")
						return r.Method == http.MethodPut && strings.HasPrefix(key, out.path) &&
							(at == "its first object" || key == out.path || strings.HasSuffix(key, sink.ManifestName))
					})
					var refuse atomic.Bool
					s.faulty(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
						if held.wait(r) && refuse.Load() {
							w.WriteHeader(http.StatusForbidden)
							return
						}
						serve.ServeHTTP(w, r)
					})
					late := exec.Command(buildCommand(t), taskArgs(j.plan.Work+"/plan.json", commit)...)
					if err := late.Start(); err != nil {
						t.Fatal(err)
					}
					<-held.held
					refuse.Store(then == "is refused")
					if then == "is killed" {
						refuse.Store(true) // what has not come is not there
						if err := late.Process.Kill(); err != nil {
							t.Error(err)
						}
						_ = late.Wait()
					}
					if done, err := j.do(t.Context(), commit); err != nil || done.State != "done" {
						t.Fatalf("the commit beside it: %+v, %v", done, err)
					}
					before := s.below(t, out.path)
					if then == "comes after gc" {
						if _, err := distributed.Collect(fsys, "s3://bucket/work", 0, false); err != nil {
							t.Fatal(err)
						}
					}
					close(held.open)
					if then != "is killed" {
						_ = late.Wait()
						if code := late.ProcessState.ExitCode(); code != 0 {
							t.Errorf("the late commit ends with %d", code)
						}
					}
					s.faulty(nil)
					if out.path != "file.csv" {
						m := s.manifestOf(t, out.path+"/")
						s.checkManifest(t, out.path+"/", m.Rows)
					}
					if after := s.below(t, out.path); !maps.Equal(before, after) {
						t.Errorf("the output has %q, and had %q", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
					}
					if got := wantProcess(t, "sql", "SELECT * FROM '"+url+"' ORDER BY ALL", "--format", "csv"); got != single {
						t.Errorf("got\n%.500s\nwant\n%.500s", got, single)
					}
					if done, err := j.do(t.Context(), commit); err != nil || done.State != "already" {
						t.Errorf("once more: %+v, %v", done, err)
					}
				})
			}
		}
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
