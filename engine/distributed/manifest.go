package distributed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/spawn"
)

// ErrDamaged marks files of a work directory that are not what a task has written.
var ErrDamaged = errors.New("the work directory is damaged; the plan begins anew where its directory is removed")

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
	case m.Plan != p.ID:
		return fmt.Errorf("%w: %s is of plan %s", ErrDamaged, name, m.Plan)
	case m.name()+manifestSuffix != name:
		return fmt.Errorf("%w: %s says that it is %s", ErrDamaged, name, m.name())
	case m.Stage == StageMerge && (m.Task < 0 || m.Last < m.Task || m.Last >= p.Partitions):
		return fmt.Errorf("%w: %s is of partitions %s, of %d", ErrDamaged, name, Range{m.Task, m.Last}, p.Partitions)
	case m.Stage != StageMerge && len(m.Blobs) != p.Partitions:
		return fmt.Errorf("%w: %s has %d blobs, of %d partitions", ErrDamaged, name, len(m.Blobs), p.Partitions)
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
	entries, err := t.work.list(stage, prefix)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.name, manifestSuffix) && !strings.Contains(e.name, "/") {
			names = append(names, e.name)
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
	if err := t.work.readJSON(name, m); err != nil {
		return nil, err
	}
	return m, m.check(t.Plan, name)
}

// seal is which attempts of a stage count, by task.
type seal struct {
	Plan     string     `json:"plan"`
	Stage    string     `json:"stage"`
	Attempts []manifest `json:"attempts"`

	hash string // of the seal as it is stored
}

// manifestsAtOnce is how many manifests are read at the same time.
const manifestsAtOnce = 16

// A stage of more tasks than sealersMin has one sealer: all tasks of the next stage begin at once, and would
// each read all manifests. The others wait for sealing to take sealPatience for each manifest, five times
// what it takes, and then do it themselves.
const (
	sealersMin   = 64
	sealPatience = 30 * time.Millisecond
	sealLook     = 100 * time.Millisecond
)

// sealed returns which attempts of a stage count. The first that asks decides. R2.
func (t *Tasks) sealed(ctx context.Context, stage string) (*seal, error) {
	name := "sealed/" + stage + ".json"
	s, err := t.readSeal(stage, name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	first, err := t.firstAttempts(stage)
	if err != nil {
		return nil, err
	}
	if len(first) > sealersMin {
		err := t.work.putNew("sealed/"+stage+".sealer", []byte(newAttempt()))
		if errors.Is(err, fs.ErrExist) {
			s, err = t.awaitSeal(ctx, stage, name, time.Duration(len(first))*sealPatience)
		}
		if err != nil || s != nil {
			return s, err
		}
	}
	attempts, err := t.manifests(ctx, stage, first)
	if err != nil {
		return nil, err
	}
	return t.putSeal(name, &seal{Plan: t.Plan.ID, Stage: stage, Attempts: attempts})
}

// awaitSeal returns a seal once it is there, or nil after a time.
func (t *Tasks) awaitSeal(ctx context.Context, stage, name string, patience time.Duration) (*seal, error) {
	for waited, look := time.Duration(0), sealLook; waited < patience; waited, look = waited+look, look*3/2 {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(look):
		}
		if s, err := t.readSeal(stage, name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, nil
}

// firstAttempts returns the manifest of the first attempt of each task of a stage, in order of their names.
func (t *Tasks) firstAttempts(stage string) ([]string, error) {
	names, err := t.attempts(stage, "")
	if err != nil {
		return nil, err
	}
	first := make([]string, t.Plan.tasks(stage))
	for _, name := range names {
		task, ok := taskOf(name)
		if ok && task < len(first) && first[task] == "" {
			first[task] = name
		}
	}
	if missing := missingOf(first); len(missing) > 0 {
		return nil, fmt.Errorf("%w: %s: %d of %d tasks are not: %s", ErrNotDone, stage, len(missing), len(first), listed(missing))
	}
	return first, nil
}

// manifests reads manifests of a stage, by their names within it.
func (t *Tasks) manifests(ctx context.Context, stage string, names []string) ([]manifest, error) {
	all := make([]manifest, len(names))
	var group spawn.Group
	group.SetLimit(manifestsAtOnce)
	for i, name := range names {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := t.manifest(stage + "/" + name)
			if err == nil {
				all[i] = *m
			}
			return err
		})
	}
	return all, group.Wait()
}

// putSeal stores a seal, unless somebody was faster, and returns what is stored.
func (t *Tasks) putSeal(name string, made *seal) (*seal, error) {
	text, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	if err := t.work.putNew(name, text); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return t.readSeal(made.Stage, name)
}

func (t *Tasks) readSeal(stage, name string) (*seal, error) {
	text, err := t.work.read(name)
	if err != nil {
		return nil, err
	}
	s := new(seal)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, t.work.path(name), err)
	}
	sum := sha256.Sum256(text)
	s.hash = hex.EncodeToString(sum[:])
	if err := s.check(t.Plan, stage); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, t.work.path(name), err)
	}
	return s, nil
}

// check refuses a seal that does not have an attempt of each task of a stage, of which rows would be missing.
func (s *seal) check(p *Plan, stage string) error {
	if s.Plan != p.ID || s.Stage != stage {
		return fmt.Errorf("it is of stage %q of plan %q", s.Stage, s.Plan)
	}
	next := 0 // task, or the first partition of a merge
	for i := range s.Attempts {
		m := &s.Attempts[i]
		if err := m.check(p, m.name()+manifestSuffix); err != nil {
			return err
		}
		if m.Stage != stage || m.Task != next {
			return fmt.Errorf("%s is in the place of %d", m.name(), next)
		}
		next++
		if stage == StageMerge {
			next = m.Last + 1
		}
	}
	want := p.tasks(stage)
	if stage == StageMerge {
		want = p.Partitions
	}
	if next != want {
		return fmt.Errorf("it has %d of %d", next, want)
	}
	return nil
}

// taskOf returns the task that a name is of.
func taskOf(name string) (task int, ok bool) {
	key, _, _ := strings.Cut(name, ".")
	task, err := strconv.Atoi(key)
	return task, err == nil && task >= 0
}

func missingOf(names []string) (missing []int) {
	for i, name := range names {
		if name == "" {
			missing = append(missing, i)
		}
	}
	return missing
}

// listed writes the first of some numbers.
func listed(numbers []int) string {
	const most = 20
	texts := make([]string, 0, most+1)
	for _, n := range numbers[:min(len(numbers), most)] {
		texts = append(texts, strconv.Itoa(n))
	}
	if len(numbers) > most {
		texts = append(texts, "...")
	}
	return strings.Join(texts, ", ")
}
