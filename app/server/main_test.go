package server

import (
	"os"
	"testing"

	"github.com/mpga/mpga/internal/invariants"
)

// Would catch a file that nobody closes.
func TestMain(m *testing.M) { os.Exit(invariants.Run(m)) }
