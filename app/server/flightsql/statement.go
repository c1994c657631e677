package flightsql

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/app/server"
)

// infoOf returns what a client is told of a result: its columns, and the ticket by which it gets
// the rows, from the same connection.
func infoOf(desc *flight.FlightDescriptor, schema *arrow.Schema, ticket []byte) *flight.FlightInfo {
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(schema, memory.DefaultAllocator),
		FlightDescriptor: desc,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
	}
}

// GetFlightInfoStatement prepares a statement.
func (s *Service) GetFlightInfoStatement(
	ctx context.Context, cmd fsql.StatementQuery, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	_, st, schema, err := s.prepare(ctx, cmd.GetQuery())
	if err != nil {
		return nil, err
	}
	ticket, err := fsql.CreateStatementQueryTicket([]byte(st.Handle))
	if err != nil {
		return nil, err
	}
	return infoOf(desc, schema, ticket), nil
}

// prepare prepares a statement in the session of a call. schema has the columns of the result, as
// the client is told them.
func (s *Service) prepare(ctx context.Context, query string) (
	session *server.Session, st *server.Statement, schema *arrow.Schema, err error,
) {
	if session, err = s.session(ctx); err != nil {
		return nil, nil, nil, err
	}
	if st, err = session.Prepare(ctx, query); err != nil {
		return nil, nil, nil, err
	}
	if schema, err = clientSchema(ctx, st.Schema()); err != nil {
		return nil, nil, nil, errors.Join(err, session.Forget(st.Handle))
	}
	return session, st, schema, nil
}

// GetSchemaStatement returns the columns of a statement's result.
func (s *Service) GetSchemaStatement(
	ctx context.Context, cmd fsql.StatementQuery, _ *flight.FlightDescriptor,
) (*flight.SchemaResult, error) {
	session, st, schema, err := s.prepare(ctx, cmd.GetQuery())
	if err != nil {
		return nil, err
	}
	return schemaResult(schema), session.Forget(st.Handle)
}

func schemaResult(schema *arrow.Schema) *flight.SchemaResult {
	return &flight.SchemaResult{Schema: flight.SerializeSchema(schema, memory.DefaultAllocator)}
}

// CreatePreparedStatement prepares a statement: the columns of its result and the types of its
// parameters are known then.
func (s *Service) CreatePreparedStatement(
	ctx context.Context, request fsql.ActionCreatePreparedStatementRequest,
) (result fsql.ActionCreatePreparedStatementResult, err error) {
	_, st, schema, err := s.prepare(ctx, request.GetQuery())
	if err != nil {
		return result, err
	}
	fields := make([]arrow.Field, len(st.Parameters))
	for i, t := range st.Parameters {
		fields[i] = arrow.Field{Name: fmt.Sprintf("parameter_%d", i+1), Type: parameterType(ctx, t), Nullable: true}
	}
	isUpdate := st.IsUpdate()
	return fsql.ActionCreatePreparedStatementResult{
		Handle: []byte(st.Handle), DatasetSchema: schema, ParameterSchema: arrow.NewSchema(fields, nil), IsUpdate: &isUpdate,
	}, nil
}

// parameterType returns the type that clients are told of a parameter. JDBC's driver has points in
// time and times in milliseconds, and sends their number whatever the unit that it is told.
func parameterType(ctx context.Context, t arrow.DataType) arrow.DataType {
	switch of := t.(type) {
	case *arrow.TimestampType:
		return &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: of.TimeZone}
	case *arrow.Time64Type:
		return arrow.FixedWidthTypes.Time32ms
	}
	return resultType(ctx, t)
}

// ClosePreparedStatement forgets a statement.
func (s *Service) ClosePreparedStatement(ctx context.Context, request fsql.ActionClosePreparedStatementRequest) error {
	session, st, err := s.statement(ctx, request.GetPreparedStatementHandle())
	if err != nil {
		return err
	}
	return session.Forget(st.Handle)
}

// GetFlightInfoPreparedStatement tells the client how it gets the rows: by the same command.
func (s *Service) GetFlightInfoPreparedStatement(
	ctx context.Context, cmd fsql.PreparedStatementQuery, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	schema, err := s.preparedSchema(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return infoOf(desc, schema, desc.GetCmd()), nil
}

// preparedSchema returns the columns of a prepared statement's result as the client is told them.
func (s *Service) preparedSchema(ctx context.Context, cmd fsql.PreparedStatementQuery) (*arrow.Schema, error) {
	_, st, err := s.statement(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	return clientSchema(ctx, st.Schema())
}

// GetSchemaPreparedStatement returns the columns of the result.
func (s *Service) GetSchemaPreparedStatement(
	ctx context.Context, cmd fsql.PreparedStatementQuery, _ *flight.FlightDescriptor,
) (*flight.SchemaResult, error) {
	schema, err := s.preparedSchema(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return schemaResult(schema), nil
}

// CancelFlightInfo ends the runs of a statement.
func (s *Service) CancelFlightInfo(
	ctx context.Context, request *flight.CancelFlightInfoRequest,
) (flight.CancelFlightInfoResult, error) {
	result := flight.CancelStatusNotCancellable
	for _, e := range request.GetInfo().GetEndpoint() {
		handle, ok := handleOf(e.GetTicket())
		if !ok {
			continue
		}
		_, st, err := s.statement(ctx, handle)
		if err != nil {
			return flight.CancelFlightInfoResult{}, err
		}
		if st.Cancel() {
			result = flight.CancelStatusCancelled
		}
	}
	return flight.CancelFlightInfoResult{Status: result}, nil
}

// CloseSession ends the session of a call.
func (s *Service) CloseSession(ctx context.Context, _ *flight.CloseSessionRequest) (*flight.CloseSessionResult, error) {
	session, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	return &flight.CloseSessionResult{Status: flight.CloseSessionResultClosed}, session.Close()
}
