//go:build cgo

package flightsql

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mpga/mpga/app/server"
)

// A hundred clients that group a million rows at once all get right answers, and none waits for much
// longer than the others: places go around. R2, R3.
func TestManyClients(t *testing.T) {
	clients, each, rows := 100, 3, 1_000_000
	if testing.Short() {
		clients, each, rows = 20, 2, 200_000
	}
	h := newHost(t, hostOptions{rows: rows, limits: server.Limits{Queries: 4}})
	took := make([]time.Duration, clients)
	var all sync.WaitGroup
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			c := h.dial(t)
			for range each {
				got, err := ask(t.Context(), c, "SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT 1")
				if err != nil || got != fmt.Sprint("0 ", rows/1000) {
					t.Errorf("client %d: %q, %v", i, got, err)
				}
			}
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	slices.Sort(took)
	t.Logf("the first client was done after %s, half of them after %s, the last after %s", took[0], took[clients/2], took[clients-1])
	if took[0] > 500*time.Millisecond && took[clients-1] > 3*took[0] { // else the times say nothing
		t.Error("the last client has waited too long")
	}
	if totals := h.core.Totals(); totals.Done != int64(clients*each) {
		t.Errorf("%+v", totals)
	}
	h.lives(t)
}

// A thousand connections are served, and leave nothing when they go: sessions, goroutines. R6.
func TestManyConnections(t *testing.T) {
	connections := 1000
	if testing.Short() {
		connections = 200
	}
	h := newHost(t, hostOptions{rows: 10, limits: server.Limits{Sessions: connections, SessionIdle: 100 * time.Millisecond}})
	before := runtime.NumGoroutine()
	clients := make([]*fsql.Client, connections)
	for i := range clients {
		clients[i] = h.dial(t)
		if got, err := ask(t.Context(), clients[i], "SELECT 1"); err != nil || got != "1" {
			t.Fatalf("connection %d: %q, %v", i, got, err)
		}
	}
	over, err := fsql.NewClient(h.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), over, "SELECT 1"); err == nil {
		t.Error("there are more sessions than the limit lets be")
	}
	for _, c := range append(clients, over) {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	until := time.Now().Add(20 * time.Second)
	for ; h.core.Counts().Sessions > 0 || runtime.NumGoroutine() > before+5; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("left: %+v, %d goroutines of %d", h.core.Counts(), runtime.NumGoroutine(), before)
		}
	}
	h.lives(t)
}

// BenchmarkSelect1 is how long the smallest statement takes, with and without a prepared statement.
func BenchmarkSelect1(b *testing.B) {
	h := newHost(b, hostOptions{rows: 10})
	c := h.dial(b)
	b.Run("statement", func(b *testing.B) {
		for b.Loop() {
			if got, err := ask(b.Context(), c, "SELECT 1"); err != nil || got != "1" {
				b.Fatal(got, err)
			}
		}
	})
	b.Run("prepared", func(b *testing.B) {
		st, err := c.Prepare(b.Context(), "SELECT 1")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			info, err := st.Execute(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if got, err := rowsOfInfo(b.Context(), c, info); err != nil || got != "1" {
				b.Fatal(got, err)
			}
		}
	})
}
