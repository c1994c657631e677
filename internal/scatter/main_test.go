package scatter

import (
	"os"
	"testing"

	"github.com/mpga/mpga/internal/invariants"
)

func TestMain(m *testing.M) { os.Exit(invariants.Run(m)) }
