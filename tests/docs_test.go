package tests

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// linesMax bounds the documents that are read first.
var linesMax = map[string]int{"README.md": 200, "ARCHITECTURE.md": 300}

// Would catch a document that names a file, a folder or a heading that has moved, and one that has
// grown.
func TestDocuments(t *testing.T) {
	for _, page := range documents(t) {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		if most, bounded := linesMax[page]; bounded && bytes.Count(text, []byte("\n")) > most {
			t.Errorf("%s: %d lines, at most %d", page, bytes.Count(text, []byte("\n")), most)
		}
		for _, path := range pathsIn(string(text)) {
			if _, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s names %s, which is not there", page, path)
			}
		}
		for _, m := range placePattern.FindAllStringSubmatch(string(text), -1) {
			checkPlace(t, page, m[1], m[2])
		}
		for _, m := range linkPattern.FindAllStringSubmatch(string(text), -1) {
			checkLink(t, page, m[1])
		}
	}
}

// documents returns the Markdown files of the module, by their paths in it.
func documents(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		page := strings.TrimPrefix(path, "../")
		switch {
		case d.IsDir() && (page == "out" || page == "bin" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(page, ".md"):
			pages = append(pages, page)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	linkPattern = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codePattern = regexp.MustCompile("`([^`\n]+)`")

	// placePattern is a name and the file that has it: a function (file), a function in file.
	placePattern = regexp.MustCompile("`([A-Za-z_][\\w.]*)`\\s+(?:\\(|in\\s+)`([\\w.-]+(?:/[\\w.-]+)*\\.(?:go|cuh?|h))`")

	// modulePath is a path in the module that begins with one of its folders; in a command, with ./
	// in front.
	modulePath  = regexp.MustCompile(`^(app|cmd|cpuagg|docs|engine|internal|kernels|lab|partition|stream|tests)(/[\w.-]+)*/?$`)
	exported    = regexp.MustCompile(`\.[A-Z]\w*$`) // what a package exports, as in engine/objects.FS
	commandPath = regexp.MustCompile(`(?:^|\s)\./([\w./-]+)`)
)

// pathsIn returns the paths of the module that a text has between backticks, alone or in a command
// of go or a shell.
func pathsIn(text string) (paths []string) {
	for _, m := range codePattern.FindAllStringSubmatch(text, -1) {
		code := exported.ReplaceAllString(m[1], "")
		if modulePath.MatchString(code) && strings.Contains(code, "/") {
			paths = append(paths, code)
		}
		if strings.HasPrefix(code, "cd tests") {
			continue // paths are those of that module
		}
		for _, c := range commandPath.FindAllStringSubmatch(code, -1) {
			paths = append(paths, strings.TrimSuffix(c[1], "..."))
		}
	}
	return paths
}

// checkPlace fails where a file does not have the name that a page says it has: of a method, its
// own.
func checkPlace(t *testing.T, page, name, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Errorf("%s: %v", page, err)
		return
	}
	own := name[strings.LastIndexByte(name, '.')+1:]
	if !regexp.MustCompile(`\b` + own + `\b`).Match(text) {
		t.Errorf("%s says that %s has %s, which it has not", page, file, name)
	}
}

// checkLink fails where a page links to a file, or a heading of a page, that is not there.
func checkLink(t *testing.T, page, link string) {
	t.Helper()
	if strings.Contains(link, "://") {
		return
	}
	file, heading, _ := strings.Cut(link, "#")
	target := filepath.Join("..", page)
	if file != "" {
		target = filepath.Join("..", filepath.Dir(page), file)
	}
	info, err := os.Stat(target)
	if err != nil {
		t.Errorf("%s links to %s, which is not there", page, link)
		return
	}
	if heading == "" || info.IsDir() {
		return
	}
	text, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' && anchor(title) == heading {
			return
		}
	}
	t.Errorf("%s links to %s, but %s has no such heading", page, link, target)
}

// anchor is the name that a heading has in links.
func anchor(title string) string {
	kept := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
	return strings.ReplaceAll(kept, " ", "-")
}
