package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The tests run the command as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mpga-lab": main})
}
