package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ownUmask is the umask of a process that stays, when no call runs.
const ownUmask = 0o077

// borrow makes the folder, the environment, the umask and the files of a caller the process's: R1.
func (s *server) borrow(r *request, files []*os.File) error {
	for i, f := range files {
		fd, err := descriptor(f)
		if err != nil {
			return err
		}
		switch {
		case i == 0:
			if err := unix.Fchdir(fd); err != nil {
				return &fs.PathError{Op: "enter", Path: "the folder of the caller", Err: err}
			}
		case i <= standardFiles:
			err = unix.Dup3(fd, i-1, 0)
		default:
			err = unix.Dup3(fd, r.Numbers[i-standardFiles-1], unix.O_CLOEXEC)
		}
		if err != nil {
			return fmt.Errorf("file %d of the caller: %w", i-1, err)
		}
	}
	os.Stdin, os.Stdout, os.Stderr = files[1], files[2], files[3]
	unix.Umask(r.Umask)
	return setEnv(asStrings(r.Env))
}

// drop has the files of callers be nowhere, and the folder and the umask be the process's own. The environment stays
// until the next caller's.
func (s *server) drop(numbers []int) error {
	errs := []error{os.Chdir("/")}
	for fd := range standardFiles {
		errs = append(errs, unix.Dup3(s.null, fd, 0))
	}
	for _, fd := range numbers {
		errs = append(errs, unix.Dup3(s.null, fd, unix.O_CLOEXEC))
	}
	unix.Umask(ownUmask)
	return errors.Join(errs...)
}

// descriptor returns the number of a file, whose mode stays as it is: File.Fd would make a caller's pipe block.
func descriptor(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = raw.Control(func(of uintptr) { fd = int(of) })
	return fd, err
}

// setEnv makes the environment that of a caller. What is the same is not touched: a driver may read it meanwhile.
func setEnv(want []string) error {
	values := make(map[string]string, len(want))
	for _, text := range want {
		if name, value, ok := strings.Cut(text, "="); ok && name != "" {
			values[name] = value
		}
	}
	for _, text := range os.Environ() {
		name, value, _ := strings.Cut(text, "=")
		wanted, ok := values[name]
		switch {
		case !ok:
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		case wanted == value:
			delete(values, name)
		}
	}
	for name, value := range values {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
