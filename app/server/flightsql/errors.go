package flightsql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// codesOf are the codes of what clients are told.
var codesOf = []struct {
	err  error
	code codes.Code
}{
	{spawn.ErrInternal, codes.Internal},
	{server.ErrUnknown, codes.NotFound},
	{server.ErrBusy, codes.ResourceExhausted},
	{server.ErrDraining, codes.Unavailable},
	{server.ErrForbidden, codes.PermissionDenied},
	{server.ErrStalled, codes.DeadlineExceeded},
	{server.ErrTime, codes.DeadlineExceeded},
	{server.ErrExists, codes.AlreadyExists},
	{server.ErrCancelled, codes.Canceled},
	{context.Canceled, codes.Canceled},
	{context.DeadlineExceeded, codes.DeadlineExceeded},
	{engine.ErrQuery, codes.InvalidArgument},
	{engine.ErrValue, codes.InvalidArgument},
	{engine.ErrOverflow, codes.InvalidArgument},
	{engine.ErrMemoryLimit, codes.ResourceExhausted},
	{engine.ErrTempLimit, codes.ResourceExhausted},
	{engine.ErrRecursion, codes.ResourceExhausted},
}

// toldOfRows returns an error of reading what a client has sent, and of keeping it: where nothing else
// is known of it, and no file of the server's failed, the client has sent something that cannot be read.
func toldOfRows(err error) error {
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return toldAs(err, codes.Internal)
	}
	return toldAs(err, codes.InvalidArgument)
}

// toldAs returns an error as clients are told it, with a code for an error of which none is known.
func toldAs(err error, unknown codes.Code) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		if text := shorten(s.Message()); text != s.Message() {
			return status.Error(s.Code(), text)
		}
		return err
	}
	err = redact.Error(err)
	return status.Error(codeOf(err, unknown), shorten(err.Error()))
}

// codeOf returns the code of an error.
func codeOf(err error, unknown codes.Code) codes.Code {
	for _, of := range codesOf {
		if errors.Is(err, of.err) {
			return of.code
		}
	}
	if text := (*sql.Error)(nil); errors.As(err, &text) {
		return codes.InvalidArgument
	}
	return unknown
}

// textBytesMax bounds the text of an error as gRPC sends it: in a header, where a byte that is not
// ASCII takes three. A driver that takes 8 KiB of headers, as Java's does, else resets the call, and its
// user sees neither the text nor the code.
const textBytesMax = 4 << 10

// shorten returns a text that has at most textBytesMax bytes when it is sent: its beginning, and, where
// it was longer, its end, which has the cause.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	sent := 0
	for i := range len(text) {
		sent += sentBytes(text[i])
	}
	if sent <= textBytesMax {
		return text
	}
	const cut, endBytes = " ... ", textBytesMax / 4
	head, tail := 0, len(text)
	for n := 0; ; head++ {
		if n += sentBytes(text[head]); n > textBytesMax-endBytes-len(cut) {
			break
		}
	}
	for n := 0; ; tail-- {
		if n += sentBytes(text[tail-1]); n > endBytes {
			break
		}
	}
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + cut + text[tail:]
}

// sentBytes returns how many bytes a byte of an error's text takes in a header.
func sentBytes(b byte) int {
	if b >= ' ' && b <= '~' && b != '%' {
		return 1
	}
	return 3
}

// unary turns the errors and panics of calls into what clients are told.
func (s *Service) unary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (answer any, err error) {
	messageArrived(ctx)
	err = spawn.Call(func() (err error) {
		answer, err = handle(ctx, request)
		return err
	})
	return answer, s.end(info.FullMethod, err)
}

// stream does the same for calls with streams.
func (s *Service) stream(
	of any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) error {
	defer messageArrived(stream.Context())
	if info.FullMethod == watchMethod {
		watch, cancel := s.watchStream(stream)
		defer cancel()
		stream = watch
	}
	return s.end(info.FullMethod, spawn.Call(func() error { return handle(of, arrivalStream{stream}) }))
}

// end logs an error that ends a call, and returns what its client is told. What was wrong with a
// request is worth no more than a line for who debugs clients; a bug is.
func (s *Service) end(method string, err error) error {
	var bug *spawn.PanicError
	switch {
	case err == nil:
	case errors.As(err, &bug):
		s.opt.Logger.Error("a bug of mpga has ended a call",
			"method", method, "error", redact.Error(err), "stack", string(bug.Stack))
	default:
		s.opt.Logger.Debug("a call has ended with an error", "method", method, "error", redact.Error(err))
	}
	return toldAs(s.opt.Server.Reword(err), codes.Unknown)
}

// unsupported is the error of what this server has no use for.
func unsupported(what string) error {
	return status.Error(codes.Unimplemented, fmt.Sprintf("not supported: %s", what))
}
