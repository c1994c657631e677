package tests

import (
	"crypto/sha256"
	"encoding/base64"
	"math/rand/v2"
	"net/http/httptest"
	"testing"

	"github.com/mpga/mpga/engine/objects"
)

// Would catch large objects whose parts are lost, doubled or mixed where requests fail and are made
// again, and parts that an upload leaves which was given up.
func TestLargeObjects(t *testing.T) {
	amazon := newS3Server(t)
	amazon.Config.ErrorLog = nil
	google := &googleStore{objects: make(map[string]string), sessions: make(map[string]string)}
	azure := &azureStore{blobs: make(map[string]string), blocks: make(map[string]string)}
	googleServer, azureServer := httptest.NewServer(google), httptest.NewServer(azure)
	defer googleServer.Close()
	defer azureServer.Close()
	for name, value := range map[string]string{
		"STORAGE_EMULATOR_HOST": googleServer.Listener.Addr().String(),
		"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte("key")), "AZURE_STORAGE_PROTOCOL": "http",
		"AZURE_STORAGE_DOMAIN": azureServer.Listener.Addr().String(), "AZURE_STORAGE_IS_LOCAL_EMULATOR": "true",
	} {
		t.Setenv(name, value)
	}
	content := make([]byte, 27<<20)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(content); err != nil {
		t.Fatal(err)
	}
	const key = "a folder/large & öbject+1.bin"
	for store, read := range map[string]func() []byte{
		"s3://bucket/":    func() []byte { return amazon.content(t, key) },
		"gs://bucket/":    func() []byte { return []byte(google.objects[key]) },
		"az://container/": func() []byte { return []byte(azure.blobs[key]) },
	} {
		fault := badNetwork(7)
		amazon.fault.Store(&fault)
		fsys := newObjects(t, objects.Options{Attempts: 12})
		// The sizes around a part's, and of several parts.
		for _, size := range []int{0, 8<<20 - 1, 8 << 20, 8<<20 + 1, 24 << 20, len(content)} {
			u, err := fsys.Upload(store + key)
			if err != nil {
				t.Fatal(err)
			}
			for rest := content[:size]; len(rest) > 0 && err == nil; {
				n := min(len(rest), 3_000_001)
				_, err = u.Write(rest[:n])
				rest = rest[n:]
			}
			if err == nil {
				err = u.Commit()
			}
			if err != nil {
				t.Errorf("%s, %d B: %v", store, size, err)
			} else if got := read(); sha256.Sum256(got) != sha256.Sum256(content[:size]) {
				t.Errorf("%s, %d B: there are %d others", store, size, len(got))
			}
			if info, err := fsys.Stat(store + key); err != nil || info.Size() != int64(size) {
				t.Errorf("%s, %d B: %v, %v", store, size, info, err)
			}
		}
		amazon.fault.Store(nil)
		u, err := fsys.Upload(store + "given up")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write(content); err != nil {
			t.Error(err)
		}
		if err := u.Abort(); err != nil {
			t.Error(err)
		}
		if _, err := fsys.Stat(store + "given up"); err == nil {
			t.Errorf("%s: what was given up is there", store)
		}
	}
	if len(google.sessions) > 0 {
		t.Errorf("%d uploads were left", len(google.sessions))
	}
}
