package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Would catch a history that others can read, that loses what another session wrote, that grows
// without end, or that has secrets.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	path := HistoryPath(func(name string) string { return map[string]string{"XDG_STATE_HOME": dir}[name] })
	first, second := &history{path: path}, &history{path: path}
	first.add("SELECT 1,\n\t2;")
	second.add("SELECT 'a\nb' -- c\n;")
	second.add("SELECT * FROM 'https://user:secret@host/x.csv';")
	for _, h := range []*history{first, second} {
		if err := h.save(); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := first.load()
	want := []string{"SELECT 1, 2;", "SELECT 'a", "b' -- c", ";"}
	if err != nil || len(lines) != 5 || !slices.Equal(lines[:4], want) || strings.Contains(lines[4], "secret") {
		t.Errorf("got %q, %v, want %q and no secret", lines, err, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want a file of its owner alone", info.Mode(), err)
	}
	long := &history{path: path}
	for range 2 * historyMax {
		long.add("SELECT 1;")
	}
	if err := long.save(); err != nil {
		t.Fatal(err)
	}
	if lines, err := long.load(); err != nil || len(lines) != historyMax {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// A history that cannot be written, or has no place, is no error that a person must see.
func TestHistoryPath(t *testing.T) {
	for env, want := range map[string]string{
		"":                               "",
		"HOME=/home/a":                   "/home/a/.local/state/mpga/history",
		"HOME=/home/a XDG_STATE_HOME=/s": "/s/mpga/history",
		"HOME=/home/a XDG_STATE_HOME=s":  "/home/a/.local/state/mpga/history",
		"HOME=a":                         "",
	} {
		got := HistoryPath(func(name string) string {
			for _, word := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(word, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != filepath.FromSlash(want) {
			t.Errorf("%s: got %s, want %s", env, got, want)
		}
	}
	none := &history{}
	none.add("SELECT 1;")
	if err := none.save(); err != nil {
		t.Error(err)
	}
}
