package distributed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/store"
)

// Would catch damage that schedulers try again for ever, and faults that another attempt mends and that are
// taken for damage: a blob of the work directory is damaged for all, a temporary file for this process alone.
func TestExplainDamage(t *testing.T) {
	tasks := Tasks{Plan: smallPlan(t), FS: quick}.Open()
	tasks.Plan.Output = Output{Path: filepath.Join(t.TempDir(), "out"), Options: sink.Options{Manifest: true}}
	blob := func(err error) error { return fmt.Errorf("merge: %w", &partial.BlobError{Name: "x.pack", Err: err}) }
	for _, c := range []struct {
		name    string
		err     error
		damaged bool
	}{
		{"none", nil, false},
		{"a blob with wrong bytes", blob(store.ErrCorrupt), true},
		{"a blob of another version", blob(store.ErrVersion), true},
		{"a blob that no reader knows", blob(scan.ErrCorrupt), true},
		{"a blob with wrong states", blob(rowdata.ErrCorruptState), true},
		{"a blob of another run", fmt.Errorf("x: %w", partial.ErrMismatch), true},
		{"a blob that cannot be read", blob(errStore), false},
		{"a temporary file with wrong bytes", store.ErrCorrupt, false},
		{"a damaged seal", fmt.Errorf("%w: sealed/x.json", ErrDamaged), true},
		{"an earlier stage", ErrNotDone, false},
	} {
		err := tasks.explainDamage(c.err)
		if errors.Is(err, ErrDamaged) != c.damaged || !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if said := err != nil && strings.HasSuffix(err.Error(), "; remove "+tasks.Plan.Work+", and plan again"); said != c.damaged {
			t.Errorf("%s: it says %v", c.name, err)
		}
	}
	check(t, tasks.output().Write(sink.ManifestName, workdir.TextWriter([]byte(`{"plan":"`+tasks.Plan.ID+`"}`))))
	err := tasks.explainDamage(blob(store.ErrCorrupt))
	if errors.Is(err, ErrDamaged) || !strings.HasPrefix(err.Error(), "the plan was committed while the task ran") {
		t.Errorf("after the commit: %v", err)
	}
}

// Would catch a commit that takes rows of a merge that are not what was written, of files as of objects.
func TestCheckRows(t *testing.T) {
	const text = "k\n1\n"
	const sum = "d2fa0b1fac9ef4ae3ed3c7d6b9b3dd9cf0b0fb4e5b4b38f7a3f8a5cb4d26c8b0"
	for _, remote := range []bool{false, true} {
		p := smallPlan(t)
		fsys := newBucket()
		if remote {
			p.Work = bucketURL + "work/" + p.ID
		}
		tasks := Tasks{Plan: p, FS: fsys}.Open()
		m := mergeOf(p, 0, 3, attemptA)
		m.Files[0].Bytes = int64(len(text))
		name := m.name() + "/" + m.Files[0].Path
		rows := func(sum string) error {
			m.Files[0].SHA256 = sum
			return tasks.checkRows(t.Context(), []manifest{m})
		}
		says(t, "no file", rows(""), ErrDamaged, "rows of a merge are missing: ")
		check(t, tasks.work.Write(name, workdir.TextWriter([]byte(text))))
		check(t, rows(""))
		if remote { // whose store checks the bytes
			check(t, rows(sum))
		} else {
			says(t, "another checksum", rows(sum), ErrDamaged, "has the SHA-256 ")
			right, err := fileSum(fsys, tasks.work.Path(name))
			check(t, err)
			check(t, rows(right))
		}
		check(t, tasks.work.Write(name, workdir.TextWriter([]byte(text[1:]))))
		says(t, "a shorter file", rows(""), ErrDamaged, tasks.work.Path(name)+" has 3 B, where 4 were written")
	}
}

// Would catch packs that are read at wrong places, or though they are of another size, of files as of objects,
// and a copy of objects that is left open.
func TestOpenPacks(t *testing.T) {
	eng := open(t, 1)
	for _, remote := range []bool{false, true} {
		p := smallPlan(t)
		fsys := newBucket()
		if remote {
			p.Work = bucketURL + "work/" + p.ID
		}
		tasks := Tasks{Plan: p, Engine: eng, FS: fsys}.Open()
		attempts := []manifest{partialOf(p, 0, attemptA), partialOf(p, 1, attemptB)}
		attempts[1].Blobs = []int64{0, 4, 0, 6}
		texts := []string{"abbcccdddd", "BBBBDDDDDD"}
		for i := range attempts {
			check(t, tasks.work.Write(attempts[i].name()+packSuffix, workdir.TextWriter([]byte(texts[i]))))
		}
		for _, of := range []Range{{0, 3}, {0, 0}, {1, 2}, {2, 3}, {3, 3}} {
			opened, err := tasks.openPacks(t.Context(), attempts, of)
			check(t, err)
			var got []string
			for i, blobs := range opened.Sources {
				if len(blobs) != of.Last-of.First+1 {
					t.Errorf("%s: %d blobs of pack %d", of, len(blobs), i)
				}
				for _, b := range blobs {
					r, err := b.Open()
					check(t, err)
					text, err := io.ReadAll(io.NewSectionReader(r, 0, 100)) // more than a blob has
					check(t, err)
					check(t, r.Close())
					got = append(got, string(text))
				}
			}
			all := [][]string{{"a", "bb", "ccc", "dddd"}, {"", "BBBB", "", "DDDDDD"}}
			want := slices.Concat(all[0][of.First:of.Last+1], all[1][of.First:of.Last+1])
			if !slices.Equal(got, want) {
				t.Errorf("%s, objects %t: %q, want %q", of, remote, got, want)
			}
			check(t, opened.Close())
		}
		// used opens the packs, and their blobs: of files, packs are looked at when they are read.
		used := func() error {
			opened, err := tasks.openPacks(t.Context(), attempts, Range{1, 3})
			if err != nil {
				return err
			}
			for _, blobs := range opened.Sources {
				r, openErr := blobs[0].Open()
				if err = openErr; err != nil {
					break
				}
				check(t, r.Close())
			}
			return errors.Join(err, opened.Close())
		}
		check(t, used())
		check(t, tasks.work.Write(attempts[1].name()+packSuffix, workdir.TextWriter([]byte(texts[1]+"x"))))
		says(t, "a longer pack", used(), ErrDamaged, ".pack has 11 B, where 10 were written")
		check(t, tasks.work.Write(attempts[1].name()+packSuffix, workdir.TextWriter([]byte(texts[1]))))
		check(t, fsys.Remove(tasks.work.Path(attempts[0].name()+packSuffix)))
		says(t, "no pack", used(), ErrDamaged, "a pack is missing")
		if fsys.opened != 0 {
			t.Errorf("%d objects are open", fsys.opened)
		}
	}
}

// Each call of a store fails once, of all tasks of a plan that lives there: the task says so, or is done; once
// it has run again, and the tasks after it, the output is right. Would catch a task that hides a fault, an
// upload that nobody ends, an object that nobody closes, and an output that is there before it is whole.
func TestStoreFaults(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	for n := 0; ; n++ {
		fsys := newBucket()
		r := smallRequest(fsys, dir)
		r.Output, r.Work = bucketURL+"out", bucketURL+"work"
		tasks := newSmall(t, eng, fsys, r)
		fsys.calls, fsys.failAt = 0, n
		failed := 0
		for _, stage := range tasks.Plan.Stages {
			for task := 0; task < stage.Tasks; task++ {
				_, err := do(t, tasks, stage.Name, task)
				if err == nil {
					continue
				}
				if failed++; failed > 1 || !errors.Is(err, errStore) {
					t.Fatalf("call %d, %s %d: %v", n, stage.Name, task, err)
				}
				if stage.Name != StageCommit && len(fsys.names(bucketURL+"out")) > 0 {
					t.Errorf("call %d: there is an output before the commit", n)
				}
				task-- // once more
			}
		}
		calls := fsys.calls
		fsys.failAt = 0
		checkSmall(t, fmt.Sprint("call ", n), tasks)
		if fsys.uploads != 0 || fsys.opened != 0 {
			t.Errorf("call %d: %d uploads and %d objects are open", n, fsys.uploads, fsys.opened)
		}
		if n > calls {
			if n < 40 {
				t.Errorf("%d calls", calls)
			}
			break
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("files beside the store: %v, %v", entries, err)
	}
}

// Would catch rows that are counted twice, or never, where two merges seal at once, in a store that knows no
// conditions: the commit says which partitions were merged of other attempts, and is done once they are again.
func TestSealedTwice(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	fsys := newBucket()
	fsys.unconditional = true
	r := smallRequest(fsys, dir)
	r.Output, r.Work, r.Combines = bucketURL+"out", bucketURL+"work", -1
	tasks := newSmall(t, eng, fsys, r)
	doUntil(t, tasks, StageMerge)
	_, err := tasks.Merge(t.Context(), 0)
	check(t, err)
	s, err := tasks.sealed(t.Context(), StagePartial)
	check(t, err)
	// A twin of split 1, and a task that has seen the twin alone, and seals last.
	first := s.Attempts[1]
	for _, suffix := range []string{packSuffix, manifestSuffix} {
		check(t, fsys.Remove(tasks.work.Path(first.name()+suffix)))
	}
	_, err = tasks.Partial(t.Context(), 1)
	check(t, err)
	names, err := tasks.attempts(StagePartial, "00001.")
	check(t, err)
	m, err := tasks.manifest(StagePartial + "/" + names[0])
	check(t, err)
	_, err = tasks.putSeal("sealed/partial.json", &seal{Plan: tasks.Plan.ID, Stage: StagePartial, Attempts: []manifest{s.Attempts[0], *m}})
	check(t, err)
	_, err = tasks.Merge(t.Context(), 1)
	check(t, err)
	_, err = tasks.Commit(t.Context())
	says(t, "two seals", err, ErrNotDone, "merge: partitions 0, 1 were merged of other attempts than those that are sealed: merge them again")
	done, err := tasks.Merge(t.Context(), 0)
	if check(t, err); done.State != "done" {
		t.Errorf("%+v", done)
	}
	_, err = tasks.Commit(t.Context())
	check(t, err)
	checkSmall(t, "two seals", tasks)
}
