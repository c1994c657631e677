package flightsql

import (
	"context"

	"google.golang.org/grpc"
)

// watchMethod is the call that tells of the server's health as long as its client asks.
const watchMethod = "/grpc.health.v1.Health/Watch"

// watchStream is the stream of a watch, whose context ends when a connection without calls would: the watch says
// nothing for so long, and keeps its connection from being idle. A client that wants to know more watches again.
type watchStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *Service) watchStream(stream grpc.ServerStream) (watch watchStream, cancel context.CancelFunc) {
	watch = watchStream{ServerStream: stream}
	watch.ctx, cancel = context.WithTimeout(stream.Context(), s.opt.ConnectionIdle)
	return watch, cancel
}

// Context implements grpc.ServerStream.
func (w watchStream) Context() context.Context { return w.ctx }
