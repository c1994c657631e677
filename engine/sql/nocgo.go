//go:build !cgo

package sql

import "github.com/mpga/mpga/internal/expr"

// Parse needs cgo: it returns ErrNoCgo.
func Parse(string) (*Select, error) { return nil, ErrNoCgo }

// ParseItems needs cgo: it returns ErrNoCgo.
func ParseItems(string) (*Select, error) { return nil, ErrNoCgo }

// ParseCondition needs cgo: it returns ErrNoCgo.
func ParseCondition(string) (*expr.Expr, *Select, error) { return nil, nil, ErrNoCgo }

// ParseOrder needs cgo: it returns ErrNoCgo.
func ParseOrder(string) (*Select, error) { return nil, ErrNoCgo }
