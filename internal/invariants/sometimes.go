//go:build invariants

package invariants

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var reached sync.Map // of paths

// Sometimes notes that a rare path was reached. The path is a string constant, and one call of the
// package has it.
func Sometimes(path string) { reached.Store(path, nil) }

// sites matches the calls of Sometimes in a source.
var sites = regexp.MustCompile(`\binvariants\.Sometimes\("([^"]+)"\)`)

// pathsIn returns the rare paths of the package in a directory, and an error where two calls have
// the same.
func pathsIn(dir string) (paths []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, site := range sites.FindAllSubmatch(source, -1) {
			path := string(site[1])
			if slices.Contains(paths, path) {
				return nil, fmt.Errorf("two calls of Sometimes have the path %q", path)
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Run runs the tests of a package, which TestMain passes, and returns the exit code. The code is
// not 0 when an owner is still open after the tests, or, if all tests of the package ran, when no
// test has reached a rare path of the package.
func Run(tests interface{ Run() int }) int {
	code := tests.Run()
	if code != 0 {
		return code
	}
	for _, o := range stillOpen() {
		fmt.Fprintln(os.Stderr, "invariant:", o)
		code = 1
	}
	if selective() {
		return code
	}
	paths, err := pathsIn(".") // where go test runs the tests
	if err != nil {
		fmt.Fprintln(os.Stderr, "invariant:", err)
		return 1
	}
	for _, path := range paths {
		if _, ok := reached.Load(path); !ok {
			fmt.Fprintf(os.Stderr, "invariant: no test has reached the rare path %q\n", path)
			code = 1
		}
	}
	return code
}

// selective reports whether flags leave tests out.
func selective() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return false
}
