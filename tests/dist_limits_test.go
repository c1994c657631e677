package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
)

// The states that a task keeps in a temporary file while it writes a pack are within --temp-limit. Would catch a
// file that nobody counts, and a message without the flag.
func TestDistTempLimit(t *testing.T) {
	dir := t.TempDir()
	csvFile(t, filepath.Join(dir, "in.csv"), 20_000, func(row int) string { return fmt.Sprintf("1,%d,%d", row, row*7919%104729) })
	made := distPlan(t, "SELECT k, list(v) AS v, list(s) AS s FROM '"+filepath.Join(dir, "in.csv")+"' GROUP BY k",
		"--output", filepath.Join(dir, "out"), "--partitions", "2048", "--splits", "1")
	args := taskArgs(made.File(), distTask{distributed.StagePartial, 0})
	p := runProcess(t, append(args, "--temp-limit", "1KiB", "--temp-dir", dir)...)
	if p.code != 1 || strings.Count(p.stderr, "\n") != 1 || !strings.Contains(p.stderr, "--temp-limit") {
		t.Errorf("exit code 1, one line and the flag: %s", p)
	}
	before := strings.Join(treeOf(t, dir), "\n")
	if strings.Contains(before, ".pack") {
		t.Errorf("there is %s", before)
	}
	if p := runProcess(t, append(args, "--temp-limit", "64MiB", "--temp-dir", dir)...); p.code != 0 {
		t.Error(p)
	}
}
