package flightsql

import (
	"context"
	"errors"
	"fmt"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
)

// update executes a statement that has no result: DROP TABLE of a temporary table.
func (s *Service) update(ctx context.Context, text string) error {
	session, err := s.session(ctx)
	if err != nil {
		return err
	}
	st, err := session.Prepare(ctx, text)
	if err != nil {
		return err
	}
	return errors.Join(executeOnly(st), session.Forget(st.Handle))
}

// executePrepared does the same with a statement that is prepared.
func (s *Service) executePrepared(ctx context.Context, handle []byte) error {
	_, st, err := s.statement(ctx, handle)
	if err != nil {
		return err
	}
	return executeOnly(st)
}

// executeOnly executes a statement, and refuses one whose result nobody would get.
func executeOnly(st *server.Statement) error {
	if st.HasResult() {
		return fmt.Errorf("%w: the statement has a result: execute it as a query, not as an update "+
			"(in Python: execute, not executemany)", engine.ErrQuery)
	}
	return st.Execute()
}
