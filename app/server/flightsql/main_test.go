package flightsql

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/internal/invariants"
)

// checkedRun is the run of the tests with the checks of invariants.Run.
type checkedRun struct{ *testing.M }

func (r checkedRun) Run() int { return invariants.Run(r.M) }

// Would catch a goroutine that a client leaves behind, and a file that nobody closes.
func TestMain(m *testing.M) { goleak.VerifyTestMain(checkedRun{m}) }
