package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// expandObjects is expand for URLs: an object, a pattern, a prefix that stands for a directory. A name without * may be
// that of an object, which comes first: keys may have any character.
func expandObjects(objects vfs.Objects, fsys vfs.FS, name string) ([]string, error) {
	meta := strings.IndexAny(name, patternMeta)
	isPattern := meta >= 0 && !isWeb(name)
	if !isPattern || !strings.Contains(name, "*") {
		info, err := fsys.Stat(name)
		switch {
		case err == nil && !info.IsDir():
			return []string{name}, nil
		case err == nil:
			return objectsBelow(objects, strings.TrimRight(name, "/"))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case !isPattern:
			return nil, noFile{err}
		}
	}
	p, err := parsePattern(name)
	if err != nil {
		return nil, err
	}
	listed, err := objects.List(name[:meta])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range listed {
		if p.takes(strings.Split(o.Name, "/")) {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil, noFile{fmt.Errorf("%s: no object matches", redact.URL(name))}
	}
	return names, nil
}

// takes says whether the pattern names an object, or, unless it has **, a directory that the object is in.
func (p *pattern) takes(parts []string) bool {
	if matches(p.segments, parts) {
		return true
	}
	depth := len(p.segments)
	return !p.hasAnyFolders() && len(parts) > depth && matches(p.segments, parts[:depth]) &&
		isDataObject(strings.Join(parts[depth:], "/"))
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
