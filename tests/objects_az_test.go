package tests

import (
	"encoding/base64"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
)

// azureStore is the part of Azure's blob API that objects need.
type azureStore struct {
	mu     sync.Mutex
	blobs  map[string]string
	blocks map[string]string
}

func (a *azureStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const container = "/account/container"
	key := strings.TrimPrefix(r.URL.Path, container+"/")
	content, there := a.blobs[key]
	body, _ := io.ReadAll(r.Body)
	modified := time.Unix(1_000_000_000, 0).UTC().Format(http.TimeFormat)
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Last-Modified", modified)
	switch comp := r.URL.Query().Get("comp"); {
	case comp == "list":
		var list struct {
			XMLName xml.Name    `xml:"EnumerationResults"`
			Blobs   []azureBlob `xml:"Blobs>Blob"`
		}
		for _, name := range slices.Sorted(maps.Keys(a.blobs)) {
			if strings.HasPrefix(name, r.URL.Query().Get("prefix")) {
				list.Blobs = append(list.Blobs, azureBlob{name, len(a.blobs[name]), modified, "1"})
			}
		}
		w.Header().Set("Content-Type", "application/xml")
		_ = xml.NewEncoder(w).Encode(list)
	case r.Method == http.MethodPut && comp == "block":
		a.blocks[r.URL.Query().Get("blockid")] = string(body)
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPut && comp == "blocklist":
		var list struct {
			Latest []string `xml:"Latest"`
		}
		_ = xml.Unmarshal(body, &list)
		a.blobs[key] = ""
		for _, id := range list.Latest {
			a.blobs[key] += a.blocks[id]
		}
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		w.Header().Set("x-ms-error-code", "BlobAlreadyExists")
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPut:
		a.blobs[key] = string(body)
		w.WriteHeader(http.StatusCreated)
	case !there:
		w.Header().Set("x-ms-error-code", "BlobNotFound")
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(a.blobs, key)
		w.WriteHeader(http.StatusAccepted)
	default:
		if part := r.Header.Get("x-ms-range"); part != "" {
			r.Header.Set("Range", part)
		}
		w.Header().Set("x-ms-blob-type", "BlockBlob")
		http.ServeContent(w, r, "", time.Unix(1_000_000_000, 0), strings.NewReader(content))
	}
}

type azureBlob struct {
	Name     string
	Length   int    `xml:"Properties>Content-Length"`
	Modified string `xml:"Properties>Last-Modified"`
	ETag     string `xml:"Properties>Etag"`
}

// Would catch URLs of az:// that do not reach Azure's API as they should.
func TestAzureStore(t *testing.T) {
	a := &azureStore{blobs: make(map[string]string), blocks: make(map[string]string)}
	server := httptest.NewServer(a)
	defer server.Close()
	for name, value := range map[string]string{
		"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte("key")), "AZURE_STORAGE_PROTOCOL": "http",
		"AZURE_STORAGE_DOMAIN": server.Listener.Addr().String(), "AZURE_STORAGE_IS_LOCAL_EMULATOR": "true",
	} {
		t.Setenv(name, value)
	}
	fsys := newObjects(t, objects.Options{})
	schema, batch := salesTable(20_000)
	want := wantAnswer(t, schema, batch)
	opt := sink.Options{FS: fsys, PartitionBy: []string{"city"}, Manifest: true, Overwrite: true}
	for range 2 { // the second replaces the first
		if err := write("az://container/out", opt, batch); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.blobs) != 5 {
		t.Errorf("%d objects", len(a.blobs))
	}
	for _, pattern := range []string{"az://container/out", "az://container/out/city=*/*.parquet"} {
		got, err := answerFrom(t.Context(), t, fsys, pattern)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if _, err := answerFrom(t.Context(), t, fsys, "az://container/none.parquet"); err == nil || !strings.Contains(err.Error(), "az://container/none.parquet: file does not exist") {
		t.Errorf("an object that is not there: %v", err)
	}
}
