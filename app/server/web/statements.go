package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf16"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// text returns the statement that a request has.
func (s *Service) text(r *request) (string, error) {
	var form struct{ Text string }
	if err := s.decode(r.w, r.Request, &form); err != nil {
		return "", fmt.Errorf("want a statement as JSON of at most %d bytes: %w", requestBytesMax, err)
	}
	return form.Text, nil
}

// prepare prepares the statement of a request. Where the text is wrong, it answers, and the statement
// is nil.
func (s *Service) prepare(r *request, session *server.Session) (*server.Statement, error) {
	text, err := s.text(r)
	if err != nil {
		return nil, err
	}
	st, err := session.PrepareText(r.Context(), text, server.Meaning{Record: true})
	var wrong *sql.Error
	switch {
	case errors.As(err, &wrong):
		answer(r.w, http.StatusUnprocessableEntity, map[string]any{"error": map[string]any{
			"message": redact.Text(wrong.Message), "at": unitsBefore(wrong.Text, wrong.Offset),
		}})
		return nil, nil
	case err != nil:
		return nil, err
	case len(st.Parameters) > 0:
		return nil, errors.Join(errors.New("the page has no values for the parameters ? and $1 of a statement: write them"),
			session.Forget(st.Handle))
	}
	return st, nil
}

// unitsBefore returns how many UTF-16 units are before a place in a text: browsers count in these.
func unitsBefore(text string, offset int) int {
	return len(utf16.Encode([]rune(text[:min(offset, len(text))])))
}

// start starts a statement, whose result the session keeps, and answers with the ID of the run.
func (s *Service) start(r *request) error {
	session, release, err := r.held()
	if err != nil {
		return err
	}
	st, err := s.prepare(r, session)
	if st == nil {
		release()
		return err
	}
	run, err := st.Begin(context.WithoutCancel(r.Context()))
	if err != nil {
		release()
		return errors.Join(err, session.Forget(st.Handle))
	}
	spawn.Go(func() error {
		defer release()
		defer run.Release()
		if err := run.Start(); err != nil {
			return errors.Join(err, session.Forget(st.Handle))
		}
		return errors.Join(session.Keep(run), session.Forget(st.Handle))
	}, func(err error) {
		if errors.Is(err, spawn.ErrInternal) { // others are the run's own, and logged with it
			s.opt.Logger.Error("a statement of the page", "id", run.ID, "error", redact.Error(err))
		}
	})
	answer(r.w, http.StatusAccepted, map[string]any{"id": run.ID})
	return nil
}

// explain answers with the plan of a statement that is not run.
func (s *Service) explain(r *request) error {
	session, release, err := r.held()
	if err != nil {
		return err
	}
	defer release()
	st, err := s.prepare(r, session)
	if st == nil {
		return err
	}
	plan, err := st.Explain(r.Context())
	if err := errors.Join(err, session.Forget(st.Handle)); err != nil {
		return err
	}
	answer(r.w, http.StatusOK, map[string]any{"plan": redact.Text(plan)})
	return nil
}
