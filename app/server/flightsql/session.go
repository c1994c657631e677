package flightsql

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/mpga/mpga/app/server"
)

// cookieName is the name of the cookie that holds a session's token.
const cookieName = "mpga_session"

// connection is a client's connection, and the session that belongs to it.
type connection struct {
	mu      sync.Mutex
	session *server.Session // nil before a call needs it
	release func()          // of the hold on session
	ended   bool
}

type connectionKey struct{}

// connections tells calls which connection they come by.
type connections struct{ of *Service }

var _ stats.Handler = connections{}

// TagConn implements stats.Handler.
func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

// HandleConn implements stats.Handler: with its connection a session loses its hold.
func (connections) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, ended := s.(*stats.ConnEnd); !ended {
		return
	}
	c := ctx.Value(connectionKey{}).(*connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.release != nil {
		c.release()
	}
}

// hold keeps a session from being idle as long as the connection lives, in place of the session that was
// the connection's.
func (c *connection) hold(session *server.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		return
	}
	if c.release != nil {
		c.release()
	}
	c.take(session)
}

// take makes a session the connection's. Requires: c.mu is held.
func (c *connection) take(session *server.Session) {
	c.session, c.release = session, session.Hold()
	if c.ended {
		c.release()
	}
}

// TagRPC implements stats.Handler.
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (connections) HandleRPC(context.Context, stats.RPCStats) {}

// session returns the session of a call: the session whose cookie came with the call, or the
// connection's.
func (s *Service) session(ctx context.Context) (*server.Session, error) {
	client := clientOf(ctx)
	if token := cookieOf(ctx); token != "" {
		if session, ok := s.opt.Server.Session(token, client); ok {
			if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
				c.hold(session)
			}
			return session, nil
		}
	}
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return nil, status.Error(codes.Internal, "a call without a connection")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		if same, ok := s.opt.Server.Session(c.session.Token(), client); ok {
			return same, nil
		}
		c.release() // the session has ended, or another client uses the connection
	}
	session, err := s.opt.Server.NewSession(client)
	if err != nil {
		return nil, err
	}
	c.take(session)
	cookie := http.Cookie{Name: cookieName, Value: session.Token(), HttpOnly: true, Secure: s.opt.TLS != nil}
	return session, grpc.SetHeader(ctx, metadata.Pairs("set-cookie", cookie.String()))
}

// cookieOf returns the token in the cookie that came with a call, or "".
func cookieOf(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, line := range md.Get("cookie") {
		cookies, err := http.ParseCookie(line)
		if err != nil {
			continue
		}
		for _, c := range cookies {
			if c.Name == cookieName {
				return c.Value
			}
		}
	}
	return ""
}

// statement returns the statement of a handle that a client sends back: of the call's session, or
// of a session of the same client whose connection is gone, so that a ticket outlives a connection.
func (s *Service) statement(ctx context.Context, handle []byte) (*server.Session, *server.Statement, error) {
	session, err := s.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	st, err := session.Statement(string(handle))
	if err == nil {
		return session, st, nil
	}
	if other, ok := s.opt.Server.Adopt(string(handle), session.Client); ok {
		st, otherErr := other.Statement(string(handle))
		return other, st, otherErr
	}
	return nil, nil, fmt.Errorf("the ticket: %w", err)
}
