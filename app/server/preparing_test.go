//go:build cgo

package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// untilEnd is a reading of a text that takes until something ends it; begun is closed when it has begun.
func untilEnd(begun chan<- struct{}) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
}

// Would catch a statement that nobody sees while it is read and planned, so that it can neither be cancelled nor ends
// with its session, at its time, or with the server.
func TestPreparingEnds(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		end    func(s *Server, session *Session, leave context.CancelFunc)
		want   error
		state  State
	}{
		"its run is cancelled": {
			end:  func(s *Server, _ *Session, _ context.CancelFunc) { s.Runs("")[0].Cancel() },
			want: ErrCancelled, state: Cancelled,
		},
		"its session ends": {
			end:  func(_ *Server, session *Session, _ context.CancelFunc) { _ = session.Close() },
			want: ErrCancelled, state: Cancelled,
		},
		"its client leaves": {
			end:  func(_ *Server, _ *Session, leave context.CancelFunc) { leave() },
			want: context.Canceled, state: Cancelled,
		},
		"its time is over": {limits: Limits{QueryTime: time.Millisecond}, want: ErrTime, state: Failed},
	} {
		s, _ := open(t, func(o *Options) { o.Limits = c.limits })
		session := newTestSession(t, s, "anna")
		ctx, leave := context.WithCancel(t.Context())
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- session.prepares(ctx, "SELECT 1", untilEnd(begun)) }()
		<-begun
		if c.end != nil {
			if runs := s.Runs("anna"); len(runs) != 1 {
				t.Errorf("%s: %d runs are seen before", name, len(runs))
			} else if is := runs[0].Status(); is.State != Running || is.Text != "SELECT 1" {
				t.Errorf("%s: before, the run is %+v", name, is)
			}
			c.end(s, session, leave)
		}
		if err := <-ended; !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		leave()
		runs, totals := s.Runs(""), s.Totals()
		if len(runs) != 1 || runs[0].Status().State != c.state || totals.Cancelled+totals.Failed != 1 {
			t.Errorf("%s: %d runs are seen afterwards, totals %+v", name, len(runs), totals)
		}
		if counts := s.Counts(); counts.Running != 0 || counts.Waiting != 0 {
			t.Errorf("%s: %+v", name, counts)
		}
	}
}

// Would catch statements of any length that are read beside each other, however few may run at once, and a short one
// that waits for others.
func TestPreparingWaits(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits = Limits{Queries: 1} })
	session, other := newTestSession(t, s, "anna"), newTestSession(t, s, "bert")
	long := "SELECT n FROM t WHERE n IN (1" + strings.Repeat(", 1", placeTextBytes/3) + ")"
	ctx, leave := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 2)
	go func() { ended <- session.prepares(ctx, long, untilEnd(begun)) }()
	<-begun
	if _, err := other.Prepare(t.Context(), "SELECT n FROM t"); err != nil {
		t.Error(err)
	}
	go func() {
		_, err := other.Prepare(t.Context(), long)
		ended <- err
	}()
	for s.Counts().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	leave()
	if first, second := <-ended, <-ended; !errors.Is(first, context.Canceled) || second != nil {
		t.Errorf("%v, %v", first, second)
	}
}

// Would catch a long text that is read or planned though its client has left, and a statement that is prepared well or
// badly and leaves a run behind that still runs.
func TestPreparingForgotten(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "anna")
	left, leave := context.WithCancel(t.Context())
	leave()
	long := "SELECT 1" + strings.Repeat(", n + 1", 20_000) + " FROM t"
	if _, err := session.Prepare(left, long); !errors.Is(err, context.Canceled) {
		t.Errorf("of a client that has left: %v", err)
	}
	if _, err := session.Prepare(t.Context(), "SELECT n FROM t"); err != nil {
		t.Error(err)
	}
	if _, err := session.Prepare(t.Context(), "SELECT m FROM t"); err == nil {
		t.Error("an unknown column has no error")
	}
	var states []State
	for _, r := range s.Runs("") {
		states = append(states, r.Status().State)
	}
	if len(states) != 2 || states[0] != Failed || states[1] != Cancelled {
		t.Errorf("runs that are kept: %v", states)
	}
}
