package server

import (
	"errors"
	"log/slog"
	"net"
	"testing"
)

// Would catch connections beyond the bounds, and a connection that is counted after it has ended.
func TestConnections(t *testing.T) {
	c, err := NewConnections(3, 2, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		peer string
		want bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"", false}} {
		if err := c.enter(step.peer); (err == nil) != step.want || err != nil && !errors.Is(err, ErrBusy) {
			t.Errorf("a connection of %q: %v, want one: %t", step.peer, err, step.want)
		}
	}
	c.leave("a")
	if err := c.enter(""); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	if _, err := NewConnections(0, 1, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("no connections at all are bounds")
	}
}

// Would catch a connection that counts for ever, as one whose Close is called twice and counts less.
func TestConnectionsBound(t *testing.T) {
	c, err := NewConnections(1, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bound := c.Bound(l, RefuseHTTP)
	defer bound.Close()
	for range 3 {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := bound.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_ = conn.Close()
		}
		_ = client.Close()
	}
	if c.open != 0 || len(c.byPeer) != 0 {
		t.Errorf("%d connections are counted, of %v", c.open, c.byPeer)
	}
}
