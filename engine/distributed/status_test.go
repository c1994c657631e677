package distributed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/internal/workdir"
)

// Would catch a status that counts tasks that are not done, or does not count merges of other ranges, and a
// scheduler that is told to go on too early.
func TestStatus(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, dir+"/in")
	tasks := newSmall(t, eng, quick, smallRequest(quick, dir))
	stages := tasks.Plan.Stages
	told := func() string {
		t.Helper()
		s, err := tasks.Status()
		check(t, err)
		text, err := json.Marshal(s)
		check(t, err)
		if strings.Contains(string(text), "null") || s.ID != tasks.Plan.ID {
			t.Errorf("a status of another form: %s", text)
		}
		var parts []string
		for _, stage := range s.Stages {
			parts = append(parts, fmt.Sprintf("%s %d/%d %v", stage.Name, stage.Done, stage.Tasks, stage.Missing))
		}
		return fmt.Sprintf("%s; committed %t", strings.Join(parts, ", "), s.Committed)
	}
	want := func(name, want string) {
		t.Helper()
		if got := told(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// ready says whether a wait for a stage returns at once.
	ended, end := context.WithCancelCause(t.Context())
	end(errStore)
	ready := func(stage string, want bool) {
		t.Helper()
		err := tasks.Wait(ended, stage)
		if want && err != nil || !want && !(errors.Is(err, ErrNotDone) && errors.Is(err, errStore) && strings.Contains(err.Error(), stage)) {
			t.Errorf("waiting for %s: %v; it is done: %t", stage, err, want)
		}
	}
	says(t, "no such stage", tasks.Wait(ended, "sort"), ErrPlan, "it has no stage sort")
	want("nothing", "partial 0/2 [0 1], combine 0/1 [0], merge 0/2 [0 1], commit 0/1 [0]; committed false")
	for _, stage := range stages {
		ready(stage.Name, false)
	}
	for n := range 2 {
		_, err := tasks.Partial(t.Context(), 1-n)
		check(t, err)
		if n == 0 {
			want("a split", "partial 1/2 [0], combine 0/1 [0], merge 0/2 [0 1], commit 0/1 [0]; committed false")
		}
	}
	ready(StagePartial, true)
	ready(StageCombine, false)
	_, err := tasks.Combine(t.Context(), 0)
	check(t, err)
	_, err = tasks.MergeRange(t.Context(), Range{1, 2}) // across the plan's ranges
	check(t, err)
	want("a merge of halves", "partial 2/2 [], combine 1/1 [], merge 0/2 [0 1], commit 0/1 [0]; committed false")
	_, err = tasks.MergeRange(t.Context(), Range{0, 0})
	check(t, err)
	want("one range", "partial 2/2 [], combine 1/1 [], merge 1/2 [1], commit 0/1 [0]; committed false")
	ready(StageMerge, false)
	_, err = tasks.MergeRange(t.Context(), Range{3, 3})
	check(t, err)
	want("all ranges", "partial 2/2 [], combine 1/1 [], merge 2/2 [], commit 0/1 [0]; committed false")
	ready(StageMerge, true)
	ready(StageCommit, false)
	_, err = tasks.Commit(t.Context())
	check(t, err)
	_, err = Collect(quick, dir+"/work", time.Hour, false) // removes what the stages have left
	check(t, err)
	want("the output", "partial 2/2 [], combine 1/1 [], merge 2/2 [], commit 1/1 []; committed true")
	for _, stage := range stages {
		ready(stage.Name, true)
	}
	check(t, tasks.work.Write(committedName, workdir.TextWriter([]byte("{}"))))
	_, err = tasks.Status()
	says(t, "another plan's note", err, ErrDamaged, "remove "+tasks.Plan.Work+", and plan again")
	says(t, "waiting", tasks.Wait(ended, StageMerge), ErrDamaged, "remove "+tasks.Plan.Work)
}

// Would catch a status that lists each task of a stage of very many.
func TestStatusOfMany(t *testing.T) {
	done := make([]bool, missingMax+10)
	done[3] = true
	s := statusOf(Stage{StagePartial, len(done)}, done)
	if s.Done != 1 || len(s.Missing) != missingMax || s.Missing[3] != 4 {
		t.Errorf("%d done, %d missing", s.Done, len(s.Missing))
	}
}
