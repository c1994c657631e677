// Package peertest starts the engines of package peer for tests.
package peertest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/mpga/mpga/tests/peer"
)

// Variable is the name of the environment variable with the Python that has the engines. A test
// that needs them fails where that Python has none, and is skipped where the variable is not set and
// python3 has none.
const Variable = "MPGA_PYTHON"

// Python returns the Python that has the engines, or ends the test.
func Python(t testing.TB) string {
	t.Helper()
	python := cmp.Or(os.Getenv(Variable), "python3")
	p, err := peer.Start(t.Context(), python, 1)
	switch {
	case err == nil:
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	case errors.Is(err, peer.ErrNoDuckDB) && os.Getenv(Variable) == "":
		t.Skipf("%v: skipped; %s names another Python", err, Variable)
	default:
		t.Fatal(err)
	}
	return python
}

// Start starts the engines with one thread each, for as long as the test runs.
func Start(t testing.TB) *peer.Process {
	t.Helper()
	p, err := peer.Start(context.Background(), Python(t), 1) // the test's own context ends before Cleanup
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
