package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpga/mpga/internal/spawn"
)

// Do has a command line answered by the process that stays, which it starts where there is none, and returns the exit
// code. When the context ends, so does the call. An error is a *Refusal where nothing has been done. closed has the
// numbers of the standard files that were closed when the caller was started.
func Do(ctx context.Context, o Options, args []string, closed ...int) (code int, err error) {
	name, err := socketName(o.Version)
	if err == nil {
		err = checkLimits()
	}
	if err != nil {
		return 0, &Refusal{Reason: err.Error()}
	}
	c, err := newCaller(args, closed)
	if err != nil {
		return 0, &Refusal{Reason: err.Error()}
	}
	defer func() { _ = unix.Close(c.files[0]) }() // of no file that is written
	for range startsMax {
		var conn *net.UnixConn
		if conn, c.pid, err = connect(o, name); err == nil {
			code, err = c.call(ctx, conn)
		}
		if !errors.Is(err, errGone) {
			return code, err
		}
	}
	return 0, &Refusal{Reason: err.Error()}
}

// startsMax is how often a process is looked for, or started: the one that was found may be about to go.
const startsMax = 3

// errGone says that a process has ended without an answer, before it took the call.
var errGone = errors.New("the process that stays between commands has ended")

// connect returns a connection to the process of a socket. It starts a process where there is none.
func connect(o Options, name string) (*net.UnixConn, int, error) {
	dir := folder()
	path := filepath.Join(dir, name)
	if len(path) > socketPathBytesMax {
		return nil, 0, &Refusal{Reason: fmt.Sprintf("the path %s is longer than a socket's may be, %d B", path,
			socketPathBytesMax)}
	}
	if err := makeFolder(dir); err != nil {
		return nil, 0, &Refusal{Reason: err.Error(), Unsafe: true}
	}
	conn, pid, err := dial(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		if err := start(append(slices.Clone(o.Command), name)); err != nil {
			return nil, 0, &Refusal{Reason: "a process that stays is not started: " + err.Error()}
		}
		conn, pid, err = dial(path)
	}
	switch {
	case errors.Is(err, errGone):
		return nil, 0, errGone
	case err != nil:
		return nil, 0, &Refusal{Reason: err.Error()}
	}
	return conn, pid, nil
}

// ready is what a process that has been started prints when it can be called.
const ready = "ready\n"

// start starts this program once more, in a session of its own, and waits until its Serve is ready.
func start(args []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	says, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer says.Close()
	numbers, err := inherited()
	if err != nil {
		return err
	}
	for _, fd := range numbers { // which another process must not keep open
		unix.CloseOnExec(fd)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0], cmd.Dir = os.Args[0], "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, out, out
	cmd.ExtraFiles = slices.Repeat([]*os.File{null}, numbersMax-standardFiles)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	text, err := io.ReadAll(says)
	switch {
	case err != nil:
		return err
	case string(text) == ready:
		return cmd.Process.Release()
	}
	err = cmd.Wait()
	return errors.New(strings.TrimSpace(fmt.Sprintf("%s %v", bytes.TrimSpace(text), err)))
}

// caller is a process that hands a call over.
type caller struct {
	request request
	files   []int
	pid     int // of the process that stays
}

func newCaller(args []string, closed []int) (*caller, error) {
	numbers, err := inherited()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(numbers, func(n int) bool { return n >= numbersMax }); i >= 0 {
		return nil, fmt.Errorf("the command was started with an open file of number %d, above %d", numbers[i], numbersMax-1)
	}
	if len(numbers) > numbersSentMax {
		return nil, fmt.Errorf("the command was started with %d open files, more than %d", len(numbers), numbersSentMax)
	}
	dir, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: ".", Err: err}
	}
	umask := unix.Umask(0)
	unix.Umask(umask)
	return &caller{
		request: request{Ask: askRun, Args: asBytes(args), Env: asBytes(os.Environ()), Umask: umask, Closed: closed,
			Numbers: numbers},
		files: append([]int{dir, 0, 1, 2}, numbers...),
	}, nil
}

// call makes the call on a connection, which it closes.
func (c *caller) call(ctx context.Context, conn *net.UnixConn) (code int, err error) {
	defer func() { err = errors.Join(err, conn.Close()) }()
	_ = conn.SetDeadline(time.Now().Add(answerTime)) // of a call that is taken
	if err := c.request.send(conn, c.files); err != nil {
		return 0, errGone
	}
	answers := json.NewDecoder(conn)
	var a answer
	switch err := errors.Join(answers.Decode(&a), conn.SetDeadline(time.Time{})); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, &Refusal{Reason: errStuck.Error()}
	case err != nil:
		return 0, errGone
	case a.Refused != "":
		return 0, &Refusal{Reason: a.Refused}
	}
	stop := context.AfterFunc(ctx, func() {
		_ = spawn.Call(func() error { // else the answer's end tells
			_, err := conn.Write([]byte{endCall})
			return err
		})
	})
	defer stop()
	if err := answers.Decode(&a); err != nil || a.Code == nil {
		return 0, fmt.Errorf("process %d, which stays between commands, has ended while it answered: the result is not "+
			"complete", c.pid)
	}
	return *a.Code, nil
}

// List returns what the user's processes tell about themselves, of all versions.
func List() ([]Status, error) {
	dir := folder()
	if err := checkFolder(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+socketEnding))
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, path := range paths {
		status, err := askStatusOf(path)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist), errors.Is(err, io.EOF),
			errors.Is(err, errGone):
			// it was killed, or has ended meanwhile
		case err != nil:
			return nil, err
		default:
			all = append(all, status)
		}
	}
	return all, nil
}

func askStatusOf(path string) (s Status, err error) {
	conn, pid, err := dial(path)
	if errors.Is(err, errStuck) {
		return Status{PID: pid, Socket: path, Stuck: true}, nil
	}
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := (&request{Ask: askStatus}).send(conn, nil); err != nil {
		return s, err
	}
	a := answer{Status: &s}
	err = json.NewDecoder(conn).Decode(&a)
	s.PID, s.Socket = pid, path
	return s, err
}

// Stop ends the user's processes that stay, of all versions: each once it has answered the call that it has. It returns
// when their sockets are gone.
func Stop(ctx context.Context) (stopped int, err error) {
	all, err := List()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.PID <= 0 {
			return stopped, fmt.Errorf("the process of %s lives in another container", s.Socket)
		}
		signal := unix.SIGTERM
		if s.Stuck {
			signal = unix.SIGKILL
		}
		if err := unix.Kill(s.PID, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return stopped, fmt.Errorf("process %d: %w", s.PID, err)
		}
		if s.Stuck { // which removes no socket; the next command does
			stopped++
			continue
		}
		if err := awaitGone(ctx, s.Socket); err != nil { // a process may have been started to ignore the signal
			return stopped, fmt.Errorf("process %d: %w", s.PID, err)
		}
		stopped++
	}
	return stopped, nil
}

// awaitGone returns when a socket is gone.
func awaitGone(ctx context.Context, path string) error {
	const every = 5 * time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errors.New("its socket is still there"))
	defer cancel()
	for {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every):
		}
	}
}
