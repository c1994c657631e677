package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// seedFlag decides the faults.
var seedFlag = flag.Uint64("seed", 1, "seed of random faults")

// builtCommand returns mpga, which is built once.
var builtCommand = sync.OnceValues(func() (path string, err error) {
	if path = os.Getenv("MPGA_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	if buildDir, err = os.MkdirTemp("", "mpga-kubernetes-*"); err != nil {
		return "", err
	}
	path = filepath.Join(buildDir, "mpga")
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", path, "./cmd/mpga")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

var buildDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		if err := os.RemoveAll(buildDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// mpga runs mpga, which must end with a code, and returns what it prints.
func mpga(t *testing.T, code int, args ...string) []byte {
	t.Helper()
	path, err := builtCommand()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("mpga %q: %v, want exit code %d: %s", args, err, code, &stderr)
	}
	return out
}

// planned is a plan whose files lie below a directory, and its YAML.
type planned struct {
	dir, input, plan, output string
	work                     string // of the plan alone
	yaml                     []byte
	stages                   []stage
}

type stage struct {
	Name  string
	Tasks int
}

// newPlan plans a query over a file, which is copied, with an output of a name, and renders the plan with
// further flags.
func newPlan(t *testing.T, query, input, output string, planFlags []string, flags ...string) *planned {
	t.Helper()
	p := &planned{dir: filepath.Join(t.TempDir(), odd)}
	p.input, p.plan, p.output = filepath.Join(p.dir, filepath.Base(input)), filepath.Join(p.dir, "plan.json"), filepath.Join(p.dir, output)
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.input, content, 0o666); err != nil {
		t.Fatal(err)
	}
	mpga(t, 0, append([]string{"dist", "plan", fmt.Sprintf(query, "'"+p.input+"'"), "--deterministic", "--output", p.output, "--work", filepath.Join(p.dir, "work"), "-o", p.plan}, planFlags...)...)
	text, err := os.ReadFile(p.plan)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Work   string
		Stages []stage
	}
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	p.work, p.stages = said.Work, said.Stages
	p.yaml = mpga(t, 0, append([]string{"dist", "kubernetes", "--plan", p.plan, "--image", "mpga", "--volume", claim + ":" + p.dir, "--parallelism", "4"}, flags...)...)
	return p
}

// odd is a name that YAML takes for another, and in which the kubelet would replace something.
const odd = `a "b" \n #c $(JOB_COMPLETION_INDEX) $$`

// claim is the PersistentVolumeClaim of the tests.
const claim = "shared"

// done returns how many tasks of a stage have written their manifests.
func (p *planned) done(stage string) (int, error) {
	entries, err := os.ReadDir(filepath.Join(p.work, stage))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	tasks := make(map[string]bool)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			task, _, _ := strings.Cut(e.Name(), ".")
			tasks[task] = true
		}
	}
	return len(tasks), nil
}

// check fails where the output is not what one process answers: byte for byte, or of a directory row for
// row in the order of all columns.
func (p *planned) check(t *testing.T, query string) {
	t.Helper()
	query = fmt.Sprintf(query, "'"+p.input+"'")
	var got []byte
	if info, err := os.Stat(p.output); err == nil && info.IsDir() {
		query += " ORDER BY ALL"
		got = mpga(t, 0, "sql", "SELECT * FROM '"+p.output+"' ORDER BY ALL", "--format", "csv")
	} else if got, err = os.ReadFile(p.output); err != nil {
		t.Fatal(err)
	}
	if want := mpga(t, 0, "sql", query, "--deterministic", "--format", "csv"); !bytes.Equal(got, want) || len(got) < 1000 {
		t.Fatalf("%d B of output differ from the %d B of a single process", len(got), len(want))
	}
}
