package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// longJob writes a job into a folder whose one step takes some seconds, or as long as somebody
// waits for it.
func longJob(t *testing.T, times int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var rows strings.Builder
	rows.WriteString("k,v\n")
	for i := range 400_000 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("in.csv", rows.String())
	write("long.yaml", `
limits: {threads: 1, memory: 512MiB}
steps:
  - name: all
    from: [`+strings.Repeat("in.csv, ", times)+`in.csv]
    by: k
    agg: sum(v)
    output: out.parquet
`)
	return dir
}

// started starts mpga run and waits until its step writes, or has written.
func started(t *testing.T, dir string, flags ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	cmd := exec.Command("mpga", append(flags, "run", "--log-level", "warn", filepath.Join(dir, "long.yaml"))...)
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < hurry; time.Sleep(5 * time.Millisecond) {
		if written, _ := filepath.Glob(filepath.Join(dir, "*out.parquet*")); len(written) > 0 {
			return cmd, stderr
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Fatalf("the step does not write: %s", stderr)
	return nil, nil
}

// namesIn lists a folder.
func namesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// kill kills a process, which may have ended before.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// Would catch a lock that outlives its process, an output that is half written, and a run that
// trusts or trips over what a killed one has left.
func TestRunKilled(t *testing.T) {
	dir := longJob(t, 10)
	cmd, _ := started(t, dir)
	for kill(t, cmd); cmd.ProcessState.Success(); kill(t, cmd) {
		dir = longJob(t, 10) // on a busy machine it may have ended before
		cmd, _ = started(t, dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.parquet")); err == nil {
		t.Error("a killed run has an output")
	}
	if out, err := exec.Command("mpga", "run", filepath.Join(dir, "long.yaml")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := namesIn(t, dir), ".long.state in.csv long.yaml out.parquet"; got != want {
		t.Errorf("left: %s, want %s", got, want)
	}
	if got := namesIn(t, filepath.Join(dir, ".long.state")); !regexp.MustCompile(`^all\.[0-9a-f]+\.json lock$`).MatchString(got) {
		t.Errorf("left: %s", got)
	}
	out, err := exec.Command("mpga", "agg", "--agg", "count(*), sum(\"sum(v)\")", "--format", "csv", filepath.Join(dir, "out.parquet")).Output()
	if want := fmt.Sprintf("400000,%d", 11*int64(400_000)*399_999/2); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
}

// Would catch two runs at a time, and an error that does not name the other.
func TestRunLocked(t *testing.T) {
	dir := longJob(t, 200)
	cmd, _ := started(t, dir)
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	second := exec.Command("mpga", "run", filepath.Join(dir, "long.yaml"))
	out, err := second.CombinedOutput()
	host, _ := os.Hostname()
	if want := fmt.Sprintf("the job is already running: process %d on %s holds ", cmd.Process.Pid, host); second.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), want) {
		t.Errorf("got %v: %s, want %s", err, out, want)
	}
}

// Would catch a job that outlives its Ctrl-C, if only until its step has read all, or leaves files.
func TestRunInterrupted(t *testing.T) {
	dir, metrics := longJob(t, 200), filepath.Join(t.TempDir(), "metrics.prom")
	cmd, stderr := started(t, dir, "--metrics-file", metrics)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = ended(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "mpga: interrupted\n" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if got, want := namesIn(t, dir), ".long.state in.csv long.yaml"; got != want {
		t.Errorf("left: %s, want %s", got, want)
	}
	text, err := os.ReadFile(metrics)
	if err != nil || regexp.MustCompile(`(?m)^mpga_query_progress_ratio\{.*\} (0\.[5-9]|1)`).Match(text) {
		t.Errorf("%v: the step went on: %s", err, text)
	}
}

// A collector that nobody hears of does not hold up Ctrl-C, as it would a command that is done.
func TestRunInterruptedWithoutCollector(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	dir := longJob(t, 200)
	var cmd *exec.Cmd
	var stderr *strings.Builder
	for try := 0; ; try++ { // a machine that has other work may take that long once or twice
		cmd, stderr = started(t, dir)
		start := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = ended(t, cmd)
		took := time.Since(start)
		if took < flushTimeMax {
			break
		}
		if try == 5 {
			t.Errorf("ended %v after the signal", took)
			break
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(stderr.String(), "traces are not complete") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// collector takes traces over HTTP and gRPC.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*tracepb.Span
	names map[string]bool // of services
}

// Export implements collectorpb.TraceServiceServer.
func (c *collector) Export(_ context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				c.names[a.GetValue().GetStringValue()] = true
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := new(collectorpb.ExportTraceServiceRequest)
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, request) != nil {
		http.Error(w, "no trace", http.StatusBadRequest)
		return
	}
	_, _ = c.Export(r.Context(), request)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Would catch spans that do not arrive, or are not below each other.
func TestRunTraces(t *testing.T) {
	job := filepath.Join(longJob(t, 0), "long.yaml")
	overHTTP := &collector{names: make(map[string]bool)}
	server := httptest.NewServer(overHTTP)
	defer server.Close()

	overGRPC := &collector{names: make(map[string]bool)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	grpcServer := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(grpcServer, overGRPC)
	go func() { _ = grpcServer.Serve(listener) }()
	defer grpcServer.Stop()

	for protocol, c := range map[string]*collector{"http/protobuf": overHTTP, "grpc": overGRPC} {
		endpoint := server.URL
		if protocol == "grpc" {
			endpoint = "http://" + listener.Addr().String()
		}
		cmd := exec.Command("mpga", "run", "--force", job)
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
			"OTEL_SERVICE_NAME=nightly", "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", protocol, err, out)
		}
		c.check(t, protocol)
	}
}

func (c *collector) check(t *testing.T, protocol string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.names["nightly"] {
		t.Errorf("%s: services %v", protocol, c.names)
	}
	parents := map[string]string{}
	names := map[string]string{fmt.Sprintf("%x", []byte{0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31}): "TRACEPARENT"}
	for _, s := range c.spans {
		names[fmt.Sprintf("%x", s.GetSpanId())] = s.GetName()
		if got := fmt.Sprintf("%x", s.GetTraceId()); got != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s: %s has trace %s", protocol, s.GetName(), got)
		}
	}
	for _, s := range c.spans {
		parents[s.GetName()] = names[fmt.Sprintf("%x", s.GetParentSpanId())]
	}
	want := map[string]string{"job long": "TRACEPARENT", "step all": "job long",
		"phase plan": "step all", "phase partition": "step all", "phase process": "step all"}
	if fmt.Sprint(parents) != fmt.Sprint(want) {
		t.Errorf("%s: got  %v\nwant %v", protocol, parents, want)
	}
}

// Would catch an endpoint that says nothing while a job runs, or that Prometheus cannot read.
func TestRunMetricsEndpoint(t *testing.T) {
	dir := longJob(t, 200)
	cmd := exec.Command("mpga", "run", "--metrics-listen", "127.0.0.1:0", filepath.Join(dir, "long.yaml"))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(line)
	if url == "" {
		t.Fatalf("%q, %v", line, err)
	}
	start := regexp.MustCompile(`(?m)^mpga_run_start_timestamp_seconds\{command="run"(,job="long")?\} [1-9][0-9.e+]*$`)
	sample := regexp.MustCompile(`(?m)^mpga_query_rows_read\{command="run",job="long",step="all"\} [1-9][0-9.e+]*$`)
	for {
		response, err := http.Get(url)
		if err != nil {
			t.Fatalf("no rows were read before the job ended, the metrics say: %v", err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Fatalf("%s, %v", response.Status, err)
		}
		if len(start.FindAll(text, -1)) != 1 {
			t.Fatalf("not one start of the run in %q", text)
		}
		if sample.Match(text) {
			if !strings.Contains(string(text), "# TYPE mpga_query_rows_read gauge\n") {
				t.Errorf("%s", text)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Would catch an endpoint that says nothing of a query until the query is done.
func TestQueryMetricsEndpoint(t *testing.T) {
	cmd := exec.Command("mpga", "agg", "-v", "--by", "a", "--agg", "sum(b)", "--metrics-listen", "127.0.0.1:0", "--format", "csv", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(line)
	if url == "" {
		t.Fatalf("%q, %v", line, err)
	}
	get := func() string {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		return string(bodyOf(t, response))
	}
	if text := get(); !strings.Contains(text, "mpga_run_start_timestamp_seconds{command=\"agg\"} ") {
		t.Errorf("before there is input: %q", text)
	}
	if _, err := io.WriteString(stdin, "a,b\n"+strings.Repeat("1,1234567890123456\n", 1<<20)); err != nil {
		t.Fatal(err)
	}
	for !regexp.MustCompile(`(?m)^mpga_query_rows_read\{command="agg"\} [1-9]`).MatchString(get()) { // the input is open still
		time.Sleep(10 * time.Millisecond)
	}
}

func TestMetricsText(t *testing.T) {
	m := &metrics{values: make(map[string]map[string]float64)}
	m.set("mpga_run_success", 1, "job", "a\"b\\c\nd")
	m.set("mpga_run_duration_seconds", 0.25)
	want := "# HELP mpga_run_duration_seconds How long the last run took.\n# TYPE mpga_run_duration_seconds gauge\nmpga_run_duration_seconds 0.25\n" +
		"# HELP mpga_run_success 1 if the last run ended without an error, 0 if not.\n# TYPE mpga_run_success gauge\nmpga_run_success{job=\"a\\\"b\\\\c\\nd\"} 1\n"
	if got := string(m.text()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// bodyOf reads the body of a response, and closes it.
func bodyOf(t *testing.T, response *http.Response) []byte {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
