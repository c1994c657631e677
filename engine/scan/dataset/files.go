package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/lake"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// find fills in the options, and turns patterns into the names of files, in the order of the
// patterns and sorted within each: a file, a glob, or a directory with everything below it.
func (o *Options) find(ctx context.Context, patterns []string) ([]string, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.refuseLake(patterns); err != nil {
		return nil, err
	}
	if len(patterns) == 0 {
		return nil, errors.New("no input: name a file, a glob, a directory or - for standard input")
	}
	var names []string
	for _, pattern := range patterns {
		found, err := expand(ctx, o.FS, pattern)
		if isNone := errors.Is(err, ErrNoFile); err != nil && (!isNone || !o.SkipMissing) {
			return nil, redact.Error(err)
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w", strings.Join(redact.Names(patterns), ", "), ErrNoFile)
	}
	if i := slices.Index(names, decode.StdinName); i >= 0 && slices.Contains(names[i+1:], decode.StdinName) {
		return nil, errors.New("standard input (-) is named twice; it can be read once")
	}
	return names, nil
}

// expand turns a pattern into the names of files.
func expand(ctx context.Context, fsys vfs.FS, pattern string) ([]string, error) {
	if pattern == decode.StdinName {
		return []string{decode.StdinName}, nil
	}
	if pattern == "" {
		return nil, errors.New("an input's name is empty")
	}
	if objects, ok := fsys.(vfs.Objects); ok && objects.IsObject(pattern) {
		return expandObjects(objects, fsys, pattern)
	}
	info, err := fsys.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		names, err := walkDir(ctx, fsys, pattern, true)
		if err == nil && len(names) == 0 {
			err = noDataFile(pattern)
		}
		return names, err
	case err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0: // opening one may wait for ever
		return nil, fmt.Errorf("%s: is a pipe or a device, which can be read once: lead it to the standard input (-)",
			redact.URL(pattern))
	case err == nil:
		return []string{pattern}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !strings.ContainsAny(pattern, patternMeta):
		return nil, noFile{fmt.Errorf("%s: %w", redact.URL(pattern), syscall.ENOENT)}
	}
	p, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	return p.expand(ctx, fsys)
}

// expand returns the files that match, and, unless the pattern has **, the data files below the directories that
// match. Pipes, sockets and devices are no files.
func (p *pattern) expand(ctx context.Context, fsys vfs.FS) ([]string, error) {
	found, err := p.find(ctx, fsys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact.URL(p.text), err)
	}
	var names []string
	for _, match := range found {
		info, err := fsys.Stat(match)
		if err != nil {
			return nil, err
		}
		if match == decode.StdinName { // here it is the name of a file
			match = "." + string(filepath.Separator) + match
		}
		if info.Mode().IsRegular() {
			names = append(names, match)
		}
		if !info.IsDir() || p.hasAnyFolders() {
			continue
		}
		below, err := walkDir(ctx, fsys, match, false)
		if err != nil {
			return nil, err
		}
		names = append(names, below...)
	}
	if len(names) == 0 {
		return nil, noFile{fmt.Errorf("%s: no file matches", redact.URL(p.text))}
	}
	return names, nil
}

func noDataFile(dir string) error {
	return noFile{fmt.Errorf("%s: the directory holds no data file (.parquet, .pq, .arrow, .ipc, .feather, "+
		".arrows, .csv, .tsv, .json, .ndjson, .jsonl, and these texts with .gz, .zst or .bz2); name "+
		"files of other endings by a glob",
		redact.URL(dir))}
}

// ErrNoFile is the error of patterns that no file has.
var ErrNoFile = errors.New("no file matches")

// noFile is an error that is ErrNoFile, too, and says more.
type noFile struct{ error }

func (e noFile) Is(target error) bool { return target == ErrNoFile }
func (e noFile) Unwrap() error        { return e.error }

// walkDir returns the data files below a directory, sorted by path. A table of Delta or Iceberg below is refused: some
// of its files are its rows no more. Who names its directory itself has asked for the files.
func walkDir(ctx context.Context, fsys vfs.FS, dir string, isNamed bool) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if !isNamed {
		if err := refuseLakeAt(fsys, dir, entries); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, entry := range entries {
		if isHidden(entry.Name()) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		mode := entry.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := fsys.Stat(path)
			if err != nil {
				return nil, err
			}
			if mode = info.Mode().Type(); mode.IsDir() {
				continue // a link to a directory may lead back up: not followed, as find does
			}
		}
		if mode.IsDir() {
			below, err := walkDir(ctx, fsys, path, false)
			if err != nil {
				return nil, err
			}
			names = append(names, below...)
		} else if format, _ := formatOf(path); format != FormatAuto && mode.IsRegular() {
			names = append(names, path)
		}
	}
	return names, nil
}

// refuseLakeAt refuses a directory that is a table of Delta or Iceberg.
func refuseLakeAt(fsys vfs.FS, dir string, entries []fs.DirEntry) error {
	kind, err := lake.FindAmong(fsys, dir, entries)
	if err == nil && kind != lake.None {
		err = fmt.Errorf("%s: is a table of %s among other files: name it alone, and put tables together by UNION ALL",
			redact.URL(dir), kind)
	}
	return err
}

// isHidden says whether a directory's reader passes over a name, as Hive and Spark do: .crc,
// _SUCCESS, _temporary.
func isHidden(name string) bool {
	return (strings.HasPrefix(name, ".") && name != "." && name != "..") || strings.HasPrefix(name, "_")
}
