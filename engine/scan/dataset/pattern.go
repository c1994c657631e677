package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// patternMeta are the characters that make a name a pattern.
const patternMeta = "*?["

// anyFolders is the segment of a pattern that stands for any number of folders.
const anyFolders = "**"

// pattern is a pattern of file names or of URLs, as DuckDB has them: * and ? within a segment, [a-c] and [!a-c], and
// ** for any number of folders, once. A backslash takes the meaning from the character behind it. Names that begin
// with a dot or an underscore match only where the pattern has that character in their place.
type pattern struct {
	text     string
	segments []string // between the slashes, in doublestar's syntax
}

// parsePattern returns a pattern, or the error of one that has no meaning.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	for _, s := range strings.Split(text, "/") {
		segment, err := segmentOf(s)
		if err == nil && segment == anyFolders && slices.Contains(p.segments, anyFolders) {
			err = errors.New("** stands twice in a pattern; it may stand once")
		}
		if err == nil && !doublestar.ValidatePattern(segment) {
			err = fmt.Errorf("%s is no pattern", s)
		}
		if err != nil {
			return p, fmt.Errorf("%s: %w", redact.URL(text), err)
		}
		p.segments = append(p.segments, segment)
	}
	return p, nil
}

// segmentOf returns a segment in doublestar's syntax, which has braces, too, and ^ for ! in brackets.
func segmentOf(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			b.WriteByte(c)
			if i++; i == len(s) {
				return "", errors.New("the pattern ends with a backslash")
			}
			b.WriteByte(s[i])
		case '{', '}':
			b.WriteString(`\` + string(c))
		case '[':
			end := i + 1
			if end < len(s) && s[end] == '!' {
				end++
			}
			first := end // which may be ] itself
			for end++; end < len(s) && s[end] != ']'; end++ {
			}
			if end >= len(s) {
				return "", errors.New("a [ of the pattern is not closed by ]; as a character it is written [[]")
			}
			b.WriteString(s[i:first])
			for j := first; j < end; j++ {
				isLiteral := s[j] == '^' || s[j] == ']' || s[j] == '[' || s[j] == '\\' || s[j] == '-' && (j == first || j == end-1)
				if isLiteral {
					b.WriteByte('\\')
				}
				b.WriteByte(s[j])
			}
			b.WriteByte(']')
			i = end
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// below returns the pattern behind its first segments that hold no meta characters, and these.
func (p *pattern) below() (dir string, segments []string) {
	n := 0
	for n < len(p.segments)-1 && !strings.ContainsAny(p.segments[n], patternMeta+`\`) {
		n++
	}
	return strings.Join(p.segments[:n], "/"), p.segments[n:]
}

// hasAnyFolders reports whether the pattern has **, and so names files in folders of any depth.
func (p *pattern) hasAnyFolders() bool { return slices.Contains(p.segments, anyFolders) }

// matchesName reports whether a name has a segment's pattern.
func matchesName(segment, name string) bool {
	if isHidden(name) && !strings.HasPrefix(segment, name[:1]) {
		return false
	}
	return doublestar.MatchUnvalidated(segment, name)
}

// matches reports whether a name, between whose slashes are parts, has the pattern of some segments.
func matches(segments, parts []string) bool {
	switch {
	case len(segments) == 0 || len(parts) == 0:
		return len(segments) == len(parts)
	case segments[0] != anyFolders:
		return matchesName(segments[0], parts[0]) && matches(segments[1:], parts[1:])
	case len(segments) == 1: // all files below
		return !slices.ContainsFunc(parts, isHidden)
	}
	return matches(segments[1:], parts) || !isHidden(parts[0]) && matches(segments, parts[1:])
}

// find returns the files and folders that match, sorted. Without ** these may be folders.
func (p *pattern) find(ctx context.Context, fsys vfs.FS) ([]string, error) {
	dir, segments := p.below()
	if dir == "" && strings.HasPrefix(p.text, "/") {
		dir = "/"
	}
	var found []string
	err := walkPattern(ctx, fsys, dir, segments, &found)
	slices.Sort(found)
	return found, err
}

// walkPattern appends the names below a folder that have the pattern of some segments; "" is the working folder.
func walkPattern(ctx context.Context, fsys vfs.FS, dir string, segments []string, found *[]string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	segment, rest := segments[0], segments[1:]
	if segment == "" || segment == "." || segment == ".." { // which no folder lists
		if dir = filepath.Join(dir, segment); len(rest) == 0 {
			*found = append(*found, dir)
			return nil
		}
		return walkPattern(ctx, fsys, dir, rest, found)
	}
	entries, err := fsys.ReadDir(cmp.Or(dir, "."))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	if segment == anyFolders && len(rest) > 0 {
		if err := walkPattern(ctx, fsys, dir, rest, found); err != nil {
			return err
		}
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case segment == anyFolders && entry.IsDir() && !isHidden(entry.Name()):
			err = walkPattern(ctx, fsys, path, segments, found)
		case segment == anyFolders && len(rest) == 0 && !isHidden(entry.Name()):
			*found = append(*found, path)
		case segment == anyFolders || !matchesName(segment, entry.Name()):
		case len(rest) == 0:
			*found = append(*found, path)
		case entry.IsDir() || entry.Type()&fs.ModeSymlink != 0:
			err = walkPattern(ctx, fsys, path, rest, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MatchesFile reports whether a pattern of files names a file. A pattern that has no meaning names none.
func MatchesFile(text, file string) bool {
	p, err := parsePattern(text)
	return err == nil && matches(p.segments, strings.Split(file, "/"))
}
