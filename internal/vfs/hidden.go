package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
)

// What is being written has a hidden name beside the name that it is to have:
//
//	.name.<16 digits>.tmp     a file, locked while its process lives; or a directory
//	.name.<16 digits>.lock    a file, locked while the process lives that writes the directory

// hiddenNameMax is the part of a name that a hidden name keeps, in bytes: file systems allow 255.
const hiddenNameMax = 200

// hiddenNames matches hidden names: the name with its number, and the ending.
var hiddenNames = regexp.MustCompile(`^\.((?s:.+)\.[0-9a-f]{16})\.(tmp|lock)$`)

// HiddenName returns a new hidden name for a file that is to be at a path.
func HiddenName(path string) string { return newHidden(path) + ".tmp" }

// newHidden returns a new hidden name without its ending.
func newHidden(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	return fmt.Sprintf("%s.%s.%016x", dir, name[:min(len(name), hiddenNameMax)], rand.Uint64())
}

// RemoveAbandoned removes what processes that were killed have left in the directory of a path,
// whatever their outputs were to be: hidden files that no process has locked, and the hidden
// directories of such locks. A file that cannot be removed is in nobody's way.
func RemoveAbandoned(fsys FS, path string) {
	dir, name := filepath.Split(filepath.Clean(path))
	entries, err := fsys.ReadDir(filepath.Clean(dir))
	if err != nil {
		return
	}
	for _, e := range entries {
		match := hiddenNames.FindStringSubmatch(e.Name())
		switch {
		case match == nil:
		case e.Type().IsRegular():
			_ = fsys.RemoveAbandoned(filepath.Join(dir, e.Name()))
			if match[2] == "lock" {
				removeUnlocked(fsys, filepath.Join(dir, "."+match[1]))
			}
		case e.IsDir() && strings.HasPrefix(match[1], name[:min(len(name), hiddenNameMax)]+".") && match[2] == "tmp":
			// Without its lock, as a process leaves it that was killed while it removed both, a
			// directory is taken for ours by the name of the same output alone.
			removeUnlocked(fsys, filepath.Join(dir, "."+match[1]))
		}
	}
}

// removeUnlocked removes a hidden directory, named without its ending, if it has no lock: the lock
// is made before the directory, and removed after the directory has been moved or removed.
func removeUnlocked(fsys FS, hidden string) {
	if _, err := fsys.Stat(hidden + ".lock"); errors.Is(err, fs.ErrNotExist) {
		_ = RemoveTree(fsys, hidden+".tmp")
	}
}
