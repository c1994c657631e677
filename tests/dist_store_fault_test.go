package tests

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// storeFaults are the ways in which a request fails.
var storeFaults = []struct {
	name  string
	every int64 // of how many requests one fails so, where a sample is taken
	fail  func(w http.ResponseWriter, r *http.Request, serve http.Handler)
}{
	{"500", 4, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusInternalServerError)
	}},
	{"reset", 5, func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }},
	{"reset once it is done", 3, func(_ http.ResponseWriter, r *http.Request, serve http.Handler) {
		serve.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}},
	{"silence", 23, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // before which the server does not see that the client has gone
		<-r.Context().Done()
	}},
}

// Each request to the store fails once, in each of several ways, and is not made again: the task fails, or is
// done; once it has run again, and the tasks after it, the output is what it is without the fault, and gc
// leaves the plan and the note of its commit. Whenever a manifest is written, all that it names is there, and
// it is not there before the commit. Would catch what TestDistFaults would, where nothing can be renamed.
func TestDistStoreFaults(t *testing.T) {
	s := newS3Server(t)
	for i := range 2 {
		var b strings.Builder
		b.WriteString("k,v,s\n")
		for row := range 60 {
			fmt.Fprintf(&b, "%d,%d,s%d\n", row*7%40, row, i)
		}
		s.put(t, fmt.Sprintf("in/%d.csv", i), []byte(b.String()))
	}
	eng := openEngine(t, 1)
	for _, c := range faultShapes {
		t.Run(c.name, func(t *testing.T) {
			r := faultRequest(c.query, "s3://bucket/in", "s3://bucket/work", "s3://bucket/"+c.output)
			f := &storeFault{s: s, output: c.output}
			want, err := f.run(t, eng, r)
			if err != nil {
				t.Fatal(err)
			}
			requests, from := f.until[""], f.until[c.from]
			if c.from == "" {
				from = 0
			}
			for _, kind := range storeFaults {
				runs, failed := 0, 0
				first, step := faultStep(kind.every)
				for n := from + first; n <= requests; n += step {
					f := &storeFault{s: s, output: c.output, at: n, fail: kind.fail}
					got, err := f.run(t, eng, r)
					if err != nil {
						failed++
					}
					if !maps.Equal(want, got) {
						t.Errorf("after %v there is %q, want %q", err, got, want)
					}
					if runs++; t.Failed() {
						t.Fatalf("%s of request %d, which is %s", kind.name, n, *f.which.Load())
					}
				}
				t.Logf("-seed=%d: %d requests, of which %d were failed by %s, and %d of these failed a task", *seedFlag, requests, runs, kind.name, failed)
			}
		})
	}
}

// storeFault carries a plan out while a request fails.
type storeFault struct {
	s      *s3Server
	output string
	at     int64 // the request that fails, from 1 on; 0 for none
	fail   func(w http.ResponseWriter, r *http.Request, serve http.Handler)

	count  atomic.Int64
	which  atomic.Pointer[string] // the request that has failed
	broken atomic.Pointer[string] // what was wrong when a manifest was written
	commit atomic.Bool            // the commit has begun
	until  map[string]int64       // requests before each stage, and in all
}

// serve serves a request, and looks at what is there when the output's manifest is written.
func (f *storeFault) serve(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	// Go's client makes a request again by itself where a connection that was in use before is dropped.
	which := r.Method + " " + r.URL.String()
	if n, failed := f.count.Add(1), f.which.Load(); f.at > 0 && (n == f.at || n == f.at+1 && *failed == which) {
		f.which.Store(&which)
		f.fail(w, r, serve)
		return
	}
	if r.Method == http.MethodPut && r.URL.Path == "/bucket/"+f.output+"/"+sink.ManifestName {
		if err := f.whole(r); err != nil {
			why := err.Error()
			f.broken.Store(&why)
		}
	}
	serve.ServeHTTP(w, r)
}

// whole says whether all that a manifest names is there, as it is to be.
func (f *storeFault) whole(r *http.Request) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	var m sink.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if !f.commit.Load() {
		return errors.New("the manifest is written before the commit")
	}
	for _, file := range m.Files {
		o, err := f.s.memory.GetObject(bucketName, f.output+"/"+file.Path, nil)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(o.Contents)
		if sum := sha256.Sum256(content); err != nil || hex.EncodeToString(sum[:]) != file.SHA256 {
			return fmt.Errorf("%s is not what the manifest says: %w", file.Path, err)
		}
	}
	return nil
}

// run plans a request and does its tasks; the task that the fault fails is done again, and once more where
// the task begins with the request. It returns that task's
// error, and the objects of the output.
func (f *storeFault) run(t *testing.T, eng *engine.Engine, r distributed.Request) (output map[string]string, failure error) {
	t.Helper()
	f.s.faulty(nil)
	f.s.clear(t, "work/", "out")
	f.s.faulty(f.serve)
	defer f.s.faulty(nil)
	temp := t.TempDir()
	again := func(do func(fsys *objects.FS) error) {
		t.Helper()
		for attempt := range 3 {
			fsys, err := objects.New(t.Context(), vfs.OS, objects.Options{Attempts: 1, Timeout: 300 * time.Millisecond, TempDir: temp})
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(do(fsys), fsys.Close())
			if left := fileNames(t, temp); len(left) > 0 {
				t.Fatalf("after %v there is in the temp directory: %q", err, left)
			}
			if why := f.broken.Load(); why != nil {
				t.Fatalf("after %v: %s", err, *why)
			}
			if err == nil {
				return
			}
			if failure = errors.Join(failure, err); attempt > 1 {
				t.Fatalf("failed three times, the first time by %s: %v", *f.which.Load(), failure)
			}
		}
	}
	var p *distributed.Plan
	again(func(fsys *objects.FS) error {
		j, err := planDist(t.Context(), eng, fsys, temp, r)
		if err == nil {
			p = j.plan
		}
		return err
	})
	f.until = make(map[string]int64)
	for _, task := range (&distJob{plan: p}).all() {
		if _, begun := f.until[task.stage]; !begun {
			f.until[task.stage] = f.count.Load()
		}
		f.commit.Store(task.stage == distributed.StageCommit)
		again(func(fsys *objects.FS) error {
			_, err := (&distJob{eng, fsys, temp, p}).do(t.Context(), task)
			return err
		})
		if there := f.s.below(t, f.output); task.stage != distributed.StageCommit && len(there) > 0 {
			t.Fatalf("after %s there is %q", task, slices.Sorted(maps.Keys(there)))
		}
	}
	if p.Output.Directory() {
		f.s.checkManifest(t, f.output+"/", f.s.manifestOf(t, f.output+"/").Rows)
	}
	f.until[""] = f.count.Load()
	f.at = 0
	again(func(fsys *objects.FS) error {
		_, err := distributed.Collect(fsys, r.Work, 0, false)
		return err
	})
	for key := range f.s.below(t, "work/") {
		if base := path.Base(key); base != "plan.json" && base != "committed.json" {
			t.Errorf("left: %s", key)
		}
	}
	return f.s.below(t, f.output), failure
}
