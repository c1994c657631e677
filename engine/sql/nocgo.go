//go:build !cgo

package sql

import "context"

// Parse needs cgo: it returns ErrNoCgo.
func Parse(string) (*Select, error) { return nil, ErrNoCgo }

// ParseContext needs cgo: it returns ErrNoCgo.
func ParseContext(context.Context, string) (*Select, error) { return nil, ErrNoCgo }

// ParseItems needs cgo: it returns ErrNoCgo.
func ParseItems(string) (*Select, error) { return nil, ErrNoCgo }

// parseCondition needs cgo: it returns ErrNoCgo.
func parseCondition(string) (*Select, error) { return nil, ErrNoCgo }

// parseOrder needs cgo: it returns ErrNoCgo.
func parseOrder(string) (*Select, error) { return nil, ErrNoCgo }

// ParseDrop needs cgo: it returns ErrNoCgo.
func ParseDrop(string) (*Drop, error) { return nil, ErrNoCgo }

// ParseCopy needs cgo: it returns ErrNoCgo.
func ParseCopy(string) (*Copy, error) { return nil, ErrNoCgo }

// IsCopy needs cgo: without it no statement is read.
func IsCopy(string) bool { return false }

// ParseCreate needs cgo: it returns ErrNoCgo.
func ParseCreate(context.Context, string) (*Create, error) { return nil, ErrNoCgo }

// IsCreate needs cgo: without it no statement is read.
func IsCreate(string) bool { return false }

// IsDrop needs cgo: without it no statement is read.
func IsDrop(string) bool { return false }
