package scan

import (
	"context"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t testing.TB, opt Options, patterns ...string) Source {
	t.Helper()
	src, err := Open(context.Background(), patterns, opt)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
