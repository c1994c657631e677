package tests

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
)

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

// What is not as it was in a store, and a store that refuses or says nothing, end a task with a message that
// names the object, and with exit code 2 where no attempt mends it. Would catch an object of the same size that
// is taken for the one that was planned, and a task that waits for ever.
func TestDistStoreRefused(t *testing.T) {
	s := newS3Server(t)
	eng := openEngine(t, 1)
	const work = "s3://bucket/work/ID/"
	partial, merge, commit := distTask{distributed.StagePartial, 1}, distTask{distributed.StageMerge, 0}, distTask{distributed.StageCommit, 0}
	refuse := func(method, part string) func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			if r.Method == method && strings.Contains(r.URL.Path, part) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			serve.ServeHTTP(w, r)
		}
	}
	silent := func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if strings.HasSuffix(r.URL.Path, ".pack") {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		serve.ServeHTTP(w, r)
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, pack string) // pack is the key of the pack of split 1
		fault  func(w http.ResponseWriter, r *http.Request, serve http.Handler)
		task   distTask
		code   int
		want   []string
	}{
		{"an input of another tag", func(t *testing.T, pack string) {
			s.put(t, "in/1.csv", []byte(strings.Replace(string(s.content(t, "in/1.csv")), "s1", "s2", 1)))
		}, nil, partial, 2, []string{"s3://bucket/in/1.csv", "its tag was", "plan again"}},
		{"an input of another size", func(t *testing.T, pack string) { s.put(t, "in/1.csv", []byte("k,v,s\n1,1,s\n")) }, nil, partial, 2, []string{"s3://bucket/in/1.csv", "it had"}},
		{"an input that is gone", func(t *testing.T, pack string) { s.remove(t, "in/1.csv") }, nil, partial, 2, []string{"s3://bucket/in/1.csv", "does not exist"}},
		{"a pack that is cut off", func(t *testing.T, pack string) { s.put(t, pack, half(s.content(t, pack))) }, nil, merge, 2, []string{"and plan again", work + "partial/00001.", "were written"}},
		{"a pack that is gone", func(t *testing.T, pack string) { s.remove(t, pack) }, nil, merge, 2, []string{"and plan again", work + "partial/00001.", "a pack is missing"}},
		{"packs that may not be written", nil, refuse(http.MethodPut, ".pack"), partial, 1, []string{work + "partial/00001.", "403"}},
		{"packs that may not be read", nil, refuse(http.MethodGet, ".pack"), merge, 1, []string{work + "partial/0000", "403"}},
		{"a seal that may not be written", nil, refuse(http.MethodPut, "/sealed/"), merge, 1, []string{work + "sealed/partial.json", "403"}},
		{"rows that may not be written", nil, refuse(http.MethodPut, "/merge/"), merge, 1, []string{work + "merge/00000-00001.", "403"}},
		{"an output that may not be written", nil, refuse(http.MethodPut, "/out/"), commit, 1, []string{"s3://bucket/out: ", "403"}},
		{"a note that may not be written", nil, refuse(http.MethodPut, "/committed.json"), commit, 1, []string{work + "committed.json", "403"}},
		{"packs of which nothing comes", nil, silent, merge, 1, []string{work + "partial/0000", "sent nothing", "--http-timeout"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.faulty(nil)
			s.clear(t, "")
			for i := range 2 {
				s.put(t, fmt.Sprintf("in/%d.csv", i), []byte(fmt.Sprintf("k,v,s\n1,2,s%d\n3,4,t\n", i)))
			}
			fsys := newObjects(t, objects.Options{}) // which knows nothing of the objects before these
			j, err := planDist(t.Context(), eng, fsys, t.TempDir(), distributed.Request{
				Statement: "SELECT k, sum(v) AS v, first(s) AS s FROM 's3://bucket/in/*.csv' GROUP BY k", Work: "s3://bucket/work", Output: "s3://bucket/out", Splits: 2, Partitions: 4, Merges: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range j.all() {
				if task == c.task {
					break
				}
				if _, err := j.do(t.Context(), task); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				pack := ""
				for key := range s.below(t, "work/"+j.plan.ID+"/partial/00001.") {
					if strings.HasSuffix(key, ".pack") {
						pack = key
					}
				}
				c.change(t, pack)
			}
			s.faulty(c.fault)
			p := runProcess(t, append(taskArgs(j.plan.Work+"/plan.json", c.task), "--http-timeout", "200ms")...)
			s.faulty(nil)
			for _, part := range c.want {
				if part = strings.ReplaceAll(part, "/ID/", "/"+j.plan.ID+"/"); !strings.Contains(p.stderr, part) {
					t.Errorf("want %q in the message", part)
				}
			}
			if p.code != c.code || p.stdout != "" || t.Failed() {
				t.Errorf("want exit code %d: %s", c.code, p)
			}
			if c.code == 1 && c.change == nil { // and another attempt mends it
				if done, err := j.do(t.Context(), c.task); err != nil {
					t.Errorf("another attempt: %+v, %v", done, err)
				}
			}
		})
	}
}
