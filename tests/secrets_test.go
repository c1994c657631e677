package tests

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	mpgasql "github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
)

// secret is in every user, password and parameter of the URLs that these tests use, and nowhere
// else.
const secret = "HUSH"

// secretURL returns the URL of a file of a server, with credentials of all kinds.
func secretURL(address, file string) string {
	return "http://u" + secret + ":p%20" + secret + "@" + address + "/" + file + "?X-Amz-Credential=AK" + secret + "%2Fus&X-Amz-Signature=s" + secret
}

// newFileServer serves good files, damaged ones, and answers that are none, by their names.
func newFileServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	_, batch := salesTable(2000)
	for _, name := range []string{"good.parquet", "good.csv", "good.arrow"} {
		if err := write(filepath.Join(dir, name), sink.Options{}, batch); err != nil {
			t.Fatal(err)
		}
	}
	good, err := os.ReadFile(filepath.Join(dir, "good.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 4; i < len(good)/2; i++ {
		good[i] ^= 0x55
	}
	for name, content := range map[string]string{
		"bad.parquet": string(good), "footer.parquet": "PAR1 nothing of the kind PAR1",
		"bad.csv": "n\n" + strings.Repeat("1\n", 100_000) + "x\n", "empty.csv": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		name := strings.TrimPrefix(r.URL.Path, "/")
		if wanted := "u" + secret + ":p " + secret; name != "loop" && (user+":"+password != wanted || !strings.HasPrefix(r.URL.Query().Get("X-Amz-Signature"), "s"+secret)) {
			http.Error(w, "who are you?", http.StatusUnauthorized) // also where what people see is taken for the URL
			return
		}
		switch name {
		case "403", "500":
			http.Error(w, "you are u"+secret, map[string]int{"403": 403, "500": 500}[name])
		case "silent":
			<-r.Context().Done()
		case "loop":
			http.Redirect(w, r, "/loop?token="+secret, http.StatusFound)
		default:
			http.ServeFile(w, r, filepath.Join(dir, name))
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// refusedAddress returns an address at which nobody listens.
func refusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// secretRun runs mpga in a folder of its own, with all that it may write of a query, and looks for
// secrets in all of it.
func secretRun(t *testing.T, env []string, args ...string) (out string, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	cmd := exec.Command(buildCommand(t), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	wantNoSecret(t, fmt.Sprintf("mpga %q", args), text)
	wantNoSecretIn(t, dir)
	return string(text), dir, err
}

// secretRuns makes runs side by side, for most of them wait, and checks whether they fail.
func secretRuns(t *testing.T, runs []commandRun) {
	t.Helper()
	buildCommand(t)
	var group errgroup.Group
	group.SetLimit(8)
	for _, r := range runs {
		group.Go(func() error {
			if out, _, err := secretRun(t, r.env, r.args...); (err != nil) != r.fails {
				t.Errorf("%q: %v\n%s", r.args, err, out)
			}
			return nil
		})
	}
	_ = group.Wait() // without an error
}

// commandRun is a run of mpga, which is to fail or not.
type commandRun struct {
	args, env []string
	fails     bool
}

func wantNoSecret(t *testing.T, what string, text []byte) {
	t.Helper()
	if at := bytes.Index(text, []byte(secret)); at >= 0 {
		t.Errorf("%s shows a secret: ...%s...", strings.ReplaceAll(what, secret, "."), text[max(at-300, 0):min(at+100, len(text))])
	}
}

// wantNoSecretIn looks for secrets in all files below a folder, and in their names.
func wantNoSecretIn(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".job.yaml") {
			return err
		}
		content, err := os.ReadFile(path)
		wantNoSecret(t, path, []byte(path+"\n"+string(content)))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// everyOutput are flags by which a query writes all that it may write.
func everyOutput(level string) []string {
	return []string{"--stats=DIR/stats.json", "--report", "DIR/report.html", "--trace", "DIR/trace.json", "--otlp-file", "DIR/otlp.json",
		"--metrics-file", "DIR/metrics.prom", "--progress", "plain", "--log-level", "debug", "--log-format", level, "--http-timeout", "300ms"}
}

// Would catch a user, a password or a parameter of a URL in a manifest, a report, a plan, an error,
// a log, a trace or a metric, of queries that end well and that fail in every way in which they do.
func TestSecretsOfQueries(t *testing.T) {
	server, refused := newFileServer(t), refusedAddress(t)
	good := secretURL(server, "good.csv")
	var runs []commandRun
	for i, file := range []string{"good.csv", "good.parquet", "good.arrow"} {
		url := secretURL(server, file)
		for j, args := range [][]string{
			append([]string{"agg", "--by", "city", "--agg", "count(*)", "--manifest", "-o", "DIR/out", url}, everyOutput("text")...),
			append([]string{"sql", "SELECT city, sum(n) FROM '" + url + "' GROUP BY 1", "--manifest", "-o", "DIR/out"}, everyOutput("json")...),
			{"sql", "--explain", "--table", "t=" + url, "SELECT city, count(*) + 1 FROM t WHERE n > 7 GROUP BY ALL ORDER BY 2 LIMIT 3"},
			{"agg", "--explain", "--agg", "count(*)", "--where", "note <> '" + url + "'", url},
			{"agg", "--agg", "count(*)", "--by", "city", "--partial", "-o", "DIR/part", url},
			{"describe", url},
		} {
			if i > 0 && j%3 != i {
				continue // for the time that it takes
			}
			runs = append(runs, commandRun{args: args})
		}
	}
	_, dir, err := secretRun(t, nil, append([]string{"agg", "--by", "city", "--manifest", "-o", "DIR/out", good}, everyOutput("text")...)...)
	if err != nil {
		t.Error(err)
	}
	wantMode(t, filepath.Join(dir, "report.html"), 0o600)
	for i, url := range []string{
		secretURL(server, "bad.parquet"), secretURL(server, "footer.parquet"), secretURL(server, "bad.csv"), secretURL(server, "empty.csv"),
		secretURL(server, "403"), secretURL(server, "404.csv"), secretURL(server, "500"), secretURL(server, "loop"), secretURL(server, "silent"),
		secretURL(refused, "x.csv"), strings.Replace(good, "http:", "https:", 1), strings.Replace(good, "p%20", "p%2", 1),
		strings.Replace(good, "p%20", "p q/", 1), "https://u" + secret + ":p" + secret + "@host.invalid/x?sig=" + secret,
		"s3://u" + secret + ":p" + secret + "@bucket/key.csv", "s3://bucket?accessKey=" + secret + "/x.csv", "az://c/x.csv?sv=1&sig=" + secret,
	} {
		for j, args := range [][]string{
			append([]string{"agg", "--agg", "sum(n)", "--manifest", "-o", "DIR/out", url}, everyOutput("text")...),
			append([]string{"sql", "SELECT sum(n) FROM '" + strings.ReplaceAll(url, "'", "''") + "'"}, everyOutput("json")...),
			{"describe", "--http-timeout", "300ms", url},
		} {
			if j != 0 && j != 1+i%3 || args[0] == "describe" && strings.Contains(url, "/bad.") {
				continue // for the time that it takes, or since describe does not read what is bad
			}
			env := append(storeEnv(refused), "https_proxy=http://u"+secret+":p"+secret+"@"+refused)
			runs = append(runs, commandRun{args: args, env: env, fails: true})
		}
	}
	secretRuns(t, runs)
}

// storeEnv points the stores to an address, with credentials.
func storeEnv(address string) []string {
	return []string{
		"AWS_ENDPOINT_URL=http://u" + secret + ":p" + secret + "@" + address, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AK" + secret,
		"AWS_SECRET_ACCESS_KEY=" + secret, "AWS_SESSION_TOKEN=" + secret, "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
		"STORAGE_EMULATOR_HOST=u" + secret + ":p" + secret + "@" + address,
		"AZURE_STORAGE_ACCOUNT=account", "AZURE_STORAGE_SAS_TOKEN=sv=1&sig=" + secret, "AZURE_STORAGE_PROTOCOL=http",
		"AZURE_STORAGE_DOMAIN=" + address, "AZURE_STORAGE_IS_LOCAL_EMULATOR=true",
	}
}

// Would catch a secret in what is said of a command line that is wrong, of a text that is no SQL,
// of stores that refuse and of collectors of traces.
func TestSecretsOfErrors(t *testing.T) {
	server, refused := newFileServer(t), refusedAddress(t)
	url := secretURL(server, "good.csv")
	var runs []commandRun
	for _, args := range [][]string{
		{"-c", "SELECT nope FROM '" + url + "'"}, {"agg", "--limit", url, "x.csv"}, {"agg", "--agg", "count(*)", "-o", url, url}, {"agg", "--agg", "count(*)", "--stats=" + url, url},
		{"agg", "--agg", "count(*)", "--report", url, url}, {"agg", "--agg", "count(*)", "--trace", url, url}, {"agg", "--agg", "count(*)", "--otlp-file", url, url},
		{"agg", "--agg", "count(*)", "--metrics-listen", url, url}, {"agg", "--agg", "sum(nope)", url}, {"agg", "--agg", "count(*)", url, "--temp-dir", url, "--device", url},
		{"sql", "--file", url}, {"sql", "SELECT nope FROM '" + url + "'"}, {"sql", "SELECT count(*) FROM '" + url + "' WHERE"}, {"sql", "SELECT FROM FROM '" + url + "'"},
		{"sql", "SELECT count(*) FROM " + url}, {"sql", "SELECT count(*) FROM '" + url + "' t JOIN '" + url + "' u"}, {"sql", "SELECT x FROM t", "--table", url},
		{"sql", "SELECT '" + url + "'::INT, city FROM '" + url + "' GROUP BY 2"}, {"sql", "SELECT count(*) FROM read_csv('" + url + "', nope = 1)"},
		{"run", url}, {"run", "--set", url, "x.yaml"}, {"merge", url}, {"gen", "pairs", "--rows", "10", "-o", url}, {"agg", "--agg", "count(*)", "--partial", "-o", url, url},
		{"agg", "--agg", "count(*)", "s3://bucket/key.csv"}, {"agg", "--agg", "count(*)", "s3://bucket/dir/*.csv"}, {"agg", "--agg", "count(*)", "-o", "s3://bucket/key.csv", url},
		{"agg", "--agg", "count(*)", "gs://bucket/key.csv"}, {"agg", "--agg", "count(*)", "-o", "gs://bucket/key.csv", url}, {"agg", "--agg", "count(*)", "--manifest", "-o", "gs://bucket/dir", url},
		{"agg", "--agg", "count(*)", "az://bucket/key.csv"}, {"agg", "--agg", "count(*)", "-o", "az://bucket/key.csv", url}, {"agg", "--agg", "count(*)", "-o", url + "/x.csv", url},
	} {
		runs = append(runs, commandRun{args: append(args, "-vv"), env: storeEnv(refused), fails: true})
	}
	for _, env := range [][]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u" + secret + ":p" + secret + "@" + refused + "/v1?key=" + secret},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u" + secret + ":p%zz" + secret + "@" + refused},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + refused, "OTEL_EXPORTER_OTLP_HEADERS=api-key=" + secret + ",no" + secret + ",x=%zz" + secret},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u" + secret + ":p" + secret + "@" + refused, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=://u" + secret + ":p" + secret + "@" + refused, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
	} {
		env = append(env, "OTEL_EXPORTER_OTLP_TIMEOUT=200", "OTEL_BSP_EXPORT_TIMEOUT=300")
		runs = append(runs, commandRun{args: append([]string{"agg", "--agg", "count(*)", url}, everyOutput("text")...), env: env})
	}
	secretRuns(t, runs)
}

// wantMode checks who may open a file.
func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != want {
		t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), want)
	}
}

// Would catch a secret in what a job writes and says, a state that others may read, and a step that
// is skipped though its input has another URL.
func TestSecretsOfJobs(t *testing.T) {
	server := newFileServer(t)
	url := secretURL(server, "good.csv")
	dir := t.TempDir()
	file := filepath.Join(dir, "x.job.yaml")
	run := func(url string, args ...string) (string, error) {
		t.Helper()
		job := "name: x\nretry: {attempts: 1}\nsteps:\n- {name: one, from: \"" + url + "\", by: city, agg: count(*) as n, output: {path: out, manifest: true}}\n"
		if err := os.WriteFile(file, []byte(job), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(append([]string{"run"}, args...), "-vv", "--metrics-file", "metrics.prom", "--otlp-file", "otlp.json", "--http-timeout", "300ms", file)
		cmd := exec.Command(buildCommand(t), args...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		wantNoSecret(t, "mpga run", text)
		wantNoSecretIn(t, dir)
		return string(text), err
	}
	for _, c := range []struct {
		url  string
		args []string
		want string
	}{
		{url, []string{"--dry-run"}, "it has not run yet"},
		{url, nil, "step done"},
		{url, nil, "step skipped"},
		{url + "2", nil, "step done"},
		{url + "2", []string{"--dry-run"}, "nothing has changed"},
		{secretURL(server, "404.csv"), nil, "does not exist"},
		{secretURL(server, "bad.csv"), nil, "does not exist; the columns"},
		{secretURL(server, "silent"), nil, "sent nothing"},
		{secretURL(refusedAddress(t), "x.csv"), []string{"--log-format", "json"}, "connection refused"},
		{"s3://u" + secret + ":p" + secret + "@b/x.csv", nil, "no credentials"},
	} {
		if out, _ := run(c.url, c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%s: %s, want %q", strings.ReplaceAll(c.url, secret, "."), out, c.want)
		}
	}
	wantMode(t, filepath.Join(dir, ".x.state"), 0o700)
	states, err := filepath.Glob(filepath.Join(dir, ".x.state", "one.*.json"))
	if err != nil || len(states) == 0 {
		t.Errorf("states %v, %v", states, err)
	}
	for _, state := range states {
		wantMode(t, state, 0o600)
	}
	wantMode(t, filepath.Join(dir, ".x.state", "lock"), 0o600)
}

// panickingFS panics when a file is read, with its name.
type panickingFS struct{ vfs.FS }

func (f panickingFS) Open(name string) (vfs.File, error) { panic("open " + name) }

// Would catch a secret in the error of a panic, which names the query.
func TestSecretsOfPanics(t *testing.T) {
	url := secretURL("host.invalid", "x.csv")
	eng, err := engine.Open(engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	q, err := mpgasql.Parse("SELECT count(*) FROM '" + url + "'")
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Prepare(context.Background(), eng, q, plan.Options{Scan: dataset.Options{FS: knownFS{panickingFS{vfs.OS}}}})
	if err == nil || !strings.Contains(err.Error(), "host.invalid") {
		t.Errorf("%v", err)
	}
	wantNoSecret(t, "a panic", []byte(fmt.Sprint(err)))
}

// knownFS knows every file.
type knownFS struct{ vfs.FS }

func (f knownFS) Stat(string) (fs.FileInfo, error) { return fileInfo{}, nil }

type fileInfo struct{ fs.FileInfo }

func (fileInfo) IsDir() bool        { return false }
func (fileInfo) Mode() fs.FileMode  { return 0 }
func (fileInfo) ModTime() time.Time { return time.Time{} }
