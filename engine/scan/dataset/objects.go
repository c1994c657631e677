package dataset

import (
	"fmt"
	"path"
	"strings"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// expandObjects is expand for URLs: an object, a glob, a prefix that stands for a directory.
func expandObjects(objects vfs.Objects, fsys vfs.FS, pattern string) ([]string, error) {
	meta := strings.IndexAny(pattern, "*?[")
	if meta < 0 || isWeb(pattern) {
		info, err := fsys.Stat(pattern)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return []string{pattern}, nil
		}
		return objectsBelow(objects, strings.TrimRight(pattern, "/"))
	}
	listed, err := objects.List(pattern[:meta])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range listed {
		ok, err := matchesObject(pattern, o.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", redact.URL(pattern), err)
		}
		if ok {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no object matches", redact.URL(pattern))
	}
	return names, nil
}

// isWeb says whether a name is the URL of a web server, whose ? begins a query.
func isWeb(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
}

// withoutQuery drops the query of a web server's URL: the path before it names a format and
// folders.
func withoutQuery(name string) string {
	if isWeb(name) {
		name, _, _ = strings.Cut(name, "?")
	}
	return name
}

// objectsBelow returns the data files below a directory, sorted by name.
func objectsBelow(objects vfs.Objects, dir string) ([]string, error) {
	listed, err := objects.List(dir + "/")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range listed {
		if isDataObject(strings.TrimPrefix(o.Name, dir+"/")) {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil, noDataFile(dir)
	}
	return names, nil
}

// isDataObject says whether a reader of a directory takes a name below it.
func isDataObject(below string) bool {
	for _, part := range strings.Split(below, "/") {
		if isHidden(part) {
			return false
		}
	}
	format, _ := formatOf(below)
	return format != FormatAuto
}

// matchesObject says whether a glob names an object, or a directory that the object is in.
func matchesObject(pattern, name string) (bool, error) {
	depth := strings.Count(pattern, "/")
	parts := strings.Split(name, "/")
	if len(parts) <= depth {
		return false, nil
	}
	last := parts[depth]
	ok, err := path.Match(pattern, strings.Join(parts[:depth+1], "/"))
	if err != nil || !ok || isHidden(last) && !isHidden(path.Base(pattern)) {
		return false, err
	}
	return len(parts) == depth+1 || isDataObject(strings.Join(parts[depth+1:], "/")), nil
}
