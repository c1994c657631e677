package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// W5: of the body of a request, which is a statement. A file that is uploaded has the limit of server.Uploads.
const requestBytesMax = 1 << 20

// guarded refuses what did not come from the page itself (W2), and sets the headers that have a
// browser do the same.
func (s *Service) guarded(next http.Handler) http.Handler {
	sameOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !hostAllowed(r) {
			closeUnread(w, r)
			tell(w, http.StatusMisdirectedRequest, fmt.Errorf("this server listens at a loopback address, and is not %s: "+
				"use localhost (a proxy in front must send Host: localhost)", r.Host))
			return
		}
		if err := sameOrigin.Check(r); err != nil || strings.HasPrefix(r.URL.Path, "/api/") && crossSite(r) {
			closeUnread(w, r)
			tell(w, http.StatusForbidden, errors.New("the request came from another site"))
			return
		}
		if !strings.HasPrefix(r.URL.Path, uploadsPath) {
			r.Body = http.MaxBytesReader(w, r.Body, requestBytesMax)
		}
		next.ServeHTTP(w, r)
	})
}

// crossSite says whether a browser tells that another site has it ask.
func crossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	return false
}

// hostAllowed says whether a request that came to a loopback address names it, so that no site whose
// name leads to this machine reads the server's data.
func hostAllowed(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	tcp, ok := local.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// tell answers with an error.
func tell(w http.ResponseWriter, status int, err error) {
	answer(w, status, map[string]any{"error": map[string]any{"message": redact.Error(err).Error()}})
}

// answer answers with JSON.
func answer(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"message":"an answer that is no JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}

// statusOf returns the status by which clients are told of an error.
func statusOf(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, server.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errLate):
		return http.StatusRequestTimeout
	case errors.Is(err, errNoSession):
		return http.StatusConflict
	case errors.Is(err, spawn.ErrInternal):
		return http.StatusInternalServerError
	case errors.Is(err, server.ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, server.ErrForbidden):
		return http.StatusForbidden
	case errors.Is(err, server.ErrBusy), errors.Is(err, server.ErrDraining):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
