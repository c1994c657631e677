//go:build !cgo

package sql

import (
	"github.com/mpga/mpga/engine/expr"
	"github.com/mpga/mpga/engine/spec"
)

// Parse needs cgo: it returns ErrNoCgo.
func Parse(string) (*Select, error) { return nil, ErrNoCgo }

// ParseItems needs cgo: it returns ErrNoCgo.
func ParseItems(string) (*Select, error) { return nil, ErrNoCgo }

// ParseCondition needs cgo: it returns ErrNoCgo.
func ParseCondition(string) (*expr.Expr, *Select, error) { return nil, nil, ErrNoCgo }

// ParseOrder needs cgo: it returns ErrNoCgo.
func ParseOrder(string) (*Select, error) { return nil, ErrNoCgo }

// ParseKeys needs cgo: it returns ErrNoCgo.
func ParseKeys(string) ([]spec.Key, error) { return nil, ErrNoCgo }

// ParseAggregates needs cgo: it returns ErrNoCgo.
func ParseAggregates(string) ([]spec.Aggregate, error) { return nil, ErrNoCgo }
