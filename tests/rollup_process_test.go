package tests

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/objects"
)

// rollupDays is a folder of files that come by days, and the commands of a roll-up and of a full run over them.
type rollupDays struct {
	dir, query string
	days       int
}

func newRollupDays(t *testing.T, days int) *rollupDays {
	t.Helper()
	r := &rollupDays{dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(r.dir, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	r.query = fmt.Sprintf("SELECT key %% 5000 AS k, count(*) AS n, sum(value) AS s, count(DISTINCT value) AS d, median(value) AS m, "+
		"first(value) AS f FROM '%s' GROUP BY ALL ORDER BY ALL", filepath.Join(r.dir, "in", "*.parquet"))
	for range days {
		r.add(t)
	}
	return r
}

// add adds a day.
func (r *rollupDays) add(t *testing.T) {
	t.Helper()
	wantProcess(t, "gen", "pairs", "--rows", "20000", "--groups", "9000", "--seed", fmt.Sprint(r.days+1), "-o",
		filepath.Join(r.dir, "in", fmt.Sprintf("%03d.parquet", r.days)))
	r.days++
}

func (r *rollupDays) output() string { return filepath.Join(r.dir, "out.csv") }

// command returns a process of the roll-up.
func (r *rollupDays) command(t *testing.T) *exec.Cmd {
	return exec.Command(buildCommand(t), "rollup", r.query, "--state", filepath.Join(r.dir, "state"), "-o", r.output(), "--temp-dir", r.dir)
}

// want compares the output with a full run.
func (r *rollupDays) want(t *testing.T) {
	t.Helper()
	if got, err := os.ReadFile(r.output()); err != nil || string(got) != wantProcess(t, "sql", r.query, "--format", "csv") {
		t.Errorf("%d days: the output is not a full run's (%v)", r.days, err)
	}
}

// Would catch a state that a killed process leaves between two, a lock of it that stays, and files that pile up: runs are
// killed at any moment, and the next answers as a full run does.
func TestRollupKilled(t *testing.T) {
	r := newRollupDays(t, 8)
	started := time.Now()
	if text, err := r.command(t).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	took := time.Since(started)
	kills := 40
	if testing.Short() {
		kills = 6
	}
	for range kills {
		r.add(t)
		if rand.IntN(3) == 0 { // a change in the middle, too
			old := filepath.Join(r.dir, "in", fmt.Sprintf("%03d.parquet", rand.IntN(r.days)))
			wantProcess(t, "gen", "pairs", "--rows", "10000", "--groups", "900", "-o", old)
		}
		cmd := r.command(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(took))))
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if text, err := r.command(t).CombinedOutput(); err != nil {
			t.Fatalf("after a kill: %v\n%s", err, text)
		}
		r.want(t)
	}
	state := filepath.Join(r.dir, "state")
	wantProcess(t, "rollup", "verify", state)
	wantProcess(t, "rollup", "gc", state)
	status := wantProcess(t, "rollup", "status", state, "--format", "json")
	if parts := strings.Count(status, `"pack":`); filesBelow(t, state) != parts+1 {
		t.Errorf("%d files for %d parts and a manifest", filesBelow(t, state), parts)
	}
}

// Would catch a run that goes on beside one that was stopped, and that a later run does not go on with once it is gone.
func TestRollupStopped(t *testing.T) {
	r := newRollupDays(t, 6)
	first := r.command(t)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(r.dir, "state", "lock")
	for range 1000 {
		if text, err := os.ReadFile(lock); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	text, err := r.command(t).CombinedOutput()
	if _, there := os.Stat(lock); there == nil && (err == nil || !strings.Contains(string(text), "another run is at work: ")) {
		t.Errorf("beside a run that was stopped: %v\n%s", err, text)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	r.add(t)
	if text, err := r.command(t).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r.want(t)
}

// A roll-up whose input, state and output are objects answers as a full run does, in every store. Would catch URLs that
// are not carried, objects that are read again though they did not change, and garbage that is left.
func TestRollupStore(t *testing.T) {
	for store, keys := range storeDoubles(t) {
		t.Run(store[:2], func(t *testing.T) {
			query := fmt.Sprintf(storeQuery, store+"in") + " ORDER BY ALL"
			for night := 3; night < 6; night++ {
				fsys := newObjects(t, objects.Options{}) // one remembers the sizes of objects
				storeInput(t, fsys, store+"in/"+fmt.Sprint(night), night, 500)
				folder := strings.ReplaceAll(query, "/in/*.parquet", "/in/**")
				cmd := exec.Command(buildCommand(t), "rollup", folder, "--state", store+"state", "-o", store+"out.csv")
				text, err := cmd.CombinedOutput()
				if want := fmt.Sprintf(" %d new, 0 changed, 0 gone; read %d ", night, night); err != nil || !strings.Contains(string(text), want) {
					t.Fatalf("want %q: %v\n%s", want, err, text)
				}
				full := wantProcess(t, "sql", folder, "--format", "csv")
				file, err := fsys.Open(store + "out.csv")
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(file); err != nil || string(got) != full {
					t.Errorf("night %d: the output is not a full run's (%v)", night, err)
				}
				if err := file.Close(); err != nil {
					t.Error(err)
				}
			}
			wantProcess(t, "rollup", "verify", store+"state")
			status := wantProcess(t, "rollup", "status", store+"state", "--format", "json")
			left := 0
			for _, key := range keys() {
				if strings.HasPrefix(key, "state/") {
					left++
				}
			}
			if parts := strings.Count(status, `"pack":`); left != parts+1 {
				t.Errorf("%d objects for %d parts and a manifest", left, parts)
			}
		})
	}
}
