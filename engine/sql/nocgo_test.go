//go:build !cgo

package sql

import (
	"errors"
	"testing"
)

// Would catch a build without cgo that takes text for an empty query.
func TestNoCgo(t *testing.T) {
	if _, err := ParseKeys("a"); !errors.Is(err, ErrNoCgo) {
		t.Errorf("ParseKeys: got %v, want %v", err, ErrNoCgo)
	}
	if _, err := ParseAggregates("sum(a)"); !errors.Is(err, ErrNoCgo) {
		t.Errorf("ParseAggregates: got %v, want %v", err, ErrNoCgo)
	}
}
