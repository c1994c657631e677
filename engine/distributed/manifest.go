package distributed

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/sink"
)

// ErrDamaged marks files of a work directory that are not what a task has written, and that no attempt
// writes again. The message says which directory to remove.
var ErrDamaged = errors.New("the work directory is damaged")

// ErrNotDone marks a stage that another stage needs and that is not done.
var ErrNotDone = errors.New("an earlier stage is not done")

// manifest is what an attempt of a task writes last. R1.
type manifest struct {
	Plan    string  `json:"plan"`
	Stage   string  `json:"stage"`
	Task    int     `json:"task"`          // of a merge: the first partition
	Last    int     `json:"last,omitzero"` // of a merge: the last partition
	Attempt string  `json:"attempt"`       // 16 hexadecimal digits
	Rows    int64   `json:"rows"`          // read: of the input, of states, or of groups
	Groups  int64   `json:"groups"`        // written, or rows of the result
	Bytes   int64   `json:"bytes"`         // of the pack, or of the files
	Seconds float64 `json:"seconds"`

	Blobs []int64 `json:"blobs,omitempty"` // bytes of the blobs of a pack, by partition

	Sealed string              `json:"sealed,omitzero"` // of a merge: the hash of what it has merged
	Files  []sink.ManifestFile `json:"files,omitempty"` // of a merge: in the directory of the attempt
}

// newAttempt returns a name that no other attempt has.
func newAttempt() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// key is the part of names that says which task it is.
func (m *manifest) key() string {
	if m.Stage == StageMerge {
		return Range{m.Task, m.Last}.key()
	}
	return fmt.Sprintf("%05d", m.Task)
}

func (r Range) key() string { return fmt.Sprintf("%05d-%05d", r.First, r.Last) }

// name is where the attempt writes, without an ending: in the directory of its stage.
func (m *manifest) name() string { return m.Stage + "/" + m.key() + "." + m.Attempt }

const (
	manifestSuffix = ".json"
	packSuffix     = ".pack"
)

// run is the name by which the attempt's blobs know each other.
func (m *manifest) run() string {
	return fmt.Sprintf("%s %s %d %s", m.Plan, m.Stage, m.Task, m.Attempt)
}

// check refuses a manifest that does not suit its name, or its plan. R3.
func (m *manifest) check(p *Plan, name string) error {
	switch {
	case !planName.MatchString(m.Attempt):
		return fmt.Errorf("%w: %s has an attempt %q", ErrDamaged, name, m.Attempt)
	case m.Plan != p.ID:
		return fmt.Errorf("%w: %s is of plan %s", ErrDamaged, name, m.Plan)
	case m.name()+manifestSuffix != name:
		return fmt.Errorf("%w: %s says that it is %s", ErrDamaged, name, m.name())
	case m.Stage == StageMerge && (m.Task < 0 || m.Last < m.Task || m.Last >= p.Partitions):
		return fmt.Errorf("%w: %s is of partitions %s, of %d", ErrDamaged, name, Range{m.Task, m.Last}, p.Partitions)
	case m.Stage != StageMerge && len(m.Blobs) != p.blobs(m.Stage):
		return fmt.Errorf("%w: %s has %d blobs, of %d partitions", ErrDamaged, name, len(m.Blobs), p.blobs(m.Stage))
	}
	for _, f := range m.Files {
		if !fs.ValidPath(f.Path) || f.Bytes < 0 || f.Rows < 0 {
			return fmt.Errorf("%w: %s has a file %q of %d B", ErrDamaged, name, f.Path, f.Bytes)
		}
	}
	var sum int64
	for _, n := range m.Blobs {
		if n < 0 || m.Bytes < n || sum > m.Bytes-n {
			return fmt.Errorf("%w: %s has blobs larger than its pack", ErrDamaged, name)
		}
		sum += n
	}
	if m.Stage != StageMerge && sum != m.Bytes {
		return fmt.Errorf("%w: %s has blobs of %d B in a pack of %d B", ErrDamaged, name, sum, m.Bytes)
	}
	return nil
}

// attempts returns the manifests of a stage that are there, by name within the stage, of the keys that
// begin with a prefix.
func (t *Tasks) attempts(stage, prefix string) (names []string, err error) {
	entries, err := t.work.List(stage, prefix)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name, manifestSuffix) && !strings.Contains(e.Name, "/") {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// done returns the manifest of an attempt of a task that is done; nil where there is none.
func (t *Tasks) done(stage, key string) (*manifest, error) {
	names, err := t.attempts(stage, key+".")
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return t.manifest(stage + "/" + names[0])
}

// manifest reads a manifest.
func (t *Tasks) manifest(name string) (*manifest, error) {
	m := new(manifest)
	if err := t.work.ReadJSON(name, m); err != nil {
		return nil, err
	}
	return m, m.check(t.Plan, name)
}
