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
	module:                           {"engine", "engine/plan", "engine/sql", "internal/recordreader"},
	"app/chart":                      {},
	"app/chart/charttest":            {},
	"app/cmdflags":                   {"engine", "engine/device"},
	"app/complete":                   {"engine/query", "internal/expr", "internal/sqlscan"},
	"app/gen":                        {"engine/scan", "internal/digits", "internal/recordreader"},
	"app/kubernetes":                 {"engine/distributed"},
	"app/remote":                     {},
	"app/report":                     {"app/chart", "engine", "internal/digits", "internal/trace", "kernels"},
	"app/server":                     {"app/copyto", "app/temporary", "engine", "engine/plan", "engine/query", "engine/scan", "engine/scan/dataset", "engine/sink", "engine/sql", "internal/expr", "internal/mem", "internal/recordreader", "internal/rowdata", "internal/trace", "internal/vfs"},
	"app/server/flightsql":           {"app/server", "engine", "engine/query", "engine/sink/adapt", "engine/sql", "internal/recordreader", "internal/rowdata", "internal/sqlscan", "internal/trace"},
	"app/server/web":                 {"app/chart", "app/report", "app/server", "engine", "engine/query", "engine/sink", "engine/sink/text", "engine/sql", "internal/digits"},
	"app/copyto":                     {"engine", "engine/plan", "engine/query", "engine/sink", "engine/sql", "internal/nearest", "internal/order"},
	"app/shell":                      {"app/complete", "app/copyto", "app/temporary", "engine", "engine/plan", "engine/query", "engine/sink", "engine/sql", "internal/digits", "internal/nearest", "internal/sqlscan", "internal/vfs"},
	"app/temporary":                  {"engine", "engine/plan", "engine/query", "engine/scan", "engine/scan/dataset", "engine/sink", "engine/sql", "internal/nearest", "internal/recordreader", "internal/rowdata", "internal/vector", "internal/vfs"},
	"app/timed":                      {"engine", "engine/plan", "engine/sql"},
	"cmd/mpga":                       {"app/cmdflags", "app/copyto", "app/gen", "app/kubernetes", "app/remote", "app/report", "app/server", "app/server/flightsql", "app/server/web", "app/shell", "app/temporary", "app/timed", "engine", "engine/device", "engine/distributed", "engine/job", "engine/objects", "engine/partial", "engine/plan", "engine/query", "engine/rollup", "engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/scan/options", "engine/sink", "engine/sql", "internal/digits", "internal/nearest", "internal/order", "internal/sqlscan", "internal/timeformat", "internal/trace", "internal/vfs", "kernels", "kernels/cuda", "kernels/nvml"},
	"cpujoin":                        {"internal/gather", "internal/rowdata", "internal/scatter", "internal/store", "internal/table", "partition"},
	"cpuagg":                         {"internal/rowdata", "internal/scatter", "internal/table", "partition"},
	"engine":                         {"cpuagg", "cpujoin", "engine/device", "engine/internal/aggregator", "engine/internal/encode", "engine/internal/finalize", "engine/internal/window", "engine/partial", "engine/query", "engine/scan", "internal/arbiter", "internal/budget", "internal/digits", "internal/gather", "internal/machine", "internal/mem", "internal/nested", "internal/order", "internal/recordreader", "internal/rowcode", "internal/rowdata", "internal/scatter", "internal/store", "internal/table", "internal/testknobs", "internal/threads", "internal/trace", "internal/vector", "internal/vfs"},
	"engine/device":                  {"cpuagg", "engine/internal/aggregator", "engine/internal/encode", "engine/query", "engine/scan", "internal/digits", "internal/recordreader", "internal/rowcode", "internal/rowdata", "internal/table", "internal/testknobs", "internal/threads", "internal/trace", "internal/vector", "internal/vfs", "kernels", "kernels/hostdevice", "kernels/joins", "partition", "stream"},
	"engine/distributed":             {"engine", "engine/internal/workdir", "engine/partial", "engine/plan", "engine/query", "engine/scan", "engine/scan/dataset", "engine/sink", "engine/sql", "internal/nested", "internal/order", "internal/recordreader", "internal/rowdata", "internal/vfs", "partition"},
	"engine/internal/aggregator":     {"cpuagg", "engine/internal/encode", "engine/partial", "engine/scan", "internal/arbiter", "internal/mem", "internal/rowdata", "internal/scatter", "internal/store", "internal/threads", "internal/trace"},
	"engine/internal/encode":         {"engine/scan", "internal/digits", "internal/rowdata", "partition"},
	"engine/internal/workdir":        {"engine/partial", "engine/scan", "engine/sink", "internal/nested", "internal/recordreader", "internal/rowdata", "internal/store", "internal/vfs"},
	"engine/internal/window":         {"cpuagg", "engine/internal/encode", "engine/internal/finalize", "engine/query", "internal/expr", "internal/gather", "internal/order", "internal/recordreader", "internal/rowdata", "internal/spawn"},
	"engine/internal/finalize":       {"cpuagg", "engine/internal/encode", "engine/query", "engine/scan", "internal/digits", "internal/recordreader", "internal/rowdata", "internal/vector", "partition"},
	"engine/job":                     {"engine", "engine/distributed", "engine/plan", "engine/query", "engine/rollup", "engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/scan/options", "engine/sink", "engine/sql", "internal/nearest", "internal/order", "internal/timeformat", "internal/vfs"},
	"engine/objects":                 {"internal/vfs"},
	"engine/partial":                 {"cpuagg", "engine/internal/encode", "engine/internal/finalize", "engine/query", "engine/scan", "internal/nested", "internal/rowdata", "internal/scatter", "internal/store", "internal/vfs", "partition"},
	"engine/logical":                 {"engine/query", "engine/scan", "engine/scan/dataset", "engine/scan/options", "engine/sql", "internal/expr", "internal/nearest", "internal/nested", "internal/recordreader", "internal/rowdata"},
	"engine/rollup":                  {"engine", "engine/internal/workdir", "engine/partial", "engine/plan", "engine/query", "engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/sink", "engine/sql", "internal/nearest", "internal/order", "internal/recordreader", "internal/rowdata", "internal/sqlscan", "internal/store", "internal/vfs", "partition"},
	"engine/rules":                   {"engine/logical", "engine/query", "engine/scan", "engine/sql", "internal/expr", "internal/nested", "internal/recordreader", "internal/rowdata", "internal/vector"},
	"engine/plan":                    {"engine", "engine/logical", "engine/partial", "engine/query", "engine/rules", "engine/scan", "engine/scan/dataset", "engine/sql", "internal/digits", "internal/expr", "internal/gather", "internal/nested", "internal/order", "internal/recordreader", "internal/rowcode", "internal/rowdata"},
	"engine/query":                   {"internal/nearest", "internal/nested"},
	"engine/relation":                {"engine", "engine/plan", "engine/sql"},
	"engine/scan":                    {"engine/query", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/internal/rowset", "internal/gather", "internal/nested", "internal/recordreader", "internal/rowcode"},
	"engine/scan/csv":                {"engine/query", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "engine/scan/internal/textfile", "internal/nested", "internal/timeformat", "internal/vfs"},
	"engine/scan/dataset":            {"engine/scan", "engine/scan/csv", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "engine/scan/internal/textfile", "engine/scan/ipc", "engine/scan/json", "engine/scan/lake", "engine/scan/parquet", "internal/nested", "internal/vfs"},
	"engine/scan/internal/decode":    {"engine/scan/internal/delivery", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/internal/rowset", "internal/rowdata", "internal/vfs"},
	"engine/scan/internal/delivery":  {"engine/query", "engine/scan/internal/predicate", "internal/digits", "internal/gather", "internal/nested", "internal/recordreader", "internal/timeformat", "internal/vector", "internal/wellformed"},
	"engine/scan/internal/fields":    {"engine/scan/internal/delivery", "engine/scan/internal/reserve", "internal/digits", "internal/nested", "internal/timeformat", "internal/wellformed"},
	"engine/scan/internal/opentest":  {"engine/scan", "engine/scan/csv", "engine/scan/dataset", "engine/scan/internal/scantest"},
	"engine/scan/internal/predicate": {},
	"engine/scan/internal/reserve":   {"internal/rowdata"},
	"engine/scan/internal/rowset":    {"engine/scan/internal/delivery", "internal/recordreader"},
	"engine/scan/internal/scantest":  {"engine/scan", "engine/scan/internal/delivery", "engine/scan/internal/predicate", "internal/budget", "internal/grouptest", "internal/mem", "internal/nested"},
	"engine/scan/internal/textfile":  {"engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "internal/digits", "internal/vfs"},
	"engine/scan/ipc":                {"engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/reserve", "internal/recordreader", "internal/vfs"},
	"engine/scan/json":               {"engine/query", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/fields", "engine/scan/internal/reserve", "engine/scan/internal/textfile", "internal/nested", "internal/vfs"},
	"engine/scan/lake":               {"engine/query", "engine/scan", "engine/scan/internal/decode", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/parquet", "internal/nested", "internal/recordreader", "internal/vfs"},
	"engine/scan/options":            {"engine/scan/csv", "engine/scan/dataset"},
	"engine/scan/parquet":            {"engine/query", "engine/scan/internal/decode", "engine/scan/internal/delivery", "engine/scan/internal/predicate", "engine/scan/internal/reserve", "engine/scan/internal/rowset", "engine/scan/ipc", "internal/nested", "internal/recordreader", "internal/snappy", "internal/vfs", "internal/wellformed"},
	"engine/sink":                    {"engine/query", "engine/sink/adapt", "engine/sink/parquet", "engine/sink/text", "internal/gather", "internal/mem", "internal/order", "internal/recordreader", "internal/rowdata", "internal/vfs"},
	"engine/sink/adapt":              {"internal/digits", "internal/nested"},
	"engine/sink/parquet":            {"engine/sink/adapt", "internal/rowdata", "internal/snappy", "partition"},
	"engine/sink/sinktest":           {},
	"engine/sink/text":               {"engine/query", "internal/digits", "internal/expr", "internal/nested", "internal/rowdata", "internal/timeformat"},
	"engine/sql":                     {"engine/query", "internal/expr", "internal/nearest", "internal/sqlscan"},
	"internal/arbiter":               {},
	"internal/budget":                {"internal/mem", "internal/rowdata"},
	"internal/cubin":                 {},
	"internal/digits":                {},
	"internal/expr":                  {"engine/query", "internal/digits", "internal/nearest", "internal/needle", "internal/jsonpath", "internal/nested", "internal/regex", "internal/rowcode", "internal/rowdata", "internal/timeformat"},
	"internal/gather":                {"internal/nested", "internal/recordreader", "internal/rowdata"},
	"internal/grouptest":             {"engine/query", "internal/rowdata"},
	"internal/invariants":            {},
	"internal/jsonpath":              {},
	"internal/knob":                  {},
	"internal/machine":               {"internal/mem"},
	"internal/mem":                   {"internal/rowdata"},
	"internal/nearest":               {},
	"internal/needle":                {},
	"internal/nested":                {"internal/timeformat"},
	"internal/order":                 {"engine/query", "internal/arbiter", "internal/gather", "internal/mem", "internal/recordreader", "internal/rowdata", "internal/scatter", "internal/store", "internal/vfs"},
	"internal/recordreader":          {},
	"internal/redact":                {},
	"internal/regex":                 {},
	"internal/rowcode":               {},
	"internal/rowdata":               {"engine/query", "internal/nested"},
	"internal/rowtest":               {"internal/rowdata"},
	"internal/scatter":               {"internal/rowdata", "internal/table", "partition"},
	"internal/snappy":                {},
	"internal/spawn":                 {"internal/redact"},
	"internal/sqlscan":               {},
	"internal/store":                 {"internal/mem", "internal/nested", "internal/recordreader", "internal/rowdata", "internal/scatter", "internal/trace", "internal/vfs", "partition"},
	"internal/table":                 {"internal/rowdata", "partition"},
	"internal/testknobs":             {"kernels/hostdevice"},
	"internal/threads":               {"internal/trace"},
	"internal/timeformat":            {"internal/digits"},
	"internal/trace":                 {},
	"internal/vector":                {"internal/rowdata"},
	"internal/vfs":                   {},
	"internal/vfs/faultfs":           {"internal/vfs"},
	"internal/wellformed":            {},
	"kernels":                        {"internal/cubin", "internal/rowcode", "internal/snappy", "partition"},
	"kernels/build":                  {},
	"kernels/cpurun":                 {},
	"kernels/cuda":                   {"internal/cubin"},
	"kernels/devicetest":             {"internal/rowcode", "kernels", "kernels/joins", "partition"},
	"kernels/hostdevice":             {"internal/rowcode", "kernels", "partition"},
	"kernels/joins":                  {"kernels"},
	"kernels/nvml":                   {},
	"partition":                      {},
	"stream":                         {"internal/rowcode", "kernels", "partition"},
}

// leaves may be imported by every package but by each other.
var leaves = []string{"internal/invariants", "internal/knob", "internal/redact", "internal/spawn"}

// testingOnly are imported by tests alone.
var testingOnly = []string{"engine/scan/internal/opentest", "engine/scan/internal/scantest", "engine/sink/sinktest", "app/chart/charttest", "internal/grouptest", "internal/rowtest", "kernels/cpurun", "kernels/devicetest", "internal/vfs/faultfs"}

// outside has packages that are not of internal/, and which packages of internal/ may import them, with the reason.
var outside = map[string][]string{
	// The words of a caller: Query, Key, Aggregate, Func. It is a leaf, which imports nothing of the engine.
	"engine/query": {"internal/expr", "internal/grouptest", "internal/order", "internal/rowdata"},
	// Arithmetic on hashes and sizes: a leaf, too.
	"partition": {"internal/scatter", "internal/store", "internal/table"},
	// The knob Device.Fail is asked at each hostdevice.Call of a GPU's double. A test of the engine sets it.
	"kernels/hostdevice": {"internal/testknobs"},
}

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

// Would catch an arrow that runs up: from internal/ to what is built of it, or to app/ from what app/ stands on.
// TestDeps has compared imports with the files.
func TestDepsPointDown(t *testing.T) {
	in := func(name string, folders ...string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(name, folder+"/") })
	}
	for name, listed := range imports {
		for _, imported := range listed {
			if in(name, "internal") && !in(imported, "internal") && !slices.Contains(outside[imported], name) {
				t.Errorf("%s must not import %s, which is outside internal/", name, imported)
			}
			if in(imported, "app", "cmd") && !in(name, "app", "cmd") {
				t.Errorf("%s must not import %s, which stands on it", name, imported)
			}
		}
	}
	for imported, names := range outside {
		for _, name := range names {
			if !slices.Contains(imports[name], imported) {
				t.Errorf("%s may import %s and does not: take the entry out of outside", name, imported)
			}
		}
	}
	for _, leaf := range []string{"engine/query", "partition"} {
		for _, imported := range imports[leaf] {
			if !in(imported, "internal") {
				t.Errorf("%s must be a leaf, and imports %s", leaf, imported)
			}
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
