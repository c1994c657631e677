package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpga/mpga/internal/vfs"
)

// secretName is the name of a file of a server with credentials of all kinds, each with the word
// HUSH.
func secretName(server string) string {
	return strings.Replace(server, "http://", "http://userHUSH:passHUSH@", 1) + "/f.csv?X-Amz-Signature=sigHUSH&sig=a%2BHUSH#HUSH"
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// hostile are servers that do not do what is asked of them. Options are those of newHostileFS.
var hostile = map[string]struct {
	serve    func(w http.ResponseWriter, r *http.Request)
	want     string // of the error
	requests int64  // that are made at most
}{
	"silence": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "sent nothing for 100ms", 2},
	"silent body": {func(w http.ResponseWriter, r *http.Request) {
		begin(w, r, 50_000)
		if r.Method == http.MethodGet {
			<-r.Context().Done()
		}
	}, "sent nothing for 100ms", 3},
	"trickle": {func(w http.ResponseWriter, r *http.Request) {
		begin(w, r, 50_000)
		for r.Method == http.MethodGet && r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}, "sent nothing for 100ms, or less than 512 B", 3},
	"500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "tried 5 times: 500", 10},
	"503, later": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "86400")
		w.WriteHeader(http.StatusServiceUnavailable)
	}, "tried 5 times: 503", 10},
	"403": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "403 Forbidden", 2},
	"redirections": {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/f.csv?token=tokenHUSH", http.StatusFound)
	}, "one redirection after the other", 10},
	"a redirection to nowhere": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://u:pHUSH@[bad/?sig=HUSH")
		w.WriteHeader(http.StatusFound)
	}, "Location", 5},
	"endless": {func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "500000")
			return
		}
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 1<<16))
		}
	}, "the object changed", 10},
	"cut off": {func(w http.ResponseWriter, r *http.Request) {
		begin(w, r, 50_000)
		if r.Method == http.MethodGet {
			panic(http.ErrAbortHandler)
		}
	}, "tried 5 times", 6},
	"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = c.Write([]byte("220 mail.example ESMTP\r\n"))
			_ = c.Close()
		}
	}, "tried 5 times", 5},
	"endless head": {func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, err = c.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for i := 0; err == nil; i++ {
			_, err = fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000))
		}
		_ = c.Close()
	}, "tried ", 5},
}

// begin answers with the head of a file.
func begin(w http.ResponseWriter, r *http.Request, size int) {
	w.Header().Set("Content-Length", fmt.Sprint(size))
	if at := r.Header.Get("Range"); at != "" {
		w.Header().Set("Content-Range", fmt.Sprintf("%s/%d", strings.Replace(at, "=", " ", 1), size))
		var from, to int
		if _, err := fmt.Sscanf(at, "bytes=%d-%d", &from, &to); err == nil {
			w.Header().Set("Content-Length", fmt.Sprint(to-from+1))
		}
		w.WriteHeader(http.StatusPartialContent)
	}
	if r.Method == http.MethodGet {
		w.(http.Flusher).Flush()
	}
}

// newHostileFS returns a file system of little patience, and what it logs.
func newHostileFS(ctx context.Context, t *testing.T) (*FS, *lockedBuffer) {
	log := &lockedBuffer{}
	f, err := New(ctx, vfs.OS, Options{Timeout: 100 * time.Millisecond, Pause: time.Millisecond, TempDir: t.TempDir(),
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	check(t, err)
	t.Cleanup(func() { check(t, f.Close()) })
	return f, log
}

func readAll(f *FS, name string) error {
	file, err := f.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, file)
	return errors.Join(err, file.Close())
}

// Would catch a server that is waited for without end or without a word, that is asked too often,
// whose error does not say what is wrong, or a secret in the error or the log.
func TestHostileServers(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				c.serve(w, r)
			})
			f, log := newHostileFS(t.Context(), t)
			err := readAll(f, secretName(server.URL))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if n := requests.Load(); n > c.requests {
				t.Errorf("%d requests, want %d at most", n, c.requests)
			}
			if text := log.String(); strings.Contains(fmt.Sprint(err), "HUSH") || strings.Contains(text, "HUSH") {
				t.Errorf("a secret is shown: %v\n%s", err, text)
			}
			warned := strings.Contains(log.String(), "waiting for a server that sends nothing")
			if strings.Contains(c.want, "sent nothing") && !warned {
				t.Errorf("there was no warning: %s", log)
			}
			retried := strings.Contains(log.String(), `level=WARN msg="a request failed and is made again"`)
			if strings.Contains(c.want, "tried 5 times") && !retried {
				t.Errorf("there was no warning of attempts: %s", log)
			}
		})
	}
}

// newServer starts a server that says nothing to the log of the test.
func newServer(t *testing.T, serve http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(serve)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// Would catch a request, a pause or a download that goes on when its file system's context has
// ended.
func TestHostileServersCancelled(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				cancel()
				c.serve(w, r)
			})
			f, _ := newHostileFS(ctx, t)
			f.opt.Timeout, f.opt.Pause = time.Hour, time.Hour // of which none may pass
			if err := readAll(f, secretName(server.URL)); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want %v", err, context.Canceled)
			}
		})
	}
}

// Would catch a refused connection that takes long, since attempts multiply, or whose error shows a
// secret.
func TestRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := listener.Addr().String()
	check(t, listener.Close())
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://uHUSH:pHUSH@" + address, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "HUSH",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"STORAGE_EMULATOR_HOST": "uHUSH:pHUSH@" + address,
		"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=HUSH", "AZURE_STORAGE_PROTOCOL": "http",
		"AZURE_STORAGE_DOMAIN": address, "AZURE_STORAGE_IS_LOCAL_EMULATOR": "true",
	} {
		t.Setenv(name, value)
	}
	settings := map[string]string{"s3": "AWS_ENDPOINT_URL", "gs": "STORAGE_EMULATOR_HOST", "az": "AZURE_STORAGE_DOMAIN", "ht": "HTTPS_PROXY"}
	for _, name := range []string{"s3://b/k.csv", "gs://b/k.csv", "az://b/k.csv", secretName("http://" + address)} {
		for does, do := range map[string]func(f *FS) error{
			"open": func(f *FS) error { return readAll(f, name) },
			"list": func(f *FS) error {
				_, err := f.List(name)
				return err
			},
			"upload": func(f *FS) error {
				u, err := f.Upload(name)
				if err != nil {
					return err
				}
				_, err = u.Write([]byte("text"))
				return errors.Join(err, u.Commit())
			},
		} {
			f, log := newHostileFS(t.Context(), t)
			dials := countDials(f)
			err := do(f)
			if n := dials.Load(); err == nil || n > 2 || strings.Contains(err.Error(), "HUSH") || strings.Contains(log.String(), "HUSH") {
				t.Errorf("%s %s: %d connections were tried, %v\n%s", does, name, n, err, log)
			} else if n > 0 && (!strings.Contains(err.Error(), "the server "+address+" cannot be reached: ") ||
				!strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), settings[name[:2]])) {
				t.Errorf("%s %s: %v", does, name, err)
			}
		}
	}
}

// Would catch a server whose name has no address that is asked for again and again, and one that is
// given up though it has answered before.
func TestUnreachable(t *testing.T) {
	const nowhere = "http://nowhere.invalid/f.csv"
	f, _ := newHostileFS(t.Context(), t)
	f.base.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}}
	}
	dials := countDials(f)
	err := readAll(f, nowhere)
	if n := dials.Load(); n != 2 || err == nil || !strings.Contains(err.Error(), "the server nowhere.invalid cannot be reached: ") {
		t.Errorf("%d attempts: %v", n, err)
	}

	server := newServer(t, func(w http.ResponseWriter, r *http.Request) { begin(w, r, 50_000) })
	f, _ = newHostileFS(t.Context(), t)
	if _, err := f.Stat(server.URL + "/f.csv"); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	server.Close()
	if _, err = f.Stat(server.URL + "/f.csv"); err == nil || !strings.Contains(err.Error(), "tried 5 times: the server ") {
		t.Errorf("of a server that has answered: %v", err)
	}
}

// Would catch credentials that a store's library asks for again and again within each attempt.
func TestCredentialAttempts(t *testing.T) {
	var asked atomic.Int64
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	for name, value := range map[string]string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL, "AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	f, _ := newHostileFS(t.Context(), t)
	if _, err := f.List("s3://b/"); err == nil || asked.Load() != int64(f.opt.Attempts) {
		t.Errorf("asked %d times for %d attempts, %v", asked.Load(), f.opt.Attempts, err)
	}
}

// countDials counts the connections that a file system tries to make.
func countDials(f *FS) *atomic.Int64 {
	n := &atomic.Int64{}
	base := f.base.(*http.Transport)
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, address)
	}
	return n
}

// Would catch a store whose endless list fills the memory.
func TestEndlessList(t *testing.T) {
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, err := io.WriteString(w, "<ListBucketResult><Prefix>")
		for err == nil && r.Context().Err() == nil {
			_, err = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	f, _ := newHostileFS(t.Context(), t)
	f.opt.Timeout = time.Minute
	if _, err := f.List("s3://b/"); err == nil || !strings.Contains(err.Error(), errEndless.Error()) {
		t.Errorf("%v, want %v", err, errEndless)
	}
}

// Would catch credentials that one server is told of another.
func TestReferer(t *testing.T) {
	var referers atomic.Int64
	other := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" {
			referers.Add(1)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("a\n1\n"))
	})
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/x.csv", http.StatusFound)
	})
	f, _ := newHostileFS(t.Context(), t)
	check(t, readAll(f, secretName(server.URL)))
	if referers.Load() > 0 {
		t.Error("the other server was told where the request came from")
	}
}

// A name of a bucket that has more than a name is refused, before anybody is asked.
func TestBucketNames(t *testing.T) {
	f, _ := newHostileFS(t.Context(), t)
	for _, name := range []string{"s3://uHUSH:HUSH@b/k", "gs://b?x=HUSH/k", "az://u:HUSH@c/k"} {
		_, err := f.Open(name)
		if err == nil || strings.Contains(err.Error(), "HUSH") || !strings.Contains(err.Error(), "no credentials and no parameters") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
