package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Would catch a goroutine whose panic ends the process, or ends it with status 0 and half a result:
// all but those of internal/spawn and of packages for tests are started by internal/spawn.
func TestGoroutines(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if d.IsDir() {
			skip := []string{"tests", "out", "internal/spawn"}
			if slices.Contains(append(skip, testingOnly...), name) || strings.HasPrefix(name, ".") && name != ".." || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files++
			checkGoroutines(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("%d files were looked at; there are more", files)
	}
}

// checkGoroutines reports where a file starts a goroutine by itself.
func checkGoroutines(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		if name, _ := strconv.Unquote(i.Path.Value); strings.HasSuffix(name, "/errgroup") {
			t.Errorf("%s: errgroup starts goroutines; use internal/spawn.Group", set.Position(i.Pos()))
		}
	}
	groups := waitGroups(file)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s: a go statement; use internal/spawn.Go", set.Position(n.Pos()))
		case *ast.CallExpr:
			if lastName(n.Fun) == "AfterFunc" && !guarded(n.Args[len(n.Args)-1]) {
				t.Errorf("%s: a function that AfterFunc calls: it may only cancel a context, or begin with spawn.Call", set.Position(n.Pos()))
			}
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && slices.Contains(groups, lastName(f.X)) {
				t.Errorf("%s: sync.WaitGroup.Go starts a goroutine; use internal/spawn.Group", set.Position(n.Pos()))
			}
		}
		return true
	})
}

// guarded says whether a function cannot panic in a goroutine of its own: it is one that cancels a
// context, or its first statement calls one or spawn.Call.
func guarded(f ast.Expr) bool {
	if name := lastName(f); name == "cancel" || name == "stop" {
		return true
	}
	first := ""
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && first == "" {
			first = lastName(c.Fun)
		}
		return true
	})
	return first == "cancel" || first == "Call"
}

// waitGroups returns the names that a file declares as sync.WaitGroup.
func waitGroups(file *ast.File) (names []string) {
	add := func(idents []*ast.Ident, of ast.Expr) {
		if p, ok := of.(*ast.StarExpr); ok {
			of = p.X
		}
		if s, ok := of.(*ast.SelectorExpr); !ok || s.Sel.Name != "WaitGroup" {
			return
		}
		for _, i := range idents {
			names = append(names, i.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			add(n.Names, n.Type)
		case *ast.ValueSpec:
			add(n.Names, n.Type)
		}
		return true
	})
	return names
}

// lastName returns the name of a variable or a field.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
