package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/spawn"
)

// The cookies of the page. Browsers send cookies to all ports of a host, so that the names have the
// port: two servers on a machine do not take each other's.
const (
	tokenCookie   = "mpga-token"
	sessionCookie = "mpga-session"
)

// cookieName returns the name of a cookie at the port of a request.
func cookieName(r *http.Request, name string) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return name + "-" + port
	}
	return name
}

// setCookie has the browser send a value with requests of the page; "" has the browser forget it.
func (s *Service) setCookie(w http.ResponseWriter, r *http.Request, name, value string) {
	c := &http.Cookie{
		Name: cookieName(r, name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: s.opt.TLS != nil,
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// cookie returns a value that setCookie has set, or "".
func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(cookieName(r, name))
	if err != nil {
		return ""
	}
	return c.Value
}

// client returns whose request it is, by a cookie or by a header. W1.
func (s *Service) client(r *http.Request) (name string, ok bool) {
	if !s.opt.Tokens.Asked() {
		return server.CertificateName(r.TLS), true
	}
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		token = cookie(r, tokenCookie)
	}
	return s.opt.Tokens.Name(token)
}

// errToken is the error of requests without a token.
var errToken = errors.New("sign in with a token of this server (--token-file)")

// signIn takes a token.
func (s *Service) signIn(w http.ResponseWriter, r *http.Request) {
	var form struct{ Token string }
	if err := s.decode(w, r, &form); err != nil {
		closeUnread(w, r)
		tell(w, statusOf(err), fmt.Errorf("want a token as JSON: %w", err))
		return
	}
	token := strings.TrimSpace(form.Token)
	if _, ok := s.opt.Tokens.Name(token); !ok {
		tell(w, http.StatusUnauthorized, errors.New("the server does not know this token"))
		return
	}
	s.setCookie(w, r, tokenCookie, token)
	answer(w, http.StatusOK, struct{}{})
}

// signOut ends the session and forgets the token.
func (s *Service) signOut(w http.ResponseWriter, r *http.Request) {
	if client, ok := s.client(r); ok {
		if session, ok := s.opt.Server.Session(cookie(r, sessionCookie), client); ok {
			if err := session.Close(); err != nil {
				s.opt.Logger.Warn("ending a session", "error", err)
			}
		}
	}
	s.setCookie(w, r, tokenCookie, "")
	s.setCookie(w, r, sessionCookie, "")
	answer(w, http.StatusOK, struct{}{})
}

// request is a request of a client.
type request struct {
	*http.Request
	w       http.ResponseWriter
	client  string
	session *server.Session // nil before there is one
}

// answered returns a handler of requests of clients, whose errors are answers.
func (s *Service) answered(handle func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		client, ok := s.client(r)
		if !ok {
			closeUnread(w, r)
			tell(w, http.StatusUnauthorized, errToken)
			return
		}
		req := &request{Request: r, w: w, client: client}
		req.session, _ = s.opt.Server.Session(cookie(r, sessionCookie), client)
		if err := spawn.Call(func() error { return handle(req) }); err != nil {
			closeUnread(w, r)
			if errors.Is(err, errCutShort) {
				panic(http.ErrAbortHandler) // so that the client does not take what it has for the whole
			}
			if statusOf(err) == http.StatusInternalServerError {
				s.opt.Logger.Error("a request", "path", r.URL.Path, "error", err)
			}
			tell(w, statusOf(err), err)
		}
	}
}

// begin begins a session, if the browser has none, and tells of the server.
func (s *Service) begin(r *request) error {
	if r.session == nil {
		session, err := s.opt.Server.NewSession(r.client)
		if err != nil {
			return err
		}
		s.setCookie(r.w, r.Request, sessionCookie, session.Token())
	}
	answer(r.w, http.StatusOK, map[string]any{
		"client": r.client, "version": s.opt.Version, "tokens": s.opt.Tokens.Asked(), "uploads": s.opt.Uploads != nil,
	})
	return nil
}

// errNoSession is the error of requests that need a session. The page begins another and asks again.
var errNoSession = errors.New("the session has ended, and its results with it: load the page again")

// held returns the session of a request, kept from being idle until release is called.
func (r *request) held() (session *server.Session, release func(), err error) {
	if r.session == nil {
		return nil, nil, errNoSession
	}
	return r.session, r.session.Hold(), nil
}
