package flightsql

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/knob"
)

// putStream is the rows that a client puts, as the bytes of an Arrow IPC stream. The library's own
// reader trusts the lengths in messages. It must be closed.
type putStream struct {
	from  grpc.ServerStream
	parts [][]byte    // of the message that is read before its body, as far as they have not been
	body  *mem.Reader // of the message; nil once it has been read
	ended bool
}

// Arrow's IPC format puts a mark and the length before a message's metadata, which takes a multiple
// of 8 bytes.
const (
	messageMark    = 0xFFFFFFFF
	messageAligned = 8
)

// add makes a message the one that is read.
func (p *putStream) add(in *incoming) {
	if len(in.header) == 0 { // metadata of the application alone
		in.close()
		return
	}
	padding := -len(in.header) & (messageAligned - 1)
	var prefix [8]byte
	binary.LittleEndian.PutUint32(prefix[:], messageMark)
	binary.LittleEndian.PutUint32(prefix[4:], uint32(len(in.header)+padding))
	p.parts = [][]byte{prefix[:], in.header, make([]byte, padding)}
	p.body = in.body
}

// Read implements io.Reader.
func (p *putStream) Read(to []byte) (int, error) {
	for {
		for len(p.parts) > 0 && len(p.parts[0]) == 0 {
			p.parts = p.parts[1:]
		}
		if len(p.parts) > 0 {
			n := copy(to, p.parts[0])
			p.parts[0] = p.parts[0][n:]
			return n, nil
		}
		if p.body != nil && p.body.Remaining() > 0 {
			return p.body.Read(to)
		}
		p.close()
		if p.ended {
			return 0, io.EOF
		}
		in := &incoming{}
		err := p.from.RecvMsg(in)
		switch {
		case errors.Is(err, io.EOF):
			p.ended = true
		case err != nil:
			return 0, err
		default:
			p.add(in)
		}
	}
}

// close gives back what has come and was not read.
func (p *putStream) close() {
	if p.body != nil {
		_ = p.body.Close() // which returns no error
		p.body = nil
	}
}

// DoPut takes the rows of a temporary table, the values of parameters, or a statement without a
// result. A client that sends nothing for too long is left.
func (f *service) DoPut(stream flight.FlightService_DoPutServer) error {
	long := f.of.opt.Server.StallTime()
	silent := time.NewTimer(long)
	defer silent.Stop()
	ended := f.of.call(func() error {
		heard := &heardStream{stream, silent, long}
		err := f.put(heard)
		if err != nil {
			drain(heard)
		}
		return err
	})
	select {
	case err := <-ended:
		return err
	case <-silent.C:
		return knob.Errorf("%w: the client has sent nothing for %s (%s)", server.ErrStalled, long, server.StallTimeKnob)
	}
}

// heardStream is a stream of messages that restarts a timer while it waits for a message, and stops
// the timer while the message is worked at.
type heardStream struct {
	flight.FlightService_DoPutServer
	silent *time.Timer
	long   time.Duration
}

// RecvMsg implements grpc.ServerStream.
func (h *heardStream) RecvMsg(m any) error {
	h.silent.Reset(h.long)
	defer h.silent.Stop()
	return h.FlightService_DoPutServer.RecvMsg(m)
}

// drainedBytesMax is how much is taken from a client whose call has failed.
const drainedBytesMax = 64 << 20

// drain takes what a client is still sending: some clients tell their users of an error only after
// they have sent everything, and else of a stream that has ended.
func drain(stream flight.FlightService_DoPutServer) {
	for bytes := 0; bytes < drainedBytesMax; {
		in := &incoming{}
		if stream.RecvMsg(in) != nil {
			return
		}
		bytes += len(in.header) + in.bodyBytes()
		in.close()
	}
}

func (f *service) put(stream flight.FlightService_DoPutServer) error {
	first := &incoming{}
	if err := stream.RecvMsg(first); err != nil {
		return status.Errorf(codes.InvalidArgument, "the client has sent nothing, neither a command "+
			"nor rows: %v (ADBC's driver does so with a table without a batch)", err)
	}
	rows := &putStream{from: stream}
	defer rows.close()
	rows.add(first)
	var descriptor flight.FlightDescriptor
	if err := proto.Unmarshal(first.descriptor, &descriptor); err != nil {
		return status.Errorf(codes.InvalidArgument, "the descriptor cannot be read: %v", err)
	}
	var of anypb.Any
	if err := proto.Unmarshal(descriptor.GetCmd(), &of); err != nil {
		return status.Errorf(codes.InvalidArgument, "the command cannot be read: %v", err)
	}
	cmd, err := of.UnmarshalNew()
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "the command cannot be read: %v", err)
	}
	var result proto.Message
	switch cmd := cmd.(type) {
	case *pb.CommandStatementIngest:
		n, err := f.of.ingest(stream.Context(), cmd, rows)
		if err != nil {
			return err
		}
		result = &pb.DoPutUpdateResult{RecordCount: n}
	case *pb.CommandPreparedStatementQuery:
		if err := f.of.bind(stream.Context(), cmd, rows); err != nil {
			return err
		}
		result = &pb.DoPutPreparedStatementResult{PreparedStatementHandle: cmd.GetPreparedStatementHandle()}
	case *pb.CommandPreparedStatementUpdate:
		n, err := f.of.executePrepared(stream.Context(), cmd.GetPreparedStatementHandle(), rows)
		if err != nil {
			return err
		}
		result = &pb.DoPutUpdateResult{RecordCount: n}
	case *pb.CommandStatementUpdate:
		rows, err := f.of.update(stream.Context(), cmd.GetQuery())
		if err != nil {
			return err
		}
		result = &pb.DoPutUpdateResult{RecordCount: rows}
	default:
		return unsupported(fmt.Sprintf("to put %s", of.GetTypeUrl()))
	}
	metadata, err := proto.Marshal(result)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: metadata})
}

// ingest makes a temporary table of rows.
func (s *Service) ingest(ctx context.Context, cmd *pb.CommandStatementIngest, rows io.Reader) (int64, error) {
	session, err := s.session(ctx)
	if err != nil {
		return 0, err
	}
	if name := cmd.GetCatalog(); name != "" && name != server.Catalog {
		return 0, fmt.Errorf("%w: no catalog is named %s; clients make tables in %s.%s",
			server.ErrUnknown, name, server.Catalog, server.TemporarySchema)
	}
	if name := cmd.GetSchema(); name != "" && name != server.TemporarySchema {
		return 0, fmt.Errorf("%w: clients make tables in the schema %s alone, not in %s",
			server.ErrForbidden, server.TemporarySchema, name)
	}
	options := cmd.GetTableDefinitionOptions()
	mode := server.IngestMode{
		Create:  options.GetIfNotExist() != pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL,
		Append:  options.GetIfExists() == pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND,
		Replace: options.GetIfExists() == pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE,
	}
	n, err := session.Ingest(ctx, cmd.GetTable(), mode, rows)
	return n, toldOfRows(err)
}

// bind gives the parameters of a prepared statement values: a run for each row.
func (s *Service) bind(ctx context.Context, cmd *pb.CommandPreparedStatementQuery, rows io.Reader) error {
	session, st, err := s.statement(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return err
	}
	defer session.Hold()()
	return toldOfRows(st.BindStream(ctx, rows))
}
