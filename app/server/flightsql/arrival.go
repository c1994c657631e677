package flightsql

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// putMethod is the call of which a client may have to compute the rows first: they have the server's stall
// timeout, in place of Options.ArrivalTime.
const putMethod = "/arrow.flight.protocol.FlightService/DoPut"

type arrivalKey struct{}

// awaitMessage returns a context that ends unless messageArrived is called in time.
func (s *Service) awaitMessage(ctx context.Context, method string) context.Context {
	if method == putMethod {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx) // which the end of the call releases
	return context.WithValue(ctx, arrivalKey{}, time.AfterFunc(s.opt.ArrivalTime, cancel))
}

// messageArrived says that the message of a call has come.
func messageArrived(ctx context.Context) {
	if timer, ok := ctx.Value(arrivalKey{}).(*time.Timer); ok {
		timer.Stop()
	}
}

// arrivalStream is a stream whose call goes on when its first message has come.
type arrivalStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (a arrivalStream) RecvMsg(m any) error {
	err := a.ServerStream.RecvMsg(m)
	messageArrived(a.Context())
	return err
}
