package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	slashpath "path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// dirTree is a directory that appears under its name when it is complete (S1). Its files are
// written below a hidden directory beside it.
//
// A directory that has the name is exchanged with the hidden directory at once, where the system
// can. Elsewhere it is renamed first, and for that moment no directory has the name.
type dirTree struct {
	fs        vfs.FS
	path      string         // where commit puts the directory
	staged    *vfs.StagedDir // the hidden directory and its lock
	overwrite bool           // commit may replace a directory at path
	before    func() error   // Options.BeforePublish
	atOnce    int            // folders that are synced at the same time
}

// newTree returns the place for the files of a directory.
func newTree(path string, opt *Options) (tree, error) {
	if objects, ok := vfs.ObjectsAt(opt.FS, path); ok {
		return newObjectTree(objects, path, opt)
	}
	return newDirTree(path, opt)
}

func newDirTree(path string, opt *Options) (*dirTree, error) {
	path = filepath.Clean(path)
	fsys := opt.FS
	if err := checkDirTarget(fsys, path, opt.Overwrite); err != nil {
		return nil, err
	}
	staged, err := vfs.StageDir(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	return &dirTree{
		fs: fsys, path: path, staged: staged, overwrite: opt.Overwrite, before: opt.BeforePublish, atOnce: opt.OpenFilesMax,
	}, nil
}

// checkDirTarget refuses a path that a rename would not, or should not, replace. S2.
func checkDirTarget(fsys vfs.FS, path string, overwrite bool) error {
	if err := checkParent(fsys, path); err != nil {
		return err
	}
	switch info, err := fsys.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", path, withoutPath(err))
	case !info.IsDir():
		return fmt.Errorf("%s: %w, and is a file: the output is a directory", path, fs.ErrExist)
	case !overwrite:
		return knob.Errorf("%s: %w: name another directory, or replace it (%s)", path, fs.ErrExist,
			knob.Name("sink.Overwrite"))
	}
	return checkReplaced(fsys, path)
}

// ours are the names in a directory that this package writes.
var ours = regexp.MustCompile(`^(part-\d+[-.].*|[^=]+=.*|_manifest\.json)$`)

// checkReplaced refuses a directory that has a file that no output of this package has. S4.
func checkReplaced(fsys vfs.FS, path string) error {
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	for _, e := range entries {
		if !ours.MatchString(e.Name()) {
			return fmt.Errorf("%s: it is not replaced, for %s in it is no part of such an output", path, e.Name())
		}
	}
	return nil
}

func (t *dirTree) suffix() string { return "" }

// makeFolder makes the folder of a file.
func (t *dirTree) makeFolder(name string) error {
	folder := slashpath.Dir(name)
	if folder == "." {
		return nil
	}
	return opError(folder, t.fs.MkdirAll(t.at(folder), 0o777))
}

func (t *dirTree) adopt(name, from string) error {
	if err := t.makeFolder(name); err != nil {
		return err
	}
	err := t.fs.Link(from, t.at(name))
	if errors.Is(err, errors.ErrUnsupported) {
		return copyTo(t, name, t.fs, from)
	}
	return opError("link", err)
}

// copyTo makes a file of a tree of a file that lies elsewhere.
func copyTo(t tree, name string, fsys vfs.FS, from string) error {
	file, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	out, err := t.create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, file); err != nil {
		return errors.Join(err, out.abort())
	}
	return out.commit()
}

// published returns where a file of the directory that has the name is.
func (t *dirTree) published(name string) string {
	return filepath.Join(t.path, filepath.FromSlash(name))
}

func (t *dirTree) create(name string) (output, error) {
	if err := t.makeFolder(name); err != nil {
		return nil, err
	}
	file, err := t.fs.Create(t.at(name), 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	return stagedFile{file}, nil
}

// at returns where a file or a folder is until commit.
func (t *dirTree) at(name string) string {
	return filepath.Join(t.staged.Path, filepath.FromSlash(name))
}

// stagedFile is a file of a directory that is removed as a whole.
type stagedFile struct{ vfs.File }

func (f stagedFile) commit() error {
	if err := opError("sync", f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	return opError("close", f.Close())
}

func (f stagedFile) abort() error { return f.Close() }

func (t *dirTree) commit() error {
	if err := t.syncFolders(); err != nil {
		return errors.Join(err, t.abort())
	}
	replaced, err := t.publish()
	if err != nil {
		return errors.Join(err, t.abort())
	}
	// Until the parent is synced the directory could be gone after a crash. The directory is taken
	// back rather than left in doubt: an error means that there is no output, or the output that
	// was there before.
	if err := syncDir(t.fs, filepath.Dir(t.path)); err != nil {
		return errors.Join(err, t.takeBack(replaced), t.abort())
	}
	// The output is there: files that are left behind are hidden, and the next run removes them.
	if replaced {
		_ = vfs.RemoveTree(t.fs, t.staged.Path)
	}
	_ = t.staged.Unlock()
	return nil
}

// syncFolders makes the names of all files and folders durable.
func (t *dirTree) syncFolders() error {
	var group spawn.Group
	group.SetLimit(t.atOnce)
	err := t.syncBelow(t.staged.Path, &group)
	return errors.Join(err, group.Wait())
}

// syncBelow has a group sync a folder and all below it.
func (t *dirTree) syncBelow(folder string, group *spawn.Group) error {
	entries, err := t.fs.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("sync directory: %w", withoutPath(err))
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := t.syncBelow(filepath.Join(folder, e.Name()), group); err != nil {
			return err
		}
	}
	group.Go(func() error { return syncDir(t.fs, folder) })
	return nil
}

// publish gives the directory its name. A directory that it replaced then has the hidden name.
func (t *dirTree) publish() (replaced bool, err error) {
	if t.before != nil {
		if err := t.before(); err != nil {
			return false, err
		}
	}
	switch _, err := t.fs.Stat(t.path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, t.rename(t.staged.Path, t.path)
	case err != nil:
		return false, withoutPath(err)
	case !t.overwrite:
		return false, fs.ErrExist
	}
	if err := checkReplaced(t.fs, t.path); err != nil {
		return false, err
	}
	err = t.fs.Exchange(t.staged.Path, t.path)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err == nil, opError("exchange", err)
	}
	return true, t.exchange()
}

// exchange swaps the directories by renames.
func (t *dirTree) exchange() error {
	old := t.staged.Path + ".old"
	if err := t.rename(t.path, old); err != nil {
		return err
	}
	if err := t.rename(t.staged.Path, t.path); err != nil {
		return errors.Join(err, t.rename(old, t.path))
	}
	if err := t.rename(old, t.staged.Path); err != nil {
		return errors.Join(err, t.rename(t.path, t.staged.Path), t.rename(old, t.path))
	}
	return nil
}

func (t *dirTree) rename(from, to string) error { return opError("rename", t.fs.Rename(from, to)) }

// takeBack undoes publish.
func (t *dirTree) takeBack(replaced bool) error {
	if !replaced {
		return t.rename(t.path, t.staged.Path)
	}
	err := t.fs.Exchange(t.staged.Path, t.path)
	if errors.Is(err, errors.ErrUnsupported) {
		return t.exchange()
	}
	return err
}

func (t *dirTree) abort() error {
	return errors.Join(vfs.RemoveTree(t.fs, t.staged.Path), t.staged.Unlock())
}

// objectTree is a directory of objects. Each appears when it is complete, under a name that no
// other run has; the manifest comes last, and then the objects that it replaces are removed. After
// an error the objects that have appeared are removed.
//
// Of a distributed run, several processes may write the output at the same time, which is the same
// of each. The names are the plan's, so that no row is there twice. After an error objects stay: a
// process that has succeeded may have written them. Another attempt replaces them.
type objectTree struct {
	objects vfs.Objects
	fs      vfs.FS
	path    string          // URL of the directory, without a slash at its end
	run     string          // part of the names of the objects of this run: random, or the plan's
	shared  bool            // run is the plan's
	old     []vfs.Object    // objects below path before this run
	stays   map[string]bool // by URL: of old, that are of the output
	before  func() error    // Options.BeforePublish

	mu   sync.Mutex // held while made changes
	made []string   // URLs of the objects that have appeared
}

func newObjectTree(objects vfs.Objects, path string, opt *Options) (*objectTree, error) {
	path = strings.TrimRight(path, "/")
	t := &objectTree{
		objects: objects, fs: opt.FS, path: path, run: fmt.Sprintf("-%016x", rand.Uint64()), before: opt.BeforePublish,
		stays: map[string]bool{},
	}
	if opt.Plan != "" {
		t.run, t.shared = "-"+opt.Plan, true
	}
	var err error
	if t.old, err = objects.List(path + "/"); err != nil {
		return nil, err
	}
	if len(t.old) > 0 && !opt.Overwrite && !t.isRest() {
		return nil, knob.Errorf("%s: %w (%d objects, as %s): name another prefix, or replace them (%s)",
			path, fs.ErrExist, len(t.old), t.old[0].Name, knob.Name("sink.Overwrite"))
	}
	for _, o := range t.old {
		if first, _, _ := strings.Cut(strings.TrimPrefix(o.Name, path+"/"), "/"); !ours.MatchString(first) {
			return nil, fmt.Errorf("%s: it is not replaced, for %s in it is no part of such an output", path, o.Name)
		}
	}
	return t, nil
}

// isRest says whether a run of the same plan, which has not ended, or was ended before it was complete, made all
// objects that were below the path before this run.
func (t *objectTree) isRest() bool {
	return t.shared && !slices.ContainsFunc(t.old, func(o vfs.Object) bool {
		return !strings.Contains(o.Name[strings.LastIndexByte(o.Name, '/')+1:], t.run+".")
	})
}

func (t *objectTree) suffix() string { return t.run }

func (t *objectTree) create(name string) (output, error) {
	url := t.path + "/" + name
	upload, err := t.objects.Upload(url)
	if err != nil {
		return nil, err
	}
	o := &objectOutput{Upload: upload, made: func() { t.has(url) }}
	if name == ManifestName {
		o.before = t.before
	}
	return o, nil
}

// has notes an object that has appeared.
func (t *objectTree) has(url string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made = append(t.made, url)
}

func (t *objectTree) adopt(name, from string) error {
	url := t.path + "/" + name
	err := t.objects.Copy(from, url)
	if errors.Is(err, errors.ErrUnsupported) {
		return copyTo(t, name, t.fs, from)
	}
	if err == nil {
		t.has(url)
	}
	return err
}

// objectOutput is an object.
type objectOutput struct {
	vfs.Upload
	before func() error // asked before the object appears; nil where nobody asks
	made   func()       // nil where nobody asks
}

func (o *objectOutput) commit() error {
	if o.before != nil {
		if err := o.before(); err != nil {
			return errors.Join(err, o.Abort())
		}
	}
	err := o.Commit()
	if err == nil && o.made != nil {
		o.made()
	}
	return err
}

func (o *objectOutput) abort() error { return o.Abort() }

func (t *objectTree) commit() error {
	var replaced []string
	made := make(map[string]bool, len(t.made))
	for _, name := range t.made {
		made[name] = true
	}
	for _, o := range t.old { // the manifest has the name of the manifest before it
		if !made[o.Name] && !t.stays[o.Name] {
			replaced = append(replaced, o.Name)
		}
	}
	if err := t.remove(replaced); err != nil {
		return fmt.Errorf("the output is complete; of what it replaces this could not be removed: %w", err)
	}
	return nil
}

func (t *objectTree) abort() error {
	if t.shared {
		return nil
	}
	return t.remove(t.made)
}

// objectsRemovedAtOnce bounds the requests that remove objects at the same time.
const objectsRemovedAtOnce = 16

// remove removes objects.
func (t *objectTree) remove(names []string) error {
	errs := make([]error, len(names))
	var group spawn.Group
	group.SetLimit(objectsRemovedAtOnce)
	for i, name := range names {
		group.Go(func() error {
			errs[i] = t.fs.Remove(name)
			return nil
		})
	}
	_ = group.Wait() // all errors are in errs
	return errors.Join(errs...)
}
