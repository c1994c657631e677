package server

import (
	"context"

	"github.com/mpga/mpga/engine/sql"
)

// placeTextBytes is the length of a text from which on its reading and planning takes a place in the queue: it
// may take half a second then. That of shorter texts takes some milliseconds, and waits for nobody: a client
// that asks for a sign of life gets one from a busy server, too.
const placeTextBytes = 16 << 10

// prepares calls a function that reads or plans a text. As long as it does, that is a run with an ID, which can
// be seen and cancelled, and ends with the session, at QueryTime and with ctx. Afterwards a run is kept of what
// ended early. R2.
func (s *Session) prepares(ctx context.Context, text string, f func(ctx context.Context) error) error {
	if s.ended() {
		return errEnded
	}
	r := &Run{Statement: &Statement{Text: text, session: s}, prepares: true}
	if err := r.register(ctx); err != nil {
		return err
	}
	defer r.Release()
	if err := r.enter(len(text) >= placeTextBytes); err != nil {
		return err
	}
	return r.fail(f(r.ctx))
}

// Parse reads a text: of a CREATE or a COPY, the statement in it; of a DROP, a statement that reads nothing. Errors
// that point at the text are of type *sql.Error.
func (s *Session) Parse(ctx context.Context, text string) (parsed *sql.Select, err error) {
	err = s.prepares(ctx, text, func(ctx context.Context) (err error) {
		switch {
		case sql.IsDrop(text), sql.IsSet(text):
			parsed = &sql.Select{Text: text}
		case sql.IsCopy(text) && s.server.writes():
			var read *sql.Copy
			if read, err = sql.ParseCopy(text); err == nil {
				parsed = read.Query
			}
		case sql.IsCreate(text):
			var create *sql.Create
			if create, err = sql.ParseCreate(ctx, text); err == nil {
				parsed = create.Query
			}
		default:
			parsed, err = sql.ParseContext(ctx, text)
		}
		return err
	})
	return parsed, err
}
