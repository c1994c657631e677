//go:build !cgo

package sql

import (
	"errors"
	"testing"
)

// Would catch a build without cgo that takes text for an empty query.
func TestNoCgo(t *testing.T) {
	if _, err := Parse("select a"); !errors.Is(err, ErrNoCgo) {
		t.Errorf("Parse: got %v, want %v", err, ErrNoCgo)
	}
	if _, err := ParseItems("sum(a)"); !errors.Is(err, ErrNoCgo) {
		t.Errorf("ParseItems: got %v, want %v", err, ErrNoCgo)
	}
}
