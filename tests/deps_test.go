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

// imports says which packages of the module each package imports, the leaves apart. Both ways: an
// import that is not here fails, and so does an entry that no file needs.
var imports = map[string][]string{
	"app/cmdflags":                   {"engine", "engine/device"},
	"app/timed":                      {"engine", "engine/plan", "engine/sql"},
	"cmd/mpga":                       {"app/cmdflags", "app/timed", "engine", "engine/device", "engine/distributed", "engine/job", "engine/objects", "engine/partial", "engine/plan", "engine/query", "engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/scan/json", "engine/sink", "engine/sql", "internal/digits", "internal/gen", "internal/kubernetes", "internal/nearest", "internal/order", "internal/report", "internal/server", "internal/server/flightsql", "internal/server/web", "internal/shell", "internal/trace", "internal/vfs", "kernels", "kernels/cuda", "kernels/nvml"},
	"cpuagg":                         {"internal/rowdata", "partition"},
	"engine":                         {"cpuagg", "engine/device", "engine/partial", "engine/query", "engine/scan", "internal/aggregator", "internal/budget", "internal/digits", "internal/encode", "internal/finalize", "internal/machine", "internal/mem", "internal/order", "internal/recordreader", "internal/rowdata", "internal/store", "internal/testknobs", "internal/threads", "internal/trace", "internal/vector", "internal/vfs"},
	"engine/device":                  {"cpuagg", "engine/query", "engine/scan", "internal/aggregator", "internal/digits", "internal/encode", "internal/rowcode", "internal/rowdata", "internal/testknobs", "internal/threads", "internal/trace", "internal/vfs", "kernels", "kernels/hostdevice", "partition", "stream"},
	"engine/distributed":             {"engine", "engine/partial", "engine/plan", "engine/query", "engine/scan", "engine/scan/dataset", "engine/sink", "engine/sql", "internal/order", "internal/recordreader", "internal/rowdata", "internal/store", "internal/vfs", "partition"},
	"engine/job":                     {"engine", "engine/distributed", "engine/plan", "engine/query", "engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/scan/json", "engine/sink", "engine/sql", "internal/nearest", "internal/order", "internal/vfs"},
	"engine/objects":                 {"internal/vfs"},
	"engine/partial":                 {"cpuagg", "engine/query", "engine/scan", "internal/encode", "internal/finalize", "internal/rowdata", "internal/store", "internal/vfs", "partition"},
	"engine/plan":                    {"engine", "engine/query", "engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/sql", "internal/digits", "internal/expr", "internal/nearest", "internal/order", "internal/recordreader", "internal/rowcode", "internal/rowdata", "internal/vector"},
	"engine/query":                   {"internal/nearest"},
	"engine/scan":                    {"engine/query", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/internal/rowset", "internal/recordreader", "internal/rowcode"},
	"engine/scan/csv":                {"engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "engine/scan/internal/textfile", "internal/timeformat", "internal/vfs"},
	"engine/scan/dataset":            {"engine/scan", "engine/scan/csv", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "engine/scan/internal/textfile", "engine/scan/ipc", "engine/scan/json", "engine/scan/parquet", "internal/vfs"},
	"engine/scan/internal/decode":    {"engine/scan/internal/delivery", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/internal/rowset", "internal/rowdata", "internal/vfs"},
	"engine/scan/internal/delivery":  {"engine/query", "internal/wellformed"},
	"engine/scan/internal/fields":    {"engine/scan/internal/delivery", "engine/scan/internal/reserve", "internal/digits", "internal/timeformat", "internal/wellformed"},
	"engine/scan/internal/opentest":  {"engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/scan/internal/scantest"},
	"engine/scan/internal/predicate": {},
	"engine/scan/internal/reserve":   {"internal/rowdata"},
	"engine/scan/internal/rowset":    {"engine/scan/internal/delivery"},
	"engine/scan/internal/scantest":  {"engine/scan", "engine/scan/internal/delivery", "engine/scan/internal/predicate", "internal/budget", "internal/grouptest", "internal/mem"},
	"engine/scan/internal/textfile":  {"engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "internal/vfs"},
	"engine/scan/ipc":                {"engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/reserve", "internal/vfs"},
	"engine/scan/json":               {"engine/scan/internal/decode", "engine/scan/internal/fields", "engine/scan/internal/reserve", "engine/scan/internal/textfile", "internal/vfs"},
	"engine/scan/parquet":            {"engine/query", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/internal/rowset", "engine/scan/ipc", "internal/snappy", "internal/vfs", "internal/wellformed"},
	"engine/sink":                    {"engine/sink/adapt", "engine/sink/parquet", "engine/sink/text", "internal/mem", "internal/order", "internal/rowdata", "internal/vfs"},
	"engine/sink/adapt":              {"internal/digits"},
	"engine/sink/parquet":            {"engine/sink/adapt", "internal/rowdata", "internal/snappy", "partition"},
	"engine/sink/sinktest":           {},
	"engine/sink/text":               {"internal/digits", "internal/rowdata", "internal/timeformat"},
	"engine/sql":                     {"engine/query", "internal/expr", "internal/nearest", "internal/sqlscan"},
	"internal/aggregator":            {"cpuagg", "engine/partial", "engine/scan", "internal/encode", "internal/mem", "internal/rowdata", "internal/store", "internal/threads", "internal/trace"},
	"internal/budget":                {"internal/mem", "internal/rowdata"},
	"internal/complete":              {"engine/query", "internal/expr", "internal/sqlscan"},
	"internal/cubin":                 {},
	"internal/digits":                {},
	"internal/encode":                {"engine/scan", "internal/digits", "internal/rowdata", "partition"},
	"internal/expr":                  {"engine/query", "internal/digits", "internal/nearest", "internal/needle", "internal/regex", "internal/rowcode", "internal/rowdata", "internal/timeformat"},
	"internal/finalize":              {"cpuagg", "engine/query", "engine/scan", "internal/digits", "internal/encode", "internal/rowdata", "internal/vector", "partition"},
	"internal/gen":                   {"engine/scan", "internal/digits", "internal/recordreader"},
	"internal/grouptest":             {"engine/query", "internal/rowdata"},
	"internal/invariants":            {},
	"internal/knob":                  {},
	"internal/kubernetes":            {"engine/distributed"},
	"internal/machine":               {"internal/mem"},
	"internal/mem":                   {"internal/rowdata"},
	"internal/nearest":               {},
	"internal/needle":                {},
	"internal/order":                 {"cpuagg", "engine/query", "internal/mem", "internal/recordreader", "internal/rowdata", "internal/store", "internal/vfs"},
	"internal/recordreader":          {},
	"internal/redact":                {},
	"internal/regex":                 {},
	"internal/chart":                 {},
	"internal/chart/charttest":       {},
	"internal/report":                {"engine", "internal/chart", "internal/digits", "internal/trace", "kernels"},
	"internal/rowcode":               {},
	"internal/rowdata":               {"engine/query"},
	"internal/server":                {"engine", "engine/plan", "engine/query", "engine/scan", "engine/scan/dataset", "engine/sink", "engine/sql", "internal/expr", "internal/mem", "internal/recordreader", "internal/trace", "internal/vfs"},
	"internal/server/flightsql":      {"engine", "engine/query", "engine/sink/adapt", "engine/sql", "internal/recordreader", "internal/server", "internal/trace"},
	"internal/server/web":            {"engine", "engine/query", "engine/sink", "engine/sink/text", "engine/sql", "internal/chart", "internal/digits", "internal/report", "internal/server"},
	"internal/shell":                 {"engine", "engine/plan", "engine/query", "engine/sink", "engine/sql", "internal/complete", "internal/digits", "internal/nearest", "internal/sqlscan", "internal/vfs"},
	"internal/snappy":                {},
	"internal/spawn":                 {"internal/redact"},
	"internal/sqlscan":               {},
	"internal/store":                 {"cpuagg", "internal/mem", "internal/rowdata", "internal/trace", "internal/vfs", "partition"},
	"internal/testknobs":             {"kernels/hostdevice"},
	"internal/threads":               {"internal/trace"},
	"internal/timeformat":            {},
	"internal/trace":                 {},
	"internal/vector":                {"internal/rowdata"},
	"internal/vfs":                   {},
	"internal/vfs/faultfs":           {"internal/vfs"},
	"internal/wellformed":            {},
	"kernels":                        {"internal/cubin", "internal/rowcode", "internal/snappy", "partition"},
	"kernels/build":                  {},
	"kernels/cpurun":                 {},
	"kernels/cuda":                   {"internal/cubin"},
	"kernels/devicetest":             {"internal/rowcode", "kernels", "partition"},
	"kernels/hostdevice":             {"internal/rowcode", "kernels", "partition"},
	"kernels/nvml":                   {},
	"partition":                      {},
	"stream":                         {"internal/rowcode", "kernels", "partition"},
}

// leaves may be imported by every package but by each other.
var leaves = []string{"internal/invariants", "internal/knob", "internal/redact", "internal/spawn"}

// testingOnly are imported by tests alone.
var testingOnly = []string{"engine/scan/internal/opentest", "engine/scan/internal/scantest", "engine/sink/sinktest", "internal/chart/charttest", "internal/grouptest", "kernels/cpurun", "kernels/devicetest", "internal/vfs/faultfs"}

// peers must not become dependencies of the library.
var peers = []string{"github.com/duckdb/", "github.com/mpga/mpga/lab", "github.com/mpga/mpga/tests"}

// goPackage is what `go list` tells of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// Imports point one way: a package that is new, or reaches where it may not, is found here.
func TestDeps(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(name, "out/") {
			continue // scratch, which git ignores
		}
		seen[name] = true
		listed, known := imports[name]
		if !known {
			t.Errorf("%s: say in imports what the package imports", name)
		}
		checkImports(t, name, p.Imports, listed)
		for _, dep := range p.Deps {
			if slices.ContainsFunc(peers, func(peer string) bool { return strings.HasPrefix(dep, peer) }) {
				t.Errorf("%s depends on %s", name, dep)
			}
		}
	}
	for name := range imports {
		if !seen[name] {
			t.Errorf("%s is in imports and does not exist", name)
		}
	}
}

// checkImports compares the imports of a package with those that are listed for it.
func checkImports(t *testing.T, name string, actual, listed []string) {
	t.Helper()
	unused := slices.Clone(listed)
	for _, path := range actual {
		imported, ours := strings.CutPrefix(path, module+"/")
		if !ours {
			continue
		}
		isLeaf := slices.Contains(leaves, imported) && !slices.Contains(leaves, name)
		if slices.Contains(testingOnly, imported) && !slices.Contains(testingOnly, name) || !isLeaf && !slices.Contains(listed, imported) {
			t.Errorf("%s must not import %s", name, imported)
		}
		unused = slices.DeleteFunc(unused, func(u string) bool { return u == imported })
	}
	for _, u := range unused {
		t.Errorf("%s may import %s and does not: take the entry out of imports", name, u)
	}
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
