package distributed

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
)

// linesOf returns the lines of an output of CSV, sorted, of a file or of a directory of files or objects.
func linesOf(t *testing.T, tasks *Tasks) []string {
	t.Helper()
	out := tasks.Plan.Output
	names := []string{""}
	if out.Directory() {
		made, err := tasks.outputManifest()
		check(t, err)
		names = nil
		for _, f := range made.Files {
			names = append(names, f.Path)
		}
	}
	var lines []string
	for _, name := range names {
		w := workDir(tasks.FS, out.Path, nil)
		if name == "" {
			w.Root, name = strings.TrimSuffix(out.Path, "/"+workdir.BaseName(out.Path)), workdir.BaseName(out.Path)
		}
		check(t, w.Read(name, func(text []byte) error {
			rows := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			lines = append(lines, rows[1:]...)
			return nil
		}))
	}
	slices.Sort(lines)
	return lines
}

// wantSmall is what smallQuery says of the table of writeSmall.
func wantSmall() (lines []string) {
	for k := range 17 {
		n := 4
		if k < 40%17 {
			n = 6
		}
		lines = append(lines, fmt.Sprintf("%d,%d,s0", k, n))
	}
	slices.Sort(lines)
	return lines
}

// checkSmall compares the output of smallQuery.
func checkSmall(t *testing.T, name string, tasks *Tasks) {
	t.Helper()
	if got, want := linesOf(t, tasks), wantSmall(); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// Would catch a task that runs before what it needs is done and makes something of the rest, a message that
// does not say what is missing, a task that is done twice and counts twice, and a task that there is not.
func TestTasksOutOfOrder(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	tasks := newSmall(t, eng, quick, smallRequest(quick, dir))
	refuse := func(stage string, task int, class error, want string) {
		t.Helper()
		_, err := do(t, tasks, stage, task)
		says(t, fmt.Sprint(stage, " ", task), err, class, want)
	}
	twice := func(stage string, task int) {
		t.Helper()
		first, err := do(t, tasks, stage, task)
		check(t, err)
		again, err := do(t, tasks, stage, task)
		check(t, err)
		if first.State != "done" || again.State != "already" || first.Task != task || again.Task != task ||
			first.Rows != again.Rows || first.BytesWritten != again.BytesWritten || first.Stage != again.Stage {
			t.Errorf("%s %d: %+v, then %+v", stage, task, first, again)
		}
	}
	for _, c := range []struct {
		stage string
		task  int
		want  string
	}{
		{StagePartial, 2, "task 2 of stage partial, which has 2"}, {StagePartial, -1, "task -1 of stage partial, which has 2"},
		{StageCombine, 1, "task 1 of stage combine, which has 1"}, {StageMerge, 2, "task 2 of stage merge, which has 2"},
	} {
		refuse(c.stage, c.task, ErrPlan, c.want)
	}
	for _, of := range []Range{{-1, 0}, {0, 4}, {2, 1}} {
		_, err := tasks.MergeRange(t.Context(), of)
		says(t, of.String(), err, ErrPlan, fmt.Sprintf("partitions %s of 4", of))
	}
	refuse(StageCombine, 0, ErrNotDone, "partial: 2 of 2 tasks are not: 0, 1")
	refuse(StageMerge, 0, ErrNotDone, "combine: 1 of 1 tasks are not: 0")
	refuse(StageCommit, 0, ErrNotDone, "combine: 1 of 1 tasks are not: 0")
	twice(StagePartial, 1)
	refuse(StageCombine, 0, ErrNotDone, "partial: 1 of 2 tasks are not: 0")
	twice(StagePartial, 0)
	twice(StageCombine, 0)
	refuse(StageCommit, 0, ErrNotDone, "merge: 4 of 4 partitions are not merged: 0, 1, 2, 3")
	twice(StageMerge, 1)
	refuse(StageCommit, 0, ErrNotDone, "merge: 2 of 4 partitions are not merged: 0, 1")
	_, err := tasks.MergeRange(t.Context(), Range{1, 3}) // which overlaps
	check(t, err)
	refuse(StageCommit, 0, ErrNotDone, "merge: 1 of 4 partitions are not merged: 0")
	if _, err := os.Stat(tasks.Plan.Output.Path); !os.IsNotExist(err) {
		t.Errorf("there is an output before the commit: %v", err)
	}
	_, err = tasks.MergeRange(t.Context(), Range{0, 2})
	check(t, err)
	refuse(StageCommit, 0, ErrNotDone, "the ranges that are merged overlap, and no choice of them is all partitions")
	twice(StageMerge, 0)
	twice(StageCommit, 0)
	checkSmall(t, "the output", tasks)
	for _, stage := range tasks.Plan.Stages { // which have nothing to do any more
		check(t, os.RemoveAll(tasks.work.Path(stage.Name)))
		done, err := do(t, tasks, stage.Name, 0)
		check(t, err)
		if done.State != "already" {
			t.Errorf("%+v after the commit", done)
		}
	}
}

// Would catch rows that are lost, doubled, or out of order where a split begins or ends within a file: first, last
// and lists tell of the order of the splits.
func TestCutsWithinFiles(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeGroups(t, filepath.Join(dir, "0.parquet"))
	writeGroups(t, filepath.Join(dir, "1.parquet"))
	const query = "SELECT code, count(*) AS n, first(id) AS f, last(id) AS l, string_agg(CAST(id AS VARCHAR), '+') AS a FROM t GROUP BY code"
	ids := make([][]string, 50)
	for i := range 1000 {
		code := i % 500 * 7 % 50
		ids[code] = append(ids[code], strconv.Itoa(i%500))
	}
	var rows []string
	for code, of := range ids {
		rows = append(rows, fmt.Sprintf("%d,%d,%s,%s,%s", code, len(of), of[0], of[len(of)-1], strings.Join(of, "+")))
	}
	slices.Sort(rows)
	want := strings.Join(rows, "\n")
	for splits := 1; splits <= 10; splits++ {
		r := smallRequest(quick, dir)
		r.Statement, r.Tables = query, map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "*.parquet")}}}
		r.Splits, r.Combines, r.Output = splits, splits%3-1, filepath.Join(dir, fmt.Sprint("out", splits))
		tasks := newSmall(t, eng, quick, r)
		if n := len(tasks.Plan.Splits); n != splits {
			t.Errorf("%d splits, want %d", n, splits)
		}
		doUntil(t, tasks, "")
		if got := strings.Join(linesOf(t, tasks), "\n"); got != want {
			t.Errorf("%d splits: %s\nwant %s", splits, got, want)
		}
	}
}

// Would catch an input that is read though it is not the plan's, and a message that does not say how it differs.
func TestInputChanged(t *testing.T) {
	eng := open(t, 1)
	fsys := newBucket()
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	for f := range 2 {
		text, err := os.ReadFile(filepath.Join(dir, "in", fmt.Sprintf("%d.csv", f)))
		check(t, err)
		fsys.put(fmt.Sprintf("%sin/%d.csv", bucketURL, f), text)
	}
	file, url := filepath.Join(dir, "in", "1.csv"), bucketURL+"in/1.csv"
	r := smallRequest(fsys, dir)
	local := newSmall(t, eng, fsys, r)
	r.Tables = map[string]plan.Table{"t": {Files: []string{bucketURL + "in/*.csv"}}}
	remote := newSmall(t, eng, fsys, r)
	before, err := os.ReadFile(file)
	check(t, err)
	refuse := func(name string, tasks *Tasks, want string) {
		t.Helper()
		_, err := tasks.Partial(t.Context(), 1)
		says(t, name, err, ErrPlan, want)
	}
	fsys.put(url, append([]byte("K"), before[1:]...))
	refuse("an object of another tag", remote, "its tag was 6b2c762c730a302c, and is 4b2c762c730a302c): plan again")
	fsys.put(url, append(before, "1,2,3\n"...))
	refuse("a longer object", remote, url+" is not what it was when the plan was made (it had 330 B, and has 336): plan again")
	delete(fsys.objects, url)
	refuse("an object that is gone", remote, "an input of the plan: "+ErrPlan.Error())
	later := time.Now().Add(time.Hour)
	check(t, os.Chtimes(file, later, later))
	refuse("a file of another time", local, "it was changed at ")
	check(t, os.Remove(file))
	refuse("a file that is gone", local, "no such file")
	_, err = local.Partial(t.Context(), 0) // which reads another file
	check(t, err)
	left, err := local.attempts(StagePartial, "00001.")
	check(t, err)
	if len(left) > 0 {
		t.Errorf("a refused split counts: %q", left)
	}
}

// Would catch a commit that was overtaken and removes what is not its own: rows of the plan that has overtaken
// it, files that are nobody's, and objects beside the output; or that leaves its own.
func TestRemoveOwn(t *testing.T) {
	const own, other = "0123456789abcdef", "fedcba9876543210"
	for _, c := range []struct {
		output string
		layout sink.Options
		left   []string // objects that removeOwn leaves; nil for all
	}{
		{bucketURL + "out", sink.Options{Manifest: true}, []string{
			"_manifest.json", "k=1/part-00000-00000-" + other + ".csv", "part-00000-00000-" + other + ".csv", "part-00000-00000-" + own, "x-" + own + "/part-00000.csv",
		}},
		{bucketURL + "out.csv", sink.Options{}, nil},
	} {
		fsys := newBucket()
		p := &Plan{ID: own, Work: bucketURL + "work/" + own, Output: Output{Path: c.output, Options: c.layout}}
		tasks := Tasks{Plan: p, FS: fsys}.Open()
		for _, name := range []string{
			"_manifest.json", "part-00000-00000-" + own + ".csv", "part-00000-00000-" + other + ".csv", "k=1/part-00001-00000-" + own + ".csv",
			"k=1/part-00000-00000-" + other + ".csv", "x-" + own + "/part-00000.csv", "part-00000-00000-" + own,
		} {
			fsys.put(bucketURL+"out/"+name, []byte(name))
			fsys.put(bucketURL+"out2/"+name, []byte(name))
		}
		before := maps.Clone(fsys.objects)
		for n := range 4 { // each call fails once, and then none
			fsys.objects, fsys.calls, fsys.failAt = maps.Clone(before), 0, n
			err := tasks.removeOwn()
			if fired := n > 0 && fsys.calls >= n; fired != errors.Is(err, errStore) {
				t.Errorf("%s, call %d of %d: %v", c.output, n, fsys.calls, err)
			}
		}
		fsys.failAt = 0
		check(t, tasks.removeOwn())
		check(t, tasks.removeOwn())
		want := slices.Sorted(slices.Values(c.left))
		if c.left == nil {
			for name := range before {
				if rest, ok := strings.CutPrefix(name, bucketURL+"out/"); ok {
					want = append(want, rest)
				}
			}
			slices.Sort(want)
		}
		if got := fsys.names(bucketURL + "out/"); !slices.Equal(got, want) {
			t.Errorf("%s: left %q, want %q", c.output, got, want)
		}
		if got := fsys.names(bucketURL + "out2/"); len(got) != 7 {
			t.Errorf("%s: beside it is left %q", c.output, got)
		}
	}
	dir := t.TempDir() // Commit of files publishes by a rename: there is nothing to remove
	check(t, os.WriteFile(filepath.Join(dir, "part-00000-00000-"+own+".csv"), nil, 0o666))
	tasks := Tasks{Plan: &Plan{ID: own, Output: Output{Path: dir, Options: sink.Options{Manifest: true}}}, FS: quick}.Open()
	check(t, tasks.removeOwn())
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Would catch a late commit that replaces the output of a plan that was made after its own, and one that leaves
// objects of its own below it: R4.
func TestOvertaken(t *testing.T) {
	eng := open(t, 1)
	for _, remote := range []bool{false, true} {
		fsys := newBucket()
		dir := t.TempDir()
		writeSmall(t, filepath.Join(dir, "in"))
		r := smallRequest(fsys, dir)
		r.Layout.Overwrite = true
		if remote {
			r.Output = bucketURL + "out"
		}
		late := newSmall(t, eng, fsys, r)
		doUntil(t, late, StageCommit)
		r.Name = "the next"
		next := newSmall(t, eng, fsys, r)
		doUntil(t, next, "")
		_, err := late.Commit(t.Context())
		says(t, "a late commit", err, ErrPlan, "its output is not what it was when the plan was made: plan again: "+late.Plan.Output.Path)
		if made, err := next.outputManifest(); err != nil || made.Plan != next.Plan.ID {
			t.Errorf("the output is of %v, %v; want %s", made, err, next.Plan.ID)
		}
		checkSmall(t, "the output", next)
		for _, name := range fsys.names(bucketURL) {
			if strings.Contains(name, late.Plan.ID) {
				t.Errorf("the late commit has left %s", name)
			}
		}
		third := newSmall(t, eng, fsys, r) // the same as the next, and done
		done, err := third.Commit(t.Context())
		if check(t, err); done.State != "already" {
			t.Errorf("%+v", done)
		}
	}
}

// Would catch a plan that takes another's output for its own, or does not know its own, once the note of the
// commit is gone, damaged, or another plan's.
func TestRemembered(t *testing.T) {
	eng := open(t, 1)
	for _, output := range []string{"out", "out.csv"} {
		dir := t.TempDir()
		writeSmall(t, filepath.Join(dir, "in"))
		r := smallRequest(quick, dir)
		r.Output = filepath.Join(dir, output)
		tasks := newSmall(t, eng, quick, r)
		doUntil(t, tasks, "")
		note := tasks.work.Path(committedName)
		text, err := os.ReadFile(note)
		check(t, err)
		commit := func(name, state string, class error, want string) {
			t.Helper()
			done, err := tasks.Commit(t.Context())
			if state == "" {
				says(t, output+", "+name, err, class, want)
			} else if err != nil || done.State != state {
				t.Errorf("%s, %s: %+v, %v; want %s", output, name, done, err, state)
			}
		}
		commit("as it was", "already", nil, "")
		later := time.Now().Add(time.Hour)
		check(t, os.Chtimes(tasks.marker(), later, later))
		commit("once more", "already", nil, "")
		var c committed
		check(t, tasks.work.ReadJSON(committedName, &c))
		if c.unnoted || !c.Output.Modified.Equal(later.Truncate(0)) {
			t.Errorf("%s: the note is still of %s, want %s", output, c.Output.Modified, later)
		}
		check(t, os.WriteFile(note, text[:len(text)/2], 0o666))
		commit("half a note", "", ErrDamaged, "remove "+tasks.Plan.Work+", and plan again")
		c.Plan = "0000000000000001"
		other, err := json.Marshal(c)
		check(t, err)
		check(t, os.WriteFile(note, other, 0o666))
		commit("another plan's note", "", ErrDamaged, committedName+" is of plan 0000000000000001")
		check(t, os.Remove(note))
		if output == "out" {
			commit("no note", "already", nil, "")
			if _, err := os.Stat(note); err != nil {
				t.Errorf("the note is not written again: %v", err)
			}
			check(t, os.Remove(note))
			check(t, os.WriteFile(tasks.marker(), []byte(`{"plan":"0000000000000001"}`), 0o666))
			commit("no note, and another's output", "", ErrPlan, "file already exists")
		} else {
			commit("no note", "done", nil, "") // a file does not tell whose it is, and is replaced
			checkSmall(t, output, tasks)
			check(t, os.WriteFile(tasks.marker(), []byte("k\n"), 0o666))
			commit("another's output", "", ErrReplaced, "remove it to commit this plan again")
		}
	}
}
