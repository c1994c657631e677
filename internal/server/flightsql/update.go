package flightsql

import (
	"context"

	"github.com/mpga/mpga/engine/sql"
)

// update runs a statement that has no result: DROP TABLE of a temporary table.
func (s *Service) update(ctx context.Context, text string) error {
	session, err := s.session(ctx)
	if err != nil {
		return err
	}
	drop, err := sql.ParseDrop(text)
	if err != nil {
		return err
	}
	return session.Drop(drop.Table, drop.IfExists)
}
