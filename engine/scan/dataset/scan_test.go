package dataset

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/engine/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t testing.TB, opt Options, patterns ...string) scan.Source {
	t.Helper()
	src, err := Open(context.Background(), patterns, opt)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
