package tests

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowServer answers in one way that takes for ever, and tells when it was asked first.
func slowServer(t *testing.T, serve http.HandlerFunc) (address string, asked chan struct{}) {
	t.Helper()
	asked = make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(asked) })
		serve(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String(), asked
}

func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else the server does not hear that the client has gone
	<-r.Context().Done()
}

func trickling(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "100000")
	for r.Method == http.MethodGet && r.Context().Err() == nil {
		_, _ = w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

func later(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "3600")
	w.WriteHeader(http.StatusServiceUnavailable)
}

// Would catch a command that Ctrl-C does not end while it waits for a server, or that leaves
// something of its output.
func TestInterruptedAtServers(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(input, []byte("n\n1\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		serve       http.HandlerFunc
		input, into string // HTTP stands for the server
	}{
		"silence":              {silent, "HTTP/x.csv", "out.csv"},
		"a body that trickles": {trickling, "HTTP/x.csv", "out.csv"},
		"a long pause":         {later, "HTTP/x.csv", "out.csv"},
		"s3, silence":          {silent, "s3://bucket/x.csv", "out.csv"},
		"s3, a list":           {silent, "s3://bucket/*.csv", "out.csv"},
		"s3, an upload":        {silent, input, "s3://bucket/out.csv"},
		"gs, an upload":        {silent, input, "gs://bucket/out.csv"},
		"az, an upload":        {silent, input, "az://bucket/out.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			address, asked := slowServer(t, c.serve)
			cmd := exec.Command(buildCommand(t), "agg", "--http-timeout", "1h", "--by", "n", "-o", c.into, strings.Replace(c.input, "HTTP", "http://"+address, 1))
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), storeEnv(address)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer watchdog.Stop()
			<-asked
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			start := time.Now()
			err := cmd.Wait()
			t.Logf("it ended after %v", time.Since(start))
			if cmd.ProcessState.ExitCode() != 130 || out.String() != "mpga: interrupted\n" {
				t.Errorf("%v: %s", err, &out)
			}
			if names := fileNames(t, cmd.Dir); len(names) > 0 {
				t.Errorf("left: %q", names)
			}
		})
	}
}

// Would catch a server that is waited for without a word, whatever is asked of it, and a time-out
// that does not end the wait: for reading, listing and writing, of all stores.
func TestSilentServers(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(input, []byte("n\n1\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	address, _ := slowServer(t, silent)
	for _, c := range []struct{ input, into string }{
		{"http://" + address + "/x.csv", "-"}, {"s3://bucket/x.csv", "-"}, {"gs://bucket/x.csv", "-"}, {"az://bucket/x.csv", "-"}, {"s3://bucket/*.csv", "-"},
		{input, "s3://bucket/out.csv"}, {input, "gs://bucket/out.csv"}, {input, "az://bucket/out.csv"},
	} {
		t.Run(c.input+" to "+c.into, func(t *testing.T) {
			cmd := exec.Command(buildCommand(t), "agg", "--http-timeout", "200ms", "--by", "n", "-o", c.into, "--format", "csv", c.input)
			cmd.Env = append(os.Environ(), append(storeEnv(address), "STORAGE_EMULATOR_HOST="+address)...)
			watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer watchdog.Stop()
			out, err := cmd.CombinedOutput()
			for _, part := range []string{"waiting for a server that sends nothing", address, "--http-timeout", "sent nothing for 200ms"} {
				if err == nil || !strings.Contains(string(out), part) {
					t.Errorf("%v: %s, want %q", err, out, part)
				}
			}
		})
	}
}
