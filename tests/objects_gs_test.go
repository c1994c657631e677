package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
)

// googleStore is the part of Google's storage API that objects need: metadata, lists, ranges,
// uploads of one request and of many.
type googleStore struct {
	mu       sync.Mutex
	objects  map[string]string
	sessions map[string]string // what uploads of many requests have sent, by name
	deaf     bool              // whether a request of such an upload is answered with an error, though its bytes are kept
}

func (g *googleStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	const metadata, upload = "/storage/v1/b/bucket/o", "/upload/storage/v1/b/bucket/o"
	key := strings.TrimPrefix(r.URL.Path, metadata+"/")
	_, there := g.objects[key]
	switch {
	case r.URL.Path == upload && r.URL.Query().Get("uploadType") == "resumable":
		g.resumable(w, r)
	case r.Method == http.MethodPost && r.URL.Path == upload:
		g.upload(w, r)
	case r.Method == http.MethodGet && r.URL.Path == metadata:
		var items []map[string]string
		for name := range g.objects {
			if strings.HasPrefix(name, r.URL.Query().Get("prefix")) {
				items = append(items, g.describe(name))
			}
		}
		slices.SortFunc(items, func(a, b map[string]string) int { return strings.Compare(a["name"], b["name"]) })
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	case r.Method == http.MethodDelete && there:
		delete(g.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case key != r.URL.Path && there:
		_ = json.NewEncoder(w).Encode(g.describe(key))
	default:
		content, ok := g.objects[strings.TrimPrefix(r.URL.Path, "/bucket/")]
		if !ok {
			http.Error(w, `{"error": {"code": 404}}`, http.StatusNotFound)
			return
		}
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader(content))
	}
}

func (g *googleStore) describe(name string) map[string]string {
	return map[string]string{"bucket": "bucket", "name": name, "size": strconv.Itoa(len(g.objects[name])), "generation": "1"}
}

// upload takes a whole object.
func (g *googleStore) upload(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	content, err := io.ReadAll(r.Body)
	if err != nil || name == "" || r.URL.Query().Get("uploadType") != "media" || r.Header.Get("Content-Type") != "application/octet-stream" {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL, err), http.StatusBadRequest)
		return
	}
	if _, there := g.objects[name]; there && r.URL.Query().Get("ifGenerationMatch") == "0" {
		http.Error(w, `{"error": {"code": 412}}`, http.StatusPreconditionFailed)
		return
	}
	g.objects[name] = string(content)
	_ = json.NewEncoder(w).Encode(g.describe(name))
}

// resumable takes the beginning of an upload of many requests, some of its bytes, a question how
// many there are, or its end.
func (g *googleStore) resumable(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var from, to, size int
	asked := r.Header.Get("Content-Range")
	switch _, err := fmt.Sscanf(asked, "bytes %d-%d/", &from, &to); {
	case r.Method == http.MethodPost:
		g.sessions[name] = ""
		w.Header().Set("Location", "http://"+r.Host+r.URL.String())
		return
	case r.Method == http.MethodDelete:
		delete(g.sessions, name)
		w.WriteHeader(499)
		return
	case err == nil && (from != len(g.sessions[name]) || to-from+1 != len(body)):
		http.Error(w, fmt.Sprintf("%s of %d B after %d", asked, len(body), len(g.sessions[name])), http.StatusBadRequest)
		return
	}
	g.sessions[name] += string(body)
	if _, err := fmt.Sscanf(asked[strings.Index(asked, "/"):], "/%d", &size); err == nil && size == len(g.sessions[name]) {
		g.objects[name] = g.sessions[name]
	}
	g.deaf = !g.deaf && len(body) > 0
	have := len(g.sessions[name])
	switch {
	case g.deaf:
		w.WriteHeader(http.StatusServiceUnavailable)
	case err == nil && size == have && size > 0:
		delete(g.sessions, name)
		_ = json.NewEncoder(w).Encode(g.describe(name))
	default:
		if have > 0 {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", have-1))
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

// Would catch URLs of gs:// that do not reach Google's API as they should.
func TestGoogleStore(t *testing.T) {
	g := &googleStore{objects: make(map[string]string)}
	server := httptest.NewServer(g)
	defer server.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", server.Listener.Addr().String())
	fsys := newObjects(t, objects.Options{})
	schema, batch := salesTable(20_000)
	want := wantAnswer(t, schema, batch)
	opt := sink.Options{FS: fsys, PartitionBy: []string{"city"}, Manifest: true, Overwrite: true}
	for range 2 { // the second replaces the first
		if err := write("gs://bucket/out", opt, batch); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.objects) != 5 {
		t.Errorf("%d objects", len(g.objects))
	}
	for _, pattern := range []string{"gs://bucket/out", "gs://bucket/out/city=*/*.parquet"} {
		got, err := answerFrom(t.Context(), t, fsys, pattern)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if _, err := answerFrom(t.Context(), t, fsys, "gs://bucket/none.parquet"); err == nil || !strings.Contains(err.Error(), "gs://bucket/none.parquet: file does not exist") {
		t.Errorf("an object that is not there: %v", err)
	}
}
