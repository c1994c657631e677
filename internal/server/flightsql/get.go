package flightsql

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mpga/mpga/internal/recordreader"
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

// DoGet sends the rows of a result. A client that does not take them holds up the sending; when the
// server has ended the run, the call ends nevertheless, and the sending with it.
func (f *service) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	handle, ok := handleOf(ticket)
	if !ok {
		return f.FlightServer.DoGet(ticket, stream)
	}
	session, st, err := f.of.statement(stream.Context(), handle)
	if err != nil {
		return err
	}
	release := session.Hold()
	run, err := st.Run(stream.Context())
	if err != nil {
		release()
		return err
	}
	ended := make(chan error, 1)
	spawn.Go(func() error {
		defer release()
		defer run.Release()
		return send(run, newRowWriter(stream, run.Schema()))
	}, func(err error) { ended <- err })
	select {
	case err := <-ended:
		return err
	case <-run.Ended():
	}
	select { // what was on its way
	case err := <-ended:
		return err
	case <-time.After(lingerMax):
		return run.Err()
	}
}

// lingerMax is how long a client may take for the rest of what was on its way when its run ended.
const lingerMax = 2 * time.Second

// send writes the batches of a run.
func send(run *server.Run, to *rowWriter) error {
	for run.Next() {
		batch := run.RecordBatch()
		step := rowsPerMessage(batch)
		for from := int64(0); from < batch.NumRows(); from += step {
			part := recordreader.Slice(batch, from, min(from+step, batch.NumRows()))
			err := to.write(part)
			part.Release()
			if err != nil {
				return err
			}
		}
	}
	if err := run.Err(); err != nil {
		return err
	}
	return to.end()
}

// messageBytesMax is about how many bytes of rows are in a message: clients take 4 MiB by default.
const messageBytesMax = 2 << 20

// rowsPerMessage returns how many rows of a batch go into a message.
func rowsPerMessage(batch arrow.RecordBatch) int64 {
	rows, bytes := batch.NumRows(), int64(0)
	for _, c := range batch.Columns() {
		bytes += bytesOf(c)
	}
	if bytes <= messageBytesMax {
		return max(rows, 1)
	}
	return max(rows*messageBytesMax/bytes, 1)
}

// bytesOf returns about how many bytes the rows of an array take.
func bytesOf(a arrow.Array) int64 {
	rows := int64(a.Len())
	switch a := a.(type) {
	case *array.String:
		return int64(len(a.ValueBytes())) + 4*rows
	case *array.Binary:
		return int64(len(a.ValueBytes())) + 4*rows
	}
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		return (rows*int64(fixed.BitWidth()) + 7) / 8
	}
	return int64(a.Data().SizeInBytes())
}

var _ fsql.Server = (*Service)(nil)
