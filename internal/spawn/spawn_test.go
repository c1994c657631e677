package spawn

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// Would catch a panic, a Goexit or an error that whoever waits does not hear of, or hears of before
// it is set.
func TestGo(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		f    func() error
		want error
		text string
	}{
		"returns": {func() error { return nil }, nil, ""},
		"fails":   {func() error { return boom }, boom, "boom"},
		"panics":  {func() error { panic(boom) }, ErrInternal, "internal error: boom"},
		"exits":   {func() error { runtime.Goexit(); return nil }, ErrInternal, "internal error: runtime.Goexit was called"},
		"Fail":    {func() error { Fail(boom); return nil }, boom, "boom"},
	} {
		ended := make(chan error, 1)
		Go(c.f, func(err error) { ended <- err })
		err := <-ended
		if !errors.Is(err, c.want) || err != nil && err.Error() != c.text {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if errors.Is(err, ErrInternal) != (c.want == ErrInternal) {
			t.Errorf("%s: %v is ErrInternal, or is not", name, err)
		}
	}
}

// Would catch a group whose Wait returns nil while a panic unwinds through the deferred calls of
// its goroutine.
func TestGroupHearsOfPanics(t *testing.T) {
	for range 1000 {
		var g Group
		unwinding := make(chan struct{})
		g.Go(func() error {
			defer close(unwinding)
			panic("boom")
		})
		<-unwinding
		if err := g.Wait(); !errors.Is(err, ErrInternal) {
			t.Fatalf("Wait: %v", err)
		}
	}
}

// Would catch a bug that is hidden by an error that follows from it, and a context that outlives
// the first error.
func TestGroup(t *testing.T) {
	g, ctx := WithContext(context.Background())
	g.SetLimit(2)
	g.Go(func() error { return errors.New("a file is closed") })
	<-ctx.Done()
	g.Go(func() error { panic("boom") })
	err := g.Wait()
	if !errors.Is(err, ErrInternal) {
		t.Errorf("Wait: %v", err)
	}
	if cause := context.Cause(ctx); cause.Error() != "a file is closed" {
		t.Errorf("the cause: %v", cause)
	}
	running, most := make(chan struct{}, 3), 0
	h, ctx := WithContext(context.Background())
	h.SetLimit(2)
	for range 20 {
		h.Go(func() error {
			running <- struct{}{}
			if n := len(running); n > 2 {
				most = n
			}
			<-running
			return nil
		})
	}
	if err := h.Wait(); err != nil || most > 2 || ctx.Err() == nil {
		t.Errorf("%v, %d at once, context %v", err, most, ctx.Err())
	}
}

// Would catch an error that does not name its query, forgets its stack, or is no more what it was.
func TestInQuery(t *testing.T) {
	boom := errors.New("boom")
	if err := InQuery(boom, "SELECT 1"); err != boom {
		t.Errorf("another error became %v", err)
	}
	err := Call(func() error { panic("out of range") })
	err = InQuery(errors.Join(err, boom), "SELECT x")
	err = InQuery(err, "SELECT sum(x) FROM t")
	err = InQuery(err, "")
	var p *PanicError
	if !errors.As(err, &p) || !errors.Is(err, ErrInternal) || !errors.Is(err, boom) {
		t.Fatalf("%v", err)
	}
	if got, want := err.Error(), "internal error in query SELECT sum(x) FROM t: out of range"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p.Query != "SELECT sum(x) FROM t" || !strings.Contains(string(p.Stack), "TestInQuery") {
		t.Errorf("query %q, stack\n%s", p.Query, p.Stack)
	}
}

// Would catch a step that nobody is asked at.
func TestStep(t *testing.T) {
	steps := 0
	SetFault(func() { steps++ })
	ended := make(chan error, 1)
	Go(func() error { Step(); return nil }, func(err error) { ended <- err })
	<-ended
	SetFault(nil)
	Step()
	if steps != 3 {
		t.Errorf("%d steps, want 3", steps)
	}
}
