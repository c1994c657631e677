package tests

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// Would catch a bit of a pack that is wrong and changes the result, whichever it is. Four bytes of a frame have
// no meaning.
func TestDistFlippedBits(t *testing.T) {
	eng := openEngine(t, 1)
	d := newRefusedDir(t.Context(), t, eng, t.TempDir(), "out")
	// rows merges all partitions.
	rows := func() ([]byte, error) {
		t.Helper()
		if _, err := d.tasks().MergeRange(t.Context(), distributed.Range{First: 0, Last: d.plan.Partitions - 1}); err != nil {
			return nil, err
		}
		text := readFile(t, d.one(t, "merge/*/part-*"))
		return text, os.RemoveAll(filepath.Join(d.plan.Work, "merge"))
	}
	want, err := rows()
	if err != nil {
		t.Fatal(err)
	}
	flips, missed := 0, 0
	for _, pattern := range []string{"partial/00000.*.pack", "partial/00001.*.pack"} {
		name := d.one(t, pattern)
		whole := readFile(t, name)
		for at := int(*seedFlag) % 7; at < len(whole); at += 7 {
			d.change(t, name, func(text []byte) []byte {
				text[at] ^= 1 << (at % 8)
				return text
			})
			got, err := rows()
			if flips++; err == nil {
				missed++
			}
			if err == nil && !bytes.Equal(got, want) || err != nil && !strings.Contains(err.Error(), name) {
				t.Fatalf("byte %d of %d: %v", at, len(whole), err)
			}
			if err := os.WriteFile(name, whole, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if t.Logf("-seed=%d: %d bits, %d without an effect", *seedFlag, flips, missed); missed > flips/50 {
		t.Error("so many are not seen")
	}
}

// Merges that begin at the same time all seal, and agree. Would catch one that takes away what another one is
// about to put in place, and two that read different attempts.
func TestDistSealsAtOnce(t *testing.T) {
	eng := openEngine(t, 1)
	d := newRefusedDir(t.Context(), t, eng, t.TempDir(), "out")
	for _, n := range []int{0, 1, 0, 1} {
		if _, err := d.again(t.Context(), distTask{distributed.StagePartial, n}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 40 {
		for _, stage := range []string{"sealed", "merge"} {
			if err := os.RemoveAll(filepath.Join(d.plan.Work, stage)); err != nil {
				t.Fatal(err)
			}
		}
		errs := make([]error, d.plan.Partitions)
		var group sync.WaitGroup
		for n := range errs {
			group.Go(func() { _, errs[n] = d.tasks().MergeRange(t.Context(), distributed.Range{First: n, Last: n}) })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if left := hiddenNames(t, filepath.Join(d.plan.Work, "sealed")); len(left) > 0 {
			t.Fatalf("round %d: left %q", round, left)
		}
	}
	d.done(t, distTask{distributed.StageCommit, 0})
}

// An output that has changed since the commit is told from one that a twin has written once more, and from
// none. Would catch a late commit that is killed between the output and its note, after which every task
// failed; and the output of another run, taken for the plan's.
func TestDistReplaced(t *testing.T) {
	eng := openEngine(t, 1)
	for _, shape := range faultShapes {
		for _, c := range []struct {
			name  string
			after func(t *testing.T, marker string)
			state string // of a commit; "" where it is refused
		}{
			{"as it was", func(t *testing.T, marker string) {}, "already"},
			{"the same once more", func(t *testing.T, marker string) {
				later := time.Now().Add(time.Hour)
				if err := os.Chtimes(marker, later, later); err != nil {
					t.Fatal(err)
				}
			}, "already"},
			{"another of its size", func(t *testing.T, marker string) {
				text := readFile(t, marker)
				if err := os.WriteFile(marker, bytes.ReplaceAll(text, []byte(`"plan": "`), []byte(`"plan":"-`)), 0o666); err != nil {
					t.Fatal(err)
				}
				if filepath.Ext(marker) == ".csv" {
					text[len(text)-2] ^= 1
					if err := os.WriteFile(marker, text, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}, ""},
			{"another", func(t *testing.T, marker string) {
				if err := os.WriteFile(marker, []byte("{}\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}, ""},
			{"none", func(t *testing.T, marker string) {
				if err := os.RemoveAll(marker); err != nil {
					t.Fatal(err)
				}
				if filepath.Ext(marker) != ".csv" {
					if err := os.RemoveAll(filepath.Dir(marker)); err != nil {
						t.Fatal(err)
					}
				}
			}, "done"},
		} {
			t.Run(shape.name+", "+c.name, func(t *testing.T) {
				dir := t.TempDir()
				csvFile(t, filepath.Join(dir, "in", "0.csv"), 40, func(row int) string { return fmt.Sprintf("%d,%d,s", row%17, row) })
				output := filepath.Join(dir, shape.output)
				j, err := planDist(t.Context(), eng, faultfs.Unsynced{FS: vfs.OS}, dir, faultRequest(shape.query, filepath.Join(dir, "in"), filepath.Join(dir, "work"), output))
				if err != nil {
					t.Fatal(err)
				}
				if err := j.doAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				marker := output
				if j.plan.Output.Directory() {
					marker = filepath.Join(output, "_manifest.json")
				}
				c.after(t, marker)
				for range 2 {
					done, err := j.do(t.Context(), distTask{distributed.StageCommit, 0})
					if c.state == "" && !errors.Is(err, distributed.ErrReplaced) || c.state != "" && (err != nil || done.State != c.state) {
						t.Errorf("%+v, %v; want %q", done, err, c.state)
					}
					if c.state == "done" {
						break
					}
				}
			})
		}
	}
}

// linkless is a file system that has no links.
type linkless struct{ faultfs.Unsynced }

// Link implements vfs.FS.
func (linkless) Link(from, _ string) error { return fmt.Errorf("%s: %w", from, errors.ErrUnsupported) }

// Where the file system has no links, as some that are mounted from elsewhere, seals are renamed into place,
// and the files of the output are copied. Would catch a plan that cannot be carried out there.
func TestDistLinkless(t *testing.T) {
	eng := openEngine(t, 1)
	for _, c := range faultShapes {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			csvFile(t, filepath.Join(dir, "in", "0.csv"), 40, func(row int) string { return fmt.Sprintf("%d,%d,s", row%17, row) })
			var outputs [][]string
			for name, fsys := range map[string]vfs.FS{"linked": faultfs.Unsynced{FS: vfs.OS}, "copied": linkless{faultfs.Unsynced{FS: vfs.OS}}} {
				r := faultRequest(c.query, filepath.Join(dir, "in"), filepath.Join(dir, name, "work"), filepath.Join(dir, name, c.output))
				if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
					t.Fatal(err)
				}
				j, err := planDist(t.Context(), eng, fsys, dir, r)
				if err == nil {
					err = j.doAll(t.Context())
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if j.plan.Output.Directory() {
					checkManifest(t, r.Output)
				}
				outputs = append(outputs, sortedLines(t, r.Output))
				for _, place := range []string{"sealed", "merge"} {
					if left := hiddenNames(t, filepath.Join(j.plan.Work, place)); len(left) > 0 {
						t.Errorf("%s: left in %s: %q", name, place, left)
					}
				}
			}
			if err := sameLines(outputs[0], outputs[1]); err != nil {
				t.Error(err)
			}
		})
	}
}

// Of many splits, one of the merges that begin at once seals, and the others wait for it; where it has been
// killed, they do not wait for ever. Would catch merges that each read all manifests, and a stage that a rest
// holds up.
func TestDistSealer(t *testing.T) {
	eng := openEngine(t, 1)
	dir := t.TempDir()
	const splits = 66
	for f := range splits {
		csvFile(t, filepath.Join(dir, "in", fmt.Sprintf("%02d.csv", f)), 3, func(row int) string { return fmt.Sprintf("%d,%d,s", (f+row)%5, row) })
	}
	r := faultRequest(faultDistQuery, filepath.Join(dir, "in"), filepath.Join(dir, "work"), filepath.Join(dir, "out"))
	r.Splits, r.Merges, r.Combines = splits, 4, -1
	fsys := faultfs.New(faultfs.Unsynced{FS: vfs.OS})
	j, err := planDist(t.Context(), eng, fsys, dir, r)
	if err != nil {
		t.Fatal(err)
	}
	for n := range splits {
		if _, err := j.do(t.Context(), distTask{distributed.StagePartial, n}); err != nil {
			t.Fatal(err)
		}
	}
	merge := func() (operations int64) {
		t.Helper()
		fsys.FailAt(0)
		errs := make([]error, len(j.plan.Merges))
		var group sync.WaitGroup
		for n := range errs {
			group.Go(func() { _, errs[n] = j.do(t.Context(), distTask{distributed.StageMerge, n}) })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		operations = fsys.Ops()
		if err := os.RemoveAll(filepath.Join(j.plan.Work, "merge")); err != nil {
			t.Fatal(err)
		}
		return operations
	}
	first, sealed := merge(), merge() // the second finds a seal
	if most := sealed + 6*splits; first > most {
		t.Errorf("%d operations to seal and to merge, want %d at most: %d once it is sealed", first, most, sealed)
	}
	if err := os.Remove(filepath.Join(j.plan.Work, "sealed", "partial.json")); err != nil { // the sealer was killed
		t.Fatal(err)
	}
	started := time.Now()
	merge()
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("merges took %s after a sealer that was killed", took)
	}
	if err := j.doAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkManifest(t, r.Output)
}
