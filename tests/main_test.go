package tests

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: not of a query that was read to its end, failed or abandoned.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
