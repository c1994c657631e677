package server

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
)

// Server answers the statements of sessions. It is safe for concurrent use.
type Server struct {
	opt     Options
	queue   *queue
	history *history
	spilled *temporary.Store // temporary tables and kept results

	ctx    context.Context // of all sessions; done when the server closes
	cancel context.CancelCauseFunc
	sweep  spawn.Group // ends sessions that nobody uses

	mu       sync.Mutex
	draining bool
	sessions map[string]*Session // by token
}

// New returns a server, which must be closed.
func New(opt Options) (*Server, error) {
	opt.EnsureDefaults()
	if err := opt.Limits.Validate(); err != nil {
		return nil, err
	}
	s := &Server{opt: opt, history: newHistory(), sessions: make(map[string]*Session)}
	s.queue = newQueue(&s.opt.Limits)
	s.spilled = temporary.NewStore(temporary.Options{
		Engine: opt.Engine, Dir: opt.TempDir, Name: "mpga-serve", MemoryBytes: opt.Limits.TemporaryBytes,
		DiskBytes: opt.TempLimit, DiskKnob: knob.Name("engine.TempLimit"),
	})
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.sweep.Go(s.sweepSessions)
	return s, nil
}

// Close ends all statements and sessions, and waits for them.
func (s *Server) Close() error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.cancel(ErrDraining)
	s.history.wait(context.Background())
	err := s.sweep.Wait()
	for _, session := range s.all() {
		err = errors.Join(err, session.Close())
	}
	return errors.Join(err, s.spilled.Close())
}

// Drain refuses further statements, and waits until the statements that run have ended, or the
// context is done.
func (s *Server) Drain(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.history.wait(ctx)
}

// Draining says whether the server refuses further statements.
func (s *Server) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// NewSession begins a session of a client. client is who it is, for limits and for people: the name
// that belongs to its token, or "" where nobody has one, so that each session is a client of its
// own.
func (s *Server) NewSession(client string) (*Session, error) {
	session := newSession(s, rand.Text(), client)
	unused, err := s.register(session)
	if unused != nil {
		err = errors.Join(err, unused.Close())
	}
	if err != nil {
		return nil, err
	}
	return session, nil
}

// register adds a session. Where there are too many, it takes another out that nobody uses, which the
// caller closes: of the same client if there is one, and the one that was unused for the longest time.
func (s *Server) register(session *Session) (unused *Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, errDraining
	}
	if len(s.sessions) >= s.opt.Limits.Sessions {
		unused = s.leastUsed(session.Client)
	}
	switch {
	case unused != nil:
		delete(s.sessions, unused.token)
	case len(s.sessions) >= s.opt.Limits.Sessions:
		return nil, knob.Errorf("%w: %d sessions are open, the most that may be (%s)", ErrBusy, len(s.sessions), sessionsKnob)
	}
	s.sessions[session.token] = session
	return unused, nil
}

// leastUsed returns the session without a connection or a call that was unused for the longest time, of a
// client if there is one, or nil.
// Requires: s.mu is held.
func (s *Server) leastUsed(client string) (found *Session) {
	var since time.Time
	for _, session := range s.sessions {
		used, idle := session.idleSince()
		if !idle {
			continue
		}
		own, foundOwn := session.Client == client, found != nil && found.Client == client
		if found == nil || own && !foundOwn || own == foundOwn && used.Before(since) {
			found, since = session, used
		}
	}
	return found
}

// Session returns the session of a token, if it is the client's.
func (s *Server) Session(token, client string) (*Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.sessions[token]
	if !ok || session.Client != client {
		return nil, false
	}
	session.touch()
	return session, true
}

// all returns all sessions.
func (s *Server) all() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Session
	for _, session := range s.sessions {
		list = append(list, session)
	}
	return list
}

// sweepSessions ends sessions that nobody uses, until the server closes.
func (s *Server) sweepSessions() error {
	ticker := time.NewTicker(max(s.opt.Limits.SessionIdle/8, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case <-ticker.C:
			spawn.Step()
		}
		for _, session := range s.all() {
			if session.isIdle(s.opt.Limits.SessionIdle) {
				if err := session.Close(); err != nil {
					s.opt.Logger.Warn("ending a session", "error", err)
				}
			}
		}
	}
}

// Memory is what the server's process holds, in bytes.
type Memory struct {
	Resident  int64 // of the process
	Peak      int64 // of the above, while statements ran
	Limit     int64 // of the above while statements run
	Temporary int64 // of temporary tables in memory
}

// Memory returns what the server's process holds now.
func (s *Server) Memory() Memory {
	return Memory{mem.ResidentBytes(), s.opt.Engine.ResidentPeak(), s.opt.Engine.MemoryLimit(), s.spilled.MemoryBytes()}
}

// StallTime returns how long a client may leave the server waiting, for rows or for room for rows.
func (s *Server) StallTime() time.Duration { return s.opt.Limits.StallTime }

// Counts are how much the server has to do.
type Counts struct{ Sessions, Running, Waiting int }

// Counts returns how much the server has to do now.
func (s *Server) Counts() (c Counts) {
	c.Running, c.Waiting = s.queue.counts()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Sessions = len(s.sessions)
	return c
}
