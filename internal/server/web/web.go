package web

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mpga/mpga/internal/server"
	"github.com/mpga/mpga/internal/spawn"
)

// Options configure a Service.
type Options struct {
	Server  *server.Server
	Version string // of the program, for people

	// Tokens are the secrets of clients, as of the other service.
	Tokens server.Tokens

	// TLS encrypts connections. The default, nil, does not.
	TLS *tls.Config

	Logger *slog.Logger // The default discards.
}

// Service answers requests of HTTP.
type Service struct {
	opt    Options
	http   *http.Server
	serves spawn.Group
}

// New returns a service, which serves the listeners that it is given until Stop is called.
func New(opt Options) *Service {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{opt: opt}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthy)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.metrics)
	s.http = &http.Server{
		Handler:           mux,
		TLSConfig:         opt.TLS,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(opt.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve serves a listener in the background.
func (s *Service) Serve(l net.Listener) {
	s.serves.Go(func() error {
		var err error
		if s.opt.TLS != nil {
			err = s.http.ServeTLS(l, "", "")
		} else {
			err = s.http.Serve(l)
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	})
}

// Stop ends all connections and waits for them; requests that are being answered have until the
// context is done.
func (s *Service) Stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	return s.serves.Wait()
}

// healthy answers that the process is alive.
func (s *Service) healthy(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }

// ready answers whether the server takes statements.
func (s *Service) ready(w http.ResponseWriter, _ *http.Request) {
	if s.opt.Server.Draining() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}
