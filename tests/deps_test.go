package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mpga/mpga"

// allowedImports says which packages of the module each may import. Everything may import
// the leaves, which import nothing.
var allowedImports = map[string][]string{
	"cmd/mpga":             {"engine", "internal/gen", "engine/job", "engine/objects", "internal/order", "engine/plan", "internal/report", "engine/scan", "engine/sink", "engine/sql", "kernels", "kernels/bench", "kernels/nvml", "internal/store", "internal/trace"},
	"engine":               {"internal/digits", "internal/order", "engine/scan", "internal/store", "stream/mpega", "internal/trace", "cpuagg", "partition", "kernels", "kernels/hostdevice"},
	"internal/digits":      {},
	"internal/expr":        {"internal/digits"},
	"internal/gen":         {"internal/digits", "engine/scan"},
	"internal/invariants":  {},
	"engine/job":           {"engine", "internal/order", "engine/plan", "engine/scan", "engine/sink", "engine/sql", "internal/store"},
	"engine/objects":       {"internal/store"},
	"internal/order":       {"cpuagg", "internal/store"},
	"engine/plan":          {"engine", "internal/expr", "internal/order", "engine/scan", "engine/sql"},
	"internal/report":      {"engine", "internal/trace"},
	"engine/scan":          {"internal/digits", "internal/store"},
	"engine/sink":          {"internal/digits", "internal/order", "partition", "internal/store"},
	"engine/spec":          {},
	"engine/spectest":      {},
	"engine/sql":           {"internal/expr"},
	"cpuagg":               {"partition"},
	"internal/redact":      {},
	"kernels":              {"partition"},
	"kernels/bench":        {"kernels", "partition"},
	"kernels/cpurun":       {},
	"kernels/devicetest":   {"kernels", "partition"},
	"kernels/hostdevice":   {"kernels", "partition"},
	"kernels/nvml":         {},
	"partition":            {},
	"internal/spawn":       {"internal/redact"},
	"internal/store":       {"cpuagg", "kernels", "partition", "internal/trace"},
	"internal/vfs/faultfs": {"internal/store"},
	"stream/mpega":         {"kernels", "partition"},
	"internal/trace":       {},
}

// leaves may be imported by every package but by each other.
var leaves = []string{"engine/spec", "internal/invariants", "internal/redact", "internal/spawn"}

// testingOnly are imported by tests alone.
var testingOnly = []string{"engine/spectest", "kernels/cpurun", "kernels/devicetest", "internal/vfs/faultfs"}

// peers must not become dependencies of the library.
var peers = []string{"github.com/duckdb/", "github.com/mpga/mpga/tests"}

// goPackage is what `go list` tells of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// Imports point one way: a package that is new, or reaches where it may not, is found here.
func TestDeps(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(name, "out/") {
			continue // scratch, which git ignores
		}
		allowed, known := allowedImports[name]
		if !known {
			t.Errorf("%s: say in allowedImports what it may import", name)
		}
		for _, imported := range p.Imports {
			if imported, ours := strings.CutPrefix(imported, module+"/"); ours && !mayImport(name, imported, allowed) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
		for _, dep := range p.Deps {
			if slices.ContainsFunc(peers, func(peer string) bool { return strings.HasPrefix(dep, peer) }) {
				t.Errorf("%s depends on %s", name, dep)
			}
		}
	}
}

func mayImport(name, imported string, allowed []string) bool {
	if slices.Contains(testingOnly, imported) {
		return false
	}
	return slices.Contains(allowed, imported) || slices.Contains(leaves, imported) && !slices.Contains(leaves, name)
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
