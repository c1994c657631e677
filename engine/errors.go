package engine

import (
	"errors"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
)

var (
	// ErrQuery marks a query that does not suit its source: an unknown column, a type that a
	// function does not take.
	ErrQuery = spec.ErrQuery

	// ErrOverflow marks a sum that passes its type; Query.Overflow says what to do instead.
	ErrOverflow = errors.New("overflow")

	// ErrCorrupt marks input whose parts contradict each other, or that ends too early.
	ErrCorrupt = scan.ErrCorrupt

	// ErrClosed is returned by the methods of an engine that was closed.
	ErrClosed = errors.New("the engine is closed")
)

var errStringTooLong = errors.New("a string of more than 2^31-1 bytes does not fit the result")
