package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/distributed"
)

// killedJoin joins rows of two tables that change tasks.
const killedJoin = "SELECT a.key, count(*) AS n, sum(b.value) AS s, min(a.value) AS f, max(b.value) AS a " +
	"FROM 'PAIRS' a FULL JOIN 'PAIRS' b ON a.key = b.key + 1 GROUP BY ALL"

// A process of each task of a join is killed while it has its input open, or, where it was too fast, once it has ended.
// Begun again, the tasks have the answer of one run, and nothing is left. Would catch rows of an attempt that was
// killed, which are joined beside the rows of its second attempt, and a rest that is in the way.
func TestDistExchangeKilled(t *testing.T) {
	in := killedInputOf(t, killedJoin)
	j := in.newJob(t, "", "out", "--broadcast-bytes", "1", "--combines", "3")
	if j.plan.Exchange == nil {
		t.Fatal("no rows change tasks")
	}
	among := 0
	for _, task := range j.tasks() {
		if task.stage == distributed.StageCommit {
			break
		}
		cmd, _ := j.start(t, task)
		if hasOpened(cmd.Process.Pid, ".pack", ".parquet") {
			among++
		}
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if there := j.there(t); there != nil {
			t.Errorf("after %s there is an output", task)
		}
		j.finish(t, task)
	}
	j.finish(t, distTask{distributed.StageCommit, 0})
	t.Logf("%d of %d processes were killed at their input", among, len(j.tasks()))
	j.check(t)
}

// hasOpened waits until a process has opened a file whose name ends in one of some ways. It returns false where the
// process has ended before.
func hasOpened(pid int, suffixes ...string) bool {
	for {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil || len(files) == 0 {
			return false
		}
		for _, file := range files {
			name, _ := os.Readlink(file)
			for _, suffix := range suffixes {
				if strings.HasSuffix(name, suffix) {
					return true
				}
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// A disk that is full of the rows that change tasks is an error that says so, and leaves nothing in the way: with room
// there, the same tasks have the answer of one run.
func TestDistExchangeDiskFull(t *testing.T) {
	dir := t.TempDir()
	csvFile(t, filepath.Join(dir, "a.csv"), 20_000, func(row int) string { return fmt.Sprintf("%d,%d,s%d", row, row*7919%104729, row%977) })
	from := "'" + filepath.Join(dir, "a.csv") + "'"
	query := "SELECT a.s, count(*) AS n, sum(b.v) AS v FROM " + from + " a FULL JOIN " + from + " b ON a.k = b.v GROUP BY ALL"
	want := wantProcess(t, "sql", query+" ORDER BY ALL", "--format", "csv")
	text := onFullDisk(t, `$MPGA dist plan "`+query+`" --broadcast-bytes 1 --splits 2 --partitions 4 --combines 1 --work $DISK/work --output out.csv -o plan.json >log || exit 1
$MPGA dist partial --plan plan.json --split 0..1 >log 2>&1; echo exit $?; grep -c 'no space left' log; find $DISK -name '*.pack' -o -name '.*' | wc -l
mount -o remount,size=64m $DISK || exit 77
for task in "partial --split 0..1" "combine --node 0" "merge --task 0" commit; do $MPGA dist $task --plan plan.json >>log || exit 1; done
echo answer; $MPGA sql "SELECT * FROM 'out.csv' ORDER BY ALL" --format csv`)
	before, got, _ := strings.Cut(text, "answer\n")
	if before != "exit 1\n1\n0\n" || got != want {
		t.Errorf("%q, and %.300q, want %.300q", before, got, want)
	}
}
