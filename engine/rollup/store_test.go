package rollup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// storeURL begins the names of a store's objects.
const storeURL = "s3://bucket/"

// dirStore is a store whose objects are files of a folder. It has neither locks nor links.
type dirStore struct {
	vfs.FS
	dir    string
	before func(name string) // called before an object is put that must be new; may be nil
}

func (s *dirStore) path(name string) string {
	if rest, ok := strings.CutPrefix(name, storeURL); ok {
		return filepath.Join(s.dir, rest)
	}
	return name
}

func (s *dirStore) IsObject(name string) bool             { return strings.HasPrefix(name, storeURL) }
func (s *dirStore) Open(name string) (vfs.File, error)    { return s.FS.Open(s.path(name)) }
func (s *dirStore) Stat(name string) (fs.FileInfo, error) { return s.FS.Stat(s.path(name)) }
func (s *dirStore) Remove(name string) error              { return s.FS.Remove(s.path(name)) }
func (s *dirStore) Copy(string, string) error             { return fs.ErrInvalid }
func (s *dirStore) Upload(name string) (vfs.Upload, error) {
	return &dirUpload{store: s, name: name}, nil
}
func (s *dirStore) List(prefix string) ([]vfs.Object, error) {
	var list []vfs.Object
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rest, err := filepath.Rel(s.dir, path)
		if name := storeURL + rest; err == nil && strings.HasPrefix(name, prefix) {
			info, err := e.Info()
			if err != nil {
				return err
			}
			list = append(list, vfs.Object{Name: name, Size: info.Size(), Modified: info.ModTime()})
		}
		return err
	})
	return list, err
}

func (s *dirStore) PutNew(name string, content []byte) error {
	if s.before != nil {
		s.before(name)
	}
	if _, err := s.Stat(name); err == nil {
		return fs.ErrExist
	}
	return s.put(name, content)
}

func (s *dirStore) put(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o777); err != nil {
		return err
	}
	return os.WriteFile(s.path(name), content, 0o666)
}

type dirUpload struct {
	bytes.Buffer
	store *dirStore
	name  string
}

func (u *dirUpload) Commit() error { return u.store.put(u.name, u.Bytes()) }
func (u *dirUpload) Abort() error  { return nil }

// onStore moves the state and the output of a roll-up to a store.
func onStore(t *testing.T, days int) (*dirStore, Options) {
	s := &dirStore{FS: vfs.OS, dir: t.TempDir()}
	o := daily(t, s, dailySum, days)
	o.State, o.Output = storeURL+"state/", storeURL+"out.csv"
	return s, o
}

func (s *dirStore) want(t *testing.T, text string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(s.dir, "out.csv"))
	check(t, err)
	if string(got) != text {
		t.Errorf("the output is\n%s\nwant\n%s", got, text)
	}
}

// countingStore counts requests, and its lists tell what Stat does.
type countingStore struct {
	*dirStore
	lists, others atomic.Int64
}

// tagged is what the store tells of an object.
type tagged struct{ fs.FileInfo }

func (i tagged) ETag() string { return tagOf(i.Size(), i.ModTime()) }

func tagOf(size int64, modified time.Time) string { return fmt.Sprint(size, modified.UnixNano()) }

func (s *countingStore) count(name string) {
	if s.IsObject(name) {
		s.others.Add(1)
	}
}

func (s *countingStore) Open(name string) (vfs.File, error) {
	s.count(name)
	return s.dirStore.Open(name)
}

func (s *countingStore) Stat(name string) (fs.FileInfo, error) {
	s.count(name)
	info, err := s.dirStore.Stat(name)
	if err != nil || !s.IsObject(name) {
		return info, err
	}
	return tagged{info}, nil
}

func (s *countingStore) Remove(name string) error {
	s.count(name)
	return s.dirStore.Remove(name)
}

func (s *countingStore) Upload(name string) (vfs.Upload, error) {
	s.count(name)
	return s.dirStore.Upload(name)
}

func (s *countingStore) PutNew(name string, content []byte) error {
	s.count(name)
	return s.dirStore.PutNew(name, content)
}

func (s *countingStore) List(prefix string) ([]vfs.Object, error) {
	s.lists.Add(1)
	list, err := s.dirStore.List(prefix)
	for i := range list {
		list[i].ETag = tagOf(list[i].Size, list[i].Modified)
	}
	return list, err
}

// Would catch a night that asks a store about each of many files, or reads more of its state than the answer is made
// of.
func TestRequests(t *testing.T) {
	days := 10_000
	if testing.Short() {
		days = 2000
	}
	s := &countingStore{dirStore: &dirStore{FS: vfs.OS, dir: t.TempDir()}}
	add := func(day int) {
		name, at := fmt.Sprintf("%st/%05d.csv", storeURL, day), time.Unix(1_700_000_000+int64(day), 0)
		check(t, s.put(name, fmt.Appendf(nil, "k,v\n%d,%d\n", day%5, day)))
		check(t, os.Chtimes(s.path(name), at, at)) // by which the tree has one shape each time
	}
	for day := range days {
		add(day)
	}
	o := Options{
		Statement: "SELECT k, sum(v) AS sv, median(v) AS m FROM t GROUP BY k ORDER BY k",
		Tables:    map[string]plan.Table{"t": {Files: []string{storeURL + "t/*.csv"}}},
		State:     storeURL + "state", Output: storeURL + "out.csv", FS: s, Version: "test",
	}
	eng := open(t, vfs.OS, 2)
	_, err := Run(t.Context(), eng, o)
	check(t, err)
	for night := range 5 {
		for file := range 3 {
			add(days + 3*night + file)
		}
		s.lists.Store(0)
		s.others.Store(0)
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		if r.FilesRead != 3 || s.others.Load() >= 50 {
			t.Errorf("night %d: %d requests and %d lists: %+v", night, s.others.Load(), s.lists.Load(), r)
		}
		t.Logf("night %d: %d requests and %d lists, of %d parts", night, s.others.Load(), s.lists.Load(), r.Sources)
	}
}

// Would catch a state that does not live in a store, and garbage that may be a run's that is at work.
func TestStore(t *testing.T) {
	s, o := onStore(t, 30)
	dir := o.Tables["t"].Files[0]
	eng := open(t, vfs.OS, 2)
	for day := 30; day < 40; day++ {
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		if day > 30 && r.FilesRead != 1 {
			t.Errorf("day %d: %+v", day, r)
		}
		s.want(t, dailyAnswer(day))
		addDay(t, filepath.Dir(dir), day)
	}
	packs, err := Verify(t.Context(), s, o.State)
	check(t, err)
	if packs < 10 { // a part for each day after the first run, but for what was merged
		t.Errorf("%d packs", packs)
	}
	check(t, s.put(storeURL+"state/parts/0.pack", nil))
	for _, c := range []struct {
		older time.Duration
		want  int
	}{{time.Hour, 0}, {-time.Hour, 1}} {
		found, err := Collect(s, o.State, c.older, false)
		check(t, err)
		if len(found) != c.want {
			t.Errorf("garbage older than %v: %v", c.older, found)
		}
	}
}

// Would catch a run that slept while others published, and that then takes their state or their output away: wherever
// it wakes, its generation is taken, or passed, and its rows count once.
func TestZombie(t *testing.T) {
	for later := 1; later <= 3; later++ {
		s, o := onStore(t, 10)
		dir := filepath.Dir(o.Tables["t"].Files[0])
		eng := open(t, vfs.OS, 1)
		_, err := Run(t.Context(), eng, o)
		check(t, err)
		addDay(t, dir, 10)
		s.before = func(string) { // the first run sleeps before it publishes
			s.before = nil
			for n := range later {
				addDay(t, dir, 11+n)
				_, err := Run(t.Context(), eng, o)
				check(t, err)
			}
		}
		_, err = Run(t.Context(), eng, o)
		says(t, "a zombie", err, ErrOvertaken, "is another run's")
		s.want(t, dailyAnswer(11+later))
		if manifests, err := s.List(storeURL + "state/manifest/"); err != nil || len(manifests) != 1 {
			t.Errorf("manifests %v, %v", manifests, err)
		}
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		if r.FilesRead != 0 || r.Generation != int64(1+later) {
			t.Errorf("%+v", r)
		}
		s.want(t, dailyAnswer(11+later))
	}
}

// Would catch an output that a run replaces which slept between its state and its output.
func TestZombieOutput(t *testing.T) {
	s, o := onStore(t, 10)
	dir := filepath.Dir(o.Tables["t"].Files[0])
	eng := open(t, vfs.OS, 1)
	late := o
	first := &run{Options: &late, eng: eng, dir: openDir(s, o.State)}
	late.EnsureDefaults()
	check(t, first.begin(t.Context()))
	check(t, first.build(t.Context()))
	check(t, first.publish())
	addDay(t, dir, 10)
	_, err := Run(t.Context(), eng, o)
	check(t, err)
	says(t, "a zombie", first.ended(first.answer(t.Context())), ErrOvertaken, "generation 1 of s3://bucket/state is another run's")
	s.want(t, dailyAnswer(11))
}

// Would catch a folder of the output that is written again though no group of it is new, on a file system and in a store.
func TestChangedPartitions(t *testing.T) {
	for _, remote := range []bool{false, true} {
		s := &dirStore{FS: vfs.OS, dir: t.TempDir()}
		o := daily(t, s, "SELECT k, sum(v) AS sv FROM t GROUP BY k ORDER BY k", 3)
		dir := filepath.Dir(o.Tables["t"].Files[0])
		o.Layout = sink.Options{Format: sink.Parquet, PartitionBy: []string{"k"}, Overwrite: true}
		if o.Output = filepath.Join(dir, "out"); remote {
			o.State, o.Output = storeURL+"state", storeURL+"out"
		}
		eng := open(t, vfs.OS, 2)
		var before []string
		for run, text := range []string{"", "k,v\n3,7\n", "k,v\n9,1\n4,1\n"} {
			if text != "" {
				check(t, os.WriteFile(filepath.Join(dir, "t", fmt.Sprintf("new%d.csv", run)), []byte(text), 0o666))
			}
			_, err := Run(t.Context(), eng, o)
			check(t, err)
			content, err := os.ReadFile(filepath.Join(s.path(o.Output), sink.ManifestName))
			check(t, err)
			var m sink.Manifest
			check(t, json.Unmarshal(content, &m))
			c := m.Changes[0]
			got := fmt.Sprintf("%s %v %v %v %d", c.Run, c.Added, c.Replaced, c.Removed, len(m.Changes))
			if want := []string{"1 [k=0 k=1 k=2 k=3 k=4] [] [] 1", "2 [] [k=3] [] 2", "3 [k=9] [k=4] [] 3"}[run]; got != want {
				t.Errorf("remote %v, run %d: %s, want %s", remote, run, got, want)
			}
			var paths []string
			for _, f := range m.Files {
				paths = append(paths, f.Path)
				info, err := os.Stat(filepath.Join(s.path(o.Output), f.Path))
				check(t, err)
				if info.Size() != f.Bytes {
					t.Errorf("%+v has %d B", f, info.Size())
				}
			}
			kept := 0
			for _, path := range before {
				if slices.Contains(paths, path) {
					kept++
				}
			}
			if remote && run > 0 && kept != 4 { // names of objects are a run's
				t.Errorf("run %d: files %q, after %q", run, paths, before)
			}
			before = paths
			found, err := filepath.Glob(filepath.Join(s.path(o.Output), "k=*", "*"))
			check(t, err)
			if len(found) != len(m.Files) {
				t.Errorf("remote %v, run %d: %q, where the manifest has %q", remote, run, found, paths)
			}
		}
	}
}
