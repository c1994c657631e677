package tests

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpga/mpga/tests/peer/peertest"
)

// The examples of docs/serve.md are programs that run as they are.
func TestServeExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	examples := regexp.MustCompile("(?s)\n```(go|java|python)\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1)
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	python := cmp.Or(os.Getenv(peertest.Variable), "python3")
	for _, e := range examples {
		t.Run(e[1], func(t *testing.T) {
			var command []string
			file := "main.go"
			switch e[1] {
			case "go":
				command = []string{"go", "run", "-tags", "grpcnotrace"}
			case "python":
				file, command = "example.py", []string{python}
				if exec.Command(python, "-c", "import adbc_driver_flightsql, pyarrow").Run() != nil {
					t.Skip("pip install adbc-driver-flightsql pyarrow")
				}
			case "java":
				file, command = "Example.java", []string{"java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", jdbcDriver}
				if _, err := os.Stat(jdbcDriver); err != nil {
					t.Skipf("make test-clients fetches the driver: %v", err)
				}
			}
			path := filepath.Join(t.TempDir(), file)
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(e[2], "localhost:8815", s.address)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(command[0], append(command[1:], path)...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "ORD") && !strings.Contains(string(out), "(2,)") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
