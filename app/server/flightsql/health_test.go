//go:build cgo

package flightsql

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// Would catch a client without a token that holds connections by watching the server's health, a probe that needs a
// token, and a watch that keeps its connection for ever.
func TestHealth(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10, idle: 200 * time.Millisecond, tokens: "anna 0123456789abcdef0123"})
	conn, err := grpc.NewClient(h.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := healthpb.NewHealthClient(conn)
	answer, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("a probe without a token: %v, %v", answer, err)
	}
	watch, err := c.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	wantCode(t, "a watch without a token", err, codes.Unauthenticated)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer 0123456789abcdef0123")
	if watch, err = c.Watch(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if answer, err = watch.Recv(); err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("a watch with a token: %v, %v", answer, err)
	}
	_, err = watch.Recv()
	wantCode(t, "the end of the watch", err, codes.Canceled)
}
