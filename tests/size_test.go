package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Would catch an import that brings a large package into the command, or a format of files, GPU
// code or SQL into programs that aggregate record batches of their own.
func TestSizes(t *testing.T) {
	library := filepath.Join(t.TempDir(), "library")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", library, "./library").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, program := range []struct {
		path     string
		bytesMax int64
	}{{buildCommand(t), 73e6}, {library, 20e6}} {
		info, err := os.Stat(program.path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d B", filepath.Base(program.path), info.Size())
		if info.Size() > program.bytesMax {
			t.Errorf("%s has %d B, more than %d: go version -m tells its modules, go tool nm -size -sort size its symbols", program.path, info.Size(), program.bytesMax)
		}
	}
}
