package flightsql

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/trace"
)

// Options configure a Service.
type Options struct {
	Server  *server.Server
	Version string // of the program, for clients

	// Tokens are the secrets of clients. Without any, everybody who reaches the service may use it.
	Tokens server.Tokens

	// TLS encrypts connections, and may ask clients for certificates. The default, nil, does not.
	TLS *tls.Config

	// MessageBytes is the most that a message of a client may have: a batch of its rows. While a message
	// is read it is in memory twice, which no budget knows before. The default is a sixteenth of the
	// engine's memory limit, but at least 17 MiB, which is what drivers send at most unless they are told
	// otherwise, and at most 256 MiB.
	MessageBytes int

	// Report writes a page of HTML about a run. Without it, nobody gets one.
	Report ReportFunc

	// ConnectionIdle ends a connection that has had no call for so long. The default is half an hour.
	ConnectionIdle time.Duration

	// ArrivalTime is how long the message of a call may take, to its last byte. The default is 30 seconds.
	ArrivalTime time.Duration

	Logger *slog.Logger // The default discards.
}

// ReportFunc writes a page about a run of a statement with a plan.
type ReportFunc func(to io.Writer, run server.Status, plan string, record trace.Timeline) error

// Service answers clients that speak Arrow Flight SQL.
type Service struct {
	fsql.BaseServer
	opt    Options
	grpc   *grpc.Server
	health *health.Server
	serves spawn.Group
	calls  sync.WaitGroup // that may outlive their streams for a moment, see call
	known  []uint32       // what SqlInfo knows, sorted
}

// Bounds of the default of Options.MessageBytes.
const (
	messageBytesLeast = 17 << 20
	messageBytesMost  = 256 << 20
)

// New returns a service, which serves the listeners that it is given until Stop is called.
func New(opt Options) (*Service, error) {
	if opt.MessageBytes == 0 {
		opt.MessageBytes = int(min(max(opt.Server.Memory().Limit/16, messageBytesLeast), messageBytesMost))
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.ConnectionIdle == 0 {
		opt.ConnectionIdle = 30 * time.Minute
	}
	if opt.ArrivalTime == 0 {
		opt.ArrivalTime = 30 * time.Second
	}
	s := &Service{opt: opt, health: health.NewServer()}
	if err := s.registerInfo(); err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.StatsHandler(connections{s}),
		grpc.InTapHandle(s.identify),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(opt.MessageBytes),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxHeaderListSize(headerBytesMax),
		grpc.MaxConcurrentStreams(callsMax),
		grpc.WaitForHandlers(true),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(connectionWindowBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: silentMax, Timeout: silentMax / 2, MaxConnectionIdle: opt.ConnectionIdle,
		}),
		grpc.ConnectionTimeout(openingMax),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: silentMin, PermitWithoutStream: true}),
	}
	if opt.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(opt.TLS)))
	}
	s.grpc = grpc.NewServer(options...)
	flight.RegisterFlightServiceServer(s.grpc, &service{FlightServer: fsql.NewFlightServer(s), of: s})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	return s, nil
}

const (
	// The windows are how many bytes are on their way to or from a client that does not take them:
	// enough for a batch, so that neither side waits for the other in turn.
	windowBytes           = 4 << 20
	connectionWindowBytes = 16 << 20
	bufferBytes           = 256 << 10

	headerBytesMax = 64 << 10 // of a call: its token and cookies
	callsMax       = 1024     // at a time on one connection; further ones wait at the client

	openingMax = 10 * time.Second // for the handshakes of TLS and HTTP/2

	// A client that has been silent for silentMax is asked for a sign of life, and must not send
	// such signs more often than silentMin.
	silentMax = time.Minute
	silentMin = 5 * time.Second
)

// Serve serves a listener in the background.
func (s *Service) Serve(l net.Listener) {
	s.serves.Go(func() error {
		if err := s.grpc.Serve(l); !errors.Is(err, grpc.ErrServerStopped) { // before it had begun
			return err
		}
		return nil
	})
}

// Drain tells health checks that the service is about to end.
func (s *Service) Drain() { s.health.Shutdown() }

// Finish ends connections whose calls have been answered, to the last byte, and refuses new ones,
// until there is none or the context is done.
func (s *Service) Finish(ctx context.Context) {
	finished := make(chan struct{})
	s.serves.Go(func() error {
		defer close(finished)
		s.grpc.GracefulStop()
		return nil
	})
	select {
	case <-finished:
	case <-ctx.Done():
	}
}

// Stop ends all connections and waits for them.
func (s *Service) Stop() error {
	s.grpc.Stop()
	s.calls.Wait()
	return s.serves.Wait()
}
