package tests

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
)

// A job from objects to objects: what is there is not made again, an object that was replaced is
// seen, and a store that fails for a while is asked again.
func TestJobObjects(t *testing.T) {
	s := newS3Server(t)
	_, batch := salesTable(1000)
	fill := func(rows int64) {
		t.Helper()
		part := batch.NewSlice(0, rows)
		defer part.Release()
		if err := write("s3://bucket/in/a.parquet", sink.Options{FS: newObjects(t, objects.Options{})}, part); err != nil {
			t.Fatal(err)
		}
	}
	fill(1000)
	j, err := job.Parse(t.TempDir()+"/sales.yaml", []byte(`
retry: {wait: 1ms, wait_max: 1ms}
limits: {threads: 2}
steps:
  - name: cities
    from: s3://bucket/in/*.parquet
    by: city, year
    agg: count(*) as rows
    output: {path: s3://bucket/out/cities, partition_by: city, manifest: true}
  - name: all
    from: ${steps.cities.output}
    agg: sum(rows) as rows
    output: s3://bucket/out/all.csv
`), job.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(want string) job.Report {
		t.Helper()
		// As in another process: nothing of the objects is known.
		report, err := j.Run(context.Background(), job.Options{FS: newObjects(t, objects.Options{Attempts: 1})})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range report.Steps {
			got = append(got, string(step.Outcome))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s, want %s (%v)", got, want, report.Steps)
		}
		return report
	}
	run("done done")
	run("skipped skipped")
	if got := string(s.content(t, "out/all.csv")); got != "rows\n1000\n" {
		t.Error(got)
	}
	fill(999)
	run("done done")
	if got := string(s.content(t, "out/all.csv")); got != "rows\n999\n" {
		t.Error(got)
	}
	if keys := s.keys(t); !slices.Contains(keys, "out/cities/_manifest.json") || len(keys) != 7 {
		t.Errorf("%q", keys)
	}

	var failures atomic.Int64
	fault := func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if r.Method == http.MethodGet && r.URL.Path == "/bucket/in/a.parquet" && failures.Add(1) <= 2 {
			http.Error(w, "slow down", http.StatusServiceUnavailable)
			return
		}
		serve.ServeHTTP(w, r)
	}
	fill(998)
	s.fault.Store(&fault)
	if report := run("done done"); report.Steps[0].Attempts < 2 {
		t.Errorf("%d attempts, %d failures: want more than one", report.Steps[0].Attempts, failures.Load())
	}
	if got := string(s.content(t, "out/all.csv")); got != "rows\n998\n" {
		t.Error(got)
	}
}
