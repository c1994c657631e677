package flightsql

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
)

// update executes a statement that changes what the session has, and returns how many rows it has made.
func (s *Service) update(ctx context.Context, text string) (rows int64, err error) {
	session, err := s.session(ctx)
	if err != nil {
		return 0, err
	}
	st, err := session.Prepare(ctx, text)
	if err != nil {
		return 0, err
	}
	rows, err = executeOnly(ctx, st)
	return rows, errors.Join(err, session.Forget(st.Handle))
}

// executePrepared does the same with a statement that is prepared, whose parameters have the values that the client
// sends.
func (s *Service) executePrepared(ctx context.Context, handle []byte, values io.Reader) (rows int64, err error) {
	session, st, err := s.statement(ctx, handle)
	if err != nil {
		return 0, err
	}
	defer session.Hold()()
	if len(st.Parameters) > 0 {
		if err := st.BindStream(ctx, values); err != nil {
			return 0, toldOfRows(err)
		}
	}
	return executeOnly(ctx, st)
}

// executeOnly executes a statement, and refuses one whose result nobody would get.
func executeOnly(ctx context.Context, st *server.Statement) (rows int64, err error) {
	if !st.IsUpdate() {
		return 0, fmt.Errorf("%w: the statement has a result: execute it as a query, not as an update "+
			"(in Python: execute, not executemany)", engine.ErrQuery)
	}
	return st.Execute(ctx)
}
