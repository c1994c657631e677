package distributed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// hiddenBelow returns the hidden files below a directory: what a write has not finished.
func hiddenBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".") {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// Each call of the file system fails once, of each way to write or to read a file of the work directory.
// Would catch a fault that nobody tells of, a file that is there though it is not whole, one that is left open,
// and a temporary file that is left: beside the fault, unless its own removal failed, and always after the
// next write.
func TestWorkFaults(t *testing.T) {
	const content = `{"plan":"0000000000000001"}`
	for _, c := range []struct {
		name   string
		before string // what the file has before; "" where there is none
		do     func(w workdir.Dir) error
	}{
		{"write", "", func(w workdir.Dir) error { return w.Write("sub/x.json", workdir.TextWriter([]byte(content))) }},
		{"write over", "{}", func(w workdir.Dir) error { return w.Write("sub/x.json", workdir.TextWriter([]byte(content))) }},
		{"put", "", func(w workdir.Dir) error { return w.PutNew("sub/x.json", []byte(content)) }},
		{"put, and there is one", "{}", func(w workdir.Dir) error {
			err := w.PutNew("sub/x.json", []byte(content))
			if errors.Is(err, fs.ErrExist) && !errors.Is(err, faultfs.ErrInjected) {
				return nil
			}
			return err
		}},
		{"read", content, func(w workdir.Dir) error {
			var c committed
			err := w.ReadJSON("sub/x.json", &c)
			if err == nil && c.Plan != "0000000000000001" {
				return errors.New("it was read wrong")
			}
			return err
		}},
		{"list", content, func(w workdir.Dir) error {
			found, err := w.List("sub", "x")
			if err == nil && (len(found) != 1 || found[0].Name != "x.json") {
				return errors.New("it was listed wrong")
			}
			return err
		}},
		{"walk", content, func(w workdir.Dir) error {
			found, err := w.Walk("")
			if err == nil && (len(found) != 1 || found[0].Name != "sub/x.json") {
				return errors.New("it was listed wrong")
			}
			return err
		}},
		{"sum", content, func(w workdir.Dir) error {
			_, err := fileSum(w.FS, w.Path("sub/x.json"))
			return err
		}},
	} {
		for n := int64(0); ; n++ {
			fsys := faultfs.New(quick)
			w := workDir(fsys, t.TempDir(), nil)
			want := c.before
			if c.before != "" {
				check(t, workDir(quick, w.Root, nil).Write("sub/x.json", workdir.TextWriter([]byte(c.before))))
			}
			fsys.FailAt(n)
			err := c.do(w)
			fired, ops := fsys.Fired(), fsys.Ops()
			if n > 0 && !fired {
				if n < 2 {
					t.Errorf("%s: %d calls", c.name, ops)
				}
				break
			}
			if err != nil && !errors.Is(err, faultfs.ErrInjected) {
				t.Errorf("%s, call %d: the error hides its cause: %v", c.name, n, err)
			}
			if err == nil && c.name != "put, and there is one" {
				want = content
			}
			got, readErr := os.ReadFile(w.Path("sub/x.json"))
			switch {
			case readErr != nil && !(errors.Is(readErr, fs.ErrNotExist) && want == ""):
				t.Errorf("%s, call %d: %v", c.name, n, readErr)
			case err == nil && string(got) != want || err != nil && string(got) != want && string(got) != content:
				t.Errorf("%s, call %d: %v; it has %q, want %q", c.name, n, err, got, want)
			}
			if fsys.OpenFiles() != 0 {
				t.Errorf("%s, call %d: %d files are open", c.name, n, fsys.OpenFiles())
			}
			removal := err != nil && strings.Contains(err.Error(), "remove ")
			if left := hiddenBelow(t, w.Root); len(left) > 0 && !removal {
				t.Errorf("%s, call %d, %v: left %q", c.name, n, err, left)
			}
			fsys.FailAt(0)
			check(t, w.Write("sub/y.json", workdir.TextWriter(nil)))
			if left := hiddenBelow(t, w.Root); len(left) > 0 {
				t.Errorf("%s, call %d: the next write has left %q", c.name, n, left)
			}
		}
	}
}

// linkless is a file system that has no links.
type linkless struct{ vfs.FS }

func (linkless) Link(string, string) error { return errors.ErrUnsupported }

// Would catch a seal that is not there, or half, where the file system has no links, and what a fault leaves
// there: the file takes its name by another call.
func TestPutNewWithoutLinks(t *testing.T) {
	for n := int64(0); ; n++ {
		fsys := faultfs.New(quick)
		w := workDir(linkless{fsys}, t.TempDir(), nil)
		fsys.FailAt(n)
		err := w.PutNew("sealed/x.json", []byte("content"))
		if n > 0 && !fsys.Fired() {
			break
		}
		got, readErr := os.ReadFile(w.Path("sealed/x.json"))
		if err == nil && string(got) != "content" || err != nil && !errors.Is(err, faultfs.ErrInjected) ||
			readErr == nil && string(got) != "content" || fsys.OpenFiles() != 0 {
			t.Errorf("call %d: %v; it has %q, %v; %d files are open", n, err, got, readErr, fsys.OpenFiles())
		}
		if left := hiddenBelow(t, w.Root); len(left) > 0 && !strings.Contains(err.Error(), "remove ") {
			t.Errorf("call %d, %v: left %q", n, err, left)
		}
	}
}

// Would catch a collection that removes what is needed after a fault, or tells nobody of it, and one that does
// not remove the rest the next time.
func TestCollectFaults(t *testing.T) {
	const plan = "0000000000000001"
	keep := []string{plan + "/" + planFile, plan + "/" + committedName, "notes.txt"}
	drop := []string{
		plan + "/partial/00000." + attemptA + packSuffix, plan + "/partial/00000." + attemptA + manifestSuffix,
		plan + "/sealed/partial.json", plan + "/merge/00000-00003." + attemptA + "/part-00000.csv",
	}
	for n := int64(0); ; n++ {
		fsys := faultfs.New(quick)
		plain := workDir(quick, t.TempDir(), nil)
		for _, name := range keep {
			check(t, plain.Write(name, workdir.TextWriter([]byte("{}"))))
		}
		s := seal{Plan: plan, Stage: StagePartial, Attempts: []manifest{{Attempt: attemptA}}}
		for _, name := range drop {
			check(t, plain.WriteJSON(name, s))
		}
		later := time.Now().Add(time.Hour)
		check(t, os.Chtimes(plain.Path(plan+"/"+committedName), later, later))
		fsys.FailAt(n)
		_, err := Collect(fsys, plain.Root, time.Hour, false)
		if n > 0 && !fsys.Fired() {
			break
		}
		if err != nil && !errors.Is(err, faultfs.ErrInjected) || fsys.OpenFiles() != 0 {
			t.Errorf("call %d: %v; %d files are open", n, err, fsys.OpenFiles())
		}
		fsys.FailAt(0)
		_, err = Collect(fsys, plain.Root, time.Hour, false)
		check(t, err)
		left, err := plain.Walk("")
		check(t, err)
		if len(left) != len(keep) {
			t.Errorf("call %d: left %v", n, left)
		}
		entries, err := os.ReadDir(plain.Path(plan))
		check(t, err)
		if len(entries) != 2 {
			t.Errorf("call %d: directories are left: %v", n, entries)
		}
	}
}

// Would catch names of objects that a path of the system makes other, and the reverse.
func TestPaths(t *testing.T) {
	fsys := newBucket()
	here, err := os.Getwd()
	check(t, err)
	for _, c := range []struct{ path, want string }{
		{"x", filepath.Join(here, "x")}, {"./x/../y/", filepath.Join(here, "y")}, {"/a//b/", "/a/b"}, {"", here}, {"/", "/"},
		{bucketURL + "a", bucketURL + "a"}, {bucketURL + "a///", bucketURL + "a"}, {bucketURL + "a/../b", bucketURL + "a/../b"},
	} {
		if got := workdir.Absolute(fsys, c.path); got != c.want {
			t.Errorf("%q is %q, want %q", c.path, got, c.want)
		}
	}
	for path, want := range map[string]string{"/a/b": "b", "/a/": "", "a": "a", bucketURL + "a/b": "b", "": ""} {
		if got := workdir.BaseName(path); got != want {
			t.Errorf("%q ends in %q, want %q", path, got, want)
		}
	}
	if got, want := workDir(fsys, bucketURL+"w", nil).Path("a/b"), bucketURL+"w/a/b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	check(t, os.Mkdir(filepath.Join(dir, "real"), 0o777))
	check(t, os.Symlink("real", filepath.Join(dir, "link")))
	check(t, os.Symlink("nowhere", filepath.Join(dir, "broken")))
	for _, c := range []struct{ path, want string }{
		{dir + "/link", dir + "/real"}, {dir + "/link/not/there", dir + "/real/not/there"}, {dir + "/x/y", dir + "/x/y"},
		{dir + "/link/../x", dir + "/x"}, {dir + "/broken/x", dir + "/broken/x"}, {bucketURL + "link/x/", bucketURL + "link/x"},
	} {
		if got := resolved(fsys, c.path); got != c.want {
			t.Errorf("%q leads to %q, want %q", c.path, got, c.want)
		}
	}
}
