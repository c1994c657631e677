package dataset

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestIdentities(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.csv", "_c.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n1\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []Identity {
		t.Helper()
		got, err := Identities(context.Background(), []string{dir}, Options{})
		if err != nil || len(got) != 2 || got[0].Path != filepath.Join(dir, "a.csv") || got[0].Bytes != 4 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	before := list()
	if now := list(); !now[0].Same(before[0]) || now[0].Same(now[1]) {
		t.Errorf("before %+v, now %+v", before, now)
	}
	later := before[0].Modified.Add(time.Second)
	if err := os.Chtimes(before[0].Path, later, later); err != nil {
		t.Fatal(err)
	}
	if now := list(); now[0].Same(before[0]) {
		t.Errorf("before %+v, now %+v", before, now)
	}
	for _, bad := range []string{"-", "", filepath.Join(dir, "nothing"), filepath.Join(dir, "*.parquet")} {
		if got, err := Identities(context.Background(), []string{bad}, Options{}); err == nil {
			t.Errorf("%q: %v, want an error", bad, got)
		}
	}
}
