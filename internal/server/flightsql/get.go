package flightsql

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mpga/mpga/internal/server"
	"github.com/mpga/mpga/internal/spawn"
)

// service is the calls of Flight, of which the library hands those of Flight SQL to a Service.
type service struct {
	flight.FlightServer
	of *Service
}

// handleOf returns the handle of the statement that a ticket is for.
func handleOf(ticket *flight.Ticket) (handle []byte, ok bool) {
	var of anypb.Any
	if proto.Unmarshal(ticket.GetTicket(), &of) != nil {
		return nil, false
	}
	cmd, err := of.UnmarshalNew()
	if err != nil {
		return nil, false
	}
	switch cmd := cmd.(type) {
	case *pb.TicketStatementQuery:
		return cmd.GetStatementHandle(), true
	case *pb.CommandPreparedStatementQuery:
		return cmd.GetPreparedStatementHandle(), true
	}
	return nil, false
}

// got is the run of a DoGet, of which the call's context knows.
type got struct{ run chan *server.Run }

type gotKey struct{}

// getStream is the stream of a DoGet whose context knows the run.
type getStream struct {
	flight.FlightService_DoGetServer
	ctx context.Context
}

func (g *getStream) Context() context.Context { return g.ctx }

// DoGet sends the rows of a result. A client that does not take them holds up the library's
// sending; when the server has ended the run, the call ends nevertheless, and the sending with it.
func (f *service) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	g := &got{run: make(chan *server.Run, 1)}
	wrapped := &getStream{stream, context.WithValue(stream.Context(), gotKey{}, g)}
	ended := f.of.call(func() error { return f.FlightServer.DoGet(ticket, wrapped) })
	var run *server.Run
	select {
	case err := <-ended:
		return err
	case run = <-g.run:
	}
	select {
	case err := <-ended:
		return err
	case <-run.Ended():
	}
	linger := lingerMax
	if run.Err() == nil { // all rows are on their way, which the client must take
		linger = f.of.opt.Server.StallTime()
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(linger):
		return cmp.Or(run.Err(), fmt.Errorf("%w: the client has not taken the last rows for %s (StallTime)", server.ErrStalled, linger))
	}
}

// lingerMax is how long a client may take for what was on its way when its run ended early.
const lingerMax = 2 * time.Second

// call makes a call that may have to be left, which ends when its stream does; Stop waits for it.
func (s *Service) call(f func() error) (ended <-chan error) {
	done := make(chan error, 1)
	s.calls.Add(1)
	spawn.Go(f, func(err error) {
		done <- err
		s.calls.Done()
	})
	return done
}

// run runs the statement of a handle.
func (s *Service) run(ctx context.Context, handle []byte) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	session, st, err := s.statement(ctx, handle)
	if err != nil {
		return nil, nil, err
	}
	if !st.HasResult() {
		return execute(st)
	}
	release := session.Hold()
	run, err := st.Run(ctx)
	if err != nil {
		release()
		return nil, nil, err
	}
	out, err := newOutgoing(ctx, run.Schema())
	if err != nil {
		release()
		run.Release()
		return nil, nil, err
	}
	if g, ok := ctx.Value(gotKey{}).(*got); ok {
		g.run <- run
	}
	chunks := make(chan flight.StreamChunk)
	spawn.Go(func() error {
		defer release()
		defer run.Release()
		return out.send(ctx, run, chunks)
	}, func(err error) {
		if err != nil {
			select {
			case chunks <- flight.StreamChunk{Err: told(err)}:
			case <-ctx.Done():
			}
		}
		close(chunks)
	})
	return out.schema, chunks, nil
}

// execute does what a statement without a result says: its result has neither columns nor rows.
func execute(st *server.Statement) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	chunks := make(chan flight.StreamChunk)
	close(chunks)
	return st.Schema(), chunks, st.Execute()
}

var _ fsql.Server = (*Service)(nil)
