package server

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Connections bounds the connections of all listeners of a server together: each takes a descriptor
// and memory before its client has said who it is. It is safe for concurrent use.
type Connections struct {
	max, peerMax int
	log          *slog.Logger

	mu     sync.Mutex
	open   int
	byPeer map[string]int // by address without its port; clients of Unix sockets have none
	warned time.Time      // when a refusal was last logged
}

// NewConnections returns the bounds of a server's connections: of all, and of one peer, which is an
// address of the network.
func NewConnections(max, peerMax int, log *slog.Logger) (*Connections, error) {
	if max < 1 || peerMax < 1 {
		return nil, fmt.Errorf("connections (%d) and connections of a peer (%d) must be positive", max, peerMax)
	}
	return &Connections{max: max, peerMax: peerMax, log: log, byPeer: make(map[string]int)}, nil
}

// Bound returns a listener that accepts no more than the bounds. A connection beyond them is given what
// refusal returns for a text that says why, if refusal is not nil, and is closed.
func (c *Connections) Bound(l net.Listener, refusal func(why string) []byte) net.Listener {
	return &boundListener{Listener: l, of: c, refusal: refusal}
}

// peerOf returns by what a connection's peer is counted; "" where it has no address.
func peerOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// enter counts a connection of a peer, or returns why it must not be.
func (c *Connections) enter(peer string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open >= c.max:
		return fmt.Errorf("%w: the server has %d connections (--max-connections)", ErrBusy, c.max)
	case peer != "" && c.byPeer[peer] >= c.peerMax:
		return fmt.Errorf("%w: the server has %d connections of %s (--max-connections-per-peer)", ErrBusy, c.peerMax, peer)
	}
	c.open++
	if peer != "" {
		c.byPeer[peer]++
	}
	return nil
}

// leave ends what enter has counted.
func (c *Connections) leave(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if peer == "" {
		return
	}
	if c.byPeer[peer]--; c.byPeer[peer] == 0 {
		delete(c.byPeer, peer)
	}
}

const (
	refusalWarned = 10 * time.Second // one line of the log for all refusals within
	refusalTime   = time.Second      // for a refusal to be written; a fresh socket has room for it
)

// warn logs a refusal.
func (c *Connections) warn(why error) {
	c.mu.Lock()
	late := time.Since(c.warned) >= refusalWarned
	if late {
		c.warned = time.Now()
	}
	c.mu.Unlock()
	if late {
		c.log.Warn("a connection is refused", "error", why)
	}
}

// boundListener is a listener of Connections.
type boundListener struct {
	net.Listener
	of      *Connections
	refusal func(why string) []byte
}

// Accept implements net.Listener.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(conn)
		why := l.of.enter(peer)
		if why == nil {
			return &boundConn{Conn: conn, leave: sync.OnceFunc(func() { l.of.leave(peer) })}, nil
		}
		l.of.warn(why)
		if l.refusal != nil {
			_ = conn.SetWriteDeadline(time.Now().Add(refusalTime))
			_, _ = conn.Write(l.refusal(why.Error())) // the client may have gone
		}
		_ = conn.Close()
	}
}

// boundConn is a connection that is counted until it is closed.
type boundConn struct {
	net.Conn
	leave func()
}

func (c *boundConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// RefuseHTTP is the answer of HTTP to a connection that is refused.
func RefuseHTTP(why string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"X-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\n", len(why)+1, why)
}

// RefuseHTTP2 is the answer of HTTP/2, and so of gRPC, to a connection that is refused: no settings, and
// a frame GOAWAY with ENHANCE_YOUR_CALM, whose text drivers show.
func RefuseHTTP2(why string) []byte {
	const settings, goAway, enhanceYourCalm = 4, 7, 11
	frame := []byte{0, 0, 0, settings, 0, 0, 0, 0, 0}
	bytes := 8 + len(why)
	frame = append(frame, byte(bytes>>16), byte(bytes>>8), byte(bytes), goAway, 0, 0, 0, 0, 0)
	frame = append(frame, 0, 0, 0, 0) // no stream has been looked at
	frame = binary.BigEndian.AppendUint32(frame, enhanceYourCalm)
	return append(frame, why...)
}
