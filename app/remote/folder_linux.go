package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socketPathBytesMax is how long the path of a socket may be: 108 bytes with the zero at its end.
const socketPathBytesMax = 107

// socketEnding is the ending of the sockets' names.
const socketEnding = ".sock"

// folder returns the folder of the user's sockets, which may not be there: mpga in $XDG_RUNTIME_DIR where that is the
// user's alone, else mpga-<user> in /tmp.
func folder() string {
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if filepath.IsAbs(runtime) && checkFolder(runtime) == nil {
		return filepath.Join(runtime, "mpga")
	}
	return "/tmp/mpga-" + strconv.Itoa(os.Geteuid())
}

// checkFolder returns why a folder is not the user's alone.
func checkFolder(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", path)
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("%s has the mode %04o: want 0700, for its owner alone", path, info.Mode().Perm())
	}
	return nil
}

// makeFolder makes a folder of sockets, if it is not there, and checks it.
func makeFolder(path string) error {
	switch err := os.Mkdir(path, 0o700); {
	case err == nil:
		err = os.Chmod(path, 0o700) // whatever the umask is
		if err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	return checkFolder(path)
}

// lockFolder takes the lock of a folder of sockets, which nothing is left of. unlock gives it back.
func lockFolder(path string) (unlock func(), err error) {
	for {
		if err := makeFolder(path); err != nil {
			return nil, err
		}
		dir, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a process has ended meanwhile, the last one
		}
		if err != nil {
			return nil, err
		}
		unlock := func() { _ = dir.Close() } // with which the lock ends
		if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
			unlock()
			return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
		}
		locked, err := dir.Stat()
		if now, nowErr := os.Lstat(path); err == nil && nowErr == nil && os.SameFile(locked, now) {
			return unlock, nil
		}
		unlock()
	}
}

// hello is what a process says to a connection first. A caller waits for it before it hands files over, which a process
// that has been stopped would hold.
const hello = '!'

// errStuck says that a process does not say hello.
var errStuck = errors.New("the process that stays between commands does not answer")

// dial connects to the process of a socket, which says hello, and checks that it is the user's; pid is the process.
func dial(path string) (conn *net.UnixConn, pid int, err error) {
	c, err := net.DialTimeout("unix", path, answerTime)
	if err != nil {
		return nil, 0, err
	}
	conn = c.(*net.UnixConn)
	if pid, err = peer(conn); err != nil {
		return nil, 0, errors.Join(err, conn.Close())
	}
	word := make([]byte, 1)
	err = conn.SetDeadline(time.Now().Add(answerTime))
	if err == nil {
		_, err = io.ReadFull(conn, word)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errStuck
	case err != nil || word[0] != hello:
		err = errGone
	default:
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, pid, errors.Join(err, conn.Close())
	}
	return conn, pid, nil
}

// answerTime is how long a process may take for an answer that needs no work.
const answerTime = 10 * time.Second

// peer returns the process at the other end of a connection, and an error where it is another user's.
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *unix.Ucred
	controlErr := raw.Control(func(fd uintptr) {
		who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	switch err := errors.Join(controlErr, err); {
	case err != nil:
		return 0, err
	case int(who.Uid) != os.Geteuid():
		return 0, fmt.Errorf("the socket's other end is user %d's", who.Uid)
	}
	return int(who.Pid), nil
}
