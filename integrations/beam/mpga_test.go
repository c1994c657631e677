package mpgabeam

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const flights = "../../tests/testdata/flights-2001.parquet"

// routes is a query whose groups are in many partitions, with states of every kind: counts, exact
// sums, lists of values.
const routes = `SELECT origin, destination, count(*) AS flights, avg(delay) AS mean, median(delay) AS middle, count(DISTINCT date) AS times
FROM flights WHERE distance > 100 GROUP BY origin, destination HAVING count(*) > 3`

// mpga runs the real program, which the environment names, and returns what it prints.
func mpga(t *testing.T, args ...string) string {
	t.Helper()
	binary := os.Getenv("MPGA_BINARY")
	if binary == "" {
		t.Skip("MPGA_BINARY names no mpga")
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", commandText(binary, args), err)
	}
	return string(out)
}

// planRoutes makes a plan of the query, and returns its options, its path and the path of the result.
func planRoutes(t *testing.T, flags ...string) (o Options, plan, result string) {
	t.Helper()
	folder := t.TempDir()
	plan, result = filepath.Join(folder, "plan.json"), filepath.Join(folder, "result.parquet")
	args := []string{"dist", "plan", routes, "--table", "flights=" + flights, "--work", filepath.Join(folder, "work"),
		"--output", result, "--splits", "4", "--partitions", "16", "--merges", "3", "-o", plan}
	mpga(t, append(args, flags...)...)
	o = Options{Binary: os.Getenv("MPGA_BINARY"), TasksAtOnce: 2, Threads: 1, MemoryLimit: "256MiB"}
	return o, plan, result
}

// wantResult fails unless a file has the rows of the query.
func wantResult(t *testing.T, result string) {
	t.Helper()
	order := " ORDER BY origin, destination"
	got := mpga(t, "sql", "SELECT * FROM r"+order, "--table", "r="+result, "--format", "csv")
	want := mpga(t, "sql", routes+order, "--table", "flights="+flights, "--format", "csv")
	if len(want) < 1000 || got != want {
		t.Errorf("%d bytes of rows, not the %d of mpga sql", len(got), len(want))
	}
}

// Would catch a command line, a summary or a status of mpga that this package does not know, and rows
// that are not those of one process.
func TestResult(t *testing.T) {
	for name, flags := range map[string][]string{"plain": nil, "with combine tasks": {"--combines", "2"}} {
		t.Run(name, func(t *testing.T) {
			o, plan, result := planRoutes(t, flags...)
			stages, err := openAndRun(t.Context(), plan, o)
			if err != nil {
				t.Fatal(err)
			}
			wantResult(t, result)
			if partial := stages[0]; partial.Tasks != 4 || partial.Rows == 0 || partial.BytesRead == 0 || partial.BytesWritten == 0 || partial.Seconds == 0 {
				t.Errorf("totals %+v", partial)
			}
			t.Logf("%+v", stages)

			again, err := openAndRun(t.Context(), plan, o)
			if err != nil {
				t.Fatal(err)
			}
			if again[0].Already != 4 {
				t.Errorf("the second run has done tasks again: %+v", again)
			}
			wantResult(t, result)
		})
	}
}

// Would catch attempts of the same task at the same time that harm each other.
func TestResultOfTwins(t *testing.T) {
	o, plan, result := planRoutes(t)
	o.TasksAtOnce = 6
	runTwins(t, 3, plan, o)
	wantResult(t, result)
}

// Would catch an exit code of mpga that this package takes for another one.
func TestExitCodes(t *testing.T) {
	o, plan, _ := planRoutes(t)
	_, err := Open(t.Context(), filepath.Join(filepath.Dir(plan), "other.json"), o)
	wantError(t, err, "other.json")

	opened, err := Open(t.Context(), plan, o)
	if err != nil {
		t.Fatal(err)
	}
	opened.Stages[0].Tasks = 5 // one more than the plan has
	_, err = Run(t.Context(), "prism", opened)
	wantError(t, err, "--split 4", "exit status 2", errPermanent.Error())
}
