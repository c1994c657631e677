package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpga/mpga/internal/spawn"
)

// server is a process that stays.
type server struct {
	opt    ServeOptions
	path   string      // of the socket
	socket os.FileInfo // to tell it from another process's
	null   int         // the file that files of callers are when no call runs
	since  time.Time
	calls  atomic.Int64

	running atomic.Bool

	busy   sync.Mutex  // held by the call that runs: R1
	idle   *time.Timer // ends the process
	tidies *time.Timer // gives garbage back to the system

	replies sync.WaitGroup // which tell callers how their calls have ended
	leaving sync.Once
	left    chan struct{} // closed when the socket is gone
}

// tidyTime is how long a process has no call before it gives garbage back to the system, which takes some 10 ms.
const tidyTime = time.Second

// Serve answers calls until there has been none for a while, or the context ends; the call that runs then comes to its
// end. It prints on the standard output when it is ready: Do has started the process.
func Serve(ctx context.Context, o ServeOptions) error {
	name, err := socketName(o.Version)
	if err == nil && name != o.Name {
		err = errors.New("the process is not like the one that has started it")
	}
	if err != nil {
		return err
	}
	unix.Umask(ownUmask)
	s := &server{opt: o, path: filepath.Join(folder(), name), since: time.Now(), left: make(chan struct{})}
	if s.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	listener, err := s.listen()
	if err != nil {
		return err
	}
	if listener == nil { // another process has been faster
		return s.sayReady()
	}
	s.tidies = time.AfterFunc(tidyTime, func() { _ = spawn.Call(s.tidy) })
	s.idle = time.AfterFunc(o.Idle(), func() { _ = spawn.Call(s.leaveIdle) })
	context.AfterFunc(ctx, func() { _ = spawn.Call(s.leaveNow) })
	spawn.Go(func() error { return s.accept(listener) }, func(error) { s.leave() })
	if err := s.sayReady(); err != nil {
		s.leave()
	}
	<-s.left
	s.busy.Lock() // the call that runs has ended
	s.replies.Wait()
	return listener.Close()
}

// tidy gives memory back that no call uses.
func (s *server) tidy() error {
	debug.FreeOSMemory()
	return nil
}

// leaveIdle leaves unless there is a call.
func (s *server) leaveIdle() error {
	if s.busy.TryLock() {
		defer s.busy.Unlock()
		s.leave()
	}
	return nil
}

func (s *server) leaveNow() error {
	s.leave()
	return nil
}

// sayReady tells the starter, and has the standard files be nowhere.
func (s *server) sayReady() error {
	_, err := io.WriteString(os.Stdout, ready)
	return errors.Join(err, s.drop(nil))
}

// listen makes the socket; it returns nil where another process has it.
func (s *server) listen() (*net.UnixListener, error) {
	unlock, err := lockFolder(filepath.Dir(s.path))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if conn, _, err := dial(s.path); err == nil {
		return nil, conn.Close()
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // leave removes it
	s.socket, err = os.Lstat(s.path)
	return listener, err
}

// leave removes the socket, if it is this process's, and the folder where it has no other.
func (s *server) leave() {
	s.leaving.Do(func() {
		defer close(s.left)
		dir := filepath.Dir(s.path)
		unlock, err := lockFolder(dir)
		if err != nil {
			return // the folder is not the user's any more
		}
		defer unlock()
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.socket) {
			_ = os.Remove(s.path) // else the next process does
		}
		_ = os.Remove(dir) // it may have other sockets
	})
}

// accept takes connections until the process ends.
func (s *server) accept(listener *net.UnixListener) error {
	for {
		spawn.Step()
		conn, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		spawn.Go(func() error { return s.answer(conn) }, func(error) { _ = conn.Close() }) // which tells the caller
	}
}

// answer answers a connection. An error is the caller's, who has gone or is none.
func (s *server) answer(conn *net.UnixConn) error {
	if _, err := peer(conn); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{hello}); err != nil {
		return err
	}
	r, files, err := receive(conn)
	defer closeFiles(files)
	if err != nil {
		return err
	}
	reply := json.NewEncoder(conn)
	switch {
	case r.Ask == askStatus:
		return reply.Encode(answer{Status: &Status{
			Version: s.opt.Version, Since: s.since, Calls: s.calls.Load(), Busy: s.running.Load(),
		}})
	case r.Ask != askRun:
		return fmt.Errorf("request %q", r.Ask)
	case !s.busy.TryLock():
		return reply.Encode(answer{Refused: "the process that stays between commands is busy with another one"})
	}
	code, stuck, err := s.run(conn, r, files)
	if stuck { // R6
		s.leave()
	}
	s.replies.Add(1)
	defer s.replies.Done()
	s.busy.Unlock() // before the caller ends, whose next call is not to be refused
	if err != nil {
		return err
	}
	return reply.Encode(answer{Code: &code})
}

// run runs a call, as the caller would. stuck says that the process is of no use any more. Requires: s.busy is held.
func (s *server) run(conn *net.UnixConn, r *request, files []*os.File) (code int, stuck bool, err error) {
	select {
	case <-s.left: // the caller looks for the next process
		return 0, false, errGone
	default:
	}
	s.idle.Stop()
	s.tidies.Stop()
	defer func() {
		s.idle.Reset(s.opt.Idle())
		s.tidies.Reset(tidyTime)
	}()
	reply := json.NewEncoder(conn)
	if err := s.borrow(r, files); err != nil {
		return 0, false, errors.Join(err, s.drop(r.Numbers), reply.Encode(answer{Refused: err.Error()}))
	}
	if err := errors.Join(reply.Encode(answer{Taken: true}), conn.SetDeadline(time.Time{})); err != nil {
		return 0, false, errors.Join(err, s.drop(r.Numbers))
	}
	s.calls.Add(1)
	s.running.Store(true)
	defer s.running.Store(false)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	spawn.Go(func() error {
		s.watch(conn, cancel, ended)
		return nil
	}, func(error) { cancel() })
	in := &input{from: files[1]}
	code = s.opt.Run(ctx, Call{Args: asStrings(r.Args), Stdin: in, Stdout: files[2], Stderr: files[3], Closed: r.Closed})
	close(ended)
	stuck = in.end()
	stuck = s.drop(r.Numbers) != nil || stuck
	closeFiles(files) // before the caller ends: who reads its output waits for that
	return code, stuck, nil
}

// goneTime is how long a call may take to end when its caller has gone.
const goneTime = 5 * time.Second

// watch ends a call when its caller asks for that, or has gone.
func (s *server) watch(conn *net.UnixConn, cancel func(), ended <-chan struct{}) {
	word := make([]byte, 1)
	_, err := conn.Read(word)
	cancel()
	if err == nil { // the caller waits, or goes at a second signal
		_, _ = conn.Read(word)
	}
	select {
	case <-ended:
	case <-time.After(goneTime):
		s.leave()
		os.Exit(0)
	}
}

// input is the standard input of a call, which knows of reads that do not return.
type input struct {
	from  io.Reader
	reads atomic.Int32
	over  atomic.Bool
}

func (i *input) Read(p []byte) (int, error) {
	i.reads.Add(1)
	defer i.reads.Add(-1)
	if i.over.Load() {
		return 0, os.ErrClosed
	}
	return i.from.Read(p)
}

// end lets no other read begin, and reports whether one has not returned.
func (i *input) end() bool {
	i.over.Store(true)
	return i.reads.Load() > 0
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // the caller has it, too; who writes has heard of errors
	}
}
