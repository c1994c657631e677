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

	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
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

	// Facts words statistics for the page of a run: facts, and apart from them devices, the facts of
	// devices. The default is none.
	Facts func(engine.Stats) (facts, devices []report.Fact)

	// Uploads takes files of people. The default, nil, takes none.
	Uploads *server.Uploads

	// Devices tells of the GPUs now. The default, nil, is of a machine without any.
	Devices func() ([]Device, error)

	// RequestTime is how long the body of a request may take, to its last byte. The default is 30 seconds.
	RequestTime time.Duration

	// AnswerStall is how long a client may take for each part that is written of an answer. The default is 2
	// minutes.
	AnswerStall time.Duration

	Logger *slog.Logger // The default discards.
}

// Service answers requests of HTTP.
type Service struct {
	opt     Options
	http    *http.Server
	samples *samples
	cancel  context.CancelFunc // ends the samples
	serves  spawn.Group
}

// New returns a service, which serves the listeners that it is given until Stop is called.
func New(opt Options) *Service {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Facts == nil {
		opt.Facts = func(engine.Stats) (facts, devices []report.Fact) { return nil, nil }
	}
	if opt.RequestTime == 0 {
		opt.RequestTime = 30 * time.Second
	}
	if opt.AnswerStall == 0 {
		opt.AnswerStall = 2 * time.Minute
	}
	s := &Service{opt: opt, samples: &samples{server: opt.Server, devices: opt.Devices}}
	s.http = &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         opt.TLS,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(opt.Logger.Handler(), slog.LevelDebug),
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.serves.Go(func() error { return s.samples.take(ctx) })
	return s
}

// Handler returns what answers requests.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthy)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.known(s.metrics))
	mux.Handle("/", s.guarded(s.pages()))
	return s.bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}))
}

// pages returns what answers the page's requests.
func (s *Service) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", static("index.html"))
	mux.HandleFunc("GET /{file}", staticFile)
	mux.HandleFunc("POST /api/sign-in", s.signIn)
	mux.HandleFunc("POST /api/sign-out", s.signOut)
	for pattern, answer := range map[string]func(*request) error{
		"POST /api/session":              s.begin,
		"GET /api/tables":                s.tables,
		"GET /api/functions":             s.functions,
		"POST /api/statements":           s.start,
		"POST /api/explain":              s.explain,
		"GET /api/runs":                  s.runs,
		"GET /api/runs/{id}":             s.run,
		"GET /api/runs/{id}/plan":        s.plan,
		"GET /api/runs/{id}/timeline":    s.timeline,
		"GET /api/runs/{id}/report":      s.report,
		"POST /api/runs/{id}/cancel":     s.cancelRun,
		"GET /api/results/{id}":          s.rows,
		"GET /api/results/{id}/chart":    s.chart,
		"GET /api/results/{id}/file":     s.file,
		"POST /api/results/{id}/drop":    s.dropRows,
		"GET /api/samples":               s.samplesSince,
		"POST " + uploadsPath + "{name}": s.upload,
	} {
		mux.HandleFunc(pattern, s.answered(answer))
	}
	return mux
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
	s.cancel()
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
