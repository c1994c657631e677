package tests

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var rewriteHouse = flag.Bool("rewrite-house", false, "write testdata/house.txt anew, with counts that are lower than its own")

// houseFile has the counts of TestHouse. They only go down.
const houseFile = "testdata/house.txt"

// Bounds of a line and of a function. Tables of data, and lists of cases that are straight, may pass them, which
// is why the counts are not zero.
const (
	lineRunesMax     = 120
	functionLinesMax = 70
)

// phrases are words that leave a reader to guess which noun or number they stand for.
var phrases = map[string]*regexp.Regexp{
	`phrase "so many"`:       regexp.MustCompile(`(?i)\bso many\b`),
	`phrase "those that"`:    regexp.MustCompile(`(?i)\bthose (that|of|who|which)\b`),
	`phrase ", of which"`:    regexp.MustCompile(`(?i)(, (of|for|in|by|from) which\b|\bof whose\b)`),
	`phrase "what it is of"`: regexp.MustCompile(`(?i)\bwhat (it|they) (is|are) of\b`),
}

// Would catch a change that leaves the module harder to read than it was: more lines that a reader must scroll for,
// longer functions, exported names without documentation, or comments that leave out their nouns. A count that
// has gone down is kept by -rewrite-house.
func TestHouse(t *testing.T) {
	counts := map[string]int{}
	for _, name := range sourceFiles(t, "*.go") {
		if isProduct(name) {
			countGo(t, counts, name)
		}
	}
	for _, name := range sourceFiles(t, "*.md") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		countPhrases(counts, "documents", string(text))
	}
	kept := readHouse(t)
	for name, n := range counts {
		if most, ok := kept[name]; ok && n > most && !*rewriteHouse {
			t.Errorf("%s: %d, and %d before", name, n, most)
		}
	}
	if *rewriteHouse {
		writeHouse(t, counts, kept)
	}
}

// sourceFiles returns the files of the repository that match a pattern, by their paths in it.
func sourceFiles(t *testing.T, pattern string) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", pattern)
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Skip("git does not list the files: ", err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(name string) bool {
		_, err := os.Stat(filepath.Join("..", name))
		return err != nil // deleted, and not committed yet
	})
}

// isProduct reports whether a file of Go is of the main module, and no test.
func isProduct(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.HasSuffix(name, "_test.go") && !slices.Contains(nestedModules, first)
}

// nestedModules are folders with modules of their own.
var nestedModules = []string{"integrations", "lab", "release", "tests"}

// countGo adds what TestHouse counts of a file of Go.
func countGo(t *testing.T, counts map[string]int, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > lineRunesMax {
			counts[fmt.Sprintf("lines over %d columns", lineRunesMax)]++
		}
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		countPhrases(counts, "comments", group.Text())
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			if lines > functionLinesMax {
				counts[fmt.Sprintf("functions over %d lines", functionLinesMax)]++
			}
		}
		counts["exported names without documentation"] += undocumented(d)
	}
}

func countPhrases(counts map[string]int, where, text string) {
	text = strings.Join(strings.Fields(text), " ")
	for name, phrase := range phrases {
		counts[name+" in "+where] += len(phrase.FindAllStringIndex(text, -1))
	}
}

// undocumented counts the exported names that a declaration introduces without a comment.
func undocumented(d ast.Decl) (n int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) {
			n++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					n++
				}
			case *ast.ValueSpec:
				if d.Doc == nil && s.Doc == nil && s.Comment == nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
					n++
				}
			}
		}
	}
	return n
}

// receiver returns the name of the type whose method a function is.
func receiver(f *ast.FuncDecl) *ast.Ident {
	x := f.Recv.List[0].Type
	for {
		switch of := x.(type) {
		case *ast.StarExpr:
			x = of.X
		case *ast.IndexExpr:
			x = of.X
		case *ast.IndexListExpr:
			x = of.X
		default:
			return x.(*ast.Ident)
		}
	}
}

// readHouse returns the counts of houseFile.
func readHouse(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(houseFile)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n := 0
		if _, err := fmt.Sscan(number, &n); err != nil {
			t.Fatalf("%s: %q", houseFile, line)
		}
		counts[name] = n
	}
	return counts
}

// writeHouse writes the lower of each two counts to houseFile.
func writeHouse(t *testing.T, counts, kept map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		if most, ok := kept[name]; ok {
			n = min(n, most)
		}
		fmt.Fprintf(&b, "%s: %d\n", name, n)
	}
	if err := os.WriteFile(houseFile, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Would catch an error that keeps bytes or values of others, to show them when it is read: by then a mapped file may be
// gone, and a buffer have other rows. An error makes its text, or copies what it shows, when it is made.
func TestErrorsOwnTheirText(t *testing.T) {
	fields, errs := map[string][]string{}, map[string]bool{} // by folder and type
	for _, name := range sourceFiles(t, "*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "Error" && n.Type.Params.NumFields() == 0 {
					errs[filepath.Dir(name)+" "+receiver(n).Name] = true
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						key := filepath.Dir(name) + " " + n.Name.Name
						fields[key] = append(fields[key], types.ExprString(f.Type))
					}
				}
			}
			return true
		})
	}
	if len(errs) < 10 {
		t.Fatalf("%d types of errors", len(errs))
	}
	delete(errs, "internal/spawn PanicError") // whose stack is its own, and whose value tells what has panicked
	for name := range errs {
		for _, of := range fields[name] {
			if slices.Contains([]string{"[]byte", "any", "[]any", "fmt.Stringer", "arrow.Array", "arrow.RecordBatch"}, of) {
				t.Errorf("%s has a field of type %s", name, of)
			}
		}
	}
}
