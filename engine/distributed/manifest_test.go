package distributed

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/sink"
)

// smallPlan is a plan of two splits, four partitions and two merges, that reads no files.
func smallPlan(t *testing.T) *Plan {
	t.Helper()
	return &Plan{
		ID: "0000000000000001", Work: t.TempDir(), Splits: make([]Split, 2), Partitions: 4, Merges: ranges(4, 2),
		Stages: []Stage{{StagePartial, 2}, {StageMerge, 2}, {StageCommit, 1}},
	}
}

// attemptA and attemptB are names of attempts.
const attemptA, attemptB = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"

// partialOf is the manifest of a split's attempt.
func partialOf(p *Plan, split int, attempt string) manifest {
	return manifest{Plan: p.ID, Stage: StagePartial, Task: split, Attempt: attempt, Bytes: 10, Blobs: []int64{1, 2, 3, 4}}
}

// mergeOf is the manifest of an attempt to merge partitions.
func mergeOf(p *Plan, first, last int, attempt string) manifest {
	return manifest{
		Plan: p.ID, Stage: StageMerge, Task: first, Last: last, Attempt: attempt, Sealed: strings.Repeat("0", 64),
		Files: []sink.ManifestFile{{Path: "part-00000.csv", Bytes: 5, Rows: 1}},
	}
}

// Would catch a manifest that is taken though it is another plan's or another task's, has sizes that lead
// out of its pack, or names that lead out of its directory.
func TestManifestRefused(t *testing.T) {
	tasks := Tasks{Plan: smallPlan(t), FS: quick}.Open()
	p := tasks.Plan
	for _, c := range []struct {
		name   string
		change func(m *manifest)
		want   string // a part of the error; "" where the manifest is taken
	}{
		{"as it was", func(m *manifest) {}, ""},
		{"no bytes", func(m *manifest) { m.Bytes, m.Blobs = 0, make([]int64, 4) }, ""},
		{"another plan", func(m *manifest) { m.Plan = "0000000000000002" }, "is of plan 0000000000000002"},
		{"another split", func(m *manifest) { m.Task = 1 }, "says that it is partial/00001." + attemptA},
		{"another stage", func(m *manifest) { m.Stage = StageCombine }, "says that it is combine/00000." + attemptA},
		{"another attempt", func(m *manifest) { m.Attempt = attemptB }, "says that it is partial/00000." + attemptB},
		{"an attempt that leads elsewhere", func(m *manifest) { m.Attempt = "../../../plan" }, `has an attempt "../../../plan"`},
		{"an attempt of capitals", func(m *manifest) { m.Attempt = strings.ToUpper(attemptA) }, "has an attempt"},
		{"no attempt", func(m *manifest) { m.Attempt = "" }, `has an attempt ""`},
		{"a blob less", func(m *manifest) { m.Blobs = m.Blobs[:3] }, "has 3 blobs, of 4 partitions"},
		{"a blob more", func(m *manifest) { m.Blobs = append(m.Blobs, 0) }, "has 5 blobs, of 4 partitions"},
		{"a blob below 0", func(m *manifest) { m.Blobs[0], m.Blobs[1] = -1, 4 }, "has blobs larger than its pack"},
		{"a blob beyond the pack", func(m *manifest) { m.Blobs[3] = 5 }, "has blobs larger than its pack"},
		{"blobs beyond 63 bits", func(m *manifest) {
			m.Bytes, m.Blobs = math.MaxInt64, []int64{math.MaxInt64, math.MaxInt64, 1, 1}
		}, "has blobs larger than its pack"},
		{"a pack that is larger than its blobs", func(m *manifest) { m.Bytes = 11 }, "has blobs of 10 B in a pack of 11 B"},
		{"a pack below 0", func(m *manifest) { m.Bytes = -1 }, "has blobs larger than its pack"},
	} {
		m := partialOf(p, 0, attemptA)
		c.change(&m)
		name := "partial/00000." + attemptA + manifestSuffix
		check(t, tasks.work.WriteJSON(name, m))
		if _, err := tasks.manifest(name); c.want != "" {
			says(t, c.name, err, ErrDamaged, c.want)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(m *manifest)
		want   string
	}{
		{"as it was", func(m *manifest) {}, ""},
		{"no files", func(m *manifest) { m.Files = nil }, ""},
		{"a folder", func(m *manifest) { m.Files[0].Path = "k=1/part-00000.csv" }, ""},
		{"a file above", func(m *manifest) { m.Files[0].Path = "../x" }, `has a file "../x" of 5 B`},
		{"a file elsewhere", func(m *manifest) { m.Files[0].Path = "/etc/x" }, `has a file "/etc/x"`},
		{"a file of no name", func(m *manifest) { m.Files[0].Path = "" }, `has a file ""`},
		{"a file of less than no bytes", func(m *manifest) { m.Files[0].Bytes = -5 }, "of -5 B"},
		{"a file of less than no rows", func(m *manifest) { m.Files[0].Rows = -1 }, "has a file"},
		{"backwards", func(m *manifest) { m.Task, m.Last = 2, 1 }, "is of partitions 2..1, of 4"},
		{"a partition too many", func(m *manifest) { m.Last = 4 }, "is of partitions 0..4, of 4"},
		{"a partition below 0", func(m *manifest) { m.Task = -1 }, "is of partitions -1..1, of 4"},
	} {
		m := mergeOf(p, 0, 1, attemptA)
		c.change(&m)
		name := m.name() + manifestSuffix
		check(t, tasks.work.WriteJSON(name, m))
		if _, err := tasks.manifest(name); c.want != "" {
			says(t, "a merge: "+c.name, err, ErrDamaged, c.want)
		} else if err != nil {
			t.Errorf("a merge: %s: %v", c.name, err)
		}
	}
}

// Would catch a file of JSON that is taken though it is cut off, or something follows the value: a
// write that went wrong halfway over a longer file.
func TestReadJSON(t *testing.T) {
	tasks := Tasks{Plan: smallPlan(t), FS: quick}.Open()
	whole, err := json.Marshal(partialOf(tasks.Plan, 0, attemptA))
	check(t, err)
	name := "partial/00000." + attemptA + manifestSuffix
	read := func(text string) error {
		check(t, tasks.work.Write(name, workdir.TextWriter([]byte(text))))
		_, err := tasks.manifest(name)
		return err
	}
	check(t, read(string(whole)))
	check(t, read("\n "+string(whole)+"\n"))
	for n := range whole {
		if err := read(string(whole[:n])); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d B of %d: %v", n, len(whole), err)
		}
	}
	for _, rest := range []string{"{}", string(whole), "}", "x", "\x00", "null"} {
		says(t, "behind it "+rest, read(string(whole)+rest), ErrDamaged, "is damaged")
	}
	says(t, "a field", read(strings.Replace(string(whole), "{", `{"color":1,`, 1)), ErrDamaged, "color")
	says(t, "a list", read("[]"), ErrDamaged, "is damaged")
}

// Would catch notes, manifests and lists of files that are read beyond the limit of memory, and memory
// that is not given back, after an error as after none.
func TestReadWithinMemory(t *testing.T) {
	tasks := Tasks{Plan: smallPlan(t), FS: quick}.Open()
	tasks.Plan.Output = Output{Path: t.TempDir(), Options: sink.Options{Manifest: true}}
	m := partialOf(tasks.Plan, 0, attemptA)
	manifestName := m.name() + manifestSuffix
	text, err := json.Marshal(m)
	check(t, err)
	check(t, tasks.work.Write(manifestName, workdir.TextWriter(text)))
	note, err := json.Marshal(committed{Plan: tasks.Plan.ID})
	check(t, err)
	check(t, tasks.work.Write(committedName, workdir.TextWriter(note)))
	check(t, tasks.output().Write(sink.ManifestName, workdir.TextWriter([]byte("{}"))))
	for _, c := range []struct {
		name  string
		bytes int
		read  func() error
	}{
		{"a manifest", len(text), func() error { _, err := tasks.manifest(manifestName); return err }},
		{"a note", len(note), func() error { return tasks.work.ReadJSON(committedName, new(committed)) }},
		{"the files of the output", 2, func() error { _, err := tasks.outputManifest(); return err }},
	} {
		for _, missing := range []int64{0, 1} {
			budget := &narrow{left: int64(workdir.ParsedBytes*c.bytes) - missing}
			before := budget.left
			tasks.work.Budget = budget
			if err := c.read(); (missing > 0) != errors.Is(err, engine.ErrMemoryLimit) || missing == 0 && err != nil {
				t.Errorf("%s with %d B too few: %v", c.name, missing, err)
			}
			if budget.left != before {
				t.Errorf("%s: %d B are left reserved", c.name, before-budget.left)
			}
		}
	}
}
