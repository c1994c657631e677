package flightsql

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mpga/mpga/internal/server"
)

// Would catch a full disk of the server that clients are told is a fault of what they sent.
func TestToldOfRows(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "t.arrow", Err: syscall.ENOSPC}
	for err, want := range map[error]codes.Code{
		errors.New("no message"):                           codes.InvalidArgument,
		fmt.Errorf("keeping rows: %w", full):               codes.Internal,
		fmt.Errorf("%w: %w", server.ErrDraining, full):     codes.Unavailable,
		status.Error(codes.Canceled, "the client is gone"): codes.Canceled,
	} {
		if got := status.Code(toldOfRows(err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if toldOfRows(nil) != nil {
		t.Error("an error without one")
	}
}
