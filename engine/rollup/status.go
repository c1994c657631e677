package rollup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mpga/mpga/internal/vfs"
)

// Status tells what a state is.
type Status struct {
	State      string       `json:"state"`      // the directory
	Generation int64        `json:"generation"` // 0 where there is no state
	Version    string       `json:"version"`    // of the program that wrote it
	Statement  string       `json:"statement"`
	Files      int          `json:"files"` // that have a part each
	Rows       int64        `json:"rows"`  // of these files
	Bytes      int64        `json:"bytes"` // of all parts
	Parts      []PartStatus `json:"parts"`
}

// PartStatus tells of a part.
type PartStatus struct {
	Level    int    `json:"level"`  // -1 of a total of the first files, 0 of a file
	IsSource bool   `json:"source"` // the answer is made of it
	Files    int    `json:"files"`
	First    string `json:"first,omitzero"`
	Last     string `json:"last,omitzero"`
	Rows     int64  `json:"rows"`
	Groups   int64  `json:"groups"`
	Bytes    int64  `json:"bytes"`
	Pack     string `json:"pack"` // path
}

// ReadStatus reads what a state is.
func ReadStatus(fsys vfs.FS, path string) (*Status, error) {
	d := openDir(fsys, path)
	s, generation, err := d.current()
	if err != nil {
		return nil, err
	}
	of := &Status{State: d.Root, Generation: generation, Parts: []PartStatus{}}
	if s == nil {
		return of, cmp.Or(d.checkThere(), d.checkOwn())
	}
	of.Version, of.Statement = s.Version, s.Statement
	for _, in := range s.Inputs {
		if in.Read == readParts {
			of.Files += len(in.Files)
		}
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		is := PartStatus{Level: p.Level, IsSource: slices.Contains(s.Sources, p.Key), Files: p.Files, First: p.First,
			Last: p.Last, Rows: p.Rows, Groups: p.Groups, Bytes: p.Bytes, Pack: d.Path(p.name())}
		if of.Bytes += p.Bytes; is.IsSource {
			of.Rows += p.Rows
		}
		of.Parts = append(of.Parts, is)
	}
	return of, nil
}

// Verify reads all packs of a state, and returns how many there are. Packs that are not what was written are
// ErrDamaged, and no state is ErrOther.
func Verify(ctx context.Context, fsys vfs.FS, path string) (packs int, err error) {
	d := openDir(fsys, path)
	s, _, err := d.current()
	if err != nil {
		return 0, err
	}
	if s == nil {
		return 0, fmt.Errorf("%w: %s has no state", ErrOther, d.Root)
	}
	var errs []error
	for i := range s.Parts {
		if err := ctx.Err(); err != nil {
			return i, context.Cause(ctx)
		}
		if err := d.verify(&s.Parts[i]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New(d.remedy()))
	}
	return len(s.Parts), errors.Join(errs...)
}

// verify reads the pack of a part.
func (d stateDir) verify(p *part) (err error) {
	file, err := d.FS.Open(d.Path(p.name()))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a pack is missing: %w", ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	bytes, err := io.Copy(sum, file)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); bytes != p.Bytes || got != p.SHA256 {
		return fmt.Errorf("%w: %s has %d B of the SHA-256 %s, where %d B of %s were written", ErrDamaged, d.Path(p.name()),
			bytes, got, p.Bytes, p.SHA256)
	}
	return nil
}

// Forget makes a state one that has nothing: the next run reads all files, of whatever statement it is. The output
// stays. It returns whether there was a state, which may be damaged or of another version.
func Forget(fsys vfs.FS, path, version string) (forgot bool, err error) {
	d := openDir(fsys, path)
	generation, unlock, err := d.lockOld()
	if err != nil || generation == 0 {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	s := &state{Generation: generation + 1, Version: version, Forgotten: true}
	if err := d.publish(s); err != nil {
		return false, err
	}
	_, err = d.collect(s, 0, false)
	return true, err
}

// lockOld locks a state that is there, and returns the generation of its newest manifest; 0, and no lock, where there
// is none.
func (d stateDir) lockOld() (generation int64, unlock func() error, err error) {
	if generation, err = d.generation(); err != nil || generation == 0 {
		return 0, nil, cmp.Or(err, d.checkThere(), d.checkOwn())
	}
	if unlock, err = d.lock(); err != nil {
		return 0, nil, err
	}
	if generation, err = d.generation(); err != nil {
		return 0, nil, errors.Join(err, unlock())
	}
	return generation, unlock, nil
}

// checkThere refuses a directory that is not there: its name may be a mistake. A store has no directories.
func (d stateDir) checkThere() error {
	if _, remote := vfs.ObjectsAt(d.FS, d.Root); remote {
		return nil
	}
	info, err := d.FS.Stat(d.Root)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s is a file, and not the directory of a state", ErrOther, d.Root)
	}
	return err
}

// Garbage is a file of a state that its newest manifest does not name.
type Garbage struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Collect lists, and removes unless dry, the files of a state that the newest manifest does not name: what runs that
// were killed have left. In a store it leaves what is younger than older, which a run may be about to name.
func Collect(fsys vfs.FS, path string, older time.Duration, dry bool) (found []Garbage, err error) {
	d := openDir(fsys, path)
	generation, unlock, err := d.lockOld()
	if err != nil || generation == 0 {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	s, err := d.read(generation)
	if err != nil {
		return nil, err
	}
	return d.collect(s, older, dry)
}

// collect is Collect for a state, which is the newest.
func (d stateDir) collect(s *state, older time.Duration, dry bool) (found []Garbage, err error) {
	list, err := d.Walk("")
	if err != nil {
		return nil, err
	}
	named := map[string]bool{manifestName(s.Generation): true}
	for i := range s.Parts {
		named[s.Parts[i].name()] = true
	}
	_, remote := d.Objects()
	before := time.Now().Add(-older)
	var errs []error
	for _, e := range list {
		isOurs := strings.HasPrefix(e.Name, partsDir+"/") && strings.HasSuffix(e.Name, packSuffix) ||
			strings.HasPrefix(e.Name, manifestsDir+"/") && strings.HasSuffix(e.Name, manifestSuffix)
		if !isOurs || named[e.Name] || remote && !e.Modified.Before(before) {
			continue
		}
		found = append(found, Garbage{d.Path(e.Name), e.Bytes})
		if !dry {
			if err := d.FS.Remove(d.Path(e.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return found, errors.Join(errs...)
}

// removeReplaced removes the manifest of a generation before, and packs of parts that the state does not name. What
// cannot be removed is in nobody's way: Collect finds it.
func (d stateDir) removeReplaced(generation int64, parts map[string]*part, now *state) {
	if generation > 0 {
		_ = d.FS.Remove(d.Path(manifestName(generation)))
	}
	named := map[string]bool{}
	for i := range now.Parts {
		named[now.Parts[i].name()] = true
	}
	for _, p := range parts {
		if !named[p.name()] {
			_ = d.FS.Remove(d.Path(p.name()))
		}
	}
}

// isLike says whether a state says what another says, but for its number and its program.
func (s *state) isLike(other *state) bool {
	if !slices.Equal(s.Sources, other.Sources) { // of most nights, and found without two long texts
		return false
	}
	a, b := *s, *other
	a.Generation, a.Version, a.Statement = b.Generation, b.Version, b.Statement
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, two)
}
