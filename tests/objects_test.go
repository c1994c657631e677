package tests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/vfs"
)

// s3Server is an S3 server that fails as it is told to.
type s3Server struct {
	*httptest.Server
	memory   *s3mem.Backend
	requests atomic.Int64
	fault    atomic.Pointer[func(w http.ResponseWriter, r *http.Request, serve http.Handler)]
}

const bucketName = "bucket"

// newS3Server starts a server and points the environment to it.
func newS3Server(t *testing.T) *s3Server {
	t.Helper()
	s := &s3Server{memory: s3mem.New()}
	if err := s.memory.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	serve := gofakes3.New(s.memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if fault := s.fault.Load(); fault != nil {
			(*fault)(w, r, serve)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": s.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	return s
}

// keys returns the names of all objects.
func (s *s3Server) keys(t *testing.T) (keys []string) {
	t.Helper()
	list, err := s.memory.ListBucket(bucketName, nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		keys = append(keys, o.Key)
	}
	return keys
}

func (s *s3Server) content(t *testing.T, key string) []byte {
	t.Helper()
	o, err := s.memory.GetObject(bucketName, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Contents.Close()
	b, err := io.ReadAll(o.Contents)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newObjects(t *testing.T, opt objects.Options) *objects.FS {
	t.Helper()
	if opt.Pause == 0 {
		opt.Pause = time.Millisecond
	}
	fsys, err := objects.New(t.Context(), vfs.OS, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fsys.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return fsys
}

// salesTable has numbers, repeated and random strings, in many row groups when it is written so.
func salesTable(rows int) (*arrow.Schema, arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "year", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rng := rand.New(rand.NewPCG(3, 4))
	columns := make([][]any, 4)
	for i := range rows {
		columns[0] = append(columns[0], []string{"Ulm", "Jena", "Halle/Saale", "Bonn & Köln"}[rng.IntN(4)])
		columns[1] = append(columns[1], int64(2000+rng.IntN(3)))
		columns[2] = append(columns[2], int64(i))
		columns[3] = append(columns[3], fmt.Sprintf("%x", rng.Uint64()))
	}
	arrays := make([]arrow.Array, 4)
	for i := range arrays {
		arrays[i] = grouptest.Array(schema.Field(i).Type, columns[i])
	}
	return schema, grouptest.Batch(schema, arrays...)
}

var salesQuery = query.Query{
	Keys:       []query.Key{{Column: "city"}, {Column: "year"}},
	Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "rows"}, {Func: query.Sum, Args: []string{"n"}}, {Func: query.Max, Args: []string{"note"}}},
}

func write(path string, opt sink.Options, batches ...arrow.RecordBatch) error {
	w, err := sink.Create(context.Background(), path, batches[0].Schema(), opt)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

// answerFrom answers salesQuery over files.
func answerFrom(ctx context.Context, t *testing.T, fsys vfs.FS, patterns ...string) (*grouptest.Rows, error) {
	t.Helper()
	src, err := dataset.Open(ctx, patterns, dataset.Options{FS: fsys})
	if err != nil {
		return nil, err
	}
	eng, err := engine.Open(engine.Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	result, err := eng.Aggregate(ctx, src, salesQuery)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	return grouptest.ReadAll(result, len(salesQuery.Keys))
}

func wantAnswer(t *testing.T, schema *arrow.Schema, batches ...arrow.RecordBatch) *grouptest.Rows {
	t.Helper()
	want, err := grouptest.Oracle(schema, batches, salesQuery)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// Would catch objects that are not what was written, prefixes, globs and folders that are read
// wrongly, and outputs that are replaced or left when they should not be.
func TestObjectStore(t *testing.T) {
	s := newS3Server(t)
	fsys := newObjects(t, objects.Options{})
	schema, batch := salesTable(60_000)
	want := wantAnswer(t, schema, batch)
	read := func(patterns ...string) {
		t.Helper()
		got, err := answerFrom(t.Context(), t, fsys, patterns...)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Errorf("%s: %v", patterns, err)
		}
	}
	for _, name := range []string{"one.parquet", "one.arrow", "one.arrows", "one.csv", "one.csv.gz"} {
		path := "s3://bucket/files/" + name
		if err := write(path, sink.Options{FS: fsys, RowGroupRows: 9000}, batch); err != nil {
			t.Fatal(err)
		}
		read(path)
	}
	if err := write("s3://bucket/files/one.csv", sink.Options{FS: fsys, KeepExisting: true}, batch); !errors.Is(err, fs.ErrExist) {
		t.Errorf("kept: %v", err)
	}
	half := batch.NewSlice(0, 20_000)
	for _, part := range []arrow.RecordBatch{half, batch.NewSlice(20_000, 60_000)} {
		if err := write(fmt.Sprintf("s3://bucket/glob/x-%d.parquet", part.NumRows()), sink.Options{FS: fsys}, part); err != nil {
			t.Fatal(err)
		}
	}
	read("s3://bucket/glob/x-*.parquet")
	read("s3://bucket/glob")
	read("s3://bucket/gl*")

	out := sink.Options{FS: fsys, PartitionBy: []string{"city", "year"}, Manifest: true, Query: "q", MaxRowsPerFile: 3000}
	if err := write("s3://bucket/out", out, half); err != nil {
		t.Fatal(err)
	}
	if err := write("s3://bucket/out", out, batch); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "Overwrite") {
		t.Errorf("a second output: %v", err)
	}
	out.Overwrite = true
	if err := write("s3://bucket/out", out, batch); err != nil {
		t.Fatal(err)
	}
	read("s3://bucket/out")
	read("s3://bucket/out/city=*/year=*/*.parquet")
	s.checkManifest(t, "out/", batch.NumRows())

	gathered := sink.Options{FS: fsys, PartitionBy: []string{"city", "year"}, OpenFilesMax: 2}
	if err := write("s3://bucket/gathered", gathered, half, batch.NewSlice(20_000, 60_000)); err != nil {
		t.Fatal(err)
	}
	read("s3://bucket/gathered")
	if list, err := fsys.List("s3://bucket/gathered/"); err != nil || len(list) != 12+1 { // and the manifest
		t.Errorf("%d objects of 12 folders, %v", len(list), err)
	}

	for _, c := range []struct{ pattern, want string }{
		{"s3://bucket/nothing.parquet", "s3://bucket/nothing.parquet: file does not exist"},
		{"s3://bucket/nothing/*.parquet", "no object matches"},
		{"s3://nobucket/x.parquet", "s3://nobucket: there is no such bucket"},
	} {
		if _, err := answerFrom(t.Context(), t, fsys, c.pattern); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.pattern, err, c.want)
		}
	}
	before := s.keys(t)
	w, err := sink.Create(t.Context(), "s3://bucket/aborted", schema, sink.Options{FS: fsys, MaxRowsPerFile: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(batch.NewSlice(0, 105)), w.Abort()); err != nil {
		t.Error(err)
	}
	if after := s.keys(t); !slices.Equal(before, after) {
		t.Errorf("after an abort there is %s, before %s", after, before)
	}
}

// checkManifest compares the manifest below a prefix with the objects.
func (s *s3Server) checkManifest(t *testing.T, prefix string, rows int64) {
	t.Helper()
	var m sink.Manifest
	if err := json.Unmarshal(s.content(t, prefix+sink.ManifestName), &m); err != nil {
		t.Fatal(err)
	}
	named := []string{prefix + sink.ManifestName}
	for _, f := range m.Files {
		named = append(named, prefix+f.Path)
		if sum := sha256.Sum256(s.content(t, prefix+f.Path)); hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s is not what the manifest says", f.Path)
		}
	}
	there := slices.DeleteFunc(s.keys(t), func(key string) bool { return !strings.HasPrefix(key, prefix) })
	if slices.Sort(named); m.Rows != rows || !slices.Equal(named, there) {
		t.Errorf("%d rows in %d files, want %d in %s", m.Rows, len(m.Files), rows, there)
	}
}

// badNetwork fails a third of all requests, in one way each.
func badNetwork(seed uint64) func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		mu.Lock()
		kind, part := rng.IntN(12), rng.Float64()
		mu.Unlock()
		switch kind {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			panic(http.ErrAbortHandler) // the connection is dropped
		case 2:
			answer := httptest.NewRecorder()
			serve.ServeHTTP(answer, r)
			if body := answer.Body.Bytes(); r.Method == http.MethodGet && len(body) > 0 { // and here in the middle
				for name, values := range answer.Header() {
					w.Header()[name] = values
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				w.WriteHeader(answer.Code)
				_, _ = w.Write(body[:int(part*float64(len(body)))])
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusInternalServerError)
		case 3:
			time.Sleep(time.Duration(part * float64(30*time.Millisecond)))
			serve.ServeHTTP(w, r)
		default:
			serve.ServeHTTP(w, r)
		}
	}
}

// Would catch an answer that a bad network makes wrong, or an error that says too little of it.
func TestObjectStoreFails(t *testing.T) {
	s := newS3Server(t)
	s.Config.ErrorLog = nil
	schema, batch := salesTable(40_000)
	want := wantAnswer(t, schema, batch)
	fsys := newObjects(t, objects.Options{})
	path := "s3://bucket/in.parquet"
	if err := write(path, sink.Options{FS: fsys, RowGroupRows: 5000}, batch); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		fault := badNetwork(seed)
		s.fault.Store(&fault)
		bad := newObjects(t, objects.Options{Attempts: 10, Timeout: 5 * time.Second})
		got, err := answerFrom(t.Context(), t, bad, path)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	down := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.fault.Store((*func(http.ResponseWriter, *http.Request, http.Handler))(&down))
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	bad := newObjects(t, objects.Options{Attempts: 2})
	_, err := answerFrom(t.Context(), t, bad, path)
	for _, part := range []string{path, "tried 2 times", "AWS_ENDPOINT_URL", "503"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("a server that is down: %v, want %q", err, part)
		}
	}
	before := s.keys(t)
	if err := write("s3://bucket/out.parquet", sink.Options{FS: bad}, batch); err == nil || !strings.Contains(err.Error(), "s3://bucket/out.parquet: writing it") {
		t.Errorf("written to a server that is down: %v", err)
	}
	// Of a directory nothing is left when its last object cannot be written.
	noManifest := func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if strings.HasSuffix(r.URL.Path, sink.ManifestName) && r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		serve.ServeHTTP(w, r)
	}
	s.fault.Store((*func(http.ResponseWriter, *http.Request, http.Handler))(&noManifest))
	err = write("s3://bucket/dir", sink.Options{FS: bad, PartitionBy: []string{"city"}, Manifest: true}, batch)
	if err == nil || !strings.Contains(err.Error(), "s3://bucket/dir/_manifest.json: writing it") {
		t.Errorf("a manifest that cannot be written: %v", err)
	}
	s.fault.Store(nil)
	if after := s.keys(t); !slices.Equal(before, after) {
		t.Errorf("there is %s, before %s", after, before)
	}
}

// The command and its jobs take URLs wherever they take files.
func TestObjectCommand(t *testing.T) {
	s := newS3Server(t)
	_, batch := salesTable(5_000)
	fsys := newObjects(t, objects.Options{})
	if err := write("s3://bucket/in/year=2001/a.parquet", sink.Options{FS: fsys}, batch); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	job, lines := filepath.Join(dir, "job.yaml"), filepath.Join(dir, "lines.csv")
	text := "steps:\n- {name: one, from: s3://bucket/out, by: city, agg: sum(rows) as rows, output: s3://bucket/job.csv}\n" +
		"- {name: lenient, from: lines.csv, input: {rejects: s3://bucket/left/job.csv}, agg: sum(n), output: s3://bucket/n.csv}\n" +
		"- {name: none, from: s3://bucket/none/*.csv, input: {optional: true}, agg: count(*), output: s3://bucket/none.csv}\n" +
		"- {name: empty, from: s3://bucket/none, input: {optional: true}, agg: count(*), output: s3://bucket/empty.csv}\n"
	if err := os.WriteFile(job, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lines, []byte("n\n1\nx\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"describe", "--no-hive", "s3://bucket/in"}, "city"},
		{[]string{"agg", "--no-hive", "--by", "city", "--agg", "count(*) as rows", "--partition-by", "city", "--manifest", "-o", "s3://bucket/out", "s3://bucket/in/*/*.parquet"}, ""},
		{[]string{"agg", "--agg", "sum(rows)", "--format", "csv", "s3://bucket/out"}, "5000"},
		{[]string{"run", job}, ""},
		{[]string{"sql", "SELECT city, rows FROM 's3://bucket/out' ORDER BY city LIMIT 1", "--format", "csv"}, "city,rows\nBonn & Köln,"},
		{[]string{"agg", "--agg", "sum(rows), count(*)", "--format", "csv", "s3://bucket/job.csv"}, "5000,4"},
		{[]string{"agg", "--agg", "sum(n)", "--format", "csv", "--rejects", "s3://bucket/left/agg.csv", lines}, "3\n"},
		{[]string{"sql", "SELECT line, value FROM 's3://bucket/left/agg.csv'", "--format", "csv"}, "line,value\n3,x\n"},
		{[]string{"sql", "SELECT line, value FROM 's3://bucket/left/job.csv'", "--format", "csv"}, "line,value\n3,x\n"},
		{[]string{"gen", "pairs", "--rows", "1000", "--groups", "10", "-o", "s3://bucket/gen/one.parquet"}, ""},
		{[]string{"gen", "pairs", "--rows", "1000", "--groups", "10", "--files", "3", "-o", "s3://bucket/gen/many.csv.gz"}, ""},
		{[]string{"agg", "--agg", "count(*), count(distinct key)", "--format", "csv", "s3://bucket/gen/one.parquet"}, "1000,10"},
		{[]string{"agg", "--agg", "count(*), count(distinct key)", "--format", "csv", "s3://bucket/gen/many-000[123].csv.gz"}, "1000,10"},
	} {
		out, err := exec.Command(buildCommand(t), c.args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("mpga %s: %v: %s, want %q", c.args, err, out, c.want)
		}
	}
	s.checkManifest(t, "out/", 4)
	out, err := exec.Command(buildCommand(t), "agg", "--by", "city", "-o", "s3://bucket/out", "--manifest", "s3://bucket/in").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "s3://bucket/out: file already exists") {
		t.Errorf("an output that is there: %v: %s", err, out)
	}
}

// Would catch a query of objects that cancelling does not end.
func TestObjectStoreCancelled(t *testing.T) {
	s := newS3Server(t)
	_, batch := salesTable(40_000)
	fsys := newObjects(t, objects.Options{})
	if err := write("s3://bucket/in.parquet", sink.Options{FS: fsys, RowGroupRows: 1000}, batch); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan struct{})
	defer close(served)
	hang := func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if r.Header.Get("Range") == "" {
			serve.ServeHTTP(w, r)
			return
		}
		cancel()
		select {
		case <-served:
		case <-r.Context().Done():
		}
	}
	s.fault.Store((*func(http.ResponseWriter, *http.Request, http.Handler))(&hang))
	hanging, err := objects.New(ctx, vfs.OS, objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	started := time.Now()
	if _, err := answerFrom(ctx, t, hanging, "s3://bucket/in.parquet"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("it took %s to give up", took)
	}
}

// Would catch web servers that are read wrongly: with ranges and without, without HEAD, with a
// query in the URL, with a file that changes.
func TestWeb(t *testing.T) {
	s := newS3Server(t)
	schema, batch := salesTable(30_000)
	want := wantAnswer(t, schema, batch)
	fsys := newObjects(t, objects.Options{})
	if err := write("s3://bucket/in.parquet", sink.Options{FS: fsys, RowGroupRows: 5000}, batch); err != nil {
		t.Fatal(err)
	}
	content := s.content(t, "in.parquet")
	ranges := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(content)))
	}
	var changes atomic.Int64
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"ranges": {ranges, ""},
		"no HEAD": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			ranges(w, r)
		}, ""},
		"no ranges": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content)
		}, ""},
		"changes": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, changes.Add(1)))
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(content)))
		}, "the object changed"},
		"forbidden": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }, "403 Forbidden"},
		"gone":      {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusGone) }, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(c.serve)
			defer server.Close()
			fsys := newObjects(t, objects.Options{Client: server.Client(), TempDir: t.TempDir()})
			got, err := answerFrom(t.Context(), t, fsys, server.URL+"/a=1/in.parquet?token=b=2/3")
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), server.URL) {
					t.Errorf("%v, want %q", err, c.want)
				}
			case err != nil:
				t.Error(err)
			default:
				if err := grouptest.Equal(want, got); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
