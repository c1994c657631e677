package mpgabeam

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"

	"github.com/mpga/mpga/integrations/beam/internal/fakempga"
)

// workerRoles are processes that tests start.
var workerRoles = map[string]func(){"pool": servePool, "task": runHangingTask}

// startRole starts the binary of the tests as another process, and returns the first line that it
// prints. The process ends with the test.
func startRole(t *testing.T, role string, variables ...string) (process *os.Process, line string) {
	t.Helper()
	cmd := exec.Command(fakeOptions(t).Binary)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), variables...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error of a process that was killed
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process, strings.TrimSpace(line)
}

// servePool starts workers of Beam in this process when a runner asks for them.
func servePool() {
	pool, err := extworker.StartLoopback(context.Background(), 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(pool.EnvironmentConfig(context.Background()))
	select {}
}

// Would catch functions, types and options that do not reach a worker in another process, as those of
// a cluster are.
func TestWorkerProcess(t *testing.T) {
	plan := smallPlan(t, map[string]string{"partial 1": fakempga.FailOnce})
	o := fakeOptions(t)
	o.Attempts = 2
	opened, err := Open(t.Context(), plan.Path(), o)
	if err != nil {
		t.Fatal(err)
	}
	kind, config := *jobopts.EnvironmentType, *jobopts.EnvironmentConfig
	t.Cleanup(func() { *jobopts.EnvironmentType, *jobopts.EnvironmentConfig, *jobopts.WorkerBinary = kind, config, "" })
	*jobopts.EnvironmentType = "EXTERNAL"
	*jobopts.WorkerBinary = o.Binary // Beam compiles one otherwise, which such a worker does not use
	_, *jobopts.EnvironmentConfig = startRole(t, "pool")
	stages, err := Run(t.Context(), "prism", opened)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) != 3 || stages[0].Tasks != 4 || stages[0].Rows != 4*fakempga.Rows {
		t.Errorf("totals %+v", stages)
	}
}

const planVariable = "MPGABEAM_TEST_PLAN"

// runHangingTask runs a task as a worker does.
func runHangingTask() {
	o := Options{}
	o.EnsureDefaults()
	o.Binary, _ = os.Executable()
	f := &runFn{Path: os.Getenv(planVariable), Stage: "partial", Options: o}
	f.Setup()
	fmt.Println("starts")
	_, err := f.ProcessElement(context.Background(), 0)
	fmt.Fprintln(os.Stderr, err)
}

// Would catch a task that goes on when its worker was killed, and holds the memory that the next
// attempt needs. B4
func TestWorkerKilled(t *testing.T) {
	plan := smallPlan(t, map[string]string{"partial 0": fakempga.Deaf})
	worker, _ := startRole(t, "task", planVariable+"="+plan.Path())
	await(t, plan, "hangs")
	if !lockIsHeld(t, plan) {
		t.Fatal("the child holds no lock")
	}
	if err := worker.Kill(); err != nil {
		t.Fatal(err)
	}
	lock := openLock(t, plan)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // waits for the child's end
		t.Fatal(err)
	}
}

func openLock(t *testing.T, plan *fakempga.Plan) *os.File {
	t.Helper()
	lock, err := os.OpenFile(plan.LockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return lock
}

// lockIsHeld tells whether a task of a plan hangs.
func lockIsHeld(t *testing.T, plan *fakempga.Plan) bool {
	t.Helper()
	return syscall.Flock(int(openLock(t, plan).Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// graceOf is a time that a child which ends by itself does not need, and one that a child which does
// not end uses up.
func graceOf(behaviour string) time.Duration {
	if behaviour == fakempga.Deaf {
		return 50 * time.Millisecond
	}
	return time.Minute
}

// Would catch bundles that run more tasks than a worker may, or lose their slots.
func TestSlots(t *testing.T) {
	table := slotTable{bySize: map[int]chan struct{}{}}
	first, err := table.take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	second, err := table.take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table.take(ctx, 2); err == nil {
		t.Error("a third slot of two")
	}
	first()
	third, err := table.take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	second()
	third()
}
