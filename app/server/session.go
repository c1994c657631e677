package server

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/copyto"
	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sql"
)

// Session is what a client has at the server: temporary tables and statements. It is safe for
// concurrent use.
type Session struct {
	Client string // who the client is; "" where the server knows nobody

	server *Server
	token  string
	ctx    context.Context // of the session's runs; done when the session ends
	cancel context.CancelCauseFunc

	appending chan struct{} // holds a value while rows are added to a table
	tables    *temporary.Tables

	mu         sync.Mutex
	used       time.Time // last
	zone       string    // of SET TimeZone; "" is the server's
	held       int       // connections and calls that keep the session from being idle
	closed     bool
	statements map[string]*Statement // by handle
	recent     list.List             // of these; the one that was used last comes last
	kept       []*Kept               // the latest last
}

func newSession(s *Server, token, client string) *Session {
	session := &Session{
		server: s, token: token, Client: client, used: time.Now(), appending: make(chan struct{}, 1),
		tables: s.spilled.NewTables(s.isServers), statements: make(map[string]*Statement),
	}
	session.ctx, session.cancel = context.WithCancelCause(s.ctx)
	return session
}

// Token returns the secret by which the client finds the session again.
func (s *Session) Token() string { return s.token }

// queueName returns the client's name in the queue: without a name, each session is a client.
func (s *Session) queueName() string {
	if s.Client != "" {
		return s.Client
	}
	return "session " + s.token
}

// touch notes that the session is used.
func (s *Session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

// Hold keeps the session from being idle until release is called.
func (s *Session) Hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held--
		s.used = time.Now()
	})
}

// timeZone returns the zone that the session has set; "" of none.
func (s *Session) timeZone() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zone
}

// set does what a SET says, and drops the plans of statements, which have been made for another zone.
func (s *Session) set(to *sql.Setting) error {
	s.mu.Lock()
	s.zone = to.TimeZone
	s.mu.Unlock()
	return s.renamed()
}

// ended says whether the session has ended.
func (s *Session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Held says whether a connection or a call uses the session.
func (s *Session) Held() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held > 0
}

// idleSince returns when the session was used last, and whether no connection and no call uses it.
func (s *Session) idleSince() (used time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.held == 0
}

// isIdle says whether nobody has used the session for so long.
func (s *Session) isIdle(long time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held == 0 && time.Since(s.used) > long
}

// Close ends the session: its runs, and then what it holds.
func (s *Session) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	statements, kept := s.statements, s.kept
	s.statements, s.kept = nil, nil
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.cancel(fmt.Errorf("%w: the session has ended", ErrCancelled))
	s.server.mu.Lock()
	delete(s.server.sessions, s.token)
	s.server.mu.Unlock()
	var errs []error
	for _, statement := range statements {
		errs = append(errs, statement.end())
	}
	errs = append(errs, s.tables.Close())
	for _, k := range kept {
		errs = append(errs, k.drop())
	}
	return errors.Join(errs...)
}

// Prepare reads a statement and looks up the names in it. Errors that point at the text are of type
// *sql.Error.
func (s *Session) Prepare(ctx context.Context, text string) (st *Statement, err error) {
	return s.PrepareText(ctx, text, Meaning{})
}

// PrepareText is Prepare of a statement in which names mean what the client says.
func (s *Session) PrepareText(ctx context.Context, text string, meaning Meaning) (st *Statement, err error) {
	err = s.prepares(ctx, text, func(ctx context.Context) (err error) {
		if st, err = s.read(ctx, text, meaning); err != nil {
			return err
		}
		if meaning.Output != nil && st.IsUpdate() && st.copies == nil {
			return fmt.Errorf("%w: CREATE, DROP and SET have no rows that can be written", engine.ErrQuery)
		}
		return s.plan(ctx, st)
	})
	return st, err
}

// PrepareParsed looks up the names in a statement, which parse reads of a text, and some of which mean what the client
// says.
func (s *Session) PrepareParsed(
	ctx context.Context, text string, parse func(context.Context) (*sql.Select, error), meaning Meaning,
) (st *Statement, err error) {
	err = s.prepares(ctx, text, func(ctx context.Context) error {
		parsed, err := parse(ctx)
		if err != nil {
			return err
		}
		if st, err = s.newSelect(parsed, meaning); err != nil {
			return err
		}
		return s.plan(ctx, st)
	})
	return st, err
}

// read reads a statement, which is neither planned nor kept.
func (s *Session) read(ctx context.Context, text string, meaning Meaning) (st *Statement, err error) {
	switch {
	case sql.IsDrop(text), sql.IsSet(text):
		st = &Statement{Handle: rand.Text(), Text: text, session: s, schema: arrow.NewSchema(nil, nil)}
		if sql.IsDrop(text) {
			st.drop, err = sql.ParseDrop(text)
		} else {
			st.set, err = sql.ParseSet(text)
		}
		return st, err
	case sql.IsCreate(text):
		create, err := sql.ParseCreate(ctx, text)
		if err != nil {
			return nil, err
		}
		st = newStatement(s, create.Query, meaning)
		st.create = create
		if err := meaning.check(create); err != nil {
			return nil, err
		}
		_, err = s.tables.Check(create)
		return st, err
	case sql.IsCopy(text) && s.server.writes():
		read, err := sql.ParseCopy(text)
		if err != nil {
			return nil, err
		}
		st = newStatement(s, read.Query, meaning)
		st.copies, err = s.copying(read, &meaning)
		return st, err
	}
	parsed, err := sql.ParseContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.newSelect(parsed, meaning)
}

// newSelect returns a statement with rows, or the COPY of them that the client asks for.
func (s *Session) newSelect(parsed *sql.Select, meaning Meaning) (st *Statement, err error) {
	st = newStatement(s, parsed, meaning)
	if meaning.Output != nil {
		st.copies, err = s.output(parsed, &meaning)
	}
	return st, err
}

// plan plans a statement that has a plan, and keeps it.
func (s *Session) plan(ctx context.Context, st *Statement) error {
	if st.parsed == nil {
		return s.keep(st)
	}
	p, err := st.prepare(ctx, nil)
	if err != nil {
		return err
	}
	st.schema, st.Parameters = p.query.Schema(), p.query.Parameters()
	if st.counts() {
		st.made, st.schema = st.schema, copyto.Schema
	}
	st.ready, st.held = p, true
	if len(st.Parameters) > 0 { // which have no values yet
		if err := st.forget(); err != nil {
			return err
		}
	}
	return s.keep(st)
}

// newStatement returns a statement, which is not planned and not kept.
func newStatement(s *Session, parsed *sql.Select, meaning Meaning) *Statement {
	return &Statement{Handle: rand.Text(), Text: parsed.Text, session: s, parsed: parsed, meaning: meaning}
}

// keep keeps a statement, in place of the one that was not used for the longest time where there
// are too many.
func (s *Session) keep(st *Statement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(errEnded, st.forget())
	}
	s.statements[st.Handle] = st
	st.place = s.recent.PushBack(st)
	if len(s.statements) <= s.server.opt.Limits.Statements {
		return nil
	}
	oldest := s.recent.Remove(s.recent.Front()).(*Statement)
	delete(s.statements, oldest.Handle)
	return oldest.end()
}

// Statement returns a statement that the session has prepared.
func (s *Session) Statement(handle string) (*Statement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	st, ok := s.statements[handle]
	if !ok {
		return nil, fmt.Errorf("%w: this session has no such statement, or not any more: prepare it again", ErrUnknown)
	}
	s.recent.MoveToBack(st.place)
	return st, nil
}

// Forget drops a statement. Runs of the statement go on.
func (s *Session) Forget(handle string) error {
	st, err := s.Statement(handle)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.statements[handle] == st { // else another call was faster
		delete(s.statements, handle)
		s.recent.Remove(st.place)
	}
	s.mu.Unlock()
	return st.end()
}

// hasUnheld says whether the session has a statement, and nobody holds the session.
func (s *Session) hasUnheld(handle string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.statements[handle]
	return ok && s.held == 0
}

// Adopt returns the session that has a statement, if it is the client's and no connection or call
// uses the session. R1, R4.
func (s *Server) Adopt(handle, client string) (*Session, bool) {
	for _, session := range s.all() {
		if session.Client == client && session.hasUnheld(handle) {
			return session, true
		}
	}
	return nil, false
}
