package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// visits is a job of three steps, each of which reads what the one before has written.
const visits = `
variables: {n: visits}
limits: {threads: 1, memory: 256MiB}
retry: {wait: 1ms, wait_max: 1ms}
steps:
  - name: cities
    from: in/*.csv
    by: city
    agg: sum(n) as ${n}
    output: out/cities.parquet
  - name: total
    from: ${steps.cities.output}
    agg: sum(${n}) as total, count(*) as cities
    output: out/total.csv
  - name: check
    from: ${steps.total.output}
    agg: max(total)
    output: out/check.json
`

// newVisits writes the input of visits and returns its folder and the job.
func newVisits(t *testing.T) (string, *Job) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "city,n\nUlm,1\nJena,2\n")
	writeFile(t, filepath.Join(dir, "in", "b.csv"), "city,n\nUlm,4\n")
	return dir, reparsed(t, dir, visits)
}

func reparsed(t *testing.T, dir, text string) *Job {
	t.Helper()
	j, err := Parse(filepath.Join(dir, "visits.yaml"), []byte(text), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outcomes runs a job and returns how each step ended.
func outcomes(t *testing.T, j *Job, opt Options) string {
	t.Helper()
	report, err := j.Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, s := range report.Steps {
		words = append(words, string(s.Outcome))
	}
	return strings.Join(words, " ")
}

// J2. Would catch a step that is skipped although something has changed, or runs although nothing
// has.
func TestRunSkips(t *testing.T) {
	dir, j := newVisits(t)
	const all, none = "done done done", "skipped skipped skipped"
	out := func(name string) string { return filepath.Join(dir, "out", name) }
	for _, test := range []struct {
		name   string
		change func()
		opt    Options
		want   string
	}{
		{"first", func() {}, Options{}, all},
		{"again", func() {}, Options{}, none},
		{"forced", func() {}, Options{Force: true}, all},
		{"version", func() {}, Options{Version: "2"}, all},
		{"same version", func() {}, Options{Version: "2"}, none},
		{"other version", func() {}, Options{}, all},
		{"input changed", func() { writeFile(t, filepath.Join(dir, "in", "b.csv"), "city,n\nUlm,40\n") }, Options{}, all},
		{"input is new", func() { writeFile(t, filepath.Join(dir, "in", "c.csv"), "city,n\nBonn,3\n") }, Options{}, all},
		{"input is gone", func() { remove(t, filepath.Join(dir, "in", "c.csv")) }, Options{}, all},
		{"output is gone", func() { remove(t, out("total.csv")) }, Options{}, "skipped done done"},
		{"output was written to", func() { writeFile(t, out("check.json"), "{}") }, Options{}, "skipped skipped done"},
		{"state is gone", func() { remove(t, j.statePath(&j.Steps[2])) }, Options{}, "skipped skipped done"},
		{"state is not one", func() { writeFile(t, j.statePath(&j.Steps[2]), "{") }, Options{}, "skipped skipped done"},
		{"step was changed", func() { j = reparsed(t, dir, strings.ReplaceAll(visits, "as cities", "as places")) }, Options{}, "skipped done done"},
		{"limits are no change", func() { j.Limits, j.Steps[0].Limits.Threads = Limits{}, 2 }, Options{}, none},
	} {
		test.change()
		if got := outcomes(t, j, test.opt); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if got, want := readFile(t, out("check.json")), "{\"max(total)\":43}\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, folder := range []string{"out", ".visits.state"} {
		checkNoHidden(t, filepath.Join(dir, folder))
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// checkNoHidden reports files that were not given their name.
func checkNoHidden(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left in %s", e.Name(), dir)
		}
	}
}

// An output that is a directory is replaced as a whole, and read by the next step.
func TestRunDirectory(t *testing.T) {
	dir, _ := newVisits(t)
	j := reparsed(t, dir, strings.ReplaceAll(visits, "output: out/cities.parquet", "output: {path: out/cities, partition_by: city, manifest: true}"))
	for _, want := range []string{"done done done", "skipped skipped skipped"} {
		if got := outcomes(t, j, Options{}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got, want := readFile(t, filepath.Join(dir, "out", "total.csv")), "total,cities\n7,2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if manifest := readFile(t, filepath.Join(dir, "out", "cities", "_manifest.json")); !strings.Contains(manifest, `"query": "SELECT city, sum(n) as visits FROM input GROUP BY 1"`) {
		t.Error(manifest)
	}
	remove(t, filepath.Join(dir, "out", "cities", "city=Ulm", "part-00000.parquet"))
	if got, want := outcomes(t, j, Options{}), "done done done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A step that is a statement reads, is planned, skipped and refused as others are.
func TestRunSQL(t *testing.T) {
	dir, _ := newVisits(t)
	const text = `
steps:
  - name: cities
    from: in/*.csv
    sql: |
      SELECT upper(city) AS city, sum(n) AS visits
      FROM input
      WHERE n > 1
      GROUP BY ALL
      ORDER BY visits DESC
    output: out/cities.parquet
  - name: all
    from: out/cities.parquet
    sql: SELECT max(visits) AS most FROM (SELECT visits FROM input LIMIT 10)
    output: out/all.csv
`
	j := reparsed(t, dir, text)
	plan, err := j.Plan(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Steps[1].After != "cities" || !strings.Contains(plan.String(), "\n            WHERE n > 1\n") {
		t.Errorf("%s", plan)
	}
	for _, want := range []string{"done done", "skipped skipped"} {
		if got := outcomes(t, j, Options{}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got, want := readFile(t, filepath.Join(dir, "out", "all.csv")), "most\n4\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if plan, err = j.Plan(context.Background(), Options{}); err != nil || plan.Steps[1].Columns.NumFields() != 1 {
		t.Errorf("%s, %v", plan, err)
	}
	j = reparsed(t, dir, strings.ReplaceAll(text, "n > 1", "n > 0"))
	if got, want := outcomes(t, j, Options{}), "done done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	j = reparsed(t, dir, strings.ReplaceAll(text, "n > 1", "nn > 1"))
	report, err := j.Run(context.Background(), Options{})
	var at *sql.Error
	if !errors.As(err, &at) || report.Steps[0].Attempts != 1 {
		t.Errorf("%v, %+v", err, report)
	}
	if want := filepath.Join(dir, "visits.yaml") + ":8:13: step cities: column \"nn\" does not exist"; !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The clauses of a step are a statement, whose errors are told where each of them stands.
func TestRunClauses(t *testing.T) {
	dir, _ := newVisits(t)
	const text = `
steps:
  - name: cities
    from: in/*.csv
    by: ["lower(city) as town", "n % 2 as odd"]
    agg: |
      count(*) as rows,
      sum(n) + 1 as most
    where: n < 4
    having: sum(n) > 0
    order_by: town desc
    limit: 2
    output: out/cities.csv
`
	j := reparsed(t, dir, text)
	for _, want := range []string{"done", "skipped"} {
		if got := outcomes(t, j, Options{}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got, want := readFile(t, filepath.Join(dir, "out", "cities.csv")), "town,odd,rows,most\nulm,1,1,2\njena,0,1,3\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for change, place := range map[[2]string]string{
		{"n % 2", "m % 2"}:           ":5:34: ",
		{"sum(n) + 1", "sum(m) + 1"}: ":8:11: ",
		{"n < 4", "n < m"}:           ":9:16: ",
		{"sum(n) > 0", "sum(m) > 0"}: ":10:17: ",
		{"town desc", "twon desc"}:   ":11:15: ",
	} {
		j := reparsed(t, dir, strings.Replace(text, change[0], change[1], 1))
		_, err := j.Run(context.Background(), Options{})
		if want := filepath.Join(dir, "visits.yaml") + place + "step cities: "; !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if got := outcomes(t, reparsed(t, dir, strings.Replace(text, "limit: 2", "limit: 1", 1)), Options{}); got != "done" {
			t.Errorf("another limit: %s", got)
		}
		if got := outcomes(t, reparsed(t, dir, text), Options{}); got != "done" {
			t.Errorf("the first limit: %s", got)
		}
	}
}

// J4. Would catch two runs at a time, and an error that does not say whom to look for.
func TestLocked(t *testing.T) {
	_, j := newVisits(t)
	if got := outcomes(t, j, Options{}); got != "done done done" { // leaves a lock's file
		t.Fatal(got)
	}
	held, err := takeLock(j.State)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Run(context.Background(), Options{})
	host, _ := os.Hostname()
	if want := fmt.Sprintf("job visits: the job is already running: process %d on %s holds %s since ", os.Getpid(), host, filepath.Join(j.State, "lock")); !errors.Is(err, ErrLocked) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if got := outcomes(t, j, Options{}); got != "skipped skipped skipped" {
		t.Error(got)
	}
}

// failingFS lets opening of a file fail a number of times.
type failingFS struct {
	vfs.FS
	name  string // its base
	err   error
	times int
}

func (f *failingFS) Open(name string) (vfs.File, error) {
	if filepath.Base(name) == f.name && f.times > 0 {
		f.times--
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.FS.Open(name)
}

// J5. Would catch an attempt too many or too few.
func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		times    int
		attempts int
		done     bool
	}{
		"never":               {syscall.EIO, 0, 1, true},
		"once":                {syscall.EIO, 1, 2, true},
		"often":               {syscall.ESTALE, 3, 4, true},
		"too often":           {syscall.ETIMEDOUT, 4, 4, false},
		"no permission":       {fs.ErrPermission, 1, 1, false},
		"the data is corrupt": {fmt.Errorf("%w: %w", engine.ErrCorrupt, io.ErrUnexpectedEOF), 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, j := newVisits(t)
			var waits []time.Duration
			opt := Options{FS: &failingFS{FS: vfs.OS, name: "a.csv", err: test.err, times: test.times}}
			opt.sleep = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}
			report, err := j.Run(context.Background(), opt)
			if first := report.Steps[0]; first.Attempts != test.attempts || len(waits) != test.attempts-1 || (err == nil) != test.done {
				t.Errorf("%d attempts, waits %v, %v; want %d", first.Attempts, waits, err, test.attempts)
			}
			if err != nil && !errors.Is(err, test.err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

type transient bool

func (t transient) Error() string   { return "slow down" }
func (t transient) Transient() bool { return bool(t) }

func TestMayPass(t *testing.T) {
	for _, err := range []error{syscall.EIO, fmt.Errorf("x: %w", syscall.ECONNRESET), os.ErrDeadlineExceeded, io.ErrUnexpectedEOF, transient(true),
		errors.Join(errors.New("x"), &fs.PathError{Err: syscall.EBUSY})} {
		if !mayPass(err) {
			t.Errorf("%v: may pass", err)
		}
	}
	for _, err := range []error{nil, syscall.ENOENT, syscall.ENOSPC, fs.ErrPermission, fs.ErrNotExist, context.Canceled, context.DeadlineExceeded, transient(false),
		query.ErrQuery, engine.ErrOverflow, fmt.Errorf("%w: %w", engine.ErrCorrupt, syscall.EIO), &sql.Error{}, ErrLocked, engine.ErrClosed, errors.New("x")} {
		if mayPass(err) {
			t.Errorf("%v: will come again", err)
		}
	}
}

func TestPause(t *testing.T) {
	r := Retry{Attempts: 100, Wait: Duration(time.Second), WaitMax: Duration(time.Minute)}
	wants := map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 99: time.Minute}
	for range 100 {
		pauses := r.pauses()
		for attempt := 1; attempt < 100; attempt++ {
			got := pauses.NextBackOff()
			if want, ok := wants[attempt]; ok && (got > want || got < want/2) {
				t.Errorf("attempt %d: %v, want %v to %v", attempt, got, want/2, want)
			}
		}
	}
}

// An error of the query names the step, and is not tried again.
func TestRunErrors(t *testing.T) {
	dir, _ := newVisits(t)
	j := reparsed(t, dir, strings.ReplaceAll(visits, "by: city", "by: town"))
	report, err := j.Run(context.Background(), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, "visits.yaml")+":8:9: step cities: ") {
		t.Errorf("got %v", err)
	}
	if len(report.Steps) != 1 || report.Steps[0].Attempts != 1 || report.Steps[0].Outcome != Failed {
		t.Errorf("%+v", report.Steps)
	}

	j = reparsed(t, dir, strings.ReplaceAll(visits, "output: out/cities.parquet", "output: in/cities.csv"))
	if got := outcomes(t, j, Options{}); got != "done done done" { // it is not there yet
		t.Error(got)
	}
	_, err = j.Run(context.Background(), Options{})
	if err == nil || !strings.HasSuffix(err.Error(), "in/cities.csv: the step would read what it writes") {
		t.Errorf("got %v", err)
	}
}

// Would catch a pause, or a step, that outlasts its time.
func TestRunEnds(t *testing.T) {
	_, j := newVisits(t)
	j.Steps[0].Limits.Time = Duration(50 * time.Millisecond)
	j.Steps[0].Retry = Retry{Attempts: 10, Wait: Duration(time.Hour), WaitMax: Duration(time.Hour)}
	failing := &failingFS{FS: vfs.OS, name: "a.csv", err: syscall.EIO, times: 10}
	start := time.Now()
	_, err := j.Run(context.Background(), Options{FS: failing})
	if want := "step cities: it took longer than limits.time (50ms)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	j.Steps[0].Limits.Time = 0
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := j.Run(ctx, Options{FS: failing}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// Would catch an output that is half written, or a run that trips over what one before it has left,
// whatever operation of the file system fails.
func TestRunFaults(t *testing.T) {
	step := int64(1)
	if testing.Short() {
		step = 7
	}
	for n := int64(1); ; n += step {
		dir, j := newVisits(t)
		j.Steps = j.Steps[:2]
		fsys := faultfs.New(vfs.OS)
		fsys.FailAt(n)
		_, err := j.Run(context.Background(), Options{FS: fsys})
		if err != nil && !errors.Is(err, faultfs.ErrInjected) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("operation %d: %d open files", n, open)
		}
		if _, err := j.Run(context.Background(), Options{}); err != nil {
			t.Fatalf("after operation %d: %v", n, err)
		}
		if got, want := readFile(t, filepath.Join(dir, "out", "total.csv")), "total,cities\n7,2\n"; got != want {
			t.Fatalf("operation %d: %q, want %q", n, got, want)
		}
		checkNoHidden(t, j.State)
		if !fsys.Fired() {
			return
		}
	}
}

// Would catch a span that is missing, or below the wrong one.
func TestRunTraces(t *testing.T) {
	_, j := newVisits(t)
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	if _, err := j.Run(context.Background(), Options{Tracer: provider.Tracer("")}); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string) // by span
	for _, span := range recorder.Ended() {
		names[span.SpanContext().SpanID().String()] = span.Name()
	}
	got := make(map[string]int)
	for _, span := range recorder.Ended() {
		got[names[span.Parent().SpanID().String()]+" > "+span.Name()]++
		if span.EndTime().Before(span.StartTime()) {
			t.Errorf("%s ends before it starts", span.Name())
		}
	}
	want := map[string]int{" > job visits": 1}
	for _, step := range []string{"cities", "total", "check"} {
		want["job visits > step "+step]++
		for _, phase := range []engine.Phase{engine.PhasePlan, engine.PhasePartition, engine.PhaseProcess} {
			want["step "+step+" > phase "+string(phase)]++
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The plan says what Run then does.
func TestPlan(t *testing.T) {
	dir, j := newVisits(t)
	for _, run := range []bool{true, false} {
		plan, err := j.Plan(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			if s.Skip == run {
				t.Errorf("step %s: skip %v, %s", s.Step.Name, s.Skip, s.Reason)
			}
		}
		if got := outcomes(t, j, Options{}); strings.Contains(got, "done") != run {
			t.Errorf("%s, want done: %v", got, run)
		}
	}
	// The columns of what a step will write are known to the next.
	j = reparsed(t, dir, strings.ReplaceAll(visits, "agg: sum(${n}) as total", "agg: sum(vists) as total"))
	if _, err := j.Plan(context.Background(), Options{Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), ":13:14: step total: ") {
		t.Errorf("got %v", err)
	}
}

// Would catch a step that is planned over files which a step before it has yet to write.
func TestPlanAfter(t *testing.T) {
	p := &Plan{Steps: []StepPlan{{Step: &Step{Name: "first"}}}}
	for _, test := range []struct {
		output, from string
		want         bool
	}{
		{"out/a.parquet", "out/a.parquet", true}, {"out/a.parquet", "./out/*.parquet", true}, {"out/a.parquet", "out", true}, {"out", "out/x.csv", true},
		{"s3://b/out/a.parquet", "s3://b/out/*.parquet", true}, {"s3://b/out/a.parquet", "s3://b/in/*.parquet", false}, {"out/a.parquet", "outer/*", false},
	} {
		got := len(p.writers(&Step{From: []string{test.from}}, map[string]int{filepath.Clean(test.output): 0})) > 0
		if got != test.want {
			t.Errorf("%s is written by a step before %s: %v, want %v", test.from, test.output, got, test.want)
		}
	}
}

func TestChanged(t *testing.T) {
	a, b := dataset.Identity{Path: "a", Bytes: 1}, dataset.Identity{Path: "b", Bytes: 1}
	for want, files := range map[string][2][]dataset.Identity{
		"":                                       {{a, b, b}, {a, b, b}},
		"b is new":                               {{a}, {a, b}},
		"b is gone":                              {{a, b}, {a}},
		"b has changed":                          {{a, b}, {a, {Path: "b", Bytes: 2}}},
		"is read more or less often than before": {{a, b, b}, {a, b}},
	} {
		if got := changed(files[0], files[1]); got != want {
			t.Errorf("%v: %q, want %q", files, got, want)
		}
	}
}

// Would catch figures of zero in the log of a step, whose statement has groups or none.
func TestRunLogsRows(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.csv"), "n\n1\n2\n")
	j := reparsed(t, dir, "steps: [{name: all, from: a.csv, sql: SELECT n FROM input, output: out.csv}, {name: sum, from: a.csv, agg: sum(n), output: sum.csv}]\n")
	var log strings.Builder
	outcomes(t, j, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, "step done") && !strings.Contains(line, "rows_read=2 bytes_read=4 ") {
			t.Errorf("the log says %s", line)
		}
	}
	if strings.Count(log.String(), "step done") != 2 || strings.Count(log.String(), " rows=") != 2 {
		t.Errorf("the log says %s", log.String())
	}
}

// Would catch rows that a job leaves out without a word, or without the file that it is to write,
// and a file of rejects that a later run reads.
func TestRunRejects(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "day;n\n31.12.2025;1\nsoon;2\n01.01.2026;3;4\n01.02.2026;1.000\n")
	job := `
steps:
  - name: days
    from: in/*.csv
    input: {date_format: "%d.%m.%Y", types: {day: date, n: int}, decimal_separator: ",", thousands: ".", rejects: left/out.csv}
    by: day
    agg: sum(n)
    output: out/days.csv
`
	var log strings.Builder
	j := reparsed(t, dir, job)
	report, err := j.Run(context.Background(), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Steps[0].Stats.RowsRejected; got != 2 {
		t.Errorf("%d rows were left out", got)
	}
	if !strings.Contains(log.String(), "rows left out because of errors") || !strings.Contains(log.String(), "rows=2") {
		t.Errorf("the log says %s", log.String())
	}
	left, err := os.ReadFile(filepath.Join(dir, "left", "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "in", "a.csv")
	want := "file,line,byte,column,value,reason,text\n" +
		path + ",3,19,day,soon,\"not of type DATE by the format \"\"%d.%m.%Y\"\"\",soon;2\n" +
		path + ",4,26,,,more than the 2 fields of the rows before,01.01.2026;3;4\n"
	if string(left) != want {
		t.Errorf("got\n%s\nwant\n%s", left, want)
	}
	if _, err := reparsed(t, dir, strings.Replace(job, "left/", "in/", 1)).Run(context.Background(), Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := reparsed(t, dir, strings.Replace(job, "left/", "in/", 1)).Run(context.Background(), Options{Force: true}); err == nil || !strings.Contains(err.Error(), "what it writes") {
		t.Errorf("rejects among the inputs: %v", err)
	}
}

// Would catch an output that is published although too many rows of its input have errors, one that is not where they
// are few enough, an error without the numbers or the field, and rows with errors that nobody can look at.
func TestRunMaxRejects(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "n\n1\n2\n")
	writeFile(t, filepath.Join(dir, "in", "b.csv"), "n\n3\nx\n")
	job := `
steps:
  - name: sum
    from: in/*.csv
    input: {types: {n: int}, max_rejects: LIMIT, rejects: left.csv}
    agg: sum(n) as n
    output: out.csv
`
	run := func(limit string) error {
		_, err := reparsed(t, dir, strings.Replace(job, "LIMIT", limit, 1)).Run(t.Context(), Options{})
		return err
	}
	out := filepath.Join(dir, "out.csv")
	for _, limit := range []string{"25%", "1"} {
		if err := run(limit); err != nil || readFile(t, out) != "n\n6\n" {
			t.Errorf("%s: %v, %s", limit, err, readFile(t, out))
		}
		writeFile(t, out, "kept")
	}
	for limit, allows := range map[string]string{"24.9%": "24.9%", "0": "0"} {
		if err := os.RemoveAll(filepath.Join(dir, "left.csv")); err != nil {
			t.Fatal(err)
		}
		err := run(limit)
		want := "step sum: too many rows with errors: 1 of 4 rows (25%), and input.max_rejects allows " + allows + "; " +
			filepath.Join(dir, "left.csv") + " has them"
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", limit, err, want)
		}
		if got := readFile(t, out); got != "kept" {
			t.Errorf("%s: the output is %s", limit, got)
		}
		if got := readFile(t, filepath.Join(dir, "left.csv")); !strings.Contains(got, ",n,x,") {
			t.Errorf("%s: the rejects are %s", limit, got)
		}
	}
}

// Would catch a step that fails without files though its input is optional, one that runs with none, a pattern without
// files that hides those of another, and an input that is not optional and is passed over.
func TestRunOptional(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	job := `
steps:
  - name: sum
    from: [in/*.csv, missing.csv, empty, gone/**/*.csv]
    input: {optional: true}
    agg: sum(n) as n
    output: sum.csv
  - name: twice
    sql: SELECT n * 2 AS n FROM sum
    input: {optional: true}
    output: twice.csv
`
	run := func(text string) (outcomes, reasons []string, err error) {
		report, err := reparsed(t, dir, text).Run(t.Context(), Options{})
		for _, s := range report.Steps {
			outcomes, reasons = append(outcomes, string(s.Outcome)), append(reasons, s.Reason)
		}
		return outcomes, reasons, err
	}
	outcomes, reasons, err := run(job)
	if err != nil || !slices.Equal(outcomes, []string{"skipped", "skipped"}) || !strings.Contains(reasons[0], "optional") ||
		!strings.Contains(reasons[1], "what step sum writes") {
		t.Errorf("no file: %v, %q, %v", outcomes, reasons, err)
	}
	plan, err := reparsed(t, dir, job).Plan(t.Context(), Options{})
	if err != nil || !strings.Contains(plan.String(), "1. sum: skipped, its input is optional, and there is none") {
		t.Errorf("no file: %v, %v", plan, err)
	}
	if _, _, err := run(strings.ReplaceAll(job, "true", "false")); err == nil || !strings.Contains(err.Error(), "no file matches") {
		t.Errorf("an input that is not optional: %v", err)
	}
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "n\n1\n2\n")
	if outcomes, _, err := run(job); err != nil || !slices.Equal(outcomes, []string{"done", "done"}) {
		t.Errorf("a file: %v, %v", outcomes, err)
	}
	if got := readFile(t, filepath.Join(dir, "twice.csv")); got != "n\n6\n" {
		t.Errorf("a file: %s", got)
	}
	if outcomes, _, err := run(job); err != nil || !slices.Equal(outcomes, []string{"skipped", "skipped"}) {
		t.Errorf("nothing has changed: %v, %v", outcomes, err)
	}
	writeFile(t, filepath.Join(dir, "empty", "b.csv"), "n\n5\n")
	if outcomes, _, err := run(job); err != nil || !slices.Equal(outcomes, []string{"done", "done"}) {
		t.Errorf("a file of another pattern: %v, %v", outcomes, err)
	}
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "m\n1\n")
	if _, _, err := run(job); err == nil {
		t.Error("an error of a file that is there was passed over")
	}
}
