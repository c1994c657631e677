//go:build cgo

package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mpga/mpga/internal/vfs"
)

// A client that may name no files reads none, by whatever name. R1.
func TestNoFiles(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	for _, name := range []string{
		"/etc/passwd", "server_test.go", "*.go", ".", "-", "/dev/stdin", "file:///etc/passwd", "s3://bucket/x.parquet",
		"http://127.0.0.1:1/x.csv", "https://127.0.0.1:1/x.csv", "gs://bucket/x.csv", "az://container/x.csv",
	} {
		for _, text := range []string{
			"SELECT count(*) FROM '" + name + "'", "SELECT count(*) FROM read_csv('" + name + "')", "SELECT count(*) FROM read_parquet(['" + name + "'])",
		} {
			if got, err := ask(session, text); !errors.Is(err, ErrForbidden) {
				t.Errorf("%s: %s, %v", text, got, err)
			}
		}
	}
	wantRows(t, session, "SELECT count(*) FROM t", "1000")
}

// A client that may name files below a directory reads these alone, whatever links and names lead
// out of it. R1.
func TestAllowedFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(dir, name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("v\n1\n2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(dir, "a.csv")
	write(dir, "sub/year=2025/b.csv")
	write(outside, "secret.csv")
	for link, to := range map[string]string{
		"out.csv": filepath.Join(outside, "secret.csv"), "outside": outside, "in.csv": "a.csv",
		"sub/year=2025/out.csv": filepath.Join(outside, "secret.csv"), "up.csv": "../" + filepath.Base(outside) + "/secret.csv",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	allowed, err := Allow(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = allowed.Close() }()
	s, _ := open(t, func(o *Options) { o.Files = allowed })
	session := newTestSession(t, s, "")
	for name, want := range map[string]string{
		"a.csv": "2", dir + "/a.csv": "2", "./sub/../a.csv": "2", "in.csv": "2", "[a].csv": "2", "sub": "2", "sub/*/*.csv": "2",
		"sub/year=2025/b.csv": "2", dir + "/sub/*/b.csv": "2",
	} {
		wantRows(t, session, "SELECT count(*) FROM '"+name+"'", want)
	}
	wantRows(t, session, "SELECT max(year) FROM 'sub'", "2025")
	// Links that lead out are left out of patterns and folders.
	wantRows(t, session, "SELECT count(*) FROM '*.csv'", "4")
	wantRows(t, session, "SELECT count(*) FROM 'sub'", "2")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pipe.txt": "pipe", "*.txt": "no file matches"} { // opening it would wait for a writer
		if _, err := ask(session, "SELECT count(*) FROM '"+name+"'"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"../" + filepath.Base(outside) + "/secret.csv", outside + "/secret.csv", "out.csv", "up.csv", "outside/secret.csv", "outside/*.csv",
		"/etc/passwd", "/proc/self/environ", "-", "s3://bucket/x.csv", "https://127.0.0.1:1/x.csv", "../*", dir + "/../" + filepath.Base(outside) + "/*",
	} {
		if got, err := ask(session, "SELECT count(*) FROM '"+name+"'"); err == nil {
			t.Errorf("%s: read, %s rows", name, got)
		} else if strings.Contains(err.Error(), "no such file") && !strings.Contains(name, "*") {
			t.Errorf("%s: tells what is there: %v", name, err)
		}
	}
	if _, err := ask(session, "SELECT count(*) FROM 'missing.csv'"); err == nil || errors.Is(err, ErrForbidden) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// Objects are allowed by the beginning of their URLs, at a slash.
func TestAllowedObjects(t *testing.T) {
	a := &Allowed{prefix: "s3://bucket/data/"}
	for name, want := range map[string]bool{
		"s3://bucket/data/x.parquet": true, "s3://bucket/data/": true, "s3://bucket/data/a/../b": false, "s3://bucket/data/../secret": false, "s3://bucket/data/%2e%2e/x": true,
		"s3://bucket/database/x": false, "s3://bucket/data": false, "s3://other/data/x": false, "gs://bucket/data/x": false,
	} {
		if got := a.allows(name); got != want {
			t.Errorf("%s: allowed %t, want %t", name, got, want)
		}
	}
}

// Would catch names that a web server makes names outside of.
func TestAllowedWeb(t *testing.T) {
	a := &Allowed{prefix: "https://host/dir/"}
	for name, want := range map[string]bool{
		"https://host/dir/x.csv": true, "https://host/dir/a%20b.csv?x=../y": true, "https://host/dir/%2e%2e/x.csv": false,
		"https://host/dir/..%2Fx.csv": false, `https://host/dir/..\x.csv`: false, "https://host/dir/%zz": false, "https://host/dirx/y": false,
	} {
		if got := a.allows(name); got != want {
			t.Errorf("%s: allowed %t, want %t", name, got, want)
		}
	}
}
