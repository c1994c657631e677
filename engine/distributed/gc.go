package distributed

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/internal/vfs"
)

// planName is what the directories of plans are called in a work directory.
var planName = regexp.MustCompile(`^[0-9a-f]{16}$`)

const planFile = "plan.json"

// Garbage is a file of a work directory that no plan needs.
type Garbage struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
}

// Collect lists, and removes unless dry, what no plan in a work directory needs: everything of a plan
// that is committed but its plan and the note of its commit; attempts that are not sealed, where others
// are; and what is older than a duration and belongs to no plan, or is of an attempt that has not ended.
// It touches nothing that it does not know by its name.
func Collect(fsys vfs.FS, work string, older time.Duration, dry bool) (found []Garbage, err error) {
	w := workDir(fsys, strings.TrimRight(work, "/"), nil)
	files, err := w.Walk("")
	if err != nil {
		return nil, err
	}
	plans := make(map[string][]workdir.Entry)
	for _, f := range files {
		id, rest, below := strings.Cut(f.Name, "/")
		if below && planName.MatchString(id) {
			f.Name = rest
			plans[id] = append(plans[id], f)
		}
	}
	before := time.Now().Add(-older)
	for id, files := range plans {
		garbage, err := garbageOf(workDir(fsys, w.Path(id), nil), files, before)
		if err != nil {
			return nil, err
		}
		found = append(found, garbage...)
	}
	slices.SortFunc(found, func(a, b Garbage) int { return strings.Compare(a.Path, b.Path) })
	if dry {
		return found, nil
	}
	var errs []error
	for _, g := range found {
		if err := fsys.Remove(g.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return found, errors.Join(append(errs, removeEmpty(w, "")...)...)
}

// garbageOf returns which files of a plan's directory nobody needs.
func garbageOf(w workdir.Dir, files []workdir.Entry, before time.Time) (found []Garbage, err error) {
	has := make(map[string]bool, len(files))
	var committed time.Time // what a plan that runs again writes is newer
	for _, f := range files {
		has[f.Name] = true
		if f.Name == committedName {
			committed = f.Modified
		}
	}
	old := func(f workdir.Entry) bool { return !f.Modified.IsZero() && f.Modified.Before(before) }
	chosen := make(map[string]map[string]bool) // attempts, by stage that is sealed
	for _, stage := range []string{StagePartial, StageCombine} {
		if name := "sealed/" + stage + ".json"; has[name] {
			var s seal
			if err := w.ReadJSON(name, &s); err != nil {
				return nil, err
			}
			chosen[stage] = make(map[string]bool)
			for i := range s.Attempts {
				chosen[stage][s.Attempts[i].Attempt] = true
			}
		}
	}
	for _, f := range files {
		stage, rest, _ := strings.Cut(f.Name, "/")
		attempt := attemptOf(rest)
		why := ""
		switch {
		case f.Name == planFile || f.Name == committedName:
		case has[committedName] && (!f.Modified.After(committed) || old(f)):
			why = "the plan is committed"
		case !has[planFile] && old(f):
			why = "no plan is there"
		case chosen[stage] != nil && attempt != "" && !chosen[stage][attempt]:
			why = "another attempt is sealed"
		case attempt != "" && old(f) && !has[manifestOf(stage, rest)]:
			why = "its attempt has not ended"
		}
		if why != "" {
			found = append(found, Garbage{w.Path(f.Name), f.Bytes, why})
		}
	}
	return found, nil
}

// attemptOf returns the attempt that a name within a stage says: of key.attempt.pack, key.attempt.json or
// key.attempt/file.
func attemptOf(name string) string {
	first, _, _ := strings.Cut(name, "/")
	parts := strings.Split(first, ".")
	if len(parts) < 2 || !planName.MatchString(parts[1]) {
		return ""
	}
	return parts[1]
}

// manifestOf returns the name of the manifest of the attempt of a file.
func manifestOf(stage, name string) string {
	first, _, _ := strings.Cut(name, "/")
	parts := strings.SplitN(first, ".", 3)
	return fmt.Sprintf("%s/%s.%s%s", stage, parts[0], parts[1], manifestSuffix)
}

// removeEmpty removes directories of plans that have nothing in them.
func removeEmpty(w workdir.Dir, dir string) (errs []error) {
	if _, ok := w.Objects(); ok {
		return nil
	}
	entries, err := w.FS.ReadDir(w.Path(dir))
	if err != nil {
		return nil // it has gone, or Collect has said so
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if !e.IsDir() || dir == "" && !planName.MatchString(e.Name()) {
			continue
		}
		errs = append(errs, removeEmpty(w, name)...)
		if left, err := w.FS.ReadDir(w.Path(name)); err == nil && len(left) == 0 {
			if err := w.FS.Remove(w.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errs
}
