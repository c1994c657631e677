package objects

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// readWeb reads all of a file that a handler serves.
func readWeb(t *testing.T, opt Options, handler http.HandlerFunc) (string, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	opt.TempDir, opt.Client = t.TempDir(), server.Client()
	f, err := newFS(t, opt).Open(server.URL + "/f.csv")
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), errors.Join(err, f.Close())
}

// B2. Would catch a server that is waited for without end: it sends whole files only, and stalls at
// first.
func TestWholeFileStalls(t *testing.T) {
	content := strings.Repeat("a,b\n1,2\n", 100_000)
	var gets atomic.Int64
	text, err := readWeb(t, Options{Timeout: 200 * time.Millisecond, Pause: time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "800000")
		if r.Method == http.MethodHead {
			return
		}
		if r.Header.Get("Range") == "" && gets.Add(1) == 1 {
			_, _ = io.WriteString(w, content[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, content)
	})
	if err != nil || text != content {
		t.Errorf("%d B were read, %v", len(text), err)
	}
	if gets.Load() != 2 {
		t.Errorf("the file was asked for %d times", gets.Load())
	}
}

// B3. Would catch bytes of another version than the one that was opened, by ranges and as a whole
// file.
func TestWebVersions(t *testing.T) {
	for name, change := range map[string]func(w http.ResponseWriter, r *http.Request, content string){
		"range, tag": func(w http.ResponseWriter, r *http.Request, content string) {
			w.Header().Set("ETag", `"2"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		},
		"range, size": func(w http.ResponseWriter, r *http.Request, content string) {
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content+"3,4\n"))
		},
		"whole, tag": func(w http.ResponseWriter, _ *http.Request, content string) {
			w.Header().Set("ETag", `"2"`)
			_, _ = io.WriteString(w, content)
		},
		"whole, size": func(w http.ResponseWriter, _ *http.Request, content string) {
			_, _ = io.WriteString(w, content+"3,4\n")
		},
	} {
		_, err := readWeb(t, Options{Attempts: 1}, func(w http.ResponseWriter, r *http.Request) {
			content := strings.Repeat("a,b\n1,2\n", 50_000)
			if r.Method == http.MethodHead {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Length", "400000")
				return
			}
			change(w, r, content)
		})
		if !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Would catch the bytes of another range, or the parts of a multipart answer, that are taken for
// those asked for.
func TestWebOtherRange(t *testing.T) {
	content := strings.Repeat("a,b\n1,2\n", 50_000)
	for name, sent := range map[string]string{"other": "bytes 8-399999/400000", "none": "", "another unit": "rows 0-399999/400000"} {
		_, err := readWeb(t, Options{Attempts: 1}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Length", "400000")
				return
			}
			if sent != "" {
				w.Header().Set("Content-Range", sent)
			}
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, content)
		})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("sent the range %q", sent)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
