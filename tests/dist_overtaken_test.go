package tests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// beforePublish calls a function once, when the manifest of an output is created.
type beforePublish struct {
	vfs.FS
	call func()
}

func (f *beforePublish) Create(name string, mode os.FileMode) (vfs.File, error) {
	if call := f.call; call != nil && filepath.Base(name) == "_manifest.json" && !strings.Contains(name, "/work/") {
		f.call = nil
		call()
	}
	return f.FS.Create(name, mode)
}

// The commit of an older plan, before another plan's commit begins and after it has ended, does not replace what
// the other has made, and leaves nothing behind. Would catch a commit that looks at the output when it begins
// alone. An output that was there when both were planned is replaced.
func TestDistOvertaken(t *testing.T) {
	eng := openEngine(t, 1)
	for _, there := range []bool{false, true} {
		for _, late := range []bool{false, true} { // the other commits while the older one writes
			t.Run(fmt.Sprintf("there %v, late %v", there, late), func(t *testing.T) {
				dir := t.TempDir()
				csvFile(t, filepath.Join(dir, "in", "0.csv"), 40, func(row int) string { return fmt.Sprintf("%d,%d,s", row%17, row) })
				output := filepath.Join(dir, "out")
				hooked := &beforePublish{FS: faultfs.Unsynced{FS: vfs.OS}}
				job := func(statement string) *distJob {
					r := faultRequest(statement, filepath.Join(dir, "in"), filepath.Join(dir, "work"), output)
					r.Layout.Overwrite = true
					j, err := planDist(t.Context(), eng, hooked, dir, r)
					if err != nil {
						t.Fatal(err)
					}
					return j
				}
				if there {
					if err := job("SELECT k, max(v) AS v FROM t GROUP BY k").doAll(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				older, newer := job("SELECT k, sum(v) AS v FROM t GROUP BY k"), job("SELECT k, min(v) AS v FROM t GROUP BY k")
				for _, task := range older.all() {
					if task.stage != distributed.StageCommit {
						if _, err := older.do(t.Context(), task); err != nil {
							t.Fatal(err)
						}
					}
				}
				overtake := func() {
					if err := newer.doAll(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if late {
					hooked.call = overtake
				} else {
					overtake()
				}
				_, err := older.do(t.Context(), distTask{distributed.StageCommit, 0})
				if !errors.Is(err, distributed.ErrPlan) || !strings.Contains(err.Error(), "plan again") {
					t.Errorf("the older commit: %v", err)
				}
				if text := string(readFile(t, filepath.Join(output, "_manifest.json"))); !strings.Contains(text, newer.plan.ID) {
					t.Errorf("the output is not the newer plan's: %s", text)
				}
				checkManifest(t, output)
				if left := hiddenNames(t, dir); len(left) > 0 {
					t.Errorf("beside the output: %q", left)
				}
				again := job("SELECT k, sum(v) AS v FROM t GROUP BY k")
				if again.plan.ID != older.plan.ID {
					t.Errorf("planned again it is %s, and was %s", again.plan.ID, older.plan.ID)
				}
				if done, err := again.do(t.Context(), distTask{distributed.StageCommit, 0}); err != nil || done.State != "done" {
					t.Errorf("planned again: %+v, %v", done, err)
				}
			})
		}
	}
}
