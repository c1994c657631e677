package tests

import (
	"encoding/base64"
	"fmt"
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
