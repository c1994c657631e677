package flightsql

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/mpga/mpga/app/server"
)

// openMethods are what clients may call whom the server does not know: they introduce themselves by the first, and
// the others tell whether the server is alive. Health's Watch is none of them: it holds its connection.
var openMethods = []string{
	"/arrow.flight.protocol.FlightService/Handshake", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/List",
}

type clientKey struct{}

// clientOf returns who a call's client is; "" where nobody is asked.
func clientOf(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

// identify returns the context of a call, which knows who the client is, or an error for a client
// that the server does not know. It sees the headers of a call before a byte of its message is read:
// strangers take no memory.
func (s *Service) identify(ctx context.Context, call *tap.Info) (context.Context, error) {
	if slices.Contains(openMethods, call.FullMethodName) {
		return s.awaitMessage(ctx, call.FullMethodName), nil
	}
	name, _, err := s.client(ctx)
	if err != nil {
		s.opt.Logger.Debug("a call of a client that is not known", "method", call.FullMethodName, "error", err)
		return nil, err
	}
	return context.WithValue(s.awaitMessage(ctx, call.FullMethodName), clientKey{}, name), nil
}

// client returns who a call's client is, the name of its token or the name in its certificate, and
// the token; "" where nobody is asked.
func (s *Service) client(ctx context.Context) (name, token string, err error) {
	if s.opt.Tokens.Asked() {
		md, _ := metadata.FromIncomingContext(ctx)
		for _, value := range md.Get("authorization") {
			if token, ok := tokenOf(value); ok {
				if name, ok := s.opt.Tokens.Name(token); ok {
					return name, token, nil
				}
			}
		}
		return "", "", status.Error(codes.Unauthenticated, "this server wants a bearer token that it knows")
	}
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			return server.CertificateName(&info.State), "", nil
		}
	}
	return "", "", nil
}

// tokenOf returns the token in an authorization header: as it is, or as the password of a user.
func tokenOf(header string) (token string, ok bool) {
	scheme, rest, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "bearer"):
		return rest, true
	case strings.EqualFold(scheme, "basic"):
		text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(rest, "=")) // some clients leave = out
		if err != nil {
			return "", false
		}
		_, token, ok = strings.Cut(string(text), ":")
		return token, ok
	}
	return "", false
}

// anybody is the bearer token that a client gets from a server that asks nobody.
const anybody = "anybody"

// Handshake gives a client that comes with a user and a password, which is its token, the header
// that its further calls must have: JDBC and ADBC ask for it where they have a password.
func (f *service) Handshake(stream flight.FlightService_HandshakeServer) error {
	_, token, err := f.of.client(stream.Context())
	if err != nil {
		return err
	}
	if token == "" {
		token = anybody
	}
	return stream.SendHeader(metadata.Pairs("authorization", "Bearer "+token))
}
