package flightsql

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mpga/mpga/app/server"
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

// Would catch an error whose text does not fit the headers that a driver takes, so that its user sees
// neither text nor code, and one that is cut within a letter.
func TestShorten(t *testing.T) {
	for _, text := range []string{
		"", "short", strings.Repeat("x", textBytesMax), strings.Repeat("x", 1<<20), strings.Repeat("\u00e4", 1<<16),
		"a" + strings.Repeat("\u65e5", 1<<16), strings.Repeat("%", 1<<16), "line\n" + strings.Repeat("\xff", 5000),
	} {
		got, sent := shorten(text), 0
		for i := range len(got) {
			sent += sentBytes(got[i])
		}
		if sent > textBytesMax || !utf8.ValidString(got) {
			t.Errorf("%.20q of %d B: %d B are sent, valid: %t", text, len(text), sent, utf8.ValidString(got))
		}
		if len(text) <= textBytesMax/3 && got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	long := "cannot read " + strings.Repeat("n", 1<<16) + ": no such column"
	err := toldAs(status.Error(codes.InvalidArgument, long), codes.Unknown)
	if text := status.Convert(err).Message(); status.Code(err) != codes.InvalidArgument || !strings.HasPrefix(text, "cannot read n") || !strings.HasSuffix(text, "n: no such column") {
		t.Errorf("%v, %q", status.Code(err), text)
	}
}
