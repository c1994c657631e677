//go:build !cgo

package sql

import "github.com/mpga/mpga/engine/spec"

// ParseKeys needs cgo: it returns ErrNoCgo.
func ParseKeys(string) ([]spec.Key, error) { return nil, ErrNoCgo }

// ParseAggregates needs cgo: it returns ErrNoCgo.
func ParseAggregates(string) ([]spec.Aggregate, error) { return nil, ErrNoCgo }
