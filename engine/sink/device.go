package sink

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mpga/mpga/internal/vfs"
)

// stdoutPath is the path of the standard output.
const stdoutPath = "-"

// IsStdout reports whether a path names the standard output: "-", or a name that the system has for
// it.
func IsStdout(path string) bool {
	return slices.Contains([]string{stdoutPath, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, path)
}

// IsDevice reports whether a path names the standard output, or lies in a folder of devices.
func IsDevice(path string) bool {
	path = filepath.Clean(path)
	return IsStdout(path) || isDescriptor(path) ||
		strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/dev/shm/")
}

// isDescriptor says whether a path is a link to what the process has open, which may be a file. To
// rename a file onto the path would replace the link.
func isDescriptor(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdout" || path == "/dev/stderr" || path == "/dev/stdin" ||
		strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// device is an output that is written to as it is: neither synced, which few devices can be, nor
// taken back.
type device struct{ vfs.File }

func (d device) commit() error { return d.Close() }
func (d device) abort() error  { return d.Close() }

// openDevice opens a device or a pipe.
func openDevice(fsys vfs.FS, path string) (output, error) {
	file, err := fsys.OpenDevice(path)
	if errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("%s: nobody reads the pipe: start its reader first", path)
	}
	return device{file}, opError(path, err)
}
