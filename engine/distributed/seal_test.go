package distributed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/internal/workdir"
)

// Would catch a seal that is taken though rows would be missing, be there twice, or be in another order.
func TestSealRefused(t *testing.T) {
	tasks := Tasks{Plan: smallPlan(t), FS: quick}.Open()
	p := tasks.Plan
	partials := func(attempts ...manifest) seal { return seal{Plan: p.ID, Stage: StagePartial, Attempts: attempts} }
	merges := func(attempts ...manifest) seal { return seal{Plan: p.ID, Stage: StageMerge, Attempts: attempts} }
	p0, p1 := partialOf(p, 0, attemptA), partialOf(p, 1, attemptB)
	other := partialOf(p, 1, attemptB)
	other.Plan = "0000000000000002"
	nodes := partialOf(p, 1, attemptB)
	nodes.Stage = StageCombine
	for _, c := range []struct {
		name string
		seal seal
		want string // a part of the error; "" where the seal is taken
	}{
		{"whole", partials(p0, p1), ""},
		{"twins' names", partials(p0, partialOf(p, 1, attemptA)), ""},
		{"empty", partials(), "it has 0 of 2"},
		{"one missing", partials(p0), "it has 1 of 2"},
		{"the first missing", partials(p1), "partial/00001." + attemptB + " is in the place of 0"},
		{"out of order", partials(p1, p0), "is in the place of 0"},
		{"twice", partials(p0, p0), "partial/00000." + attemptA + " is in the place of 1"},
		{"too many", partials(p0, p1, partialOf(p, 2, attemptA)), "it has 3 of 2"},
		{"an attempt of another plan", partials(p0, other), "is of plan 0000000000000002"},
		{"an attempt of another stage", partials(p0, nodes), "combine/00001." + attemptB + " is in the place of 1"},
		{"a merge among splits", partials(p0, mergeOf(p, 1, 1, attemptA)), "is in the place of 1"},
		{"of another plan", seal{Plan: other.Plan, Stage: StagePartial, Attempts: []manifest{p0, p1}}, `of plan "0000000000000002"`},
		{"of another stage", seal{Plan: p.ID, Stage: StageCombine, Attempts: []manifest{p0, p1}}, `it is of stage "combine"`},
		{"of nothing", seal{}, `it is of stage ""`},
		{"merges", merges(mergeOf(p, 0, 1, attemptA), mergeOf(p, 2, 3, attemptB)), ""},
		{"other ranges", merges(mergeOf(p, 0, 0, attemptA), mergeOf(p, 1, 3, attemptB)), ""},
		{"one merge", merges(mergeOf(p, 0, 3, attemptA)), ""},
		{"no merge", merges(), "it has 0 of 4"},
		{"merges with a hole", merges(mergeOf(p, 0, 1, attemptA), mergeOf(p, 3, 3, attemptB)), "is in the place of 2"},
		{"merges that overlap", merges(mergeOf(p, 0, 2, attemptA), mergeOf(p, 2, 3, attemptB)), "is in the place of 3"},
		{"merges that end early", merges(mergeOf(p, 0, 1, attemptA)), "it has 2 of 4"},
		{"merges out of order", merges(mergeOf(p, 2, 3, attemptA), mergeOf(p, 0, 1, attemptB)), "is in the place of 0"},
		{"merges beyond the end", merges(mergeOf(p, 0, 7, attemptA)), "is of partitions 0..7, of 4"},
	} {
		stage := StagePartial
		if strings.Contains(c.name, "merge") && c.seal.Stage == StageMerge || c.name == "other ranges" {
			stage = StageMerge
		}
		check(t, tasks.work.WriteJSON("sealed/x.json", c.seal))
		if _, err := tasks.readSeal(stage, "sealed/x.json"); c.want != "" {
			says(t, c.name, err, ErrDamaged, c.want)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	text, err := json.Marshal(partials(p0, p1))
	check(t, err)
	for n := range text {
		check(t, os.WriteFile(tasks.work.Path("sealed/x.json"), text[:n], 0o666))
		if _, err := tasks.readSeal(StagePartial, "sealed/x.json"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d B of %d: %v", n, len(text), err)
		}
	}
}

// Would catch a stage that is sealed before all its tasks are done, a message that does not say which are
// not, and a second seal that takes attempts that came later: R2.
func TestSealed(t *testing.T) {
	p := smallPlan(t)
	p.Splits = make([]Split, 30)
	p.Stages[0].Tasks = 30
	tasks := Tasks{Plan: p, FS: quick}.Open()
	put := func(m manifest) { t.Helper(); check(t, tasks.work.WriteJSON(m.name()+manifestSuffix, m)) }
	_, err := tasks.sealed(t.Context(), StagePartial)
	says(t, "none", err, ErrNotDone, "partial: 30 of 30 tasks are not: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, ...")
	for n := range 30 {
		if n != 7 && n != 29 {
			put(partialOf(p, n, attemptB))
		}
	}
	check(t, tasks.work.Write("partial/00007."+attemptA+packSuffix, workdir.TextWriter(nil))) // is being written
	check(t, tasks.work.Write("partial/notes.json", workdir.TextWriter(nil)))
	_, err = tasks.sealed(t.Context(), StagePartial)
	says(t, "two missing", err, ErrNotDone, "partial: 2 of 30 tasks are not: 7, 29")
	put(partialOf(p, 7, attemptB))
	put(partialOf(p, 29, attemptB))
	first, err := tasks.sealed(t.Context(), StagePartial)
	check(t, err)
	put(partialOf(p, 3, attemptA)) // a twin, whose name comes first
	second, err := tasks.sealed(t.Context(), StagePartial)
	check(t, err)
	if first.hash != second.hash || len(first.Attempts) != 30 || second.Attempts[3].Attempt != attemptB {
		t.Errorf("sealed %d attempts with hash %s, then %s with %+v", len(first.Attempts), first.hash, second.hash, second.Attempts[3])
	}
	stored, err := tasks.putSeal("sealed/partial.json", &seal{Plan: p.ID, Stage: StagePartial}) // which came too late
	check(t, err)
	if stored.hash != first.hash {
		t.Errorf("a late seal replaced the first: %s, was %s", stored.hash, first.hash)
	}
}

// Would catch two tasks that both read all manifests of a large stage, a task that takes its own claim for
// another's where the answer to it was lost, and one that waits for a seal though its context has ended.
func TestClaimSeal(t *testing.T) {
	tasks := Tasks{Plan: smallPlan(t), FS: quick}.Open()
	const name = "sealed/partial.json"
	claim := func(ctx context.Context, patience time.Duration) (*seal, error) {
		return tasks.claimSeal(ctx, StagePartial, name, patience)
	}
	if s, err := claim(t.Context(), 0); s != nil || err != nil {
		t.Errorf("the first is not told to seal: %v, %v", s, err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errStore)
	if s, err := claim(ended, time.Hour); s != nil || !errors.Is(err, errStore) {
		t.Errorf("a task whose context has ended: %v, %v", s, err)
	}
	if s, err := claim(t.Context(), 0); s != nil || err != nil {
		t.Errorf("a task without patience is not told to seal: %v, %v", s, err)
	}
	p := tasks.Plan
	check(t, tasks.work.WriteJSON(name, seal{Plan: p.ID, Stage: StagePartial, Attempts: []manifest{partialOf(p, 0, attemptA), partialOf(p, 1, attemptB)}}))
	if s, err := claim(t.Context(), time.Hour); err != nil || s == nil || len(s.Attempts) != 2 {
		t.Errorf("a task does not see what another has sealed: %v, %v", s, err)
	}
	check(t, tasks.work.Write(name, workdir.TextWriter([]byte("{"))))
	_, err := claim(t.Context(), time.Hour)
	says(t, "a damaged seal", err, ErrDamaged, name)
}

// lostAnswer is a store whose PutNew has stored the object, and says that the name is taken: the answer to
// the first of two attempts was lost.
type lostAnswer struct{ *bucket }

func (b lostAnswer) PutNew(name string, content []byte) error {
	check := b.bucket.PutNew(name, content)
	return errors.Join(check, b.bucket.PutNew(name, content))
}

// Would catch a task that waits for itself to seal a stage.
func TestClaimSealOwn(t *testing.T) {
	p := smallPlan(t)
	p.Work = bucketURL + "work/" + p.ID
	tasks := Tasks{Plan: p, FS: lostAnswer{newBucket()}}.Open()
	ended, end := context.WithCancelCause(t.Context())
	end(errStore) // who waits fails
	if s, err := tasks.claimSeal(ended, StagePartial, "sealed/partial.json", time.Hour); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
}

// Would catch names that are counted as tasks, and names of tasks that are not.
func TestNamesOfTasks(t *testing.T) {
	for name, want := range map[string]string{
		"00007." + attemptA + ".json": "7 true", "99999.x.json": "99999 true", "00007": "7 true",
		"-0001.x.json": "-1 false", ".x.json": "0 false", "x.json": "0 false", "": "0 false", "00001-00002.x.json": "0 false",
		"99999999999999999999.x.json": "",
	} {
		task, ok := taskOf(name)
		if got := fmt.Sprint(task, ok); got != want && (want != "" || ok) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"00000-00003." + attemptA + ".json": "0..3 true", "00003-00003.x.json": "3..3 true",
		"00003.x.json": "false", "-0001-00003.x.json": "false", "a-b.json": "false", "": "false", "00001-.json": "false",
	} {
		of, ok := rangeOf(name)
		got := fmt.Sprint(ok)
		if ok {
			got = fmt.Sprint(of, " ", ok)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"00007." + attemptA + ".pack": attemptA, "00007." + attemptA + ".json": attemptA,
		"00000-00003." + attemptA + "/part-00000.csv": attemptA, "00000-00003." + attemptA + "/k=1." + attemptB + "/x": attemptA,
		"00007.pack": "", "00007." + attemptA[:15] + ".pack": "", attemptA + ".pack": "", "x/00007." + attemptA + ".pack": "", "": "",
	} {
		if got := attemptOf(name); got != want {
			t.Errorf("%q: attempt %q, want %q", name, got, want)
		}
		if want != "" {
			if got, want := manifestOf("s", name), "s/"+strings.SplitN(name, ".", 2)[0]+"."+want+".json"; got != want {
				t.Errorf("%q: manifest %q, want %q", name, got, want)
			}
		}
	}
	keys := []string{partialKey(9), partialKey(10), partialKey(12345), partialKey(splitsMax - 1)}
	if !slices.IsSorted(keys) {
		t.Errorf("%q: keys are not in the order of their tasks", keys)
	}
}

// partialKey is the key of a split's task.
func partialKey(task int) string { return (&manifest{Stage: StagePartial, Task: task}).key() }
