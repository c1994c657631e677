package distributed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// quick is the file system of tests that do not count on a disk.
var quick vfs.FS = faultfs.Unsynced{FS: vfs.OS}

// bucketURL begins the names of a bucket's objects.
const bucketURL = "s3://bucket/"

// bucket is a store of objects in memory, beside the files of a system. calls counts the calls that touch
// objects, and the call with the number failAt fails.
type bucket struct {
	vfs.FS
	mu            sync.Mutex
	objects       map[string]object
	uploads       int  // that nobody has ended
	opened        int  // objects that nobody has closed
	unconditional bool // PutNew replaces an object
	calls         int
	failAt        int // counted from 1; 0 for none
}

// object is what a bucket has under a name.
type object struct {
	text     []byte
	modified time.Time
}

var errStore = errors.New("the store has failed")

func newBucket() *bucket { return &bucket{FS: quick, objects: make(map[string]object)} }

func (b *bucket) IsObject(name string) bool { return strings.HasPrefix(name, bucketURL) }

// call counts a call. Requires: b.mu is held.
func (b *bucket) call(what, name string) error {
	if b.calls++; b.calls == b.failAt {
		return fmt.Errorf("%s %s: %w", what, name, errStore)
	}
	return nil
}

// put stores an object. Requires: b.mu is held.
func (b *bucket) put(name string, text []byte) {
	b.objects[name] = object{bytes.Clone(text), time.Unix(1_000_000_000+int64(b.calls), 0)}
}

// names returns the names of the objects below a prefix, without it.
func (b *bucket) names(prefix string) (names []string) {
	for name := range b.objects {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

func (b *bucket) List(prefix string) (list []vfs.Object, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call("list", prefix); err != nil {
		return nil, err
	}
	for name, o := range b.objects {
		if strings.HasPrefix(name, prefix) {
			list = append(list, vfs.Object{Name: name, Size: int64(len(o.text)), Modified: o.modified})
		}
	}
	slices.SortFunc(list, func(x, y vfs.Object) int { return cmp.Compare(x.Name, y.Name) })
	return list, nil
}

func (b *bucket) PutNew(name string, content []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call("put", name); err != nil {
		return err
	}
	if _, there := b.objects[name]; there && !b.unconditional {
		return &fs.PathError{Op: "put", Path: name, Err: fs.ErrExist}
	}
	b.put(name, content)
	return nil
}

func (b *bucket) Copy(from, to string) error {
	if !b.IsObject(from) {
		return errors.ErrUnsupported
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call("copy", from); err != nil {
		return err
	}
	o, ok := b.objects[from]
	if !ok {
		return &fs.PathError{Op: "copy", Path: from, Err: fs.ErrNotExist}
	}
	b.put(to, o.text)
	return nil
}

func (b *bucket) Remove(name string) error {
	if !b.IsObject(name) {
		return b.FS.Remove(name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call("remove", name); err != nil {
		return err
	}
	delete(b.objects, name)
	return nil
}

// get returns an object.
func (b *bucket) get(what, name string) (*objectFile, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call(what, name); err != nil {
		return nil, err
	}
	o, ok := b.objects[name]
	if !ok {
		return nil, &fs.PathError{Op: what, Path: name, Err: fs.ErrNotExist}
	}
	return &objectFile{bytes.NewReader(o.text), b, name, o}, nil
}

func (b *bucket) Stat(name string) (fs.FileInfo, error) {
	if !b.IsObject(name) {
		return b.FS.Stat(name)
	}
	file, err := b.get("stat", name)
	if err != nil {
		return nil, err
	}
	return file.Stat()
}

func (b *bucket) Open(name string) (vfs.File, error) {
	if !b.IsObject(name) {
		return b.FS.Open(name)
	}
	file, err := b.get("open", name)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
	return file, nil
}

// objectFile is an object that is read, and what the store tells of it.
type objectFile struct {
	*bytes.Reader
	bucket *bucket
	name   string
	object object
}

func (f *objectFile) Close() error {
	f.bucket.mu.Lock()
	defer f.bucket.mu.Unlock()
	f.bucket.opened--
	return nil
}
func (f *objectFile) Write([]byte) (int, error)  { return 0, errors.ErrUnsupported }
func (f *objectFile) Sync() error                { return errors.ErrUnsupported }
func (f *objectFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *objectFile) Name() string               { return workdir.BaseName(f.name) }
func (f *objectFile) Mode() fs.FileMode          { return 0o444 }
func (f *objectFile) ModTime() time.Time         { return f.object.modified }
func (f *objectFile) IsDir() bool                { return false }
func (f *objectFile) Sys() any                   { return nil }
func (f *objectFile) ETag() string {
	return fmt.Sprintf("%x", f.object.text[:min(8, len(f.object.text))])
}

func (b *bucket) Upload(name string) (vfs.Upload, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.call("upload", name); err != nil {
		return nil, err
	}
	b.uploads++
	return &upload{bucket: b, name: name}, nil
}

// upload is an object that is being written.
type upload struct {
	bytes.Buffer
	bucket *bucket
	name   string
}

// end ends an upload with a call.
func (u *upload) end(what string, commit bool) error {
	b := u.bucket
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uploads--
	if err := b.call(what, u.name); err != nil {
		return err
	}
	if commit {
		b.put(u.name, u.Bytes())
	}
	return nil
}

func (u *upload) Commit() error { return u.end("commit", true) }
func (u *upload) Abort() error  { return u.end("abort", false) }

var (
	_ vfs.Objects = (*bucket)(nil)
	_ vfs.File    = (*objectFile)(nil)
	_ io.Writer   = (*upload)(nil)
)

// writeSmall writes a table of two files: a row is k,v,s, and there are 17 values of k.
func writeSmall(t *testing.T, dir string) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o777))
	for f := range 2 {
		var b strings.Builder
		b.WriteString("k,v,s\n")
		for row := range 40 {
			fmt.Fprintf(&b, "%d,%d,s%d\n", row%17, row, f)
		}
		check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", f)), []byte(b.String()), 0o666))
	}
}

// smallQuery has a state of a word, and one of bytes.
const smallQuery = "SELECT k, count(*) AS n, first(s) AS f FROM t GROUP BY k"

// smallRequest is a plan of each stage over the table that writeSmall writes in the folder in of dir.
func smallRequest(fsys vfs.FS, dir string) Request {
	r := Request{
		Statement: smallQuery, Tables: map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "in")}}},
		Output: filepath.Join(dir, "out"), Layout: sink.Options{Format: sink.CSV, FS: fsys}, Work: filepath.Join(dir, "work"),
		Version: "test", Splits: 2, Partitions: 4, Merges: 2, Combines: 1,
	}
	r.Scan.FS = fsys
	return r
}

// newSmall plans a small request over its files, and writes the plan.
func newSmall(t *testing.T, eng *engine.Engine, fsys vfs.FS, r Request) *Tasks {
	t.Helper()
	p, err := New(t.Context(), eng, fsys, r)
	check(t, err)
	_, err = p.Write(fsys)
	check(t, err)
	return newTasks(eng, fsys, "", p)
}

// do does a task of a stage.
func do(t *testing.T, tasks *Tasks, stage string, task int) (Done, error) {
	t.Helper()
	switch stage {
	case StagePartial:
		return tasks.Partial(t.Context(), task)
	case StageCombine:
		return tasks.Combine(t.Context(), task)
	case StageMerge:
		return tasks.Merge(t.Context(), task)
	}
	return tasks.Commit(t.Context())
}

// doUntil does all stages before one.
func doUntil(t *testing.T, tasks *Tasks, until string) {
	t.Helper()
	for _, stage := range tasks.Plan.Stages {
		if stage.Name == until {
			return
		}
		for n := range stage.Tasks {
			_, err := do(t, tasks, stage.Name, n)
			check(t, err)
		}
	}
}

// says compares the text of an error.
func says(t *testing.T, name string, err error, class error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: no error, want %q", name, want)
	case class != nil && !errors.Is(err, class) || !strings.Contains(err.Error(), want):
		t.Errorf("%s: %q, want %q of the class %v", name, err, want, class)
	}
}
