package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/vfs"
)

// ManifestChanges are the folders in which a run has made a directory another one (Options.Update). The folder of an
// output without PartitionBy is ".".
type ManifestChanges struct {
	Run      string   `json:"run"` // Options.Run
	Added    []string `json:"added,omitempty"`
	Replaced []string `json:"replaced,omitempty"`
	Removed  []string `json:"removed,omitempty"`
}

// changesKept bounds the runs of Manifest.Changes.
const changesKept = 100

// earlier is what a directory has that an output is to replace.
type earlier struct {
	tree    tree
	files   map[string][]ManifestFile // by folder and hash: files that no file of the output stands for yet
	folders map[string]int            // files of each
	kept    map[string]int            // by folder: files that stay
	changes []ManifestChanges         // of runs before
}

// readEarlier reads the manifest of the directory that is to be replaced. Without one, or with one of another form of
// output, nothing of it stays.
func readEarlier(path string, opt *Options, t tree) (*earlier, error) {
	e := &earlier{tree: t, files: map[string][]ManifestFile{}, folders: map[string]int{}, kept: map[string]int{}}
	name := slashpath.Join(path, ManifestName)
	if _, ok := vfs.ObjectsAt(opt.FS, path); ok {
		name = strings.TrimRight(path, "/") + "/" + ManifestName
	}
	f, err := opt.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	var m Manifest
	if json.Unmarshal(text, &m) != nil || m.Version != manifestVersion {
		return e, nil
	}
	e.changes = m.Changes
	isLike := m.Format == opt.Format && slices.Equal(m.PartitionBy, opt.PartitionBy)
	for _, of := range m.Files {
		folder := slashpath.Dir(of.Path)
		if e.folders[folder]++; isLike && of.SHA256 != "" && filepath.IsLocal(filepath.FromSlash(of.Path)) {
			e.files[folder+"/"+of.SHA256] = append(e.files[folder+"/"+of.SHA256], of)
		}
	}
	return e, nil
}

// keep has a file of before stay in the place of one that was written, where both have the same bytes.
func (e *earlier) keep(o *partOutput) (kept bool, err error) {
	folder := slashpath.Dir(o.name)
	key := folder + "/" + hex.EncodeToString(o.sum.Sum(nil))
	if len(e.files[key]) == 0 {
		return false, nil
	}
	old := e.files[key][0]
	same, err := e.tree.holds(&old)
	if err != nil {
		return false, errors.Join(err, o.output.abort())
	}
	if !same {
		return false, nil
	}
	if err := o.output.abort(); err != nil {
		return false, err
	}
	if o.name, err = e.tree.keep(o.name, old.Path); err != nil {
		return false, err
	}
	e.files[key] = e.files[key][1:]
	e.kept[folder]++
	return true, nil
}

// changesOf returns the changes of runs before, and of this one before them, which has some files.
func (e *earlier) changesOf(run string, files []ManifestFile) []ManifestChanges {
	is := ManifestChanges{Run: run}
	now := map[string]int{}
	for _, f := range files {
		now[slashpath.Dir(f.Path)]++
	}
	for folder, n := range now {
		switch was := e.folders[folder]; {
		case was == 0:
			is.Added = append(is.Added, folder)
		case was != n || e.kept[folder] != n:
			is.Replaced = append(is.Replaced, folder)
		}
	}
	for folder := range e.folders {
		if now[folder] == 0 {
			is.Removed = append(is.Removed, folder)
		}
	}
	for _, list := range [][]string{is.Added, is.Replaced, is.Removed} {
		slices.Sort(list)
	}
	if len(is.Added)+len(is.Replaced)+len(is.Removed) == 0 && len(e.changes) > 0 && e.changes[0].Run == run {
		return e.changes // the run was made again
	}
	all := append([]ManifestChanges{is}, e.changes...)
	return all[:min(len(all), changesKept)]
}

// holds implements tree: by the content.
func (t *dirTree) holds(of *ManifestFile) (bool, error) {
	f, err := t.fs.Open(t.published(of.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, withoutPath(err)
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)) == of.SHA256, errors.Join(err, f.Close())
}

// keep implements tree.
func (t *dirTree) keep(name, old string) (string, error) {
	if err := t.fs.Remove(t.at(name)); err != nil {
		return "", opError("remove", err)
	}
	return name, t.adopt(name, t.published(old))
}

// holds implements tree: nobody but an output writes the names of its objects.
func (t *objectTree) holds(of *ManifestFile) (bool, error) {
	return slices.ContainsFunc(t.old, func(o vfs.Object) bool {
		return o.Name == t.path+"/"+of.Path && o.Size == of.Bytes
	}), nil
}

// keep implements tree.
func (t *objectTree) keep(_, old string) (string, error) {
	t.stays[t.path+"/"+old] = true
	return old, nil
}
