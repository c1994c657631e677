package distributed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/mpga/mpga/internal/spawn"
)

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
		s, err := t.claimSeal(ctx, stage, name, time.Duration(len(first))*sealPatience)
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

// claimSeal returns nil where this task is to seal a stage, and else what another task has sealed.
func (t *Tasks) claimSeal(ctx context.Context, stage, name string, patience time.Duration) (*seal, error) {
	claim, own := "sealed/"+stage+".sealer", newAttempt()
	err := t.work.PutNew(claim, []byte(own))
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	isOwn := false
	err = t.work.Read(claim, func(owner []byte) error {
		isOwn = string(owner) == own
		return nil
	})
	if err == nil && isOwn { // the answer to the first write was lost
		return nil, nil
	}
	return t.awaitSeal(ctx, stage, name, patience)
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
		return nil, fmt.Errorf("%w: %s: %d of %d tasks are not: %s", ErrNotDone, stage, len(missing),
			len(first), listed(missing))
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
	if err := t.work.PutNew(name, text); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return t.readSeal(made.Stage, name)
}

func (t *Tasks) readSeal(stage, name string) (*seal, error) {
	s := new(seal)
	err := t.work.Read(name, func(text []byte) error {
		sum := sha256.Sum256(text)
		s.hash = hex.EncodeToString(sum[:])
		err := json.Unmarshal(text, s)
		if err == nil {
			err = s.check(t.Plan, stage)
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, t.work.Path(name), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// check refuses a seal that does not have an attempt of each task of a stage: rows would be missing.
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
