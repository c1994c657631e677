// Command longer prints arguments of go test: a -run for the tests that -short makes shorter, and the packages that
// have them. A test is one of them if it reaches testing.Short by names of its package's tests. CI has run the others
// already, in full.
//
//	longer=$(go -C tests run ./longer ..) && go test $longer
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := os.Args[1]
	packages := map[string]mentions{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir // another module
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = mentions{}
		}
		return packages[dir].add(path)
	})
	if err != nil {
		log.Fatal(err)
	}
	tests, places := map[string]bool{}, map[string]bool{}
	for dir, named := range packages {
		for name := range named {
			if strings.HasPrefix(name, "Test") && named.reaches(name, map[string]bool{}) {
				place, err := filepath.Rel(root, dir)
				if err != nil {
					log.Fatal(err)
				}
				tests[name], places["./"+place] = true, true
			}
		}
	}
	if len(tests) == 0 {
		log.Fatalf("no test below %s reaches testing.Short", root)
	}
	run := strings.Join(slices.Sorted(maps.Keys(tests)), "|")
	fmt.Printf("-run ^(%s)$ %s\n", run, strings.Join(slices.Sorted(maps.Keys(places)), " "))
}

// mentions are the names that each function or variable of a package's tests mentions.
type mentions map[string][]string

// add adds a file.
func (m mentions) add(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			m[d.Name.Name] = append(m[d.Name.Name], namesIn(d)...)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						m[name.Name] = append(m[name.Name], namesIn(v)...)
					}
				}
			}
		}
	}
	return nil
}

// namesIn returns the names in a declaration.
func namesIn(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// reaches says whether a name leads to testing.Short.
func (m mentions) reaches(name string, seen map[string]bool) bool {
	if name == "Short" {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(m[name], func(next string) bool { return m.reaches(next, seen) })
}
