package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketName returns the name of the socket for processes of a version that start as this one has: R2.
func socketName(version string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, version)
	if err := writeState(hash); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)[:12]) + socketEnding, nil
}

// writeState writes what a process has from its start, and cannot change or would not read again.
func writeState(w io.Writer) error {
	for _, path := range []string{"/proc/self/exe", "/"} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		of, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("%s: no numbers of its file", path)
		}
		fmt.Fprintln(w, of.Dev, of.Ino)
		if !info.IsDir() {
			fmt.Fprintln(w, info.Size(), info.ModTime().UnixNano())
		}
	}
	if err := writeRights(w); err != nil {
		return err
	}
	for resource := range rlimits {
		var limit unix.Rlimit
		if err := unix.Getrlimit(resource, &limit); err != nil {
			return fmt.Errorf("limit %d of the process: %w", resource, err)
		}
		fmt.Fprintln(w, limit.Cur, limit.Max)
	}
	schedule, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("how the process is scheduled: %w", err)
	}
	fmt.Fprintln(w, *schedule)
	env := slices.DeleteFunc(os.Environ(), func(text string) bool { return !isReadOnce(text) })
	slices.Sort(env)
	fmt.Fprintf(w, "%q\n", env)
	return nil
}

// rlimits is how many limits Linux has.
const rlimits = 16

// rightsLines begin the lines of /proc/self/status that say what the process may do.
var rightsLines = []string{
	"Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:", "Seccomp:", "Cpus_allowed:", "Mems_allowed:",
}

// writeRights writes who the process is, where it lives, and what it may do.
func writeRights(w io.Writer) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if slices.ContainsFunc(rightsLines, func(start string) bool { return strings.HasPrefix(line, start) }) {
			fmt.Fprint(w, line)
		}
	}
	for _, name := range []string{"cgroup", "attr/current", "oom_score_adj"} {
		text, err := os.ReadFile("/proc/self/" + name)
		if err != nil && name != "attr/current" { // which a kernel without security modules lacks
			return err
		}
		fmt.Fprintf(w, "%q\n", text)
	}
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		namespace, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		fmt.Fprintln(w, namespace)
	}
	return nil
}

// readOnce are variables, or the starts of their names, that the runtime, drivers and libraries read once in a process.
var readOnce = []string{
	"GO", "LD_", "GLIBC_", "MALLOC_", "CUDA_", "NVIDIA_", "NV_", "GRPC_", "OTEL_", "ARM_", "TZ", "ZONEINFO", "HOME",
	"XDG_CACHE_HOME", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD",
}

// isReadOnce says whether a variable, NAME=value, is one of readOnce.
func isReadOnce(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	name = strings.ToUpper(name) // https_proxy is HTTPS_PROXY
	return slices.ContainsFunc(readOnce, func(start string) bool { return strings.HasPrefix(name, start) })
}

// countedLimits are limits of what one process takes in its whole life: a call would take of the next call's.
var countedLimits = []struct {
	resource int
	name     string
}{{unix.RLIMIT_CPU, "CPU time"}, {unix.RLIMIT_AS, "address space"}, {unix.RLIMIT_DATA, "data"}}

// checkLimits refuses a caller with a limit that one process has for all calls together.
func checkLimits() error {
	for _, of := range countedLimits {
		var limit unix.Rlimit
		if err := unix.Getrlimit(of.resource, &limit); err != nil {
			return err
		}
		if limit.Cur != unix.RLIM_INFINITY {
			return fmt.Errorf("the limit of %s (ulimit) is one process's, for one command", of.name)
		}
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	if files.Cur < openFilesMin {
		return fmt.Errorf("the limit of open files (ulimit -n) is %d, below %d", files.Cur, openFilesMin)
	}
	return nil
}

// openFilesMin has room for the files of a caller, and for the ones that a command opens.
const openFilesMin = numbersMax + 512
