package flightsql

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/spawn"
)

// service is the calls of Flight. The library hands the calls of Flight SQL to a Service, but for the
// calls that carry rows.
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

// DoGet sends the rows of a result: of a statement, or, by the library, of what it asks the Service
// for. When the server ends the run of a client that does not take its rows, the call ends, and
// the sending with it.
func (f *service) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	handle, ok := handleOf(ticket)
	if !ok {
		return f.FlightServer.DoGet(ticket, stream)
	}
	session, st, err := f.of.statement(stream.Context(), handle)
	if err != nil {
		return err
	}
	defer session.Hold()()
	run, err := f.run(stream.Context(), st)
	if err != nil {
		return err
	}
	ended := f.of.call(func() error {
		defer run.Release()
		return run.send(stream)
	})
	select {
	case err := <-ended:
		return err
	case <-run.Ended():
	}
	if run.Err() == nil {
		return <-ended
	}
	select { // what was on its way
	case err := <-ended:
		return err
	case <-time.After(lingerMax):
		return run.Err()
	}
}

// lingerMax is how long a client may take for what was on its way when its run ended early.
const lingerMax = 2 * time.Second

// run begins a run of a statement.
func (f *service) run(ctx context.Context, st *server.Statement) (*adaptedRun, error) {
	run, err := st.Run(ctx)
	if err != nil {
		return nil, err
	}
	out, err := newAdaptedRun(ctx, run)
	if err != nil {
		run.Release()
	}
	return out, err
}

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

var _ fsql.Server = (*Service)(nil)
